"""The steps of the exhibit on the next token: each draws its question, picture, numbers and control."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.diagram_nodes import boxes
from core.run import Attention, Run
from core.serving.engine import default
from viz.charts.curves import number
from viz.charts.tensors import tensors
from viz.course.gpt.maths.conditionals import Conditionals, conditionals, times_as_probable
from viz.course.gpt.next_token import charts, plan
from viz.course.gpt.next_token.params import MODEL, SLUG, Params
from viz.course.lesson import Folds
from viz.course.shared.maths import cross_shapes, sizes
from viz.instruments import heatmap
from viz.instruments.diagram.diagram import diagram, picked_box
from viz.instruments.kit import origin
from viz.labels import distinct, list_values, percent, query_and_key
from viz.shell import present_layout, state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

READER = "bert-mini"
Both = tuple[Conditionals, Conditionals]
MAP = SLUG + "map"
CHOICES = 3


def named(tokens: Sequence[str]) -> list[str]:
    """Tokens as words, without the space before them; equal ones told apart."""
    return distinct(token.removeprefix(" ") or token for token in tokens)


def options(values: np.ndarray, names: Sequence[str]) -> dict[str, float]:
    """The places with the lowest and the highest values, in the order of the text, with these values."""
    order = np.argsort(values, kind="stable")
    return {
        names[place]: float(values[place])
        for place in sorted({*map(int, order[:CHOICES]), *map(int, order[-CHOICES:])})
    }


def guess(params: Params, data: Both) -> Folds:
    """The bars of the text; covered until the guess."""
    found, names = data[0], named(data[0].tokens)
    n, known = len(names), True
    lowest = 1 + int(found.logprobs[1:].argmin()) if n > 2 else 0
    if n > 2:
        known = exhibit_parts.predict(
            SLUG + "least",
            "Which token after the first one has the highest surprisal?",
            options(found.logprobs[1:], names[1:]),
            names[lowest],
            f"P = {percent(np.exp(found.logprobs[lowest]), 2)}. The model's most probable token there is “{found.best[lowest].removeprefix(' ')}” ({percent(found.best_p[lowest])}).",
        )
    page_parts.show(
        charts.bars(
            names,
            found.logprobs if known else None,
            marked=lowest,
            height=exhibit_parts.by_mode(330, 340),
        ),
        SLUG + "bars",
        "ln P of each token: " + list_values(zip(names, found.logprobs, strict=True), "{:.2f}")
        if known
        else "The tokens; their probabilities come after the guess.",
    )
    page_parts.summary(
        _sum(found, params.text) if known else f"{n} tokens. Each is predicted from those to its left."
    )
    return Folds(
        lambda: _table(found, names),
        {"logprobs": found.logprobs, "running": found.running},
        {"model": MODEL, "k": ""},
        known,
        {"gpt.conditionals": {"n": str(n), "L_1": number(found.total, 3)}},
        latex=(rf"{number(found.total, 4)} = \ln ({found.product:.3g})",),
    )


def _sum(found: Conditionals, text: str) -> str:
    n, bits = len(found.tokens), -found.total / math.log(2)
    return (
        f"L₁ = {number(found.total, 3)}: the text has probability e^{number(found.total, 1)}. Cross-entropy loss {-found.total / n:.4f} nats per token; torch's cross_entropy: {found.mean_by_torch:.4f}. "
        f"Perplexity {found.perplexity:.1f}; {bits / len(text.encode()):.2f} bits per byte."
    )


def _table(found: Conditionals, names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "token": names,
            "P": np.exp(found.logprobs),
            "ln P": found.logprobs,
            "sum so far": found.running,
            "most probable": found.best,
            "its P": found.best_p,
        }
    )


def missing() -> str:
    """The part of the Transformer's decoder layer that no layer of the GPT has."""
    named = {"self": "masked self-attention", "cross": "cross-attention", "ffn": "the feed-forward network"}
    transformer = {
        box.kind
        for box in boxes(default().open("translator-en-es"))
        if box.side == "decoder" and box.layer == 0
    } & set(named)
    block = default().open(MODEL).network.layers[0]
    has = {"self": "self_attn", "cross": "cross_attn", "ffn": "ffn"}
    (gone,) = (what for what in transformer if not hasattr(block, has[what]))
    return named[gone]


def block(params: Params, data: Both) -> Folds:
    """The plan of GPT with what is struck out; a touched box shows what leaves it."""
    run = engine_client.run(MODEL, params.text)
    config = run.model.config
    layer = state.read("layer", 0, state.one_of(range(config.n_layers), 0))
    names = [part.name for part in plan.PARTS]
    with present_layout.full_width():
        left, right = st.columns([11, 9], gap="medium")
    chosen = state.read(SLUG + "box", "self", state.one_of(names, "self"))
    own = sum(weight.numel() for weight in run.model.network.layers[0].parameters())
    cross = sizes.attention(config.d_model) + sizes.norm(config.d_model)
    with right:
        known = exhibit_parts.predict(
            SLUG + "gone",
            "Three parts of the Transformer's decoder layer. GPT has no encoder: which part is dropped?",
            ("masked self-attention", "cross-attention", "the feed-forward network"),
            missing(),
            f"Cross-attention attends to the encoder, which GPT does not have. A block of {MODEL} has {own:,} parameters; with cross-attention and its norm it would have {cross:,} more.",
        )
        part = next(each for each in plan.PARTS if each.name == chosen)
        if known:
            st.markdown(f"**{plan.heading(part)}**  \n{part.does}")
        else:
            st.markdown(
                "The vector of each token goes up the middle of the plan. Three sub-layers add to it."
            )
        controls.segmented("Layer", range(config.n_layers), "layer", 0, lambda i: f"L{i}", quiet=True)
        shown = plan.panels(run, part, layer)
        with st.container():
            if shown and known:
                page_parts.show(
                    tensors(shown, height=exhibit_parts.by_mode(300, 170), room=exhibit_parts.presenting()),
                    SLUG + "tensors",
                    f"What leaves the box {part.name}.",
                )
        base = cross_shapes.counts()
        page_parts.summary(
            f"{config.n_layers} blocks of {own:,} parameters each."
            if known and exhibit_parts.presenting()
            else f"{config.n_layers} blocks of {own:,} parameters each. At the size of the Transformer paper a decoder layer without cross-attention has {base.without_cross:,} parameters, an encoder layer {base.encoder:,}."
            if known
            else f"{config.n_layers} layers, {config.n_heads} heads, width {config.d_model}."
        )

    def touched() -> None:
        name = picked_box(MAP, names)
        if name is not None:
            state.write(**{SLUG + "box": name})

    origin.tell_run(run)
    with left:
        diagram(
            **plan.plan(run, layer, struck=known),
            key=MAP,
            on_pick=touched,
            selected=chosen if known else "",
            row=exhibit_parts.by_mode(29, 23),
        )
    table = pd.DataFrame(
        [
            (part.name, part.does, str(plan.value(run, part, layer).shape) if part.leaf else "struck out")
            for part in plan.PARTS
        ],
        columns=["box", "what it does", "shape"],
    )
    return Folds(
        table,
        {"pattern": run.trace[f"layer.{layer}.self_attn.pattern"]},
        {"model": MODEL, "layer": layer},
        known,
        {"masked.matrix": {}, "residual.first": {}, "ffn.residual": {}, "output.softmax": {}},
    )


def two_masks(params: Params, data: Both) -> Folds:
    """The same sentence before both readers; GPT's map comes after the guess."""
    both, back = (
        engine_client.run(model, params.text, keep=("*.pattern", "*.allowed")) for model in (READER, MODEL)
    )
    sees, looks = both.attention("self"), back.attention("causal")
    n = len(looks.queries)
    shut = int((~looks.allowed[0, 0]).sum())
    known = n <= 3 or exhibit_parts.predict_number(
        SLUG + "shut",
        f"GPT cuts the sentence into {n} tokens, so its map has {n} × {n} = {n * n} cells. How many are masked?",
        0,
        n * n,
        shut,
        f"n (n − 1) / 2 = {n} × {n - 1} / 2 = {shut}: all cells to the right of the diagonal.",
        max(1, n // 4),
    )
    left, right = st.columns(2, gap=exhibit_parts.column_gap("large"))

    def shown(run: Run, kind: str, found: Attention, key: str, title: str) -> None:
        origin.tell_run(run, kind, changed="mean of all layers and heads")
        heatmap(
            found.weights.mean((0, 1)),
            named(found.queries),
            named(found.keys),
            key=SLUG + key,
            allowed=found.allowed[0, 0],
            title=title,
            height=exhibit_parts.by_mode(380, 330),
            axis=query_and_key("token"),
        )

    with left:
        shown(both, "self", sees, "bert", "BERT: attends to both sides")
    with right:
        if known:
            shown(back, "causal", looks, "gpt", "GPT: attends to earlier tokens only")
        else:
            st.markdown("**GPT: ?**  \nIts map is shown after your guess.")
    m, row = len(sees.queries), sees.weights.mean((0, 1))
    ahead = float(np.triu(row, 1).sum() / m)
    aside = "" if exhibit_parts.presenting() else f" ({percent(row[:, -1].mean())} on [SEP] alone)"
    st.text(
        f"BERT masks {int((~sees.allowed[0, 0]).sum())} of {m * m} cells; {percent(ahead)} of its attention is on later tokens{aside}. "
        + (
            f"GPT masks {shut} of {n * n}: on later tokens {percent(float(np.triu(looks.weights.mean((0, 1)), 1).sum() / n))}."
            if known
            else "And GPT?"
        )
    )
    return Folds(
        lambda: pd.DataFrame(
            looks.allowed[0, 0].astype(int), index=named(looks.queries), columns=named(looks.keys)
        ),
        {"bert": row, "gpt": looks.weights.mean((0, 1))},
        {"reader": READER, "model": MODEL},
        known,
        {"self.matrix": {}, "masked.matrix": {}},
    )


def window(params: Params, data: Both) -> Folds:
    """The bars behind the last k tokens, those behind all in pale."""
    full, near = data
    names, n, known = named(full.tokens), len(full.tokens), True
    if n > 3:
        one = engine_client.submit(("next_token.one", params.text), lambda: _one(params.text), 40 * n)
        lost = full.logprobs - one.logprobs
        most = int(lost[2:].argmax()) + 2
        known = exhibit_parts.predict(
            SLUG + "lost",
            "The model now reads only the one token before each position, k = 1. The probability of which token falls by the largest factor?",
            options(lost[2:], names[2:]),
            names[most],
            f"From P = {percent(np.exp(full.logprobs[most]), 2)} to {percent(np.exp(one.logprobs[most]), 3)}. The only token it reads there is “{names[most - 1]}”.",
        )
    page_parts.show(
        charts.bars(
            names,
            near.logprobs if known else None,
            full.logprobs,
            height=exhibit_parts.by_mode(330, 340),
        ),
        SLUG + "window",
        f"ln P of each token given {near.k} tokens, and given all."
        if known
        else "ln P of each token given all those before it; the window comes after the guess.",
    )
    page_parts.summary(
        f"k = {near.k}: L₁ = {number(near.total, 2)}, perplexity {near.perplexity:.1f}. With all earlier tokens: L₁ = {number(full.total, 2)}, perplexity {full.perplexity:.1f}. "
        + (
            f"The window makes the text {times_as_probable(near.total - full.total)}."
            if near.k < n - 1
            else "The window covers all earlier tokens, so the numbers are the same."
        )
        if known
        else f"With all earlier tokens: L₁ = {number(full.total, 2)}, perplexity {full.perplexity:.1f}."
    )
    frame = pd.DataFrame(
        {
            "token": names,
            f"ln P, k = {near.k}": near.logprobs,
            "ln P, all": full.logprobs,
            "difference": near.logprobs - full.logprobs,
        }
    )
    return Folds(
        frame,
        {"window": near.logprobs, "full": full.logprobs},
        {"model": MODEL, "k": f", {params.k}"},
        known,
        {"gpt.conditionals": {"n": str(n), "L_1": number(near.total, 3)}},
        latex=(
            rf"k = {near.k}: \quad {number(near.total, 3)} \qquad \text{{all}}: \quad {number(full.total, 3)}",
        ),
    )


def _one(text: str) -> Conditionals:
    return conditionals(default().open(MODEL), text, 1)
