"""model.safetensors files whose list of tensors lies, or that are no such file at all; indexes that lead elsewhere."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from crafting import packed, tensor
from safetensors.torch import load, save

from crafted.case import WEIGHTS, Case, Values, folder, good

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

    def __reduce__(self) -> Any:
        return os.mkdir, ("canary",)


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
    "unknown number format": (packed({"a": tensor([1], 0, 1, "F3_E2M0")}, b"\0"), "F3_E2M0"),
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
"""A whole file in the place of the weights."""


def one(values: Values) -> Values:
    """The description of a tensor somewhere in the middle."""
    return values[sorted(name for name in values if name != "__metadata__")[7]]


def told(**changes: Any) -> Callable[[Values], object]:
    return lambda values: one(values).update(changes)


def swapped(values: Values) -> None:
    first, second = sorted(name for name in values if name != "__metadata__")[:2]
    values[first]["data_offsets"], values[second]["data_offsets"] = (
        values[second]["data_offsets"],
        values[first]["data_offsets"],
    )


def shifted(values: Values) -> None:
    span = one(values)["data_offsets"]
    one(values)["data_offsets"] = [span[0] - 4, span[1] - 4]


def renamed(new: str) -> Callable[[Values], object]:
    def change(values: Values) -> None:
        first = min(name for name in values if name != "__metadata__")
        values[new] = values.pop(first)

    return change


LISTS: dict[str, tuple[Any, ...]] = {
    "a number format of eight bits": ("qwen2", told(dtype="F8_E5M2"), "do not fit its shape"),
    "a number format of four bits": ("llama", told(dtype="F4"), "is stored as F4"),
    "a number format of markup": ("t5", told(dtype="<b>F32</b>"), "is stored as <b>F32</b>"),
    "whole numbers": ("vit", told(dtype="I32"), "is stored as I32"),
    "whole numbers without a sign": ("marian", told(dtype="U32"), "is stored as U32"),
    "half the bytes": ("albert", told(dtype="F16"), "do not fit its shape"),
    "a shape of text": ("gemma", told(shape="30"), "no possible shape"),
    "a shape in a shape": ("deberta-v2", told(shape=[[30]]), "no possible shape"),
    "a shape of nothing": ("modernbert", told(shape=[0, 30]), "do not fit its shape"),
    "a shape of NaN": (
        "bart",
        lambda values: one(values).update(shape=[float("nan")]),
        "NaN is not a number",
    ),
    "an offset that is true": ("mpnet", told(data_offsets=[False, True]), "do not fit its shape"),
    "three offsets": ("electra", told(data_offsets=[0, 4, 8]), "do not fit its shape"),
    "an offset before the file": ("big_bird", told(data_offsets=[-120, 0]), "do not fit its shape"),
    "offsets beyond the file": ("gpt_neo", told(data_offsets=[2**62, 2**62 + 132]), "a hole"),
    "an overlap": ("gpt_neox", shifted, "an overlap"),
    "a hole": ("roberta", lambda values: values.pop(sorted(values)[3]), "a hole"),
    "out of order": ("llama", swapped),
    "a fourth fact": ("distilbert", told(file="/etc/passwd"), "is not described by"),
    "a path for a name": ("qwen3", renamed("../../model.embed_tokens.weight"), "named '../../model"),
    "no name": ("mistral", renamed(""), "named ''"),
    "a name of blanks": ("mistral", renamed("   "), "Weights missing"),
    "a name that turns the text round": ("t5", renamed("shared\u202e.weight"), "named"),
    "a name in look-alike letters": ("t5", renamed("dec\u043eder.final"), "Weights missing"),
    "metadata that is a list": (
        "bert",
        lambda values: values.update(__metadata__=["pt"]),
        "metadata is not text",
    ),
    "metadata that is markup": (
        "bert",
        lambda values: values.update(__metadata__={"format": "<script>"}),
    ),
}


def sharded(kind: str, index: Callable[[dict[str, str]], Any], **more: Any) -> Callable[[Path], object]:
    """Two good shards, and an index given as a function of the right one."""

    def shards(place: Path) -> None:
        held = load(good(kind)[WEIGHTS])
        names = sorted(held)
        parts = {"model-1.safetensors": names[:9], "model-2.safetensors": names[9:]}
        for file, some in parts.items():
            (place / file).write_bytes(save({name: held[name] for name in some}))
        told = index({name: file for file, some in parts.items() for name in some})
        text = told if isinstance(told, bytes) else json.dumps({"weight_map": told, **more}).encode()
        (place / "model.safetensors.index.json").write_bytes(text)
        (place.parent / "other.safetensors").write_bytes(good(kind)[WEIGHTS])

    return folder(kind, without=(WEIGHTS,), after=shards)


def moved(where: Any) -> Callable[[dict[str, str]], Any]:
    return lambda right: right | {min(right): where}


INDEXES: dict[str, tuple[Any, ...]] = {
    "right": ("llama", lambda right: right),
    "a wrong total": ("llama", lambda right: right, {"metadata": {"total_size": -1}}),
    "climbs out": ("t5", moved("../other.safetensors"), "../other.safetensors"),
    "absolute": ("roberta", moved("/etc/other.safetensors"), "/etc/other.safetensors"),
    "a drive letter": ("marian", moved("C:\\other.safetensors"), "other.safetensors"),
    "NUL": ("albert", moved("model\0.safetensors"), "names the file"),
    "a hidden file": ("gemma2", moved(".model-1.safetensors"), "names the file '.model-1"),
    "itself": ("vit", moved("model.safetensors.index.json"), "names the file 'model.safetensors.index.json'"),
    "a pickle": ("bart", moved("model-1.bin"), "model-1.bin"),
    "a number": ("deberta-v2", moved(7), "names the file '7'"),
    "a list of files": ("modernbert", moved(["model-1.safetensors"]), "names the file '["),
    "a missing shard": ("llama", moved("model-3.safetensors"), "model-3.safetensors is missing"),
    "the other shard": (
        "qwen2",
        moved("model-2.safetensors"),
        "which model.safetensors.index.json does not place there",
    ),
    "a tensor no shard has": (
        "mpnet",
        lambda right: right | {"ghost": "model-1.safetensors"},
        "does not hold 'ghost'",
    ),
    "a tensor it forgets": (
        "gpt_neox",
        lambda right: {n: f for n, f in right.items() if n != min(right)},
        "does not place there",
    ),
    "empty": ("t5", lambda right: {}, "no usable weight_map"),
    "a list": ("t5", list, "no usable weight_map"),
    "1,000 shards": (
        "t5",
        lambda right: right | {f"t{i}": f"s{i}.safetensors" for i in range(1000)},
        "names 1,002 files",
    ),
    "not JSON": ("bert", lambda right: b"{", "index.json cannot be read"),
    "deep": ("bert", lambda right: b"[" * 10**6, "nested too deeply"),
    "9 MB": ("bert", lambda right: b" " * (9 * 2**20), "9,437,184 bytes"),
}


def truncated(share: float) -> Callable[[Path], object]:
    def cut(place: Path) -> None:
        path = place / WEIGHTS
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])

    return cut


CASES = [
    *(
        Case(f"{WEIGHTS}: {name}", folder("gpt2", weights=data or b" ", files={WEIGHTS: data}), tuple(words))
        for name, (data, *words) in FILES.items()
    ),
    *(
        Case(f"{WEIGHTS}: {share:.1%} of it", folder("roberta", after=truncated(share)), (WEIGHTS, "cut off"))
        for share in (0.999, 0.5, 0.01)
    ),
    *(
        Case(f"{kind}: {name}", folder(kind, header=change), tuple(words))
        for name, (kind, change, *words) in LISTS.items()
    ),
    *(
        Case(
            f"index of {kind}: {name}",
            sharded(kind, index, **(words[0] if words and isinstance(words[0], dict) else {})),
            tuple(word for word in words if isinstance(word, str)),
        )
        for name, (kind, index, *words) in INDEXES.items()
    ),
]
