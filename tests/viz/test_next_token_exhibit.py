"""The next token: bars of the visitor's text, the block without cross-attention, both masks, the window; all recomputed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exhibit_pages import chart, drawn, said, said_and_set
from packets import opened
from streamlit.testing.v1 import AppTest

from core.serving.engine import default
from viz import theme
from viz.course.gpt.maths.conditionals import conditionals
from viz.course.gpt.next_token import charts, exhibit, plan, steps
from viz.labels import percent

FOLDS = [f"fold:next_token.{name}" for name in ("equation", "looking", "table", "take")] + [
    f"fold:{exhibit.LESSON.text.info.title}.documents"
]
OTHER = "Psychology is the study of the mind."


def page(step: int, *folds: str, guess: tuple[str, object] | None = None, **link: str) -> AppTest:
    names = {
        name if name in ("text", "layer") else f"next_token.{name}": value
        for name, value in ({"step": str(step)} | link).items()
    }
    return drawn(
        "next_token",
        names,
        dict.fromkeys(folds, True) | ({f"predict:next_token.{guess[0]}": guess[1]} if guess else {}),
        guarded=True,
    )


def packets(test: AppTest) -> list[dict]:
    return [opened(element.proto.bytes)[0] for element in test.get("bidi_component") if element.proto.bytes]


@pytest.mark.slow
def test_the_bars_are_the_conditionals_and_wait_for_the_guess():
    """C101."""
    answers = set()
    for text in (exhibit.Params.text, OTHER):
        found = conditionals(default().open(steps.MODEL), text)
        lowest = 1 + int(found.logprobs[1:].argmin())
        answer = steps.named(found.tokens)[lowest]
        answers.add(answer)
        before = page(1, *FOLDS, text=text)
        assert (
            not before.exception
            and not page(1, text=text).get("plotly_chart")
            and {row["said"] for layer in chart(before) for row in layer} == {"?"}
            and not any("value" in row for layer in chart(before) for row in layer)
            and f"{found.perplexity:.1f}" not in said_and_set(before)
        )
        after = page(1, *FOLDS, text=text, guess=("least", answer))
        assert "Right." in said(after) and f"P = {percent(np.exp(found.logprobs[lowest]), 2)}" in said(after)
        rows = chart(after)[0]
        np.testing.assert_allclose([row["value"] for row in rows], found.logprobs)
        np.testing.assert_allclose([row["sum"] for row in rows], np.cumsum(found.logprobs))
        assert [row["token"] for row in rows if row["kind"] == charts.MARKED] == [answer] and [
            row["place"] for row in rows
        ] == list(range(len(rows)))
        assert (
            f"torch's cross_entropy: {-found.total / len(found.tokens):.4f}. Perplexity {found.perplexity:.1f}; {-found.total / math.log(2) / len(text.encode()):.2f} bits per byte."
            in said(after)
        )
        assert after.dataframe[0].value["ln P"].tolist() == pytest.approx(found.logprobs.tolist())
    assert len(answers) == 2


@pytest.mark.slow
def test_the_block_is_the_transformers_without_cross_attention():
    """C100: the diagram, struck out after the guess."""
    assert steps.missing() == "cross-attention"
    before, after = page(2, *FOLDS), page(2, *FOLDS, guess=("gone", "cross-attention"), box="self", layer="2")
    (covered,), (told,) = ([each for each in packets(test) if "nodes" in each] for test in (before, after))
    assert not any(node["struck"] for node in covered["nodes"]) and {
        node["name"] for node in told["nodes"] if node["struck"]
    } == set(plan.GONE)
    assert "Right." in said(after) and not after.exception and "Masked self-attention" in said(after)
    network = default().open(steps.MODEL).network
    own = sum(weight.numel() for weight in network.layers[0].parameters())
    assert f"6 blocks of {own:,}" in said(
        after
    ) and "3,152,384 parameters, an encoder layer 3,152,384" in said(after)
    for part in plan.PARTS:
        test = page(2, guess=("gone", "cross-attention"), box=part.name)
        assert (
            not test.exception
            and part.does in said(test)
            and bool(test.get("plotly_chart")) == bool(part.leaf)
        )


@pytest.mark.slow
def test_both_masks_stand_side_by_side():
    """C100: BERT and GPT masks for the same sentence."""
    counts = set()
    for text in (exhibit.Params.text, OTHER):
        n = len(default().open(steps.MODEL).tokenizer.encode(text).ids)
        shut = n * (n - 1) // 2
        counts.add(shut)
        before, after = (
            page(3, *FOLDS, text=text),
            page(3, *FOLDS, text=text, guess=("shut", shut))
            .button(key="predict:next_token.shut:commit")
            .click()
            .run(),
        )
        assert (
            f"GPT masks {shut}" not in said(before)
            and len([each for each in packets(before) if "queries" in each]) == 1
        )
        assert (
            f"it is {shut}." in said(after).lower()
            and f"GPT masks {shut} of {n * n}: on later tokens 0%." in said(after)
            and "BERT masks 0 of" in said(after)
        )
        assert len([each for each in packets(after) if "queries" in each]) == 2
        assert after.dataframe[0].value.to_numpy().tolist() == np.tril(np.ones((n, n), int)).tolist()
    assert len(counts) == 2


@pytest.mark.slow
def test_the_window_forgets():
    """E51, C101: k."""
    model, text = default().open(steps.MODEL), exhibit.Params.text
    full, one = conditionals(model, text), conditionals(model, text, 1)
    most = 2 + int((full.logprobs - one.logprobs)[2:].argmax())
    before = page(4, *FOLDS, k="3")
    assert {row["kind"] for layer in chart(before) for row in layer} == {charts.ALL} and "k = 3" not in said(
        before
    )
    for k in (1, 3, 40):
        now = conditionals(model, text, k)
        after = page(4, *FOLDS, k=str(k), guess=("lost", steps.named(full.tokens)[most]))
        assert "Right." in said(
            after
        ) and f"k = {now.k}: L₁ = {now.total:.2f}, perplexity {now.perplexity:.1f}.".replace(
            "-", "−"
        ) in said(after)
        for kind, values in ((charts.ALL, full.logprobs), (charts.NOW, now.logprobs)):
            drawn_rows = next(layer for layer in chart(after) if layer[0]["kind"] == kind)
            np.testing.assert_allclose([row["value"] for row in drawn_rows], values)
        assert ("the numbers are the same" in said(after)) == (k == 40)


@pytest.mark.slow
def test_the_lines_to_take_away_make_the_same_numbers(capsys):
    for step in (1, 3, 4):
        names: dict[str, object] = {}
        exec(page(step, *FOLDS).code[-1].value, names)
        if step != 3:
            assert names["found"].total == pytest.approx(exhibit.compute(exhibit.Params())[step == 4].total)
    assert "gpt-mini 55 cells are masked" in capsys.readouterr().out
    assert exhibit.thumbnail().count("<rect") >= 8


def test_the_bars_hang_and_the_sum_goes_on_below():
    values = np.array([-1.0, -4.0])
    spec = charts.bars(["<b>", "a"], values, marked=1).to_dict()
    bars, line, said = spec["layer"]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["bar", "line", "text"] and spec["resolve"][
        "scale"
    ]["y"] == "independent"
    assert (
        bars["encoding"]["y2"] == {"datum": 0}
        and bars["encoding"]["y"]["scale"]["domain"] == [-4.8, 0]
        and line["encoding"]["y"]["scale"]["domain"] == [-5 * 1.12, 0]
    )
    upper, lower = (layer["encoding"]["y"]["scale"]["range"] for layer in (bars, line))
    assert upper == [{"expr": "0.6 * height"}, 0] and lower == [
        {"expr": "1 * height"},
        {"expr": "0.72 * height"},
    ]
    assert '"<b>"' in bars["encoding"]["x"]["axis"]["labelExpr"]  # an axis label, never markup
    assert [row["said"] for row in bars["data"]["values"]] == ["−1.0", "−4.0"] and said["encoding"]["text"][
        "field"
    ] == "said"
    hue = bars["encoding"]["color"]["scale"]
    assert dict(zip(hue["domain"], hue["range"], strict=True))[charts.MARKED] == theme.CATEGORICAL[1] and [
        row["kind"] for row in bars["data"]["values"]
    ] == [charts.NOW, charts.MARKED]
    many = charts.bars(["x"] * 15, np.linspace(-3, -1, 15), np.full(15, -2.0)).to_dict()
    assert [layer["mark"]["type"] for layer in many["layer"]] == ["bar", "line"] * 2 and many["layer"][0][
        "encoding"
    ]["color"]["legend"]["orient"] == "bottom"
