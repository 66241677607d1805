"""`hf:owner/name`: fetch a model from the Hub, for scripts. The app never comes here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.weights import INDEX, SHARD, SINGLE
from core.errors import InputError

PREFIX = "hf:"
ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,95})/[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,95})")
TEXTS = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "README.md",
)
LARGEST = 8 * 10**9


def checked_id(address: str) -> str:
    """The `owner/name` of an address `hf:owner/name`.

    >>> checked_id("hf:openai-community/gpt2")
    'openai-community/gpt2'
    """
    name = address.removeprefix(PREFIX)
    if not ID.fullmatch(name) or ".." in name or "--" in name:
        raise InputError(
            f"'{shown(address)}' is not a model of the Hub.",
            "It is written hf:owner/name, no address and no path.",
            "Check the name.",
        )
    return name


def fetch(address: str) -> Path:
    """The local folder of a Hub model: safetensors, JSON and text files of one revision, never a pickle.

    Sizes are asked for first; more than 8 GB is refused. What is in the Hub's cache is not fetched again.
    Raises InputError: a malformed name, no network, no such model, no safetensors.
    """
    import huggingface_hub as hub  # only here: it reaches for the network

    name = checked_id(address)
    try:
        info = hub.HfApi().model_info(name, files_metadata=True, timeout=10)
        files = _wanted(name, {file.rfilename: int(file.size or 0) for file in info.siblings or ()})
        return Path(hub.snapshot_download(name, revision=info.sha, allow_patterns=files, max_workers=2))
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - the library raises those of several network libraries
        raise _failed(name, error) from None


def _wanted(name: str, sizes: dict[str, int]) -> list[str]:
    weights = (
        [SINGLE] if SINGLE in sizes else [file for file in sizes if file == INDEX or SHARD.fullmatch(file)]
    )
    if not weights:
        raise InputError(
            f"{name} has no safetensors file.",
            "Other formats can run code and are never fetched.",
            "Choose another model.",
        )
    files = [*weights, *(file for file in TEXTS if file in sizes)]
    total = sum(sizes[file] for file in files)
    if total > LARGEST:
        raise InputError(
            f"{name} has {total:,} bytes.", f"At most {LARGEST:,} are fetched.", "Choose a smaller model."
        )
    return files


def _failed(name: str, error: Any) -> InputError:
    kind = type(error).__name__
    if kind in ("RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError"):
        return InputError(
            f"The Hub has no open model '{name}'.", "A model must be public.", "Check the name."
        )
    return InputError(
        f"{name} could not be fetched ({kind}).",
        "hf: needs the network.",
        "Give the path of a folder that is here.",
    )
