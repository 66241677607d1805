"""Steps of the exhibit on one word with two meanings about many sentences: a matrix of cosines, a map, vectors of whole sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from core.serving.engine import default
from viz.course.bert.bank import charts as figures
from viz.course.bert.bank.maths import in_context, senses
from viz.course.bert.bank.words import LATER, MODEL, SLUG, check, lines, names_of, which
from viz.course.bert.charts.sentence_pairs import squares
from viz.course.shared.maths.word_vectors import spread_out
from viz.course.shared.shown import Shown
from viz.labels import percent, visible
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

YOURS = "yours"


def collection(params: Any) -> tuple[in_context.Uses, list[int], tuple[str, ...]]:
    """Our sentences with a word and the visitor's own, the number of each one's meaning (2: the visitor's), and what the numbers are called."""
    held = senses.WORDS[params.which]
    check(params.own)
    own = params.own.strip()
    texts = [text for text, _ in held.uses] + ([own] if own else [])
    found = ask.submit(("bank.many", params.which, own), lambda: in_context.uses(default().open(MODEL), texts, held.word), 3000)
    return found, [kind for _, kind in held.uses] + ([2] if own else []), (*held.meanings, YOURS)


def code(params: Any) -> str:
    """The lines of Python of the word's vectors."""
    own = f" + [{params.own.strip()!r}]" if params.own.strip() else ""
    return lines(f"word = senses.WORDS[{params.which!r}]\ntexts = [text for text, _ in word.uses]{own}\nfound = in_context.uses(model, texts, word.word)\n")


def listed(found: in_context.Uses, kinds: list[int], meanings: tuple[str, ...]) -> None:
    """The sentences by number, each with its meaning."""
    st.text("\n".join(f"{at + 1} ({meanings[kinds[at]]})  {visible(text).replace('·', ' ')}" for at, text in enumerate(found.texts)))


def pick_layer(n: int) -> None:
    """A slider over the rows of the vectors."""
    controls.stops("Layer", range(n), SLUG + "layer", n - 1, lambda at: names_of(n)[at])


def matrix(params: Any) -> Shown:
    """The cosines of the word's vectors in all sentences at one layer; covered until one guessed how many neighbours mean the same."""
    found, kinds, meanings = collection(params)
    n, k = len(found.vectors), len(senses.WORDS[params.which].uses)
    last = found.cosines(-1)[:k, :k]
    right = in_context.agree(last, kinds[:k])
    by_lot = sum((kinds[:k].count(kind) - 1) / (k - 1) for kind in kinds[:k])
    told = lesson.predict_number(SLUG + f"many.{params.which}", f"After the last layer each of {k} sentences has a nearest one, by the vector of “{params.which}”. How many of these mean the same by it?", 0.0, float(k), float(right),
                                 f"By chance (baseline): {by_lot:.1f}. Half of the sentences mean {meanings[0]}, half {meanings[1]}.", 0.9)  # fmt: skip
    layer = min(params.layer, n - 1)
    now = found.cosines(layer)
    numbers = [str(at + 1) for at in range(len(kinds))]
    left, side = (st.container(), None) if lesson.presenting() else st.columns([3, 2], gap="medium")
    with left:
        parts.show(squares(now, [f"{number} {meanings[kind]}" for number, kind in zip(numbers, kinds, strict=True)], numbers, covered=not told, height=320, low=float(np.floor(10 * min(now.min(), 0.9)) / 10), number="{:.2f}"), SLUG + "matrix",
                   f"Cosines of “{params.which}” in {len(kinds)} sentences at “{names_of(n)[layer]}”, from {now.min():.2f} to 1." if told else "Covered until you guessed.")  # fmt: skip
    if side:
        with side:
            listed(found, kinds, meanings)
    same, other = in_context.kept_apart(now[:k, :k], kinds[:k])
    near = in_context.nearest(now)
    yours = f" Yours is nearest to {near[-1] + 1} ({meanings[kinds[near[-1]]]})." if len(kinds) > k else ""
    parts.numbers(f"At “{names_of(n)[layer]}” {same:.3f} on average between sentences of one meaning, {other:.3f} between the two; {in_context.agree(now[:k, :k], kinds[:k])} of {k} have a nearest one of their own meaning.{yours}"
                  if told else f"{len(kinds)} sentences, {len(kinds) * (len(kinds) - 1) // 2} cosines. The meaning stands after each number.")  # fmt: skip
    pick_layer(n)
    return Shown(
        {"vectors.cosine": {}}, (rf"\text{{same meaning }} {same:.4f}, \quad \text{{other }} {other:.4f}, \quad \text{{nearest of the same: }} {right} / {k} \text{{ after the last layer}}",) if told else (),
        "A square is the cosine of the word's vectors in two sentences; colours run from the lowest tenth to 1. Not perfect: bert-mini is small, and its vectors tell the position and the grammar of a word at least as much as its meaning. "
        "A large BERT does this far better. In the table all squares are 1.",
        lambda: pd.DataFrame(now, index=numbers, columns=numbers) if told else LATER, {"cosines": now} if told else {},
        code(params) + f"print(found.cosines({layer}).round(3))\nprint(in_context.agree(found.cosines(-1)[:{k}, :{k}], [kind for _, kind in word.uses]))", which,
    )  # fmt: skip


def on_map(params: Any) -> Shown:
    """The same vectors in their two main directions."""
    found, kinds, meanings = collection(params)
    n = len(found.vectors)
    layer = min(params.layer, n - 1)
    same_everywhere = layer == 0
    places, share = spread_out(found.vectors[layer])
    places = np.zeros((len(kinds), 2)) if same_everywhere else places[:, :2]
    left, side = st.columns([1, 1] if lesson.presenting() else [3, 2], gap="medium")
    with left:
        parts.show(figures.on_a_map(places, found.texts, [meanings[kind] for kind in kinds], meanings if 2 in kinds else meanings[:2]), SLUG + "map",
                   f"{len(kinds)} points at “{names_of(n)[layer]}”" + (": all at one point, since the table has one vector." if same_everywhere else f"; the two directions hold {percent(share)} of the differences."))  # fmt: skip
    with side:
        listed(found, kinds, meanings)
    k = len(senses.WORDS[params.which].uses)
    agrees = in_context.agree(found.cosines(layer)[:k, :k], kinds[:k])
    parts.numbers("table: one vector, so all points lie on each other." if same_everywhere
                  else f"At “{names_of(n)[layer]}” the two directions hold {percent(share)} of all differences between the {len(kinds)} vectors. By the whole vectors {agrees} of {k} have a nearest one of their own meaning.")  # fmt: skip
    pick_layer(n)
    return Shown(
        {}, (rf"\text{{held by two directions: }} {share:.4f}",),
        "A point is the word's vector in one sentence, named by the sentence's number. The directions are the two principal components of these vectors: those in which they differ most, whatever the reason. "
        "If meaning were the main difference, the colours would part. Where they do not, something else differs more: the position in the sentence, the neighbours, the full stop.",
        lambda: pd.DataFrame({"text": found.texts, "meaning": [meanings[kind] for kind in kinds], "x": places[:, 0], "y": places[:, 1]}), {"places": places},
        code(params) + f"from viz.course.shared.maths.word_vectors import spread_out\nprint(spread_out(found.vectors[{layer}]))", which,
    )  # fmt: skip


def shown(how: str) -> str:
    """Its name on screen; in a link it keeps its old one."""
    return how.replace("places", "positions")


def vectors(how: str) -> tuple[np.ndarray, np.ndarray]:
    """The cosine of each sentence with the one that means the same, and with the one that looks alike."""
    texts = [text for row in senses.TRIPLES for text in (row.text, row.same, row.alike)]
    rows = in_context.sentences(default().open(MODEL), texts, how).reshape(len(senses.TRIPLES), 3, -1)
    found = np.array([in_context.cosines(three)[0, 1:] for three in rows])
    return found[:, 0], found[:, 1]


def whole(params: Any) -> Shown:
    """For each sentence which is nearer: what means the same, or what looks alike; covered until one guessed."""
    check(params.sentence)
    if not params.sentence.strip():
        raise InputError("There is no word.", "A sentence's vector is made of its words.", "Type a sentence.")
    each = {how: ask.submit(("bank.whole", how), lambda how=how: vectors(how), 4000) for how in in_context.HOWS}
    wins = {how: int((same > alike).sum()) for how, (same, alike) in each.items()}
    n = len(senses.TRIPLES)
    told = lesson.predict_number(SLUG + "whole", f"{n} sentences: in how many is the one that means the same nearer than the one that only looks alike? (bert-mini, {shown(in_context.HOWS[1])})", 0.0, float(n), float(wins[in_context.HOWS[1]]),
                                 "; ".join(f"{shown(how)}: {count} of {n}" for how, count in wins.items()) + ".", 1.0)  # fmt: skip
    same, alike = each[params.how]
    low = float(np.floor(10 * min(same.min(), alike.min())) / 10)
    parts.show(figures.nearer([row.text for row in senses.TRIPLES], [(row.same, row.alike) for row in senses.TRIPLES], same if told else None, alike, low=max(-1.0, low), high=26), SLUG + "whole",
               f"{wins[params.how]} of {n} sentences are nearer to what means the same." if told else "Ten rows of two points, covered until you guessed.")  # fmt: skip

    def nearest() -> tuple[str, float]:
        texts = [text for row in senses.TRIPLES for text in (row.text, row.same, row.alike) if text != params.sentence]
        values = in_context.cosines(in_context.sentences(default().open(MODEL), [params.sentence, *texts], params.how))[0, 1:]
        return texts[int(values.argmax())], float(values.max())

    text, value = ask.submit(("bank.nearest", params.sentence, params.how), nearest, 4000)
    parts.numbers(f"By {shown(params.how)} {wins[params.how]} of {n} are nearer to what means the same. Your sentence “{visible(params.sentence).replace('·', ' ')}” is nearest to “{text}” ({value:.3f})."
                  if told else f"“{senses.TRIPLES[0].text}” means “{senses.TRIPLES[0].same}” but looks like “{senses.TRIPLES[0].alike}”")  # fmt: skip
    controls.segmented("The sentence's vector", in_context.HOWS, SLUG + "how", in_context.HOWS[1], shown)
    return Shown(
        {"vectors.cosine": {}}, (rf"\text{{nearer to the same meaning: }} {wins[params.how]} / {n}",) if told else (),
        "A row is a sentence. Green is its cosine with a sentence of the same meaning in other words, orange with one that shares nearly all its words and means something else. [CLS] is the last layer's vector at the first position; "
        "the means are over the words. Such vectors are used for spam or sentiment with a small layer on top. Without that training they are not perfect: words in common count for more than meaning.",
        lambda: pd.DataFrame({"sentence": [row.text for row in senses.TRIPLES], "same": [row.same for row in senses.TRIPLES], "cosine, same": same, "alike": [row.alike for row in senses.TRIPLES], "cosine, alike": alike}) if told else LATER,
        {"same": same, "alike": alike} if told else {},
        lines(f"for row in senses.TRIPLES:\n    print(row.text, in_context.cosines(in_context.sentences(model, [row.text, row.same, row.alike], {params.how!r}))[0, 1:])"),
    )  # fmt: skip
