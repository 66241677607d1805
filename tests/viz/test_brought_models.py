"""Models that somebody brought: what was made for ours is not said of them, and what is offered is what they can read."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from letters_model import PROTEINS, acids, model
from shown_values import states
from tiny_models import _unmeasured
from workspace_pages import page, said, served_alone

import core
from core.data.texts import texts
from core.errors import InputError
from core.reading import bounds, provenance, surveys
from core.reading.surveys import Surveys
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe, learn_wordpiece
from viz.shell.selection import Selection
from viz.workspace.compare import data as compare
from viz.workspace.decode import pictures
from viz.workspace.shared import head_pills, head_survey, model_run, presets, reading_hints, tasks

LINES = [text for row in texts("presets") for text in (row.text, row.second)]
MARKS = ("<pad>", "<start>", "<end>")


def writer(kind: str = "t5", **changes: int):
    reader = Tokenizer(learn_byte_level_bpe(LINES, 330, MARKS), pad=0, start=1, end=2)
    return replace(model(kind, "titles", reader, **changes), ends=())


BROUGHT = {
    "titles": lambda: writer(),
    "protein": lambda: model("bert", "protein", acids()),
    "genes": lambda: model("llama", "genes", acids(unknown=False)),
    "english": lambda: model(
        "bert", "english", Tokenizer(learn_wordpiece(LINES, 500), pad=0, start=2, end=3, mask=4)
    ),
}


@pytest.fixture(params=BROUGHT)
def brought(request, monkeypatch):
    made = BROUGHT[request.param]()
    yield from served(made, monkeypatch)


@pytest.fixture
def titles(monkeypatch):
    yield from served(writer(), monkeypatch)


def served(made, monkeypatch):
    monkeypatch.setattr(surveys, "_default", Surveys())
    with served_alone(monkeypatch, made, foreign=True):
        yield made


def test_what_is_offered_can_be_read(brought):
    rows, task = presets.fitting(brought), tasks.opening_with(brought)
    readable = brought.name == "english"
    assert bool(rows) == readable
    assert bool(task.text) == (brought.name in ("english", "titles"))
    assert all(row.kind in ("fill", "pair") for row in rows)
    assert presets.preset_in_boxes(brought.name, brought.spec, task.text) is None


@pytest.mark.quick(1)
def test_look_opens_without_a_promise(brought, monkeypatch):
    monkeypatch.setattr("viz.workspace.shared.head_survey.survey", lambda _: _unmeasured(brought))
    test = page("look", model=brought.name)
    for ours in ("A telling error", "Ella tiene", "The opening picture"):
        assert ours not in said(test)
    assert ("Type a sentence" in said(test)) == (brought.name in ("protein", "genes"))
    offers = any("Try a sentence" in str(popover.proto) for popover in test.get("popover"))
    assert offers == bool(presets.fitting(brought))


@pytest.mark.slow
def test_it_writes_and_opens_on_cross_attention(titles):
    test = page("look", model=titles.name)
    assert tasks.task_of(titles.name, titles.spec) is tasks.WRITE
    run = titles.run(tasks.WRITE.text, keep=["*.pattern"])
    measured = head_survey.survey(titles.name)
    assert head_pills.chosen_head(measured, run).kind == "cross"
    assert tasks.written_by(titles) == "text"
    assert tasks.WRITE.chip in [option for group in test.button_group for option in group.options]


def test_an_empty_text_is_asked_for_without_a_word_of_translation(titles):
    with pytest.raises(core.InputError) as refused:
        titles.run(" ")
    assert "translat" not in str(refused.value)


@pytest.mark.parametrize(("kind", "n_ctx"), [("t5", 160), ("t5", 300), ("transformer", 128), ("t5", 40)])
def test_it_reads_as_much_as_its_context_and_the_work_allow(kind, n_ctx, monkeypatch):
    made = replace(writer(kind), config=replace(writer(kind).config, n_ctx=n_ctx))
    monkeypatch.setattr(provenance, "is_foreign", lambda name: True)
    assert bounds.token_limit(made) == n_ctx - bounds.n_special(made)
    work = bounds.FIXED + 20 + 64 + bounds.STEP * 64  # of 20 tokens, and 64 written to them one by one
    monkeypatch.setattr(bounds, "WORK", made.n_parameters * (work + 0.5))
    fewer = bounds.token_limit(made)
    assert fewer == 20
    for _ in served(made, monkeypatch):
        assert states(reading_hints.hint(made, "A text"), f"{fewer} tokens", n_ctx)


def test_ours_keep_their_bound_and_promise():
    ours = core.open_model("translator-en-es")
    assert bounds.token_limit(ours) == bounds.SOURCE
    assert tasks.task_of(ours.name, ours.spec) is tasks.TRANSLATE
    assert presets.preset_in_boxes(ours.name, ours.spec, "She has a white car.") is not None
    assert pictures.is_shipped(ours.name)


def test_heads_of_a_model_that_reads_no_english_are_not_named(monkeypatch):
    made = BROUGHT["protein"]()
    for _ in served(made, monkeypatch):
        heads = head_survey.survey(made.name)["self"]
        assert heads.label(0, 0) == "not named"
        assert "near-uniform" not in said(page("look", model=made.name, text=PROTEINS[0]))


def test_the_head_that_a_link_opens_does_not_wait_for_the_survey(brought, monkeypatch):
    """Before and after the heads are measured in the background the most telling head of this run opens."""
    text = (
        PROTEINS[0] if brought.name in ("protein", "genes") else "The animal was tired and the animal slept."
    )
    run = brought.run(text)
    monkeypatch.setattr(head_pills.state, "read", lambda _, default=None, *rules: default)
    before = head_survey.survey_of_run(run)
    turned = {
        kind: replace(one, scores={name: -values for name, values in one.scores.items()})
        for kind, one in before.items()
    }
    assert head_pills.chosen_head(before, run) == head_pills.chosen_head(turned, run)
    monkeypatch.setattr(head_survey.engine_client, "run", lambda *_, **__: run)
    monkeypatch.setattr(model_run, "open_model", lambda _: brought)
    pairs = []
    for survey in (before, turned):
        monkeypatch.setattr(head_survey, "survey", lambda _, held=survey: held)
        pairs.append(compare.opening(Selection(brought.name, text)))
    assert pairs[0] == pairs[1]  # Compare opens on the same two heads, too
    assert head_pills.chosen_head(before, run).kind in brought.run(text).kinds


def test_a_text_that_its_writer_cannot_read_back_is_named_as_such(monkeypatch) -> None:
    def run_with(selection, keep):
        if selection.target is None:
            return SimpleNamespace(target_text="\ufffd" * 61)
        raise InputError("The text has 166 tokens.", "tiny reads at most 61 at once.", "Shorten the text.")

    writer = SimpleNamespace(spec=SimpleNamespace(has_source=True))
    monkeypatch.setattr(model_run, "open_model", lambda name: writer)
    monkeypatch.setattr(model_run, "run_with", run_with)
    with pytest.raises(InputError) as problem:
        model_run.fixed(Selection("tiny", "She has a white car."), ())
    assert "tiny" in problem.value.wrong and {"166", "61"} <= set(problem.value.rule.split())
