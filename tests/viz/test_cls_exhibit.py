"""A class from [CLS]: its numbers computed again on tunings of a few steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tuned_runs
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from packets import opened, packets_of, unpacked
from shown_values import states

from core.edits import Scale
from core.serving.engine import default
from core.training import records
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS
from viz.course.bert import tuning_live
from viz.course.bert.cls_and_pairs import exhibit, maths, read, training
from viz.course.bert.cls_and_pairs.pairs import ORDER, WORDS
from viz.course.bert.cls_and_pairs.params import CLASSES, PAIRS
from viz.labels import literal, percent

TEXT = "The soup was not awful."
SINGLE, PAIRED = "recorded: opinions-full", "recorded: pairs-full"
page = StepPages("cls_and_pairs")


@pytest.fixture(scope="module", autouse=True)
def _runs(tmp_path_factory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("runs")
    with (
        pytest.MonkeyPatch.context() as patch,
        tuned_runs.recorded(patch, folder, "opinions-full", "pairs-full", shipped=True),
    ):
        yield


def bars(test, place: int) -> dict[str, float]:
    return {row["name"]: row["value"] for row in drawn_rows(test, "value", mark="bar", place=place)}


def heatmaps(test) -> list[bytes]:
    return [packet for packet in packets_of(test) if {"scale", "axis"} <= {*opened(packet)[0]}]


def classify(text: str, pair: str | None = None, edits=()) -> maths.Classification:
    model = default().open(SINGLE if pair is None else PAIRED)
    return maths.classify(model.run(text, pair=pair, keep=maths.KEEP, edits=edits))


@pytest.mark.slow
def test_the_class_waits_for_the_guess_and_follows_the_sentence():
    """C086."""
    found = classify(TEXT)
    new = maths.with_new_head(tuning.TUNINGS["opinions-full"], default().open(tuning_live.BEFORE), 0)
    untaught = maths.classify(new.run(TEXT, keep=maths.KEEP)).chances
    test = page(guess={"class": CLASSES[0]}, text=TEXT)
    assert list(bars(test, 0).values()) == pytest.approx(untaught.tolist())
    assert list(bars(test, 1).values()) == pytest.approx(found.chances.tolist())
    assert percent(found.chances[found.best]) in said(test)
    for text in ("Awful.", "Lovely.", TEXT, "no"):
        assert page.answer(page(text=text), "class") == CLASSES[classify(text).best]


def test_what_cls_reads_before_and_after_side_by_side():
    test = page(2, guess={"gains": "not"}, text=TEXT, head=1)
    maps = heatmaps(test)
    assert [opened(each)[0]["title"] for each in maps] == ["Before tuning", "After tuning"]
    rows = [maths.reads(default().open(name).run(TEXT))[:, 1] for name in (tuning_live.BEFORE, SINGLE)]
    for packet, wanted in zip(maps, rows, strict=True):
        np.testing.assert_allclose(unpacked(packet, page=packets_of(test)), wanted, atol=1e-6)
    gain = rows[1][-1] - rows[0][-1]
    assert default().open(SINGLE).run(TEXT).tokens[int(gain.argmax())] in page.answer(test, "gains")


@pytest.mark.slow
def test_the_arithmetic_is_that_of_the_run():
    found = classify(TEXT)
    for label in (0, 1):
        test, terms = answered(page(3, text=TEXT, label=label)), found.terms(label)
        assert page.answer(test, "speak") == (terms > 0).sum()
        i = int(np.abs(terms).argmax())
        assert f"{found.chances[label]:.4f}" in said(test) and f"The largest: h{i} · W{i}" in said(test)


def test_the_gradient_reaches_one_place_directly():
    """C086."""
    assert not heatmaps(page(4))
    test = page(4, guess={"arrives": "1"}, text=TEXT, label=1)
    run = default().open(SINGLE).run(TEXT, keep=maths.KEEP)
    found, n = maths.arrives(run, 1), len(run.ids)
    (packet,) = heatmaps(test)
    values = np.nan_to_num(unpacked(packet, page=packets_of(test)))
    np.testing.assert_allclose(values, (found / found.sum(1, keepdims=True))[::-1], atol=1e-5)
    assert page.answer(test, "arrives") == "1" and states(said(test), f"1 of {n} positions", f"{n} of {n}")


@pytest.mark.slow
def test_a_pair_is_swapped_and_read_without_segments():
    """C087."""
    a, b = PAIRS[0]
    with_segments, without = (
        [classify(*way, edits=edits).chances[ORDER] for way in ((a, b), (b, a))]
        for edits in ((), (Scale("embed.segment", 0.0),))
    )
    before = page(5)
    assert page.answer(before, "swap") == WORDS[int(with_segments[1].argmax())]
    assert bars(before, 0) == pytest.approx(dict(zip(WORDS, with_segments[0], strict=True)))
    test = page(5, guess={"swap": WORDS[0]}, segments=0)
    for place in (0, 1):
        assert list(bars(test, place).values()) == pytest.approx(without[place].tolist(), abs=1e-6)
    moved = 0.5 * np.abs(with_segments[0] - without[0]).sum()
    assert f"{percent(moved, 2)} of the probability" in said(test)
    swapped = before.button(key="cls_and_pairs.swap.button").click().run()
    assert swapped.query_params["cls_and_pairs.first"] in (b, [b])
    assert list(bars(swapped, 0).values()) == pytest.approx(with_segments[1].tolist())


@pytest.mark.slow
def test_the_errors_are_those_of_the_model_and_wait_for_the_guess():
    found = maths.checked(default().open(SINGLE), GOALS["opinions"], tuning.CHECKED, 0)
    before = page(6)
    assert not before.table and "other English" in said(before)
    test = answered(before)
    assert states(said(test), f"{found.right.sum()} of {tuning.CHECKED}")
    for kind, (well, of) in found.by(training.KINDS["opinions"]).items():
        assert f"{kind}: {well} of {of}" in said(test)
    errors = [literal(found.items[at].text) for at in found.errors()[: training.MOST]]
    assert test.table[0].value["text"].tolist() == errors
    assert states(said(page(6, goal="pairs")), "pairs")


@pytest.mark.slow
def test_without_recorded_runs_every_step_offers_the_live_one(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RUNS", tmp_path)
    for step in range(1, 7):
        test = page(step)
        assert tuning_live.MISSING in said(test)
        assert any(one.label == "Train it now" for one in test.button)
    assert read.read(TEXT, None, 0).classification.chances.sum() == pytest.approx(1)
    assert exhibit.thumbnail().startswith("<svg")
