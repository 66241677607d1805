"""The text of Decode's beam that is followed, the one that it is compared with, and the search that begins again after a token of the visitor's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from core.decoding import hypothesis_steps, prompt_of
from viz.instruments.timeline.timeline import chosen_step
from viz.instruments.tree.tree import chosen_node, compared_node
from viz.languages import _, mark, ngettext
from viz.shell import state
from viz.workspace.decode import forks, pictures

KEY = "decode.beam.tree"
NODE, OTHER = "decode.node", "decode.other"
_SEARCH = "decode.node.of"
FATES = {
    "best": mark("on the way to {best}"),
    "pruned": mark("pruned"),
    "finished": mark("a text that ended"),
    "open": mark("still open"),
}
Path = tuple[int, ...]


def nodes_in_link(data: Any, search: object) -> tuple[int | None, int | None]:
    """Return the nodes of the link, followed and compared with, if this tree has them. They mean nothing in another `search`, where they are forgotten."""
    wanted = tuple(state.read(name, -1, state.whole_number(0, 10**6)) for name in (NODE, OTHER))
    before = st.session_state.get(_SEARCH)
    if before and before[0] != search and before[1] == wanted:
        state.write(**{NODE: None, OTHER: None})
        wanted = (-1, -1)
    st.session_state[_SEARCH] = search, wanted
    node, other = (one if 0 <= one < len(data.last.tree.nodes) else None for one in wanted)
    return node, other


def choose(nodes: Sequence[int]) -> None:
    """Follow the text of the node that was clicked, one of `nodes`."""
    state.write(**{NODE: _place(chosen_node(KEY), nodes)})


def second(nodes: Sequence[int]) -> None:
    """Compare with the node that was chosen, one of `nodes`."""
    state.write(**{OTHER: _place(compared_node(KEY), nodes)})


def _place(row: int | None, nodes: Sequence[int]) -> int | None:
    return nodes[row] if row is not None and row < len(nodes) else None


def end_comparison() -> None:
    """End the comparison."""
    state.write(**{OTHER: None})


def path(data: Any, node: int | None) -> Path:
    """Return the nodes of the text that is followed, from the first token: the visitor's, else the best."""
    return data.last.tree.path(data.last.tree.best if node is None else node)


def followed(data: Any, nodes: Path) -> Any:
    """Return the same data with the steps of one text of the beam in place of those of the search."""
    return replace(
        data, steps=hypothesis_steps(data.steps, nodes[-1], prompt_of(data.model, data.window.text))
    )


def back_to(nodes: Path) -> None:
    """Follow the text up to the token that was clicked in the timeline."""
    if (step := chosen_step(pictures.TIMELINE)) is not None and step < len(nodes):
        state.write(**{NODE: nodes[step]})


def line(data: Any, node: int | None) -> None:
    """Draw one line: the text of the attention and the candidates below; a button back to the best."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(width="stretch"):
            st.text(following(data, node))
        if node is not None:
            st.button(
                _("Follow {best}", best=_best(data)),
                key="decode.node.back",
                on_click=lambda: state.write(**{NODE: None}),
            )


def following(data: Any, node: int | None) -> str:
    """Return the words of that line."""
    if node is None:
        return _(
            "Followed: {best}, token by token. Choose any other text by its last token in the tree.",
            best=_best(data),
        )
    found, length = data.last.tree, len(data.last.tree.path(node))
    fate = (
        _("not wanted any more")
        if found.node_fates()[node] == "open" and data.last.done
        else _(FATES[found.node_fates()[node]], best=_best(data))
    )
    return ngettext(
        "Followed: the text that you chose, {n} token, {fate}.",
        "Followed: the text that you chose, {n} tokens, {fate}.",
        length,
        fate=fate,
    )


def _best(data: Any) -> str:
    return _("the winner") if data.last.done else _("the best text so far")


def search_again(data: Any, nodes: Path, step: int, token: int) -> None:
    """Begin the search again after the followed text with this token at `step`, as many steps as were seen."""
    tree = data.last.tree
    force = (*((at, tree.nodes[place].id) for at, place in enumerate(nodes[:step])), (step, token))
    state.write(**{NODE: None, OTHER: None})
    forks.link(forks.Branch(force, max(step + 1, len(data.steps))), forks.tried())


def draw_inserted(data: Any, force: forks.Forced) -> None:
    """Draw the tokens that the visitor put in, and the way back from them."""
    if not force:
        return
    tree, steps = data.last.tree, [step for step, token in force]
    put = [tree.nodes[place].token for place in tree.path(tree.best) if tree.nodes[place].step in steps]
    text = pictures.tail("".join(put), 60)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(width="stretch"):
            st.text(
                _(
                    "All texts of this search begin with “{text}”: the last of it was put in by you.",
                    text=text,
                )
                if steps == list(range(len(steps)))
                else _(
                    "All texts of this search have, at token {steps}, “{text}”: the last of it was put in by you.",
                    steps=", ".join(str(step + 1) for step in steps),
                    text=text,
                )
            )
        st.button(_("Search freely"), key="decode.force.none", on_click=forks.forget)
