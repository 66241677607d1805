"""Fourth view of What matters: two sentences, or two drawings, and where in the model the difference between them is."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.attribution.patching import (
    BATCH_SIZE,
    BY_HEAD,
    QUANTITIES,
    Pair,
    PatchGrid,
    corrupted_text,
    kept_values,
    make_pair,
    measured_rows,
    nearest_pair,
    quantities,
)
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.residual.ripple import changed_text
from core.analysis.task_outputs import chances
from core.errors import InputError
from core.model import Model
from core.run import Run
from viz.instruments import heatmap
from viz.instruments.picture import patches
from viz.labels import head_name, literal, percent
from viz.languages import _, mark
from viz.number_text import signed, true_minus
from viz.shell import notices, state
from viz.shell.pages import Page
from viz.shell.selection import Selection
from viz.widgets import controls, doodle, engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.importance import heads
from viz.workspace.importance.work import cost, each, short
from viz.workspace.shared import model_run, target_picker

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
PARTS = {"places": "resid", "attn": "attn", "ffn": "ffn", "heads": "heads", "pattern": "pattern"}
"""The quantities of the core by their names in links."""
QUANTITY_NAMES = (
    *(mark("residual stream"), mark("attention output"), mark("feed-forward output")),
    *(mark("head output"), mark("attention pattern")),
)
"""The names of `QUANTITIES`, for the catalogues."""
SIDES = {"encoder": mark("The text that is read"), "decoder": mark("The translation")}
OTHER = 132
"""Pixels of the canvas for the other drawing."""
LOOKING = mark(
    "The second {what} runs through the model, but one value is taken from the run of the first: of one position the residual stream as it enters a layer, or what attention or the feed-forward network adds there; or the output or the attention pattern of one head. "
    "If the answer turns into the first {what}'s, the difference passed through there. 1 means that all of the logit difference is restored, 0 nothing, below 0 that the patch pushes the other way.\n\n"
    "{layers} A run patched with itself stays the same, to the last bit (tested)."
)
LAYERS = {
    "drawing": mark(
        "In the residual stream that enters layer 0 the difference can only be at patches that differ, and the class token is the same in both. Higher up it moves to where the class is read: the class token."
    ),
    "sentence": mark(
        "In the residual stream that enters layer 0 the difference can only be at the changed word: where one word differs, its cell is 1 and every other is 0. In higher layers it moves to the position that predicts the next word."
    ),
}
RESTORED = r"\text{restored} = \frac{d_{\text{patched}} - d_{\text{corrupted}}}{d_{\text{clean}} - d_{\text{corrupted}}}, \qquad d = \text{logit}(a) - \text{logit}(b)"
CODE = """import core
from core.analysis import make_pair, patch_grid

model = core.open_model({model!r})
clean, corrupted = (model.run(text{target}) for text in ({text!r}, {other!r}))
pair = make_pair(clean, corrupted{asked})
print(patch_grid(pair, {over!r}{where}).round(2))   # {axes}"""


def show(page: Page, selection: Selection, run: Run) -> None:
    picture = patches.reads_patches(run.model)
    target_picker.forget("importance.patch.sentence", selection.text, "importance.other")
    offered = {} if picture else dict(PAIRS[run.kinds[-1]])
    other = (
        doodle.draw(
            "importance.other",
            _another(run),
            title=_("The other drawing"),
            hint="",
            height=OTHER,
            preview=False,
            upload=False,
        )
        if picture
        else controls.text(
            _("The other sentence, with a word changed"),
            "importance.other",
            _partner(run, selection.text, offered),
        )
    )
    if not state.presenting():  # the picture needs the room
        with st.container(horizontal=True, gap="medium"):
            _offer(offered, selection.text)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        part = controls.segmented(
            _("What is patched"),
            [part for part, over in PARTS.items() if over in quantities(run)],
            "importance.part",
            "places",
            lambda each: target_picker.begin(_(QUANTITIES[PARTS[each]])),
        )
        over = PARTS[part]
        side = (
            controls.segmented(
                _("Where"),
                tuple(SIDES),
                "importance.side",
                "encoder",
                lambda name: _(SIDES[name]),
                quiet=True,
            )
            if run.source and over in ("resid", "ffn")
            else None
        )
        kind = run.kinds[-1] if over in ("resid", "ffn") else heads.kind_of(run)
    stacks = run.model.spec.stacks
    where: dict[str, Any] = (
        {"stack": stacks[side or next(iter(stacks))]} if over in ("resid", "ffn") else {"kind": kind}
    )
    try:
        clean = model_run.rerun(run, kept_values(over))
        corrupted = model_run.rerun(run, (run.model.main_output,), text=other)
        pair = _pair(clean, corrupted)
        grid = PatchGrid(pair, over, **where)
    except InputError as error:
        st.text(f"{error.wrong} {error.rule} {error.remedy}")
        return
    by_head = over in BY_HEAD
    columns = [f"H{head}" for head in grid.columns] if by_head else _columns(pair, side)
    if not by_head:
        short(run, len(columns), grid.n_layers / 2)
    key = (selection.model, selection.text, other, run.target_text, pair.target, over, *where.values())
    price = cost(run) * len(columns) / 2
    shares = np.stack(
        each(
            [
                (("importance.patch", *key, layer), partial(grid.restored, layer))
                for layer in range(grid.n_layers)
            ],
            price,
            _("Patching the {quantity}: layer", quantity=_(QUANTITIES[over])),
        )
    )
    _picture(
        shares,
        columns,
        _("head") if by_head else _("position"),
        f"importance.patch.{over}.{next(iter(where.values()))}",
        picture and not by_head and run,
    )
    told = _heads_said if by_head else _places_said if over == "resid" else _outputs_said
    page_parts.summary(told(pair, shares, columns), "patching")
    _folds(page, selection, run, pair, other, over, where, shares, columns)


def _pair(clean: Run, corrupted: Run) -> Pair:
    """Draw the choice of the position, the answer and the foil, and return the pair. Raises InputError where nothing could be restored."""
    identity = (*target_picker.run_identity(clean), *target_picker.run_identity(corrupted))
    names = ("row", "answer", "foil", "words")
    target_picker.forget("importance.patch.pair", identity, *(f"importance.patch.{name}" for name in names))
    try:
        found = make_pair(clean, corrupted)
    except InputError:
        near = nearest_pair(clean, corrupted) if len(clean.ids) == len(corrupted.ids) else None
        if near is None or clean.model.main_output == "score":
            raise
        found = near
    if clean.model.main_output == "score":
        return found
    model, first = clean.model, found.target
    words = model.main_output == "logits"
    with st.container(key="importance.patch.asks"):
        spots = st.columns([2, 1, 1, 1] if words else 2 if model.whole_input else [2, 1, 1])
    row = first.row
    if not model.whole_input:
        rows = [
            at for at in measured_rows(clean, corrupted) if (clean.scores[at] != corrupted.scores[at]).any()
        ]
        with spots[0]:
            row = controls.select(
                _("Measured at position"),
                rows,
                "importance.patch.row",
                row,
                lambda at: target_picker.place(clean, at),
            )
    if row != first.row:
        first = _at_row(clean, corrupted, row)
    spots = spots if model.whole_input else spots[1:]
    answer = _choice(_("Answer"), clean, row, "answer", first.token, spots[0])
    foil = _choice(_("Foil"), corrupted, row, "foil", first.against or 0, spots[1])
    if words:
        with spots[2]:
            typed = controls.text(
                _("Or two other words"),
                "importance.patch.words",
                "",
                placeholder=_("answer foil, as in: she he"),
            ).split()
        ids, lists = [], _("The words in the lists are measured.")
        try:
            ids = [model.token_id(word) for word in typed]
        except InputError as error:
            notices.show_in_area(error.wrong, error.rule, lists)
        if len(ids) not in (0, 2):
            notices.show_in_area(
                _("Two words are compared."), _("The first is the answer, the second the foil."), lists
            )
        answer, foil = ids if len(ids) == 2 else (answer, foil)
    return make_pair(clean, corrupted, row, answer, foil)


def _at_row(clean: Run, corrupted: Run, row: int) -> OutputTarget:
    """Return what the two runs rank first at a row; where that is one output, the second of the corrupted run is the foil."""
    token, foil, second = int(clean.scores[row].argmax()), *np.argsort(-corrupted.scores[row])[:2].tolist()
    return OutputTarget(row, token, second if foil == token else foil)


def _choice(label: str, run: Run, row: int, name: str, default: int, spot: DeltaGenerator) -> int:
    """Draw the choice among the outputs that a run ranks first at a row, and the one that the link names, and return it."""
    shares = chances(run.model, run.scores[row])
    linked = state.read(f"importance.patch.{name}", default, state.whole_number(0, len(shares) - 1))
    best = [int(index) for index in np.argsort(-shares, kind="stable")[: target_picker.GUESSES]]
    with spot:
        return controls.select(
            label,
            list(dict.fromkeys([default, *best, linked])),
            f"importance.patch.{name}",
            default,
            lambda index: f"{target_picker.choice_name(run, index)}  {percent(shares[index])}",
        )


def opening(model: Model, text: str) -> str:
    """Return the text that the view opens with: the first of ours, or else `text`, for which another was measured that makes the model answer differently."""
    if patches.reads_patches(model) or not model.has_scores:
        return text
    ours = dict(PAIRS[model.spec.kinds_of(model.config)[-1].name])
    for each_text in (*ours, text):
        with suppress(InputError):
            if _measured_partner(
                model_run.fixed(Selection(model.name, each_text), (model.main_output,)), each_text, ours
            ):
                return each_text
    return text


def _partner(run: Run, text: str, pairs: dict[str, str]) -> str:
    """Return a sentence that makes the model expect another word, as measured; where none does, one with as many tokens."""
    return _measured_partner(run, text, pairs) or changed_text(run.model, text)


def _measured_partner(run: Run, text: str, pairs: dict[str, str]) -> str:
    """Return a sentence that makes the model expect another word, as measured; "" where none does."""
    first = [pairs[text]] if text in pairs else []
    return engine_client.submit(
        ("importance.partner", run.model.name, text, run.target_text),
        lambda: corrupted_text(run.model, text, run.target_text, first),
        2 * BATCH_SIZE * cost(run),
    )


def _input_name(run: Run) -> str:
    return mark("drawing") if patches.reads_patches(run.model) else mark("sentence")


def _offer(pairs: dict[str, str], text: str) -> None:
    """Draw clear pairs, one tap each."""
    others = [clean for clean in pairs if clean != text]
    for clean in others:
        st.button(
            literal(_("Try: {sentence}", sentence=clean)),
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
    shares: np.ndarray, columns: list[str], across: str, key: str, run: Run | Literal[False] = False
) -> None:
    """Draw layers by positions or heads; of positions on a picture, each layer on the doodle of `run`."""
    if run:
        patches.on_patches(
            run,
            shares,
            rows=[f"L{layer}" for layer in range(len(shares))],
            scale="difference",
            form="all",
            hint=_("Choose a layer, point at a patch for what it restores."),
            key=key,
            title=_("Logit difference restored by one patched position"),
        ).show()
        return
    heatmap(
        shares,
        [f"L{layer}" for layer in range(len(shares))],
        columns,
        key=key,
        scale="difference",
        limit=1.0,
        axis=(_("layer"), across),
        title=_("Logit difference restored by one patch"),
        numbers=True,
        height=380,
    )


def _words(pair: Pair) -> tuple[str, str]:
    return target_picker.choice_name(pair.clean, pair.target.token), target_picker.choice_name(
        pair.clean, pair.target.against or 0
    )


def _difference(pair: Pair) -> str:
    (a, b), (clean, corrupted) = _words(pair), pair.values
    numbers = _(
        "(logit difference {clean} and {corrupted})",
        clean=signed(clean, "+.2f"),
        corrupted=signed(corrupted, "+.2f"),
    )
    picture = patches.reads_patches(pair.clean.model)
    if pair.clean.model.main_output == "score":
        return _(
            "The score of the first sentence is {clean}, of the other {corrupted}.",
            clean=signed(clean),
            corrupted=signed(corrupted),
        )
    where = "" if pair.clean.model.whole_input else target_picker.position_phrase(pair.clean, pair.target.row)
    if not clean > 0 > corrupted:
        inputs = _("the drawings") if picture else _("the sentences")
        return _(
            "{inputs} differ in how much the model favours “{answer}” over “{foil}” {numbers}.",
            inputs=target_picker.begin(f"{where} {inputs}".strip()),
            answer=a,
            foil=b,
            numbers=numbers,
        )
    if pair.clean.model.is_classifier:
        return _(
            "The first {input} is classified as “{answer}”, the other as “{foil}” {numbers}.",
            input=_(_input_name(pair.clean)),
            answer=a,
            foil=b,
            numbers=numbers,
        )
    return _(
        "{where} the first sentence favours “{answer}”, the other “{foil}” {numbers}.",
        where=target_picker.begin(where),
        answer=a,
        foil=b,
        numbers=numbers,
    )


def _places_said(pair: Pair, shares: np.ndarray, columns: list[str]) -> str:
    best = shares.argmax(1)
    moves = [0, *(layer for layer in range(1, len(best)) if best[layer] != best[layer - 1])]
    told = [
        _(
            "entering layer {layer} it is mostly at “{token}” ({share} restored)",
            layer=layer,
            token=columns[best[layer]],
            share=percent(shares[layer, best[layer]]),
        )
        for layer in moves
    ]
    listed = _("Where the difference is represented: {places}.", places="; ".join(told))
    return f"{_difference(pair)} {listed}"


def _outputs_said(pair: Pair, shares: np.ndarray, columns: list[str]) -> str:
    layer, column = (int(i) for i in np.unravel_index(int(shares.argmax()), shares.shape))
    most = _(
        "Most is restored by layer {layer} at “{token}”: {share} of the logit difference; all cells alone, added up: {total}.",
        layer=layer,
        token=columns[column],
        share=percent(shares[layer, column]),
        total=percent(shares.sum()),
    )
    return f"{_difference(pair)} {most}"


def _heads_said(pair: Pair, shares: np.ndarray, columns: list[str]) -> str:
    layer, head = (int(i) for i in np.unravel_index(int(shares.argmax()), shares.shape))
    most = _(
        "The head that restores most is {head}: {share} of the logit difference; all heads alone, added up: {total}.",
        head=head_name(layer, head),
        share=percent(shares[layer, head]),
        total=percent(shares.sum()),
    )
    return f"{_difference(pair)} {most}"


def _folds(
    page: Page,
    selection: Selection,
    run: Run,
    pair: Pair,
    other: str,
    over: str,
    where: dict[str, str],
    shares: np.ndarray,
    columns: list[str],
) -> None:
    with page_parts.fold(page_parts.EQUATION, "importance.patch.equation") as fold:
        if fold.open:
            page_parts.equation(RESTORED)
            clean, corrupted = pair.values
            st.text(
                true_minus(
                    _(
                        "d in the first {input} {clean:.4f}, in the other {corrupted:.4f}: {all} is the way of {way:.4f} between them.",
                        input=_(_input_name(run)),
                        clean=float(clean),
                        corrupted=float(corrupted),
                        all=percent(1),
                        way=float(clean - corrupted),
                    )
                )
            )
    with page_parts.fold(page_parts.LOOKING, "importance.patch.looking") as fold:
        if fold.open:
            what = _input_name(run)
            st.markdown(_(LOOKING, what=_(what), layers=_(LAYERS[what])))
    page_parts.sources_fold(page)
    page_parts.table_fold(
        lambda: pd.DataFrame(
            shares.round(4),
            index=pd.Index([f"L{i}" for i in range(len(shares))]),
            columns=pd.Index([f"{i} {name}" for i, name in enumerate(columns)]),
        ),
        "importance.patch",
    )
    layers, across = [f"L{layer}" for layer in range(len(shares))], "head" if over in BY_HEAD else "position"
    measured = pair.target
    code = CODE.format(
        model=selection.model,
        text=selection.text,
        other=other,
        target="" if run.source is None else f", target={run.target_text!r}",
        asked=""
        if run.model.main_output == "score"
        else f", row={measured.row}, answer={measured.token}, foil={measured.against}",
        over=over,
        where="".join(f", {name}={value!r}" for name, value in where.items()),
        axes=f"(layer, {across})",
    )
    page_parts.export_fold(
        lambda: {"restored": Labelled(shares, {"layer": layers, across: columns})},
        code,
        key="importance.patch",
    )
