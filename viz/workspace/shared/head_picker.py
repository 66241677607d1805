"""Which run, which head, which word: what Look and Compare share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import streamlit as st

from core.analysis.attribution.target_token import blank_rows
from core.analysis.heads import patch_habits
from core.analysis.heads.evidence import TESTS
from core.analysis.heads.habits import HABIT_NAMES, RARE, HeadHabits
from core.analysis.heads.head_file import FILE, read_heads
from core.analysis.heads.head_survey import survey_heads, with_readability
from core.checkpoints.manifest import shipped_folder
from core.data import doodles
from core.data.texts import Example, texts
from core.errors import InputError
from core.glossary import term
from core.model import Model
from core.reading import bounds, surveys
from core.run import Attention, Run
from viz.instruments import ALIGNING, SUMMING, HeadContext, Sentences, clicked_head, make_stack
from viz.instruments.kit.picture import SUMMED
from viz.instruments.picture import patches
from viz.labels import head_name, query_and_key, shorten
from viz.memo import remembered
from viz.shell import state
from viz.widgets import engine_client, input_hints
from viz.workspace.shared.toy_models import KIND, examples_of

KEEP = ("*.pattern", "*.q", "*.k")
"""Weights, and what tells the score beside each: queries and keys, small where the scores themselves are not."""
RANK = ("cross", "alignment", "words", "sentences", "self", "causal", "decoder")
"""Which attention is the more telling: across two texts before inside one."""
KINDS = {
    "self": "Encoder self-attention",
    "causal": "Causal self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention to the source",
    "alignment": "Alignment with the source",
    "words": "The words of each sentence",
    "sentences": "The sentences of the document",
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
VAGUE = "mixed"
GROUP = "look"
"""The instruments that hear of each other's pointer, and of the head that is opened in the grid."""
PILLS = 4
BEGINNING = 24
"""Letters of a sentence that stand for it along an axis."""


@dataclass(frozen=True)
class HeadRef:
    """One head: the kind of attention, the layer, the head."""

    kind: str
    layer: int
    head: int

    def __str__(self) -> str:
        return head_name(self.layer, self.head)


def mark(place: HeadRef, kinds: Collection[str]) -> str:
    """What goes before the head's name where the model has several kinds: L2.H1 of one is not L2.H1 of another."""
    return SHORT[place.kind] if len(kinds) > 1 else ""


def named(place: HeadRef, kinds: Collection[str]) -> str:
    return head_name(place.layer, place.head, mark(place, kinds))


@dataclass(frozen=True)
class HeadView:
    """What heatmap and lines show: one head or the heads of a layer joined, as (query, key)."""

    attention: Attention
    layer: int
    head: int
    name: str

    @property
    def weights(self) -> np.ndarray:
        return self.attention.weights[self.layer, self.head]

    @property
    def allowed(self) -> np.ndarray:
        return self.attention.allowed[self.layer, min(self.head, self.attention.allowed.shape[1] - 1)]


def opened(model: str) -> Model:
    return engine_client.open(model)


def run(model: str, text: str, target: str | None, pair: str | None = None) -> Run:
    reader = opened(model)
    reads = reader.spec.framed and "logits" in reader.outputs  # the page says what stands in a blank
    keep = (*(KEEP if reader.spec.kinds_of(reader.config) else ()), *(("logits",) if reads else ()))
    return engine_client.run(model, text, target=target, pair=pair, keep=keep, reads_on=reader.spec.writes)


def window(model: str, text: str, *, runs: float = 1, each: float = 0) -> str:
    """The text, or the part of it that this page can read: the page says which, and lets it be moved.

    That is what fits the model's context; and no more than can be answered in a moment by a page that makes `runs` runs of
    the part, and `each` more for every token of it.
    """
    reader = opened(model)
    most = bounds.most(reader, runs=runs, each=each)
    if patches.reads_patches(reader) or (text.isascii() and len(text) < most):
        return text  # every picture has as many patches; a token is a letter at least
    if (n := len(reader.reader.encode(text).ids)) <= most:
        return text
    first = state.read("look.from", 0, state.whole_number(0, n - most))
    key = f"look.window:{model}.{most}"
    state.seed_widget(key, first)
    limit = (
        f"{model} reads {most:,} at once"
        if most == reader.config.n_ctx - bounds.marks(reader)
        else f"this page reads {most:,} of them with {model}, so that it answers in a moment"
    )
    st.slider(
        f"The text has {n:,} tokens, and {limit}. Shown from token",
        0,
        n - most,
        first,
        key=key,
        on_change=lambda: state.write(**{"look.from": st.session_state[key]}),
    )
    return bounds.part(reader, text, first, most)


def battery(paired: bool) -> tuple[Example, ...]:
    """The sentences of ours on which heads are measured."""
    return texts("heads_en-es" if paired else "heads_en")


def _pairs(model: Model) -> tuple[Example, ...]:
    """The same for a model that reads a source: one that does not translate as ours do reads them, and writes what it writes."""
    rows = battery(paired=True)
    return rows if input_hints.is_shipped(model.name) else tuple(Example(row.text) for row in rows)


def read_by_all(model: Model) -> tuple[Example, ...]:
    """Our sentences, or where it reads pictures our doodles."""
    if patches.reads_patches(model):
        return tuple(Example(doodles.as_text(doodles.example(name))) for name in doodles.NAMES)
    return _pairs(model) if model.spec.has_source else battery(paired=False)


def survey(model: str) -> Mapping[str, HeadHabits]:
    """The habits of all heads by kind of attention, kept by the engine: as shipped with the model, as surveyed here (`core.reading.surveys`), else measured now, on fewer sentences."""
    reader = opened(model)
    if known := surveys.default().heads(reader, engine_client.session()):
        return known
    shelf = shipped_folder()
    if (shelf / model / FILE).is_file():
        return engine_client.submit(("heads", model, FILE), lambda: _shipped(shelf / model), cost=1.0)
    examples = (examples_of(model) or read_by_all(reader)) if reader.spec.kinds_of(reader.config) else ()
    return engine_client.submit(
        ("heads", model),
        lambda: with_readability(survey_heads(reader, examples), reader, [row.text for row in examples])[0],
        cost=60.0 * len(examples) * reader.config.n_layers,
    )


def _shipped(folder: Path) -> Mapping[str, HeadHabits]:
    found = read_heads(folder)
    assert found is not None
    return found.trained


def look(run: Run, kind: str, by: str = "word") -> Attention:
    """The patterns as the pages show them: rows of cross-attention are named by the word they write.

    A copier writes its letters without spaces, as one word: there each token is a word of its own.
    """
    by = "token" if KIND.get(run.model.name) == "copy" else by
    return remembered(run, (kind, by), lambda: _short(run.attention(kind, by=by, writing=crosses(kind))))


def _short(attention: Attention) -> Attention:
    """The same with the beginnings of sentences for their names."""
    if not sums(attention.kind):
        return attention
    queries = tuple(shorten(name, BEGINNING) for name in attention.queries)
    keys = tuple(shorten(name, BEGINNING) for name in attention.keys)
    return replace(attention, queries=queries, keys=keys)


def grid_key(kind: str) -> str:
    return f"look.grid.{kind}"


def among(attention: Attention, place: HeadRef) -> HeadContext | None:
    """This head among all of its kind, for pictures that follow the grid; None for texts too long to send all heads."""
    stack = remembered(attention, "stack", lambda: make_stack(attention.weights, attention.allowed))
    if stack is None:
        return None
    return HeadContext(stack, (place.layer, place.head), clicked_head(grid_key(place.kind))[1])


def crosses(kind: str) -> bool:
    """Whether this attention looks from what is written to another text that is read."""
    return kind in ("cross", "alignment")


def drawn_words(attention: Attention) -> list[tuple[str, int]]:
    """The words of the picture's lower (or only) row, each with the row of weights that belongs to it."""
    return [(attention.queries[row], row) for row in attention.rows]


def sums(kind: str) -> bool:
    """Whether what asks is no word: each row sums up the words of a sentence, or the sentences of the text."""
    return kind in SUMMED


def axis(kind: str) -> tuple[str, str]:
    """The names of rows and columns of its map."""
    return SUMMED.get(kind) or query_and_key(across=crosses(kind))


def says(run: Run, kind: str) -> Sentences | None:
    """What the picture of words says of a touched one; None: what it says of a head."""
    if sums(kind):
        return SUMMING
    return None if run.model.spec.kind(kind).layered else ALIGNING


def layout(kind: str) -> str:
    """Two rows between two texts, or from words to what they are summed up in; one row inside one text."""
    return "two" if crosses(kind) or sums(kind) else "one"


def read_by(run: Run, kind: str) -> str:
    """The text that this attention looks at, as far as it is one text or two."""
    side = run.source if run.source is not None and run.model.spec.kind(kind).keys == "source" else run.side
    return " ".join(filter(None, (side.text, side.pair)))


def habits(measured: Mapping[str, HeadHabits], run: Run | None = None) -> dict[HeadRef, str]:
    """The clearest head of each habit, the most telling first: across the two languages before inside one.

    With a run, only habits that its text gives an occasion to show.
    """
    found: dict[str, HeadRef] = {}
    for kind in sorted(measured, key=RANK.index):
        for habit, place in measured[kind].best(read_by(run, kind) if run else "").items():
            if habit != VAGUE:
                found.setdefault(habit, HeadRef(kind, *place))
    order = [
        *("aligner", "previous", "first", "induction", "duplicate"),
        *RARE,
        *patch_habits.CELL_MEASURES,
        "spread",
        "itself",
        "next",
        *("separator", "punctuation"),
    ]
    return {found[habit]: HABIT_NAMES[habit] for habit in sorted(found, key=order.index)}


def chosen(measured: Mapping[str, HeadHabits], run: Run | None = None) -> HeadRef:
    """The head to show: the visitor's, else the most telling one (for this run).

    The heads of a model that did not ship are measured in the background, on many sentences. Which one opens does not wait for that: it is
    the most telling one of this run, so that a link opens the same head before and after.
    """
    if run is not None and not input_hints.is_shipped(run.model.name):
        measured = _of_run(run) or measured
    first = _first(measured, run)
    kind = state.read("kind", "") or ""
    kind = kind if kind in measured else first.kind  # another model may have other kinds
    best = (
        first
        if kind == first.kind
        else HeadRef(kind, *next(iter(measured[kind].best(read_by(run, kind) if run else "").values())))
    )
    layers, n_heads = measured[kind].shape
    return HeadRef(
        kind,
        state.read("layer", best.layer, state.whole_number(0, layers - 1)),
        state.read("head", best.head, state.whole_number(0, n_heads - 1)),
    )


def of_text(model: str, text: str) -> Mapping[str, HeadHabits]:
    """Return the habits by which a pair of heads opens: of a shipped model those of its survey, of another those of this text, which do not wait for one."""
    measured = survey(model)
    if input_hints.is_shipped(model):
        return measured
    try:
        found = _of_run(engine_client.run(model, text, keep=()))
    except InputError:  # where the text is drawn the page says why it cannot be read
        return measured
    return found if found.keys() == measured.keys() else measured


def _of_run(run: Run) -> Mapping[str, HeadHabits]:
    """The habits of all heads on the text of one run."""
    model, text, target = run.model, (run.source or run.side).text, run.target_text

    def measure() -> Mapping[str, HeadHabits]:
        try:
            return with_readability(survey_heads(model, [Example(text, target)]), model, [text])[0]
        except InputError:  # a text that shows nothing of any head
            return {}

    return engine_client.submit(
        ("heads.of_run", model.name, text, target), measure, cost=4.0 * len(text) * model.config.n_layers
    )


def _first(measured: Mapping[str, HeadHabits], run: Run | None) -> HeadRef:
    """The most telling head; of a model that reads one text and writes another, one that looks from this to that."""
    across = {kind: measured[kind] for kind in measured if crosses(kind)}
    named = next(iter(habits(across or measured, run)), None)
    return named or HeadRef(min(across or measured, key=RANK.index), 0, 0)


def several(measured: Mapping[str, HeadHabits]) -> bool:
    """Whether there are heads to choose from; a recurrent translator has one alignment."""
    return any(heads.shape != (1, 1) for heads in measured.values())


def show(place: HeadRef) -> None:
    state.write(kind=place.kind, layer=place.layer, head=place.head)


def pills(measured: Mapping[str, HeadHabits], now: HeadRef, run: Run | None = None) -> None:
    """What a head is, behind a question mark; one pill for each of the most telling habits, and the head in view if it is another."""
    shown = dict(islice(habits(measured, run).items(), PILLS))
    shown.setdefault(now, measured[now.kind].label(now.layer, now.head))
    key = f"look.pills:{sorted(measured)}"
    state.seed_widget(key, now)
    with st.container(
        horizontal=True,
        horizontal_alignment="center",
        vertical_alignment="center",
        gap="small",
        key="look.heads",
    ):
        st.markdown(":gray[:small[Heads]]", help=explained(measured, shown), width="content")
        st.pills(
            "Heads, by what they do",
            list(shown),
            key=key,
            default=[now],
            required=True,
            label_visibility="collapsed",
            width="content",
            format_func=lambda place: f"{shown[place]} :gray[:small[{named(place, measured)}]]",
            on_change=_store,
            args=(key,),
        )


def explained(measured: Mapping[str, HeadHabits], shown: Collection[HeadRef]) -> str:
    """What a head is, how L1.H5 is read, and what the names of these heads mean: the glossary, and the test behind each name."""
    found = {measured[place.kind].kind(place.layer, place.head): place for place in shown}
    names = "".join(f"\n- **{HABIT_NAMES[habit]}**: {TESTS[habit]}" for habit in found if habit in TESTS)
    return f"{term('head').sentence}\n\nThe names say what a head did in a test, on sentences of ours:{names}"


def _store(key: str) -> None:
    place = st.session_state.get(key)
    if place is not None:
        show(place)


def touched(found: Run, kind: str) -> str | None:
    """The word that a link says is touched; forgotten when another sentence, model or kind is shown."""
    now = (found.model.name, found.side.text, found.source.text if found.source else "", kind)
    before = st.session_state.get("look.shown")
    st.session_state["look.shown"] = now
    first = blank_rows(found)[:1]
    hidden = [word for word, text in enumerate(found.side.words) if text.pieces[0] in first]
    start = str(hidden[0]) if hidden else None
    if before not in (None, now):
        state.write(**{"look.word": None})
        return start
    return state.read("look.word", "") or start
