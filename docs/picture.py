"""The picture of README.md: what three models answer and why, as an SVG that follows light and dark.

    python docs/picture.py > docs/picture.svg

The models are trained here, on a few made-up lines; all numbers of the picture are theirs.
"""

from html import escape

from loglinear import LanguageModel, MaxentClassifier, Tagger

WIDTH, LEFT = 720, 24
HAM = ["lunch at noon today?", "see you at the meeting", "the meeting is at noon", "free for lunch?", "call me later"]
SPAM = ["buy cheap pills now", "cheap watches, buy today", "win a free phone now", "free pills, buy now", "win cash"]
TAGGED = "the/D old/J dog/N barks/V\nit/P sees/V a/D cat/N\na/D cat/N sees/V the/D old/J dog/N\nshe/P hears/V it/P"
TEXT = "the dog sees a cat\nthe cat sleeps\na dog eats\nthe cat sees a bird\na cat eats a fish\nthe dog sleeps"
STYLE = """
svg { font: 15px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.card { fill: #f6f8fa; stroke: #d1d9e0 } .what { font-size: 13px; fill: #59636e }
.big { font-size: 18px; font-weight: 600 } .n { font-variant-numeric: tabular-nums }
.for { fill: #2f7de1 } .against { fill: #c9436b } .label { font-weight: 600; fill: #2f7de1 }
@media (prefers-color-scheme: dark) {
  svg { fill: #f0f6fc } .card { fill: #151b23; stroke: #3d444d } .what { fill: #9198a1 }
  .label, .for { fill: #5c9df0 }
}
"""


def text(x, y, words, kind="", anchor="start"):
    """Return words at a place."""
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(str(words))}</text>'


def card(y, what, question):
    """Return a box with a question."""
    box = f'<rect class="card" x="8" y="{y}" width="{WIDTH - 16}" height="118" rx="8"/>'
    return [box, text(LEFT, y + 26, what, "what"), text(LEFT, y + 56, question, "big")]


def bars(x, y, rows, longest, width=150):
    """Return rows of (name, value, what is written), with a bar of the value."""
    out = []
    for number, (name, value, written) in enumerate(rows):
        at = y + 22 * number
        kind, long = "for" if value >= 0 else "against", round(width * abs(value) / longest)
        bar = f'<rect class="{kind}" x="{x}" y="{at - 11}" width="{long}" height="12" rx="2"/>'
        out += [text(x - 10, at, name, "", "end"), bar, text(x + long + 8, at, written, "n")]
    return out


def classifier(y):
    """Return a message with its class, and what each word added."""
    model = MaxentClassifier(strength=0.5).fit(HAM + SPAM, ["ham"] * len(HAM) + ["spam"] * len(SPAM))
    found = model.explain("free lunch at noon")
    best, answer = max(zip(model.predict_proba(["free lunch at noon"])[0], model.classes_))
    words = [push for push in found.against("spam") if push.feature != "(intercept)"]
    rows = [(push.feature, push.contribution, f"{push.contribution:+.2f}") for push in words]
    out = card(y, "Is it spam, and which words say so?", "free lunch at noon")
    out += [text(LEFT, y + 92, f"{answer}, {best:.0%}", "label")]
    return out + bars(450, y + 30, rows, max(abs(value) for _, value, _ in rows))


def tagger(y):
    """Return a sentence with the parts of speech of its words."""
    pairs = [[word.split("/") for word in line.split()] for line in TAGGED.splitlines() * 3]
    X = [[{"word": word, "end": word[-2:]} for word, _ in pair] for pair in pairs]
    model = Tagger(strength=0.1).fit(X, [[label for _, label in pair] for pair in pairs])
    words = ["she", "sees", "the", "young", "dog"]
    tokens = [{"word": word, "end": word[-2:]} for word in words]
    labels, shares = model.predict([tokens])[0], model.predict_marginals([tokens])[0]
    names = {"D": "determiner", "J": "adjective", "N": "noun", "V": "verb", "P": "pronoun"}
    out = card(y, "What is every word? (“young” is new to it)", "")
    for number, (word, label, share) in enumerate(zip(words, labels, shares)):
        x = LEFT + 40 + 136 * number
        out += [text(x, y + 62, word, "big", "middle"), text(x, y + 84, names[label], "label", "middle")]
        out.append(text(x, y + 103, f"{share[label]:.0%}", "what n", "middle"))
    return out


def language_model(y):
    """Return the most probable next words."""
    model = LanguageModel(order=3).fit(TEXT.splitlines() * 2)
    ends = {"</s>": "(end)"}
    rows = [(ends.get(word, word), p, f"{p:.0%}") for word, p in model.top("the cat", 4)]
    out = card(y, "Which word comes next?", "the cat …")
    return out + bars(450, y + 30, rows, rows[0][1])


def picture():
    """Return the picture as SVG."""
    parts = [*classifier(8), *tagger(136), *language_model(264)]
    size = f'width="{WIDTH}" height="390" viewBox="0 0 {WIDTH} 390"'
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><style>{STYLE}</style>'
    return "\n".join([begin, *parts, "</svg>"])


if __name__ == "__main__":
    print(picture())
