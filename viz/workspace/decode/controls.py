"""The choices of Decode: model, text, how a token is taken, whose attention is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from core.analysis.heads.habits import HABIT_NAMES
from core.decoding.strategies import WIDEST
from core.model import Model
from viz.labels import head_name, shorten, visible
from viz.languages import _, mark
from viz.shell import state
from viz.shell.selection import Selection, announce_selection
from viz.widgets import controls
from viz.workspace.decode import forks, player
from viz.workspace.shared import attention_kinds, head_survey, input_box, tasks

Head = tuple[int, int]
ALL: Head = (-1, -1)
"""All heads, averaged."""
MODEL = "gpt-mini"
OPENING = {False: "Once upon a time", True: "She has a white car."}
"""The texts that a model begins with, and that one reads which has a source."""
WARM, WIDTH = 0.8, 4
"""The temperature that drawing begins with, and the width of a beam."""
VIEWS = (
    mark("Watch it write"),
    mark("Guess the next word"),
    mark("Prompts"),
    mark("Training and inference"),
    "What is kept",
)
LABELS = {"What is kept": mark("KV cache")}
"""Views whose name on screen is not their name in a link."""
TEXTS = ("Guess the next word", "Prompts")
"""For models that go on with a text."""
KNOB, KNOB_OF_A_ROOM = 162, 270
"""Pixels: two knobs stand side by side on a phone, and in present mode a knob beside its name."""
_BEFORE = "decode.shown"


def choose() -> Selection | None:
    """Draw the text box, chips for the task and ready-made texts. A new selection begins at its first step. None: the model in view does not write."""
    selection = input_box.choose("decode", MODEL, opening=_opening, drops=("target",), limit=None)
    if selection is not None:
        _restart(selection)
    return selection


def _opening(model: Model, task: tasks.Task) -> tasks.Task:
    if task.toy:
        return task
    reads = model.spec.has_source
    return replace(task, text=OPENING[reads], box=task.box if reads else mark("The beginning of a text"))


def _restart(selection: Selection) -> None:
    """Go back to the first step when text or model changed and the step did not; to all heads with another model."""
    step, layer = st.query_params.get("decode.n"), st.query_params.get("layer")
    now = (selection.model, selection.text)
    before = st.session_state.get(_BEFORE)
    if before and before[:2] != now:
        player.stop()
        if before[2] == step:
            state.write(**{"decode.n": None})
            forks.forget()
        if before[0] != now[0] and before[3] == layer:
            state.write(layer=None, head=None)
    st.session_state[_BEFORE] = (*now, st.query_params.get("decode.n"), st.query_params.get("layer"))


def view(model: Any) -> str:
    """Draw the choice of the view: watched, guessed, asked for, compared with training, or the cache."""
    offered = [one for one in VIEWS if one not in TEXTS or not model.spec.has_source]
    return controls.segmented(
        _("View"),
        offered,
        "decode.show",
        VIEWS[0],
        lambda view: _(LABELS.get(view, view)),
        quiet=True,
        wrap=False,
    )


def knobs(start: Any) -> dict[str, Any]:
    """Return how the next token is taken."""
    return {
        "temperature": state.read("decode.temperature", start.temperature, state.real_number(0, 2)),
        "top_k": state.read("decode.top_k", start.top_k, state.whole_number(0, 10**6)),
        "top_p": state.read("decode.top_p", start.top_p, state.real_number(0, 1)),
        "seed": state.read("decode.seed", start.seed, state.whole_number(0, 999_999)),
        "min_p": state.read("decode.min_p", start.min_p, state.real_number(0, 1)),
        "repetition": state.read("decode.repetition", start.repetition, state.real_number(0.5, 2)),
        "beam": state.read("decode.beam", start.beam, state.whole_number(0, WIDEST)),
        "length": state.read("decode.length", start.length, state.real_number(0, 2)),
        "groups": state.read("decode.groups", start.groups, state.whole_number(1, WIDEST)),
        "diversity": state.read("decode.diversity", start.diversity, state.real_number(0, 5)),
    }


def how(params: Any) -> None:
    """Draw three ways: always the most probable token, one sampled, or several texts side by side."""
    key, ways = "decode.way", (mark("Greedy"), mark("Sample"), mark("Beam search"))
    number = 2 if params.beam else int(params.temperature > 0)
    lit = state.seed_widget(key, ways[number])

    def store() -> None:
        wanted = ways.index(st.session_state.get(key) or ways[number])
        if wanted != number:
            state.write(
                **{
                    "decode.temperature": WARM if wanted == 1 else None,
                    "decode.beam": WIDTH if wanted == 2 else None,
                }
            )
            forks.forget()

    st.segmented_control(
        _("How the next token is chosen"),
        ways,
        key=key,
        default=lit,
        required=True,
        on_change=store,
        label_visibility="collapsed",
        format_func=_,
    )


def ways(params: Any) -> None:
    """Draw the knobs of the way that is chosen; taking the most probable has none."""
    if params.beam:
        _knobs(
            lambda: controls.number(
                _("Width"),
                1,
                WIDEST,
                "decode.beam",
                WIDTH,
                help=_("So many texts are carried on side by side."),
            ),
            lambda: controls.slider(
                _("Length penalty"),
                0.0,
                2.0,
                "decode.length",
                1.0,
                0.1,
                help=_(
                    "The sum of ln p is divided by length to this power: 0 prefers short texts, 1 is the mean a token."
                ),
            ),
            lambda: controls.number(
                _("Groups"),
                1,
                WIDEST,
                "decode.groups",
                1,
                help=_("The width is divided into so many groups; each avoids what those before it wrote."),
            ),
            lambda: controls.slider(
                _("Diversity"),
                0.0,
                5.0,
                "decode.diversity",
                0.0,
                0.1,
                help=_("What a token costs that an earlier group has just written."),
            ),
        )
        return
    if not params.temperature:
        return
    _knobs(
        lambda: controls.slider(
            _("Temperature"),
            0.1,
            2.0,
            "decode.temperature",
            WARM,
            0.1,
            help=_("The logits are divided by it before the softmax: below 1 sharper, above 1 flatter."),
        ),
        lambda: controls.slider(
            _("Top-p"),
            0.0,
            1.0,
            "decode.top_p",
            1.0,
            0.05,
            help=_("Keep only the first tokens that together have at least p; 1 keeps all."),
        ),
        lambda: controls.slider(
            _("Min-p"),
            0.0,
            1.0,
            "decode.min_p",
            0.0,
            0.05,
            help=_("Keep tokens at least this many times as probable as the first; 0 keeps all."),
        ),
        lambda: controls.slider(
            _("Repetition"),
            0.5,
            2.0,
            "decode.repetition",
            1.0,
            0.05,
            help=_(
                "Logits of tokens that stand in the text are divided by it if positive, multiplied if negative; 1 changes nothing."
            ),
        ),
        lambda: controls.number(
            _("Top-k"),
            0,
            10**6,
            "decode.top_k",
            0,
            help=_("Keep only the k most probable tokens; 0 keeps all."),
        ),
        lambda: controls.number(
            _("Seed"), 0, 999_999, "decode.seed", 1, help=_("The same seed draws the same numbers again.")
        ),
    )


def _knobs(*knobs: Callable[[], Any]) -> None:
    with st.container(horizontal=True, gap="medium"):
        for one in knobs:
            with st.container(width=KNOB_OF_A_ROOM if state.presenting() else KNOB):
                one()


def draw_notes(data: Any) -> None:
    """Draw the notes on the text: which part is read, an empty prompt, special names that were typed."""
    window, model = data.window, data.model
    if data.steps[0].note:
        st.text(data.steps[0].note)
    if window.tokens < window.total:
        st.text(
            _(
                "The text has {total:,} tokens. {model} reads the last {n:,}, so that there is room to write; that part begins with “{text}”.",
                total=window.total,
                model=model.name,
                n=window.tokens,
                text=visible(shorten(window.text, 30)).replace("·", " "),
            )
        )


def head(data: Any, selection: Selection) -> Head:
    """Return the head whose attention is shown: the visitor's if it is one of this kind, else all of them; announce it, and note a kind that is asked for and not there."""
    asked = state.peek("kind")
    if data.kind is None:
        return ALL
    if asked and asked not in data.kinds:
        st.caption(
            _(
                "“{asked}” is another attention than those with which a token is written; shown here: “{kind}”.",
                asked=_(attention_kinds.KINDS.get(asked, asked)),
                kind=_(attention_kinds.KINDS[data.kind]),
            )
        )
        return ALL
    layers, n_heads = data.last.attention[data.kind].shape[:2]
    if state.read("layer", -1, state.whole_number(-1, 10**6)) < 0:
        return ALL
    place = (
        state.read("layer", 0, state.whole_number(0, layers - 1)),
        state.read("head", 0, state.whole_number(0, n_heads - 1)),
    )
    announce_selection(replace(selection, kind=data.kind, layer=place[0], head=place[1]))
    return place


def heads(data: Any, place: Head) -> None:
    """Draw the kind of attention, where there are two; pills: all heads averaged, then the clearest head of each habit, and the one in view.

    None where there is nothing to choose: a recurrent translator has one alignment, or no attention at all.
    """
    with st.container(horizontal=len(data.kinds) > 1, gap="small"):
        if len(data.kinds) > 1:
            controls.segmented(
                _("Which attention"),
                data.kinds,
                "kind",
                data.kinds[-1],
                lambda kind: _(attention_kinds.KINDS[kind]),
                quiet=True,
            )
        if data.kind is not None and data.last.attention[data.kind].shape[:2] != (1, 1):
            _whose(data, place)


def _whose(data: Any, place: Head) -> None:
    measured = head_survey.survey(data.model.name)[data.kind]
    shown = {ALL: _("All {n} heads, averaged", n=measured.shape[0] * measured.shape[1])}
    shown |= {
        where: _(HABIT_NAMES[habit])
        for habit, where in measured.best_head_by_habit(
            data.window.text + data.model.tokenizer.decode(data.last.ids)
        ).items()
        if habit != "mixed" or where == place
    }
    if place not in shown:
        shown[place] = _(measured.label(*place))
    key = "decode.heads"
    lit = state.seed_widget(key, place)

    def store() -> None:
        layer, number = st.session_state.get(key) or place
        state.write(
            **(
                {"layer": None, "head": None}
                if layer < 0
                else {"kind": data.kind, "layer": layer, "head": number}
            )
        )

    st.pills(
        _("Whose attention is shown"),
        list(shown),
        key=key,
        default=[lit],
        required=True,
        label_visibility="collapsed",
        on_change=store,
        format_func=lambda at: shown[at] if at == ALL else f"{shown[at]} :gray[:small[{head_name(*at)}]]",
        wrap=True,
    )
