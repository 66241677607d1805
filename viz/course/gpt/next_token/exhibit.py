"""GPT: a text as a product of conditionals, each from the left context only; the block without cross-attention; the window k."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.diagram_nodes import boxes
from core.run import Attention
from core.serving.engine import default
from viz.charts import thumbs
from viz.charts.curves import number
from viz.charts.tensors import tensors
from viz.course.exhibit import Exhibit, Step
from viz.course.gpt.conditionals import LONGEST, Conditionals, conditionals, times_as_probable
from viz.course.gpt.next_token import charts, plan
from viz.course.kit.question import Choice, Estimate
from viz.course.kit.step import View, columns, show_heatmap
from viz.course.shared import cross_shapes, sizes
from viz.exhibit_text import data
from viz.instruments.diagram.diagram import diagram, picked_box
from viz.instruments.kit import origin
from viz.labels import distinct, list_values, percent, query_and_key
from viz.shell import present_layout, state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts
from viz.widgets.knobs import Knobs, knob, sentence, slider

MODEL, READER = "gpt-mini", "bert-mini"
SENTENCES: list[str] = data(__file__)["sentences"]
BOX, MAP = "next_token.box", "next_token.map"
EXTREMES = 3
"""So many tokens with the lowest and with the highest values are options of a question."""
PARTS = {"self": "masked self-attention", "cross": "cross-attention", "ffn": "the feed-forward network"}
MODULES = {"self": "self_attn", "cross": "cross_attn", "ffn": "ffn"}


@dataclass(frozen=True)
class Params(Knobs):
    """The text, and the window of the last step."""

    text: str = knob(
        SENTENCES[0], sentence("Text", SENTENCES, model=MODEL, most=f"up to {LONGEST} tokens"), link="text"
    )
    k: int = knob(1, slider("k, tokens that the model reads", 1, LONGEST))


Data = tuple[Conditionals, Conditionals]
"""Each token given all those before it, and given the last k."""


def compute(params: Params) -> Data:
    """Read the text with all earlier tokens in sight, and with the last k."""
    return read(params.text), read(params.text, params.k)


def read(text: str, k: int | None = None) -> Conditionals:
    """Return the conditionals of a text, given the last k tokens or all of them."""
    return conditionals(default().open(MODEL), text, k)


def words_of(tokens: Sequence[str]) -> list[str]:
    """Return tokens without the space before them; equal ones get numbers."""
    return distinct(token.removeprefix(" ") or token for token in tokens)


def extremes(values: np.ndarray, words: Sequence[str]) -> dict[str, float]:
    """Return the words with the lowest and the highest values, in the order of the text."""
    order = np.argsort(values, kind="stable")
    places = sorted({*map(int, order[:EXTREMES]), *map(int, order[-EXTREMES:])})
    return {words[place]: float(values[place]) for place in places}


def in_words(words: Sequence[str], logprobs: np.ndarray) -> str:
    """Return the words with their ln P."""
    return list_values(zip(words, logprobs, strict=True), "{:.2f}")


def guess(p: Params, both: Data) -> View:
    """Show the surprisal of each token, and the sum so far."""
    full, words = both[0], words_of(both[0].tokens)
    n, bits, lowest, question = len(words), -full.total / math.log(2), 0, None
    if n > 2:
        lowest = 1 + int(full.logprobs[1:].argmin())
        question = Choice(
            "least",
            "Which token after the first one has the highest surprisal?",
            extremes(full.logprobs[1:], words[1:]),
            words[lowest],
            f"P = {percent(np.exp(full.logprobs[lowest]), 2)}. The model's most probable token there is "
            f"“{full.best[lowest].removeprefix(' ')}” ({percent(full.best_p[lowest])}).",
        )
    return View(
        question,
        pd.DataFrame(
            {
                "token": words,
                "P": np.exp(full.logprobs),
                "ln P": full.logprobs,
                "sum so far": full.running,
                "most probable": full.best,
                "its P": full.best_p,
            }
        ),
        lambda revealed: charts.bars(
            words,
            full.logprobs if revealed else None,
            marked=lowest,
            height=exhibit_parts.by_mode(330, 340),
        ),
        "ln P of each token",
        f"L₁ = {number(full.total, 3)}: the text has probability e^{number(full.total, 1)}. Cross-entropy loss "
        f"{-full.total / n:.4f} nats per token; torch's cross_entropy: {full.mean_by_torch:.4f}. "
        f"Perplexity {full.perplexity:.1f}; {bits / len(p.text.encode()):.2f} bits per byte.",
        f"{n} tokens. Each is predicted from those to its left.",
        numbers=lambda: in_words(words, full.logprobs),
        code={"model": MODEL, "k": ""},
        equations={"gpt.conditionals": {"n": str(n), "L_1": number(full.total, 3)}},
        latex=(rf"{number(full.total, 4)} = \ln ({full.product:.3g})",),
    )


GUESS = {
    "the sum is the logarithm of the product, and torch's mean": lambda p, both: (
        math.isclose(both[0].total, math.log(both[0].product), rel_tol=1e-6)
        and math.isclose(-both[0].total / len(both[0].tokens), both[0].mean_by_torch, rel_tol=1e-6)
    ),
    "one token is at least ten times less probable than the median": lambda p, both: (
        both[0].logprobs[1:].min() < np.median(both[0].logprobs) - math.log(10)
    ),
}


def dropped_part() -> str:
    """Return the part of the Transformer's decoder layer that no layer of the GPT has."""
    decoder = [
        box for box in boxes(default().open("translator-en-es")) if box.side == "decoder" and box.layer == 0
    ]
    block = default().open(MODEL).network.layers[0]
    (part,) = (
        part for part in {box.kind for box in decoder} & set(PARTS) if not hasattr(block, MODULES[part])
    )
    return PARTS[part]


def block(p: Params, both: Data) -> View:
    """Show the plan of GPT with the dropped part struck out; a touched box shows what leaves it."""
    run = engine_client.run(MODEL, p.text)
    config, layers, names = run.model.config, run.model.network.layers, [part.name for part in plan.PARTS]
    layer = state.read("layer", 0, state.one_of(range(config.n_layers), 0))
    own = sum(weight.numel() for weight in layers[0].parameters())
    cross, base = sizes.attention(config.d_model) + sizes.norm(config.d_model), cross_shapes.counts()

    def tensor(part: plan.Part, revealed: bool) -> None:
        st.markdown(
            f"**{plan.heading(part)}**  \n{part.does}"
            if revealed
            else "The vector of each token goes up the middle of the plan. Three sub-layers add to it."
        )
        controls.segmented("Layer", range(config.n_layers), "layer", 0, lambda i: f"L{i}", quiet=True)
        with st.container():
            if revealed and (panels := plan.panels(run, part, layer)):
                height, room = exhibit_parts.by_mode(300, 170), exhibit_parts.presenting()
                figure = tensors(panels, height=height, room=room)
                page_parts.show(figure, "next_token.tensors", f"What leaves the box {part.name}.")

    def touch() -> None:
        if (name := picked_box(MAP, names)) is not None:
            state.write(**{BOX: name})

    def layout(ask: Callable[[], bool], say: Callable[[], None]) -> None:
        with present_layout.full_width():
            left, right = st.columns([11, 9], gap="medium")
        box = state.read(BOX, "self", state.one_of(names, "self"))
        with right:
            revealed = ask()
            tensor(plan.PARTS[names.index(box)], revealed)
            say()
        origin.tell_run(run)
        with left:
            diagram(
                **plan.plan(run, layer, struck=revealed),
                key=MAP,
                on_pick=touch,
                selected=box if revealed else "",
                row=exhibit_parts.by_mode(29, 23),
            )

    return View(
        Choice(
            "gone",
            "Three parts of the Transformer's decoder layer. GPT has no encoder: which part is dropped?",
            tuple(PARTS.values()),
            dropped_part(),
            f"Cross-attention attends to the encoder, which GPT does not have. A block of {MODEL} has {own:,} "
            f"parameters; with cross-attention and its norm it would have {cross:,} more.",
        ),
        pd.DataFrame(
            {
                "box": names,
                "what it does": [part.does for part in plan.PARTS],
                "shape": [
                    str(plan.value(run, part, layer).shape) if part.leaf else "struck out"
                    for part in plan.PARTS
                ],
            }
        ),
        layout=layout,
        summary=f"{config.n_layers} blocks of {own:,} parameters each."
        + exhibit_parts.by_mode(
            f" At the size of the Transformer paper a decoder layer without cross-attention has {base.without_cross:,} "
            f"parameters, an encoder layer {base.encoder:,}.",
            "",
        ),
        preview=f"{config.n_layers} layers, {config.n_heads} heads, width {config.d_model}.",
        arrays={"pattern": run.trace[f"layer.{layer}.self_attn.pattern"]},
        code={"model": MODEL, "layer": layer},
        equations={"masked.matrix": {}, "residual.first": {}, "ffn.residual": {}, "output.softmax": {}},
    )


BLOCK = {
    "cross-attention is the part that a GPT block lacks": lambda p, both: dropped_part() == "cross-attention"
}


def maps(text: str) -> tuple[Attention, Attention]:
    """Return the attention of BERT and of GPT over a text."""
    keep = ("*.pattern", "*.allowed")
    bert, gpt = (engine_client.run(model, text, keep=keep) for model in (READER, MODEL))
    return bert.attention("self"), gpt.attention("causal")


def share_ahead(attention: Attention) -> float:
    """Return the share of attention, the mean of all layers and heads, on tokens after the query."""
    return float(np.triu(attention.weights.mean((0, 1)), 1).sum() / len(attention.queries))


def masked_cells(attention: Attention) -> int:
    """Return how many cells a mask closes."""
    return int((~attention.allowed[0, 0]).sum())


def two_masks(p: Params, both: Data) -> View:
    """Show the same sentence through BERT and GPT; GPT's map comes after the guess."""
    bert, gpt = maps(p.text)
    m, n, masked = len(bert.queries), len(gpt.queries), masked_cells(gpt)
    on_sep = percent(bert.weights.mean((0, 1))[:, -1].mean())
    first = (
        f"BERT masks {masked_cells(bert)} of {m * m} cells; {percent(share_ahead(bert))} of its attention is on later "
        f"tokens{exhibit_parts.by_mode(f' ({on_sep} on [SEP] alone)', '')}."
    )

    def picture(revealed: bool) -> None:
        left, right = columns(2)
        for place, name, model, kind, attention, title in (
            (left, "bert", READER, "self", bert, "BERT: attends to both sides"),
            (right, "gpt", MODEL, "causal", gpt, "GPT: attends to earlier tokens only"),
        ):
            with place:
                show_heatmap(
                    "next_token",
                    name,
                    attention.weights.mean((0, 1)),
                    words_of(attention.queries),
                    words_of(attention.keys),
                    title,
                    revealed=revealed or name == "bert",
                    run=engine_client.run(model, p.text, keep=("*.pattern", "*.allowed")),
                    kind=kind,
                    changed="mean of all layers and heads",
                    allowed=attention.allowed[0, 0],
                    height=exhibit_parts.by_mode(380, 330),
                    axis=query_and_key("token"),
                )

    return View(
        None
        if n <= 3
        else Estimate(
            "shut",
            f"GPT cuts the sentence into {n} tokens, so its map has {n} × {n} = {n * n} cells. How many are masked?",
            0,
            n * n,
            masked,
            f"n (n − 1) / 2 = {n} × {n - 1} / 2 = {masked}: all cells to the right of the diagonal.",
            max(1, n // 4),
        ),
        pd.DataFrame(gpt.allowed[0, 0].astype(int), index=words_of(gpt.queries), columns=words_of(gpt.keys)),
        picture=picture,
        summary=f"{first} GPT masks {masked} of {n * n}: on later tokens {percent(share_ahead(gpt))}.",
        preview=first,
        arrays={
            "bert": bert.weights.mean((0, 1)),
            "gpt": gpt.weights.mean((0, 1)),
            "on_later_tokens": np.array([share_ahead(bert), share_ahead(gpt)]),
        },
        code={"reader": READER, "model": MODEL},
        equations={"self.matrix": {}, "masked.matrix": {}},
    )


def masks_hold(p: Params, both: Data) -> bool:
    """Return whether BERT masks nothing and looks ahead, and GPT masks all that is ahead."""
    bert, gpt = maps(p.text)
    n = len(gpt.queries)
    return (
        bool(bert.allowed.all())
        and masked_cells(gpt) == n * (n - 1) // 2
        and share_ahead(bert) > 0.3
        and share_ahead(gpt) == 0
    )


def window(p: Params, both: Data) -> View:
    """Show the conditionals given the last k tokens, those given all of them in pale behind."""
    full, near = both
    words, n, question = words_of(full.tokens), len(full.tokens), None
    if n > 3:
        one = engine_client.submit(("next_token.one", p.text), lambda: read(p.text, 1), 40 * n)
        lost = full.logprobs - one.logprobs
        most = 2 + int(lost[2:].argmax())
        question = Choice(
            "lost",
            "The model now reads only the one token before each position, k = 1. "
            "The probability of which token falls by the largest factor?",
            extremes(lost[2:], words[2:]),
            words[most],
            f"From P = {percent(np.exp(full.logprobs[most]), 2)} to {percent(np.exp(one.logprobs[most]), 3)}. "
            f"The only token it reads there is “{words[most - 1]}”.",
        )
    effect = (
        f"The window makes the text {times_as_probable(near.total - full.total)}."
        if near.k < n - 1
        else "The window covers all earlier tokens, so the numbers are the same."
    )
    whole = f"With all earlier tokens: L₁ = {number(full.total, 2)}, perplexity {full.perplexity:.1f}."
    return View(
        question,
        pd.DataFrame(
            {
                "token": words,
                f"ln P, k = {near.k}": near.logprobs,
                "ln P, all": full.logprobs,
                "difference": near.logprobs - full.logprobs,
            }
        ),
        lambda revealed: charts.bars(
            words,
            near.logprobs if revealed else None,
            full.logprobs,
            height=exhibit_parts.by_mode(330, 340),
        ),
        f"ln P of each token given {near.k} tokens, and given all",
        f"k = {near.k}: L₁ = {number(near.total, 2)}, perplexity {near.perplexity:.1f}. {whole} {effect}",
        whole,
        numbers=lambda: in_words(words, near.logprobs),
        arrays={
            "window": near.logprobs,
            "full": full.logprobs,
            "perplexity": np.array([near.perplexity, full.perplexity]),
        },
        code={"model": MODEL, "k": f", {p.k}"},
        equations={"gpt.conditionals": {"n": str(n), "L_1": number(near.total, 3)}},
        latex=(
            rf"k = {near.k}: \quad {number(near.total, 3)} \qquad \text{{all}}: \quad {number(full.total, 3)}",
        ),
    )


def thumbnail() -> str:
    """Draw how improbable each token of the opening text is."""
    full = read(SENTENCES[0])
    words = [token.removeprefix(" ") for token in full.tokens[:8]]
    marked = full.least_probable if full.least_probable < 8 else None
    return thumbs.bars(-full.logprobs[:8], words, marked=marked)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(guess, ("text",), promises=GUESS),
        Step(block, ("text",), promises=BLOCK),
        Step(
            two_masks,
            ("text",),
            promises={"BERT masks nothing, GPT all later tokens; BERT attends to later ones": masks_hold},
        ),
        Step(
            window,
            ("k", "text"),
            promises={
                "with one token in sight the text is at least 1,000 times less probable": lambda p, both: (
                    both[0].total - read(p.text, 1).total > math.log(1000)
                )
            },
        ),
    ),
    cost=lambda params: 40 * len(params.text),
    tells=lambda params, data: origin.tell(model=MODEL, text=params.text),
    presets=tuple({"text": text} for text in SENTENCES[1:]),
)
