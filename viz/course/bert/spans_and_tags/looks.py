"""Answers and tags, the last two steps: the attention of a head before and after; the tuning itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.run import Run
from core.training.finetune import tuning
from viz.course.bert import tuning_live
from viz.course.bert.spans_and_tags.answers import glued, read_answer, warn
from viz.course.bert.spans_and_tags.maths import moved_heads
from viz.course.bert.spans_and_tags.params import SLUG, Models, Params
from viz.course.bert.tuning_live import BEFORE, Using
from viz.course.exhibit import Folds
from viz.instruments import heatmap, marked, picked_words
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.labels import head_name, percent, visible
from viz.shell import present_layout, state
from viz.widgets import engine_client, exhibit_parts, page_parts

NAMES = ("before", "after")
NONE = "none: it stayed the same"
SMALL = 1e-9


@tuning_live.needs("answers", SLUG)
def looked(params: Params, used: Using) -> Folds:
    """Ask which half of the layers changed more, then draw each head's change, and one head from one token, before and after."""
    question, passage = params.question, params.passage
    warn(used)
    one = read_answer(params, used)
    runs = [
        engine_client.run(name, question, pair=passage, keep=("*.pattern",))
        for name in (BEFORE, str(used.model))
    ]
    origin.tell_run(runs[1], "self", changed=f"beside {BEFORE}, before the tuning")
    before, after = (run.attention().weights for run in runs)
    moved = moved_heads(before, after)
    layers, heads = moved.shape
    by_layer, half = moved.mean(1), layers // 2
    halves = {
        f"layers 0 to {half - 1}": float(by_layer[:half].mean()),
        f"layers {half} to {layers - 1}": float(by_layer[half:].mean()),
    }
    told = exhibit_parts.predict(
        SLUG + "layer",
        f"bert-mini was tuned for answers. In which half of its {layers} layers did attention change more?",
        halves | {NONE: 0.0},
        NONE if by_layer.max() < SMALL else max(halves, key=lambda name: halves[name]),
        f"Over all heads and tokens {percent(by_layer.max(), 2)} of the attention moved to other tokens "
        f"in layer {int(by_layer.argmax())}, {percent(by_layer.min(), 2)} in layer {int(by_layer.argmin())}.",
    )
    tokens = surface(runs[0])
    n, key = len(tokens), SLUG + "looks"
    at = params.token if 0 <= params.token < n else one.first + one.span_scores.best[0]
    layer, head = 0, 0
    if 0 <= params.layer < layers and 0 <= params.head < heads:
        layer, head = params.layer, params.head
    elif told:
        layer, head = divmod(int(moved.argmax()), heads)
    present = exhibit_parts.presenting()
    with present_layout.full_width():
        left, right = (st.container(), st.container()) if present else st.columns([2, 5], gap="medium")
        if not present:
            with left:
                layer, head = _grid(moved if told else np.zeros_like(moved), (layer, head), told)
        rows = before[layer, head, at], after[layer, head, at]
        with right:
            picture = (
                f"model.run({question!r}, pair={passage!r}).tokens, above=rows[0], below=rows[1], "
                f"names={NAMES}, most=max(*rows[0], *rows[1])"
            )
            whose = replace(origin.now(), layer=layer, head=head)
            marked(
                tokens,
                key=key,
                on_pick=partial(_take, key, n),
                glued=[k for k in glued(runs[0].spans) if runs[0].segments[k] == runs[0].segments[k - 1]],
                quiet=[k for k, place in enumerate(runs[0].spans) if place is None],
                above=rows[0],
                below=rows[1] if told else None,
                names=NAMES,
                most=float(max(0.05, rows[0].max(), rows[1].max() if told else 0)),
                span=(at, at),
                pick="word",
                title=f"{head_name(layer, head)}: what “{visible(tokens[at])}” attends to",
                hint="Touch a word to see what it attends to.",
                python=lines(params, used, layer, head, at) + drawing("marked", picture, whose),
            )
    (first, p_first), (then, p_then) = (
        (visible(tokens[int(row.argmax())]), percent(row.max())) for row in rows
    )
    word, everywhere = visible(tokens[at]), ""
    if not present:
        everywhere = (
            f" Over all tokens {percent(moved[layer, head])} of this head's attention moved to other tokens, "
            f"{percent(moved.mean())} over all {moved.size} heads."
        )
    page_parts.summary(
        f"{head_name(layer, head)} from “{word}”: before the tuning most to “{first}” ({p_first}), after it most to “{then}” ({p_then}).{everywhere}"
        if told
        else f"{head_name(layer, head)} before the tuning: “{word}” attends most to “{first}”, {p_first}."
    )
    went = 0.5 * np.abs(rows[0] - rows[1]).sum()
    return Folds(
        lambda: pd.DataFrame({"token": tokens, "before": rows[0], "after": rows[1]}).round(5),
        {"moved": moved, "before": rows[0], "after": rows[1]},
        lines(params, used, layer, head, at),
        told,
        {"self.weights": {}},
        (rf"\tfrac{{1}}{{2}} \sum_j |a_{{ij}} - b_{{ij}}| = {went:.4f} \text{{ for this token}}",),
    )


def trained(params: Params, models: Models) -> Folds:
    """Draw the task, the run with its curves, and the button."""
    params.show(SLUG.rstrip("."), "goal", "body")  # above the training that they choose
    used = models[params.goal]
    job, name, reports = used.tuning, used.tuning.name, used.reports
    tuning_live.panel(name, SLUG)
    kinds = ("step", "loss", "right", "seconds")
    return Folds(
        lambda: pd.DataFrame(
            [{kind: getattr(one, kind) for kind in kinds} for one in reports] or [{"step": "nothing yet"}]
        ),
        {kind: [getattr(one, kind) for one in reports] for kind in ("step", "right", "loss")},
        {"name": name, "seed": used.seed, "reports": tuning_live.reports(used)},
        look={"job": job, "checked": tuning.CHECKED},
    )


def surface(run: Run) -> list[str]:
    """Return the tokens as they are written in their text, special tokens by name."""
    texts, each = (run.side.text, run.side.pair or ""), zip(run.tokens, run.spans, run.segments, strict=True)
    return [texts[segment][slice(*place)] if place else token for token, place, segment in each]


def _grid(changes: np.ndarray, opening: tuple[int, int], revealed: bool) -> tuple[int, int]:
    """Draw the change of each head's attention, and return the head that is touched."""
    layers, heads = changes.shape
    touched = heatmap(
        changes,
        [f"layer {i}" for i in range(layers)],
        [f"H{i}" for i in range(heads)],
        key=SLUG + "grid",
        selected=opening,
        axis=("layer", "head"),
        title="How far each head's attention moved" if revealed else "Guess first",
        numbers=revealed,
        height=250,
    )
    cell = touched.cell or opening
    if cell != opening:
        state.write(**{SLUG + "layer": cell[0], SLUG + "head": cell[1]})
    return cell


def _take(key: str, n: int) -> None:
    at = picked_words(key, n)
    if at is not None:
        state.write(**{SLUG + "token": at[0]})


def lines(params: Params, used: Using, layer: int, head: int, token: int) -> str:
    """Return lines of Python that compute the same rows."""
    return (
        f"{tuning_live.opening(used)}\n\nfrom viz.course.bert.spans_and_tags.maths import moved_heads\n"
        f"from core.training.finetune import tuning\n\nfound = [one.run({params.question!r},\n"
        f"    pair={params.passage!r}).attention().weights\n    for one in (tuning.load_base(), model)]\n"
        f"print(moved_heads(*found).round(3))\nrows = [weights[{layer}, {head}, {token}] for weights in found]\n"
        "print(rows)\n"
    )
