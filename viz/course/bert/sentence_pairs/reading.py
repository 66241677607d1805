"""Steps of the exhibit on sentence pairs about the network: who looks at which text, the loss of both games, the order of the texts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.run import Run
from core.serving.engine import default
from viz.course.bert.charts import sentence_pairs as figures
from viz.course.bert.sentence_pairs.game import LATER, MARKS, MODEL, SLUG, START, lines
from viz.course.bert.sentence_pairs.maths import next_pairs, next_sentence
from viz.course.bert.sentence_pairs.maths.next_sentence import GROUPS, WAYS
from viz.course.shared.shown import Shown
from viz.labels import head_name, percent, visible
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

BLOCKS = ("A → A", "A → B", "B → A", "B → B", "[CLS] → A", "[CLS] → B")
BATCHES = (1, 4, 8, 16)
AT = ("[CLS]", "words of A", "words of B", "[SEP]")
GAMES = ("Masked LM", "Next sentence prediction", "Both the same")


def who(params: Any, run: Run) -> Shown:
    """How much each part of the row looks at each part, for one head or all; beside it one of these shares in every head."""
    weights = run.attention("self").weights
    group = next_sentence.groups(run)
    found = next_sentence.blocks(weights, group)
    mean = found.mean((0, 1))
    own = dict(zip(AT, mean[1].tolist(), strict=True))
    offered = {name: own[name] for name in AT if "words" in name}
    told = lesson.predict(SLUG + "who", "All heads of all layers, on average: at which words do the words of A look more?", offered, max(offered, key=lambda name: offered[name]),
                          "From the words of A: " + ", ".join(f"{name} {percent(share)}" for name, share in zip(AT, mean[1], strict=True)) + ".")  # fmt: skip
    n_heads = weights.shape[1]
    names = [head_name(layer, head) for layer in range(len(weights)) for head in range(n_heads)]
    place = divmod(params.head, n_heads) if params.head >= 0 else None
    now = mean if place is None else found[place]
    row, column = (GROUPS.index(name) for name in params.block.split(" → "))
    left, right = st.columns([2, 3], gap="small" if lesson.presenting() else "medium")
    with left:
        st.text("All heads, mean" if place is None else head_name(*place))
        parts.show(figures.squares(now[:3], GROUPS[:3], GROUPS, covered=not told, chosen=(row, column), height=210), SLUG + "blocks",
                   "; ".join(f"{name} gives " + ", ".join(f"{percent(share)} to {to}" for to, share in zip(GROUPS, shares, strict=True)) for name, shares in zip(GROUPS, now[:3], strict=False)) if told else "Covered until you guessed.")  # fmt: skip
    with right:
        st.text(f"{params.block} in every head")
        parts.show(figures.squares(found[..., row, column], [f"L{i}" for i in range(len(weights))], [f"H{i}" for i in range(n_heads)], covered=not told, chosen=place, height=210), SLUG + "heads",
                   f"The share of {params.block} in each head" + (f", from {percent(found[..., row, column].min())} to {percent(found[..., row, column].max())}." if told else "; covered."))  # fmt: skip
    most = np.unravel_index(int(found[..., row, column].argmax()), found.shape[:2])
    parts.numbers(
        f"{'All heads' if place is None else head_name(*place)}: A gives {percent(now[1, 1], 2)} to A and {percent(now[1, 2], 2)} to B; B gives {percent(now[2, 1], 2)} to A and {percent(now[2, 2], 2)} to B; [CLS] gives {percent(now[0, 1], 2)} to A, {percent(now[0, 2], 2)} to B. "
        + ("" if lesson.presenting() else f"{params.block} is largest in {head_name(int(most[0]), int(most[1]))}: {percent(found[most][row, column], 2)}.") if told else f"{(group == 1).sum()} words of A, {(group == 2).sum()} of B: nothing is masked, everyone may look at everything."
    )  # fmt: skip
    controls.segmented("Drawn at the right", BLOCKS, SLUG + "block", BLOCKS[0])
    return Shown(
        {}, (rf"\text{{{'mean' if place is None else head_name(*place)}, row A: }} " + " + ".join(f"{share:.4f}" for share in now[1]) + f" = {now[1].sum():.4f}",) if told else (),
        "At the left rows look at columns. A square is a share of attention: how much the tokens of a row's part give to a column's part, the mean over these tokens; a row adds up to 100 %. [SEP] is both of them. Many heads of bert-mini use [SEP] as an attention sink, so little is left. "
        "The map at the right has one square a head, the same share in each. [CLS] has no word of its own: what it holds of the two texts was collected over all layers.",
        lambda: pd.DataFrame({"head": names} | {name: found[..., GROUPS.index(name.split(' → ')[0]), GROUPS.index(name.split(' → ')[1])].ravel() for name in BLOCKS}) if told else LATER,
        {"blocks": found} if told else {},
        lines(params) + "run = model.run(a, pair=b)\nfound = next_sentence.blocks(run.attention('self').weights, next_sentence.groups(run))\nprint(next_sentence.GROUPS)\nprint(found.mean((0, 1)))",
        lambda: controls.select("Head", range(-1, len(names)), SLUG + "head", -1, lambda at: names[at] if at >= 0 else "mean of all heads"),
    )  # fmt: skip


def rows_of(params: Any) -> list[next_pairs.Drawn]:
    """The batch: the visitor's pair with the answer that was set, and behind it draws of the lot."""
    return [next_pairs.Drawn(params.a, params.b, params.follows), *next_pairs.draws(params.draw, params.batch - 1)]


def loss(params: Any, run: Run) -> Shown:
    """Each pair's two costs as a stacked bar and, last, those of the batch: the sum of the two means."""
    rows = rows_of(params)
    pairs, follow = [(row.first, row.second) for row in rows], [row.follows for row in rows]
    found = ask.submit(("sentence_pairs.loss", params.a, params.b, params.follows, params.batch, params.draw), lambda: next_sentence.loss(default().open(MODEL), pairs, follow, params.draw), 4000 * len(rows))
    larger = GAMES[0] if found.masked > found.next else GAMES[1] if found.next > found.masked else GAMES[2]
    n_words = len(default().open(MODEL).tokenizer)
    told = lesson.predict(SLUG + "loss", "Which of the two pre-training losses is larger for bert-mini?", dict(zip(GAMES, (found.masked, found.next, 0.0), strict=True)), larger,
                          f"Masked LM {found.masked:.2f} nats, next sentence {found.next:.2f}. By chance (baseline) they are ln {n_words:,} = {math.log(n_words):.2f} and ln 2 = {math.log(2):.2f}.")  # fmt: skip
    names = [f"{'yours' if at == 0 else f'pair {at + 1}'}, {'follows' if row.follows else 'NotNext'}" for at, row in enumerate(rows)]
    bars = np.array([*(found.of_row(at) for at in range(len(rows))), (found.masked, found.next)])
    n = len(found.read[0])
    cut = run.segments[:n].index(1)
    left, right = (None, st.container()) if lesson.presenting() else st.columns(2, gap="medium")  # a room cannot read tokens of half a stage
    if left:
        with left:
            parts.show(figures.tokens(found.read[0], [int(at >= cut) for at in range(n)], quiet=MARKS, across=6), SLUG + "read",
                       "Your pair as it is read: " + " ".join(visible(token) for token in found.read[0]))  # fmt: skip
    with right:
        parts.show(figures.losses([*names, "the batch"], bars if told else None, high=18 if len(rows) > 8 else 30), SLUG + "losses",
                   f"The batch costs {found.masked:.2f} + {found.next:.2f} = {found.total:.2f} nats." if told else "Stacked bars, covered until you guessed.")  # fmt: skip
    parts.numbers(
        f"{len(found.words)} masked words: {found.masked:.3f} nats on average, {len(rows)} {'answer' if len(rows) == 1 else 'answers'} {found.next:.3f}: loss = {found.total:.3f}. Your answer alone: P({'IsNext' if params.follows else 'NotNext'}) = "
        f"{percent(math.exp(-found.pairs[0]))}, cost {found.pairs[0]:.3f}. A coin: {math.log(2):.3f}." if told else f"{len(rows)} pairs, {len(found.words)} of their tokens chosen. Both objectives are trained at once."
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        controls.draw(SLUG + "draw", START, strong=True)
        controls.toggle("The true answer of your pair: B follows", SLUG + "follows", True)
    return Shown(
        {"bert.loss": {}}, (rf"L = {found.masked:.4f} + {found.next:.4f} = {found.total:.4f}", rf"-\ln P(c_1) = {found.pairs[0]:.4f}, \quad P(c_1) = {math.exp(-found.pairs[0]):.4f}") if told else (),
        "At the left your pair with its masked words. A bar is a pair: blue the mean of −ln P of its chosen tokens, orange −ln P of its true answer. The last bar is the loss: the mean over all chosen tokens of the batch "
        "(so a long text counts more) plus the mean over the pairs. The BERT paper and the slides call it a sum of likelihoods; a likelihood should grow, its negative logarithm should fall.",
        lambda: pd.DataFrame(bars, index=[*names, "the batch"], columns=["masked LM", "next sentence"]) if told else LATER,
        {"words": found.words, "row": found.row, "pairs": found.pairs, "chances": found.chances} if told else {},
        lines(params) + f"from viz.course.bert.sentence_pairs.maths import next_pairs\n\nrows = [next_pairs.Drawn(a, b, {params.follows}), *next_pairs.draws({params.draw}, {params.batch - 1})]\n"
        f"found = next_sentence.loss(model, [(row.first, row.second) for row in rows], [row.follows for row in rows], {params.draw})\nprint(found.masked, found.next, found.total)",
        _batch,
    )  # fmt: skip


def _batch() -> None:
    controls.stops("Pairs in the batch, yours among them", BATCHES, SLUG + "batch", 8)


def swapped(params: Any, run: Run) -> Shown:
    """P(IsNext) of the pair as trained, in the other order, and without telling which token belongs to which text."""
    found = ask.submit(("sentence_pairs.ways", params.a, params.b), lambda: next_sentence.ways(default().open(MODEL), params.a, params.b), 80 * len(params.a + params.b))
    usual = found[WAYS[0]]
    moved = {way: abs(found[way] - usual) for way in WAYS[1:]}
    most = max(moved, key=lambda way: moved[way])
    told = lesson.predict(SLUG + "swap", f"As trained P(IsNext) is {percent(usual)}. Which of three changes moves it most?", moved, most,
                          "; ".join(f"{way}: {percent(found[way])} ({100 * (found[way] - usual):+.1f} points)" for way in WAYS[1:]).replace("-", "−") + ".")  # fmt: skip
    parts.show(figures.chances([(way, value if told or way == WAYS[0] else None) for way, value in found.items()], high=48), SLUG + "ways",
               "P(IsNext): " + ", ".join(f"{way} {percent(value)}" for way, value in found.items()) + "." if told else f"P(IsNext) as trained {percent(usual)}; the other three are covered.")  # fmt: skip
    parts.numbers(f"As trained {percent(usual)}; swapped {percent(found[WAYS[1]])}; all as text A {percent(found[WAYS[2]])}; no segment embeddings {percent(found[WAYS[3]])}." if told
                  else f"As trained: {percent(usual)}. The weights stay the same; only what is read changes.")  # fmt: skip
    st.button("Swap A and B", key=SLUG + "turn", on_click=_turn, args=(params.a, params.b))
    return Shown(
        {"bert.input": {}, "bert.next": {}}, tuple(rf"\text{{{way}: }} P = {value:.6f}" for way, value in found.items()) if told else (),
        "The order of two texts says something: what comes after what. “All as text A” gives every token the same of the two segment embeddings, “no segment embeddings” sets them to 0; [SEP] still stands between the texts. "
        "bert-mini was never trained so: this tells what it has come to rely on. Other pair tasks, such as entailment, use the same row and the same [CLS] with another last layer.",
        lambda: pd.DataFrame({"way": WAYS, "P(IsNext)": list(found.values())}) if told else LATER,
        {"chances": np.array(list(found.values()))} if told else {}, lines(params) + "print(next_sentence.ways(model, a, b))",
    )  # fmt: skip


def _turn(a: str, b: str) -> None:
    state.write(**{SLUG + "a": b, SLUG + "b": a, SLUG + "follows": None})
