"""Classes, tags and answers as people read them: sigmoid where several classes hold, a word's tag is its first token's, an answer ends behind its begin."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from core.analysis.attribution.ablation_sweep import ModelInput, ablation_effects
from core.analysis.attribution.target_token import OutputTarget, default_row, output_target, target_rows
from core.analysis.task_outputs import answer_span, chances, tagged_words
from core.edits import ScaleHead, ZeroHead
from core.layers.task_head import Head, TaskHead
from core.model import Model
from core.models import families
from core.run.token_sequence import TokenSequence
from core.text import Tokenizer
from core.text.learn import learn_word_list

SIDE = TokenSequence(
    "who?",
    ("[CLS]", "who", "?", "[SEP]", "a", "white", "ca", "##r", "[SEP]"),
    tuple(range(9)),
    (None, (0, 3), (3, 4), None, (0, 1), (2, 7), (8, 10), (10, 11), None),
    (0, 0, 0, 0, 1, 1, 1, 1, 1),
    9,
    "a white car",
)


TEXT = "the white car"


def small_encoder(*, score: bool = False, **changes: Any) -> Model:
    """Return a small BERT with random weights and one head."""
    backend = learn_word_list([TEXT], 10, first=("<pad>", "<s>", "</s>"))
    spec = families()["bert"]
    bare = {"masked_lm": False, "next_sentence": False, "pooler": score, "n_layers": 2}
    config = replace(spec.config.tiny(), **bare, n_vocab=backend.get_vocab_size(), **changes)
    torch.manual_seed(3)
    network = spec.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    head = Head(output="score", n_out=1, pooled=True, d_in=config.d_model) if score else None
    if head is not None:
        network.task = TaskHead(head)
    tokenizer = Tokenizer(backend, pad=1, start=2, end=3)
    return Model("small", spec, config, network, tokenizer, head=head)


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
        model: Any = SimpleNamespace(head=head, main_output="classes")
        assert chances(model, scores) == pytest.approx(wanted, abs=1e-4)
        asked = OutputTarget(0, 0, activation="sigmoid" if several else "softmax")
        assert asked.value(scores[None]) == pytest.approx(np.log(wanted[0]), abs=1e-4)
        assert asked.goal(torch.tensor(scores)).item() == pytest.approx(np.log(wanted[0]), abs=1e-4)


@pytest.mark.parametrize(
    "changes", [{"n_tags": 5}, {"answers": True}, {"n_classes": 3}, {"score": True}], ids=str
)
def test_a_question_about_an_output_is_one_number_and_its_gradient(changes: dict[str, Any]) -> None:
    """The number, what ablating a head changes of it, and the slope along what a head hands on, by finite differences."""
    model = small_encoder(**changes)
    run = model.run(TEXT)
    row = default_row(run)
    asked = output_target(run, row, int(run.scores[row].argmax()))
    value = asked.value(run.scores)
    assert asked.goal(torch.tensor(run.scores)).item() == pytest.approx(value, abs=1e-5)
    path = "layer.1.self_attn.heads"
    traced = model.run(TEXT, keep=[path], grad=asked.goal)
    slope = float((traced.trace.grad(path)[0] * traced.trace[path][0]).sum())
    near = [asked.value(model.run(TEXT, edits=[ScaleHead(path, 0, 1 + e)]).scores) for e in (1e-2, -1e-2)]
    assert (near[0] - near[1]) / 2e-2 == pytest.approx(slope, abs=2e-3)
    off = asked.value(model.run(TEXT, edits=[ZeroHead(path, 0)]).scores)
    assert ablation_effects(model, ModelInput(TEXT), asked, "self")[1, 0] == pytest.approx(
        off - value, abs=1e-5
    )
    assert all(word.row in target_rows(run) for word in (tagged_words(run) if "n_tags" in changes else ()))


def test_a_tagger_is_asked_about_the_word_with_the_rarest_tag() -> None:
    scores = np.zeros((9, 2), dtype=np.float32)
    scores[5, 1], scores[4, 1] = 2, 1
    tagger: Any = SimpleNamespace(tag_names=("O", "THING"), main_output="tags", whole_input=False)
    assert default_row(run_of(tags=scores, model=tagger)) == 5


@pytest.mark.parametrize(("pool", "wanted"), [("first", 0.0), ("last", 2.0), ("mean", 1.0), ("max", 2.0)])
def test_padding_is_never_pooled(pool: str, wanted: float) -> None:
    head = TaskHead(Head(output="score", n_out=1, pool=pool, d_in=1, biases=(True, True, False)))
    torch.nn.init.ones_(head.out.weight)
    hidden = torch.tensor([[[0.0], [1.0], [2.0], [99.0]]])
    assert head(hidden, real=torch.tensor([[True, True, True, False]])).item() == wanted
