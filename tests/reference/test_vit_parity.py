"""ViT folders written by the transformers library open and give its numbers; so does a masked autoencoder with its weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, redraw
from safetensors.torch import load_file
from transformers import ViTConfig, ViTForImageClassification, ViTMAEConfig, ViTMAEForPreTraining, ViTModel

import core
from core.checkpoints.foreign.vit import LAYERS
from core.data import patches
from core.data.doodles import from_text
from core.models import Batch
from core.models.mae import MAE, MAEConfig
from core.tools.export import export_model

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


@pytest.fixture(scope="module")
def theirs():
    return redraw(ViTForImageClassification(ViTConfig(**SHAPE, id2label=LABELS)))


@pytest.fixture(scope="module")
def folder(theirs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vit")
    theirs.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def ours(folder):
    return core.open_model(folder)


def picture(text):
    """What the library's own image processor makes of a doodle: larger, in three channels, from -1 to 1."""
    grey = np.kron(from_text(text), np.ones((2, 2))) / 255 * 2 - 1
    return torch.tensor(np.stack([grey] * 3), dtype=torch.float32)[None]


def test_a_folder_of_transformers_gives_its_numbers(theirs, ours):
    text = ours.reader.example
    with torch.no_grad():
        out = theirs(picture(text), output_attentions=True, output_hidden_states=True)
        body = theirs.vit(picture(text)).last_hidden_state
    run = ours.run(text)
    for i, pattern in enumerate(out.attentions):
        np.testing.assert_allclose(run.trace[f"encoder.layer.{i}.self_attn.pattern"], pattern[0], atol=SAME)
        np.testing.assert_allclose(
            run.trace[f"encoder.layer.{i}.resid_out"], out.hidden_states[i + 1][0], atol=SAME
        )
    np.testing.assert_allclose(run.trace["embed.out"], out.hidden_states[0][0], atol=SAME)
    np.testing.assert_allclose(run.trace["encoder.final_norm.out"], body[0], atol=SAME)
    np.testing.assert_allclose(run.trace["classes"], out.logits[0], atol=SAME)
    assert ours.config.classes[1:] == ("crane 1", "crane 2", "fish")


def test_what_is_exported_is_read_by_the_library_again(theirs, ours, tmp_path):
    out = export_model(ours, tmp_path / "out")
    again = ViTForImageClassification.from_pretrained(out).eval()
    x = picture(ours.reader.example)
    with torch.no_grad():
        torch.testing.assert_close(again(x).logits, theirs(x).logits)


def test_a_body_without_its_head_is_refused_in_words(tmp_path):
    ViTModel(ViTConfig(**SHAPE)).save_pretrained(tmp_path)
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
    values = torch.nn.functional.pad(patches.unfolded(x, 14), (0, 0, 1, 0))
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
    """The library writes the three colours of a pixel side by side where we, like the convolution, write one after the other."""
    return pixels.unflatten(-1, (196, 3)).transpose(-1, -2).flatten(-2)


def _taken(saved, cfg):
    """Our weights of theirs, by the names that the library writes to a file."""
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
