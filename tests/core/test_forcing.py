"""Teacher forcing beside free running: against plain passes over each prefix, greedy decoding and cross-entropy."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import core
from core.analysis.forcing import compare_forcing, continuation_logits, decoding_prompt
from core.decoding import decode
from tests.core.decoding_helpers import build, recurrent

SOURCE, TARGET = "the old cat sat", "el gato blanco"
WRITERS = {
    "transformer": lambda: build("transformer"),
    "seq2seq": lambda: recurrent("luong-global"),
    "gpt": lambda: build("gpt"),
}


@pytest.fixture(params=WRITERS)
def model(request):
    return WRITERS[request.param]()


def test_the_input_is_the_target_shifted_right_behind_start(model):
    found = compare_forcing(model, SOURCE, TARGET, ends=True)
    wanted = [*model.tokenizer.encode(TARGET).ids, model.tokenizer.end]
    assert [place.next_id for place in found.forced] == wanted and found.forced[-1].next == "END"
    first = model.tokenizer.start if model.spec.has_source else model.tokenizer.encode(SOURCE).ids[-1]
    assert [place.read_id for place in found.forced] == [first, *wanted[:-1]]
    assert [place.read for place in found.forced][1:] == [place.next for place in found.forced][:-1]
    assert (found.forced[0].read == "START") == model.spec.has_source and found.prompt_tokens[
        -1
    ] == found.forced[0].read


def test_each_loss_is_the_cross_entropy_of_a_pass_over_its_prefix_alone(model):
    found = compare_forcing(model, SOURCE, TARGET, ends=True)
    start, rows = decoding_prompt(model, SOURCE), []
    for t in range(len(found.forced)):
        prefix = [place.next_id for place in found.forced[:t]]
        rows.append(continuation_logits(model, start, [prefix])[0][-1])
    wanted = torch.tensor([place.next_id for place in found.forced])
    losses = F.cross_entropy(torch.stack(rows), wanted, reduction="none")
    assert [place.loss for place in found.forced] == pytest.approx(losses.tolist(), abs=1e-4)
    assert found.loss == pytest.approx(float(losses.mean()), abs=1e-4)
    assert [place.best_id for place in found.forced] == torch.stack(rows).argmax(-1).tolist()
    assert 0 <= found.difference < 1e-4


def test_the_pass_of_a_run_gives_the_same_logits():
    model = build("transformer")
    run = model.run(SOURCE, target=TARGET, keep=())
    ours = continuation_logits(model, decoding_prompt(model, SOURCE), [model.tokenizer.encode(TARGET).ids])[0]
    torch.testing.assert_close(ours, torch.from_numpy(run.logits.copy()).double(), atol=1e-4, rtol=0)


def test_running_free_is_greedy_decoding(model):
    found = compare_forcing(model, SOURCE, TARGET)
    steps = list(decode(model, SOURCE, max_new_tokens=len(found.free)))
    assert [place.next_id for place in found.free] == [step.id for step in steps]
    assert [place.logprob for place in found.free] == pytest.approx([step.logprob for step in steps])
    assert all(place.right for place in found.free)
    assert [place.read_id for place in found.free[1:]] == [step.id for step in steps[:-1]]


def test_a_model_that_is_right_never_parts_and_a_changed_word_parts_there():
    tiny = core.open_model("prompt-tiny")
    assert compare_forcing(tiny, "reverse: abcd =", "dcba", ends=True).first_difference is None
    assert compare_forcing(tiny, "reverse: abcd =", "dcxa", ends=True).first_difference == 2
    longer = compare_forcing(tiny, "reverse: abcd =", "dcba")
    assert longer.first_difference is None and len(longer.free) == len(longer.forced) == 4
    assert compare_forcing(tiny, "", "cop").forced[0].read == "START"


@pytest.mark.parametrize(
    ("source", "target"), [("", "a"), ("the", ""), ("the", "  "), ("the", "cat " * 60), ("cat " * 60, "a")]
)
def test_what_cannot_be_used_is_said(source, target):
    with pytest.raises(core.InputError):
        compare_forcing(build("transformer"), source, target)
