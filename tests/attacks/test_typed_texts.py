"""The longest and the oddest texts that may be typed: the work is bounded before it begins, and the page says what it reads."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass

import pytest
from crafting import good_tokenizer
from deep import in_turn
from shown_values import states
from typed_texts import MODELS, PAGES, TEXTS, Work, drawn

import core
from core import model
from core.analysis.residual.logit_lens import KEEP, logit_lens
from core.decoding import decode
from core.edits import ZeroHead
from core.errors import InputError
from core.reading import bounds
from core.serving import engine
from core.serving.cache import ByteCache
from core.serving.scheduler import Scheduler
from core.text import Tokenizer
from core.text.tokenizer import LONGEST
from viz.course.look_up.scaling import steps as scaling

PASSES = {"be_the_head": 3.0}
"""So many times the bound a page may do: the row of a translation is chosen among its first ones."""


def test_more_letters_than_the_longest_never_reach_the_library(monkeypatch):
    tokenizer = Tokenizer(good_tokenizer())
    assert tokenizer.encode("a" * LONGEST).ids
    monkeypatch.setattr(tokenizer, "_backend", None)
    with pytest.raises(InputError, match="20,001 letters"):
        tokenizer.encode("a" * (LONGEST + 1))


@pytest.mark.quick(2)
@pytest.mark.parametrize(("case", "name"), in_turn(TEXTS, MODELS))
def test_a_part_is_never_more_tokens_than_asked_for(name, case):
    reader, text = core.open_model(name), TEXTS[case][:LONGEST]
    for first, n in ((0, 16), (3, 17), (1000, 48)):
        found = bounds.slice_tokens(reader, text, first, n)
        assert found in text
        assert len(reader.tokenizer.encode(found).ids) <= n


@pytest.mark.parametrize("name", MODELS)
def test_what_a_page_reads_is_within_the_bound(name):
    reader = core.open_model(name)
    for runs, each in ((1, 0), (4, 1), (52, 0), (4, reader.config.n_layers)):
        n = bounds.token_limit(reader, runs=runs, each=each)
        written = model.WRITES if reader.spec.has_source else 0
        assert 1 <= n <= reader.config.n_ctx
        assert (
            n == bounds.LEAST
            or (runs + each * n) * (n + written + bounds.FIXED) * reader.n_parameters <= bounds.WORK
        )


def test_a_translator_that_does_not_end_is_stopped(monkeypatch):
    reader, limits = core.open_model("translator-en-es"), []

    def greedy(*given, limit, **more):
        limits.extend(limit)
        return [[reader.tokenizer.end]] * len(limit)

    monkeypatch.setattr(model, "greedy", greedy)
    for text in ("q", "q" * 40, "q" * 200):
        reader.run(text)
    sources = [len(reader.tokenizer.encode(text).ids) for text in ("q", "q" * 40, "q" * 200)]
    assert limits == [3 * sources[0] + 10, max(64, 3 * sources[1] // 2), 255]


@pytest.fixture
def fresh(monkeypatch):
    """An engine that remembers the models and no answer."""
    served = engine.default()
    monkeypatch.setattr(served, "_cache", ByteCache(2**28))
    monkeypatch.setattr(served, "_scheduler", Scheduler(served._cache))
    yield
    served._scheduler.close()


@pytest.mark.quick(2)
@pytest.mark.parametrize(("case", "name"), in_turn(PAGES, ("translator-en-es", "gpt-mini")))
def test_a_page_of_an_endless_text_does_bounded_work_and_says_what_it_reads(
    fresh, monkeypatch, logged, case, name
):
    slug, text = case.partition(",")[0], "\U00010400x \u0301" * 250_000
    drawn(
        slug, model=name, text="The cat sat on a mat.", **PAGES[case]
    )  # what is measured once a model is none of this text's work
    work = Work(monkeypatch)
    lines = logged()
    test = drawn(slug, model=name, text=text, **PAGES[case])
    assert not test.exception
    assert work.letters <= LONGEST
    assert work.cost <= PASSES.get(slug, 1.0) * bounds.WORK
    told = [caption.value for caption in test.caption]
    assert any(states(line, "1,000,000 letters", "20,000") for line in told)
    named = [slider.label for slider in test.slider if slider.label.startswith("The text has ")]
    said = [
        line.value
        for line in test.text
        if " reads the last " in line.value or " reads at most " in line.value
    ]
    assert named or said
    assert not [record for record in lines if "atlas-engine" in record.getMessage()], (
        "a computation touches no session"
    )


WORDLESS = {**PAGES, "bert_input": {"bert_input.step": "1"}, "spans_and_tags": {"spans_and_tags.step": "3"}}


@pytest.mark.quick(2)
@pytest.mark.parametrize("case", WORDLESS)
@pytest.mark.parametrize("text", ["\u200d" * 40, "\ue000", "\x01\x02 \x01"])
def test_a_text_of_which_no_word_is_read_is_told_in_words(case, text):
    """BERT's tokenizer drops what is no letter and no mark: nothing is left to ask about."""
    test = drawn(case.partition(",")[0], model="bert-mini", text=text, pair=text, **WORDLESS[case])
    assert not test.exception
    assert not [line.value for line in test.text if line.value.startswith("Something went wrong")]


@pytest.mark.slow
def test_the_words_after_each_layer_take_little_room():
    """Of a text as long as the model reads: less than the probabilities of all words after every layer by far."""
    reader = core.open_model("gpt-mini")
    run = reader.run(
        bounds.slice_tokens(reader, "The cat sat on a mat. " * 100, 0, reader.config.n_ctx), keep=KEEP
    )
    tracemalloc.start()
    try:
        logit_lens(run)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8 * run.logits.size * reader.config.n_layers / 3


def test_two_readings_of_a_long_text_keep_their_measures_only(fresh):
    scaling.readings("q" * 300)
    assert engine.default().cached_bytes < 2**20


def test_a_changed_text_is_written_with_one_row_of_scores_a_step(monkeypatch):
    reader, rows = core.open_model("translator-en-es"), []
    logits = type(reader.network).logits

    def counted(network, hidden, *tap):
        rows.append(hidden.shape[-2] if hidden.ndim > 2 else 1)
        return logits(network, hidden, *tap)

    monkeypatch.setattr(type(reader.network), "logits", counted)
    off = ZeroHead("decoder.layer.0.cross_attn.heads", 1)
    steps = list(decode(reader, "She has a white car.", edits=[off]))
    assert rows == [1] * len(steps)
    written, rows[:] = reader.run("She has a white car.", edits=[off], keep=()).target_text, ()
    assert written == steps[-1].text


def test_an_edit_of_the_scores_meets_all_rows():
    """Where the scores themselves are changed, they are made at every position, as in a run."""
    reader = core.open_model("gpt-mini")
    text = "Once upon a time"
    row = len(reader.tokenizer.encode(text).ids) - 1
    edit = ScaleRow(row)
    assert next(decode(reader, text, edits=[edit])).id == int(
        reader.run(text, edits=[edit]).logits[-1].argmax()
    )


@dataclass(frozen=True)
class ScaleRow:
    """Turns the scores of one position round."""

    row: int
    where: str = "logits"

    def __call__(self, value):
        new = value.clone()
        new[..., self.row, :] *= -1
        return new
