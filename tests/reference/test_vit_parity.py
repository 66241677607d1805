"""ViT and DeiT folders of the transformers library give its numbers, with one head and both; so does a masked autoencoder with its weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from parity import SAME, redraw
from safetensors.torch import load_file
from transformers import (
    DeiTConfig,
    DeiTForImageClassification,
    DeiTForImageClassificationWithTeacher,
    DeiTForMaskedImageModeling,
    ViTConfig,
    ViTForImageClassification,
    ViTMAEConfig,
    ViTMAEForPreTraining,
    ViTModel,
)

import core
from core.analysis.attribution.erasing import patch_occlusion
from core.checkpoints.foreign.vit import LAYERS
from core.data import patches
from core.data.doodles import from_text
from core.models import Batch
from core.models.mae import MAE, MAEConfig
from core.tools.export import export_model
from viz.instruments.picture import patches as drawn_patches

SHAPE = {
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "hidden_size": 36,
    "intermediate_size": 13,
    "image_size": 56,
    "patch_size": 14,
    "num_channels": 3,
    "attn_implementation": "eager",
    "layer_norm_eps": 3e-4,
}
LABELS = {0: "a very long name of a class, which has other names too", 1: "crane", 2: "crane", 3: "fish"}


BOTH, ONE = DeiTForImageClassificationWithTeacher, DeiTForImageClassification
KINDS = {
    "vit": (ViTForImageClassification, ViTConfig, {}),
    "both heads": (BOTH, DeiTConfig, {}),
    "one head": (ONE, DeiTConfig, {}),
    "small patches": (BOTH, DeiTConfig, {"patch_size": 7, "num_hidden_layers": 1, "hidden_act": "relu"}),
    "one channel": (
        ONE,
        DeiTConfig,
        {"num_channels": 1, "num_attention_heads": 1, "image_size": 28, "patch_size": 4},
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request, tmp_path_factory):
    kind, config, changes = KINDS[request.param]
    theirs = redraw(kind(config(**{**SHAPE, **changes}, id2label=LABELS)))
    folder = tmp_path_factory.mktemp("vit")
    theirs.save_pretrained(folder)
    return theirs, core.open_model(folder), folder


def picture(text):
    """Return the library's image of a doodle: larger, in three channels, from -1 to 1."""
    grey = np.kron(from_text(text), np.ones((2, 2))) / 255 * 2 - 1
    return torch.tensor(np.stack([grey] * 3), dtype=torch.float32)[None]


def pixels(theirs, text):
    x = picture(text) if theirs.config.image_size == 56 else picture(text)[..., ::2, ::2]
    return x[:, : theirs.config.num_channels]


def seen(theirs, text):
    with torch.no_grad():
        return theirs(pixels(theirs, text), output_attentions=True, output_hidden_states=True)


def test_a_folder_of_transformers_gives_its_numbers(pair):
    theirs, ours, _ = pair
    text = ours.reader.example
    out, run = seen(theirs, text), ours.run(text)
    for i, pattern in enumerate(out.attentions):
        np.testing.assert_allclose(run.trace[f"encoder.layer.{i}.self_attn.pattern"], pattern[0], atol=SAME)
        np.testing.assert_allclose(
            run.trace[f"encoder.layer.{i}.resid_out"], out.hidden_states[i + 1][0], atol=SAME
        )
    body = theirs.base_model
    with torch.no_grad():
        last = body(pixels(theirs, text)).last_hidden_state
    np.testing.assert_allclose(run.trace["encoder.final_norm.out"], last[0], atol=SAME)
    np.testing.assert_allclose(run.trace["embed.out"], out.hidden_states[0][0], atol=SAME)
    np.testing.assert_allclose(run.trace["classes"], out.logits[0], atol=SAME)
    if isinstance(theirs, BOTH):
        np.testing.assert_allclose(run.trace["classes.class_token"], out.cls_logits[0], atol=SAME)
        np.testing.assert_allclose(
            run.trace["classes.distillation_token"], out.distillation_logits[0], atol=SAME
        )
    first = ("class", "distillation") if theirs.config.model_type == "deit" else ("class",)
    assert run.tokens[: len(first) + 1] == (*first, "1,1")
    assert ours.config.classes[1:] == ("crane 1", "crane 2", "fish")


def test_what_is_exported_is_read_by_the_library_again(pair, tmp_path):
    theirs, ours, _ = pair
    again = (
        type(theirs).from_pretrained(export_model(ours, tmp_path / "out"), attn_implementation="eager").eval()
    )
    text = ours.reader.example
    torch.testing.assert_close(seen(again, text).logits, seen(theirs, text).logits)
    assert core.open_model(tmp_path / "out").config == ours.config


def test_a_patch_is_where_its_name_says(pair):
    """Check that painting over or hiding a patch changes that patch and no other."""
    theirs, ours, _ = pair
    special = ["class token", "distillation token"][: 1 + (theirs.config.model_type == "deit")]
    text, side = ours.reader.example, ours.config.side
    place = len(special) + side + 1
    assert drawn_patches.patch_names(ours.run(text).tokens)[place] == "row 2, column 2"
    hidden = ours.run(patches.with_hidden_mark(text, [place]))
    assert [i for i, name in enumerate(hidden.tokens) if name.endswith("hidden")] == [place]
    black = ours.run(text, edits=[patch_occlusion(ours, place)])
    changed = np.abs(black.trace["embed.out"] - ours.run(text).trace["embed.out"]).max(-1) > 0
    assert {*np.flatnonzero(changed)} <= {place}
    view = drawn_patches.on_patches(black, black.attention("self").weights[0, 0], key="p")
    assert list(view.special) == special


def test_its_kind_is_found_by_its_tensors(pair, tmp_path):
    _, ours, folder = pair
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    values = json.loads((folder / "config.json").read_text())
    kept = {name: value for name, value in values.items() if name not in ("model_type", "architectures")}
    (tmp_path / "config.json").write_text(json.dumps(kept))
    assert core.open_model(tmp_path).config == ours.config


@pytest.mark.parametrize(
    ("kind", "config"),
    [(ViTModel, ViTConfig(**SHAPE)), (DeiTForMaskedImageModeling, DeiTConfig(**SHAPE, encoder_stride=14))],
)
def test_a_body_without_its_head_is_refused_in_words(kind, config, tmp_path):
    kind(config).save_pretrained(tmp_path)
    with pytest.raises(core.InputError, match="without its head for classes"):
        core.open_model(tmp_path)


def test_a_masked_autoencoder_with_the_librarys_weights_gives_its_numbers(tmp_path):
    decoder = {
        "decoder_num_hidden_layers": 1,
        "decoder_num_attention_heads": 3,
        "decoder_hidden_size": 36,
        "decoder_intermediate_size": 13,
    }
    theirs = redraw(ViTMAEForPreTraining(ViTMAEConfig(**SHAPE, **decoder)))
    cfg = MAEConfig(
        n_layers=2, n_heads=3, d_model=36, d_ff=13, image=56, patch=14, eps=3e-4, n_decoder_layers=1
    )
    ours = MAE(cfg).eval()
    theirs.save_pretrained(tmp_path)
    ours.load_state_dict(_taken(load_file(tmp_path / "model.safetensors"), cfg))
    x = torch.rand(2, 3, 56, 56, generator=torch.Generator().manual_seed(3)) * 2 - 1
    noise = torch.rand(2, 16, generator=torch.Generator().manual_seed(4))
    values = torch.nn.functional.pad(patches.to_patches(x, 14), (0, 0, 1, 0))
    with torch.no_grad():
        out = theirs(x, noise=noise)
        hidden = torch.nn.functional.pad(out.mask, (1, 0)).bool()
        ids = torch.arange(17) + 17 * hidden
        read = Batch(
            ids=ids, real=ids >= 0, values=values.masked_fill(hidden[..., None], 99.0)
        )  # not looked at
        found = ours.patches(ours(read))[:, 1:]
    assert out.mask.sum(1).tolist() == [12, 12]
    torch.testing.assert_close(found, _by_channel(out.logits), atol=SAME, rtol=SAME)
    lost = (found - values[:, 1:]).square().mean(-1)[out.mask.bool()].mean()
    torch.testing.assert_close(lost, out.loss, atol=SAME, rtol=SAME)


def _by_channel(pixels):
    """Return rows in our order of colours: the library has those of a pixel side by side, we one after the other."""
    return pixels.unflatten(-1, (196, 3)).transpose(-1, -2).flatten(-2)


def _taken(saved, cfg):
    """Return our weights by the names that the library writes."""
    d, n = cfg.d_model, cfg.n_ctx
    blocks = {f"vit.encoder.layer.{i}": f"encoder.{i}" for i in range(cfg.n_layers)}
    blocks |= {f"decoder.decoder_encoder.layer.{i}": f"decoder.{i}" for i in range(cfg.n_decoder_layers)}
    ours = {
        f"{new}.{each.into[0].removeprefix('encoder.*.')}.{end}": saved[
            f"{old}.{part.removeprefix('encoder.layer.*.')}.{end}"
        ]
        for old, new in blocks.items()
        for part, each in LAYERS.items()
        for end in ("weight", "bias")
    }
    for old, new in {
        "vit.layernorm": "encoder_norm",
        "decoder.decoder_norm": "decoder_norm",
        "decoder.decoder_embed": "to_decoder",
    }.items():
        ours |= {f"{new}.{part}": saved[f"{old}.{part}"] for part in ("weight", "bias")}
    patch = "vit.embeddings.patch_embeddings.projection"
    pixels = {part: saved[f"decoder.decoder_pred.{part}"] for part in ("weight", "bias")}
    return ours | {
        "embed.token.class_token": saved["vit.embeddings.cls_token"].reshape(d),
        "embed.token.project.weight": saved[f"{patch}.weight"].reshape(d, -1),
        "embed.token.project.bias": saved[f"{patch}.bias"],
        "embed.position.weight": saved["vit.embeddings.position_embeddings"].reshape(n, d),
        "embed.mask.token": saved["decoder.mask_token"].reshape(d),
        "embed.decoder_position.weight": saved["decoder.decoder_pos_embed"].reshape(n, d),
        "to_patches.weight": _by_channel(pixels["weight"].T).T,
        "to_patches.bias": _by_channel(pixels["bias"]),
    }
