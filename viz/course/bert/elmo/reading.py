"""Steps of the exhibit on ELMo: each word from both sides, the loss, the text in reverse, one table read both ways."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.bert.elmo import chains, factorizations
from viz.course.bert.elmo.params import MODEL, READS, SLUG, Params
from viz.course.exhibit import Folds
from viz.labels import distinct, list_values, percent
from viz.number_text import number, tiny
from viz.widgets import engine_client, exhibit_parts, page_parts

SIDES = ("forward", "backward")
DOT = r" \cdot "
COMPARED = ("a lower probability", "the same probability", "a higher probability")


def token_labels(data: chains.Chains) -> list[str]:
    """Return the tokens as labels, repeated ones with a number."""
    return distinct(token.removeprefix(" ") or token for token in data.tokens)


def each_word(params: Params, data: chains.Chains) -> Folds:
    """Ask which chain gives a word the higher probability, then draw the probability of each token from either side."""
    names, both = token_labels(data), (np.exp(data.forward), np.exp(data.backward))
    place = data.most_different
    at = [float(each[place]) for each in both]
    told = exhibit_parts.predict(
        SLUG + "side",
        f"One chain has read all words before “{names[place]}”, the other all words after it. Which one gives the word the higher probability?",
        dict(zip(SIDES, at, strict=True)),
        SIDES[int(at[1] > at[0])],
        f"Forward {percent(at[0], 2)}, backward {percent(at[1], 2)}. The forward chain's most probable word is “{_best(data, 0, place)}”, the backward chain's “{_best(data, 1, place)}”.",
    )
    most = max(float(each.max()) for each in both)
    lanes = [
        Lane(name, values if told else None, hue, limits=(0.0, 1.1 * most))
        for hue, (name, values) in enumerate(
            zip(("p(word | all before it), forward", "p(word | all after it), backward"), both, strict=True)
        )
    ]
    page_parts.show(
        bar_lanes(lanes, labels=names, height=exhibit_parts.by_mode(380, 410)),
        SLUG + "words",
        "; ".join(
            f"{side}: {list_values(zip(names, values, strict=True), '{:.3f}')}"
            for side, values in zip(SIDES, both, strict=True)
        )
        if told
        else "The words; their probabilities come after the guess.",
    )
    won = int((data.forward > data.backward).sum())
    page_parts.summary(
        f"The forward chain gives {won} of {len(names)} words the higher probability, the backward chain {len(names) - won}. Mean: {percent(both[0].mean())} and {percent(both[1].mean())}."
        if told
        else f"{len(names)} tokens between START and END; each is predicted twice, and neither chain sees the token itself."
    )
    return Folds(
        lambda: _table(data, names),
        {"forward": data.forward, "backward": data.backward},
        {"model": MODEL},
        told,
        {
            "elmo.printed_forward": {},
            "elmo.printed_backward": {},
            "elmo.forward": {"n": str(len(names))},
            "elmo.backward": {"n": str(len(names))},
        },
    )


def _best(data: chains.Chains, side: int, place: int) -> str:
    best = data.best[side][place]
    return best.removeprefix(" ") or best


def _table(data: chains.Chains, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "token": names,
            "p forward": np.exp(data.forward),
            "p backward": np.exp(data.backward),
            "−ln p forward": -data.forward,
            "−ln p backward": -data.backward,
            "most probable forward": data.best[0],
            "most probable backward": data.best[1],
        }
    )


def loss(params: Params, data: chains.Chains) -> Folds:
    """Ask for the backward chain's loss, then draw −ln p of each word in each chain; the loss is the sum of all bars."""
    names, n = token_labels(data), len(data.ids)
    one, other = data.losses
    told = exhibit_parts.predict_number(
        SLUG + "loss",
        f"The forward chain's loss on this text is {one:.1f} nats, the sum of −ln p over its {n} tokens. What is the backward chain's loss?",
        0.0,
        float(np.ceil(max(3 * one, 1.2 * other))),
        other,
        f"Forward {one:.2f}, backward {other:.2f}; L = {data.loss:.2f}. Training lowers this sum, and both chains share the token table and the output layer.",
        max(1.0, 0.1 * other),
    )
    both = -data.forward, -data.backward
    most = 1.1 * max(float(each.max()) for each in both)
    page_parts.show(
        bar_lanes(
            [
                Lane(f"−ln p forward, together {one:.2f}", both[0], 0, limits=(0.0, most)),
                Lane(
                    f"−ln p backward, together {other:.2f}" if told else "−ln p backward",
                    both[1] if told else None,
                    1,
                    limits=(0.0, most),
                ),
            ],
            labels=names,
            height=exhibit_parts.by_mode(380, 410),
        ),
        SLUG + "loss",
        f"Forward: {list_values(zip(names, both[0], strict=True), '{:.2f}')}."
        + (f" Backward: {list_values(zip(names, both[1], strict=True), '{:.2f}')}." if told else ""),
    )
    page_parts.summary(
        f"L = {one:.3f} + {other:.3f} = {data.loss:.3f} nats: {one / n:.3f} per token forward, {other / n:.3f} backward."
        if told
        else f"Forward: {one:.3f} nats, {one / n:.3f} per token."
    )
    return Folds(
        lambda: _table(data, names),
        {"forward": data.forward, "backward": data.backward, "loss": data.loss},
        {"model": MODEL},
        told,
        {"elmo.loss": {"n": str(n), "L": number(data.loss, 3)}},
        (rf"{one:.4f} + {other:.4f} = {data.loss:.4f}",),
    )


def turned(params: Params, data: chains.Chains) -> Folds:
    """Ask for the probability of the reversed text, then draw it read by a forward chain: with the backward chain's weights the
    same numbers, with its own weights others."""
    names = token_labels(data)
    read = engine_client.submit(
        ("elmo.turned", params.text),
        partial(chains.reversed_text, default().open(MODEL), params.text),
        120 * len(data.ids),
    )
    before, after = float(data.forward.sum()), float(read.forward.sum())
    answer = COMPARED[1 + int(np.sign(after - before))]
    told = exhibit_parts.predict(
        SLUG + "turned",
        "The forward chain reads the text in reverse, from its last word to its first. Compared with the text in the usual order, what probability does it give the reversed text?",
        {COMPARED[0]: before, COMPARED[2]: after} if answer != COMPARED[1] else COMPARED,
        answer,
        f"ln P = {number(after, 1)} in reverse, {number(before, 1)} in the usual order. A chain has learned one direction only.",
    )
    own = params.reads == "back"
    values = read.backward if own else read.forward
    ends = (1.1 * min(float(each.min()) for each in (data.backward, read.backward, read.forward)), 0.0)
    lanes = [
        Lane("ln p, backward chain on the text", data.backward, 1, limits=ends),
        Lane(
            f"ln p, reversed text, {READS[params.reads]}",
            values if told else None,
            1 if own else 0,
            limits=ends,
        ),
    ]
    page_parts.show(
        bar_lanes(lanes, labels=names, height=exhibit_parts.by_mode(380, 410)),
        SLUG + "turned",
        f"Backward: {list_values(zip(names, data.backward, strict=True), '{:.2f}')}."
        + (f" In reverse: {list_values(zip(names, values, strict=True), '{:.2f}')}." if told else ""),
    )
    gap = read.gap(data)
    page_parts.summary(
        f"With the same weights, the backward chain on the text and a forward chain on the reversed text agree: the largest difference is {tiny(gap)}. With the forward chain's own weights ln P is {number(after, 1)} instead of {number(before, 1)}."
        if told
        else "The backward chain on the text. The reversed text comes after your guess."
    )
    return Folds(
        lambda: pd.DataFrame(
            {
                "token": names,
                "ln p backward": data.backward,
                "in reverse, backward's weights": read.backward,
                "in reverse, forward's weights": read.forward,
            }
        ),
        {"backward": data.backward, "own": read.backward, "other": read.forward, "sums": [before, after]},
        {"model": MODEL},
        told,
        {"elmo.backward": {"n": str(len(names))}},
        (rf"\max_i |\Delta_i| = {gap:.2e}",),
    )


def joint(params: Params, data: chains.Chains) -> Folds:
    """Ask for the product from the right, then draw both factorizations of one joint distribution. Two trained chains need not
    agree."""
    both = factorizations.factors(factorizations.joint(params.table), params.words)
    words = [factorizations.WORDS[at] for at in params.words]
    one, other = both.products
    told = exhibit_parts.predict(
        SLUG + "joint",
        f"A table has a probability for each of the {len(factorizations.WORDS) ** factorizations.PLACES} texts of three words. From the left the product of the conditionals of “{' '.join(words)}” is {one:.6f}. How large is the product from the right?",
        ("smaller", "the same", "larger"),
        "the same",
        f"{other:.10f}. Both are the probability in the table, {both.joint:.10f}, factorised in another order.",
    )
    steps = ("first", "second", "third")
    page_parts.show(
        bar_lanes(
            [
                Lane(
                    f"from the left: p({words[0]}) · p({words[1]} | …) · p({words[2]} | …)",
                    np.array(both.forward),
                    0,
                    limits=(0.0, 1.0),
                ),
                Lane(
                    f"from the right: p({words[2]}) · p({words[1]} | …) · p({words[0]} | …)",
                    np.array(both.backward) if told else None,
                    1,
                    limits=(0.0, 1.0),
                ),
            ],
            labels=steps,
            height=exhibit_parts.by_mode(340, 380),
        ),
        SLUG + "joint",
        f"From the left {both.forward[0]:.4f}, {both.forward[1]:.4f}, {both.forward[2]:.4f}."
        + (
            f" From the right {both.backward[0]:.4f}, {both.backward[1]:.4f}, {both.backward[2]:.4f}."
            if told
            else ""
        ),
    )
    a, b = data.losses
    page_parts.summary(
        f"{one:.10f} from the left, {other:.10f} from the right, {both.joint:.10f} in the table. The two chains of {MODEL} were trained independently: they give the sentence ln P = {number(-a, 2)} (forward) and {number(-b, 2)} (backward)."
        if told
        else f"{one:.10f} from the left."
    )
    return Folds(
        {
            "factor": steps,
            "from the left": both.forward,
            "from the right": both.backward,
        },
        {"table": factorizations.joint(params.table), "sentence": [-a, -b]},
        {"draw": params.table, "words": params.words},
        told,
        {"elmo.forward": {"n": "3"}, "elmo.backward": {"n": "3"}},
        (
            f"{DOT.join(f'{p:.6f}' for p in both.forward)} = {one:.10f}",
            f"{DOT.join(f'{p:.6f}' for p in both.backward)} = {other:.10f}",
        ),
    )
