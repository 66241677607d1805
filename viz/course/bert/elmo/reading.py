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


def named(found: chains.Chains) -> list[str]:
    """Tokens as words, equal ones with a number after repeated ones."""
    return distinct(token.removeprefix(" ") or token for token in found.tokens)


def each_word(params: Params, found: chains.Chains) -> Folds:
    """The probability of each token from before it and from after it; covered until the guess."""
    names, both = named(found), (np.exp(found.forward), np.exp(found.backward))
    place = found.apart
    at = [float(each[place]) for each in both]
    told = exhibit_parts.predict(
        SLUG + "side",
        f"One chain has read all words before “{names[place]}”, the other all words after it. Which one gives the word the higher probability?",
        dict(zip(SIDES, at, strict=True)),
        SIDES[int(at[1] > at[0])],
        f"Forward {percent(at[0], 2)}, backward {percent(at[1], 2)}. The forward chain's most probable word is “{_best(found, 0, place)}”, the backward chain's “{_best(found, 1, place)}”.",
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
    won = int((found.forward > found.backward).sum())
    page_parts.summary(
        f"The forward chain gives {won} of {len(names)} words the higher probability, the backward chain {len(names) - won}. Mean: {percent(both[0].mean())} and {percent(both[1].mean())}."
        if told
        else f"{len(names)} tokens between START and END; each is predicted twice, and neither chain sees the token itself."
    )
    return Folds(
        lambda: _table(found, names),
        {"forward": found.forward, "backward": found.backward},
        {"model": MODEL},
        told,
        {
            "elmo.printed_forward": {},
            "elmo.printed_backward": {},
            "elmo.forward": {"n": str(len(names))},
            "elmo.backward": {"n": str(len(names))},
        },
    )


def _best(found: chains.Chains, side: int, place: int) -> str:
    best = found.best[side][place]
    return best.removeprefix(" ") or best


def _table(found: chains.Chains, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "token": names,
            "p forward": np.exp(found.forward),
            "p backward": np.exp(found.backward),
            "−ln p forward": -found.forward,
            "−ln p backward": -found.backward,
            "most probable forward": found.best[0],
            "most probable backward": found.best[1],
        }
    )


def loss(params: Params, found: chains.Chains) -> Folds:
    """What each word costs each chain; the loss is the sum of all bars."""
    names, n = named(found), len(found.ids)
    one, other = found.losses
    told = exhibit_parts.predict_number(
        SLUG + "loss",
        f"The forward chain's loss on this text is {one:.1f} nats, the sum of −ln p over its {n} tokens. What is the backward chain's loss?",
        0.0,
        float(np.ceil(max(3 * one, 1.2 * other))),
        other,
        f"Forward {one:.2f}, backward {other:.2f}; L = {found.loss:.2f}. Training lowers this sum, and both chains share the token table and the output layer.",
        max(1.0, 0.1 * other),
    )
    both = -found.forward, -found.backward
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
        f"L = {one:.3f} + {other:.3f} = {found.loss:.3f} nats: {one / n:.3f} per token forward, {other / n:.3f} backward."
        if told
        else f"Forward: {one:.3f} nats, {one / n:.3f} per token."
    )
    return Folds(
        lambda: _table(found, names),
        {"forward": found.forward, "backward": found.backward},
        {"model": MODEL},
        told,
        {"elmo.loss": {"n": str(n), "L": number(found.loss, 3)}},
        (rf"{one:.4f} + {other:.4f} = {found.loss:.4f}",),
    )


def turned(params: Params, found: chains.Chains) -> Folds:
    """The text from its end, through a chain that reads on: with the backward chain's weights the same numbers, with the forward chain's others."""
    names = named(found)
    read = engine_client.submit(
        ("elmo.turned", params.text),
        partial(chains.reversed_text, default().open(MODEL), params.text),
        120 * len(found.ids),
    )
    before, after = float(found.forward.sum()), float(read.other.sum())
    answer = COMPARED[1 + int(np.sign(after - before))]
    told = exhibit_parts.predict(
        SLUG + "turned",
        "The forward chain reads the text in reverse, from its last word to its first. Compared with the text in the usual order, what probability does it give the reversed text?",
        {COMPARED[0]: before, COMPARED[2]: after} if answer != COMPARED[1] else COMPARED,
        answer,
        f"ln P = {number(after, 1)} in reverse, {number(before, 1)} in the usual order. A chain has learned one direction only.",
    )
    own = params.reads == "back"
    values = read.own if own else read.other
    ends = (1.1 * min(float(each.min()) for each in (found.backward, read.own, read.other)), 0.0)
    lanes = [
        Lane("ln p, backward chain on the text", found.backward, 1, limits=ends),
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
        f"Backward: {list_values(zip(names, found.backward, strict=True), '{:.2f}')}."
        + (f" In reverse: {list_values(zip(names, values, strict=True), '{:.2f}')}." if told else ""),
    )
    gap = read.gap(found)
    page_parts.summary(
        f"With the same weights, the backward chain on the text and a forward chain on the reversed text agree: the largest difference is {tiny(gap)}. With the forward chain's own weights ln P is {number(after, 1)} instead of {number(before, 1)}."
        if told
        else "The backward chain on the text. The reversed text comes after your guess."
    )
    return Folds(
        lambda: pd.DataFrame(
            {
                "token": names,
                "ln p backward": found.backward,
                "in reverse, backward's weights": read.own,
                "in reverse, forward's weights": read.other,
            }
        ),
        {"backward": found.backward, "own": read.own, "other": read.other},
        {"model": MODEL},
        told,
        {"elmo.backward": {"n": str(len(names))}},
        (rf"\max_i |\Delta_i| = {gap:.2e}",),
    )


def joint(params: Params, found: chains.Chains) -> Folds:
    """One true joint distribution: both products give it. Two trained chains need not agree."""
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
    a, b = found.losses
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
        {"table": factorizations.joint(params.table)},
        {"draw": params.table, "words": params.words},
        told,
        {"elmo.forward": {"n": "3"}, "elmo.backward": {"n": "3"}},
        (
            f"{DOT.join(f'{p:.6f}' for p in both.forward)} = {one:.10f}",
            f"{DOT.join(f'{p:.6f}' for p in both.backward)} = {other:.10f}",
        ),
    )
