"""The product of conditionals against torch and against single runs; examples in front of a question, counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import core
from core.data.tasks import PROMPT_LETTERS, PROMPTS, sample_strings
from core.decoding import decode
from core.models import Batch
from tests.core.decoding_helpers import build
from viz.course.gpt.conditionals import LONGEST, conditionals
from viz.course.gpt.prompting import data as maths
from viz.course.shared.prompts import (
    DELIM,
    EXTRACT,
    FORMS,
    QUESTIONS,
    START,
    TEMPLATES,
    answers,
    rows,
    solved,
    toy_prompts,
)

TEXT = "the old cat sat"


@pytest.fixture(scope="module")
def gpt():
    return build("gpt")


def alone(model, ids: list[int]) -> torch.Tensor:
    batch = Batch(ids=torch.tensor([ids]), real=torch.ones(1, len(ids), dtype=torch.bool))
    with torch.inference_mode():
        return model.network.logits(model.network(batch))[0].double()


def test_the_sum_is_the_cross_entropy_and_the_logarithm_of_the_product(gpt):
    """C101: -L_1 / n is torch's cross_entropy of the shifted text."""
    found = conditionals(gpt, TEXT)
    ids, n = list(found.ids), len(found.ids)
    wanted = float(F.cross_entropy(alone(gpt, [gpt.tokenizer.start, *ids[:-1]]), torch.tensor(ids)))
    assert n > 3
    assert -found.total / n == pytest.approx(wanted, abs=1e-6)
    assert found.mean_by_torch == pytest.approx(wanted, abs=1e-6)
    assert math.log(found.product) == pytest.approx(found.total) and found.running[-1] == pytest.approx(
        found.total
    )
    assert found.perplexity == pytest.approx(math.exp(wanted), rel=1e-6)
    assert found.least_probable == int(np.argmin(found.logprobs))
    assert (found.best_p >= np.exp(found.logprobs) - 1e-12).all()


@pytest.mark.parametrize("k", [1, 2])
def test_a_window_is_read_as_a_text_of_its_own(gpt, k):
    found = conditionals(gpt, TEXT, k)
    ids = list(found.ids)
    for place, index in enumerate(ids):
        behind = [gpt.tokenizer.start, *ids[:place]] if place <= k else ids[place - k : place]
        assert found.logprobs[place] == pytest.approx(
            float(alone(gpt, behind)[-1].log_softmax(-1)[index]), abs=1e-5
        )
    assert found.mean_by_torch == pytest.approx(-found.total / len(ids))


@pytest.mark.parametrize(("text", "k"), [("", None), (" ", None), ("cat " * (LONGEST + 1), None), ("cat", 0)])
def test_what_cannot_be_judged_is_said(gpt, text, k):
    with pytest.raises(core.InputError):
        conditionals(gpt, text, k)


def test_prompts_are_built_of_other_questions_and_scored_by_four_answers(gpt):
    for task in maths.TASKS.values():
        for at, (question, answer) in enumerate(task.pairs):
            lines = maths.prompt(task, question, maths.MOST).split("\n")
            assert len(lines) == maths.MOST + 1
            assert lines[-1] == f"{question} ="
            assert all(not line.startswith(f"{question} =") for line in lines[:-1])
            assert (
                maths.choices(task, at)[0] == answer and len(set(maths.choices(task, at))) == maths.CANDIDATES
            )
    for bad in (lambda: maths.prompt(task, " ", 1), lambda: maths.prompt(task, "a", 9)):
        with pytest.raises(core.InputError):
            bad()
    found = maths.score(gpt, maths.TASKS["homes"], 1)
    first = answers(
        gpt, "bird = nest\nfish =", [f" {each}" for each in maths.choices(maths.TASKS["homes"], 0)]
    )
    assert found.shares[0] == first[0].share and found.right[0] == (first[0].place == 1)
    assert found.accuracy == sum(found.right) / 8 and found.share == pytest.approx(np.mean(found.shares))


# ---------------- Rows of tasks token by token; answers against a plain count and a forced decoding; one set of weights, three tasks.


TEXTS = {
    "text": "old cat",
    "premise": "the cat",
    "hypothesis": "a mat",
    "first": "old",
    "second": "a white car",
    "context": "the",
}
CANDIDATES = [" cat", " old mat", " the white car sat", "x"]


@pytest.mark.parametrize("name", FORMS)
def test_rows_are_the_tokens_between_the_marks(gpt, name):
    found = rows(gpt, FORMS[name], TEXTS, ["yes", "no", "car"])
    cut = {part: gpt.tokenizer.encode(text).tokens for part, text in TEXTS.items()}
    wanted = {
        "classification": [(START, *cut["text"], EXTRACT)],
        "entailment": [(START, *cut["premise"], DELIM, *cut["hypothesis"], EXTRACT)],
        "similarity": [
            (START, *cut["first"], DELIM, *cut["second"], EXTRACT),
            (START, *cut["second"], DELIM, *cut["first"], EXTRACT),
        ],
        "multiple choice": [
            (START, *cut["context"], DELIM, *gpt.tokenizer.encode(answer).tokens, EXTRACT)
            for answer in ("yes", "no", "car")
        ],
    }
    assert [row.tokens for row in found] == wanted[name]
    assert all(
        row.tokens[row.extract] == EXTRACT and row.extract == len(row.tokens) - 1 and row.marks[0] == 0
        for row in found
    )


def test_templates_and_our_own_tasks_fit_together(gpt):
    assert {asked.template for asked in QUESTIONS} == set(TEMPLATES)
    for asked in QUESTIONS:
        assert set(asked.texts) == set(TEMPLATES[asked.template].fields) and "{" not in asked.prompt
        assert len(set(asked.candidates)) == len(asked.candidates) > asked.right and all(
            each[0] == " " for each in asked.candidates
        )


@pytest.mark.parametrize("prompt", ["the old", ""])
def test_answers_are_a_plain_count_and_a_forced_decoding(gpt, prompt):
    found = answers(gpt, prompt, CANDIDATES)
    totals = []
    for each, text in zip(found, CANDIDATES, strict=True):
        ids = gpt.tokenizer.encode(text).ids
        steps = list(decode(gpt, prompt, max_new_tokens=len(ids), force=list(enumerate(ids))))
        assert each.logprobs == pytest.approx([step.logprob for step in steps], abs=1e-4)
        assert each.text == text and each.tokens == tuple(step.token for step in steps)
        assert each.mean == pytest.approx(each.logprob / len(ids))
        ranked = [candidate.id for candidate in steps[0].candidates[:-1]]
        assert each.rank == ranked.index(ids[0]) + 1 if ids[0] in ranked else each.rank > len(ranked)
        totals.append(sum(step.logprob for step in steps))
    whole = math.fsum(math.exp(total) for total in totals)
    assert [each.share for each in found] == pytest.approx(
        [math.exp(total) / whole for total in totals], abs=1e-4
    )
    assert [each.place for each in found] == [1 + sum(other > total for other in totals) for total in totals]


@pytest.mark.parametrize("candidates", [[], [""], [" cat", " "], [" cat", " cat"], [" cat" * 60]])
def test_candidates_that_cannot_be_used_are_said(gpt, candidates):
    with pytest.raises(core.InputError):
        answers(gpt, "the old", candidates)


def test_texts_that_are_missing_are_said(gpt):
    for ask in (
        lambda: rows(gpt, FORMS["entailment"], {"premise": "a"}),
        lambda: rows(gpt, FORMS["multiple choice"], TEXTS, ["one"]),
        lambda: TEMPLATES["answer"].filled({"passage": "a"}),
        lambda: toy_prompts("a b"),
        lambda: toy_prompts(""),
    ):
        with pytest.raises(core.InputError):
            ask()


def test_the_prompt_word_alone_chooses_the_task():
    tiny = core.open_model("prompt-tiny")
    drawn, found = (
        sample_strings(6, np.random.default_rng(0), PROMPT_LETTERS, 5, "test"),
        solved(tiny, n=6, length=5),
    )
    for task, make in PROMPTS.items():
        texts = [list(decode(tiny, f"{task}: {text} =", max_new_tokens=9))[-1] for text in drawn]
        right = [
            step.reason == "end" and step.ids[:-1] == tiny.tokenizer.encode(make(text)).ids
            for step, text in zip(texts, drawn, strict=True)
        ]
        assert found[task] == pytest.approx(sum(right) / 6) and found[task] >= 0.8
    for toy in toy_prompts("hello"):
        written = list(decode(tiny, toy.prompt, max_new_tokens=10))
        assert written[-1].reason == "end" and "".join(step.token for step in written[:-1]) == toy.answer
        others = [other.answer for other in toy_prompts("hello")]
        best = min(answers(tiny, toy.prompt, others), key=lambda each: each.place)
        assert best.text == toy.answer and best.share > 0.9
    assert set(solved(tiny, n=1, length=1).values()) <= {0.0, 1.0}
    for wrong in ({"n": 0}, {"length": 0}, {"length": 15}):
        with pytest.raises(core.InputError):
            solved(tiny, **wrong)
