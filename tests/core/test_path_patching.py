"""Path patching: equal to the residual stream written out, and the path by which an induction head finds its key."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

import core
from core.analysis.attribution.patching import Pair, input_of, make_pair
from core.analysis.attribution.path_patching import LEAVES, path_patching
from core.analysis.attribution.target_token import OutputTarget
from core.edits import Function
from tests.bert_helpers import build as build_bert
from tests.core.test_run import build as build_other


def gpt() -> tuple[Pair, str, str, list]:
    model = core.open_model("gpt-mini")
    runs = [model.run(text) for text in ("When Mary came home,", "When John came home,")]
    return make_pair(*runs, answer=" she", foil=" he"), "causal", "layer", [*model.network.layers]


def bert() -> tuple[Pair, str, str, list]:
    model = build_bert("bert", n_layers=3)
    runs = [model.run(text) for text in ("She has [MASK] white car.", "She was [MASK] white car.")]
    return Pair(*runs, OutputTarget(3, 7, against=12)), "self", "layer", [*model.network.layers]


def translator() -> tuple[Pair, str, str, list]:
    model = build_other("transformer")
    texts = "She has a white car.", "She was a white car."
    runs = [model.run(text, target="Ella tiene un auto.") for text in texts]
    return Pair(*runs, OutputTarget(3, 7, against=12)), "self", "encoder.layer", [*model.network.encoder]


@pytest.mark.parametrize("build", [gpt, bert, translator])
def test_it_is_the_stream_of_the_corrupted_run_with_one_head_s_change_added(build):
    """Written out: the sender's change goes through W_O into the stream, every other part adds what it added, norms are computed."""
    pair, kind, stack, blocks = build()
    layer, head = len(blocks) - 1, 1
    width = pair.clean.model.config.d_head

    def value(path: str, run=pair.corrupted) -> Tensor:
        return torch.tensor(run.trace[path])

    @torch.no_grad()
    def stream(sender: tuple[int, int]) -> Tensor:
        """Return what the receiver's projections read."""
        first, number = sender
        path, part = f"{stack}.{first}.self_attn.heads", slice(number * width, (number + 1) * width)
        change = (value(path, pair.clean) - value(path))[number]
        x = value(f"{stack}.{first}.resid_in")
        for at in range(first, layer):
            here = f"{stack}.{at}"
            attended = value(f"{here}.self_attn.out")
            if at == first:
                attended = attended + change @ blocks[at].self_attn.to_out.weight[:, part].T
            x = x + attended
            if build is gpt:
                x = x + value(f"{here}.ffn.out")
            else:
                x = blocks[at].norm2(blocks[at].norm1(x) + value(f"{here}.ffn.out"))
        return blocks[layer].norm1(x) if build is gpt else x

    for by, leaf in LEAVES.items():
        found = path_patching(pair, kind, (layer, head), by)
        assert found.shape == (layer, pair.clean.model.config.n_heads)
        project = getattr(blocks[layer].self_attn, f"to_{leaf}")
        for sender in ((0, 2), (layer - 1, 0)):
            own = project(stream(sender)).detach()[:, head * width : (head + 1) * width]
            wanted = value(path := f"{stack}.{layer}.self_attn.{leaf}")
            wanted[head] = own
            edit = Function(path, lambda _, new=wanted: new[None])
            run = pair.clean.model.run(**input_of(pair.corrupted), edits=edit)
            clean, corrupted = pair.values
            again = corrupted + found[sender] * (clean - corrupted)
            assert again == pytest.approx(pair.output.value(run.scores), rel=1e-5, abs=1e-5), (by, sender)
        assert np.abs(found).max() > 1e-4


def test_what_has_no_such_path_is_refused():
    model = core.open_model("induction-tiny")
    pair = make_pair(model.run("abcdefa"), model.run("gbcdefa"), answer="b", foil="d")
    for receiver, by, wrong in (
        ((0, 1), "key", "L0.H1 receives nothing"),
        ((1, 1), "keys", "query, key, value"),
    ):
        with pytest.raises(core.InputError, match=wrong):
            path_patching(pair, "causal", receiver, by)
    seq, text = core.open_model("translator-en-es"), "She has a car."
    runs = [seq.run(each, target="Ella tiene") for each in (text, "He has a car.")]
    with pytest.raises(core.InputError, match="of another text"):
        path_patching(Pair(*runs, OutputTarget(1, 7, 9)), "cross", (1, 0))
