"""The origin of the numbers in a picture: it heads every saved picture, and is in every archive and in the file's name.

A page sets it before it draws: `tell_run(run, kind, layer, head)`. It holds for the instruments and charts that follow, until the
page sets another one; a new page begins with its title alone. So no picture lacks it, and pages that show several heads
set it for each of them in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

import core
from core.data import doodles
from viz.instruments.kit.payload import Packet
from viz.labels import phrase, shorten
from viz.languages import _, mark
from viz.sources import SOURCES, bibtex_entry

if TYPE_CHECKING:
    from core.run import Run

YEAR = 2026
"""The year of this release, as in CITATION.cff."""
LONGEST = 400
"""Letters of a text above a picture."""
_SLOT = "_instrument_origin"
_KINDS = {
    "self": mark("self-attention"),
    "causal": mark("causal self-attention"),
    "cross": mark("cross-attention"),
}


@dataclass(frozen=True)
class Origin:
    """page: its title. model, text: what was read by which model; second_text: what it wrote, or the second text.
    kind: of attention; layer, head: of what is shown, None where it is no single one. joined: how heads were joined, "mean".
    changed: what was done to the run, "Layer 5, head 2 is off". sources: keys of the documents that the page cites."""

    page: str = ""
    model: str = ""
    text: str = ""
    second_text: str = ""
    kind: str = ""
    layer: int | None = None
    head: int | None = None
    joined: str = ""
    changed: str = ""
    sources: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """Return the fields that are known, by name; for a doodle also its title, as "called"."""
        fields = {
            name: value
            for name, value in asdict(self).items()
            if name != "sources" and value not in ("", None)
        }
        return fields | ({"called": title_of(self.text)} if self.text.startswith(doodles.PREFIX) else {})

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fields, each an array without axes, for an archive of numbers.

        Example:
            >>> Origin(model="gpt-mini", layer=2).arrays()
            {'model': array('gpt-mini', dtype='<U8'), 'layer': array(2)}
        """
        names = {"second_text": "beside"}  # as saved files have it
        return {
            names.get(name, name): np.array(value)
            for name, value in self.fields().items()
            if name != "called"
        }

    def heading(self) -> tuple[str, str]:
        """Return the origin of the numbers, and the text that was read: each one line, empty where it is not known; as origin.js words them.

        Example:
            >>> Origin(model="gpt-mini", text="Once upon", kind="causal", layer=2, head=5).heading()
            ('gpt-mini, causal self-attention, layer 2, head 5', '“Once upon”')
        """
        layer, head = (
            (_("layer {n}", n=self.layer) if self.layer is not None else ""),
            (_("head {name}", name=self.head) if self.head is not None else ""),
        )
        whose = ", ".join(
            filter(
                None,
                (
                    self.model,
                    _(_KINDS[self.kind]) if self.kind in _KINDS else self.kind,
                    layer,
                    _("{joined} of its heads", joined=self.joined) if self.joined else head,
                    self.changed,
                ),
            )
        )
        texts = [title_of(text) for text in (self.text, self.second_text) if text]
        return whose or (f"Attention Atlas: {self.page}" if self.page else ""), " → ".join(texts)

    def stamp(self, packet: Packet) -> None:
        """Add the origin to the header of `packet`, and the references as a part of their own; layer and head are its `at`, unless a stack has already set its head there."""
        said = {name: value for name, value in self.fields().items() if name not in ("layer", "head")}
        packet.header["origin"] = said
        packet.steady = (*packet.steady, "origin")
        packet.add("bibtex", references(self.model, self.sources), lasting=True)
        at = [place for place in (self.layer, self.head) if place is not None]
        if at:
            packet.header.setdefault("at", at)


def title_of(text: str) -> str:
    """Quote a text for a person, or name a drawing, which is stored as letters, with its size.

    >>> title_of("Once upon"), title_of(doodles.as_text(doodles.example("cat")))
    ('“Once upon”', 'a cat, 28 × 28')
    """
    if not text.startswith(doodles.PREFIX):
        return _("“{answer}”", answer=phrase(shorten(text, LONGEST)))
    name = _own_doodles().get(text, "drawing")
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}, {doodles.SIDE} × {doodles.SIDE}"


@cache
def _own_doodles() -> dict[str, str]:
    """Name our own drawings, by their text."""
    return {doodles.as_text(doodles.example(name)): name for name in doodles.NAMES}


def run_origin(run: Run, kind: str = "", layer: int | None = None, head: int | str | None = None) -> Origin:
    """Return the origin of a picture of `run`; `head` may be the name of a way to join the heads of the layer."""
    text, beside = (
        (run.source.text, run.target_text or "") if run.source else (run.side.text, run.side.pair or "")
    )
    number, joined = (None, head) if isinstance(head, str) else (head, "")
    return Origin("", run.model.name or "", text, beside, kind, layer, number, joined)


@lru_cache(maxsize=256)
def references(model: str, sources: tuple[str, ...] = ()) -> bytes:
    """Return the entries of a BibTeX file for a picture: this program, the model that was run, and documents by their keys."""
    ours = "Attention Atlas"
    entries = [bibtex_entry("attention-atlas", ours, key=ours, note=f"Version {core.__version__}", year=YEAR)]
    if model:
        entries.append(
            bibtex_entry(f"model-{model}", model, key=model, note=f"Model, run in {ours}", year=YEAR)
        )
    entries += [SOURCES[key].bibtex(key) for key in sources]
    return "\n\n".join(entries).encode()


def begin(page: str, sources: tuple[str, ...] = ()) -> None:
    """Reset the origin at the start of a page: only its title and the documents that it cites are known."""
    st.session_state[_SLOT] = Origin(page, sources=sources)


def tell(**fields: Any) -> None:
    """Set where the numbers of the pictures that follow come from (model, text, kind, layer, head: fields of `Origin`).

    It heads saved pictures and is in their archives. A field that is not named becomes empty.
    """
    st.session_state[_SLOT] = replace(Origin(now().page, sources=now().sources), **fields)


def tell_run(
    run: Run, kind: str = "", layer: int | None = None, head: int | str | None = None, **more: Any
) -> None:
    """Set the origin of the pictures that follow to a run, as `run_origin` describes it."""
    st.session_state[_SLOT] = replace(
        run_origin(run, kind, layer, head), page=now().page, sources=now().sources, **more
    )


@contextmanager
def override(**fields: Any) -> Iterator[None]:
    """Set another origin for the pictures within this block, such as numbers of an erratum's own; restore the page's at its end."""
    before = now()
    tell(**fields)
    try:
        yield
    finally:
        st.session_state[_SLOT] = before


def now() -> Origin:
    """Return the origin of the pictures that are drawn now."""
    return st.session_state.get(_SLOT) or Origin()
