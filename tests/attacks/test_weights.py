"""Crafted safetensors files, shards and links: each refused in words, before anything large is read."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch
from crafting import good_folder, good_weights, packed, tensor
from safetensors.torch import save_file

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 548105171\n"
ONE = {"a": tensor([2, 2], 0, 16)}


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", b"x" * 100)
    return out.getvalue()


def numpy_array() -> bytes:
    out = io.BytesIO()
    np.save(out, np.zeros(9))
    return out.getvalue()


class Canary:
    """Pickled, this would make a folder when loaded."""

    def __reduce__(self):
        return os.mkdir, ("canary-that-must-never-appear",)


FILES = {
    "empty": (b"", "empty"),
    "seven bytes": (b"\0" * 7, "not a safetensors file"),
    "zeros": (b"\0" * 100, "not a safetensors file"),
    "git lfs pointer": (LFS, "Git LFS pointer"),
    "web page": (b"<!DOCTYPE html>\n<html><body>404</body></html>", "web page"),
    "web page after blanks": (b"\n  <html><body>Sign in</body></html>", "web page"),
    "renamed zip": (zipped(), "zip archive"),
    "renamed pickle": (pickle.dumps({"weights": Canary()}), "pickle"),
    "old pickle": (pickle.dumps({"weights": Canary()}, protocol=2), "pickle"),
    "numpy array": (numpy_array(), "NumPy"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + b"\0" * 64, "HDF5"),
    "gguf": (b"GGUF" + b"\3\0\0\0" + b"\0" * 64, "GGUF"),
    "gzip": (b"\x1f\x8b\x08" + b"\0" * 64, "gzip"),
    "header longer than the file": (packed(ONE, b"\0" * 16, length=10_000), "cut off"),
    "header of 2^63": (packed(ONE, b"\0" * 16, length=2**63), "cut off"),
    "header of 2^64-1": (packed(ONE, b"\0" * 16, length=2**64 - 1), "cut off"),
    "header beyond 5 MB": (packed(b'{"a":"' + b" " * (6 * 2**20) + b'"}'), "header", "6,"),
    "metadata beyond 5 MB": (packed({"__metadata__": {"x": "y" * (6 * 2**20)}}), "header"),
    "not JSON": (packed(b"{this is not JSON}"), "cannot be read"),
    "not UTF-8": (packed(b'{"\xff\xfe": 1}'), "UTF-8"),
    "nested 100,000 deep": (packed(b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"), "nested"),
    "nested 1,000,000 deep": (packed(b'{"a":' + b"[" * 1_000_000), "too many"),
    "the same key twice": (
        packed(b'{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":1}', b"\0" * 4),
        "twice",
    ),
    "not a number": (packed(b'{"a":NaN}'), "NaN"),
    "a number of 5,000 digits": (packed(b'{"a":' + b"9" * 5000 + b"}"), "digits"),
    "metadata that is no text": (packed({"__metadata__": {"x": 1}}), "metadata"),
    "description missing": (packed({"a": {"dtype": "F32"}}), "described"),
    "description is a number": (packed({"a": 7}), "described"),
    "unknown number format": (packed({"a": tensor([1], 0, 1, "F8_E4M3")}, b"\0"), "F8_E4M3"),
    "format is a list": (
        packed({"a": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4),
        "stored as",
    ),
    "negative size": (packed({"a": tensor([-1, 4], 0, 16)}, b"\0" * 16), "shape"),
    "fractional size": (packed({"a": tensor([2.0, 2], 0, 16)}, b"\0" * 16), "shape"),
    "size true": (packed({"a": tensor([True, 4], 0, 16)}, b"\0" * 16), "shape"),
    "size 2^64": (packed({"a": tensor([2**64], 0, 16)}, b"\0" * 16), "shape"),
    "zero times 2^62": (packed({"a": tensor([0, 2**62], 0, 0)}), "shape"),
    "nine axes": (packed({"a": tensor([1] * 9, 0, 4)}, b"\0" * 4), "shape"),
    "sizes that overflow": (packed({"a": tensor([2**31, 2**31, 4], 0, 16)}, b"\0" * 16), "bytes"),
    "bytes and shape differ": (packed({"a": tensor([2, 2], 0, 12)}, b"\0" * 12), "bytes"),
    "offsets reversed": (packed({"a": tensor([2, 2], 16, 0)}, b"\0" * 16), "bytes"),
    "offsets negative": (packed({"a": tensor([2, 2], -16, 0)}, b"\0" * 16), "bytes"),
    "overlap": (packed({"a": tensor([4], 0, 16), "b": tensor([4], 8, 24)}, b"\0" * 24), "overlap"),
    "hole": (packed({"a": tensor([4], 0, 16), "b": tensor([4], 20, 36)}, b"\0" * 36), "hole"),
    "data missing": (packed(ONE, b"\0" * 8), "cut off"),
    "data left over": (packed(ONE, b"\0" * 20), "follow"),
    "a name that climbs": (packed({"../../etc/passwd": tensor([4], 0, 16)}, b"\0" * 16), "../../etc/passwd"),
    "an absolute name": (packed({"/etc/passwd": tensor([4], 0, 16)}, b"\0" * 16), "/etc/passwd"),
    "a name with NUL": (packed({"a\0b": tensor([4], 0, 16)}, b"\0" * 16), "named"),
    "a name of 1 MB": (packed({"n" * 2**20: tensor([4], 0, 16)}, b"\0" * 16), "named", "…"),
    "a name of markup": (packed({"<script>\u202e": tensor([4], 0, 16)}, b"\0" * 16), "named"),
    "50,000 empty tensors": (packed({f"t{i}": tensor([0], 0, 0) for i in range(50_000)}), "too many"),
    "20,001 numbers": (
        packed({f"t{i}": tensor([], i, i + 1, "I8") for i in range(20_001)}, b"\0" * 20_001),
        "20,001",
    ),
    "100,000 small entries": (packed({f"{i}": {} for i in range(100_000)}), "too many"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_crafted_file_is_refused(refused, tmp_path, case):
    folder = good_folder(tmp_path / "model")
    data, *words = FILES[case]
    (folder / "model.safetensors").write_bytes(data)
    refused(folder, *words)
    assert not os.path.exists("canary-that-must-never-appear")


@pytest.mark.parametrize("kept", [0.999, 0.5, 0.01])
def test_a_truncated_file_is_refused(refused, tmp_path, kept):
    folder = good_folder(tmp_path / "model")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    refused(folder, "model.safetensors", "cut off")


def saved(folder, weights):
    save_file({name: value.contiguous() for name, value in weights.items()}, folder / "model.safetensors")
    return folder


def test_weights_with_wrong_names_are_never_replaced_by_random_ones(refused, tmp_path):
    folder = good_folder(tmp_path / "model")
    error = refused(
        saved(folder, {f"x.{name}": value for name, value in good_weights().items()}),
        "missing",
        "wte.weight",
        "more",
    )
    assert error.wrong.count(",") == 4  # the first five


def test_one_missing_weight_is_named(refused, tmp_path):
    weights = good_weights()
    del weights["transformer.h.1.mlp.c_fc.bias"]
    refused(saved(good_folder(tmp_path / "model"), weights), "missing", "h.1.mlp.c_fc.bias")


def test_one_weight_too_many_is_named(refused, tmp_path):
    weights = good_weights() | {"transformer.h.2.ln_1.weight": torch.ones(33)}
    refused(saved(good_folder(tmp_path / "model"), weights), "left over", "h.2.ln_1.weight")


def test_a_weight_stored_twice_is_refused(refused, tmp_path):
    weights = good_weights()
    refused(
        saved(
            good_folder(tmp_path / "model"),
            weights | {"wte.weight": weights["transformer.wte.weight"].clone()},
        ),
        "twice",
    )


def test_another_shape_is_named(refused, tmp_path):
    weights = good_weights() | {"transformer.h.0.attn.c_attn.weight": torch.ones(99, 33)}
    refused(saved(good_folder(tmp_path / "model"), weights), "h.0.attn.c_attn.weight", "(99, 33)", "(33, 99)")


def test_whole_numbers_are_no_weights(refused, tmp_path):
    weights = good_weights() | {"transformer.ln_f.bias": torch.ones(33, dtype=torch.int64)}
    refused(saved(good_folder(tmp_path / "model"), weights), "ln_f.bias", "I64")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers_are_refused(refused, tmp_path, value):
    weights = good_weights()
    weights["transformer.h.1.attn.c_proj.weight"][3, 4] = value
    refused(
        saved(good_folder(tmp_path / "model"), weights),
        "h.1.attn.c_proj.weight",
        "1 numbers",
        before_reading=False,
    )


def test_a_double_that_overflows_is_refused(refused, tmp_path):
    weights = good_weights() | {"transformer.ln_f.bias": torch.full((33,), 1e300, dtype=torch.float64)}
    refused(saved(good_folder(tmp_path / "model"), weights), "ln_f.bias", "infinite", before_reading=False)


def test_only_a_pickle_is_no_model(refused, tmp_path):
    folder = good_folder(tmp_path / "model", weights=False)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weights": Canary()}))
    error = refused(folder, "pytorch_model.bin", "pickle")
    assert "save_pretrained" in error.remedy
    assert not os.path.exists("canary-that-must-never-appear")


# ---------------------------------------------------------------------------------------------------- shards, links


def sharded(folder, index):
    """Two good shards, and an index given as a function of the right one."""
    weights = good_weights()
    names = sorted(weights)
    parts = {"model-1.safetensors": names[:9], "model-2.safetensors": names[9:]}
    for file, held in parts.items():
        save_file({name: weights[name] for name in held}, folder / file)
    right = {name: file for file, held in parts.items() for name in held}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index(right)}))
    return folder


def moved(where):
    return lambda right: right | {"transformer.wte.weight": where}


INDEXES = {
    "climbs out": (moved("../other.safetensors"), "../other.safetensors"),
    "absolute": (moved("/etc/other.safetensors"), "/etc/other.safetensors"),
    "drive letter": (moved("C:\\other.safetensors"), "other.safetensors"),
    "NUL": (moved("model\0.safetensors"), "names the file"),
    "a pickle": (moved("model-1.bin"), "model-1.bin"),
    "a number": (moved(7), "7"),
    "not there": (moved("model-3.safetensors"), "model-3.safetensors", "missing"),
    "the other shard": (moved("model-1.safetensors"), "wte.weight"),
    "a tensor no shard has": (lambda right: right | {"ghost": "model-1.safetensors"}, "ghost"),
    "a tensor it forgets": (lambda right: {n: f for n, f in right.items() if "wpe" not in n}, "wpe"),
    "empty": (lambda right: {}, "weight_map"),
    "a list": (lambda right: list(right), "weight_map"),
    "1,000 shards": (lambda right: right | {f"t{i}": f"s{i}.safetensors" for i in range(1000)}, "files"),
}


@pytest.mark.parametrize("case", INDEXES)
def test_a_crafted_index_is_refused(refused, tmp_path, case):
    index, *words = INDEXES[case]
    save_file(good_weights(), tmp_path / "other.safetensors")
    refused(sharded(good_folder(tmp_path / "model", weights=False), index), *words)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_link_out_of_the_folder_is_refused(refused, tmp_path, name):
    folder = good_folder(tmp_path / "model")
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    refused(folder, name, "link")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling"])
def test_what_is_no_file_is_refused_without_waiting(refused, tmp_path, name, kind):
    folder = good_folder(tmp_path / "model")
    path = folder / name
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere")
    refused(folder, name)
