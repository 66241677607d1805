"""Sizes of the models that the documents name: our own classes, closed forms, and the numbers of the course."""

from __future__ import annotations

import pytest

import core
from viz.course.errata._counts import bert, gpt
from viz.course.gpt.sizes import data

EXACT = {
    "ALBERT-Base": 11_683_584,
    "ALBERT-Large": 17_683_968,
    "BERT-Base": 109_482_240,
    "BERT-Large": 335_141_888,
    "DistilBERT": 66_362_880,
    "RoBERTa": 124_645_632,
    "TinyBERT": 14_350_248,
    "XLNet": 116_718_336,
    "BioBERT": 108_310_272,
    "GPT-2 small": 124_439_808,
    "GPT-2 medium": 354_823_168,
    "GPT-2 large": 774_030_080,
    "GPT-2 XL": 1_557_611_200,
    "DistilGPT-2": 81_912_576,
    "GPT-3": 174_604_259_328,
}


def test_counted_parts_are_those_of_the_closed_form_and_sum_to_the_numbers_of_the_course():
    for name, shape in data.ALL.items():
        assert data.count_by_part(shape) == data.closed_form(shape), name
    assert {name: data.count(data.ALL[name]) for name in EXACT} == EXACT
    assert data.count(data.BERTS["BERT-Base"]) == bert() and data.count(data.GPT2["GPT-2 small"]) == gpt()
    assert [EXACT[name] for name in data.BERTS if name in EXACT] == sorted(
        EXACT[name] for name in data.BERTS if name in EXACT
    )


def test_the_formula_of_gpt_2_as_printed():
    for shape in data.GPT2.values():
        v, c, n, d = shape.n_vocab, shape.n_ctx, shape.n_layers, shape.d_model
        assert data.count(shape) == v * d + c * d + n * (12 * d * d + 13 * d) + 2 * d
    assert data.block_weights(data.RACE["GPT-3"]) == 173_946_175_488
    assert (
        round(data.count(data.RACE["Megatron-LM"]) / 1e9, 1) == 8.3
        and round(data.count(data.RACE["Turing-NLG"]) / 1e9, 1) == 17.2
    )


def test_heads_change_no_count_and_must_share_the_width():
    assert data.count(data.Shape(n_heads=3)) == data.count(data.Shape(n_heads=12))
    with pytest.raises(core.InputError, match="5 heads"):
        data.count_by_part(data.Shape(n_heads=5))


def test_memory_is_bytes_times_parameters():
    assert list(data.memory_in_gb(EXACT["GPT-3"]).values()) == pytest.approx(
        [698.417, 349.2085, 2793.668], rel=1e-5
    )
