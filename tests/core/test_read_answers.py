"""What a tuned model says of every token: places of an answer, tags at first pieces, and how far heads moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.data import grammar
from core.errors import InputError
from core.model import Model
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS
from core.training.finetune.tuning import ALL, Tuning
from viz.course.bert.spans_and_tags import maths
from viz.course.bert.spans_and_tags.maths import moved_heads


@pytest.fixture(scope="module")
def body() -> Model:
    return tuning.load_base()


def headed(body: Model, goal: str) -> Model:
    """bert-mini with a head that learnt nothing, its weights large enough to say something."""
    network = tuning.add_head(Tuning(name="", goal=goal, learns=ALL, steps=1), body, seed=3)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name.startswith(tuning.HEADS):
                weight.mul_(20)
    return Model(
        "headed", body.spec, replace(body.config, **GOALS[goal].head), network.eval(), body.tokenizer
    )


def test_an_answer_is_read_from_the_passage_alone(body):
    """C088: both softmaxes run over the positions of the text; the best pair is that of brute force, and its words are those of the text."""
    model, item = headed(body, "answers"), grammar.questions(3, 5, "test")[1]
    one = maths.answer(model, item.question, item.passage)
    run = model.run(item.question, pair=item.passage)
    assert one.tokens[-1] == "[SEP]" and run.segments[one.first] == 1 and run.segments[one.first - 1] == 0
    hidden = model.network(tuning.collate([GOALS["answers"].read(model.tokenizer, item)], 0).batch)
    weight, bias = model.network.to_answer.weight, model.network.to_answer.bias
    scores = (hidden[0, one.first :] @ weight.T + bias).detach().double()
    np.testing.assert_allclose(one.span_scores.start, scores[:, 0].softmax(0), atol=1e-5)
    np.testing.assert_allclose(one.span_scores.end, scores[:, 1].softmax(0), atol=1e-5)
    assert one.span_scores.start.sum() == pytest.approx(1) == one.span_scores.end.sum()
    n = len(one.tokens)
    best = max(
        ((i, j) for i in range(n) for j in range(i, n)),
        key=lambda pair: one.starts[pair[0]] + one.ends[pair[1]],
    )
    assert one.span_scores.best == best
    span = one.span(item.start, item.end)
    assert span is not None and one.text(span) == item.answer == item.passage[item.start : item.end]
    assert one.text((n - 1, n - 1)) == "" and one.span(item.start + 1, item.end) is None


def test_a_push_moves_one_score_and_no_answer_ends_before_it_starts(body):
    model, item = headed(body, "answers"), grammar.questions(3, 5, "test")[0]
    one = maths.answer(model, item.question, item.passage)
    pushed = one.pushed("end", 0, 1000.0)
    assert pushed.separate_choices == (one.separate_choices[0], 0) and pushed.span_scores.best == (0, 0)
    assert (
        pushed.ends[0] - one.ends[0] == 1000
        and (pushed.ends[1:] == one.ends[1:]).all()
        and (pushed.starts == one.starts).all()
    )
    other = one.pushed("start", len(one.tokens) - 1, 1000.0)
    assert other.span_scores.best == (len(one.tokens) - 1,) * 2


def test_a_word_has_the_tag_of_its_first_piece(body):
    """C089: one row for each token, each a distribution; a word in pieces is asked at its first."""
    model, text = headed(body, "tags"), "Unfriendly gardeners can't sleep."
    one = maths.tagged(model, text)
    run = model.run(text)
    assert one.chances.shape == (len(run.tokens) - 2, len(grammar.TAGS))
    np.testing.assert_allclose(one.chances.sum(-1), 1)
    np.testing.assert_allclose(
        one.chances, torch.tensor(np.array(run.tags[1:-1])).double().softmax(-1), atol=1e-6
    )
    assert len(one.tokens) > len(one.words) and one.words[0] == "Unfriendly" and one.words[-1] == "."
    assert [
        token
        for token, begins in zip(one.tokens, one.begins, strict=True)
        if token.startswith("##") and begins
    ] == []
    assert one.firsts[0] == 0 and len(one.firsts) == len(one.words) == one.begins.sum()


def test_heads_that_moved_by_hand():
    before = np.array([[[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]]])
    after = np.array([[[[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0]]]])
    np.testing.assert_allclose(moved_heads(before, after), [[0.25, 1.0]])
    with pytest.raises(InputError, match="shapes"):
        moved_heads(before, after[..., :1])


@pytest.mark.parametrize(
    ("question", "passage", "wrong"),
    [(" ", "A dog.", "question"), ("Who?", "", "passage"), ("Who?", "dog " * 70, "70 tokens")],
)
def test_texts_that_cannot_be_asked(body, question, passage, wrong):
    with pytest.raises(InputError, match=wrong):
        maths.answer(headed(body, "answers"), question, passage)


def test_sentences_that_cannot_be_tagged(body):
    for text, wrong in ((" ", "no word"), ("dog " * 50, "50 tokens")):
        with pytest.raises(InputError, match=wrong):
            maths.tagged(headed(body, "tags"), text)
