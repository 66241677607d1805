"""The page of the models: what is damaged, the scores, two beside each other, and a card with its curve."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from drawn_layers import drawn_rows, find_layers
from shown_values import states
from test_pages import drawn, words

from core.analysis.heads.head_file import read_heads
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import read_training
from core.checkpoints.scores import read_scores
from core.models import families
from core.serving.engine import Listing
from core.tools.card_heads import habits, linked
from viz.workspace.models import page


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
        return _Opened(
            name=name,
            family="gpt",
            config=config,
            spec=families()["gpt"],
            n_parameters=2_500_000,
            card="![x](http://127.0.0.1/x.png) my own model",
        )


def test_the_models_page_names_what_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.serving.engine.default", _Engine)
    test = drawn("models")
    assert not test.exception
    assert [element.value for element in test.header] == ["good"]
    shown = words(test)
    assert states(shown, "cut", "not served") and states(shown, "late", "not served")
    assert "model.safetensors ends" in shown
    assert "could not be" in shown
    assert "/secret" not in shown
    assert "2,500,000" in shown
    assert "1,234" in shown
    test.session_state["fold:models.good"] = True
    test.run()
    assert [code.value for code in test.code] == [
        "![x](http://127.0.0.1/x.png) my own model"
    ]  # text, never a request
    assert "http://127.0.0.1" not in words(test)


@pytest.mark.slow
def test_the_models_page_draws_each_score_beside_its_baselines() -> None:
    subjects: set[str] = set()
    for model in page.compute():
        test = drawn("models", **{page.IN_VIEW: model.name})
        assert not test.exception and [element.value.replace("\\", "") for element in test.header] == [
            model.name
        ]
        rows = {
            bar["name"]
            for place in range(len(test.get("vega_lite_chart")))
            for bar in drawn_rows(test, "value", place=place)
        }
        assert rows == {
            score.subject
            for score in read_scores(shipped_folder() / model.name)
            if score.measure in page.MEASURES
        }, model.name
        subjects |= rows
    assert {"gpt-mini", "5-gram, modified Kneser-Ney", "translator-en-es"} <= subjects


def test_models_stand_in_groups_by_family() -> None:
    shown = {model.name: model.group for model in page.compute()}
    assert set(page.GROUPS) == set(shown.values())
    assert {name for name, group in shown.items() if group == page.ENCODERS} == {
        "albert-mini",
        "bert-mini",
        "bigbird-mini",
    }
    test = drawn("models", **{page.IN_VIEW: "copy-gru"})
    (group,) = [pills for pills in test.button_group if pills.key == "models.group"]
    assert group.value == page.TOYS and len(group.options) == 6
    group.set_value(page.DECODERS).run()
    assert [element.value.replace("\\", "") for element in test.header] == ["gpt-mini"]


def test_two_models_are_compared_side_by_side() -> None:
    test = drawn("models", **{"models.first": "gpt-mini", "models.second": "translator-en-es"})
    test.session_state["fold:models.compare"] = True
    test.run()
    assert not test.exception
    table = test.table[0].value
    assert list(table.columns) == ["gpt-mini", "translator-en-es"]
    assert table.loc["Layers", "gpt-mini"] == "6" and table.loc["Family", "translator-en-es"] == "transformer"
    own = next(
        score.value
        for score in read_scores(shipped_folder() / "gpt-mini")
        if score.subject == "gpt-mini" and score.measure == "bits_per_byte"
    )
    assert table.loc["bits a byte, prose valid", "gpt-mini"] == f"{own:.3f}"


def test_the_card_of_a_model_is_shown_with_its_curve_and_its_heads() -> None:
    test = drawn("models", **{page.IN_VIEW: "gpt-mini"})
    before = len(test.get("vega_lite_chart"))
    test.session_state["fold:models.gpt-mini"] = True
    test.run()
    assert not test.exception
    places = range(len(test.get("vega_lite_chart")))
    (curve,) = (
        each["data"]["values"]
        for place in places
        for each in find_layers(test, "line", mark="line", place=place)
    )
    training, held = read_training(shipped_folder() / "gpt-mini"), read_heads(shipped_folder() / "gpt-mini")
    assert training is not None and held is not None and len(places) == before + 1
    assert [dot["y"] for dot in curve if dot["line"] == curve[0]["line"]] == [
        value for _, value in training.curve("loss")
    ]
    shown = {name for table in test.table for name in table.value.get("head", [])}
    assert shown == {row.name for row in (*habits(held), *linked(held))}
    assert f"{training.steps:,} steps" in words(test) and "curve.svg" not in words(test)
