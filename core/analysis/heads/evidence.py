"""The sentences behind the score of a head: the score of each, and the word with the largest and the smallest share.

A score of `core.analysis.heads.head_survey` is a mean over rows of sentences. Here it is taken apart again: the same rows, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.attention.measures import earlier_duplicates, entropy
from core.analysis.heads import patch_habits
from core.analysis.heads.habits import LINKED, HeadHabits, punctuation_keys, repeatable_keys, separator_keys
from core.analysis.heads.head_survey import KEEP, NEAR, PLAIN, REPEATED, SHUFFLED
from core.data.texts import Example, Links, Sentence, texts
from core.errors import InputError
from core.model import Model
from core.run import Attention

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


Array = np.ndarray
SAMPLE_STEP = 5
"""Of a habit that is measured on all sentences, each fifth is shown."""
POSITIONAL_SHARE = 0.8
"""A habit that keeps this share of its score on shuffled words is one of place."""
TESTS = {
    "previous": "Mean weight on the word just before, from the third word on, in plain sentences.",
    "itself": "Mean weight on the word's own position, from the third word on, in plain sentences.",
    "next": "Mean weight on the word just after, from the third word on, in plain sentences.",
    "first": "Mean weight on the first word, from the third word on, in plain sentences.",
    "induction": "Where a word comes a second time: mean weight on the word that followed it the first time.",
    "duplicate": "Where a word comes a second time: mean weight on its first position.",
    "coreference": "Mean weight of a pronoun on the word it stands for.",
    "agreement": "Mean weight of a verb on its subject.",
    "quotes": "Mean weight of a closing quotation mark on the opening one.",
    "questions": "Mean weight of a question mark on the word that asks.",
    "lists": "Mean weight of the last item of a list on the earlier ones.",
    "punctuation": "Mean weight on punctuation and other tokens without a letter or digit, whichever word looks.",
    "separator": "Mean weight on the marks that the model adds after a text, as [SEP] or </s>, whichever word looks.",
    "aligner": "Mean weight of a written word on the source words it translates; the pairs are set by hand.",
    "class": "Mean weight of a patch on the class token.",
    "own_patch": "Mean weight of a patch on itself.",
    "neighbours": "Mean weight of a patch on the eight patches around it (at the edge those that are there).",
    "row": "Mean weight of a patch on the other patches of its row.",
    "column": "Mean weight of a patch on the other patches of its column.",
    "ink": "Mean weight on patches that have a line in them, whoever looks.",
    "ground": "Mean weight on patches without a line that are seen, whoever looks.",
    "far": "Mean distance, in patches, from the patch that looks to those looked at, weighted by attention, as a share of the picture's diagonal (Dosovitskiy et al. 2021, figure 7).",
    "spread": "Entropy of a row as a share of the largest possible one: 1 is uniform attention over everything allowed.",
}
"""The test that defines each score, in words."""
Text = Sentence | Example
BY_PATCH = (*patch_habits.CELL_MEASURES, patch_habits.FAR)


@dataclass(frozen=True)
class Evidence:
    """One measure, text by text: the scores, and the rows with the largest and smallest share of each text."""

    name: str
    texts: tuple[Text, ...]
    scores: Float[Array, "text layer head"]
    most: Int[Array, "text layer head"]
    least: Int[Array, "text layer head"]

    def head_scores(self, layer: int, head: int) -> Float[Array, " text"]:
        """Return the head's score on each text."""
        return self.scores[:, layer, head]


@dataclass(frozen=True)
class Stability:
    """The spread of a head's score over the sentences: a habit that it has everywhere, or on some only."""

    least: float
    median: float
    most: float
    deviation: float


def stability(scores: Float[Array, " text"]) -> Stability:
    """Return the smallest, middle and largest score and the standard deviation of the scores of texts.

    >>> stability(np.array([0.2, 0.4, 0.9]))
    Stability(least=0.2, median=0.4, most=0.9, deviation=0.294)
    """
    return Stability(
        float(scores.min()), float(np.median(scores)), float(scores.max()), round(float(scores.std()), 3)
    )


def evidence_texts(
    name: str, own_examples: Sequence[Example] = (), *, pairs: bool = False
) -> tuple[Text, ...]:
    """Return the texts on which a measure is taken: those of its group, or a model's own; `pairs` for attention between two texts."""
    if own_examples or pairs:
        return tuple(own_examples) or texts("heads_en-es")
    group = (
        PLAIN
        if name in NEAR
        else REPEATED
        if name in ("induction", "duplicate")
        else name
        if name in LINKED
        else ""
    )
    rows = [row for row in texts("battery") if (row.group == group if group else row.group != SHUFFLED)]
    return tuple(rows if group else rows[::SAMPLE_STEP])


def collect_evidence(
    name: str, rows: Sequence[Text], row_values: Sequence[Float[Array, "layer head _"]]
) -> Evidence:
    """Collect one measure text by text from `measure_rows` of every text; texts without a row for it are left out."""
    there, parts = [], []
    for number, values in enumerate(row_values):
        here = np.isfinite(values).all((0, 1))
        if here.any():
            there.append(rows[number])
            parts.append(_three(values[..., here], np.flatnonzero(here)))
    if not parts:
        raise InputError(
            "No sentence shows this measure for the model.",
            "Its tokens do not show the words that the measure links.",
            "Choose another head, or another model.",
        )
    mean, most, least = (np.stack(each) for each in zip(*parts, strict=True))
    return Evidence(name, tuple(there), mean, most, least)


def _three(values: Array, places: Array) -> tuple[Array, Array, Array]:
    return values.mean(-1), places[values.argmax(-1)], places[values.argmin(-1)]


def measure_rows(model: Model, kind: str, name: str, text: Text) -> Float[Array, "layer head query"]:
    """Compute a measure of every head for each row of a text, NaN for rows that the measure leaves out."""
    crosses = model.spec.kind(kind).queries != model.spec.kind(kind).keys
    target = "" if model.spec.has_source and isinstance(text, Sentence) else getattr(text, "target", None)
    run = model.run(text.text, target=target, keep=KEEP)
    if name in BY_PATCH:
        return patch_habits.measure_rows(run.attention(kind), name, patch_habits.patches_with_ink(run))
    return row_scores(run.attention(kind, by="word", writing=crosses), name, text)


def row_scores(attention: Attention, name: str, text: Text) -> Float[Array, "layer head query"]:
    """Compute the shares of weight that the measure counts; for "spread" entropies as shares of the largest."""
    w = attention.weights
    if name == "spread":
        count = attention.allowed.sum(-1)
        return np.where(count > 1, entropy(w) / np.log(np.maximum(count, 2)), np.nan)
    wanted, rows = measured_cells(attention, name, text)
    return np.where(rows, (w * wanted).sum(-1), np.nan)


def measured_cells(
    attention: Attention, name: str, text: Text
) -> tuple[Bool[Array, "query key"], Bool[Array, " query"]]:
    """Return the cells whose weight a measure counts, and the rows over which it is the mean."""
    n_queries, n_keys = attention.weights.shape[-2:]
    cells = np.zeros((n_queries, n_keys), dtype=bool)
    offsets = {"previous": -1, "itself": 0, "next": 1}
    if name in offsets:
        cells = np.eye(n_queries, n_keys, offsets[name], dtype=bool)
        cells[: min(2, n_queries - 1)] = False  # under a causal mask the first two have nowhere else to look
    elif name == "first":
        cells[2:, 0] = True
    elif name in ("punctuation", "separator"):
        cells[:] = separator_keys(attention) if name == "separator" else punctuation_keys(attention)
        return cells, np.ones(n_queries, dtype=bool)
    elif name in ("induction", "duplicate") and not isinstance(text, Sentence):
        again = earlier_duplicates(repeatable_keys(attention))
        cells = np.tril(np.roll(again, 1, axis=1) if name == "induction" else again, k=-1)
    else:
        for seen, looking in _links(attention, name, text):
            cells[looking, seen] = True
    return cells, np.asarray(cells.any(1))


def _links(attention: Attention, name: str, text: Text) -> Links:
    if not isinstance(text, Sentence):
        return text.links
    try:
        links = [
            (seen, looking) for seen, looking in text.links_by_run_word(attention.keys) if seen != looking
        ]
    except ValueError:  # its tokens do not show these words
        return ()
    return (
        [(seen + 1, looking) for seen, looking in links if seen + 1 < looking]
        if name == "induction"
        else links
    )


def is_positional(heads: HeadHabits, layer: int, head: int) -> bool | None:
    """Return whether a habit depends on position alone: the head keeps it when the words are shuffled. None where this was not measured.

    >>> one = np.array([[0.6]])
    >>> is_positional(HeadHabits({"previous": one, "spread": one}, 1, {"previous": one / 3}), 0, 0)
    False
    """
    habit = heads.habit(layer, head)
    if habit in LINKED and habit in heads.controls:
        return False  # its name says that other words in the same position do not get this weight
    if habit not in NEAR or habit not in heads.controls:
        return None
    return float(heads.controls[habit][layer, head]) >= POSITIONAL_SHARE * float(
        heads.scores[habit][layer, head]
    )
