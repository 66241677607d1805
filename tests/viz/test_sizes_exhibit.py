"""The exhibit on sizes: exact counts beside the stated ones, and a calculator for any shape."""

from __future__ import annotations

import json

import pytest
from exhibit_pages import chart, drawn, said
from streamlit.testing.v1 import AppTest

from viz.course.gpt.sizes import exhibit, maths, params
from viz.labels import percent

SLUG = "sizes"
FOLDS = (
    *(f"{SLUG}.{name}" for name in ("equation", "looking", "table", "take")),
    f"{exhibit.LESSON.text.info.title}.documents",
)


def page(*folded: str, state: dict[str, object] | None = None, **link: str) -> AppTest:
    test = drawn(
        SLUG,
        {f"{SLUG}.{name}": value for name, value in link.items()},
        {f"fold:{name}": True for name in folded} | (state or {}),
    )
    assert not test.exception and "went wrong" not in said(test)
    return test


def drawn_values(test: AppTest) -> list[float]:
    return [bar["value"] for bar in chart(test)[0]]


def scale(test: AppTest) -> str:
    """Whether the sizes stand on a logarithmic axis."""
    return json.loads(test.get("vega_lite_chart")[0].proto.spec)["layer"][0]["encoding"]["y"]["scale"].get(
        "type", "even"
    )


def test_bert_by_part_beside_the_stated_sizes():
    """C092, E11, E20; another model has another answer."""
    hidden = page(*FOLDS)
    assert "109,482,240 counted, 110M stated" in said(hidden) and "335,141,888 counted, 340M stated" in said(
        hidden
    )
    assert "56,669,184" not in said(hidden) and {bar["said"] for bar in chart(hidden)[0]} == {"?"}
    test = page(*FOLDS, state={f"predict:{SLUG}.most": maths.NETWORK})
    found = maths.counted(maths.BERTS["BERT-Base"])
    assert (
        "Right." in said(test)
        and f"{found[maths.NETWORK]:,}" in said(test)
        and "E11" in said(test)
        and "E20" in said(test)
    )
    assert drawn_values(test) == list(found.values()) and sum(found.values()) == 109_482_240
    assert "Right." in said(page(model="TinyBERT", state={f"predict:{SLUG}.most": maths.WORDS}))
    exec(next(code.value for code in test.code if "gpt.sizes" in code.value), {})


@pytest.mark.slow
def test_variants_with_bars_and_a_table():
    """C094, E21."""
    hidden = page(step="2")
    assert "124,645,632" not in said(hidden) and {bar["said"] for bar in chart(hidden)[0]} == {"?"}
    test = page(*FOLDS, step="2", state={f"predict:{SLUG}.smaller": "larger"})
    assert (
        "Right." in said(test)
        and "larger are XLNet, RoBERTa, BERT-Large" in said(test)
        and "E21" in said(test)
    )
    assert drawn_values(test) == [maths.total(shape) for shape in maths.BERTS.values()]
    table = test.dataframe[0].value
    assert (
        table.loc["XLNet", "parameters"] == "116,718,336"
        and table.loc["DistilBERT", "parameters"] == "66,362,880"
        and table.loc["TinyBERT", "inner"] == 1200
    )
    for name in ("Small BERT", "ClinicalBERT", "BioBERT"):
        assert table.loc[name, "parameters"] == f"{maths.total(maths.BERTS[name]):,}"
    assert "Right." in said(
        page(step="2", variant="DistilBERT", state={f"predict:{SLUG}.smaller": "smaller"})
    )


def test_the_sizes_of_gpt_2():
    """C104, E44; the answer follows the chosen size."""
    hidden = page(step="3")
    assert "1,557,611,200" not in said(hidden)
    for name in ("GPT-2 XL", "GPT-2 medium"):
        test = page(step="3", grown=name).button(key=f"predict:{SLUG}.times:commit").click().run()
        times = maths.total(maths.GPT2[name]) / 124_439_808
        assert f"= {times:.2f}. Layers" in said(test)
    texts = [bar["said"] for bar in chart(test)[0]]
    assert texts[1:] == ["124,439,808", "354,823,168", "774,030,080", "1,557,611,200"]
    names = json.loads(test.get("vega_lite_chart")[0].proto.spec)["layer"][0]["encoding"]["y"]["axis"][
        "labelExpr"
    ]
    shapes = [line[1] for line in json.loads(names.removesuffix("[datum.value]"))[1:]]
    assert all(f"{width:,}" in shape for width, shape in zip((768, 1024, 1280, 1600), shapes, strict=True))
    assert f"holds for 1 of {len(maths.GPT2)}: GPT-2 XL with 1,557,611,200" in said(test)


@pytest.mark.slow
def test_the_race_on_a_logarithmic_axis():
    """C107."""
    hidden = page(step="4")
    assert not chart(hidden)[0] and "175" not in said(hidden)
    test = page(*FOLDS, step="4").button(key=f"predict:{SLUG}.fit:commit").click().run()
    assert scale(test) == "log" and "GPT-2 XL 1.5; Megatron-LM 8; Turing-NLG 17; GPT-3 175" in said(test)
    assert "174,604,259,328" in said(test) and "173,946,175,488" in said(test)
    assert f"{174_604_259_328 / 1_557_611_200:,.1f}" in said(test) and "E44" in said(test)
    other = (
        page(step="4", plain="1", against="Turing-NLG").button(key=f"predict:{SLUG}.fit:commit").click().run()
    )
    assert scale(
        other
    ) == "even" and f"= {174_604_259_328 / maths.total(maths.RACE['Turing-NLG']):,.1f}" in said(other)


@pytest.mark.slow
def test_the_calculator_and_its_memory():
    """C107: 12 L d² of any shape, and what it leaves out."""
    shape = maths.Shape(n_layers=24, d_model=1024, n_heads=16, n_vocab=30_522, n_ctx=512)
    link = {
        "layers": "24",
        "width": "1024",
        "heads": "16",
        "vocabulary": "30522",
        "context": "512",
        "step": "5",
    }
    hidden = page(*FOLDS, **link)
    assert "Guess first" in str(hidden.dataframe[0].value) and {bar["said"] for bar in chart(hidden)[0]} == {
        "?"
    }
    test = hidden.button(key=f"predict:{SLUG}.rule:commit").click().run()
    total = maths.total(shape)
    assert f"{12 * 24 * 1024**2:,} / {total:,} = {percent(12 * 24 * 1024**2 / total, 2)}" in said(test)
    assert (
        f"{total:,} parameters: {total * 4 / 1e9:,.1f} GB in float32, {total * 2 / 1e6:,.1f} MB in float16"
        in said(test)
    )
    assert drawn_values(test) == list(maths.counted(shape).values())
    ready = page(step="5")
    pills = next(each for each in ready.button_group if each.key == params._PILLS)
    ready = pills.set_value("GPT-3").run()
    assert "12·96·12,288² = 173,946,175,488" in said(ready)
