"""The kinds of exercises there are, in the order of the course, and the sheet of a seed."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import InputError
from viz.course.sheets import attention, blocks, language
from viz.course.sheets.form import MOST_SEED, Exercise, Kind
from viz.languages import _, mark

KINDS = {
    kind.key: kind
    for kind in (
        Kind(
            "softmax",
            mark("A softmax row"),
            "weighting",
            attention.softmax_row,
            also=("alignment", "self_attention"),
        ),
        Kind(
            "sum",
            mark("The output as a weighted sum"),
            "retrieval",
            attention.weighted_sum,
            also=("alignment", "self_attention"),
        ),
        Kind(
            "scaled",
            mark("A score and its scaling"),
            "scaling",
            attention.scaled_score,
            also=("cross_attention",),
        ),
        Kind("cosine", mark("A cosine score"), "score_functions", attention.cosine),
        Kind("local", mark("A Gaussian window"), "luong", attention.local),
        Kind("mask", mark("A masked row"), "masks", attention.masked_row, also=("families", "next_token")),
        Kind("heads", mark("The shapes of several heads"), "many_heads", blocks.heads),
        Kind(
            "position",
            mark("A position encoding"),
            "positional_encoding",
            blocks.position,
            also=("positions",),
        ),
        Kind("rotary", mark("Rotary positions"), "positional_encoding", blocks.rotated),
        Kind("norm", mark("Residual sum and layer norm"), "residual_norm", blocks.layer_norm),
        Kind("parameters", mark("Parameters of a layer"), "encoder", blocks.parameters),
        Kind("bleu", "BLEU", "", language.bleu, 300),
        Kind("wordpiece", "WordPiece", "bert_input", language.pieces),
        Kind("masked", mark("The loss of a masked word"), "masked_words", language.masked_loss, 200),
        Kind("factorised", mark("A factorised embedding"), "albert", blocks.factorised),
        Kind("perplexity", mark("Cross-entropy and perplexity"), "next_token", language.perplexity, 200),
        Kind("beam", mark("A step of beam search"), "next_token", language.beam_step, 300),
    )
}
MOST = 4
"""Exercises of one kind on one sheet."""


def exercise_kinds_of_page(page: str) -> tuple[str, ...]:
    """Return the keys of the kinds of exercises that an exhibit teaches.

    >>> exercise_kinds_of_page("scaling"), exercise_kinds_of_page("walk_through")
    (('scaled',), ())
    """
    return tuple(kind.key for kind in KINDS.values() if page in (kind.page, *kind.also))


def sheet(keys: Sequence[str], seed: int, each: int = 1) -> tuple[tuple[Kind, Exercise], ...]:
    """Return the exercises of a sheet, `each` of every kind; they are the same for the same seed.

    >>> [kind.key for kind, _ in sheet(["softmax", "mask"], 3, 2)]
    ['softmax', 'softmax', 'mask', 'mask']

    Raises:
        InputError: more of a kind than a sheet takes, or a seed that no link can hold.
    """
    if not 1 <= each <= MOST or not 0 <= seed <= MOST_SEED:
        raise InputError(
            _(
                "A sheet with {n} exercises of each kind and the seed {seed} was asked for.",
                n=each,
                seed=seed,
            ),
            _(
                "A sheet takes 1 to {most} of each, and a seed from 0 to {most_seed}.",
                most=MOST,
                most_seed=MOST_SEED,
            ),
            _("Choose within these."),
        )
    return tuple((KINDS[key], KINDS[key].draw(seed, number)) for key in keys for number in range(1, each + 1))
