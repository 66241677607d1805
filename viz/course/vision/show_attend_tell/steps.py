"""The steps on one scene: the guess, the weights word by word, the gate beside the printed numbers, one cell in place of all."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from core.data.scenes.language import groups
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.vision.show_attend_tell import charts, maths
from viz.course.vision.show_attend_tell.maths import Description
from viz.course.vision.show_attend_tell.params import SLUG, Params
from viz.exhibit_text import data as words_of
from viz.instruments import picture_view
from viz.labels import distinct, percent, visible
from viz.shell import state
from viz.widgets import engine_client, exhibit_parts, page_parts

PRINTED: dict[str, float] = words_of(__file__)["printed"]
EMPTY = "empty cells"


def guess(params: Params, data: Description) -> Folds:
    """Ask for the things on which one word has most of its weight."""
    row = data.telling
    shares = {_group_name(group): data.on(row, group) for group in groups(data.scene)}
    shares[EMPTY] = max(0.0, 1 - sum(shares.values()))
    most = max(shares, key=shares.__getitem__)
    so_far = " ".join(data.words[:row]) or "(nothing)"
    told = exhibit_parts.predict(
        f"{SLUG}.first",
        f"The captioner has written “{so_far}”. While it writes “{data.words[row]}”, where in the picture does most of the "
        "attention weight lie?",
        shares,
        most,
        f"{most}: {percent(shares[most])}. "
        + (
            "In training the loss asked for weights on the thing that a word names; this picture was not in training."
            if row in data.nouns
            else "In training the loss asked for weights on the thing that a word names, but nothing was asked for this word: "
            "the network learned by itself that attending there helps."
        ),
    )
    if told:
        _look(data, f"{SLUG}.guess", row)
    else:
        _board(data, f"{SLUG}.plain")
    page_parts.summary(
        _verdict(data)
        if told
        else f"{len(data.scene)} things in {data.weights.shape[1]} cells. Guess first, then the map is shown."
    )
    return _folds(params, data, row, revealed=told)


def words(params: Params, data: Description) -> Folds:
    """Draw all words, and a board on which things are placed."""
    _look(data, f"{SLUG}.words", data.telling)
    page_parts.summary(_verdict(data) + " " + _looks(data))
    if not exhibit_parts.presenting():
        key = f"{SLUG}.board"
        _board(data, key, on_pick=partial(_place, key, params))
        page_parts.summary(f"Touch a cell to put a {params.thing} there, or to take it away.")
    return _folds(params, data, data.telling)


def gates(params: Params, data: Description) -> Folds:
    """Draw the numbers that the slides print beside each word, and those of this run."""
    names = distinct([visible(word) for word in data.words])
    largest = data.weights.max(axis=1)
    options = (
        "the largest attention weight of that word",
        "the gate β of that word",
        "the probability of that word",
    )
    said = ", ".join(f"{word} {value}" for word, value in PRINTED.items())
    known = exhibit_parts.predict(
        f"{SLUG}.printed",
        f"The slides show the maps of “A woman is throwing a frisbee in a park.” and print a number beside some words: {said}. "
        "They call the maps attention weights. What is the number?",
        options,
        options[1],
        "The program with which Xu et al. drew these pictures puts the selector, called β in the paper, in brackets behind each word. "
        "Their maps have 14 × 14 cells; a weight of 0.98 would leave one of them bright and all others black.",
    )
    page_parts.show(
        marks.bars(pd.Series(PRINTED), "{:.2f}", end=1.0),
        f"{SLUG}.theirs",
        f"As printed on the slides: {said}.",
    )
    if known:
        page_parts.show(
            marks.bars(
                pd.Series(data.gates, names),
                "{:.2f}",
                highlighted=[names[int(data.gates.argmax())]],
                end=1.0,
            ),
            f"{SLUG}.ours",
            "The gate of each word in this run: "
            + ", ".join(f"{name} {gate:.2f}" for name, gate in zip(names, data.gates, strict=True)),
        )
    top, low = int(data.gates.argmax()), int(data.gates.argmin())
    naming, grammar = data.gates_by_kind
    page_parts.summary(
        f"Above, as printed. Below, this run: the gate is largest at “{names[top]}”, {data.gates[top]:.2f}, smallest at “{names[low]}”, "
        f"{data.gates[low]:.2f}; the largest weight of any cell is {largest.max():.2f}. Words that name a thing have gates from {naming.min():.2f} to {naming.max():.2f}, "
        f"words of grammar from {grammar.min():.2f} to {grammar.max():.2f}."
        if known
        else "Above, as printed on the slides. Guess first, then this run's are drawn below."
    )
    latex = (
        rf"\beta_{{{top + 1}}} = \sigma(w^\top h_{{{top}}} + b) = {data.gates[top]:.4f}",
        rf"c_{{{top + 1}}} = \beta_{{{top + 1}}} \sum_i a_{{{top + 1},i}}\, h_i",
    )
    return _folds(params, data, top, revealed=known, latex=latex)


def hard(params: Params, data: Description) -> Folds:
    """Draw hard attention: one sampled cell per word in place of the mean of all."""
    found = engine_client.submit((SLUG, "hard", params.text), lambda: maths.hard(params.text), 40_000)
    one = engine_client.submit(
        (SLUG, "one", params.text, params.cells), lambda: maths.describe(params.text, params.cells), 5_000
    )
    n, same = maths.N_DRAWS, found[data.sentence]
    known = exhibit_parts.predict_number(
        f"{SLUG}.hard",
        f"Soft attention reads the mean of all cells. Hard attention samples one cell per word, with the weights as probabilities. "
        f"{n} captions are written in this way. How many different captions are among them?",
        1,
        n,
        len(found),
        f"{len(found)}; {same} of {n} are “{data.sentence}”, as with soft attention. The network was trained with soft attention. Where the weights of a word "
        "are spread over different things, a sampled cell can change the words that follow.",
        near=1,
    )
    _look(one, f"{SLUG}.hard.{params.cells}", min(data.telling, len(one.words) - 1))
    page_parts.summary(
        f"Sample {params.cells}: “{one.sentence}”"
        + (", as with soft attention. " if one.sentence == data.sentence else f"; soft: “{data.sentence}” ")
        + (
            f"{same} of {n} samples give the soft caption."
            if known
            else "Guess first, then all samples are counted."
        )
    )
    rows = {
        "caption": [text for text, _ in found.most_common()],
        "samples": [times for _, times in found.most_common()],
    }
    return Folds(
        lambda: pd.DataFrame(rows),
        lambda: {"weights": data.weights, "drawn": one.weights},
        {"text": params.text, "seed": params.cells},
        known,
        {"attention.softmax": {}, "attention.context": {}},
        (r"s_t \sim \mathrm{Categorical}(a_{t,1}, \dots, a_{t,n}), \quad c_t = \beta_t\, h_{s_t}",),
    )


def _look(data: Description, key: str, row: int) -> None:
    """Draw the picture under its weights, a small one for each word."""
    picture_view(
        data.pixels,
        data.weights,
        (5, 5),
        rows=distinct([visible(word) for word in data.words]),
        called=data.names,
        selected=row,
        ground="light",
        subject="the captioner",
        names=("word", "scene"),
        height=exhibit_parts.by_mode(360, 330),
        key=key,
    )


def _board(data: Description, key: str, **pick: Any) -> None:
    things = ", ".join(f"{thing.name} at {thing.column},{thing.row}" for thing in data.scene)
    page_parts.show(
        charts.board(data.pixels, data.names, height=exhibit_parts.by_mode(330, 380)),
        key,
        f"A scene: {things}.",
        **pick,
    )


def _place(key: str, params: Params) -> None:
    if cell := page_parts.clicked_mark(key, charts.PICKED):
        state.write(**{f"{SLUG}.own": maths.placed(params.text, params.thing, int(cell["place"]))})


def _group_name(group: list[Any]) -> str:
    return f"the {group[0].name}{'s' * (len(group) > 1)}"


def _verdict(data: Description) -> str:
    """Describe the caption, and whether it is the sentence of the grammar."""
    if data.truth is None:
        return f"Output: “{data.sentence}” The grammar has no sentence for this scene: it has at most two groups, with different centres, of up to three things alike."
    return f"Output: “{data.sentence}” " + (
        "That is the sentence of the grammar."
        if data.sentence == data.truth
        else f"The grammar has: “{data.truth}”"
    )


def _looks(data: Description) -> str:
    """Describe the share of weight on things, of the example word and of each noun."""
    looks = {
        data.telling: max(groups(data.scene), key=lambda group: data.on(data.telling, group))
    } | data.nouns
    parts = [
        f"“{visible(data.words[row])}” has {percent(data.on(row, group))} of its weight on {_group_name(group)}"
        for row, group in looks.items()
    ]
    return "; ".join(parts) + "."


def _folds(
    params: Params, data: Description, row: int, *, revealed: bool = True, latex: tuple[str, ...] = ()
) -> Folds:
    """Return the table of weights with gates, the arrays, and the softmax and weighted mean of one word."""
    rows = distinct([visible(word) for word in data.words])
    top = int(data.weights[row].argmax())

    def table() -> pd.DataFrame:
        frame = pd.DataFrame(data.weights.round(4), index=rows, columns=data.names)
        frame["their sum"] = data.weights.sum(1).round(4)
        frame["gate"] = data.gates.round(4)
        return frame

    return Folds(
        table,
        lambda: {
            "weights": data.weights,
            "gates": data.gates,
            "scores": data.scores,
            "context": data.context,
            "pixels": data.pixels,
            "words": np.array(data.words),
        },
        {"text": params.text},
        revealed,
        {"attention.softmax": {"a_ij": f"{data.weights[row, top]:.3f}"}, "attention.context": {}},
        (
            rf"\sum_j a_{{{row + 1},j}} = {data.weights[row].sum():.4f}, \quad a_{{{row + 1},{top + 1}}} = "
            rf"\frac{{e^{{{data.scores[row, top]:.3f}}}}}{{\sum_j e^{{s_{{{row + 1},j}}}}}} = {data.weights[row, top]:.4f}",
            *latex,
        ),
    )
