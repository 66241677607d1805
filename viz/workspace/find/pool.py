"""The heads that are compared with each other, of all models that can read the same texts, and their rows on these texts."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import streamlit as st

import core.serving.engine
from core.analysis.attribution.score_parts import reaches_words
from core.analysis.heads import evidence, head_similarity, sketch
from core.analysis.heads.corpus import HeadWrites
from core.analysis.heads.corpus_file import ModelCorpus, corpus_path, shipped_corpus
from core.analysis.heads.corpus_writes import head_writes
from core.analysis.heads.evidence import Evidence
from core.analysis.heads.habits import HeadHabits
from core.analysis.heads.head_file import FILE, read_heads
from core.analysis.heads.head_similarity import HeadRows, TextPatterns
from core.checkpoints import manifest
from core.data.patches import PatchReader, with_hidden_mark
from core.data.texts import Example, texts
from core.errors import InputError
from core.model import Model
from core.models import Kind
from core.reading import bounds
from core.reading.corpus_jobs import SOURCE
from core.training.recipe import recipes
from viz.instruments.picture import patches
from viz.languages import _, ngettext
from viz.memo import remembered
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets import controls, engine_client, input_hints
from viz.workspace.find import own_lines
from viz.workspace.shared import head_survey, model_run, tasks
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.toy_models import KIND

AT_ONCE = 4
"""Texts of one step of the progress line."""
PATIENCE = 0.2
"""Seconds after which there is a progress line: what is kept comes without one."""
AT_ANY_RATE = 64 * 2**20
"""Bytes that opening a model of one's own may take for it to be compared unasked."""
SHIPPED = """from core.analysis.heads.corpus_file import shipped_corpus

heads = shipped_corpus({model!r}).kinds[{kind!r}]
"""
OWN_LINES = """import core

model = core.open_model({model!r})
heads = core.analysis.head_corpus(model, open("lines.txt", encoding="utf-8").read().splitlines())[{kind!r}]
"""
MODELS_AT_HAND = 4
"""Models whose corpus is in memory, unpacked."""
WITH = "find.with"
READ, WRITTEN, ACROSS = "read", "written", "across"
Ask = Callable[[Hashable, Callable[[], Any], float], Any]


@dataclass(frozen=True)
class Head:
    """One head of one model."""

    model: str
    place: HeadRef

    def __str__(self) -> str:
        return _("{head} of {model}", head=self.place, model=self.model)


@dataclass(frozen=True)
class Pool:
    """Models and kinds of attention whose heads look from the same words at the same words, with their (layers, heads).

    `left_out` says of each model that cannot be compared why.
    """

    members: tuple[tuple[str, str, int, int], ...]
    by: str
    space: str
    left_out: tuple[str, ...] = ()

    @cached_property
    def heads(self) -> tuple[Head, ...]:
        """Return all heads, in the order of the rows."""
        return tuple(
            Head(model, HeadRef(kind, layer, head))
            for model, kind, layers, n_heads in self.members
            for layer in range(layers)
            for head in range(n_heads)
        )

    @property
    def reads_pictures(self) -> bool:
        """Return whether they look at pictures."""
        return patches.reads_patches(model_run.open_model(self.members[0][0]))

    @property
    def texts(self) -> str:
        """Return how many texts they are, in words: "32 sentences", "1 drawing"."""
        n = len(sentences(self))
        if self.reads_pictures:
            return ngettext("{n} drawing", "{n} drawings", n)
        if self.by == "token":
            return ngettext("{n} text of its task", "{n} texts of its task", n)
        return ngettext("{n} sentence", "{n} sentences", n)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model for model, *_ in self.members))

    def index(self, head: Head) -> int:
        return self.heads.index(head)

    def rows_of(self, model: str, kind: str) -> list[int]:
        """Return the rows of one model's heads of one kind."""
        return [
            number for number, head in enumerate(self.heads) if (head.model, head.place.kind) == (model, kind)
        ]


def pool(model: str, kind: str) -> Pool:
    """Return the heads that can be compared with those of a model: a toy's with its own, of pictures those of all that cut them into the same patches, else of all that read sentences.

    Where a learned vector asks there is no head: its rows are sentences, not words.
    """
    opened = model_run.open_model(model)
    space, cut = _space(opened, opened.spec.kind(kind)), _cut(model)
    names = [model] if _reads_alone(model) else [name for name in tasks.usable() if not _reads_alone(name)]
    if cut:
        others = [name for name, family in tasks.usable().items() if tasks.task_of(name, family) is tasks.SEE]
        names = [name for name in others if _cut(name) == cut]
    waiting = [name for name in large(model) if name not in chosen_models(model)]
    members, left_out = [], []
    for name in (name for name in names if name not in waiting):
        try:
            reader = model_run.open_model(name)
            own_kinds = [
                (
                    name,
                    found.name,
                    found.n_layers(reader.config),
                    reader.config.n_heads if found.layered else 1,
                )
                for found in reader.spec.kinds_of(reader.config)
                if _space(reader, found) == space and not found.has_learned_queries
            ]
            if own_kinds:
                _check_room(reader, sentences(Pool(tuple(own_kinds), "word", space)))
            members += own_kinds
        except InputError as error:
            if name == model:
                raise
            left_out.append(f"{name}: {error.wrong} {error.rule}")
    return Pool(tuple(members), "token" if _reads_alone(model) else "word", space, tuple(left_out))


def large(model: str) -> list[str]:
    """Return the models of the visitor's own, but for the one in view, that take long to open and to run: which of them are compared is a choice."""
    usable = tasks.usable()
    return [
        one.name
        for one in core.serving.engine.default().models()
        if one.foreign and one.memory > AT_ANY_RATE and one.name in usable and one.name != model
    ]


def chosen_models(model: str) -> tuple[str, ...]:
    """Return those of the large models that the visitor chose."""
    return state.read(WITH, (), state.some_of(large(model), controls.NONE))


def _check_room(reader: Model, read: Sequence[Example]) -> None:
    """Raise InputError where one of the texts is longer than the model reads."""
    room = reader.config.n_ctx - bounds.n_special(reader)
    if reader.spec.reads is not None:
        return
    longest = remembered(reader, ("find.longest", tuple(read)), lambda: _longest(reader, read))
    if longest > room:
        raise InputError(
            _("It reads at most {n:,} tokens of a text.", n=room),
            _("Heads are compared on sentences of up to {n:,} of its tokens.", n=longest),
            _("Choose another model."),
        )


def _longest(reader: Model, read: Sequence[Example]) -> int:
    """Return the tokens of the longest of the texts."""
    sides = [(reader.reader, row.text) for row in read]
    sides += [(reader.tokenizer, row.target) for row in read if row.target and reader.spec.has_source]
    return max(len(side.encode(text).ids) for side, text in sides)


def _reads_alone(model: str) -> bool:
    """Return whether a model reads texts that no other model reads: a toy's own, or pictures and sounds written as texts."""
    return model in KIND or model_run.open_model(model).spec.reads is not None


def _cut(model: str) -> tuple[int, int] | None:
    """Return patches in a row and pixels of a picture; None for a model that reads none."""
    reader = model_run.open_model(model).reader
    return (reader.image // reader.patch, reader.image) if isinstance(reader, PatchReader) else None


def _space(model: Model, kind: Kind) -> str:
    """Return between which texts a kind looks: inside the source, inside the output, or from one to the other."""
    if kind.queries != kind.keys:
        return ACROSS
    return WRITTEN if model.spec.has_source and kind.queries == "target" else READ


def sentences(pool: Pool) -> tuple[Example, ...]:
    """Return the texts on which heads are compared: 32 sentences, short pairs where one is written, a toy's own, drawings that are seen whole."""
    if pool.reads_pictures:  # beside each other only what both see can be compared
        read = own_items(pool.models[0])
        return tuple(replace(row, text=with_hidden_mark(row.text, ())) for row in read)
    return own_items(pool.models[0]) or texts("head_maps" if pool.space == READ else "heads_en-es")


def own_items(model: str) -> tuple[Example, ...]:
    """Return the items of a model's own task, of one that reads no sentence of another's at least its example; none for the others."""
    if not _reads_alone(model):
        return ()
    recipe, reader = recipes().get(model), model_run.open_model(model).reader
    return tuple(recipe.examples() if recipe else ()) or (Example(reader.example),)


@contextmanager
def progress(words: str) -> Iterator[Callable[[float], None]]:
    """Draw a line with the progress, gone at the end; its place is kept from the start."""
    spot, start = st.empty(), time.monotonic()
    told = False

    def tell(share: float) -> None:
        nonlocal told
        if time.monotonic() - start > PATIENCE:
            told = True
            spot.progress(min(share, 1.0), words)

    try:
        yield tell
    finally:
        if told:
            spot.empty()


def rows(pool: Pool) -> HeadRows:
    """Return the rows of all heads on all texts, kept by the engine; missing ones are computed a few texts at a time."""
    read = sentences(pool)
    steps = [(member, first) for member in pool.members for first in range(0, len(read), AT_ONCE)]
    with (
        progress(_("Reading {texts} with {models}", texts=pool.texts, models=", ".join(pool.models))) as tell,
        engine_client.many() as ask,
    ):
        kept = core.serving.engine.default().cached(_key(pool, read))
        return kept or gathered(pool, ask, lambda number: tell(number / len(steps)))


def gathered(pool: Pool, ask: Ask, tell: Callable[[int], None]) -> HeadRows:
    """Return the same by any way of asking, such as an engine's `submit`; `tell(step)` after each step."""
    read, parts, done = sentences(pool), [], 0
    for model, kind, *_shape in pool.members:
        reader, each = model_run.open_model(model), []
        for first in range(0, len(read), AT_ONCE):
            some = read[first : first + AT_ONCE]
            key = ("find.seen", model, kind, pool.by, tuple((row.text, row.target) for row in some))
            each += ask(
                key,
                lambda reader=reader, kind=kind, some=some: [
                    _patterns(reader, kind, row, pool.by) for row in some
                ],
                60.0 * len(some) * reader.config.n_layers,
            )
            tell(done := done + 1)
        parts.append(each)
    return ask(_key(pool, read), lambda: head_similarity.stack_rows(list(zip(*parts, strict=True))), 500.0)


def _key(pool: Pool, read: Sequence[Example]) -> tuple[object, ...]:
    return "find.rows", pool, len(read)


def _patterns(model: Model, kind: str, row: Example, by: str) -> TextPatterns:
    found = model.spec.kind(kind)
    target = None if not model.spec.has_source else row.target or ""
    keep = [found.path(layer, "pattern") for layer in range(found.n_layers(model.config))]
    return head_similarity.text_patterns(model.run(row.text, target=target, keep=keep), kind, by)


def near(pool: Pool, head: Head) -> np.ndarray:
    """Return the distance of every head of the pool from one, in bits."""
    table, place = rows(pool), pool.index(head)
    return engine_client.submit(
        ("find.near", pool, place), lambda: head_similarity.divergences_from(table, place), 2_000.0
    )


def between(pool: Pool, some: tuple[int, ...]) -> np.ndarray:
    """Return the same for every pair of some heads."""
    table = rows(pool)
    return engine_client.submit(
        ("find.between", pool, some),
        lambda: head_similarity.pairwise_divergences(table.select_heads(some)),
        2.0 * len(some) ** 2,
    )


def grids(pool: Pool) -> np.ndarray:
    """Return the mean pattern of every head on the grid of a drawing."""
    table = rows(pool)
    return engine_client.submit(("find.grids", pool), lambda: sketch.mean_grids(table), 2_000.0)


def untrained(model: str) -> dict[str, HeadHabits]:
    """Return the heads of an untrained copy by kind, as shipped; none where none were measured."""
    folder = manifest.shipped_folder() / model
    if not (folder / FILE).is_file():
        return {}
    held = engine_client.submit(("find.untrained", model), lambda: read_heads(folder), 1.0)
    return dict(held.untrained) if held else {}


def corpus(model: str) -> tuple[ModelCorpus | None, str]:
    """Return the heads of a model over the visitor's lines, else of a shipped one over its corpus, and why there are none where its file cannot be used; (None, "") where there is no file."""
    if (own := own_lines.progress(model_run.open_model(model))) and own.corpus:
        return own.corpus, ""
    path = corpus_path(model)
    if not input_hints.is_shipped(model) or not path.is_file():
        return None, ""
    try:
        return _corpus(model, path.stat().st_mtime_ns), ""
    except InputError as error:
        return None, error.text


def writes(corpus: ModelCorpus, head: Head) -> HeadWrites | None:
    """Return what a head writes on its strongest rows: as shipped, or computed on the visitor's lines; None where it reaches no score of words."""
    heads, place = corpus.kinds[head.place.kind], head.place
    if heads.writes is not None:
        return heads.writes[place.layer][place.head]
    model = model_run.open_model(head.model)
    if not corpus.texts or not reaches_words(model, place.kind):
        return None
    return engine_client.submit(
        ("find.writes", head, corpus.texts),
        lambda: head_writes(model, corpus.texts, place.kind, heads, place.layer, place.head),
        200.0 * model.config.n_layers,
    )


def with_corpus() -> list[str]:
    """Return the models that have a corpus."""
    return [name for name in tasks.usable() if input_hints.is_shipped(name) and corpus_path(name).is_file()]


def corpus_code(model: str, kind: str, passages: ModelCorpus) -> str:
    """Return the lines of Python that give `heads`, those of a kind over this corpus."""
    if passages.sources[0].name == SOURCE:
        return OWN_LINES.format(model=model, kind=kind)
    return SHIPPED.format(model=model, kind=kind)


def corpus_button(key: str) -> None:
    """Draw a button that opens the head in view over the corpus."""
    st.button(
        _("Over a corpus"),
        key=key,
        type="tertiary",
        help=_("The strongest rows of this head, and one passage of each tenth"),
        on_click=lambda: state.write(**{"find.by": "corpus"}),
    )


@lru_cache(MODELS_AT_HAND)
def _corpus(model: str, _: int) -> ModelCorpus | None:
    """Return the corpus of a model; the time of its file is part of the key of the cache."""
    return shipped_corpus(model)


def evidence_of(model: str, kind: str, name: str) -> Evidence:
    """Return a measure on each of its texts, for all heads of a kind."""
    reader = model_run.open_model(model)
    found = reader.spec.kind(kind)
    written = reader.spec.has_source and "target" in (found.queries, found.keys)
    read = evidence.evidence_texts(name, own_items(model), pairs=written)
    each = []
    with progress(_("Reading the sentences behind the score")) as tell, engine_client.many() as ask:
        for first in range(0, len(read), AT_ONCE):
            some = read[first : first + AT_ONCE]
            key = ("find.behind", model, kind, name, first)
            each += ask(
                key,
                lambda some=some: [evidence.measure_rows(reader, kind, name, text) for text in some],
                60.0 * len(some) * reader.config.n_layers,
            )
            tell((first + AT_ONCE) / len(read))
        return ask(
            ("find.evidence", model, kind, name), lambda: evidence.collect_evidence(name, read, each), 10.0
        )


def habit(head: Head) -> str:
    """Return the measured kind of a head, in words."""
    return habit_label(head_survey.survey(head.model)[head.place.kind], head.place.layer, head.place.head)


def habit_label(measured: HeadHabits, layer: int, head: int) -> str:
    """Return the same of a head of these."""
    return _(measured.label(layer, head)) if measured.readable else _("not named")


def choose(head: Head, selection: Selection) -> None:
    """Make a head the one in view, on the same text."""
    state.write(**vars(head.place), model=head.model, text=selection.typed_text)
