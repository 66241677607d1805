"""Look: touch a word and see where a trained model looks. The first screen, and the full view behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from core.analysis.heads import Heads
from core.errors import InputError
from core.run import Run
from viz.instruments import words_view
from viz.pages import Cite, Page
from viz.ui import controls, errors, links, notices, state
from viz.ui.parts import restore
from viz.workspace import _look_blank, _look_full, _look_heads
from viz.workspace._look_heads import Place

PAGE = Page(
    title="Look",
    order=10,
    claim="Attention: where a model looks. Touch a word.",
    cites=(
        Cite("bahdanau2015", "3.1", "Eqs. (4)-(6)"),
        Cite("vaswani2017", "3.2", "Eq. (1)"),
        Cite("ghojogh2020", "2.4.3", "Eqs. (13)-(16)"),
        Cite("beigy2021", "Self-attention", "each word is key, query and value"),
    ),
    menu="top",
)


@dataclass(frozen=True)
class Task:
    """What a chip of the first screen sets: a model and the sentence it opens with."""

    chip: str
    model: str
    text: str
    box: str


TASKS = (
    Task("Translate", "translator-en-es", "She has a white car.", "A sentence in English"),
    Task("Continue", "gpt-mini", "The animal didn't cross the street because it was too tired.", "The beginning of a story"),
    Task("Fill a blank", "bert-mini", "The cat sat on the [MASK].", "A sentence with [MASK] in the place of a word"),
)


@dataclass(frozen=True)
class Params:
    """What the page shows: one text through one model."""

    model: str = TASKS[0].model
    text: str = TASKS[0].text
    target: str | None = None
    pair: str | None = None


@dataclass(frozen=True)
class Looking:
    """The run, and the measured habits of all heads by kind of attention."""

    run: Run
    heads: Mapping[str, Heads]


def compute(p: Params) -> Looking:
    """One forward (shared and kept by the engine) and the survey of the heads (once a model)."""
    return Looking(_look_heads.run(p.model, p.text, p.target, p.pair), _look_heads.survey(p.model))


def page() -> None:
    st.header(PAGE.claim, anchor=False)
    notices.make_place()
    params = _controls()
    if params is not None:
        _picture(params)
    with st.container(horizontal_alignment="right"):
        restore()


def _controls() -> Params | None:
    models = _look_heads.listed()
    if not models:
        raise InputError("No model can be opened.", "The models lie in assets/models.", "See More, Models for what is missing.")
    model = state.read("model", TASKS[0].model if TASKS[0].model in models else models[0], state.one_of(models))
    task = next((task for task in TASKS if task.model == model), None)
    default = task.text if task else TASKS[1].text
    text = controls.text(task.box if task else "Your text", "text", default, quiet=True, placeholder="Type a sentence and press Enter")
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        chips = [task.model for task in TASKS if task.model in models] + [name for name in models if name not in {t.model for t in TASKS}]
        names = {task.model: task.chip for task in TASKS}
        controls.pills("What the model does", chips, "model", model, lambda name: names.get(name, name), quiet=True)
        st.button("Your own sentence", icon=":material/edit:", type="tertiary", on_click=lambda: state.write(text="", target=None, pair=None))
    if not text.strip():
        st.text("Type a sentence above and press Enter: the model reads it at once.")
        return None
    spec = _look_heads.opened(model).spec
    given = state.read("target", "") if spec.has_source else ""
    pair = state.read("pair", "") if spec.framed else ""
    return Params(model, _look_heads.window(model, text), given or None, pair if pair and pair.strip() else None)


@st.fragment
def _picture(params: Params) -> None:
    with errors.guard():
        view = state.read("view", "", state.one_of(("", "heads", "full")))
        data = compute(params)
        if not data.heads:
            st.text(f"“{params.text}” → “{data.run.target_text}”")
            st.text(f"{params.model} has no attention to look at: one vector carries the whole sentence from the reading to the writing network.")
            return
        place = _look_heads.chosen(data.heads)
        _words(data.run, place, small=view == "full")
        _look_heads.pills(data.heads, place)
        if data.run.model.spec.framed and "logits" in data.run.model.outputs:
            _look_blank.show(data.run)
        if view != "full":
            _buttons(view, _look_heads.side(place.kind))
        if view == "heads":
            _look_full.heads_grid(data.run, data.heads, place)
        if view == "full":
            _look_full.show(PAGE, data.run, data.heads, place)


def _words(run: Run, place: Place, small: bool) -> None:
    crossing = _look_heads.crosses(place.kind)
    attention = _look_heads.look(run, place.kind)
    words_view(
        attention.weights[place.layer, place.head],
        attention.queries,
        attention.keys,
        key=f"look.words.{crossing}",
        layout=_look_heads.layout(place.kind),
        targets=_look_heads.drawn_words(attention),
        allowed=attention.allowed[place.layer, place.head],
        selected=_look_heads.touched(run, place.kind),
        reading=not crossing,
        special=_look_heads.MARKS,
        names=("reads", "writes") if crossing else ("", ""),
        url="look.word",
        height=320 if small else None,
    )


def _buttons(view: str, side: Literal["left", "center"]) -> None:
    with st.container(horizontal=True, horizontal_alignment=side, vertical_alignment="center", gap="small"):
        st.button("Hide the other heads" if view == "heads" else "See all heads", icon=":material/grid_view:",
                  on_click=lambda: state.write(view=None if view == "heads" else "heads"))  # fmt: skip
        st.button("How is it computed?", icon=":material/calculate:", on_click=_open_arithmetic)
        links.to("course", "Teach from here", icon=":material/school:")


def _open_arithmetic() -> None:
    state.write(view="full")
    _look_full.open_arithmetic()
