"""The page of the models: what is damaged, the scores, two beside each other, and a card with its curve."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from drawn_layers import drawn_rows, find_layers
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import again, said
from workspace_pages import page as draw

from core.analysis.heads.head_file import read_heads
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import read_training
from core.checkpoints.scores import read_scores
from core.models import families
from core.serving.engine import Listing
from core.tools.card_heads import habits, linked
from viz.workspace.models import page

CARD = "![x](http://127.0.0.1/x.png) my own model"


class _Opened(SimpleNamespace):
    """A model, or what is asked of one; what is read for it is remembered as long as it is there."""


class _Engine:
    """Two models that are not shipped by us, one of them damaged, and one whose files break while opening."""

    def models(self) -> tuple[Listing, ...]:
        return (
            Listing("good", True, "", "gpt"),
            Listing("cut", False, "model.safetensors ends too early."),
            Listing("late", True, "", "gpt"),
        )

    def open(self, name: str, session: str = "") -> _Opened:
        if name == "late":
            raise OSError("/secret/path")
        config = SimpleNamespace(n_layers=2, n_heads=3, d_model=12, n_vocab=1234, n_ctx=64)
        parts = {"family": "gpt", "config": config, "spec": families()["gpt"], "n_parameters": 2_500_000}
        return _Opened(name=name, card=CARD, **parts)


def headers(test: AppTest) -> list[str]:
    return [element.value.replace("\\", "") for element in test.header]


def opened(test: AppTest, fold: str) -> AppTest:
    test.session_state[f"fold:models.{fold}"] = True
    return again(test)


def test_the_models_page_names_what_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.serving.engine.default", _Engine)
    test = draw("models")
    assert headers(test) == ["good"]
    shown = said(test)
    assert states(shown, "cut", "not served") and states(shown, "late", "not served")
    assert all(part in shown for part in ("model.safetensors ends", "could not be", "2,500,000", "1,234"))
    assert "/secret" not in shown
    assert [code.value for code in opened(test, "good").code] == [CARD]  # text, never a request
    assert "http://127.0.0.1" not in said(test)


@pytest.mark.slow
def test_the_models_page_draws_each_score_beside_its_baselines() -> None:
    subjects: set[str] = set()
    for model in page.compute():
        test = draw("models", **{page.IN_VIEW: model.name})
        assert headers(test) == [model.name]
        charts = range(len(test.get("vega_lite_chart")))
        rows = {bar["name"] for place in charts for bar in drawn_rows(test, "value", place=place)}
        scores = read_scores(shipped_folder() / model.name)
        assert rows == {score.subject for score in scores if score.measure in page.MEASURES}, model.name
        subjects |= rows
    assert {"gpt-mini", "5-gram, modified Kneser-Ney", "translator-en-es"} <= subjects


def test_models_stand_in_groups_by_family() -> None:
    shown = {model.name: model.group for model in page.compute()}
    assert set(page.GROUPS) == set(shown.values())
    encoders = {name for name, group in shown.items() if group == page.ENCODERS}
    assert encoders == {"albert-mini", "bert-mini", "bigbird-mini"}
    test = draw("models", **{page.IN_VIEW: "copy-gru"})
    group = test.button_group(key="models.group")
    assert group.value == page.TOYS and len(group.options) == 6
    group.set_value(page.DECODERS)
    assert headers(again(test)) == ["gpt-mini"]


def test_two_models_are_compared_side_by_side() -> None:
    test = draw("models", models__first="gpt-mini", models__second="translator-en-es")
    table = opened(test, "compare").table[0].value
    assert list(table.columns) == ["gpt-mini", "translator-en-es"]
    assert table.loc["Layers", "gpt-mini"] == "6" and table.loc["Family", "translator-en-es"] == "transformer"
    scores = {(one.subject, one.measure): one.value for one in read_scores(shipped_folder() / "gpt-mini")}
    assert table.loc["bits a byte, prose valid", "gpt-mini"] == f"{scores['gpt-mini', 'bits_per_byte']:.3f}"


def test_the_card_of_a_model_is_shown_with_its_curve_and_its_heads() -> None:
    test = draw("models", **{page.IN_VIEW: "gpt-mini"})
    before = len(test.get("vega_lite_chart"))
    places = range(len(opened(test, "gpt-mini").get("vega_lite_chart")))
    (curve,) = (
        each["data"]["values"]
        for place in places
        for each in find_layers(test, "line", mark="line", place=place)
    )
    training, held = read_training(shipped_folder() / "gpt-mini"), read_heads(shipped_folder() / "gpt-mini")
    assert training is not None and held is not None and len(places) == before + 1
    losses = [dot["y"] for dot in curve if dot["line"] == curve[0]["line"]]
    assert losses == [value for _, value in training.curve("loss")]
    shown = {name for table in test.table for name in table.value.get("head", [])}
    assert shown == {row.name for row in (*habits(held), *linked(held))}
    assert f"{training.steps:,} steps" in said(test) and "curve.svg" not in said(test)
