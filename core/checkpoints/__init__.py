"""Models on disk: shipped ones, local folders, checkpoints of the Hub; every byte is checked before it is used."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from core.checkpoints import history, hub
from core.checkpoints.files import printable
from core.checkpoints.find import Listing, listing, model_folders
from core.checkpoints.load import load_model
from core.errors import InputError
from core.model import Model
from core.wording import mark

__all__ = ["Listing", "listing", "open_model", "steps_of"]


def open_model(name_or_path: str | os.PathLike[str], *, step: int | None = None) -> Model:
    """Return a model by its listed name, by the path of its folder, or from the Hub as `hf:owner/name` (scripts only).

    `step` asks for the weights it had after so many steps of its training, of models that ship with some
    (`core.checkpoints.steps_of`); a name such as "gpt-twin at step 437" asks for the same.

    A name wins over a folder of the same name in the working directory: write `./name` for that.
    Raises InputError: an unknown name (the known ones are listed), a shipped file that is missing or altered, a folder
    that cannot be read, with the reason.
    """
    if isinstance(name_or_path, str):
        if name_or_path.startswith(hub.PREFIX):
            return load_model(hub.fetch(name_or_path), hub.parse_id(name_or_path))
        for place in model_folders():
            if place.name == name_or_path:
                return place.open() if step is None else history.open_step(place.open(), place.folder, step)
        if step is None and (found := history.parse_step_name(name_or_path)):
            return open_model(found[0], step=found[1])
    path = Path(name_or_path)
    try:
        there, is_file = bool(path.name) and path.is_dir(), path.is_file()
    except (OSError, ValueError):
        there = is_file = False
    if is_file:
        raise InputError(
            "'{name}' is a file.",
            "A model is opened by the folder that holds its files.",
            "Open the folder that it is in.",
            name=printable(path.name),
        )
    if not there and len(path.parts) > 1:
        raise InputError(
            "There is no folder '{name}' at that path.",
            "A model is a folder that holds its files.",
            "Check the path.",
            name=printable(path.name),
        )
    if not there:
        raise _unknown(str(name_or_path))
    model = load_model(path, printable(path.absolute().name))
    return model if step is None else history.open_step(model, path, step)


def steps_of(name: str) -> tuple[int, ...]:
    """Return the training steps whose weights a listed model ships with; () for most."""
    return next((history.steps(place.folder) for place in model_folders() if place.name == name), ())


def _unknown(name: str) -> InputError:
    known = [entry.name for entry in listing() if entry.ok]
    near = get_close_matches(name, known, n=1)
    remedy = mark(
        "Choose one of them, or give the path of a model folder; in a script a model of the Hub is opened as hf:owner/name, like hf:openai-community/gpt2."
    )
    return InputError(
        "There is no model '{name}'.",
        "Models that can be opened: {names}." if known else "Models that can be opened: none.",
        mark("Did you mean {near}?") if near else remedy,
        name=printable(name),
        names=", ".join(known),
        near=near[0] if near else "",
    )
