"""About: what this is, what it keeps about you (nothing), what it is made of, how to cite it."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import pandas as pd
import streamlit as st

import core
from core.checkpoints.manifest import read_manifest, shipped_folder
from viz import limits
from viz.labels import literal
from viz.languages import ENGLISH, _, current, mark
from viz.number_text import megabytes
from viz.platform import start
from viz.shell import language, links
from viz.shell.pages import Page
from viz.widgets import controls, page_parts

PAGE = Page(
    title="About",
    order=90,
    menu="more",
    claim="Attention as it is computed: real models, real weights, in your browser, without a network.",
)

LIBRARIES = (
    "streamlit",
    "torch",
    "plotly",
    "altair",
    "numpy",
    "einops",
    "tokenizers",
    "safetensors",
    "huggingface-hub",
    "pillow",
    "segno",
    "tomli-w",
    "threadpoolctl",
    *(() if sys.platform == "win32" else ("uvloop",)),
)
FONTS = (
    ("Inter", "The Inter Project Authors", "LICENSE-Inter.txt"),
    ("Source Serif 4", "Adobe and Google", "LICENSE-SourceSerif4.txt"),
    ("JetBrains Mono", "The JetBrains Mono Project Authors", "LICENSE-JetBrainsMono.txt"),
    (
        mark("STIX Two Math, the symbols used here"),
        "The STIX Fonts Project Authors",
        "LICENSE-STIXTwoMath.txt",
    ),
)
CITE = """@software{{attention_atlas,
  author  = {{{{Attention Atlas}}}},
  title   = {{Attention Atlas: an atlas of attention that runs}},
  version = {{{version}}},
  year    = {{2026}},
  license = {{Apache-2.0}}
}}"""


@dataclass(frozen=True)
class Params:
    """Nothing to choose."""


@dataclass(frozen=True)
class Made:
    """A copy's version, its libraries with version and licence, and the sources of its shipped models."""

    version: str
    libraries: tuple[tuple[str, str, str], ...]
    sources: tuple[tuple[str, tuple[str, ...]], ...]


def compute(_: Params = Params()) -> Made:
    """Read the installed versions, and the attributions in the manifest of the shipped models."""
    return Made(core.__version__, tuple(_library(name) for name in LIBRARIES), training_sources())


def training_sources() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Group the shipped models by the attribution of their training data."""
    models: dict[str, list[str]] = {}
    for name, entry in read_manifest(shipped_folder()).items():
        models.setdefault(entry.attribution, []).append(name)
    return tuple((attribution, tuple(names)) for attribution, names in models.items())


def page() -> None:
    """Draw promises, privacy, make, licences and citation."""
    page_parts.title(PAGE, lesson_only=True)
    _choose_language()
    made = compute()
    left, right = st.columns(2, gap="large")
    with left:
        st.header(_("Three promises"), anchor=False)
        st.markdown(
            _(
                "- **Every number is true.** It comes from the tensors of the run in front of you. Of a training, a model card or a published paper it is a recorded number, and the page says so.\n"
                "- **It works in a locked-down room.** Models and fonts ship with it; nothing is fetched{except_hub}.\n"
                "- **It is instant.** A look costs one frame, a new sentence a fraction of a second.",
                except_hub=_(", except models of the Hub that a visitor asks for by name")
                if limits.allows_hub()
                else "",
            )
        )
        st.header(_("What is kept about you"), anchor=False)
        st.markdown(
            _(
                "Nothing on disk: no account, no tracking, no usage statistics; a model that you upload lies in a temporary folder as long as "
                "you are here. What you type goes to the server "
                "you opened and to nobody else; it stays in its memory while your tab is open, and computed "
                "pictures stay there until newer ones take their place. Your text is in the address bar, so that "
                "a link shows the same view: share the link and you share the text."
            )
        )
        with st.container(horizontal=True):
            links.page_link("privacy", _("Privacy in full"))
            links.page_link("accessibility", _("Accessibility"))
    with right:
        st.header(_("How to cite"), anchor=False)
        st.code(CITE.format(version=made.version), language="bibtex", wrap_lines=True)
        st.header(_("Licence"), anchor=False)
        st.markdown(
            _(
                "Version {version}. The code and the shipped weights are under the Apache License 2.0; the training text itself is not part of this program.",
                version=made.version,
            )
        )
    st.header(_("This server"), anchor=False)
    for line in running():
        st.markdown(literal(line))
    st.header(_("What the models have read"), anchor=False)
    st.markdown(
        _(
            "The translators were also trained on a phrasebook of everyday English-Spanish pairs, written for this project."
        )
    )
    for attribution, models in made.sources:
        st.markdown(f"{literal(_(attribution))} :gray[{literal(', '.join(models))}]")
    st.header(_("What it is built with"), anchor=False)
    st.table(
        pd.DataFrame(
            [(*row[:2], row[2] or _("see package")) for row in made.libraries],
            columns=[_("Library"), _("Version"), _("Licence")],
        ).set_index(_("Library"))
    )
    licence = _("licence")
    fonts = "; ".join(f"**{_(name)}** ({who}, [{licence}](app/static/{file}))" for name, who, file in FONTS)
    st.markdown(_("Fonts, all under the SIL Open Font License 1.1: {fonts}.", fonts=fonts))


def _choose_language() -> None:
    names = {each.code: each.name for each in language.choices()}
    controls.segmented(_("Language"), names, language.NAME, ENGLISH.code, names.__getitem__)
    if current() is not ENGLISH:
        st.caption(
            _(
                "Translated so far: all pages but the later chapters of the course, the longer lessons and the cards of models, which are in English. Each model reads its own language."
            )
        )


def running() -> list[str]:
    """Return the state of the server: what did not come up, its open files and its memory, with their limits."""
    came = start.REPORT
    lines = [
        _("Not everything came up: {problem}", problem=problem)
        for problem in (came.problem, *came.failures)
        if problem
    ]
    lines += (
        []
        if came.over
        else [_("Some models and pages are still being loaded; what you open is loaded first.")]
    )
    if profile := limits.profile():
        lines.append(
            _(
                "Its profile is {profile}: {settings}.",
                profile=profile,
                settings=", ".join(limits.profile_settings()),
            )
        )
    if most := limits.file_limit():
        lines.append(
            _(
                "It may have {most:,} files open and has {n:,}; a visitor takes about four. Near the limit nobody new is let in, and those inside stay.",
                most=most,
                n=limits.open_files(),
            )
        )
    if now := limits.memory_in_use():
        cap = limits.memory_limit()
        lines.append(
            _("It uses {now} of memory of {cap:,.0f}.", now=megabytes(now), cap=cap / 2**20)
            if cap
            else _(
                "It uses {now} of memory; {name} can set a limit.", now=megabytes(now), name=limits.VARIABLE
            )
        )
    return lines


@functools.cache
def _library(name: str) -> tuple[str, str, str]:
    """Name, installed version, licence as the package itself states it."""
    about: Any = metadata.metadata(name)
    marks = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier", [])
        if line.startswith("License ::")
    ]
    stated = (about.get("License") or "").strip()
    if len(stated) > 60 or "Copyright" in stated:
        stated = ""
    return (
        name,
        metadata.version(name),
        about.get("License-Expression") or ", ".join(marks) or stated,
    )
