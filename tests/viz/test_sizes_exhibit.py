"""The exhibit on sizes: exact counts beside the stated ones, and a calculator for any shape."""

from __future__ import annotations

import pytest
from drawn_layers import layer
from exhibit_pages import bar_values, drawn, said

from viz.course.gpt.sizes import data
from viz.course.gpt.sizes.exhibit import (
    READY,
    Params,
    by_part,
    calculator,
    compute,
    four_sizes,
    race,
    variants,
)


@pytest.fixture(scope="module")
def counts() -> data.Data:
    return compute(Params())


def test_bert_by_part_beside_the_stated_sizes(counts: data.Data) -> None:
    """C092, E11, E20: the answer follows the model."""
    answers = {name: by_part(Params(model=name), counts).answer for name in ("BERT-Base", "TinyBERT")}
    assert answers == {"BERT-Base": data.NETWORK, "TinyBERT": data.WORDS}
    step = by_part(Params(), counts)
    assert step.table["parameters"].sum() == 109_482_240 and step.table["share"].sum() == pytest.approx(1)
    assert bar_values(step.chart(True)) == list(data.count_by_part(data.BERTS["BERT-Base"]).values())
    assert "109,482,240" in step.summary and "335,141,888" in step.summary


def test_variants_of_bert(counts: data.Data) -> None:
    """C094, E21."""
    answers = {name: variants(Params(variant=name), counts).answer for name in ("RoBERTa", "DistilBERT")}
    assert answers == {"RoBERTa": "larger", "DistilBERT": "smaller"}
    step = variants(Params(), counts)
    assert step.table.loc[["XLNet", "DistilBERT"], "parameters"].tolist() == [116_718_336, 66_362_880]
    assert step.table.loc["TinyBERT", "inner"] == 1200 and bar_values(step.chart(True)) == list(
        step.table["parameters"]
    )
    covered = variants(Params(), counts).chart(False).to_dict()
    assert '["ALBERT-Base"' in str(covered), "in the order of their names"


def test_the_sizes_of_gpt_2(counts: data.Data) -> None:
    """C104, E44."""
    for name, times in (
        ("GPT-2 XL", 1_557_611_200 / 124_439_808),
        ("GPT-2 medium", 354_823_168 / 124_439_808),
    ):
        assert four_sizes(Params(grown=name), counts).answer == pytest.approx(times)
    step = four_sizes(Params(), counts)
    assert bar_values(step.chart(True))[1:] == [124_439_808, 354_823_168, 774_030_080, 1_557_611_200]
    assert "1 of 5" in step.summary and "1,557,611,200" in step.summary


def test_the_race_on_two_axes(counts: data.Data) -> None:
    """C107, E10: GPT-3 has 112 times the parameters of GPT-2 XL."""
    assert race(Params(), counts).answer == pytest.approx(174_604_259_328 / 1_557_611_200)
    scales = [
        layer(race(Params(plain=plain), counts).chart(True), mark="circle")["encoding"]["y"]["scale"].get(
            "type"
        )
        for plain in (False, True)
    ]
    assert scales == ["log", None]
    step = race(Params(), counts)
    assert "174,604,259,328" in step.summary and "173,946,175,488" in step.summary


def test_the_calculator_and_its_memory() -> None:
    """C107: 12 L d² of any shape, and what it leaves out."""
    params = Params(layers=24, width=1024, heads=16, vocabulary=30_522, context=512)
    step = calculator(params, compute(params))
    total = data.count(data.Shape(n_layers=24, d_model=1024, n_heads=16, n_vocab=30_522, n_ctx=512))
    assert step.table["parameters"].sum() == total
    assert step.answer == pytest.approx(12 * 24 * 1024**2 / total)
    assert f"{total * 4 / 1e9:,.1f} GB in float32, {total * 2 / 1e6:,.1f} MB" in step.summary


def test_a_ready_shape_fills_the_calculator() -> None:
    page = drawn("sizes", {"sizes.step": "5"}, {})
    pills = next(each for each in page.button_group if each.key == "sizes.ready")
    assert "12·96·12,288² = 173,946,175,488" in said(pills.set_value(READY[2]).run())
