"""Every crafted folder is refused in words that name the cause, in time and without memory, or it opens and can be used."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
from collections import Counter
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from crafted import (
    configs,
    lists,
    older_vocabularies,
    packed_files,
    places,
    task_heads,
    tensors,
    vocabularies,
)
from crafted.case import Case, folder
from crafting import Refusal

from core.checkpoints import load, open_model
from core.checkpoints.foreign import formats
from core.errors import InputError
from core.model import Model

TABLES = (
    configs,
    lists,
    tensors,
    vocabularies,
    older_vocabularies,
    packed_files,
    places,
    task_heads,
)
CASES = [
    *(Case(f"{kind}: as it is", folder(kind)) for kind in (*formats(), "own")),
    *(case for table in TABLES for case in table.CASES),
]
CANARY = "canary"
"""The folder that code out of a crafted file would make."""
MB = 2**20


def used(model: Model) -> None:
    """One run of a model that was opened: it says something finite, and its tokenizer stands odd letters."""
    example = model.spec.reads(model.config).example if model.spec.reads else "the street"
    assert model.run(example).tokens
    if not model.spec.reads:
        model.tokenizer.encode("a\u0301" * 500 + "<|endoftext|>[MASK]" + " " * 500)


def weighed(case: Case) -> Any:
    """A case for the quick run, or for the slow one: what the tokenizers library itself refuses in the child, and good folders, which have tests of their own."""
    slow = "refuses it" in case.words or case.name.endswith("as it is")
    return pytest.param(case, id=case.name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.quick(100)
@pytest.mark.parametrize("case", [weighed(case) for case in CASES])
def test_each_is_refused_in_words_or_opens(
    refused: Refusal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: Case
) -> None:
    place, build = tmp_path / "model", load.build
    case.write(place)
    if then := case.then:
        monkeypatch.setattr(load, "build", lambda *given: (then(place), build(*given))[1])
    if case.words:
        refused(place, *case.words, before_reading=not case.late)
    else:
        with (
            suppress(InputError) if case.then else nullcontext()
        ):  # what changes meanwhile is read before or after it
            used(open_model(place))
    assert not os.path.exists(CANARY)


def test_there_are_many_of_every_kind() -> None:
    names = Counter(case.name for case in CASES)
    assert len(names) >= 150 and max(names.values()) == 1, names.most_common(3)
    kinds = Counter(case.kind for case in CASES if case.words)
    many = (
        "llama",
        "roberta",
        "t5",
        "marian",
        "albert",
        "deberta-v2",
        "modernbert",
        "gemma3_text",
        "vit",
        "GGUF",
    )
    assert all(kinds[kind] >= 4 for kind in many), kinds
    assert set(formats()) <= {case.kind for case in CASES}


@pytest.mark.slow
def test_memory_is_flat_over_all_of_them(tmp_path: Path) -> None:
    def all_of_them() -> int:
        for case in CASES:
            place = tmp_path / "one" / "model"
            place.parent.mkdir()
            case.write(place)
            try:
                used(open_model(place))
            except InputError:
                assert case.words or case.then, case.name
            shutil.rmtree(place.parent)
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what is free and kept for later is no growth
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    first = all_of_them()
    assert all_of_them() <= first + 8 * MB
