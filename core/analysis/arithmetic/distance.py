"""The lines of a score that is not divided, or that has something added for how far the key is away (T5, MPNet, GPT-Neo)."""

from __future__ import annotations

from dataclasses import replace

from core.analysis.arithmetic.lines import Line, puts
from core.analysis.arithmetic.scores import Pair, listed, product, scaled_lines


def biased_lines(pair: Pair, divisor: float, bias: float | None, path: str) -> list[Line]:
    """q · k, divided only where `divisor` is not 1, and a learned number added for the distance, where there is one."""
    last = bias is None
    if divisor == 1.0:
        lines = [product(pair, cites=listed("Eq. (9)"), **(pair.scored if last else {}))]
    else:
        first, scaled = scaled_lines(replace(pair, recorded=pair.recorded - (bias or 0.0)))
        lines = [first, scaled]
    if bias is None:
        return lines
    lines.append(
        puts(
            "bias",
            "what the distance adds",
            "A number that this head has learned for how far {key} stands from {query} is added. This is the score.",
            "s_{ij} = q_{i} · k_{j} + b_{j-i}",
            (("raffel2020", "2.1", "position embeddings"),),
            form="{} + {}",
            formula=lambda x, b: x + b,
            values=[lines[-1].value, bias],
            size=pair.size + abs(bias),
            reads=[pair.q_path, pair.k_path, path],
            **pair.scored,
        )
    )
    return lines
