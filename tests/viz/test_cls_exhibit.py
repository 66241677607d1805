"""A class from [CLS]: each step by AppTest on tunings of a few steps, its numbers computed again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tuned_runs
from exhibit_pages import drawn, said, said_and_set
from packets import opened, unpacked
from shown_values import states
from streamlit.testing.v1 import AppTest
from test_inside import charts, data
from test_look_page import named, packets

import core.serving.engine
from core.edits import Scale
from core.training import records
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS
from viz.course.bert import tuning_live
from viz.course.bert.cls_and_pairs import exhibit, maths, read, training
from viz.course.bert.cls_and_pairs.pairs import ORDER, WORDS
from viz.course.bert.cls_and_pairs.params import CLASSES, PAIRS, SLUG
from viz.labels import literal, percent

FOLDS = [f"fold:cls_and_pairs.{name}" for name in ("equation", "looking", "table", "take")] + [
    f"fold:{exhibit.EXHIBIT.text.info.title}.documents"
]
TEXT = "The soup was not awful."
SINGLE, PAIRED = "recorded: opinions-full", "recorded: pairs-full"


@pytest.fixture(scope="module", autouse=True)
def _runs(tmp_path_factory) -> Iterator[None]:
    with (
        pytest.MonkeyPatch.context() as patch,
        tuned_runs.recorded(
            patch, tmp_path_factory.mktemp("runs"), "opinions-full", "pairs-full", shipped=True
        ),
    ):
        yield


def page(step: int, *folds: str, guess: tuple[str, object] | None = None, **link: str) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    names = {name if name == "text" else SLUG + name: value for name, value in link.items()}
    return drawn(
        "cls_and_pairs",
        {SLUG + "step": str(step)} | names,
        dict.fromkeys(folds, True) | answered,
        guarded=True,
    )


def right(test: AppTest, question: str):
    """The answer that the page holds for a question."""
    return test.session_state[f"predict:{SLUG}{question}:asked"]["of"][2]


def bars(test: AppTest, place: int) -> dict[str, float]:
    return {row["name"]: row["value"] for row in data(charts(test)[place])}


def classify_text(model: str, text: str, pair: str | None = None, edits=()) -> maths.Classification:
    return maths.classify(
        core.serving.engine.default().open(model).run(text, pair=pair, keep=maths.KEEP, edits=edits)
    )


@pytest.mark.quick(2)
@pytest.mark.parametrize("step", range(1, 7))
def test_every_step_has_a_picture_and_a_question(step):
    test = page(step)
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.text.info.title
    assert test.get("vega_lite_chart") or test.get("bidi_component")
    assert "went wrong" not in said(test) and "Predict, then look" in said(test)


@pytest.mark.slow
def test_the_class_waits_for_the_guess_and_follows_the_sentence():
    """C086."""
    before = page(1, *FOLDS, text=TEXT)
    told = classify_text(SINGLE, TEXT)
    assert right(before, "class") == CLASSES[told.best] and len(before.get("vega_lite_chart")) == 1
    assert f"{percent(told.chances[told.best])}" not in said_and_set(before)
    new = maths.with_new_head(
        tuning.TUNINGS["opinions-full"], core.serving.engine.default().open(tuning_live.BEFORE), 0
    )
    untaught = maths.classify(new.run(TEXT, keep=maths.KEEP)).chances
    assert list(bars(before, 0).values()) == pytest.approx(untaught.tolist())
    after = page(1, guess=("class", CLASSES[0]), text=TEXT)
    assert list(bars(after, 1).values()) == pytest.approx(
        told.chances.tolist()
    ) and f"{percent(told.chances[told.best])}" in said(after)
    answers = {
        right(page(1, text=text), "class")
        for text in ("Awful.", "Lovely.", TEXT, "no", "The school was dirty.", "sweet fresh cake")
    }
    found = {
        CLASSES[classify_text(SINGLE, text).best]
        for text in ("Awful.", "Lovely.", TEXT, "no", "The school was dirty.", "sweet fresh cake")
    }
    assert answers == found


def test_what_cls_reads_before_and_after_side_by_side():
    before = page(2, text=TEXT)
    assert len(named(before, "scale", "axis")) == 1
    test = page(2, guess=("gains", "not"), text=TEXT, head="1")
    maps = named(test, "scale", "axis")
    assert [opened(one)[0]["title"] for one in maps] == ["Before tuning", "After tuning"]
    engine = core.serving.engine.default()
    rows = [maths.reads(engine.open(name).run(TEXT))[:, 1] for name in (tuning_live.BEFORE, SINGLE)]
    for packet, wanted in zip(maps, rows, strict=True):
        np.testing.assert_allclose(unpacked(packet, page=packets(test)), wanted, atol=1e-6)
    gain = rows[1][-1] - rows[0][-1]
    assert engine.open(SINGLE).run(TEXT).tokens[int(gain.argmax())] in right(test, "gains")


@pytest.mark.slow
def test_the_arithmetic_is_that_of_the_run():
    told = classify_text(SINGLE, TEXT)
    test = page(3, *FOLDS, text=TEXT, label="0")
    asked = test.session_state[f"predict:{SLUG}speak:asked"]["of"]
    assert asked[3] == int((told.terms(0) > 0).sum()) and f"{told.chances[0]:.4f}" not in said_and_set(test)
    done = test.button(key=f"predict:{SLUG}speak:commit").click().run()
    assert f"{told.chances[0]:.4f}" in said(done)
    added = told.terms(0)
    i = int(np.argmax(np.abs(added)))
    assert f"The largest: h{i} · W{i}" in said(done)
    other = page(3, text=TEXT, label="1")
    assert (
        other.session_state[f"predict:{SLUG}speak:asked"]["of"][3]
        == int((told.terms(1) > 0).sum())
        != asked[3]
    )


def test_the_gradient_reaches_one_place_directly():
    """C086."""
    before = page(4, *FOLDS, text=TEXT, label="1")
    assert right(before, "arrives") == "1" and not named(before, "scale", "axis")
    test = page(4, guess=("arrives", "1"), text=TEXT, label="1")
    run = core.serving.engine.default().open(SINGLE).run(TEXT, keep=maths.KEEP)
    found = maths.arrives(run, 1)
    (packet,) = named(test, "scale", "axis")
    shares = found / found.sum(1, keepdims=True)
    drawn_map = unpacked(packet, page=packets(test))
    np.testing.assert_allclose(np.nan_to_num(drawn_map), shares[::-1], atol=1e-5)
    n = len(run.ids)
    assert states(said(test), f"1 of {n} positions", f"{n} of {n}")


@pytest.mark.slow
def test_a_pair_is_swapped_and_read_without_segments():
    """C087."""
    a, b = PAIRS[0]
    before = page(5, *FOLDS)
    chances = {
        on: [
            classify_text(PAIRED, *way, edits=() if on else (Scale("embed.segment", 0.0),)).chances[ORDER]
            for way in ((a, b), (b, a))
        ]
        for on in (True, False)
    }
    assert (
        right(before, "swap") == WORDS[int(chances[True][1].argmax())]
        and len(before.get("vega_lite_chart")) == 1
    )
    assert (
        list(bars(before, 0).values()) == pytest.approx(chances[True][0].tolist())
        and list(bars(before, 0)) == WORDS
    )
    test = page(5, guess=("swap", WORDS[0]), segments="0")
    assert list(bars(test, 0).values()) == pytest.approx(chances[False][0].tolist(), abs=1e-6)
    assert list(bars(test, 1).values()) == pytest.approx(chances[False][1].tolist(), abs=1e-6)
    moved = 0.5 * np.abs(chances[True][0] - chances[False][0]).sum()
    assert f"{percent(moved, 2)} of the probability" in said(test)
    swapped = before.button(key=SLUG + "swap.button").click().run()
    assert swapped.query_params[SLUG + "first"] in (b, [b]) and list(
        bars(swapped, 0).values()
    ) == pytest.approx(chances[True][1].tolist())


@pytest.mark.slow
def test_the_errors_are_those_of_the_model_and_wait_for_the_guess():
    found = maths.checked(core.serving.engine.default().open(SINGLE), GOALS["opinions"], tuning.CHECKED, 0)
    by = found.by(training.KINDS["opinions"])
    before = page(6)
    assert not before.table and "other English" in said(before)
    test = before.button(key=f"predict:{SLUG}right.opinions:commit").click().run()
    assert states(said(test), f"{found.right.sum()} of {tuning.CHECKED}")
    assert all(f"{kind}: {well} of {of}" in said(test) for kind, (well, of) in by.items())
    assert test.table[0].value["text"].tolist() == [
        literal(found.items[at].text) for at in found.errors()[: training.MOST]
    ]
    pairs = page(6, goal="pairs")
    assert not pairs.exception and "pairs were right" in said(pairs)


@pytest.mark.slow
def test_without_recorded_runs_every_step_offers_the_live_one(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RUNS", tmp_path)
    for step in range(1, 7):
        test = page(step, *FOLDS)
        assert (
            not test.exception
            and tuning_live.MISSING in said(test)
            and any(one.label == "Train it now" for one in test.button)
        )
    assert read.read(TEXT, None, 0).classification.chances.sum() == pytest.approx(
        1
    ) and exhibit.thumbnail().startswith("<svg")


@pytest.mark.slow
def test_texts_of_visitors_never_crash():
    for text in ("", "no", "word " * 300, "<b>*not*</b> $x$"):
        for step in (1, 4):
            assert not page(step, text=text).exception
        assert not page(5, first=text, second="").exception
    assert "draws up to" in said(page(1, text="word " * 300))
    test = page(3, label="9", head="x", goal="fly", segments="5")
    assert not test.exception and "cannot be shown" in said(test)
