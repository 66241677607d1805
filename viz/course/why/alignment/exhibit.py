"""Alignment: for each word that it writes a recurrent translator weighs all source words anew (Bahdanau and others)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.why.alignment import folds, pictures
from viz.course.why.alignment import maths as asking
from viz.labels import percent
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Alignment", chapter=Chapter.WHY, order=40, minutes=10,
    claim="Before it writes a word, the decoder asks every source word anew, and mixes the answers into a vector for this word alone.",
    cites=(
        Cite("ghojogh2023", "sequence-to-sequence model with attention", "Eqs. (2)-(5)", step=3),
        Cite("ghojogh2020", "2.3", "Eqs. (2)-(5), Fig. 3b", step=3),
        Cite("beigy2021", "neural network model", "c_t, the alignment model, the matrix of alignment scores", step=4),
        Cite("lifei2022", "the attention model", step=3),
        Cite("bahdanau2015", "3.1, 3.2", "Eqs. (4)-(7), Fig. 3", step=3),
        Cite("luong2015", "3.1", "Eqs. (7), (8)", step=6),
    ),
)  # fmt: skip
SLUG = "alignment."
STEPS = (
    lesson.Step("Guess", "A recurrent network has read the English sentence and writes Spanish, word by word. Where does it look?"),
    lesson.Step("Read", "Two networks read, one from the left, one from the right. Joined, a word's state has seen both its neighbours."),
    lesson.Step("Look", "The state that asks is compared with each h_j: scores s_ij. Softmax makes them weights a_ij. They mix the h_j into c_i."),
    lesson.Step("Matrix", "One row for each word written. Row below row the alignment of the two sentences grows."),
    lesson.Step("Without", "The same sentence by a network that has one vector only, and by this one with every score the same."),
    lesson.Step("Who asks", "Two models were trained: one asks with the state before the word, s_(t-1), one with the present state, s_t."),
)  # fmt: skip
ASKERS = {"before": "bahdanau-en-es", "now": "luong-global-en-es"}
CALLED = {"before": "sₜ₋₁, Bahdanau", "now": "sₜ, Luong"}
ONE_VECTOR = "rnn-en-es"
SENTENCES = ("She has a white car.", "You are welcome.", "The animal didn't cross the street because it was too tired.", "The black cat is sleeping on the white bed.")
LONGEST = 26


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the English sentence, and by which state the source is asked."""

    text: str = SENTENCES[0]
    asks: str = "before"


@dataclass(frozen=True)
class Data:
    """One sentence through one translator with attention, token by token; `written` ends with END.

    Shapes: ahead, back (n, p), joined (n, 2p), scores, weights (m, n), contexts (m, 2p). `before` and `now` say how far
    the query is from s_(t-1) and from s_t.
    """

    model: str
    words: tuple[str, ...]
    written: tuple[str, ...]
    text: str
    ahead: np.ndarray
    back: np.ndarray
    joined: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    contexts: np.ndarray
    before: float
    now: float


def usable(name: str) -> bool:
    """Whether a model is here and in order."""
    entry = default().entry(name)
    return bool(entry and entry.ok)


def request(model: str, text: str, edits: tuple[Any, ...] = ()) -> RunRequest:
    """The run that everything on the page is read from."""
    return RunRequest(model, text, keep=asking.NEEDED, edits=edits)


def fits(text: str, model: str) -> None:
    """Errors: InputError for more pieces than can be drawn, before anything is translated."""
    n = len(default().open(model).tokenizer.encode(text).ids)
    if n > LONGEST:
        raise InputError(f"The sentence has {n} tokens.", f"This page draws sentences of up to {LONGEST}.", "Shorten it, or take an example.")


def read_off(run: Any) -> Data:
    """What a run with attention left, under the names of this page."""
    trace, found = run.trace, run.attention("alignment", writing=True)
    layer = run.model.config.n_layers - 1
    before, now = asking.who_asks(run)
    one_way = not run.model.config.bidirectional
    joined = trace[f"encoder.layer.{layer}.hidden"]
    ahead, back = (joined, joined[:, :0]) if one_way else (trace[f"encoder.{way}.layer.{layer}.hidden"] for way in ("forward", "backward"))
    return Data(
        run.model.name, tuple(map(_plain, found.keys)), tuple(map(_plain, found.queries)), run.target_text or "", ahead, back, joined,
        trace["decoder.attn.scores"][0], found.weights[0, 0], trace["decoder.attn.context"], before, now,
    )  # fmt: skip


def compute(params: Params = Params()) -> Data:
    """The sentence through the translator that asks as chosen; where that one is missing, through the other."""
    wanted = ASKERS[params.asks]
    model = wanted if usable(wanted) else ASKERS["before"]
    fits(params.text, model)
    return read_off(default().run(request(model, params.text)))


def thumbnail() -> str:
    """The alignment of the sentence that the page opens with."""
    return thumbs.cells(compute().weights)


def _plain(token: str) -> str:
    return token.removeprefix(" ") or token


def page() -> None:
    """Claim, steps, one picture, one sentence; sentence and state that asks below; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = Params(state.read("text", Params.text), state.read(SLUG + "asks", Params.asks, state.one_of(tuple(ASKERS))))
    with errors.guard():
        _show(step, params)
    _change(params)


def _show(step: int, params: Params) -> None:
    key = ("alignment", params, usable(ASKERS[params.asks]))
    data = ask.submit(key, lambda: compute(params), 20 * len(params.text))
    with st.container():
        known = _predict(data) if step == 0 else True
    with st.container(key=f"alignment-picture-{step}"):
        row = pictures.chosen(SLUG, data, step)
        picture, below = st.container(), st.container()
        with picture:
            parts.numbers(pictures.draw(step, params, data, row, known, below))
    folds.show(EXHIBIT, params, data, row)


def _predict(data: Data) -> bool:
    """Where does it look while it writes? The answer is the largest weight of the row."""
    row = pictures.telling(data)
    names = pictures.names(data.words)
    most, next_ = np.argsort(data.weights[row])[::-1][:2] if len(names) > 1 else (0, 0)
    return lesson.predict(
        SLUG + "first", f"So far: “{' '.join(data.written[:row]) or '(nothing)'}”. Next it writes “{data.written[row]}”. At which English word does it look most?",
        dict(zip(names, data.weights[row].tolist(), strict=True)), answer=names[most],
        why=f"It gives {percent(data.weights[row, most])} to “{data.words[most]}” and {percent(data.weights[row, next_])} to “{data.words[next_]}”. "
        f"Nobody told it which words belong together: the weights were learned from pairs of sentences alone.",
    )  # fmt: skip


def _change(params: Params) -> None:
    """The one control: the sentence, and the state that asks."""
    with st.container(key="alignment-change"):
        controls.text("English sentence", "text", Params.text, placeholder="Type a sentence", of=ASKERS[params.asks], most=f"up to {LONGEST} tokens")
        controls.preset_row(SENTENCES, "text", Params.text)
        controls.segmented("The state that asks", tuple(ASKERS), SLUG + "asks", Params.asks, CALLED.__getitem__)
        missing = "" if usable(ASKERS[params.asks]) else f"{ASKERS[params.asks]} is not here yet. Shown instead: {ASKERS['before']}."
        st.caption(missing)
