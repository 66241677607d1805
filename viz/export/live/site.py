"""The page in which models run on the visitor's own sentence: one folder that a stick, a static host or a learning platform serves.

The pictures are the app's, with their words from Python and their numbers from the run in the browser.
"""

from __future__ import annotations

import hashlib
import html
import json
import shutil
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from core.checkpoints import open_model
from core.run import Attention
from viz import theme
from viz.export import site
from viz.export.live.pack import MODELS, pack
from viz.export.record import Recording
from viz.instruments.grid.grid import GRID, AllHeads
from viz.instruments.kit.component import Instrument
from viz.instruments.kit.modules import follow, join_modules
from viz.instruments.kit.payload import Packet, identity
from viz.instruments.kit.picture import CROSSING, axis
from viz.instruments.mask_editor.mask_editor import MASK_EDITOR, MaskEditor
from viz.instruments.words.words import WORDS, Words
from viz.languages import ENGLISH, _, current, mark
from viz.number_text import MEGA, megabytes
from viz.shell import pages
from viz.shell.lessons.views import parse_view

FOLDER = "live"
"""The folder of the models in that of a lesson."""
LESSON = "../index.html"
"""The page of the lesson, from that of the models."""
PAGE = Path(__file__).resolve().parent / "page"
EXAMPLES = {
    "gpt-mini": "The old man sat by the fire and told the king about the",
    "bert-mini": "The capital of [MASK] is Paris.",
    "translator-en-es": "She has a white car.",
}
"""The sentence with which each model opens."""
TASKS = {
    "gpt-mini": mark("It continues a text, token by token."),
    "bert-mini": mark("It reads both ways and predicts what stands at [MASK]."),
    "translator-en-es": mark("It translates English into Spanish."),
}
KINDS = {
    "cross": (mark("Cross-attention to the source"), "cross"),
    "self": (mark("Encoder self-attention"), "enc"),
    "causal": (mark("Causal self-attention"), "dec"),
}
"""The kinds of attention in the order in which they are offered: the name of each, and the mark of its heads."""
INSTRUMENTS = (WORDS, GRID, MASK_EDITOR)
"""The app's pictures that the page draws."""
STEPS = ("start", "now", "values", "allowed", "shape", "kind", "step", "bound", "thumbs", "exact")
"""Fields of a packet's header that the run in the browser fills."""


def write(names: Sequence[str], out: Path, *, in_lesson: bool = False) -> dict[str, int]:
    """Write the folder `out` with these models; return the bytes of its files. `in_lesson`: it is in the folder of a lesson, to which its page leads back.

    Raises:
        InputError: `out` holds something else than a published page, or a model does not run in a page.
    """
    site.require_free(out)
    files = folder_files(names, in_lesson=in_lesson)
    shutil.rmtree(out / "models", ignore_errors=True)
    for path, data in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(data)
    return {path: len(data) for path, data in files.items()}


def add_own_sentences(recording: Recording, models: Sequence[str] | None = None) -> list[str]:
    """Let the end of a lesson, and its stops that show one of these models on Look, lead to the page in which it runs, beside the lesson in `FOLDER`; return the models.

    models: those that go beside it; by default those that its stops show.
    """
    names = set(models or ())
    for stop in recording.stops:
        view = parse_view(stop["link"])
        if view.entry.slug != pages.HOME:
            continue
        opened = {"model": view.entry.module.Params.model, "text": view.entry.module.Params.text} | view.query
        if opened["model"] in (MODELS if models is None else models):
            stop["own"] = urlencode({"model": opened["model"], "text": opened["text"]})
            names.add(opened["model"])
    recording.lesson["live"] = f"{FOLDER}/index.html" if names else ""
    return sorted(names)


def folder_files(
    names: Sequence[str], packer: Callable[[str], bytes] | None = None, *, in_lesson: bool = False
) -> dict[str, bytes]:
    """Return the files of the folder by their paths in it, in the language of this thread; `packer` makes the file of a model, by default here. `in_lesson` as in `write`."""
    files = {f"models/{name}.js": (packer or pack)(name) for name in names}
    models = [_described(name, len(files[f"models/{name}.js"])) for name in names]
    page = Recording(
        {"title": _("Attention of your own sentence")},
        (),
        (identity(Instrument.packed_kit), Instrument.kit.decode()),
        {instrument.code: instrument.source.decode() for instrument in INSTRUMENTS},
        current().code,
    )
    engine = f'"use strict";\n{join_modules(follow(PAGE / "serve.js"), site.VIZ)}'
    version = hashlib.blake2b(b"".join(files.values()), digest_size=8).hexdigest()
    told: dict[str, Any] = {"models": models, "version": version, "licences": site.licences(page)}
    if in_lesson:
        told["lesson"] = LESSON
    if current() is not ENGLISH:
        words = [one.packed_words(current().code) for one in INSTRUMENTS]
        told["languages"] = {identity(packed): zlib.decompress(packed).decode() for packed in words}
    filled = {
        "STYLE": site.style(site.CLASSROOM / "follow.css", PAGE / "live.css"),
        "TWINS": html.escape(json.dumps(theme.dark_twins())),
        "LIVE": json.dumps(told).replace("<", "\\u003c"),
        "ENGINE": engine.replace("</script", "<\\/script"),
    }
    rules = "connect-src 'self'; worker-src blob:; "
    files["index.html"] = site.fill(
        PAGE / "live.html", filled, page, PAGE / "live.js", {}, rules, [PAGE / "serve.js"]
    )
    files["LICENSES.txt"] = site.licences(page).encode()
    return files


def _described(name: str, size: int) -> dict[str, Any]:
    """Return what the page says of a model, and the words of its pictures."""
    model = open_model(name)
    run = model.run(EXAMPLES[name], edits=())
    kinds = [
        _kind(kind, run.attention(kind, writing=kind in CROSSING), len(run.kinds))
        for kind in KINDS
        if kind in run.kinds
    ]
    large = _(
        "{n:.1f} million parameters, {size}.",
        n=model.n_parameters / MEGA,
        size=megabytes(size, 1, MEGA),
    )
    return {
        "name": name,
        "does": f"{_(TASKS[name])} {large}",
        "bytes": size,
        "example": EXAMPLES[name],
        "fills": model.can("fill_blanks"),
        "kinds": kinds,
    }


def _kind(kind: str, attention: Attention, n_kinds: int) -> dict[str, Any]:
    """Return a kind of attention: its name and the pictures of it."""
    crossing, (name, mark) = kind in CROSSING, KINDS[kind]
    words = Words(
        attention.weights[0, 0],
        attention.queries,
        attention.keys,
        layout="two" if crossing else "one",
        reading=not crossing,
        names=(_("reads"), _("writes")) if crossing else ("", ""),
    )
    heads = AllHeads(attention.weights, before=mark if n_kinds > 1 else "")
    found = {
        "kind": kind,
        "name": _(name if n_kinds > 1 else "Self-attention"),
        "mark": mark,
        "head": _clearest_head(attention),
        "words": _picture(WORDS, words.packet()),
        "grid": _picture(GRID, heads.packet()),
    }
    if kind == "self" or (kind == "causal" and n_kinds == 1):
        mask = MaskEditor(np.ones((1, 1)), ["a"], ["a"], axis=axis(attention))
        found["mask"] = _picture(MASK_EDITOR, mask.packet())
    return found


def _clearest_head(attention: Attention) -> list[int]:
    """Return the (layer, head) with which a kind of attention opens: the one whose rows have most weight on one other token that is not the first."""
    weights = attention.weights.copy()
    weights[..., 0] = 0.0
    if attention.kind not in CROSSING:
        weights[..., range(weights.shape[-1]), range(weights.shape[-1])] = 0.0
    clear = weights.max(axis=-1).mean(axis=-1)
    return [int(place) for place in np.unravel_index(clear.argmax(), clear.shape)]


def _picture(instrument: Instrument, packet: Packet) -> dict[str, Any]:
    """Return the header of a picture without the fields that belong to one run, and the ids of its code."""
    header = {name: value for name, value in packet.header.items() if name not in STEPS}
    code = {"kit": identity(Instrument.packed_kit), "code": instrument.code}
    if current() is not ENGLISH:
        code["language"] = identity(instrument.packed_words(current().code))
    return {"header": header, **code}
