"""The exhibit on freezing, on recorded runs that are written here: no training, the head and, in full, the body moved by noise."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from exhibit_pages import drawn, said
from packets import opened
from safetensors.torch import save_file
from shown_values import states
from streamlit.testing.v1 import AppTest
from test_inside import charts

import core.serving.engine
from core.serving.engine import Engine
from core.training import records
from core.training.finetune import tuning
from core.training.finetune.tuning import TUNINGS
from core.training.finetune.weight_delta import encode_delta
from viz.course.bert.frozen_or_full import exhibit
from viz.course.bert.frozen_or_full.params import TWO
from viz.labels import percent

SLUG = "frozen_or_full"
FOLDS = (
    *(f"{SLUG}.{name}" for name in ("equation", "looking", "table", "take")),
    f"{exhibit.EXHIBIT.text.info.title}.documents",
)
RIGHT = {"opinions": (0.52, 0.96), "pairs": (0.4, 0.71), "answers": (0.05, 0.6), "tags": (0.91, 0.98)}
TITLES = {"opinions": "Opinions", "tags": "Tags"}


def write(folder, name: str, right: float, of) -> None:
    """A recorded run: what learns, moved by noise, and two reports."""
    rng = torch.Generator().manual_seed(len(name))
    weights = {
        key: weight.detach() * (1 + 0.1 * torch.randn(weight.shape, generator=rng))
        for key, weight in tuning.add_head(TUNINGS[name], of).named_parameters()
        if weight.requires_grad
    }
    (folder / name).mkdir(parents=True, exist_ok=True)
    save_file(encode_delta(weights, of.network.state_dict()), folder / name / tuning.WEIGHTS)
    reports = [
        {"step": step, "loss": 1.0, "right": share, "looks": [], "seconds": 0.5 * step}
        for step, share in ((0, 0.1), (40, right))
    ]
    (folder / name / records.LOG).write_text(
        json.dumps({"command": "", "seed": 0, "machine": "1 CPU thread", "reports": reports})
    )


@pytest.fixture(scope="module")
def body():
    return tuning.load_base()


@pytest.fixture(scope="module")
def runs(body, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, shares in RIGHT.items():
        for way, share in zip(("frozen", "full"), shares, strict=True):
            write(folder, f"{name}-{way}", share, body)
    with pytest.MonkeyPatch.context() as patch, Engine() as engine:
        patch.setattr(records, "RUNS", folder)
        patch.setattr(core.serving.engine, "_default", engine)
        yield folder


def page(*folded: str, state: dict[str, object] | None = None, text: str = "", **link: str) -> AppTest:
    values = {f"{SLUG}.{name}": value for name, value in link.items()} | ({"text": text} if text else {})
    test = drawn(SLUG, values, {f"fold:{name}": True for name in folded} | (state or {}))
    assert not test.exception and "went wrong" not in said(test)
    return test


def patterns(test: AppTest) -> list[dict]:
    found = [opened(element.proto.bytes)[0] for element in test.get("bidi_component") if element.proto.bytes]
    return [packet for packet in found if packet.get("scale") == "pattern"]


@pytest.mark.slow
def test_for_which_task_the_head_is_enough(runs, body):
    """C090: side by side, and the answer is what was measured."""
    hidden = page(*FOLDS)
    assert "52%" not in said(hidden) and "91%" not in said(hidden) and "96%" in said(hidden)
    test = page(*FOLDS, state={f"predict:{SLUG}.enough": "Tags"})
    assert (
        "Right." in said(test)
        and states(said(test), "91% frozen", "98% fully fine-tuned")
        and "frozen 52%" in said(test)
    )
    write(runs, "opinions-frozen", 0.95, body)
    try:
        assert "Right." in said(page(state={f"predict:{SLUG}.enough": "Opinions"}))
    finally:
        write(runs, "opinions-frozen", RIGHT["opinions"][0], body)


@pytest.mark.slow
def test_how_many_weights_learn_follows_the_task(runs, body):
    """C090: the count of what learns."""
    for task, answer in (("opinions", "514"), ("tags", "3,084"), ("pairs", "771")):
        hidden = page(*FOLDS, step="2", task=task)
        assert f"frozen {answer}" not in said(hidden)
        test = page(step="2", task=task, state={f"predict:{SLUG}.count": answer})
        total = sum(
            weight.numel()
            for weight in tuning.add_head(TUNINGS[f"{task}-full"], body).parameters()
            if weight.requires_grad
        )
        alone = sum(
            weight.numel()
            for weight in tuning.add_head(TUNINGS[f"{task}-frozen"], body).parameters()
            if weight.requires_grad
        )
        assert (
            "Right." in said(test)
            and states(said(test), f"{total:,} weights", f"{alone:,}")
            and f"{alone:,}" == answer
        )


def test_the_course_over_steps_and_over_seconds(runs):
    for over, end in (("steps", 40), ("seconds", 20)):
        test = page(*FOLDS, step="3", task="tags", over=over)
        assert states(said(test), "40 steps", "20 seconds", "10%", "91%")
        assert "Full fine-tuning: 40 steps" in said(test) and any(
            button.label == "Train it now" for button in test.button
        )
        first = charts(test)[0]
        points = first["tables"]["rows"]
        assert first["encoding"]["x"]["title"] == over and [point["x"] for point in points] == [
            0,
            end,
            0,
            end,
        ]


@pytest.mark.slow
def test_how_far_the_body_went(runs, body):
    """C090: frozen 0, in full what `tuning.moved` says."""
    run = tuning.RecordedRun.read("tags-full")
    moved = tuning.measure_change(run.model("x"), body, run.job)
    names = ["embeddings", *(f"layer {i}" for i in range(6))]
    most = names[int(np.argmax([moved.embeddings, *moved.layers]))]
    hidden = page(*FOLDS, step="4", task="tags")
    assert "every bit" in said(hidden) and f"{percent(moved.body, 2)}" not in said(hidden)
    test = page(*FOLDS, step="4", task="tags", state={f"predict:{SLUG}.far": most})
    assert "Right." in said(test) and states(said(test), percent(moved.body, 2))
    frozen = tuning.RecordedRun.read("tags-frozen")
    assert tuning.measure_change(frozen.model("x"), body, frozen.job).body == 0


@pytest.mark.slow
def test_attention_before_frozen_and_in_full(runs, body):
    """C090: frozen, exactly as before."""
    assert len(patterns(page(*FOLDS, step="5"))) == 2
    for text in ("The soup was not awful.", "Anna is kind."):
        before, frozen, full = (
            model.run(text).attention().weights
            for model in (
                body,
                *(tuning.RecordedRun.read(f"opinions-{way}").model(way) for way in ("frozen", "full")),
            )
        )
        assert np.array_equal(before, frozen)
        change = np.abs(full - before).max((2, 3))
        most = np.unravel_index(change.argmax(), change.shape)
        asked = page(*FOLDS, step="5", text=text)
        assert len(patterns(asked)) == 2
        asked.slider(key=f"predict:{SLUG}.heads").set_value(int((change > 0.5).sum()))
        test = asked.button(key=f"predict:{SLUG}.heads:commit").click().run()
        assert "Exactly: it is" in said(test) and len(patterns(test)) == 3
        assert "every bit" in said(test) and states(
            said(test), f"L{most[0]}.H{most[1]}", f"{change.max():.2f}"
        )
    names: dict = {}
    exec(next(code.value for code in test.code if "abs(after" in code.value), names)
    assert (
        np.abs(names["after"].attention().weights - names["before"].attention().weights).max() == change.max()
    )


@pytest.mark.slow
def test_two_texts_odd_links_and_no_runs(runs, monkeypatch, tmp_path):
    for task in ("pairs", "answers", "tags"):
        test = page(step="5", task=task)
        assert len(patterns(test)) == 2
        test.button(key=f"predict:{SLUG}.heads:commit").click().run()
        assert len(test.text_input) == 1 + (task in TWO) and len(patterns(test)) == 3
    odd = (
        ({"step": "5", "task": "none"}, "word " * 60),
        ({"step": "5", "task": "answers", "second": ""}, "<b>x</b> $y$ 🙂"),
        ({"step": "9", "over": "x", "train": "y"}, ""),
        ({"step": "5"}, ""),
    )
    for link, text in odd:
        test = drawn(
            SLUG,
            {f"{SLUG}.{name}": value for name, value in link.items()}
            | {"text": text, "layer": "77", "head": "x"},
            {},
            guarded=True,
        )
        assert not test.exception and "went wrong" not in said(test), (link, text)
    assert exhibit.thumbnail().count("<rect") >= 8
    monkeypatch.setattr(records, "RUNS", tmp_path)
    for step in (1, 4):
        assert "no recorded run" in said(page(step=str(step)))
    assert exhibit.thumbnail().startswith("<svg")
