"""Templates to start from, by name. Column 0 is the word; where a second is needed, it is the part of speech."""

from __future__ import annotations

_WORDS_AND_TAGS = """\
{0}00:%x[-2,0]
{0}01:%x[-1,0]
{0}02:%x[0,0]
{0}03:%x[1,0]
{0}04:%x[2,0]
{0}05:%x[-1,0]/%x[0,0]
{0}06:%x[0,0]/%x[1,0]
{0}10:%x[-2,1]
{0}11:%x[-1,1]
{0}12:%x[0,1]
{0}13:%x[1,1]
{0}14:%x[2,1]
{0}15:%x[-2,1]/%x[-1,1]
{0}16:%x[-1,1]/%x[0,1]
{0}17:%x[0,1]/%x[1,1]
{0}18:%x[1,1]/%x[2,1]
{0}20:%x[-2,1]/%x[-1,1]/%x[0,1]
{0}21:%x[-1,1]/%x[0,1]/%x[1,1]
{0}22:%x[0,1]/%x[1,1]/%x[2,1]
B
"""

_WORDS = r"""
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%X[0,0]
U06:%X[-1,0]/%X[0,0]
U07:%X[0,0]/%X[1,0]
# Prefixes and suffixes of one to four characters; the whole word where it is shorter.
U10:%m[0,0,"^.?"]
U11:%m[0,0,"^.?.?"]
U12:%m[0,0,"^.?.?.?"]
U13:%m[0,0,"^.?.?.?.?"]
U14:%m[0,0,".?$"]
U15:%m[0,0,".?.?$"]
U16:%m[0,0,".?.?.?$"]
U17:%m[0,0,".?.?.?.?$"]
# Shapes: a capital first, capitals only, a capital inside, digits, hyphens, no letters.
U20:%t[0,0,"^\u"]
U21:%t[0,0,"^\u\u*$"]
U22:%t[0,0,"\l\u"]
U23:%t[0,0,"\d"]
U24:%t[0,0,"^\d\d*$"]
U25:%t[0,0,"-"]
U26:%t[0,0,"^\A*$"]
"""

TEMPLATE_SETS: dict[str, str] = {
    # Words and parts of speech with the label: those of CRFsuite's example for chunking.
    "chunking": _WORDS_AND_TAGS.format("U"),
    # The same with labels and pairs of labels, after Sha and Pereira, "Shallow parsing with conditional random fields",
    # NAACL 2003.
    "sha-pereira": _WORDS_AND_TAGS.format("*"),
    # Names in text, from words alone.
    "ner": _WORDS
    + r"""
U30:%t[-1,0,"^\u"]/%t[0,0,"^\u"]
U31:%t[0,0,"^\u"]/%t[1,0,"^\u"]
U32:%t[-1,0,"^\u"]/%t[0,0,"^\u"]/%t[1,0,"^\u"]
U33:%t[0,0,"^\u\l*$"]
U34:%t[0,0,"\u\."]
U35:%t[0,0,"^\P*$"]
U36:%m[-1,0,"...$"]
U37:%m[1,0,"...$"]
U38:%X[-2,0]/%X[-1,0]
U39:%X[1,0]/%X[2,0]
B
""",
    # Parts of speech, from words alone.
    "pos": _WORDS
    + r"""
U30:%m[-1,0,".?.?.?$"]
U31:%m[1,0,".?.?.?$"]
U32:%m[-1,0,".?.?.?$"]/%m[0,0,".?.?.?$"]
U33:%t[0,0,"^\u"]/%m[0,0,".?.?.?$"]
U34:%X[-1,0]
U35:%X[1,0]
B
""",
    # What a hidden Markov model looks at: the word and the part of speech of the token itself.
    "hmm": "U00:%x[0,0]\nU01:%x[0,1]\nB\n",
}

ABOUT: dict[str, str] = {
    "chunking": "words and parts of speech around the token, each with its label",
    "sha-pereira": "the same, each with the label and with the pair of labels",
    "ner": "words, prefixes, suffixes and shapes, for names in text; one column will do",
    "pos": "words, prefixes, suffixes and shapes, for parts of speech; one column will do",
    "hmm": "the word and the part of speech of the token itself, as a hidden Markov model sees them",
}
