"""Templates to start from, by name. Column 0 is the word; where a second is needed, it is the part of speech.

Attributes are named after the text of their template, less its letter, which tells nothing to whoever reads a model:
``suffix3=ian``. Values of several macros stand in the order of their names: ``previous.word/word=the/dog``.
"""

from __future__ import annotations

from collections.abc import Iterable

_WORDS_AND_TAGS = """\
{0}previous2.word=%x[-2,0]
{0}previous.word=%x[-1,0]
{0}word=%x[0,0]
{0}next.word=%x[1,0]
{0}next2.word=%x[2,0]
{0}previous.word/word=%x[-1,0]/%x[0,0]
{0}word/next.word=%x[0,0]/%x[1,0]
{0}previous2.tag=%x[-2,1]
{0}previous.tag=%x[-1,1]
{0}tag=%x[0,1]
{0}next.tag=%x[1,1]
{0}next2.tag=%x[2,1]
{0}previous2.tag/previous.tag=%x[-2,1]/%x[-1,1]
{0}previous.tag/tag=%x[-1,1]/%x[0,1]
{0}tag/next.tag=%x[0,1]/%x[1,1]
{0}next.tag/next2.tag=%x[1,1]/%x[2,1]
{0}previous2.tag/previous.tag/tag=%x[-2,1]/%x[-1,1]/%x[0,1]
{0}previous.tag/tag/next.tag=%x[-1,1]/%x[0,1]/%x[1,1]
{0}tag/next.tag/next2.tag=%x[0,1]/%x[1,1]/%x[2,1]
B
"""

_WORDS = r"""
Uprevious2.word=%x[-2,0]
Uprevious.word=%x[-1,0]
Uword=%x[0,0]
Unext.word=%x[1,0]
Unext2.word=%x[2,0]
Ulower=%X[0,0]
Uprevious.lower/lower=%X[-1,0]/%X[0,0]
Ulower/next.lower=%X[0,0]/%X[1,0]
# Prefixes and suffixes of one to four characters; the whole word where it is shorter.
Uprefix1=%m[0,0,"^.?"]
Uprefix2=%m[0,0,"^.?.?"]
Uprefix3=%m[0,0,"^.?.?.?"]
Uprefix4=%m[0,0,"^.?.?.?.?"]
Usuffix1=%m[0,0,".?$"]
Usuffix2=%m[0,0,".?.?$"]
Usuffix3=%m[0,0,".?.?.?$"]
Usuffix4=%m[0,0,".?.?.?.?$"]
# Shapes: a capital first, capitals only, a capital inside, digits, hyphens, no letters.
Ucapital=%t[0,0,"^\u"]
Ucapitals.only=%t[0,0,"^\u\u*$"]
Ucapital.inside=%t[0,0,"\l\u"]
Udigit=%t[0,0,"\d"]
Udigits.only=%t[0,0,"^\d\d*$"]
Uhyphen=%t[0,0,"-"]
Uno.letter=%t[0,0,"^\A*$"]
"""

_NAMES_BEFORE_SHAPES = (  # of models saved before there were shapes
    _WORDS
    + r"""
Uprevious.capital/capital=%t[-1,0,"^\u"]/%t[0,0,"^\u"]
Ucapital/next.capital=%t[0,0,"^\u"]/%t[1,0,"^\u"]
Uprevious.capital/capital/next.capital=%t[-1,0,"^\u"]/%t[0,0,"^\u"]/%t[1,0,"^\u"]
Ucapital.then.small=%t[0,0,"^\u\l*$"]
Uinitial=%t[0,0,"\u\."]
Uno.punctuation=%t[0,0,"^\P*$"]
Uprevious.suffix3=%m[-1,0,"...$"]
Unext.suffix3=%m[1,0,"...$"]
Uprevious2.lower/previous.lower=%X[-2,0]/%X[-1,0]
Unext.lower/next2.lower=%X[1,0]/%X[2,0]
B
"""
)
# Chosen on the dev set of WNUT-17 (docs/results/names.md).
_NAMES = (
    _NAMES_BEFORE_SHAPES
    + """\
Uprevious.lower=%X[-1,0]
Unext.lower=%X[1,0]
Uprevious.shape=%s[-1,0]
Ushape=%s[0,0]
Unext.shape=%s[1,0]
Uprevious.shape/shape=%s[-1,0]/%s[0,0]
Ushape/next.shape=%s[0,0]/%s[1,0]
"""
)
_COLUMN = """\
Uprevious.{0}=%x[-1,{1}]
U{0}=%x[0,{1}]
Unext.{0}=%x[1,{1}]
Uprevious.{0}/{0}=%x[-1,{1}]/%x[0,{1}]
U{0}/next.{0}=%x[0,{1}]/%x[1,{1}]
U{0}/lower=%x[0,{1}]/%X[0,0]
"""

# Added to templates that do not look at word classes, where classes are given: those of the word and of its neighbours,
# whole and by their first bits (Turian, Ratinov and Bengio, "Word representations", ACL 2010). Classes that are not
# strings of bits have such beginnings too, which tell little.
CLASS_TEMPLATES = """\
Uprevious2.class=%c[-2,0]
Uprevious.class=%c[-1,0]
Uclass=%c[0,0]
Unext.class=%c[1,0]
Unext2.class=%c[2,0]
Uprevious.class/class=%c[-1,0]/%c[0,0]
Uclass/next.class=%c[0,0]/%c[1,0]
Uprevious.class.4=%c[-1,0,4]
Uclass.4=%c[0,0,4]
Unext.class.4=%c[1,0,4]
Uprevious.class.7=%c[-1,0,7]
Uclass.7=%c[0,0,7]
Unext.class.7=%c[1,0,7]
"""

# Added for every type of a lexicon to templates that do not look at one: places in its phrases, with those of the word
# before and with a capital, since phrases are compared in lower case.
_LEXICON = """\
Uprevious.lexicon.{0}=%l[-1,0,"{0}"]
Ulexicon.{0}=%l[0,0,"{0}"]
Unext.lexicon.{0}=%l[1,0,"{0}"]
Uprevious.lexicon.{0}/lexicon.{0}=%l[-1,0,"{0}"]/%l[0,0,"{0}"]
Ulexicon.{0}/capital=%l[0,0,"{0}"]/%t[0,0,"^\\u"]
"""


def lexicon_templates(types: Iterable[str]) -> str:
    """Return templates for phrases of these types."""
    return "".join(_LEXICON.format(kind) for kind in types)


TEMPLATE_SETS: dict[str, str] = {
    # Words and parts of speech with the label: those of CRFsuite's example for chunking.
    "chunking": _WORDS_AND_TAGS.format("U"),
    # The same with labels and pairs of labels, after Sha and Pereira, "Shallow parsing with conditional random fields",
    # NAACL 2003.
    "sha-pereira": _WORDS_AND_TAGS.format("*"),
    # Names in text, from words alone; with parts of speech; with parts of speech and phrases.
    "ner": _NAMES,
    "ner-tags": _NAMES + _COLUMN.format("tag", 1),
    "ner-phrases": _NAMES + _COLUMN.format("tag", 1) + _COLUMN.format("phrase", 2),
    # Parts of speech, from words alone.
    "pos": _WORDS
    + r"""
Uprevious.suffix3=%m[-1,0,".?.?.?$"]
Unext.suffix3=%m[1,0,".?.?.?$"]
Uprevious.suffix3/suffix3=%m[-1,0,".?.?.?$"]/%m[0,0,".?.?.?$"]
Ucapital/suffix3=%t[0,0,"^\u"]/%m[0,0,".?.?.?$"]
Uprevious.lower=%X[-1,0]
Unext.lower=%X[1,0]
B
""",
    # What a hidden Markov model looks at: the word and the part of speech of the token itself.
    "hmm": "Uword=%x[0,0]\nUtag=%x[0,1]\nB\n",
}



def is_built_in(text: str) -> bool:
    """Return whether a text of templates is that of a set, also of an earlier version."""
    return text in TEMPLATE_SETS.values() or text == _NAMES_BEFORE_SHAPES


ABOUT: dict[str, str] = {
    "chunking": "words and parts of speech around the token, each with its label",
    "sha-pereira": "the same, each with the label and with the pair of labels",
    "ner": "words, prefixes, suffixes and shapes, for names in text; one column will do",
    "ner-tags": "the same, and parts of speech in the second column",
    "ner-phrases": "the same, and phrases (chunks) in the third column",
    "pos": "words, prefixes, suffixes and shapes, for parts of speech; one column will do",
    "hmm": "the word and the part of speech of the token itself, as a hidden Markov model sees them",
}
