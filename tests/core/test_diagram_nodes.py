"""The boxes of the Transformer's figure and the closed forms of its size, against the network and torch.nn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import core
from core.analysis.diagram_nodes import boxes, count_parameters, parameter_count, tensor_at
from viz.course.shared import sizes
from viz.course.shared.sizes import Sizes


@pytest.fixture(scope="module")
def model():
    return core.open_model("translator-en-es")


def test_the_boxes_own_every_parameter_once(model):
    counts = {box.name: parameter_count(model, box) for box in boxes(model)}
    assert sum(counts.values()) == count_parameters(model.network)
    cfg = model.config
    d, f = cfg.d_model, cfg.d_ff
    assert (
        counts["encoder.embed"] == cfg.n_vocab * d
        and counts["decoder.embed"]
        == counts["linear"]
        == counts["softmax"]
        == counts["encoder.position"]
        == 0
    )
    assert counts["encoder.0.self"] == counts["decoder.2.cross"] == sizes.attention(d) and counts[
        "decoder.1.ffn"
    ] == sizes.feed_forward(d, f)
    assert (
        counts["encoder.final"] == counts["decoder.1.norm3"] == sizes.norm(d)
        and counts["encoder.1.add1"] == 0
    )
    by_part = sizes.parameter_counts(Sizes(cfg.n_layers, d, cfg.n_heads, f, cfg.n_vocab))
    assert sum(by_part.values()) == count_parameters(model.network)
    assert by_part[sizes.NETWORK] == sum(count for name, count in counts.items() if name.endswith("ffn"))
    assert by_part[sizes.NORMS] == sum(
        count for name, count in counts.items() if "norm" in name or name.endswith("final")
    )


def test_what_a_box_gives_follows_from_what_it_reads(model):
    run = model.run("She has a white car.")
    net = model.network
    for box in boxes(model):
        read, gives = [tensor_at(run, path) for path in box.reads], tensor_at(run, box.gives)
        if box.kind in ("add", "position"):
            np.testing.assert_allclose(sum(read), gives, atol=1e-5)
        elif box.kind in ("norm", "final", "ffn"):
            with torch.inference_mode():
                np.testing.assert_allclose(
                    net.get_submodule(box.parts[0])(torch.tensor(read[0])), gives, atol=1e-4
                )
        elif box.kind == "softmax":
            np.testing.assert_allclose(gives.sum(-1), 1)
        elif box.kind in ("self", "cross"):
            with torch.inference_mode():
                x = torch.tensor(read[0])[None]
                allowed = torch.ones(x.shape[1], (torch.tensor(read[-1])[None]).shape[1], dtype=torch.bool)
                may = allowed.tril() if box.kind == "self" and box.side == "decoder" else allowed
                got = net.get_submodule(box.parts[0])(x, torch.tensor(read[-1])[None], may)[0]
            np.testing.assert_allclose(got, gives, atol=1e-4)


def test_another_plan_is_refused():
    with pytest.raises(core.InputError, match="another architecture"):
        boxes(core.open_model("bert-mini"))


@pytest.mark.parametrize(("d", "f", "h", "n"), [(512, 2048, 8, 6), (66, 130, 3, 2)])
def test_closed_forms_equal_torch(d, f, h, n):
    """C072, and the documents' "512 hidden units": 1,577,984 a layer."""
    with torch.device("meta"):
        whole = nn.Transformer(
            d_model=d, nhead=h, num_encoder_layers=n, num_decoder_layers=n, dim_feedforward=f
        )
    assert sizes.stacks(Sizes(n, d, h, f)) == count_parameters(whole)
    assert sizes.encoder_layer(d, f) == count_parameters(whole.encoder.layers[0])
    assert sizes.decoder_layer(d, f) == count_parameters(whole.decoder.layers[0])
    assert sizes.encoder_layer(512, 512) == 1_577_984


def test_heads_share_the_width():
    assert Sizes(n_heads=16).d_head == 32 and sizes.parameter_counts(
        Sizes(n_heads=1)
    ) == sizes.parameter_counts(Sizes(n_heads=16))
    with pytest.raises(core.InputError):
        _ = Sizes(d_model=100, n_heads=3).d_head
