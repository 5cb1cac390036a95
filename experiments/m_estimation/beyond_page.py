"""The sections of the page on what the paper leaves open; nothing is measured here."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from benchmarks.figures import canvas, save_figure
from experiments.record import Json, table


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def paragraph(text: str) -> list[str]:
    """Return the lines of a paragraph."""
    return textwrap.wrap(" ".join(text.split()), 120, break_on_hyphens=False, break_long_words=False)


def inputs(part: Json, parts: Json, output: Path) -> list[str]:
    cells = []
    for name in dict.fromkeys(key.split("/")[0] for key in part["rows"]):
        rows = {key.split("/")[1]: row for key, row in part["rows"].items() if key.startswith(f"{name}/")}
        plain = rows["0"]
        cells.append([name, "HMM alone", "", "", percent(rows["hmm"]["test"]), "", ""])
        for longest in ("0", "1", "2", "3"):
            row = rows[longest]
            what = "no" if longest == "0" else f"up to {longest}-grams"
            difference = "" if longest == "0" else f"{row['test'] - plain['test']:+.2f}"
            seconds = f"{row['seconds'] + row['preparation']:.1f}"
            figures = [f"{row['c']:.3g}", percent(row["tune"]), percent(row["test"])]
            cells.append([name, what, *figures, difference, seconds])
    head = ["task", "input-only features", "c", "tuning", "test", "difference", "seconds"]
    return [
        "## Input-only features on three tasks",
        "",
        *paragraph(
            """`Tagger("m-estimation", input_only=n)`: n-grams of every column, with a weight whatever the labels
            (section 5.2). Noun phrases as above; entities of WNUT-17 (templates `ner`, first order; F1); parts of
            speech of EWT (templates `pos`, first order, 49 tags; share of right labels). c is chosen on the
            tuning sentences; seconds include the precomputation."""
        ),
        "",
        *table(head, cells),
    ]


def gaps(part: Json, parts: Json, output: Path) -> list[str]:
    cells = []
    for key, row in part["rows"].items():
        task, method, label = key.split("/")
        plain = part["rows"][f"{task}/{method}/none"]
        difference = "" if label == "none" else f"{row['test'] - plain['test']:+.2f}"
        cells.append([
            task, method, "with" if label == "gaps" else "without", f"{row['n_features']:,}", f"{row['c']:.3g}",
            percent(row["tune"]), percent(row["test"]), difference, f"{row['preparation']:.1f}",
            f"{row['seconds']:.1f}",
        ])  # fmt: skip
    head = ["task", "method", "gaps", "features", "c", "tuning F1", "test F1", "difference", "precomputation"]
    head.append("optimisation")
    return [
        "## Features with gaps",
        "",
        *paragraph(
            """Templates that look at any row before (`%x[<,1]`) or after the token, with the label here: of noun
            phrases the tag at a distance, alone and with the tag here; of entities the word at a distance, alone
            and with whether the token here has a capital. What lies at a distance is observed, so that decoding
            stays exact; their expectations are exact too, by sums over all paths between."""
        ),
        "",
        *table(head, cells),
    ]


def samples(part: Json, parts: Json, output: Path) -> list[str]:
    (exact,) = part["rows"]["exact"]
    cells = [[
        "exact", "", f"{exact['seconds of expectations']:.1f}", "0", "0", percent(exact["test at c = 1"]),
        percent(exact["test"]),
    ]]  # fmt: skip
    for key, rows in part["rows"].items():
        if key == "exact":
            continue
        n, smoothing = key.split("/")
        mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if name not in ("commit", "c")}
        spread = float(np.ptp([row["test at c = 1"] for row in rows])) / 2
        cells.append([
            f"{int(n):,}", "yes" if float(smoothing) else "no", f"{mean['seconds of expectations']:.1f}",
            f"{100 * mean['error']:.1f}%", f"{100 * mean['never drawn']:.1f}%",
            f"{percent(mean['test at c = 1'])} ± {spread:.2f}", percent(mean["test"]),
        ])  # fmt: skip
    head = ["samples", "smoothed", "seconds", "error", "never drawn", "test F1 at c = 1", "test F1, c tuned"]
    return [
        "## Sampled expectations",
        "",
        *paragraph(
            f"""Noun phrases, extended features ({part['n_features']:,}). Error: sum of absolute differences to the
            exact expectations, divided by the sum of these. Never drawn: share of features that no sampled
            sentence has. Smoothed: the sample is mixed with one sentence of the mean of the training data. Means
            of three seeds; ± half the range; c tuned: 0.46, 1 or 2.2."""
        ),
        "",
        *table(head, cells),
    ]


def selection(part: Json, parts: Json, output: Path) -> list[str]:
    (everything,) = part["rows"]["all"].values()
    sizes = [int(k) for k in part["rows"]["M-estimate"]]
    cells = []
    figure, (axes,) = canvas(1, 2, (5, 3.6))
    for name, seconds in part["ranking seconds"].items():
        rows = part["rows"][name]
        points = [rows[str(k)] for k in sizes]
        cells.append([name, f"{seconds:.1f}", *(f"{percent(row['test'])} ({row['seconds']:.1f})" for row in points)])
        axes[0].semilogx(sizes, [row["test"] for row in points], marker="o", label=name)
        times = [row["seconds"] + seconds for row in points]
        axes[1].plot(times, [row["test"] for row in points], marker="o", label=name)
    axes[1].plot([everything["seconds"]], [everything["test"]], "k*", label="all features")
    axes[0].axhline(everything["test"], color="k", linewidth=0.8)
    axes[0].set(xlabel="features", ylabel="test F1", title="CRF on the best features")
    axes[1].set(xlabel="seconds, the ranking included", title="the same against time")
    axes[0].legend()
    save_figure(figure, output / "m_estimation_selection.png")
    cells.append(["all", "", *[""] * (len(sizes) - 1), f"{percent(everything['test'])} ({everything['seconds']:.1f})"])
    return [
        "## Features for a CRF, chosen under M-estimation",
        "",
        *paragraph(
            f"""`Tagger(max_features=k)`: noun phrases, extended features ({part['n']:,} of attributes; transitions
            are always kept). Test F1 (seconds of training) of a CRF at c = 1, at most 100 iterations, on the k
            features of highest rank: by the size of their M-estimated weights at c = 1, by the gradient of
            M-estimation at zero, by how often they occur, and by chance. The last row has all of them."""
        ),
        "",
        *table(["ranking", "seconds to rank", *(f"{k:,}" for k in sizes)], cells),
        "",
        "![selection](m_estimation_selection.png)",
    ]


VARIANTS = {  # of a score, and whether it is a probability
    "as it is": "unnormalised",
    "less log Z": "normalised, Z estimated",
    "constants of tuning sentences": "unnormalised, constants fitted",
}
VARIANTS_OF = {
    "HMM": {"as it is": "normalised", "constants of tuning sentences": "normalised, constants fitted"},
    "classifier": {"as it is": "p(class given x)"},
}


def scoring(part: Json, parts: Json, output: Path) -> list[str]:
    cells = []
    for key in dict.fromkeys(key.rsplit("/", 1)[0] for key in part["rows"]):
        task, name = key.split("/")
        rows = {k.rsplit("/", 1)[1]: row for k, row in part["rows"].items() if k.rsplit("/", 1)[0] == key}
        for variant, what in VARIANTS_OF.get(name, VARIANTS).items():
            c, row = max(rows.items(), key=lambda item: item[1][variant].get("tuning", 0.0))
            error = f"{row['error of log Z']:.2g}" if variant == "less log Z" else ""
            figures = [percent(row[variant].get(of)) for of in ("sentences", "documents")]
            method = {"classifier": "classifier of words"}.get(name, name)
            cells.append([task, method, what, c if "M-est" in name else "", error, *figures, f"{row['seconds']:.1f}"])
    head = ["task", "model", "p(x)", "c", "error of log Z", "sentences", "documents", "seconds"]
    return [
        "## Telling inputs apart by p(x)",
        "",
        *paragraph(
            f"""One joint tagger per class, trained on the labelled sentences of that class; a sentence goes to the
            class of highest p(x) p(class), p(class) by the number of training sentences. Share of right
            sentences, and of right documents, whose sentences are added up. Languages: EWT and IMST; styles: news
            (CoNLL-2000), web (EWT), tweets (WNUT-17); 15 genres of Brown. Words are in lower case, those that
            occur once are one symbol; a model shares its probability of unknown words equally among the words of
            the other classes, so that all models score the same sentences. Features of M-estimation: words and
            word bigrams with the label, pairs of labels; input-only: also bigrams alone. What is normalised: the
            HMM is; an M-estimate is not, its score is the sum over labellings of q0 exp(w·f), which lacks a
            constant Z of its own. The rows show what that does: scores as they are; less log Z, estimated from
            {part['samples']:,} inputs drawn from q0 (the largest standard error of the classes beside it); and
            with one constant per class fitted on the tuning sentences. c is 1, 10 or 100, by the tuning sentences.
            The classifier of words (`MaxentClassifier`) sees the classes in training and is trained for nothing
            else."""
        ),
        "",
        *table(head, cells),
    ]


def em(part: Json, parts: Json, output: Path) -> list[str]:
    shown = [r for r in (0, 1, 2, 4, 8) if r <= part["rounds"]]
    cells = []
    for key, row in part["rows"].items():
        task, n, method, labels = key.split("/")
        if "by round" not in row:
            cells.append([task, f"{int(n):,}", method, "", percent(row["alone"]), *[""] * (len(shown) + 2)])
            continue
        by_round = row["by round"]
        last = f"{by_round[-1] - row['alone']:+.2f}"
        figures = [percent(by_round[r]) for r in shown]
        how = {"sample": "drawn", "best": "best"}[labels]
        cells.append([task, f"{int(n):,}", method, how, percent(row["alone"]), *figures, last, f"{row['seconds']:.1f}"])
    rounds = [f"round {r}" for r in shown]
    head = ["task", "labelled", "method", "labels", "labelled alone", *rounds, "change", "seconds"]
    return [
        "## M-estimation inside EM",
        "",
        *paragraph(
            f"""`Tagger("m-estimation", em={part['rounds']})`: n labelled sentences and the {part['unlabelled']:,}
            after them without their labels. Noun phrases: test F1 (templates `chunking`); parts of speech of EWT:
            share of right labels (templates `pos`); all first order. Round 0 is trained on the labelled
            sentences, but knows the words of the others; every round then completes the unknown labels, drawn
            from the model or by its best labelling, and estimates base and weights anew. The strength is that of
            the labelled sentences alone, by the tuning sentences. Change: the last round less the labelled
            sentences alone."""
        ),
        "",
        *table(head, cells),
    ]


MORE_SECTIONS = {
    "inputs": inputs,
    "gaps": gaps,
    "samples": samples,
    "selection": selection,
    "scoring": scoring,
    "em": em,
}
