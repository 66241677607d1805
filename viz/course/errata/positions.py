"""Positional encoding as printed: the exponent, the digits, the range of the index, and where it is added."""

from __future__ import annotations

import math

import numpy as np

from core.layers.positions import LearnedPositions
from core.models.bert import BERTConfig
from core.models.gpt import GPT, GPTConfig
from viz.course.errata.entry import Evidence, Panel, Where, erratum
from viz.course.shared.position_evidence import five_steps, worked_d4, worked_d512
from viz.course.shared.positions import Formula, share_of_variance
from viz.languages import _
from viz.number_text import in_brackets

EQUATION_17 = (
    Where("ghojogh2023", "encoder of the transformer", "Eq. (17)"),
    Where("ghojogh2020", "3.2.1", "Eq. (17)"),
)


@erratum("E3")
def over_d_or_p() -> Evidence:
    n, d, p = 10, 60, 100
    right, printed = Formula(d), Formula(d, variant="over_p", p=p)
    apart = np.abs(right.table(n) - printed.table(n))
    position, dimension = (int(i) for i in np.unravel_index(apart.argmax(), apart.shape))
    waves = [float(formula.wavelengths()[-1]) for formula in (right, printed)]
    shares = [share_of_variance(formula.table(n)) for formula in (right, printed)]
    numbers = {
        "gap": float(apart.max()),
        "position": float(position),
        "dimension": float(dimension),
        "wave_d": waves[0],
        "wave_p": waves[1],
        "share_d": shares[0],
        "share_p": shares[1],
    }
    sentence = _(
        "For the survey's Fig. 10 (n = {n}, d = {d}, p = {p}) the two differ by up to {apart:.3f} (position {position}, dimension {dimension}); the longest wave has {wave_d:,.0f} positions with d and {wave_p:,.0f} with p. That the first dimensions differ most holds for both: their first half has {share_d:.5f} of the variance with d, {share_p:.5f} with p.",
        n=n,
        d=d,
        p=p,
        apart=apart.max(),
        position=position,
        dimension=dimension,
        wave_d=waves[0],
        wave_p=waves[1],
        share_d=shares[0],
        share_p=shares[1],
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Length of the longest wave, in positions"),
                [[waves[0]], [waves[1]]],
                ("2j/d", "2j/p"),
                (_("positions"),),
                "bars",
                0,
            ),
        ),
    )


@erratum("E4")
def paired_or_not() -> Evidence:
    place, d, wide, narrow, steps = 1, 4, 512, 128, 5
    printed, example = (
        Formula(d, variant="unpaired").table(place + 1)[place],
        [entry.value for entry in worked_d4(place)],
    )
    second = float(Formula(wide, variant="unpaired").table(place + 1)[place, 1])
    right, unpaired = five_steps(narrow, 200)
    numbers = {
        "second": second,
        "least": unpaired[1],
        "largest": unpaired[2],
        "right_least": right[1],
        "right_largest": right[2],
    }
    numbers |= {f"printed_{i}": float(v) for i, v in enumerate(printed)} | {
        f"example_{i}": v for i, v in enumerate(example)
    }
    sentence = _(
        "d = {d}, position {place}: as printed {printed}, the example {example}. For d = {wide} the second entry is {second:.4f} as printed, and the slide has {slide}. The slides also want equal steps to be equally far apart: for d = {narrow} the distance of {steps} steps runs from {least:.3f} to {most:.3f} as printed, and is {right:.3f} everywhere with pairs.",
        d=d,
        place=place,
        printed=in_brackets(printed, 4),
        example=in_brackets(example, 4),
        wide=wide,
        second=second,
        slide=worked_d512()[1].printed,
        narrow=narrow,
        steps=steps,
        least=unpaired[1],
        most=unpaired[2],
        right=right[0],
    )
    names = tuple(_("dimension {i}", i=i) for i in range(d))
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                f"PE({place})",
                np.array([printed, example]).T,
                names,
                (_("as printed"), _("with pairs")),
                "bars",
                4,
            ),
        ),
    )


@erratum("E33")
def cut_not_rounded() -> Evidence:
    wrong = [entry for entry in worked_d512() if entry.printed == entry.cut != entry.rounded]
    sine_first, cosine_first = (
        in_brackets([wave(0) for wave in pair] * 2, 0)
        for pair in ((math.sin, math.cos), (math.cos, math.sin))
    )
    numbers = {"cut": float(len(wrong))} | {f"value_{entry.dimension}": entry.value for entry in wrong}
    numbers |= {f"error_{entry.dimension}": abs(float(entry.printed or 0) - entry.value) for entry in wrong}
    told = "; ".join(
        _(
            "{value:.9f} is printed as {printed}, rounded it is {rounded}",
            value=entry.value,
            printed=entry.printed,
            rounded=entry.rounded,
        )
        for entry in wrong
    )
    sentence = _(
        "{told}. All {n} are cut. Counting i from one up, each pair would begin with the cosine, and the first vector with {cosine}, not {sine}.",
        told=told,
        n=len(wrong),
        cosine=cosine_first,
        sine=sine_first,
    )
    return Evidence(numbers, sentence)


@erratum("E34")
def one_pair_too_many() -> Evidence:
    sizes = (60, 61)
    printed = [Formula(d, cut=False).table(1).shape[1] for d in sizes]
    right = [Formula(d).table(1).shape[1] for d in sizes]
    numbers = {f"printed_{d}": float(n) for d, n in zip(sizes, printed, strict=True)}
    numbers |= {f"right_{d}": float(n) for d, n in zip(sizes, right, strict=True)}
    return Evidence(
        numbers,
        _(
            "d = {even} yields {n_even} entries as printed and d = {odd} yields {n_odd} entries as printed; with the right range {right}.",
            even=sizes[0],
            n_even=printed[0],
            odd=sizes[1],
            n_odd=printed[1],
            right=in_brackets(right, 0),
        ),
    )


@erratum("E43")
def once_below() -> Evidence:
    network = GPT(GPTConfig.tiny())
    inside = sum(isinstance(part, LearnedPositions) for block in network.layers for part in block.modules())
    tables = [part for part in network.modules() if isinstance(part, LearnedPositions)]
    trained = sum(weight.requires_grad for part in tables for weight in part.parameters())
    rows = {"GPT-2": GPTConfig().n_ctx, "BERT": BERTConfig().n_ctx}
    numbers = {"inside": float(inside), "tables": float(len(tables)), "trained": float(trained)}
    numbers |= {name: float(n) for name, n in rows.items()}
    sentence = _(
        "A GPT of {n_layers} blocks as built here: {n_tables} table of positions below the blocks, {inside} inside them; {trained} of its weight matrices is trained. {rows}.",
        n_layers=len(network.layers),
        n_tables=len(tables),
        inside=inside,
        trained=trained,
        rows=", ".join(_("{name}'s table has {n:,} rows", name=name, n=n) for name, n in rows.items()),
    )
    return Evidence(numbers, sentence)
