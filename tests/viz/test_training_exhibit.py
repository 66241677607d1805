"""The exhibit on training and inference on a small random translator: its questions, pictures, numbers and the button."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import tiny_models
from drawn_layers import all_rows, drawn_rows, find_layers
from exhibit_pages import chart, drawn, said, said_and_set
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from viz import theme
from viz.course.exhibit import fill_in
from viz.course.transformer.training_and_inference import exhibit, greedy, learn, teacher_forcing_steps, write
from viz.course.transformer.training_and_inference.charts import learned_task, teacher_forcing
from viz.course.transformer.training_and_inference.parallel_decoder import at_once
from viz.course.transformer.training_and_inference.params import FACTORS, MODEL, SLUG, as_words
from viz.number_text import tiny

FOLDS = [f"fold:training_and_inference.{name}" for name in ("equation", "looking", "table", "take")] + [
    f"fold:{exhibit.EXHIBIT.text.info.title}.documents"
]


@pytest.fixture(scope="module", autouse=True)
def _engine(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, MODEL, ("transformer", {}))
        patch.setattr(
            "viz.course.transformer.training_and_inference.parallel_decoder.LONGEST", 24
        )  # its tokenizer cuts the opening pair into more pieces
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), MODEL):
            yield


def model():
    return core.serving.engine.default().open(MODEL)


def page(step: int, *folds: str, guess: tuple[str, object] | None = None, **link: str) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    start = {"text": "You are welcome.", "target": "De nada."} if "text" not in link else {}
    names = start | {
        name if name in ("text", "target") else SLUG + name: value for name, value in link.items()
    }
    return drawn(
        "training_and_inference",
        {SLUG + "step": str(step)} | names,
        dict.fromkeys(folds, True) | answered,
        guarded=True,
    )


def texts(test: AppTest, place: int = 0) -> list[str]:
    """All words that are drawn in a chart."""
    return [
        row["text"] for layer in chart(test, place) for row in layer if "text" in row and "fill" not in row
    ]


def bars(test: AppTest) -> list[dict]:
    """The rows of a chart whose layers share them."""
    return drawn_rows(test, mark="bar")


@pytest.mark.slow
def test_no_step_needs_plotly():
    assert not any(page(step).get("plotly_chart") for step in range(1, 7))


@pytest.mark.slow
def test_the_shift_is_covered_and_then_shown():
    """C055."""
    found = at_once(model(), "You are welcome.", "De nada.")
    read, wanted = as_words(found.read), as_words(found.target)
    before, after = page(1, *FOLDS), page(1, guess=("shift", read[1]))
    assert texts(before).count("?") == len(wanted) - 1 and "Right" in said(after) and "?" not in texts(after)
    assert all(token in texts(after) for token in (*read, *wanted))
    straight = page(1, guess=("shift", read[1]), shift="0")
    assert states(said(straight), f"{found.unshifted.mean():.2f} nats")
    other = at_once(model(), "I am a student.", "Soy.")
    assert "Right" in said(
        page(1, guess=("shift", as_words(other.read)[1]), text="I am a student.", target="Soy.")
    )


@pytest.mark.slow
def test_the_losses_of_all_places_wait_for_the_guess():
    """C074."""
    found = at_once(model(), "You are welcome.", "De nada.")
    before = page(2, *FOLDS)
    assert (
        {row["label"] for row in bars(before)} == {"?"}
        and {row["value"] for row in bars(before)} == {0}
        and f"{found.losses.mean():.4f}" not in said_and_set(before)
    )
    places = [f"{i + 1}: {token}" for i, token in enumerate(as_words(found.target))]
    after = page(2, FOLDS[0], guess=("most", places[int(found.losses.argmax())]))
    assert "Right" in said(after) and [row["label"] for row in bars(after)] == [
        f"{value:.3f}" for value in found.losses
    ]
    assert [row["value"] for row in bars(after)] == pytest.approx(found.losses, abs=1e-6) and [
        row["name"].rpartition(" → ")[2] for row in bars(after)
    ] == [teacher_forcing.token_name(token) for token in as_words(found.target)]
    assert states(said_and_set(after), f"{found.losses.mean():.4f}")


@pytest.mark.slow
def test_step_by_step_has_the_same_scores():
    """C075."""
    found = at_once(model(), "You are welcome.", "De nada.")
    m = len(found.target)
    test = page(3)
    assert states(said(test), "1 pass", f"{m} passes") and states(
        said(test), tiny(float(found.differences.max()))
    )
    shown = [text for text in texts(test) if text.startswith(("0.", "1."))]
    assert len(shown) == 2 * m and shown[:m] == [f"{np.exp(-loss):.4f}" for loss in found.losses] == shown[m:]
    first = page(3, passes="1")
    assert len([text for text in texts(first) if text.startswith(("0.", "1."))]) == 2


@pytest.mark.slow
def test_a_press_takes_one_step_and_leaves_the_shipped_weights():
    weights = {name: value.clone() for name, value in model().network.state_dict().items()}
    steps = list(teacher_forcing_steps.teach(model(), "You are welcome.", "De nada."))
    before = page(4)
    assert states(said(before), f"{steps[0].loss:.3f} nats")
    gained = steps[0].losses - steps[1].losses
    found = at_once(model(), "You are welcome.", "De nada.")
    places = [f"{i + 1}: {token}" for i, token in enumerate(as_words(found.target))]
    assert "Right" in said(page(4, guess=("gain", places[int(gained.argmax())])))
    test = before.button(key=SLUG + "go").click().run()
    assert not test.exception and test.query_params[SLUG + "steps"] == "1"
    assert states(said(test), f"{steps[0].loss:.3f}", f"{steps[1].loss:.3f}", f"{steps[1].changed:,} weights")
    test = test.button(key=SLUG + "go").click().run()
    curves = pd.DataFrame(drawn_rows(test, mark="line", place=1)).pivot(index="x", columns="line", values="y")
    assert curves.pop("mean").tolist() == pytest.approx([each.loss for each in steps[:3]], abs=1e-5)
    np.testing.assert_allclose(curves, [each.losses for each in steps[:3]], atol=1e-5)
    for group, step in (("before", steps[0]), ("now", steps[2])):
        values = [bar["value"] for bar in bars(test) if bar["group"] == group]
        np.testing.assert_allclose(values, step.losses, atol=1e-5)
    assert all((weights[name] == value).all() for name, value in model().network.state_dict().items())
    assert test.button(key=SLUG + "again").click().run().query_params.get(SLUG + "steps") is None
    last = page(4, steps=str(teacher_forcing_steps.MOST))
    assert last.button(key=SLUG + "go").disabled and f"{teacher_forcing_steps.MOST} steps" in said(last)


@pytest.mark.slow
def test_adam_and_another_rate_are_other_steps():
    steps = list(teacher_forcing_steps.teach(model(), "You are welcome.", "De nada.", "Adam", 4.0))
    assert f"to {steps[2].loss:.3f}" in said(page(4, steps="2", rule="Adam", rate="4"))
    assert len({FACTORS, (0.25, 1.0, 4.0)}) == 1


@pytest.mark.slow
def test_the_bars_of_the_last_layer_add_up_and_follow_the_temperature():
    """C073."""
    found = at_once(model(), "You are welcome.", "De nada.")
    for heat in ("1", "2"):
        test = page(5, temperature=heat, place="1")
        z = found.logits[1] / float(heat)
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        shares = [row["value"] for row in bars(test)]
        np.testing.assert_allclose(shares[:-1], np.sort(p)[::-1][: write.TOP], rtol=1e-5)
        assert sum(shares) == pytest.approx(1) and states(said(test), f"{p.sum():.6f}")


@pytest.mark.slow
def test_greedy_is_not_always_best():
    """E54, C077."""
    before, after = page(6, *FOLDS), page(6, guess=("best", "b"))
    assert (
        "0.36" not in json.dumps(chart(before))
        and {row["x"] for row in drawn_rows(before, mark="line")} == {0, 1}
        and "0.36" not in said_and_set(before)
    )
    assert "Right" in said(after) and states(said(after), "0.5 × 0.4 = 0.20", "0.4 × 0.9 = 0.36")
    first, _ = greedy.by_model(model(), "a cat")
    test = page(6, where="model", sentence="a cat")
    assert not test.exception and f"{first.total:.4f}" in said(test)
    ways = drawn_rows(test, mark="line")
    greedy_way = [row["y"] for row in ways if row["line"].startswith("greedy")]
    assert greedy_way[1:] == pytest.approx(first.products)


@pytest.mark.slow
def test_an_example_sets_both_sentences():
    test = page(1)
    pills = next(one for one in test.get("button_group") if one.key == SLUG + "pairs")
    test = pills.set_value(3).run()
    assert (
        not test.exception
        and test.query_params["target"] == "Soy estudiante."
        and test.text_input[1].value == "Soy estudiante."
    )


@pytest.mark.slow
def test_the_lines_to_take_away_make_the_same_numbers(monkeypatch):
    monkeypatch.setattr("core.open_model", lambda name: model())
    names: dict[str, object] = {}
    params = exhibit.Params("You are welcome.", "De nada.")
    first, *_, learnt, last, _ = (step.code for step in exhibit.EXHIBIT.text.steps)
    values = {"model": MODEL, "most": learn.MOST, "place": 1, "heat": 2.0, "top": write.TOP}
    for code in (
        *(fill_in(lines, values, params) for lines in (first, learnt, last)),
        write._ways_code("paper", ""),
        write._ways_code("model", "a cat"),
    ):
        exec(code, names)
    assert names["found"].losses == pytest.approx(exhibit.compute(params).losses)
    assert names["steps"][2].loss == pytest.approx(
        [*teacher_forcing_steps.teach(model(), params.text, params.target)][2].loss
    )


@pytest.mark.slow
def test_the_two_rows_and_their_arrows():
    figure = teacher_forcing.rows(["De", "nada", "END"], ["START", "De", None], selected=1)
    tiles, lines = drawn_rows(figure, mark="rect"), drawn_rows(figure, mark="rule")
    assert [row["token"] for row in tiles] == ["De", "nada", "END", "START", "De", "?"]
    assert [row["token"] for row in tiles if row["edge"] == theme.CATEGORICAL[1]] == ["nada", "De"]
    assert [(row["x"], round(row["x2"])) for row in lines] == [(0, 1)]
    assert lines == drawn_rows(figure, mark="point"), "each line has its head"
    (hidden,) = (
        each
        for each in find_layers(figure, "text", mark="text")
        if [row["text"] for row in each["data"]["values"]] == ["?"]
    )
    assert hidden["mark"]["color"] == theme.CATEGORICAL[1]
    assert any(row["text"].startswith("target") for row in all_rows(figure, "text", mark="text"))
    straight = teacher_forcing.rows(["<b>"] * 8, ["a"] * 8, arrows=False)
    lines = drawn_rows(straight, mark="rule")
    assert [(row["y"], row["y2"]) for row in lines] == [(t, t) for t in range(8)]
    assert all(row["x2"] > row["x"] for row in lines)
    texts = [row["text"] for row in all_rows(straight, "text", mark="text")]
    assert texts.count("<b>") == 8, "a text mark, never markup"


@pytest.mark.quick(1)
@pytest.mark.parametrize("n", [2, 5, 11])
def test_the_passes_as_tiles(n):
    read, p = ["START", *(f"w{t}" for t in range(1, n))], np.linspace(0.3, 0.9, n)
    figure = teacher_forcing.passes(read, [*read[1:], "END"], p, p, n - 1)
    tiles = drawn_rows(figure, mark="rect")
    assert (
        len(tiles) == n * (n + 1) // 2
        and [row["token"] for row in tiles if row["fill"] == theme.SEQUENTIAL[3]] == read[: n - 1]
    )
    assert sum(row["fill"] == theme.BACKGROUND for row in tiles) == n and all(
        row["token"] == "∅" for row in tiles[-n:]
    )
    newest = {(round(row["y"]), row["token"]) for row in all_rows(figure, mark="text") if "token" in row}
    assert newest >= set(enumerate(read[: n - 1]))
    losses = [
        [row.get("text") for row in each["data"]["values"]] for each in find_layers(figure, mark="text")
    ]
    assert losses.count([f"{value:.4f}" for value in p[: n - 1]]) == 2


@pytest.mark.slow
def test_names_at_the_ends_of_two_ways():
    ways = (("greedy", ["a", "c", "END"], [0.5, 0.2, 0.1]), ("best", ["a", "d", "END"], [0.5, 0.18, 0.15]))
    figure = learned_task.products(ways, [[0.1, 0.05, 0.01]], parts=1)
    ends = [row["text"] for row in drawn_rows(figure, "text", mark="text")]
    labels = [row["label"] for row in drawn_rows(figure, "label", mark="text") if row.get("label")]
    assert ends == [["greedy 0.10"], ["best 0.15"]] and labels == ["a", "c", "d"]
    covered = learned_task.products(ways, [[0.1, 0.05, 0.01]], covered=True, parts=1)
    assert {row["x"] for row in drawn_rows(covered, mark="line")} == {0, 1}
    assert not any(row.get("label") for row in all_rows(covered))


def test_no_markup_and_a_thumbnail():
    assert teacher_forcing.token_name(" <b>") == "<b>" and exhibit.thumbnail().count("<rect") >= 2
