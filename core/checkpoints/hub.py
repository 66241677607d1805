"""`hf:owner/name`: fetch a model from the Hub, in scripts, and in the app of whoever started it with `ATLAS_HUB=1`.

Only public models, without a token: safetensors, JSON and text files of one revision. What was fetched in part goes on where it stopped.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.checkpoints.files import printable
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
    "source.spm",
    "target.spm",
    "README.md",
)
LARGEST = 8 * 10**9


def parse_id(address: str) -> str:
    """Return the `owner/name` of an address `hf:owner/name`.

    >>> parse_id("hf:openai-community/gpt2")
    'openai-community/gpt2'
    """
    name = address.removeprefix(PREFIX)
    if not ID.fullmatch(name) or ".." in name or "--" in name:
        raise InputError(
            "'{address}' is not a model of the Hub.",
            "It is written hf:owner/name, no address and no path.",
            "Give the owner too, as in hf:openai-community/gpt2 or hf:google-bert/bert-base-uncased.",
            address=printable(address),
        )
    return name


@dataclass(frozen=True)
class Offer:
    """An offer of the Hub, a download before it starts: one revision of a model, its files with their bytes, and the Hub's checksums.

    >>> Offer("a/b", "1", {"config.json": 10, "model.safetensors": 90}).total
    100
    """

    name: str
    revision: str
    sizes: Mapping[str, int]
    sums: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.sizes.values())


def find_download(address: str, *, endpoint: str | None = None) -> Offer:
    """Look up what would be downloaded for `hf:owner/name`, and fetch nothing. `endpoint`: another server with the same interface.

    Raises InputError: a malformed name, no network, no such public model, no safetensors, more than 8 GB.
    """
    import huggingface_hub as hub  # only here: it reaches for the network

    name = parse_id(address)
    try:
        info = hub.HfApi(endpoint=endpoint, token=False).model_info(name, files_metadata=True, timeout=10)
    except Exception as error:  # noqa: BLE001 - the library raises those of several network libraries
        raise _failed(name, error) from None
    found = {file.rfilename: file for file in info.siblings or ()}
    sizes = {file: int(found[file].size or 0) for file in found}
    wanted = _files_to_fetch(name, sizes)
    sums = {file: lfs.sha256 for file in wanted if (lfs := found[file].lfs)}
    return Offer(name, str(info.sha), {file: sizes[file] for file in wanted}, sums)


def fetch(
    address: str | Offer, tell: Callable[[int], None] | None = None, *, endpoint: str | None = None
) -> Path:
    """Return the local folder of a Hub model. Files in the Hub's cache are not fetched again.

    `tell(bytes)` receives the bytes so far; an error that it raises ends the download, and the next one continues from there.
    Raises InputError as `find_download` does, and for a file that differs from the Hub's description.
    """
    import huggingface_hub as hub
    from huggingface_hub import constants

    offer = address if isinstance(address, Offer) else find_download(address, endpoint=endpoint)
    held = [hub.try_to_load_from_cache(offer.name, file, revision=offer.revision) for file in offer.sizes]
    if held and all(isinstance(path, str) for path in held):
        return Path(str(held[0])).parent
    home = Path(constants.HF_HOME) / "attention-atlas"
    folder = home / offer.name.replace("/", "--") / re.sub(r"[^0-9A-Za-z]", "", offer.revision)
    folder.mkdir(parents=True, exist_ok=True)
    there = 0
    for file in offer.sizes:
        _fetch_file(offer, file, folder, tell and (lambda n, there=there: tell(there + n)), endpoint)
        there += offer.sizes[file]
    return folder


def _fetch_file(
    offer: Offer, file: str, folder: Path, tell: Callable[[int], None] | None, endpoint: str | None
) -> None:
    """Download one file into its place through a partial file, which stays after an interruption so that the download can continue."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    path, size = folder / file, offer.sizes[file]
    part = path.with_name(f"{file}.part")
    if path.is_file() and path.stat().st_size == size:
        return
    with part.open("ab") as out:
        if out.tell() > size:
            out.truncate(0)
        try:
            http_get(
                f"{endpoint or constants.ENDPOINT}/{offer.name}/resolve/{offer.revision}/{file}",
                out,
                resume_size=out.tell(),
                headers=build_hf_headers(token=False),
                expected_size=size,
                tqdm_class=_progress_bar(tell, out.tell()) if tell else None,
            )
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise _failed(offer.name, error) from None
    wanted = offer.sums.get(file)
    with part.open("rb") as done:
        if wanted and hashlib.file_digest(done, "sha256").hexdigest() != wanted:
            part.unlink()
            raise InputError(
                "{file} of {name} is not what the Hub says it is.",
                "Its checksum must be the one on the Hub.",
                "Fetch it again.",
                file=file,
                name=offer.name,
            )
    part.replace(path)


def _progress_bar(report: Callable[[int], None], n_bytes: int) -> Any:
    """Return a class of progress bars that draw nothing and report how many bytes are there."""
    from huggingface_hub.utils.tqdm import silent_tqdm

    class Progress(silent_tqdm):
        def update(self, n: int | float | None = 1) -> None:
            nonlocal n_bytes
            n_bytes += int(n or 0)
            report(n_bytes)

    return Progress


def _files_to_fetch(name: str, sizes: dict[str, int]) -> list[str]:
    weights = (
        [SINGLE] if SINGLE in sizes else [file for file in sizes if file == INDEX or SHARD.fullmatch(file)]
    )
    if not weights:
        raise InputError(
            "{name} has no safetensors file.",
            "Other formats can run code and are never fetched.",
            "Choose another model.",
            name=name,
        )
    files = [*weights, *(file for file in TEXTS if file in sizes)]
    total = sum(sizes[file] for file in files)
    if total > LARGEST:
        raise InputError(
            "{name} has {total:,} bytes.",
            "At most {most:,} are fetched.",
            "Choose a smaller model.",
            name=name,
            total=total,
            most=LARGEST,
        )
    return files


def _failed(name: str, error: Exception) -> InputError:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return InputError(
            "{name} does not fit on the disk.",
            "All of it is kept.",
            "Make room and fetch it again.",
            name=name,
        )
    kind = type(error).__name__
    if kind in ("RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError"):
        return InputError(
            "The Hub has no open model '{name}'.", "A model must be public.", "Check the name.", name=name
        )
    return InputError(
        "{name} could not be fetched ({kind}).",
        "hf: needs the network.",
        "Give the path of a folder that is here.",
        name=name,
        kind=kind,
    )
