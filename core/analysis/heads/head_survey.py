"""A survey of all heads of a model over the project's own sentences, group by group: the measures that name them on cards and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from core.analysis.attention.measures import alignment, alignment_control
from core.analysis.heads import patch_habits
from core.analysis.heads.habits import HeadHabits, mean_scores, measures
from core.analysis.heads.patch_habits import are_patches
from core.data.readable import unknown_share
from core.data.texts import Example, Links, Sentence, texts
from core.errors import InputError, reason_of
from core.model import Model
from core.models import Kind
from core.run import Attention, Run

Scores = dict[str, np.ndarray]
TextScores = dict[str, tuple[Scores, Scores]]
"""The measures of heads on one text, by kind of attention: scores, and their controls."""

KEEP = ("*.pattern",)
UNREAD = 0.1
"""The share of unknown tokens above which texts name no head: measures then only say where a model looks from one unknown token to others."""
PLAIN, SHUFFLED, REPEATED = "previous-word", "shuffled", "repetitions"
NEAR = ("previous", "itself", "next", "first")
"""Habits by place: measured on plain sentences, and as a control on the same words shuffled."""
EVERYWHERE = ("punctuation", "separator", "spread")
"""Measured on all sentences but the shuffled ones."""


def survey_heads(model: Model, own_examples: Sequence[Example] = ()) -> dict[str, HeadHabits]:
    """Measure the habits of all heads by kind of attention, each sentence read once; see `survey_steps`."""
    return average_results([scores_or_reason(read) for read in survey_steps(model, own_examples)])


def survey_steps(
    model: Model, own_examples: Sequence[Example] = (), *, translates: bool = True
) -> list[Callable[[], TextScores]]:
    """Return the steps of a survey, one function for each text; `average_results` joins their results.

    Attention inside what is read: over the battery; of a learned query, over the stories. From a text that is written, to
    itself or to the one read: over the short pairs, the translation given to a model that `translates` into Spanish, to any other
    what it writes. A model to which our sentences mean nothing has its `own_examples`, for all kinds.
    """
    kinds = model.spec.kinds_of(model.config)
    if own_examples:
        return [partial(score_example, model, example, kinds) for example in own_examples]
    side = "source" if model.spec.has_source else "target"
    read = [kind.name for kind in kinds if kind.queries == kind.keys == side]
    learned = [kind for kind in kinds if kind.has_learned_queries]
    written = [kind for kind in kinds if kind.name not in read and not kind.has_learned_queries]
    steps = [partial(_score_battery_sentence, model, sentence, read) for sentence in texts("battery") if read]
    pairs = texts("heads_en-es") if translates else [Example(pair.text) for pair in texts("heads_en-es")]
    for examples, asking in ((pairs, written), (texts("heads_en"), learned)):
        steps += [partial(score_example, model, example, asking) for example in examples if asking]
    return steps


def with_readability(
    heads: Mapping[str, HeadHabits], model: Model, lines: Sequence[str]
) -> tuple[Mapping[str, HeadHabits], float]:
    """Return the heads, without names where the model cannot read the texts they were measured on, and the share of unknown tokens in these."""
    share = unknown_share(lines, model.tokenizer.source) if model.spec.reads is None else 0.0
    return {kind: replace(one, readable=share <= UNREAD) for kind, one in heads.items()}, share


def survey_texts(model: Model) -> list[str]:
    """Return the texts of ours on which the heads of a model are measured."""
    return [row.text for row in (*texts("battery"), *(texts("heads_en-es") if model.spec.has_source else ()))]


def scores_or_reason(read: Callable[[], TextScores]) -> TextScores | str:
    """Return the measures of one text, or the reason why it is left out: too long, or tokens that do not show its linked words."""
    try:
        return read()
    except (InputError, ValueError) as error:
        return reason_of(error)


def average_results(results: Sequence[TextScores | str]) -> dict[str, HeadHabits]:
    """Return the means of the measures of many texts, by kind of attention. Raises InputError, with the reason of the first, where all were left out."""
    if results and all(isinstance(one, str) for one in results):
        raise InputError(
            "None of the texts can be read: {reason}",
            "A habit is measured on texts.",
            "Look at its heads on a text of your own.",
            reason=results[0],
        )
    by_kind: dict[str, list[tuple[Scores, Scores]]] = {}
    for one in results:
        if isinstance(one, str):
            continue
        for name, rows in one.items():
            by_kind.setdefault(name, []).append(rows)
    return {
        name: HeadHabits(mean_scores([s for s, _ in rows]), len(rows), mean_scores([c for _, c in rows]))
        for name, rows in by_kind.items()
    }


def _score_battery_sentence(model: Model, sentence: Sentence, kinds: Sequence[str]) -> TextScores:
    run = model.run(sentence.text, target="" if model.spec.has_source else None, keep=KEEP)
    return {name: score_sentence(sentence, run.attention(name, by="word")) for name in kinds}


def score_example(model: Model, example: Example, kinds: Sequence[Kind]) -> TextScores:
    """Return the scores of a text for each head of these kinds, and the controls; between two texts with their links, of a picture by its patches."""
    return score_run(model.run(example.text, target=example.target, keep=KEEP), kinds, example.links)


def score_run(run: Run, kinds: Sequence[Kind], links: Links = ()) -> TextScores:
    """Return the scores that `score_example` gives, of a text that was run with its patterns."""
    by_kind: dict[str, tuple[Scores, Scores]] = {}
    for kind in kinds:
        if run.side.values is not None and are_patches(run.tokens):
            scores, controls = patch_habits.measures(run, run.attention(kind.name))
            by_kind[kind.name] = dict(scores), dict(controls)
            continue
        crosses = kind.queries != kind.keys and not kind.has_learned_queries
        attention = run.attention(kind.name, by="word", writing=crosses)
        by_kind[kind.name] = (
            dict(
                measures(
                    attention,
                    links if crosses else (),
                    learned_query=kind.has_learned_queries or crosses,
                )
            ),
            {},
        )
    return by_kind


def score_sentence(sentence: Sentence, attention: Attention) -> tuple[Scores, Scores]:
    """Return the scores of each head on this sentence, and the controls."""
    values, w = measures(attention), attention.weights
    near = {name: values[name] for name in NEAR if name in values}
    if sentence.group == SHUFFLED:
        return {}, near
    scores = {name: values[name] for name in EVERYWHERE if name in values} | (
        near if sentence.group == PLAIN else {}
    )
    linked = {name: links for name, links in _linked(sentence, attention.keys).items() if links}
    return (
        scores | {name: alignment(w, links) for name, links in linked.items()},
        {name: alignment_control(w, attention.allowed, links) for name, links in linked.items()},
    )


def _linked(sentence: Sentence, words: tuple[str, ...]) -> Mapping[str, Links]:
    """Return the linked words by measure. In a repetition: the same word before, and the word after that one."""
    links = [(seen, looking) for seen, looking in sentence.links_by_run_word(words) if seen != looking]
    if sentence.group != REPEATED:
        return {sentence.group: links}
    return {
        "duplicate": links,
        "induction": [(seen + 1, looking) for seen, looking in links if seen + 1 < looking],
    }
