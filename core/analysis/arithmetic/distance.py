"""The lines of a score that is more, or less, than q · k / √d: not divided, divided by something else, capped, or with something
added for how far the key is away (T5, MPNet, GPT-Neo, Gemma, DeBERTa)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.analysis.arithmetic.digits import Array
from core.analysis.arithmetic.lines import Line, puts
from core.analysis.arithmetic.scores import Pair, listed, product, scaled_lines

SAID: Mapping[str, tuple[str, str, str, str]] = {
    "bias": (
        "what the distance adds",
        "A number that this head has learned for how far {key} stands from {query} is added.",
        "b_{j-i}",
        "raffel2020",
    ),
    "content_position": (
        "what the query says to the place of the key",
        "{query}'s query times the key of the vector for how far {key} stands from it, divided by the same root, is added.",
        "q_{i} · k^{r}_{i-j} / √d",
        "he2021",
    ),
    "position_content": (
        "what the place of the query says to the key",
        "The query of the vector for that distance times {key}'s key, divided by the same root, is added.",
        "q^{r}_{i-j} · k_{j} / √d",
        "he2021",
    ),
}
"""What may be added, by the leaf it is recorded as: the line's title, its words, the symbol, and where it stands."""
PLACES = {
    "raffel2020": ("raffel2020", "2.1", "position embeddings"),
    "he2021": ("he2021", "3.1", "Eq. (4)"),
}


def scored(module: Any, d_head: int, dots: Array, added: Mapping[str, Array]) -> Array:
    """The scores that an attention makes of q · k: divided by its `divisor`, kept within its `cap`, and with what is added.

    >>> scored(None, 4, np.array([6.0]), {"bias": np.array([0.5])})
    array([3.5])
    """
    found = dots / np.float64(getattr(module, "divisor", d_head**0.5)).astype(dots.dtype)
    cap = getattr(module, "cap", 0.0)
    return sum(added.values(), cap * np.tanh(found / cap) if cap else found)


def compared_lines(
    pair: Pair, module: Any, added: Mapping[str, float], paths: Mapping[str, str]
) -> list[Line]:
    """q · k, divided where it is divided, capped where it is capped, and all that is `added`; `paths`: where that is recorded."""
    divisor, cap = getattr(module, "divisor", len(pair.q) ** 0.5), getattr(module, "cap", 0.0)
    last = not cap and not added
    if last and round(divisor**2) == len(pair.q):
        return scaled_lines(pair)
    if divisor == 1.0:
        lines = [product(pair, cites=listed("Eq. (9)"), **(pair.scored if last else {}))]
    else:
        lines = [product(pair, cites=listed("Eq. (9)")), _divided(pair, round(divisor**2), last=last)]
    if cap:
        lines.append(_capped(pair, lines[-1].value, cap, last=not added))
    for number, (leaf, value) in enumerate(added.items(), 1):
        lines.append(_added(pair, lines[-1].value, leaf, value, paths[leaf], last=number == len(added)))
    return lines


def _divided(pair: Pair, under: int, *, last: bool) -> Line:
    """The line of the division by the root of `under`."""
    width = len(pair.q)
    why = f"√{under}, a number of this model's own in the place of the head's width, {width}"
    if under % width == 0:
        many = f": {under // width} products of {width} numbers each are added up" if under > width else ""
        why = f"√{under}, the root of the head's width{many}, so that wide heads do not get larger scores"
    return puts(
        "scale",
        f"divided by √{under}",
        f"Divided by {why}." + (" This is the score." if last else ""),
        "s_{ij} = q_{i} · k_{j} / √d",
        (*listed("Eq. (10)"), ("vaswani2017", "3.2.1", "Eq. (1)")),
        form="{} / √" + str(under),
        formula=lambda x: x / np.sqrt(under),
        values=[float(pair.q.astype(np.float64) @ pair.k)],
        size=pair.size / under**0.5,
        reads=[pair.q_path, pair.k_path],
        **(pair.scored if last else {}),
    )


def _capped(pair: Pair, value: float, cap: float, *, last: bool) -> Line:
    return puts(
        "cap",
        f"kept below {cap:g}",
        f"Squashed by {cap:g} tanh(s / {cap:g}): hardly changed near 0, and never larger than {cap:g} either way."
        + (" This is the score." if last else ""),
        "s_{ij} = c tanh(s'_{ij} / c)",
        (("gemma2024", "2", "logit soft-capping"),),
        form=f"{cap:g} tanh({{}} / {cap:g})",
        formula=lambda x: cap * np.tanh(x / cap),
        values=[value],
        size=pair.size,
        reads=[pair.q_path, pair.k_path],
        **(pair.scored if last else {}),
    )


def _added(pair: Pair, before: float, leaf: str, value: float, path: str, *, last: bool) -> Line:
    title, words, symbol, source = SAID[leaf]
    return puts(
        leaf,
        title,
        words + (" This is the score." if last else ""),
        f"s_{{ij}} = q_{{i}} · k_{{j}} + {symbol}",
        (PLACES[source],),
        form="{} + {}",
        formula=lambda x, b: x + b,
        values=[before, value],
        size=pair.size + abs(value),
        reads=[pair.q_path, pair.k_path, path],
        **(pair.scored if last else {}),
    )
