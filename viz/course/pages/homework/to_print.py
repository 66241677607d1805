"""Exercises to print or to import: which kinds, how many, which seed; the sheet as it will come out of the printer; the solutions behind a button; files for learning platforms."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.components import v2

from viz.course.sheets import printed, quiz_files
from viz.course.sheets.form import MOST_SEED
from viz.course.sheets.kinds import KINDS, MOST, sheet
from viz.languages import _, mark
from viz.widgets import controls, engine_client

OPENING = ("softmax", "mask", "norm", "parameters")
_SOLVED = "atlas.sheet.solved"
"""In the session, never in the link: the sheet whose solutions are shown. A link to a sheet is for students."""
_paper = v2.component(
    "atlas_paper",
    html='<button type="button"></button><iframe sandbox="allow-same-origin allow-modals"></iframe>',
    css="""iframe { display: block; width: 100%; height: 54rem; border: 0; background: white; }
button { display: block; margin: 0 0 1rem auto; padding: 0.4rem 0.75rem; font: inherit; font-size: 0.875rem; color: inherit; background: none; border: 1px solid var(--st-border-color); border-radius: 999px; cursor: pointer; }
button:hover, button:focus-visible { color: var(--st-primary-color); border-color: var(--st-primary-color); }""",
    js=Path(__file__).with_name("paper.js").read_text("utf-8"),
)


def show(slug: str) -> None:
    """Draw the controls, the buttons, and the sheet, which has its own button for the print dialogue."""
    st.markdown(
        _(
            "Small numbers to work through by hand; where an exercise names a model, they are that model's. A sheet has a number, and the same number gives everybody the same questions."
        )
    )
    keys = controls.multi_pills(
        _("Kinds of exercises"), tuple(KINDS), f"{slug}kinds", OPENING, lambda key: KINDS[key].title
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        seed = controls.seed_input(
            f"{slug}draw", 1, MOST_SEED, label=mark("Sheet"), next_label=mark("Another sheet")
        )
        with st.container(width="content"):
            each = controls.segmented(_("Of each kind"), range(1, MOST + 1), f"{slug}each", 1)
    if not keys:
        st.text(_("No kind is chosen, and a sheet has at least one. Choose a kind above."))
        return
    chosen = (keys, seed, each)
    cost = each * sum(KINDS[key].cost for key in keys)
    drawn = engine_client.submit(
        *engine_client.per_language(("sheet", *chosen), lambda: sheet(*chosen)), cost
    )
    solved = st.session_state.get(_SOLVED) == chosen
    page = (printed.solutions if solved else printed.exercises)(drawn, seed)
    name = f"{'solutions' if solved else 'exercises'}-{seed}.html"
    with st.container(horizontal=True):
        st.button(
            _("Back to the exercises") if solved else _("Show the solutions"),
            key=f"{slug}solve",
            on_click=_turn,
            args=(None if solved else chosen,),
        )
        st.download_button(
            _("Solutions, HTML") if solved else _("Exercises, HTML"),
            page,
            name,
            "text/html",
            on_click="ignore",
            key=f"{slug}sheet",
        )
        for label, make, suffix, mime in (
            (_("For Moodle, XML"), quiz_files.moodle_xml, "xml", "application/xml"),
            (_("For other platforms, QTI 2.1"), quiz_files.qti_package, "zip", "application/zip"),
        ):
            st.download_button(
                label,
                partial(make, drawn, seed),
                f"exercises-{seed}.{suffix}",
                mime,
                on_click="ignore",
                help=_(
                    "Each exercise with fields that the platform marks; the solution is shown after the answer."
                ),
                key=f"{slug}{suffix}",
            )
    _paper(
        key=f"{slug}paper",
        data={
            "page": printed.without_button(page),
            "title": _(
                "{title}, sheet {seed}", title=_(printed.SOLVED if solved else printed.TITLE), seed=seed
            ),
            "print": _("Print, or save as PDF"),
        },
        height="content",
    )


def _turn(solved: object) -> None:
    st.session_state[_SOLVED] = solved
