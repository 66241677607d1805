"""Every page with one tiny model of every shape: it draws a picture, or says in words what the model lacks; nothing is our fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from model_shapes import SHAPES, served_shapes, write
from shown_values import states
from streamlit.testing.v1 import AppTest
from tiny_models import _unmeasured
from workspace_pages import page, said

import core
from core.abilities import ABILITIES
from core.analysis.heads.head_survey import average_results, scores_or_reason, survey_steps
from core.checkpoints.load import inspect
from core.data.texts import Example
from core.model import Model
from core.reading.surveys import SurveyProgress
from viz.shell import errors
from viz.widgets.pins import View
from viz.workspace.compare import page as compare
from viz.workspace.find import pool
from viz.workspace.importance import work
from viz.workspace.shared import tasks
from viz.workspace.your_model import data

VIEWS: dict[str, tuple[str, dict[str, str]]] = {
    "look": ("look", {}),
    "look-grid": ("look", {"view": "heads"}),
    "look-full": ("look", {"view": "full"}),
    "look-pair": ("look", {"view": "full", "pair": "She has a white car."}),
    "look-tokens": ("look", {"view": "full", "look.by": "token"}),
    "decode": ("decode", {"decode.n": "3"}),
    "decode-beam": ("decode", {"decode.beam": "3"}),
    "decode-guess": ("decode", {"decode.show": "Guess the next word"}),
    "decode-prompts": ("decode", {"decode.show": "Prompts"}),
    "decode-forcing": ("decode", {"decode.show": "Training and inference"}),
    "decode-cache": ("decode", {"decode.show": "What is kept"}),
    "compare": ("compare", {}),
    "compare-written": ("compare", {"kind": "causal"}),
    "what_if": ("what_if", {}),
    "what_if-none": ("what_if", {"edits": "none"}),
    "inside-guesses": ("inside", {}),
    "inside-who": ("inside", {"inside.by": "who"}),
    "inside-ripple": ("inside", {"inside.by": "ripple"}),
    "importance": ("importance", {}),
    "importance-many": ("importance", {"importance.by": "many"}),
    "importance-words": ("importance", {"importance.by": "words"}),
    "importance-patch": ("importance", {"importance.by": "patch"}),
    "find-like": ("find", {}),
    "find-map": ("find", {"find.by": "map"}),
    "find-kinds": ("find", {"find.by": "kinds"}),
    "find-sketch": ("find", {"find.by": "sketch"}),
    "find-scatter": ("find", {"find.by": "scatter"}),
    "find-corpus": ("find", {"find.by": "corpus"}),
    "many_texts": ("many_texts", {}),
    "many_texts-heads": ("many_texts", {"many_texts.by": "heads"}),
    "many_texts-patterns": ("many_texts", {"many_texts.by": "patterns"}),
    "be_the_head": ("be_the_head", {}),
    "whole_model": ("whole_model", {}),
    "your_model": ("your_model", {}),
}
PICTURES = ("bidi_component", "vega_lite_chart", "plotly_chart", "arrow_data_frame")


@pytest.fixture(scope="module", params=list(SHAPES))
def shape(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model of this shape, and no other, behind the pages."""
    folder: Path = tmp_path_factory.mktemp("shapes")
    with pytest.MonkeyPatch.context() as patch, served_shapes(patch, folder, request.param):
        patch.setattr(data, "survey", lambda model, _: SurveyProgress(heads=_unmeasured(model)))
        patch.setattr(work, "SENTENCES", 2)
        pairs = (Example("The cat sat.", "El gato."),) * 3
        patch.setattr(pool, "sentences", lambda found: pool.own_items(found.models[0])[:2] or pairs)
        yield request.param


def drawn(test: AppTest) -> bool:
    return any(test.get(kind) for kind in PICTURES)


@pytest.mark.quick(len(SHAPES) + 1)  # each shape at least once, with other views
@pytest.mark.parametrize("view", list(VIEWS))
def test_a_page_draws_or_refuses_in_words(shape: str, view: str) -> None:
    slug, query = VIEWS[view]
    told = errors.count()
    test = page(slug, model=shape, **query)
    words = ("This page cannot show", "no attention to look at")
    refuses = errors.count() > told or any(each in said(test) for each in words)
    assert drawn(test) or refuses, said(test)[-600:]


def test_a_model_that_cannot_read_our_sentences_is_left_out_of_find_and_a_large_one_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_shapes(monkeypatch, tmp_path, "one-head", "context-of-16", "bytes"):
        text = "The animal didn't cross the street because it was too tired."
        monkeypatch.setattr(pool, "sentences", lambda _: (Example(text),) * 3)
        test = page("find", model="one-head")
        assert states(said(test), "context-of-16", "16 tokens") and drawn(test)
        assert states(said(page("find", model="context-of-16")), "16 tokens")
        monkeypatch.setattr(pool, "AT_ANY_RATE", 0)
        waiting = page("find", model="one-head", find__with="bytes")
        (choice,) = (one for one in waiting.button_group if "models of yours" in one.label)
        assert {name.replace("\\", "") for name in choice.options} == {"context-of-16", "bytes"}
        assert choice.value == ["bytes"]


LACKS = {
    "encoder-alone": {"answer": "no output layer", "write": "cannot go on word by word", "attend": ""},
    "encoder-pooled": {"answer": "no output layer", "fill_blanks": "no token for a blank"},
    "classifier": {"answer": "", "score_words": "one class", "fill_blanks": "no token for a blank"},
    "tagger": {"tag_words": "", "answer": "", "answer_texts": "", "score_words": "a tag for each word"},
    "tuned-score": {"score_texts": "", "answer_texts": "", "score_words": "one score"},
    "embedder": {"embed_texts": "", "answer": "one vector of its text, and no word"},
    "span-answerer": {"find_answers": "", "answer_texts": "", "score_words": "where an answer begins"},
    "no-mask": {"fill_blanks": "no token for a blank", "score_words": ""},
    "other-mask": {"fill_blanks": "", "write": "and fills blanks; it cannot"},
    "writes-nothing": {"write": "", "attend_in_layers": ""},
    "without-attention": {"attend": "no attention", "write": ""},
    "recurrent": {"attend": "", "attend_in_layers": "one alignment"},
    "vit": {
        "write": "reads a picture",
        "answer": "",
        "answer_texts": "reads a picture",
        "score_words": "one class",
    },
    "mae": {"answer": "hidden patches", "write": "reads a picture"},
    "gpt-classes": {"answer": "", "score_classes": "", "write": ""},
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Model]:
    folder = tmp_path_factory.mktemp("opened")
    return lambda name: core.open_model(str(write(folder, name)))


@pytest.mark.parametrize("name", list(LACKS))
def test_what_a_model_lacks_is_said(opened: Callable[[str], Model], name: str) -> None:
    model = opened(name)
    for ability, why in LACKS[name].items():
        assert model.can(ability) == (not why) and why in model.lacks(ability), (
            ability,
            model.lacks(ability),
        )
    assert model.lacks(*ABILITIES) == next(filter(None, map(model.lacks, ABILITIES)), "")
    if not model.outputs:
        with pytest.raises(core.InputError, match="has no output"):
            _ = model.main_output
    if not model.has_scores:
        with pytest.raises(core.InputError, match="has no scores"):
            _ = model.run(model.reader.example).scores


def test_an_encoder_that_fills_no_blank_opens_with_a_text_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("encoder-alone", "encoder-pooled", "t5-encoder"):
        plan, _ = inspect(write(tmp_path, name))
        monkeypatch.setattr(tasks, "_does", lambda _, plan=plan: plan.does)
        assert tasks.task_of(name, plan.spec) is tasks.READ
    assert not inspect(write(tmp_path, "one-head-encoder"))[0].does


def test_each_pane_of_compare_reads_its_own_mask(
    opened: Callable[[str], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {name: opened(name) for name in ("other-mask", "one-head-encoder")}
    monkeypatch.setattr("viz.workspace.shared.model_run.open_model", made.__getitem__)
    for text in ("She has a <mask> car.", "She has a [MASK] car.", "She has a ___ car."):
        for names in (tuple(made), tuple(reversed(made))):
            views = compare.views_of(compare.Params(views=tuple(View(name, text) for name in names)))
            for view in views:
                model = made[view.model]
                assert model.run(view.text).ids.count(model.tokenizer.mask) == 1, view


def test_a_sentence_with_a_word_that_a_model_does_not_know_is_left_out_of_its_survey(
    opened: Callable[[str], Model],
) -> None:
    """A tokenizer that drops capitals; where no sentence can be read, as with a context of 16, the reason is said."""
    told = [scores_or_reason(read) for read in survey_steps(opened("letters"))[::6]]
    reasons = [one for one in told if isinstance(one, str)]
    assert 0 < len(reasons) < len(told) and all("not the words" in reason for reason in reasons)
    (heads,) = average_results(told).values()
    assert heads.n == len(told) - len(reasons)
    with pytest.raises(core.InputError, match="reads at most 16"):
        average_results([scores_or_reason(read) for read in survey_steps(opened("context-of-16"))[:3]])
