"""The abilities of a model: one table, which pages consult before they compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.models import Family
from core.wording import mark

Model = Any  # core.model asks this table, so it stands above it
ASKABLE = ("logits", "classes", "tags", "answer", "score")
"""Outputs that one can ask about, in their order of rank: a question about a model is about the first of these that it has."""
OUTPUTS = (*ASKABLE, "embedding")
HEADLESS = mark(
    "it has no output layer: only the layers below it, which make the vector of each token, are in its file."
)


@dataclass(frozen=True)
class Ability:
    """One thing that a page may need: whether a network has it, and of one that has not, why, as the end of a sentence about the model.

    `family` says of a model that is not open whether one of its family may have it.
    """

    has: Callable[[Model], bool]
    lacks: Callable[[Model], str]
    family: Callable[[Family], bool] = lambda _: True


def _outputs(name: str) -> Callable[[Model], bool]:
    return lambda model: name in model.outputs


def _layered(family: Family) -> bool:
    return any(kind.layered for kind in family.kinds)


def _no_layers(model: Model) -> str:
    if not model.spec.kinds_of(model.config):
        return mark("it has no attention that could be looked at.")
    if model.spec.sentences:
        return mark("it has one weighting of words and one of sentences, and no heads in layers.")
    return mark("it has one alignment, from each word that it writes to the source, and no heads in layers.")


def _no_words(model: Model) -> str:
    if "patches" in model.outputs:
        return mark(
            "it fills in hidden patches: it outputs no word and no class for which a part of it could matter."
        )
    if "classes" in model.outputs:
        return mark("it outputs one class of the whole input, and no word at any position.")
    for name, lack in (
        ("tags", mark("it outputs a tag for each word, and no word at any position.")),
        ("answer", mark("it outputs where an answer begins and ends, and no word at any position.")),
        ("score", mark("it outputs one score of its text, and no word at any position.")),
        ("embedding", mark("it outputs one vector of its text, and no word at any position.")),
    ):
        if name in model.outputs:
            return lack
    return HEADLESS


def _no_text(model: Model) -> str:
    if model.spec.reads and not model.can("score_words"):
        return mark("it reads a picture: this page follows the words of a text.")
    return _no_words(model)


def _no_writing(model: Model) -> str:
    if model.spec.reads and not model.spec.has_source:
        return mark("it reads a picture; there is no text that it could continue.")
    if model.spec.sentences:
        return mark("it reads a whole text and outputs its class; it cannot continue it word by word.")
    if model.spec.writes:
        return _no_words(model)
    if model.can("fill_blanks"):
        return mark(
            "it reads a whole text at once, forwards and backwards and fills blanks; it cannot go on word by word."
        )
    return mark("it reads a whole text at once, forwards and backwards; it cannot go on word by word.")


ABILITIES: Mapping[str, Ability] = {
    "attend": Ability(
        lambda model: bool(model.spec.kinds_of(model.config)), _no_layers, lambda family: bool(family.kinds)
    ),
    "attend_in_layers": Ability(
        lambda model: any(kind.layered for kind in model.spec.kinds_of(model.config)), _no_layers, _layered
    ),
    "score_words": Ability(_outputs("logits"), _no_words),
    "score_classes": Ability(_outputs("classes"), lambda _: mark("it outputs no class.")),
    "tag_words": Ability(_outputs("tags"), lambda _: mark("it outputs no tags.")),
    "find_answers": Ability(_outputs("answer"), lambda _: mark("it does not mark an answer in its text.")),
    "embed_texts": Ability(_outputs("embedding"), lambda _: mark("it does not make one vector of a text.")),
    "score_texts": Ability(_outputs("score"), lambda _: mark("it outputs no score of a text.")),
    "read_pairs": Ability(
        lambda model: model.head is not None or (model.spec.framed and model.config.n_segments > 1),
        lambda _: mark("it reads one text."),
    ),
    "answer": Ability(lambda model: any(name in model.outputs for name in ASKABLE), _no_words),
    "answer_texts": Ability(
        lambda model: model.can("answer") and (model.can("score_words") or not model.spec.reads), _no_text
    ),
    "fill_blanks": Ability(
        lambda model: model.spec.framed and model.can("score_words") and model.tokenizer.mask is not None,
        lambda _: mark("it has no token for a blank, or no output for the word in it."),
        lambda family: family.framed,
    ),
    "read_text": Ability(
        lambda model: not model.spec.reads,
        lambda _: mark("it reads a picture or a sound, and no text."),
        lambda family: not family.reads,
    ),
    "choose_experts": Ability(
        lambda model: getattr(model.config, "n_experts", 0) > 0,
        lambda _: mark("its layers have one feed-forward network each."),
    ),
    "write": Ability(
        lambda model: model.spec.writes and model.can("score_words"),
        _no_writing,
        lambda family: family.writes,
    ),
}
"""By name. "answer": it says something that one can ask about: words, a class, tags, a span, a score."""
