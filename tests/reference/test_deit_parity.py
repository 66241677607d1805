"""DeiT folders written by the transformers library open and give its numbers, with both heads and with one; and the other way round."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from parity import SAME, redraw
from test_vit_parity import LABELS, SHAPE, picture
from transformers import (
    DeiTConfig,
    DeiTForImageClassification,
    DeiTForImageClassificationWithTeacher,
    DeiTForMaskedImageModeling,
)

import core
from core.analysis.attribution.erasing import painted_over
from core.data.patches import hiding
from core.tools.export import export_model
from viz.instruments.picture import patches

BOTH, ONE = DeiTForImageClassificationWithTeacher, DeiTForImageClassification
KINDS = {
    "both heads": (BOTH, {}),
    "one head": (ONE, {}),
    "small patches": (BOTH, {"patch_size": 7, "num_hidden_layers": 1, "hidden_act": "relu"}),
    "one channel": (ONE, {"num_channels": 1, "num_attention_heads": 1, "image_size": 28, "patch_size": 4}),
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request, tmp_path_factory):
    kind, changes = KINDS[request.param]
    theirs = redraw(kind(DeiTConfig(**{**SHAPE, **changes}, id2label=LABELS)))
    folder = tmp_path_factory.mktemp("deit")
    theirs.save_pretrained(folder)
    return theirs, core.open_model(folder), folder


def seen(theirs, text):
    config = theirs.config
    x = picture(text) if config.image_size == 56 else picture(text)[..., ::2, ::2]
    with torch.no_grad():
        return theirs(x[:, : config.num_channels], output_attentions=True, output_hidden_states=True)


def test_a_folder_of_transformers_gives_its_numbers(pair):
    theirs, ours, _ = pair
    text = ours.reader.example
    out, run = seen(theirs, text), ours.run(text)
    for i, pattern in enumerate(out.attentions):
        np.testing.assert_allclose(run.trace[f"encoder.layer.{i}.self_attn.pattern"], pattern[0], atol=SAME)
        np.testing.assert_allclose(
            run.trace[f"encoder.layer.{i}.resid_out"], out.hidden_states[i + 1][0], atol=SAME
        )
    np.testing.assert_allclose(run.trace["embed.out"], out.hidden_states[0][0], atol=SAME)
    np.testing.assert_allclose(run.trace["classes"], out.logits[0], atol=SAME)
    if isinstance(theirs, BOTH):
        np.testing.assert_allclose(run.trace["classes.class_token"], out.cls_logits[0], atol=SAME)
        np.testing.assert_allclose(
            run.trace["classes.distillation_token"], out.distillation_logits[0], atol=SAME
        )
    assert run.tokens[:3] == ("class", "distillation", "1,1")


def test_what_is_exported_is_read_by_the_library_again(pair, tmp_path):
    theirs, ours, _ = pair
    again = (
        type(theirs).from_pretrained(export_model(ours, tmp_path / "out"), attn_implementation="eager").eval()
    )
    text = ours.reader.example
    torch.testing.assert_close(seen(again, text).logits, seen(theirs, text).logits)
    assert core.open_model(tmp_path / "out").config == ours.config


def test_a_patch_is_where_its_name_says(pair):
    """Painted over or hidden, it is that patch and no other, two places behind the beginning."""
    _, ours, _ = pair
    text, side = ours.reader.example, ours.config.side
    place = 2 + side + 1
    assert patches.named(ours.run(text).tokens)[place] == "row 2, column 2"
    hidden = ours.run(hiding(text, [place]))
    assert [i for i, name in enumerate(hidden.tokens) if name.endswith("hidden")] == [place]
    black = ours.run(text, edits=[painted_over(ours, place)])
    changed = np.abs(black.trace["embed.out"] - ours.run(text).trace["embed.out"]).max(-1) > 0
    assert {*np.flatnonzero(changed)} <= {place}
    view = patches.on_patches(black, black.attention("self").weights[0, 0], key="p")
    assert list(view.special) == ["class token", "distillation token"]


def test_its_kind_is_found_by_its_tensors(pair, tmp_path):
    _, ours, folder = pair
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    values = json.loads((folder / "config.json").read_text())
    kept = {name: value for name, value in values.items() if name not in ("model_type", "architectures")}
    (tmp_path / "config.json").write_text(json.dumps(kept))
    assert core.open_model(tmp_path).config == ours.config


def test_a_body_without_its_head_is_refused_in_words(tmp_path):
    DeiTForMaskedImageModeling(DeiTConfig(**SHAPE, encoder_stride=14)).save_pretrained(tmp_path)
    with pytest.raises(core.InputError, match="without its head for classes"):
        core.open_model(tmp_path)
