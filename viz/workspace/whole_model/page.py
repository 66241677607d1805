"""The whole model: tokens, embeddings, all blocks and the next token's probabilities of one run on one screen."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.run import Run
from viz.instruments.kit import origin
from viz.instruments.kit.picture import lines as python_lines
from viz.instruments.whole_model.of_run import Screen, candidates, screen_of
from viz.instruments.whole_model.whole_model import chosen_position, opened_part, whole_model
from viz.languages import _, mark
from viz.shell import links, state
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import page_parts
from viz.workspace.shared import head_survey, model_run, target_picker, toolbar
from viz.workspace.whole_model import data as drawn

PAGE = Page(
    title="Whole model",
    order=47,
    claim="From the tokens at the left to the next token at the right: every block of the model at once.",
    cites=(
        Cite("vaswani2017", "3.1", "Figure 1"),
        Cite("ghojogh2020", "3", "Figure 7"),
        Cite("elhage2021", "Residual stream", "what each block reads and adds to"),
    ),
    menu="lab",
    activity="all on one screen",
)
TEXT = "Once upon a time there was a little"
"""A beginning whose next word is open."""
PICTURE, POSITION = "whole_model.picture", "whole_model.position"
STACKS = {"": mark("Text"), "encoder": mark("Encoder"), "decoder": mark("Decoder")}
FIRST = mark("{stack}: the first {n} of {total} tokens are drawn; all were computed.")
LAST = mark("{stack}: the last {n} of {total} tokens are drawn; all were computed.")
OPENS = {"embedding": ("walk_through", 2), "feed_forward": ("feed_forward", 1)}
"""The exhibit and its step behind a part of the picture."""


@dataclass(frozen=True)
class Params(Selection):
    """One text through one model; of a translator also what it writes, None for its own translation."""

    model: str = toolbar.MODEL
    text: str = TEXT


def compute(p: Selection) -> Run:
    """Return the run with all patterns, the residual stream after each block, and the logits."""
    return model_run.fixed(p, drawn.KEEP)


def page() -> None:
    """Draw the model, the picture and what a touched part opens."""
    page_parts.title(PAGE)
    bench = toolbar.choose("whole_model", text=TEXT, takes_translation=True, lacks=drawn.lacks)
    if bench is None:
        return
    selection = bench.announce()
    run = compute(selection)
    origin.tell_run(run)
    measured = head_survey.survey(selection.model)
    screen = screen_of(run, {kind: drawn.telling_heads(heads) for kind, heads in measured.items()})
    target_picker.forget("whole_model.of", target_picker.run_identity(run), POSITION)
    position = _position(screen)
    logits, names = candidates(run, screen.starts[-1] + position)
    whole_model(
        screen.stacks,
        logits=logits,
        names=names,
        position=position,
        key=PICTURE,
        url="whole_model.view",
        on_position=lambda: _store_position(screen),
        python=python_lines(run, "whole_model"),
    )
    _note(screen)
    _open_part(run)


def _position(screen: Screen) -> int:
    return state.read(POSITION, screen.opening_position(), state.whole_number(0, screen.tokens - 1))


def _store_position(screen: Screen) -> None:
    position = chosen_position(PICTURE, screen.tokens)
    if position is not None:
        state.write(**{POSITION: position})


def _note(screen: Screen) -> None:
    """Say which tokens are drawn where not all are."""
    for stack, start, total in zip(screen.stacks, screen.starts, screen.totals, strict=True):
        if len(stack.tokens) < total:
            name = _(STACKS.get(stack.name, stack.name))
            st.caption(_(LAST if start else FIRST, stack=name, n=len(stack.tokens), total=total))


def _open_part(run: Run) -> None:
    """Go to the exhibit or to the arithmetic of a part that was touched, once for each touch."""
    touched = opened_part(PICTURE)
    if touched is None or st.session_state.get("whole_model.opened") == touched[1]:
        return
    part, st.session_state["whole_model.opened"] = touched
    slug, query = destination(run, part)
    links.open_page(slug, state.carried_params(slug == "look", query))


def destination(run: Run, part: dict[str, object]) -> tuple[str, dict[str, str]]:
    """Return the page behind a part and its link: arithmetic of an attention on Look, else an exhibit."""
    if part.get("name") == "attention":
        place = {name: str(part.get(name, 0)) for name in ("kind", "layer", "head")}
        return "look", place | {"view": "full"}
    if part.get("name") == "logits":
        return (
            ("training_and_inference", {"training_and_inference.step": "5"})
            if run.source
            else ("next_token", {})
        )
    slug, step = OPENS[str(part.get("name")) if part.get("name") in OPENS else "embedding"]
    return slug, {f"{slug}.step": str(step)}
