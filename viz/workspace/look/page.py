"""Look: touch a word and see where a trained model looks. The first screen, and the full view behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from core.analysis.heads.habits import HeadHabits
from core.analysis.predictions import top_predictions
from core.decoding import Step
from core.run import Run
from viz.instruments import words_view
from viz.instruments.kit import origin
from viz.instruments.kit.head_stack import HEAD, LAYER
from viz.instruments.kit.picture import lines as python_lines
from viz.instruments.picture import patches
from viz.labels import head_name
from viz.languages import _, mark
from viz.shell import errors, language, links, notices, state
from viz.shell.page_buttons import draw_page_buttons
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection, announce_selection
from viz.workspace.look import first_minute, full, go_on, onward, similarity, task_output
from viz.workspace.look import note as look_note
from viz.workspace.look.tiles import heads_grid
from viz.workspace.shared import (
    attention_kinds,
    blank,
    head_pills,
    head_ref,
    head_survey,
    input_box,
    model_run,
    one_vector,
)
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.tasks import TRANSLATE

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
EMPTY = mark("Type a sentence above and press Enter: the model reads it at once.")


@dataclass(frozen=True)
class Params(Selection):
    """One text, as it is read, through one model, with a given translation or a second text."""

    model: str = TRANSLATE.model
    text: str = TRANSLATE.text


@dataclass(frozen=True)
class Looking:
    """The run, and the measured habits of all heads by kind of attention."""

    run: Run
    heads: Mapping[str, HeadHabits]


def compute(p: Selection) -> Looking:
    """Return one forward pass (shared and cached by the engine) and the survey of the heads (once a model)."""
    run = model_run.run(replace(p, target=p.target or None))
    return Looking(run, head_survey.survey(p.model))


def page() -> None:
    with st.container(key="look-claim"):
        claim = st.empty()
        claim.title(_(PAGE.claim), anchor=False)
    notices.reserve_notice_area()
    selection = input_box.choose("look", Params.model, drops=("target",), first_screen=True, empty=EMPTY)
    if selection is not None:
        if patches.reads_patches(model_run.open_model(selection.model)):
            claim.title(_("Attention: where a model looks. Touch a patch."), anchor=False)
        _picture(selection)
    with st.container(
        horizontal=True, horizontal_alignment="right", vertical_alignment="center", key="look-foot"
    ):
        if not (state.presenting() or state.embedded()):
            language.draw_suggestion()
        draw_page_buttons()


def _with_second_text(selection: Selection, view: str) -> Selection:
    """Add what is read beside the text: a given translation, or a second text."""
    opened = model_run.open_model(selection.model)
    paired = opened.can("read_pairs")
    expects = opened.can("find_answers") or opened.can("score_texts")
    target = state.read("target", "") if opened.can("write") and opened.spec.has_source else ""
    pair = state.read("pair", "") if paired else ""
    if paired and (pair or expects or view == "full"):
        pair = blank.second_text()
    return replace(selection, target=target, pair=pair if pair.strip() else "")


@st.fragment
def _picture(selection: Selection) -> None:
    with errors.guard():
        if blank.take_filled() or go_on.just_written():
            st.rerun()  # the box above holds another text now
        view = state.read("view", "", state.one_of(("", "heads", "full")))
        selection = _with_second_text(selection, view)
        data = compute(selection)
        place = head_pills.chosen_head(data.heads, data.run) if data.heads else None
        origin.begin(PAGE.title, tuple(dict.fromkeys(cite.document for cite in PAGE.cites)))
        if place is not None:
            selection = replace(selection, **vars(place))
        announce_selection(selection, data.run)
        if place is None:
            _no_attention(data.run)
            look_note.show(selection, data.run, side="left")
            return
        several = head_pills.has_choice(data.heads)
        _above(selection, data, place, view, several)
        if view == "full":
            full.show(PAGE, selection, data.run, data.heads, place)
            return
        _buttons(selection, data.run, place, view, several)
        if view == "heads" and several:
            heads_grid(data.run, data.heads, place)


def _no_attention(run: Run) -> None:
    """Say what a model without attention does with the text, and where to look instead."""
    name = run.model.name
    if run.source is not None:
        one_vector.show(run.source.text, run.target_text or "")
        st.text(
            _(
                "{name} has no attention to look at: one vector carries the whole sentence from the encoder to the decoder.",
                name=name,
            )
        )
        return
    st.text(
        _(
            "{name} has no attention to look at: what reaches a position comes through its convolutions. After this text it predicts “{token}”.",
            name=name,
            token=top_predictions(run, run.side.n_real - 1, 1)[0][0],
        )
    )
    links.page_link("decode", _("Watch it write in Decode"))


def _above(selection: Selection, data: Looking, place: HeadRef, view: str, several: bool) -> None:
    """Draw the words with what one head does there, the pills of heads, and predictions for a blank."""
    run = data.run
    larger = view and state.presenting()  # then the larger view fills the wall
    if not larger:
        steps = go_on.following(run) if go_on.goes_on(run) else ()
        if patches.reads_patches(run.model):
            _patches(run, place, view)
        else:
            _words(selection, run, place, view, steps)
        if steps:
            go_on.show(selection, run, steps)
    if several:
        head_pills.draw_pills(data.heads, place, run)
    if larger:
        return
    task_output.show(run)
    if run.model.can("embed_texts"):
        similarity.show(run)
    if run.model.spec.framed and "logits" in run.model.outputs:
        blank.show(run)
        blank.show_pair_probabilities(run)
    look_note.show(selection, run, side="center")


def _patches(run: Run, place: HeadRef, view: str) -> None:
    attention = head_ref.attention_of(run, place.kind)
    among = head_ref.head_context(attention, place) if view else None
    layer, head = (LAYER, HEAD) if among else (place.layer, place.head)
    patches.on_patches(
        run,
        attention.weights[place.layer, place.head],
        allowed=attention.allowed[place.layer, place.head],
        key="look.patches",
        url="look.cell",
        height=320 if view == "full" else 360,
        group=head_ref.GROUP,
        among=among,
        titled="{head}",
        title=head_name(place.layer, place.head),
        python=python_lines(run, "picture_view", layer=layer, head=head, kind=place.kind),
    ).show()


def _words(selection: Selection, run: Run, place: HeadRef, view: str, steps: tuple[Step, ...]) -> None:
    crossing = attention_kinds.crosses(place.kind)
    attention = head_ref.attention_of(run, place.kind)
    among = head_ref.head_context(attention, place) if view else None
    layer, head = (LAYER, HEAD) if among else (place.layer, place.head)
    words_view(
        attention.weights[place.layer, place.head],
        attention.queries,
        attention.keys,
        key=f"look.words.{crossing}",
        layout=attention_kinds.layout(place.kind),
        targets=head_ref.target_words(attention),
        allowed=attention.allowed[place.layer, place.head],
        selected=head_pills.touched_word(run, place.kind),
        reading=not crossing,
        say=attention_kinds.sentence_templates(run, place.kind),
        special=attention.special_positions,
        names=(_("reads"), _("writes")) if crossing else ("", ""),
        url="look.word",
        height=320 if view == "full" else None,
        group=head_ref.GROUP,
        among=among,
        python=python_lines(run, "words", layer=layer, head=head, kind=place.kind),
        after=go_on.ghosts(steps, run.tokens[-1]),
        on_write=lambda: go_on.write(selection, run, steps),
    )


def _buttons(selection: Selection, run: Run, place: HeadRef, view: str, several: bool) -> None:
    with st.container(
        horizontal=True, horizontal_alignment="center", vertical_alignment="center", gap="small"
    ):
        if several:
            st.button(
                _("Hide the other heads") if view == "heads" else _("See all heads"),
                icon=":material/grid_view:",
                on_click=lambda: state.write(view=None if view == "heads" else "heads"),
            )
        with st.container(key="leads-to-sum", width="content"):
            st.button(
                _("How is it computed?"),
                icon=":material/calculate:",
                on_click=lambda: state.write(view="full"),
            )
        onward.course(selection, run)
        first_minute.button(run, place)
