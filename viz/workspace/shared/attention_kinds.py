"""The kinds of attention in words: their names, the axes of their maps, the sentences about them."""

from __future__ import annotations

from core.run import Run
from viz.instruments import ALIGNING, SUMMING, Sentences
from viz.instruments.kit.picture import SUMMED
from viz.labels import query_and_key
from viz.languages import _, mark

RANK = ("cross", "alignment", "words", "sentences", "self", "causal", "decoder")
"""The order in which kinds open: across two texts before inside one."""
KINDS = {
    "self": mark("Encoder self-attention"),
    "causal": mark("Causal self-attention"),
    "decoder": mark("Decoder self-attention"),
    "cross": mark("Cross-attention to the source"),
    "alignment": mark("Alignment with the source"),
    "words": mark("The words of each sentence"),
    "sentences": mark("The sentences of the document"),
}
SHORT = {
    "self": "enc",
    "causal": "dec",
    "decoder": "dec",
    "cross": "cross",
    "alignment": "align",
    "words": "words",
    "sentences": "sentences",
}
"""Before the name of a head, in a model that has several kinds of attention."""


def crosses(kind: str) -> bool:
    """Return whether this attention goes from the text that is written to another that is read."""
    return kind in ("cross", "alignment")


def is_summary(kind: str) -> bool:
    """Return whether a query is no word: each row sums up the words of a sentence, or the sentences of the text."""
    return kind in SUMMED


def axis_names(kind: str) -> tuple[str, str]:
    """Return the names of the rows and columns of its map."""
    rows, columns = SUMMED.get(kind, ("", ""))
    return (_(rows), _(columns)) if rows else query_and_key(across=crosses(kind))


def sentence_templates(run: Run, kind: str) -> Sentences | None:
    """Return the sentence templates for a touched word, where the attention is not in layers or its rows are summaries; None for the default ones."""
    if is_summary(kind):
        return SUMMING
    return None if run.model.spec.kind(kind).layered else ALIGNING


def layout(kind: str) -> str:
    """Return "two" (rows of words) between two texts or from words to their summary, "one" inside one text."""
    return "two" if crosses(kind) or is_summary(kind) else "one"
