"""Steps of the exhibit on sentence pairs about the network: attention between the texts, the loss, the order."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from core.run import Run
from core.serving.engine import default
from viz.charts import marks
from viz.course.bert.charts import sentence_pairs
from viz.course.bert.sentence_pairs import next_pairs, next_sentence
from viz.course.bert.sentence_pairs.game import MARKS
from viz.course.bert.sentence_pairs.next_sentence import GROUPS, WAYS
from viz.course.bert.sentence_pairs.params import BLOCKS, MODEL, SLUG, Params, heads
from viz.course.exhibit import Folds
from viz.labels import head_name, list_values, percent, visible
from viz.number_text import true_minus
from viz.shell import state
from viz.widgets import engine_client, exhibit_parts, page_parts

GROUP_LABELS = ("[CLS]", "words of A", "words of B", "[SEP]")
GAMES = ("Masked LM", "Next sentence prediction", "Both the same")


def attention_by_text(params: Params, run: Run) -> Folds:
    """Ask which text gets more attention, then draw the attention between the parts, and one of these shares in every head."""
    group = next_sentence.groups(run)
    found = next_sentence.blocks(run.attention("self").weights, group)
    n_layers, n_heads = found.shape[:2]
    mean = found.mean((0, 1))
    own = dict(zip(GROUP_LABELS, mean[1].tolist(), strict=True))
    offered = {name: share for name, share in own.items() if "words" in name}
    told = exhibit_parts.predict(
        SLUG + "who",
        "On average over all heads of all layers: to which words do the words of A attend more?",
        offered,
        max(offered, key=lambda name: offered[name]),
        "From the words of A: " + list_values(own) + ".",
    )
    place = divmod(params.head, n_heads) if params.head >= 0 else None
    now = mean if place is None else found[place]
    row, column = _block(params.block)
    asked = found[..., row, column]
    left, right = st.columns([2, 3], gap=exhibit_parts.column_gap("medium"))
    with left:
        st.text("All heads, mean" if place is None else head_name(*place))
        gives = "; ".join(
            f"{name} gives "
            + ", ".join(f"{percent(share)} to {to}" for to, share in zip(GROUPS, shares, strict=True))
            for name, shares in zip(GROUPS, now[:3], strict=False)
        )
        page_parts.show(
            marks.cells(
                pd.DataFrame(now[:3], GROUPS[:3], GROUPS),
                highlighted=(row, column),
                covered=not told,
                height=210,
            ),
            SLUG + "blocks",
            gives if told else "Covered until you guess.",
        )
    with right:
        st.text(f"{params.block} in every head")
        layers, columns = [f"L{i}" for i in range(n_layers)], [f"H{i}" for i in range(n_heads)]
        ends = f", from {percent(asked.min())} to {percent(asked.max())}."
        page_parts.show(
            marks.cells(
                pd.DataFrame(asked, layers, columns), highlighted=place, covered=not told, height=210
            ),
            SLUG + "heads",
            f"The share of {params.block} in each head" + (ends if told else "; covered."),
        )
    layer, head = np.unravel_index(int(asked.argmax()), asked.shape)
    largest = f"{params.block} is largest in {head_name(int(layer), int(head))}: {percent(asked.max(), 2)}."
    share = [[percent(value, 2) for value in values] for values in now]
    page_parts.summary(
        f"{'All heads' if place is None else head_name(*place)}: A gives {share[1][1]} to A and "
        f"{share[1][2]} to B; B gives {share[2][1]} to A and {share[2][2]} to B; [CLS] gives {share[0][1]} "
        f"to A, {share[0][2]} to B. " + ("" if exhibit_parts.presenting() else largest)
        if told
        else f"{(group == 1).sum()} words of A, {(group == 2).sum()} of B: "
        "nothing is masked, every token may attend to every token."
    )
    summed = " + ".join(f"{value:.4f}" for value in now[1])
    name = "mean" if place is None else head_name(*place)
    return Folds(
        lambda: pd.DataFrame(
            {"head": heads()} | {block: found[(..., *_block(block))].ravel() for block in BLOCKS}
        ),
        {"blocks": found},
        {"model": MODEL},
        told,
        latex=(rf"\text{{{name}, row A: }} {summed} = {now[1].sum():.4f}",),
    )


def _block(name: str) -> tuple[int, int]:
    """Return row and column of a share."""
    row, _, column = name.partition(" → ")
    return GROUPS.index(row), GROUPS.index(column)


def loss(params: Params, run: Run) -> Folds:
    """Ask which loss is larger, then draw both losses of each pair as a stacked bar and, last, those of the batch: the sum of
    the two means."""
    rows = [
        next_pairs.SampledPair(params.a, params.b, params.follows),
        *next_pairs.draws(params.draw, params.batch - 1),
    ]
    model, follow = default().open(MODEL), [row.follows for row in rows]
    pairs = [(row.first, row.second) for row in rows]
    key = ("sentence_pairs.loss", params.a, params.b, params.follows, params.batch, params.draw)
    found = engine_client.submit(
        key, lambda: next_sentence.loss(model, pairs, follow, params.draw), 4000 * len(rows)
    )
    larger = GAMES[0] if found.masked > found.next else GAMES[1] if found.next > found.masked else GAMES[2]
    n_words = len(model.tokenizer)
    told = exhibit_parts.predict(
        SLUG + "loss",
        "Which of the two pre-training losses is larger for bert-mini?",
        dict(zip(GAMES, (found.masked, found.next, 0.0), strict=True)),
        larger,
        f"Masked LM {found.masked:.2f} nats, next sentence {found.next:.2f}. By chance (baseline) they are "
        f"ln {n_words:,} = {math.log(n_words):.2f} and ln 2 = {math.log(2):.2f}.",
    )
    names = [
        f"{f'pair {at + 1}' if at else 'yours'}, {'follows' if row.follows else 'NotNext'}"
        for at, row in enumerate(rows)
    ]
    names.append("the batch")
    bars = np.array([*(found.of_row(at) for at in range(len(rows))), (found.masked, found.next)])
    read = found.read[0]
    cut = run.segments[: len(read)].index(1)
    if exhibit_parts.presenting():  # a room cannot read tokens of half a stage
        right = st.container()
    else:
        left, right = st.columns(2, gap="medium")
        with left:
            segments = [int(at >= cut) for at in range(len(read))]
            page_parts.show(
                sentence_pairs.tokens(read, segments, quiet=MARKS, across=6),
                SLUG + "read",
                "Your pair as it is read: " + " ".join(visible(token) for token in read),
            )
    with right:
        page_parts.show(
            marks.bars(
                pd.DataFrame(bars, names, ["masked LM", "next sentence"]),
                "{:.2f}",
                title="−ln P, nats",
                covered=not told,
                stacked=True,
                row=22 if len(rows) > 8 else 34,
            ),
            SLUG + "losses",
            f"The batch costs {found.masked:.2f} + {found.next:.2f} = {found.total:.2f} nats."
            if told
            else "Stacked bars, covered until you guess.",
        )
    usual = engine_client.submit("sentence_pairs.usual", answer_costs, 200_000)
    mine, n, chosen = found.pairs[0], len(rows), len(found.words)
    page_parts.summary(
        f"{chosen} masked words: {found.masked:.3f} nats on average, "
        f"{n} {'answer' if n == 1 else 'answers'} {found.next:.3f}: loss = {found.total:.3f}. "
        f"The next-sentence answer for your pair alone: P({'IsNext' if params.follows else 'NotNext'}) = {percent(math.exp(-mine))}, "
        f"loss {mine:.3f}. A coin toss: {math.log(2):.3f}."
        if told
        else f"{n} pairs, {chosen} of their tokens chosen. Both objectives are trained at once."
    )
    return Folds(
        lambda: pd.DataFrame(bars, index=names, columns=["masked LM", "next sentence"]),
        {"words": found.words, "row": found.row, "pairs": found.pairs, "chances": found.chances},
        {"model": MODEL, "others": params.batch - 1},
        told,
        {"bert.loss": {}},
        (
            rf"L = {found.masked:.4f} + {found.next:.4f} = {found.total:.4f}",
            rf"-\ln P(c_1) = {mine:.4f}, \quad P(c_1) = {math.exp(-mine):.4f}",
        ),
        look={"many": f"{usual[0]:.3f}", "hard": f"{usual[1]:.3f}"},
    )


def swapped(params: Params, run: Run) -> Folds:
    """Ask which change matters most, then draw P(IsNext) of the pair as trained, swapped, and without distinguishing A from B."""
    a, b, model = params.a, params.b, default().open(MODEL)
    key = ("sentence_pairs.ways", a, b)
    found = engine_client.submit(key, lambda: next_sentence.ways(model, a, b), 80 * len(a + b))
    usual = found[WAYS[0]]
    moved = {way: abs(found[way] - usual) for way in WAYS[1:]}
    points = "; ".join(
        f"{way}: {percent(found[way])} ({100 * (found[way] - usual):+.1f} points)" for way in WAYS[1:]
    )
    told = exhibit_parts.predict(
        SLUG + "swap",
        f"P(IsNext) is {percent(usual)} as trained. Which of these three changes alters it most?",
        moved,
        max(moved, key=lambda way: moved[way]),
        true_minus(points) + ".",
    )
    every = list_values(found)
    page_parts.show(
        marks.bars(
            pd.Series(found if told else {**dict.fromkeys(found), WAYS[0]: usual}, dtype=float),
            percent,
            end=1.0,
            level=0.5,
            row=exhibit_parts.by_mode(48, 84),
        ),
        SLUG + "ways",
        f"P(IsNext): {every}."
        if told
        else f"P(IsNext) as trained {percent(usual)}; the other three are covered.",
    )
    others = [percent(found[way]) for way in WAYS[1:]]
    wrong, n = engine_client.submit("sentence_pairs.orders", order_of_all, 100_000)
    page_parts.summary(
        f"As trained {percent(usual)}; swapped {others[0]}; all as text A {others[1]}; "
        f"no segment embeddings {others[2]}. Of all {n} pairs that follow, the swapped order gets the higher probability in {wrong}: {MODEL} hardly distinguishes the two orders."
        if told
        else f"As trained: {percent(usual)}. The weights stay the same; only the input changes."
    )
    st.button("Swap A and B", key=SLUG + "turn", on_click=_turn, args=(a, b))
    return Folds(
        {"way": WAYS, "P(IsNext)": list(found.values())},
        {"chances": list(found.values())},
        {"model": MODEL},
        told,
        {"bert.input": {}, "bert.next": {}},
        [rf"\text{{{way}: }} P = {value:.6f}" for way, value in found.items()],
    )


def answer_costs() -> tuple[float, float]:
    """Return the mean cost of the answers in nats, over 200 random pairs and over all pairs of the page."""
    found = []
    for rows in (next_pairs.draws(0, 200), next_pairs.labelled_pairs()):
        chances = next_sentence.follows(default().open(MODEL), [(row.first, row.second) for row in rows])
        right = np.where([row.follows for row in rows], chances, 1 - chances)
        found.append(float(-np.log(right).mean()))
    return found[0], found[1]


def order_of_all() -> tuple[int, int]:
    """Return of how many pairs that follow the swapped order is the more probable one, and how many pairs follow."""
    model, pairs = (
        default().open(MODEL),
        [(row.first, row.second) for row in next_pairs.labelled_pairs() if row.follows],
    )
    forth = next_sentence.follows(model, pairs)
    back = next_sentence.follows(model, [(second, first) for first, second in pairs])
    return int((back > forth).sum()), len(pairs)


def _turn(a: str, b: str) -> None:
    state.write(**{SLUG + "a": b, SLUG + "b": a, SLUG + "follows": None})
