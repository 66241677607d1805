"""Errata: contradictions between the sources and arithmetic, entry by entry, each with evidence computed when it is opened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import streamlit as st

from viz.course import errata
from viz.course.errata import KINDS, Erratum
from viz.course.kit import erratum_card as drawn
from viz.course.pages.errata.erratum_places import places
from viz.labels import literal
from viz.languages import _, mark, ngettext
from viz.shell import errors, links, state
from viz.shell.pages import Page
from viz.sources import SOURCES
from viz.widgets import controls, page_parts

PAGE = Page(
    title="Errata",
    order=65,
    menu="course",
    claim="The sources are good; here is where print and arithmetic differ.",
)
SLUG = "errata."
ANY = "all"
FIRST = errata.ERRATA[0].id
"""The entry that is open before anything is chosen."""
COUNTED = {
    "W": mark("{n} wrong as printed"),
    "D": mark("{n} where the sources differ"),
    "L": mark("{n} loosely worded"),
    "A": mark("{n} about names and credits"),
}
MEANING = {
    "W": mark("An equation, a number or a statement that does not hold."),
    "D": mark("Two sources, or two pages of one, say different things."),
    "L": mark("True if read kindly; here is the exact form."),
    "A": mark("Who is cited, and what things are called."),
}


@dataclass(frozen=True)
class Params:
    """Settings: the listed entries, those of one document, of one exhibit, or all."""

    document: str = ANY
    exhibit: str = ANY


def compute(params: Params = Params()) -> tuple[tuple[str, tuple[Erratum, ...]], ...]:
    """Return the entries that match the filters, by kind, in the order of the list; kinds without an entry are left out."""
    chosen = [entry for entry in errata.ERRATA if _matches(entry, params)]
    groups = ((kind, tuple(entry for entry in chosen if entry.kind == kind)) for kind in KINDS)
    return tuple((kind, entries) for kind, entries in groups if entries)


def _matches(entry: Erratum, params: Params) -> bool:
    documents = {where.document for where in entry.where}
    exhibits = {place.slug for place in places().get(entry.id, ())}
    return params.document in (ANY, *documents) and params.exhibit in (ANY, *exhibits)


def page() -> None:
    """Draw two filters, a summary, and the list by kind, its first entry open; an opened entry computes its evidence."""
    page_parts.title(PAGE)
    asked = state.read(f"{SLUG}entry", FIRST, state.one_of([entry.id for entry in errata.ERRATA], FIRST))
    st.session_state.setdefault(_key(asked), True)
    groups = compute(_filters())
    page_parts.summary(sentence(groups))
    for kind, entries in groups:
        st.header(_(KINDS[entries[0].kind]), anchor=False)
        st.markdown(f":gray[{_(MEANING[kind])}]")
        with st.container(gap="xsmall", key=f"errata-{kind}"):
            for entry in entries:
                _entry(entry)


def _filters() -> Params:
    """Draw the two filters, by document and by exhibit, and return their values."""
    cited = Counter(key for entry in errata.ERRATA for key in {where.document for where in entry.where})
    titles = {entry.slug: entry.info.title for entries in places().values() for entry in entries}
    left, right = st.columns(2, gap="medium")
    with left:
        document = controls.select(
            _("Source"),
            [ANY, *(key for key in SOURCES if key in cited)],
            f"{SLUG}document",
            ANY,
            lambda key: _("All sources") if key == ANY else f"{SOURCES[key].label} ({cited[key]})",
        )
    with right:
        exhibit = controls.select(
            _("Shown in"),
            [ANY, *sorted(titles, key=titles.__getitem__)],
            f"{SLUG}exhibit",
            ANY,
            lambda slug: _("All exhibits, and none") if slug == ANY else titles[slug],
        )
    return Params(document, exhibit)


def sentence(groups: tuple[tuple[str, tuple[Erratum, ...]], ...]) -> str:
    """Summarise the number of entries of each kind."""
    total = sum(len(entries) for _kind, entries in groups)
    if not total:
        return _("No entry matches both choices. Clear one of them.")
    told = ", ".join(_(COUNTED[kind], n=len(entries)) for kind, entries in groups)
    return ngettext(
        "{n} entry: {kinds}. Open one, and its evidence is computed.",
        "{n} entries: {kinds}. Open one, and its evidence is computed.",
        total,
        kinds=told,
    )


def _key(id: str) -> str:
    return f"fold:erratum.{id}"


def _entry(entry: Erratum) -> None:
    """Draw an entry as one line; opened, with its evidence and links to its exhibits."""
    box = st.expander(
        f"**{entry.id}** {literal(_(entry.title))}", key=_key(entry.id), on_change=_opened, args=(entry.id,)
    )
    with box:
        if not box.open:
            return
        with errors.guard():
            drawn.entry(entry)
        shown = places().get(entry.id, ())
        if shown:
            with st.container(horizontal=True):
                for place in shown:
                    links.page_link(place.slug, literal(place.info.title), icon=":material/arrow_forward:")


def _opened(id: str) -> None:
    """Store the entry opened last in the link."""
    state.write(**{f"{SLUG}entry": id if st.session_state.get(_key(id)) else None})
