"""The steps of the exhibit on self-attention: each with its question, its sentence of numbers and its control."""

from __future__ import annotations

import numpy as np

from viz.course.exhibit import Folds
from viz.course.self_attention.self_attention import boards, folds
from viz.course.self_attention.self_attention.folds import ALL, MIX, ONE, QUESTION, SCORES
from viz.course.self_attention.self_attention.grids import products
from viz.course.self_attention.self_attention.params import SLUG, Data, Params, at_of
from viz.labels import distinct, percent
from viz.languages import _, mark, ngettext
from viz.number_text import in_brackets, number, trimmed
from viz.shell import present_layout
from viz.widgets import exhibit_parts, page_parts

TIE = mark("two or more alike")


# ------------------------------------------------------------------ questions


def step(number: int, params: Params, data: Data) -> Folds:
    """Draw the board of a step and its sentence, and return its folds; before the answer nothing of it is on the board."""
    asked = {QUESTION: _how_many, SCORES: _ask_largest_product} | (
        {MIX: _what_reaches} if params.printed else {}
    )
    known = asked[number](data, params) if number in asked else True
    with present_layout.full_width():
        boards.picture(number, data, params, known, folds.code(params))
        page_parts.summary(numbers(number, data, params, known))
    return folds.folds(number, data, params, known)


def _how_many(data: Data, _params: Params) -> bool:
    n = len(data.words)
    return exhibit_parts.predict(
        SLUG + "count",
        ngettext(
            "{n} word. The query of each word is compared with the key of each word, its own included. How many scores is that?",
            "{n} words. The query of each word is compared with the key of each word, its own included. How many scores is that?",
            n,
        ),
        tuple(str(count) for count in sorted({n, n * (n - 1) // 2, n * (n - 1), n * n})),
        str(data.attention.scores.size),
        _(
            "{n} · {n} = {all}: one for each pair of a query and a key. A formula with one index, qᵢ·kᵢ, has only the {n} on the diagonal.",
            n=n,
            all=n * n,
        ),
    )


def _ask_largest_product(data: Data, params: Params) -> bool:
    """Ask for the key with the largest product with the marked word's query."""
    names, at = distinct(data.words), at_of(data, params)
    dots, may = data.attention.dots[at], data.attention.allowed[at]
    if not may.any():
        return True
    best = np.flatnonzero(may & (dots >= dots[may].max() - 1e-9))
    answer = names[best[0]] if len(best) == 1 else _(TIE)
    return exhibit_parts.predict(
        SLUG + "which",
        _(
            "The query of “{word}” is {query}. Multiply it with each key: which product is the largest?",
            word=names[at],
            query=in_brackets(data.attention.q[at], 4, short=True),
        ),
        (*(name for name, allowed in zip(names, may, strict=True) if allowed), _(TIE)),
        answer,
        _(
            "{products}. No other product is larger.",
            products=". ".join(
                f"{_('“{answer}”', answer=names[j])}: {products(data.attention.q[at], data.attention.k[j])} = {trimmed(dots[j])}"
                for j in best
            ),
        ),
    )


def _what_reaches(data: Data, params: Params) -> bool:
    """Ask for the sum of a word's weights in the printed order: of its column, not of its row."""
    names, at = distinct(data.words), at_of(data, params)
    column = data.attention.weights[:, at]
    total, own = ("1" if text == "1.00" else text for text in (number(column.sum()), number(column[at])))
    return exhibit_parts.predict(
        SLUG + "reaches",
        _(
            "As printed, V A, the weights of “{word}” are its column of A. What is the sum of this column?",
            word=names[at],
        ),
        (*sorted({"1", total, own}), str(len(names)) if len(names) > 1 else "0"),
        total,
        _(
            "{shares} = {total}. Softmax makes the rows sum to 1, but not the columns.",
            shares=" + ".join(number(share) for share in column),
            total=total,
        ),
    )


# ------------------------------------------------------------------ numbers


def numbers(step: int, data: Data, params: Params, revealed: bool) -> str:
    """Return a sentence of numbers from the run."""
    found, names, at = data.attention, distinct(data.words), at_of(data, params)
    (n, d), p, r = found.x.shape, found.q.shape[1], found.v.shape[1]
    if step == QUESTION:
        of = (
            _("The first {n} of {total} words", n=n, total=data.total)
            if data.total > n
            else ngettext("{n} word", "{n} words", n)
        )
        values = {"words": of, "d": d, "draw": params.lot, "scores": n * n}
        return (
            _(
                "{words}, each {d} numbers of −1, 0 and 1, drawn at random (draw {draw}); {scores} question marks are the scores.",
                **values,
            )
            if revealed
            else _(
                "{words}, each {d} numbers of −1, 0 and 1, drawn at random (draw {draw}). The same word always has the same numbers.",
                **values,
            )
        )
    if step == ONE:
        x, q, k, v = (in_brackets(getattr(found, name)[at], 4, short=True) for name in "xqkv")
        return _(
            "“{word}”, {x}, has the query {q}, the key {k} and the value {v}. Touch a weight to change it.",
            word=names[at],
            x=x,
            q=q,
            k=k,
            v=v,
        )
    if step == ALL:
        sizes = {"p": p, "r": r, "weights": 2 * d * p + d * r, "words": n}
        return (
            _(
                "p = {p} for Q and K, r = {r} for V: they need not be equal. {weights} weights serve {words} words, or a thousand.",
                **sizes,
            )
            if p != r
            else _(
                "p = {p} for Q and K, r = {r} for V: they happen to be equal. {weights} weights serve {words} words, or a thousand.",
                **sizes,
            )
        )
    if step == SCORES:
        return (
            _scored(data, names, at)
            if revealed
            else _(
                "{n} keys of {p} numbers each. Scores and weights appear after your answer.",
                n=n,
                p=p,
            )
        )
    if step == MIX:
        return _made(data, params, names, at, revealed)
    return formula(data, params)


def _scored(data: Data, names: list[str], marked: int) -> str:
    found = data.attention
    if not found.allowed[marked].any():
        return _(
            "“{word}” is the only word and may not attend to itself: there is no key left, so all its weights are 0.",
            word=names[marked],
        )
    best = int(found.weights[marked].argmax())
    told = _(
        "“{word}” scores “{key}” highest, {product} / √{p} = {score}, and gives it {share} of its attention; its row sums to {total}.",
        word=names[marked],
        key=names[best],
        product=trimmed(found.dots[marked, best]),
        p=found.q.shape[1],
        score=number(found.scores[marked, best]),
        share=percent(found.weights[marked, best]),
        total=number(found.weights[marked].sum()),
    )
    if data.kernel.asymmetry:
        return told
    return told + _(
        " S is symmetric, like a kernel: with W_K = W_Q two scores on opposite sides of the diagonal differ by {difference}.",
        difference=trimmed(data.kernel.asymmetry),
    )


def _made(data: Data, params: Params, names: list[str], marked: int, revealed: bool) -> str:
    found = data.attention
    if params.printed and not revealed:
        return _("As printed, the values are weighted with columns of A. What does a column add up to?")
    if params.printed:
        sums = ", ".join(number(total) for total in data.printed.sums)
        return _(
            "As printed, V A: the weights of each word sum to {sums} instead of 1, and the result is off by up to {gap}.",
            sums=sums,
            gap=number(data.printed.gap),
        )
    return _(
        "“{word}” becomes {mix}: {terms}.",
        word=names[marked],
        mix=in_brackets(found.z[marked]),
        terms=" + ".join(
            _("{weight} of “{word}”", weight=number(a), word=name)
            for a, name in zip(found.weights[marked], names, strict=True)
            if a >= 0.005
        ),
    )


def formula(data: Data, params: Params) -> str:
    """Return the worked example in words: v_student = 0.7 v_I + 0.2 v_am + 0.1 v_a."""
    example, mixed = data.example, data.mixed
    pairs = list(zip(mixed.weights, example.words, strict=True))[: len(example.others) + (params.own)]
    total = " + ".join(f"{trimmed(a, 3)} v({word})" for a, word in pairs)
    return _(
        "v({word}) = {terms} = {mix}. The weights sum to {total}.",
        word=example.word,
        terms=total,
        mix=in_brackets(mixed.mix),
        total=number(mixed.weights.sum()),
    )
