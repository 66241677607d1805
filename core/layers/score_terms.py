"""The terms of an attention score, as the list that `score_terms()` of each attention returns.

The first term is the product of query and key; each further one makes something of the score before it. Arithmetic, lenses and
pages walk the list and ask no model of which kind it is: a new kind of score is a term here and its line in the attention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.wording import _, mark

SURVEY, SLIDES = "ghojogh2020", "ghojogh2023"
Citation = tuple[str, str, str]


def listed(equation: str) -> tuple[Citation, ...]:
    """Return a similarity of the survey's and the slides' list."""
    return (SURVEY, "2.4.2", equation), (SLIDES, "query-retrieval modeling", equation)


@dataclass(frozen=True, kw_only=True)
class Term:
    """One step of a score: what it computes, and how pages name, write and cite it.

    `apply` gives the score after it from the one before and, where it reads a `leaf` of the trace, that number (or arrays of both).
    `form` is the step with numbers, `equation` and `latex` with letters; the first gap is the score so far, a second one in
    `form` the leaf's number, whose `letter` heads a column. `words` is a sentence with {query} and {key}, `where` explains a
    letter, `note` is a sentence on a whole row of weights.
    A `column` is no step: it is a score of its own that the softmax counts beside those of the keys.
    """

    name: str
    title: str
    words: str
    form: str
    equation: str
    latex: str
    cites: tuple[Citation, ...]
    apply: Callable[..., Any] = field(compare=False)
    leaf: str = ""
    letter: str = ""
    where: str = ""
    note: str = ""
    column: bool = False


def product(n_turned: int = 0, width: int = 0) -> Term:
    """Return the term q · k; rotary positions rotated the first `n_turned` of `width` numbers before (0: none)."""
    words = mark(
        "Each number of {query}'s query times the number of {key}'s key at the same index; all products added."
    )
    note = (
        _("Queries and keys were rotated by their positions before (rotary position embedding).")
        if n_turned == width
        else _(
            "Queries and keys were rotated by their positions before, in the first {n} of {width} numbers (rotary position embedding).",
            n=n_turned,
            width=width,
        )
    )
    return Term(
        name="product",
        title=mark("query · key"),
        words=f"{_(words)} {note}" if n_turned else words,
        form="q · k",
        equation="q_{i} · k_{j}",
        latex=r"q_i \cdot k_j",
        cites=listed("Eq. (9)"),
        apply=lambda dots: dots,
        note=note if n_turned else "",
    )


def scale(under: float, width: int) -> Term:
    """Return the term that divides by √under; `width` is that of a head."""
    written = str(round(under)) if float(under).is_integer() else repr(float(under))
    if under == width:
        why = _(
            "Divided by the square root of the head's width, √{n}, so that wide heads do not get larger scores.",
            n=written,
        )
    elif under % width == 0:
        why = _(
            "Divided by √{n}: {products} products of {width} numbers each are added up, and more numbers shall not make larger scores.",
            n=written,
            products=round(under / width),
            width=width,
        )
    else:
        why = _(
            "Divided by √{n}, a number of this model's own in the place of the head's width, {width}.",
            n=written,
            width=width,
        )
    return Term(
        name="scale",
        title=_("divided by √{n}", n=written),
        words=why,
        form="{} / √" + written,
        equation="%s / √d",
        latex=r"\frac{%s}{\sqrt{d}}",
        cites=(
            *listed("Eq. (10)"),
            ("vaswani2017", "3.2.1", "Eq. (1)"),
            ("lifei2022", "practical considerations", "s = q·k / √d"),
        ),
        apply=lambda score: score / math.sqrt(under),
        where=f"d = {written}",
    )


def cap(limit: float) -> Term:
    """Return the term that keeps a score between -limit and limit: limit · tanh(s / limit)."""
    form = f"{limit:g} tanh({{}} / {limit:g})"
    return Term(
        name="cap",
        title=_("kept below {limit:g}", limit=limit),
        words=_(
            "Squashed by {form}: hardly changed near 0, and never larger than {limit:g} either way.",
            form=form.format("s"),
            limit=limit,
        ),
        form=form,
        equation=form.format("%s"),
        latex=rf"{limit:g} \tanh\left(\frac{{1}}{{{limit:g}}} %s\right)",
        cites=(("gemma2024", "2", "logit soft-capping"),),
        apply=lambda score: limit * np.tanh(score / limit),
    )


def addition(
    leaf: str, letter: str, title: str, words: str, equation: str, latex: str, cite: Citation
) -> Term:
    """Return the term that adds a number of the trace, `leaf`, to the score; `equation` and `latex` are those of the number."""
    return Term(
        name=leaf,
        title=f"plus {title}",
        words=words,
        form="{} + {}",
        equation=f"%s + {equation}",
        latex=f"%s + {latex}",
        cites=(cite,),
        apply=lambda score, part: score + part,
        leaf=leaf,
        letter=letter,
    )


DISTANCE = addition(
    "bias",
    "b(j − i)",
    "what the distance adds",
    mark("A number that this head has learned for how far {key} stands from {query} is added."),
    "b_{j-i}",
    "b_{j-i}",
    ("raffel2020", "2.1", "position embeddings"),
)
ALIBI = addition(
    "bias",
    "−m(i − j)",
    "less for each token of distance",
    mark(
        "For each token that {key} stands away from {query} this head takes off the same number m, which is fixed and not learned (ALiBi)."
    ),
    "m (j - i)",
    r"m\,(j - i)",
    ("press2022", "3", "attention with linear biases"),
)
CONTENT_POSITION = addition(
    "content_position",
    "query · place",
    "what the query says to the place of the key",
    mark(
        "{query}'s query times the key of the vector for how far {key} stands from it, divided by the same root, is added."
    ),
    "q_{i} · k^{r}_{i-j} / √d",
    r"\frac{q_i \cdot k^r_{i-j}}{\sqrt{d}}",
    ("he2021", "3.1", "Eq. (4)"),
)
POSITION_CONTENT = addition(
    "position_content",
    "place · key",
    "what the place of the query says to the key",
    mark("The query of the vector for that distance times {key}'s key, divided by the same root, is added."),
    "q^{r}_{i-j} · k_{j} / √d",
    r"\frac{q^r_{i-j} \cdot k_j}{\sqrt{d}}",
    ("he2021", "3.1", "Eq. (4)"),
)
SINK = Term(
    name="sink",
    title=mark("the learned sink"),
    words=mark(
        "A learned number of this head, the sink, counts in the softmax beside the scores of the keys."
    ),
    form="",
    equation="e^{σ}",
    latex=r"e^{\sigma}",
    cites=(("openai2025", "2.2", "a learned bias in the denominator of the softmax"),),
    apply=lambda score: score,
    leaf="sink",
    note=mark(
        "A learned sink takes weight and gives no value: the weights of a row add up to less than 100%."
    ),
    column=True,
)
Terms = Sequence[Term]


def leaves(terms: Terms) -> tuple[str, ...]:
    """Return the leaves of the trace that they read beside queries and keys."""
    return tuple(term.leaf for term in terms if term.leaf)


def steps(terms: Terms) -> Terms:
    """Return the terms that make a score of a query and a key: all but columns of their own."""
    return [term for term in terms if not term.column]


def columns(terms: Terms) -> Terms:
    """Return the terms that are scores of their own beside those of the keys."""
    return [term for term in terms if term.column]


def compose(terms: Terms, dots: Any, parts: Mapping[str, Any]) -> Any:
    """Return the scores: each term applied in order to the query-key products `dots`.

    `parts` has the traced value of each term that adds one, by its leaf, such as "bias". Terms that are columns (sinks) are left out.

    >>> compose((product(), scale(4, 4), DISTANCE), np.array([6.0]), {"bias": np.array([0.5])})
    array([3.5])
    """
    for term in steps(terms):
        dots = term.apply(dots, *((parts[term.leaf],) if term.leaf else ()))
    return dots


def in_latex(terms: Terms) -> str:
    """Return a score with letters, and what they stand for.

    >>> in_latex((product(), scale(4, 4), DISTANCE))
    's_{ij} = \\\\frac{q_i \\\\cdot k_j}{\\\\sqrt{d}} + b_{j-i}, \\\\qquad d = 4'
    """
    score, beside = "", ""
    for term in steps(terms):
        score = term.latex % score if "%s" in term.latex else term.latex
        beside += rf", \qquad {term.where}" if term.where else ""
    return f"s_{{ij}} = {score}{beside}"


def in_short(terms: Terms) -> str:
    """Return a score in one line of text.

    >>> in_short((product(), scale(4, 4), cap(50.0), DISTANCE))
    '50 tanh(q · k / √4 / 50) + b(j − i)'
    """
    score = ""
    for term in steps(terms):
        score = term.form.format(score, term.letter)
    return score
