"""Fourth view of What matters: two sentences, or two drawings, and where in the model the difference between them is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.attribution import ablation_sweep
from core.analysis.attribution.patching import (
    BATCH_SIZE,
    KEEP,
    Pair,
    corrupted_text,
    head_patch,
    make_pair,
    position_patch,
    restored_share,
)
from core.analysis.residual.ripple import changed_text
from core.errors import InputError
from core.run import Run
from viz.instruments import heatmap
from viz.instruments.picture import patches
from viz.labels import head_name, literal, percent
from viz.number_text import signed, true_minus
from viz.shell import state
from viz.shell.pages import Page
from viz.widgets import controls, doodle, engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.importance import heads
from viz.workspace.importance.work import cost, each, short
from viz.workspace.shared import target_picker

OPENING = "When Mary came home,"
PAIRS = {
    "causal": (
        (OPENING, "When John came home,"),
        ("The old woman lost", "The old man lost"),
        ("The girl opened her eyes, and then", "The boy opened his eyes, and then"),
    ),
    "cross": (
        ("The old man is tired.", "The old woman is tired."),
        ("My sister is very tall.", "My brother is very tall."),
    ),
    "self": (("The girl lost [MASK] hat.", "The boy lost [MASK] hat."),),
}
PARTS = {"places": "Layer by position", "heads": "Layer by head"}
SIDES = {"encoder": "The text that is read", "decoder": "The translation"}
OTHER = 132
"""Pixels of the canvas for the other drawing."""
LOOKING = (
    "The second drawing runs through the model, but one value is taken from the run of the first: the vector at one position as it enters a layer, or the output of one head. "
    "If the answer turns into the first drawing's, the difference passed through there. 1 means that all of the logit difference is restored, 0 nothing, below 0 that the patch pushes the other way.\n\n"
    "Entering layer 0 the difference can only be at patches that differ, and the class token is the same in both. Higher up it moves to where the class is read: the class token. A run patched "
    "with itself stays the same, to the last bit (tested)."
)
RESTORED = r"\text{restored} = \frac{d_{\text{patched}} - d_{\text{corrupted}}}{d_{\text{clean}} - d_{\text{corrupted}}}, \qquad d = \text{logit}(a) - \text{logit}(b)"
CODE = """import core
from core.analysis.attribution.patching import position_patch, head_patch, make_pair, restored_share

model = core.open_model({model!r})
clean, corrupted = (model.run(text{target}) for text in ({text!r}, {other!r}))
pair = make_pair(clean, corrupted)
print(restored_share(pair, position_patch(pair, {stack!r}, 0, 1)), restored_share(pair, head_patch(pair, {kind!r}, 0, 0)))"""


def show(page: Page, params: Any, run: Run) -> None:
    picture = patches.reads_patches(run.model)
    target_picker.forget("importance.patch.sentence", params.text, "importance.other")
    offered = {} if picture else dict(PAIRS[run.kinds[-1]])
    other = (
        doodle.draw(
            "importance.other",
            _another(run),
            title="The other drawing",
            hint="",
            height=OTHER,
            preview=False,
            upload=False,
        )
        if picture
        else controls.text(
            "The other sentence, with a word changed",
            "importance.other",
            _partner(params, run, offered),
        )
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        what = controls.segmented(
            "What is patched",
            tuple(PARTS),
            "importance.part",
            "places",
            lambda part: PARTS[part].replace("position", "patch") if picture else PARTS[part],
            quiet=True,
        )
        side = (
            controls.segmented(
                "Where", tuple(SIDES), "importance.side", "encoder", SIDES.__getitem__, quiet=True
            )
            if run.source and what == "places"
            else None
        )
        _offer(offered, params.text)
    try:
        clean = engine_client.run(params.model, params.text, target=run.target_text, keep=KEEP)
        corrupted = engine_client.run(params.model, other, target=run.target_text, keep=KEEP)
        pair = make_pair(clean, corrupted)
    except InputError as error:
        st.text(f"{error.wrong} {error.rule} {error.remedy}")
        return
    stack = run.model.spec.stacks[side or next(iter(run.model.spec.stacks))]
    key = (params.model, params.text, other, run.target_text)
    if what == "places":
        columns = _columns(pair, side)
        depth = run.model.spec.depth(run.model.config, stack)
        short(run, len(columns), depth)
        shares = _swept(
            [(key, stack, layer, place) for layer in range(depth) for place in range(len(columns))],
            lambda _, *at: position_patch(pair, *at),
            pair,
            cost(run),
        )
        _picture(
            shares.reshape(-1, len(columns)), columns, "place", f"importance.patch.{stack}", picture and run
        )
        page_parts.summary(_places_said(pair, shares.reshape(-1, len(columns)), columns), "patching")
    else:
        kind = heads.kind_of(run)
        shares = _swept(
            [(key, kind, *place) for place in ablation_sweep.all_heads(run.model, kind)],
            lambda _, *at: head_patch(pair, *at),
            pair,
            cost(run),
        )
        columns = [f"H{head}" for head in range(run.model.config.n_heads)]
        _picture(shares.reshape(-1, len(columns)), columns, "head", f"importance.patch.{kind}")
        page_parts.summary(_heads_said(pair, shares.reshape(-1, len(columns))), "patching")
    _folds(page, params, run, pair, other, stack, shares.reshape(-1, len(columns)), columns)


def _swept(places: list[tuple[Any, ...]], edit: Callable[..., Any], pair: Pair, price: float) -> np.ndarray:
    """Return the share that each patch restores, in the order of the positions."""
    return np.array(
        each(
            [
                (("importance.patch", *at), partial(lambda at: restored_share(pair, edit(*at)), at))
                for at in places
            ],
            price,
            "Patching:",
        )
    )


def _partner(params: Any, run: Run, offered: dict[str, str]) -> str:
    """Return a sentence that makes the model expect another word, as measured; where none does, one with as many tokens, and the page says why it is of no use."""
    first = [offered[params.text]] if params.text in offered else []
    found = engine_client.submit(
        ("importance.partner", params.model, params.text, run.target_text),
        lambda: corrupted_text(run.model, params.text, run.target_text, first),
        2 * BATCH_SIZE * cost(run),
    )
    return found or changed_text(run.model, params.text)


def _what(run: Run) -> str:
    return "drawing" if patches.reads_patches(run.model) else "sentence"


def _offer(offered: dict[str, str], text: str) -> None:
    """Draw clear pairs, one tap each."""
    others = [clean for clean in offered if clean != text]
    for clean in others:
        st.button(
            literal(f"Try: {clean}"),
            key=f"importance.try.{clean}",
            type="tertiary",
            on_click=lambda clean=clean: state.write(text=clean, **{"importance.other": None}),
        )


def _columns(pair: Pair, side: str | None) -> list[str]:
    """Return the words of both sentences: one where they are equal, both where they differ."""
    one, two = (
        run.source.tokens if side == "encoder" and run.source else run.tokens
        for run in (pair.clean, pair.corrupted)
    )
    if patches.reads_patches(pair.clean.model):
        return patches.patch_names(one)
    return [
        target_picker.word(a) if a == b else f"{target_picker.word(a)}/{target_picker.word(b)}"
        for a, b in zip(one, two, strict=True)
    ]


def _another(run: Run) -> str:
    """Return a doodle of ours that may be classified as something else."""
    return doodle.samples()[
        next(name for name in doodle.samples() if name != run.model.choice(int(run.scores[0].argmax())))
    ]


def _picture(
    shares: np.ndarray, columns: list[str], across: str, key: str, drawn: Run | Literal[False] = False
) -> None:
    """Draw layers by positions or heads; of positions on a picture, each layer on the doodle of the run `drawn`."""
    if drawn:
        patches.on_patches(
            drawn,
            shares,
            rows=[f"L{layer}" for layer in range(len(shares))],
            scale="difference",
            form="all",
            hint="Choose a layer, point at a patch for what it restores.",
            key=key,
            title="Logit difference restored by one patched position",
        ).show()
        return
    heatmap(
        shares,
        [f"L{layer}" for layer in range(len(shares))],
        columns,
        key=key,
        scale="difference",
        limit=1.0,
        axis=("layer", across),
        title="Logit difference restored by one patch",
        numbers=True,
        height=380,
    )


def _words(pair: Pair) -> tuple[str, str]:
    return target_picker.choice_name(pair.clean, pair.target.token), target_picker.choice_name(
        pair.clean, pair.target.against or 0
    )


def _difference(pair: Pair) -> str:
    (a, b), (clean, corrupted) = _words(pair), pair.values
    if pair.clean.model.is_classifier:
        return f"The first {_what(pair.clean)} is classified as “{a}”, the other as “{b}” (logit difference {signed(clean, '+.2f')} and {signed(corrupted, '+.2f')})."
    if pair.clean.model.main_output == "score":
        return f"The score of the first sentence is {signed(clean)}, of the other {signed(corrupted)}."
    return f"{target_picker.begin(target_picker.position_phrase(pair.clean, pair.target.row))} the first sentence favours “{a}”, the other “{b}” (logit difference {signed(clean, '+.2f')} and {signed(corrupted, '+.2f')})."


def _places_said(pair: Pair, shares: np.ndarray, columns: list[str]) -> str:
    best = shares.argmax(1)
    moves = [0, *(layer for layer in range(1, len(best)) if best[layer] != best[layer - 1])]
    told = [
        f"entering layer {layer} it is mostly at “{columns[best[layer]]}” ({percent(shares[layer, best[layer]])} restored)"
        for layer in moves
    ]
    return f"{_difference(pair)} Where the difference is represented: {'; '.join(told)}."


def _heads_said(pair: Pair, shares: np.ndarray) -> str:
    layer, head = (int(i) for i in np.unravel_index(int(shares.argmax()), shares.shape))
    return f"{_difference(pair)} The head that restores most is {head_name(layer, head)}: {percent(shares[layer, head])} of the logit difference; all heads alone, added up: {percent(shares.sum())}."


def _folds(
    page: Page,
    params: Any,
    run: Run,
    pair: Pair,
    other: str,
    stack: str,
    shares: np.ndarray,
    columns: list[str],
) -> None:
    with page_parts.fold(page_parts.EQUATION, "importance.patch.equation") as fold:
        if fold.open:
            page_parts.equation(RESTORED)
            clean, corrupted = pair.values
            st.text(
                true_minus(
                    f"d in the first {_what(run)} {clean:.4f}, in the other {corrupted:.4f}: 100% is the way of {clean - corrupted:.4f} between them."
                )
            )
    with page_parts.fold(page_parts.LOOKING, "importance.patch.looking") as fold:
        if fold.open:
            st.markdown(
                LOOKING
                if patches.reads_patches(run.model)
                else "The second sentence runs through the model, but one value is taken from the run of the first: the vector at one position as it enters a layer, or the output of one head. "
                "If the answer turns into the first sentence's, the difference passed through there. 1 means that all of the logit difference is restored, 0 nothing, below 0 that the patch pushes the other way.\n\n"
                "Entering layer 0 the difference can only be at the changed word: where one word differs, its cell is 1 and every other is 0. In higher layers it moves to the position that predicts the next word. A "
                "run patched with itself stays the same, to the last bit (tested)."
            )
    page_parts.sources_fold(page)
    page_parts.table_fold(
        lambda: pd.DataFrame(
            shares.round(4),
            index=pd.Index([f"L{i}" for i in range(len(shares))]),
            columns=pd.Index([f"{i} {name}" for i, name in enumerate(columns)]),
        ),
        "importance.patch",
    )
    layers = [f"L{layer}" for layer in range(len(shares))]
    across = "head" if columns[0] == "H0" and len(columns) == run.model.config.n_heads else "position"
    target = "" if run.source is None else f", target={run.target_text!r}"
    code = CODE.format(
        model=params.model, text=params.text, other=other, target=target, stack=stack, kind=run.kinds[-1]
    )
    page_parts.export_fold(
        lambda: {"restored": Labelled(shares, {"layer": layers, across: columns})},
        code,
        key="importance.patch",
    )
