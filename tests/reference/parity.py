"""What the parity tests share: another implementation's values under our path names, and the folders they come from."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from core.layers.task_head import AXES

SAME = 1e-4
OURS_ALONE = {"scores", "allowed"}  # values the other implementation never hands out


def redraw(model):
    """Draw every parameter, biases and norms too: with the default initialisation swapped biases would pass."""
    torch.manual_seed(7)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.3)
    assert max(weight.abs().max() for weight in model.parameters()) > 0.5
    assert min(weight.std() for weight in model.parameters() if weight.numel() > 8) > 0.15
    return model.eval()


@contextmanager
def watched():
    """Yield a dictionary, and `keep(module, path)`, which files a module's output, or with `before` its input, in it."""
    found, hooks = {}, []

    def keep(module, path, take=lambda out: out, before=False):
        def hook(_, given, out=None):
            value = given[0] if before else out
            found[path] = take(value[0] if isinstance(value, tuple | list) else value).detach().clone()

        hooks.append(module.register_forward_pre_hook(hook) if before else module.register_forward_hook(hook))

    try:
        yield found, keep
    finally:
        for hook in hooks:
            hook.remove()


def of_row(found, out, row=0):
    """Return the watched values of one text as arrays, with the patterns and hidden states of the output."""
    arrays = {path: value[min(row, len(value) - 1)].numpy() for path, value in found.items()}
    for i, pattern in enumerate(out.attentions):
        arrays[f"layer.{i}.self_attn.pattern"] = pattern[row].numpy()
    return arrays | {"hidden": [state[row].numpy() for state in out.hidden_states]}


def by_head(n_heads):
    return lambda value: value.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def first_divergence(run, other, tolerance=SAME):
    """Return the first path of the computation where two runs differ, with the difference; None if nowhere."""
    for path in run.trace.names():
        if path in other:
            if run.trace[path].shape != other[path].shape:
                return f"{path}: shapes {run.trace[path].shape} and {other[path].shape}"
            difference = float(np.abs(run.trace[path] - other[path]).max())
            if not difference <= tolerance:
                return f"{path}: {difference:.2g}"
    return None


def alike(run, other, tolerance=SAME):
    """Check that nothing differs at any path, nor in what is stacked from paths."""
    assert first_divergence(run, other, tolerance) is None
    n = run.model.config.n_layers
    assert {path for path in run.trace.names() if path not in other and path not in AXES} == {
        f"layer.{i}.self_attn.{name}" for i in range(n) for name in OURS_ALONE
    }
    assert np.abs(run.hidden()[:n] - np.stack(other["hidden"][:n])[:, : len(run.ids)]).max() <= tolerance
    real = len(run.ids)
    theirs = np.stack([other[f"layer.{i}.self_attn.pattern"] for i in range(n)])[:, :, :real, :real]
    assert np.abs(run.attention().weights - theirs).max() <= tolerance


def variant(source, tmp_path, weights=None, config=None):
    """Return a copy of the folder with changed weights (a function of the dictionary) and config fields."""
    folder = tmp_path / "variant"
    shutil.copytree(source, folder)
    if weights is not None:
        state = weights(load_file(folder / "model.safetensors"))
        save_file(
            {name: value.contiguous().clone() for name, value in state.items()}, folder / "model.safetensors"
        )
    if config is not None:
        held = json.loads((folder / "config.json").read_text())
        held = {name: value for name, value in (held | config).items() if value != "absent"}
        (folder / "config.json").write_text(json.dumps(held))
    return folder
