"""The models that ship: what each is, how big, what it has learned and from what; damaged or missing ones by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

import core.engine
from core.checkpoints.manifest import Shipped, read_manifest, shipped_folder
from core.engine import Listing
from viz.labels import literal
from viz.pages import Page
from viz.ui import notices, parts

PAGE = Page(title="Models", order=50, menu="more",
            claim="Trained for this atlas, small enough to ship with it, each with a card that shows the evidence.")


@dataclass(frozen=True)
class Params:
    """Nothing to choose."""


@dataclass(frozen=True)
class Shown:
    """One model: usable with its facts, or why not. `terms` is None for a folder of whoever started the server."""

    name: str
    problem: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    card: str = ""
    terms: Shipped | None = None


def compute(_: Params = Params()) -> tuple[Shown, ...]:
    """Every listed model in order; one that cannot be opened does not hide the others."""
    terms = read_manifest(shipped_folder())
    return tuple(_shown(listing, terms.get(listing.name)) for listing in core.engine.default().models())


def page() -> None:
    """A card a model."""
    parts.title(PAGE, still=True)
    found = compute()
    if not found:
        notices.box("No model is here.", "The shipped models are folders in assets/models.",
                    "Fetch the whole repository again, then restart.")
    for model in found:
        with st.container(border=True):
            st.subheader(literal(model.name), anchor=False)
            if model.problem:
                notices.box("This model is not served.", model.problem, "The rest of the atlas works without it.")
                continue
            with st.container(horizontal=True, gap="large"):
                for name, value in model.facts:
                    st.markdown(f":gray[:small[{name}]]  \n{value}", width="content")
            if model.terms:
                st.markdown(f"{literal(model.terms.attribution)}  \n:gray[Licence: {literal(model.terms.licence)}.]")
            with parts.fold("The card: data, training, evidence, weaknesses", f"models.{model.name}") as fold:
                if fold.open:
                    _card(model)


def _card(model: Shown) -> None:
    """Our own cards are Markdown; a foreign one is shown as the text it is."""
    if model.terms:
        st.markdown(model.card)
    else:
        st.code(model.card or "This folder has no card.", language=None, wrap_lines=True)


def _shown(listing: Listing, terms: Shipped | None) -> Shown:
    if not listing.ok:
        return Shown(listing.name, listing.problem, terms=terms)
    try:
        model = core.engine.default().open(listing.name)
    except Exception:  # noqa: BLE001 (the engine has logged it and says in its listing what is wrong)
        now = next(each for each in core.engine.default().models() if each.name == listing.name)
        return Shown(listing.name, now.problem or "Its files could not be read.", terms=terms)
    return Shown(listing.name, "", _facts(model, terms), model.card, terms)


def _facts(model: Any, terms: Shipped | None) -> tuple[tuple[str, str], ...]:
    config = model.config
    facts = [("Family", literal(str(model.family))), ("Layers", f"{config.n_layers}"), ("Heads", f"{config.n_heads}"),
             ("Width", f"{config.d_model}"), ("Vocabulary", f"{config.n_vocab:,}"),
             ("Context", f"{config.n_ctx:,} tokens"), ("Parameters", f"{model.n_parameters / 1e6:.1f} million")]
    if terms:
        facts.append(("On disk", f"{sum(file.bytes for file in terms.files.values()) / 1e6:.1f} MB"))
    return tuple(facts)
