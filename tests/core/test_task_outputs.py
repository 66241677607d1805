"""Classes, tags and answers as people read them: sigmoid where several classes hold, a word's tag is its first token's, an answer ends behind its begin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from core.analysis.attribution.target_token import Asked
from core.analysis.task_outputs import answer_span, class_chances, tagged_words
from core.layers.task_head import Head, TaskHead
from core.run.side import Side

SIDE = Side(
    "who?",
    ("[CLS]", "who", "?", "[SEP]", "a", "white", "ca", "##r", "[SEP]"),
    tuple(range(9)),
    (None, (0, 3), (3, 4), None, (0, 1), (2, 7), (8, 10), (10, 11), None),
    (0, 0, 0, 0, 1, 1, 1, 1, 1),
    9,
    "a white car",
)


def run_of(**outputs: Any) -> Any:
    return SimpleNamespace(side=SIDE, source=None, **outputs)


@pytest.mark.parametrize(
    ("begin", "end", "text"),
    [
        (5, 7, "white car"),
        (1, 5, "a white"),
        (7, 5, "r"),
        (4, 4, "a"),
        (8, 7, "a white car"),
        (4, 0, "a white car"),
    ],
)
def test_an_answer_is_one_span_of_the_second_text(begin: int, end: int, text: str) -> None:
    scores = np.zeros((9, 2), dtype=np.float32)
    scores[begin, 0], scores[end, 1] = 4, 3
    scores[4, 0] += 0.1
    scores[7, 1] += 0.2
    scores[5, 1] += 0.3 if (begin, end) == (1, 5) else 0
    found = answer_span(run_of(answer=scores))
    assert found is not None and found.text == text
    wanted = np.exp(scores[found.tokens[0], 0]) / np.exp(scores[:, 0]).sum()
    assert found.begins == pytest.approx(wanted)


def test_a_word_has_the_tag_of_its_first_token() -> None:
    scores = np.zeros((9, 2), dtype=np.float32)
    scores[6, 1], scores[7, 0] = 2, 9
    found = tagged_words(run_of(tags=scores, model=SimpleNamespace(tag_names=("O", "THING"))))
    assert [(each.word, each.tag) for each in found] == [
        *(("who", "O"), ("?", "O"), ("a", "O"), ("white", "O")),
        ("car", "THING"),
    ]
    assert found[-1].chance == pytest.approx(1 / (1 + np.exp(-2)))


def test_several_classes_are_each_by_itself() -> None:
    scores = np.array([2.0, 2.0, -2.0])
    for several, wanted in ((True, [0.8808, 0.8808, 0.1192]), (False, [0.4955, 0.4955, 0.0091])):
        head = Head(output="classes", n_out=3, d_in=4, several=several)
        assert class_chances(SimpleNamespace(head=head), scores) == pytest.approx(wanted, abs=1e-4)  # type: ignore
        asked = Asked(0, 0, several=several)
        assert asked.value(scores[None]) == pytest.approx(np.log(wanted[0]), abs=1e-4)
        assert asked.goal(torch.tensor(scores)).item() == pytest.approx(np.log(wanted[0]), abs=1e-4)


@pytest.mark.parametrize(("pool", "wanted"), [("first", 0.0), ("last", 2.0), ("mean", 1.0), ("max", 2.0)])
def test_padding_is_never_pooled(pool: str, wanted: float) -> None:
    head = TaskHead(Head(output="score", n_out=1, pool=pool, d_in=1, biases=(True, True, False)))
    torch.nn.init.ones_(head.out.weight)
    hidden = torch.tensor([[[0.0], [1.0], [2.0], [99.0]]])
    assert head(hidden, real=torch.tensor([[True, True, True, False]])).item() == wanted
