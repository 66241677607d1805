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
    sentence = (
        f"For the survey's Fig. 10 (n = {n}, d = {d}, p = {p}) the two differ by up to {apart.max():.3f} (position {position}, "
        f"dimension {dimension}); the longest wave has {waves[0]:,.0f} positions with d and {waves[1]:,.0f} with p. That the first "
        f"dimensions differ most holds for both: their first half has {shares[0]:.5f} of the variance with d, {shares[1]:.5f} with p."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "Length of the longest wave, in positions",
                [[waves[0]], [waves[1]]],
                ("2j/d", "2j/p"),
                ("positions",),
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
    sentence = (
        f"d = {d}, position {place}: as printed {in_brackets(printed, 4)}, the example {in_brackets(example, 4)}. For d = {wide} the second entry is "
        f"{second:.4f} as printed, and the slide has {worked_d512()[1].printed}. The slides also want equal steps to be equally far "
        f"apart: for d = {narrow} the distance of {steps} steps runs from {unpaired[1]:.3f} to {unpaired[2]:.3f} as printed, and is "
        f"{right[0]:.3f} everywhere with pairs."
    )
    names = tuple(f"dimension {i}" for i in range(d))
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                f"PE({place})", np.array([printed, example]).T, names, ("as printed", "with pairs"), "bars", 4
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
        f"{entry.value:.9f} is printed as {entry.printed}, rounded it is {entry.rounded}" for entry in wrong
    )
    sentence = (
        f"{told}. All {len(wrong)} are cut. Counting i from one up, each pair would begin with the cosine, and the first vector "
        f"with {cosine_first}, not {sine_first}."
    )
    return Evidence(numbers, sentence)


@erratum("E34")
def one_pair_too_many() -> Evidence:
    sizes = (60, 61)
    printed = [Formula(d, cut=False).table(1).shape[1] for d in sizes]
    right = [Formula(d).table(1).shape[1] for d in sizes]
    numbers = {f"printed_{d}": float(n) for d, n in zip(sizes, printed, strict=True)}
    numbers |= {f"right_{d}": float(n) for d, n in zip(sizes, right, strict=True)}
    told = " and ".join(f"d = {d} yields {n} entries as printed" for d, n in zip(sizes, printed, strict=True))
    return Evidence(numbers, f"{told}; with the right range {in_brackets(right, 0)}.")


@erratum("E43")
def once_below() -> Evidence:
    network = GPT(GPTConfig.tiny())
    inside = sum(isinstance(part, LearnedPositions) for block in network.layers for part in block.modules())
    tables = [part for part in network.modules() if isinstance(part, LearnedPositions)]
    trained = sum(weight.requires_grad for part in tables for weight in part.parameters())
    rows = {"GPT-2": GPTConfig().n_ctx, "BERT": BERTConfig().n_ctx}
    numbers = {"inside": float(inside), "tables": float(len(tables)), "trained": float(trained)}
    numbers |= {name: float(n) for name, n in rows.items()}
    sentence = (
        f"A GPT of {len(network.layers)} blocks as built here: {len(tables)} table of positions below the blocks, {inside} inside them; "
        f"{trained} of its weight matrices is trained. "
        + ", ".join(f"{name}'s table has {n:,} rows" for name, n in rows.items())
        + "."
    )
    return Evidence(numbers, sentence)
