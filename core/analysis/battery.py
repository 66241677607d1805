"""All heads of a model measured on our own sentences, group by group: what names them on cards and pages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.analysis.heads import Heads, averages, measures
from core.analysis.measures import Links, alignment, elsewhere
from core.lessons.texts import Sentence, texts
from core.model import Model
from core.run import Attention

Scores = dict[str, np.ndarray]

KEEP = ("*.pattern",)
PLAIN, SHUFFLED, REPEATED = "previous-word", "shuffled", "repetitions"
NEAR = ("previous", "itself", "next", "first")
"""Habits by place: measured on plain sentences, and as a control on the same words shuffled."""
EVERYWHERE = ("punctuation", "separator", "spread")
"""Measured on all sentences but the shuffled ones."""


def surveyed(model: Model) -> dict[str, Heads]:
    """The habits of all heads by kind of attention, each sentence read once.

    Attention inside what is read: over the battery. From a text that is written, to itself or to the one read: over the
    short pairs, the translation given.
    """
    kinds = model.spec.kinds_of(model.config)
    side = "source" if model.spec.has_source else "target"
    read = [kind.name for kind in kinds if kind.queries == kind.keys == side]
    written = [kind for kind in kinds if kind.name not in read]
    found: dict[str, list[tuple[Scores, Scores]]] = {kind.name: [] for kind in kinds}
    for sentence in texts("battery") if read else ():
        run = model.run(sentence.text, target="" if model.spec.has_source else None, keep=KEEP)
        for name in read:
            found[name].append(of_sentence(sentence, run.attention(name, by="word")))
    for example in texts("heads_en-es") if written else ():
        run = model.run(example.text, target=example.target, keep=KEEP)
        for kind in written:
            crosses = kind.queries != kind.keys
            attention = run.attention(kind.name, by="word", writing=crosses)
            found[kind.name].append((dict(measures(attention, example.links if crosses else ())), {}))
    return {name: Heads(averages([s for s, _ in rows]), len(rows), averages([c for _, c in rows])) for name, rows in found.items()}


def of_sentence(sentence: Sentence, attention: Attention) -> tuple[Scores, Scores]:
    """What this sentence says about each head, and the controls."""
    found, w = measures(attention), attention.weights
    near = {name: found[name] for name in NEAR if name in found}
    if sentence.group == SHUFFLED:
        return {}, near
    scores = {name: found[name] for name in EVERYWHERE if name in found} | (near if sentence.group == PLAIN else {})
    linked = {name: links for name, links in _linked(sentence, attention.keys).items() if links}
    return (
        scores | {name: alignment(w, links) for name, links in linked.items()},
        {name: elsewhere(w, attention.allowed, links) for name, links in linked.items()},
    )


def _linked(sentence: Sentence, words: tuple[str, ...]) -> Mapping[str, Links]:
    """The pairs of words by the measure they are for. Of a repetition: the same word before, and the word behind that one."""
    links = [(seen, looking) for seen, looking in sentence.links_in(words) if seen != looking]
    if sentence.group != REPEATED:
        return {sentence.group: links}
    return {"duplicate": links, "induction": [(seen + 1, looking) for seen, looking in links if seen + 1 < looking]}
