"""One entry of the errata, drawn: what is printed, what is right, and the evidence, computed when it is shown."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from viz.charts import marks
from viz.course import errata
from viz.course.errata import KINDS, Erratum, Evidence, Panel
from viz.instruments.kit import origin
from viz.labels import formulas, literal
from viz.languages import _
from viz.number_text import number
from viz.shell.pages import Cite
from viz.widgets import engine_client, page_parts


def show(*ids: str) -> None:
    """Draw the entries of these names below each other, for the fold "Sources" of an exhibit."""
    for id in ids:
        found = errata.find(id)
        st.markdown(f"**{id}** {formulas(_(found.title))}")
        entry(found)


def entry(erratum: Erratum) -> None:
    """Draw an erratum: its place, the printed against the right text, the evidence as picture and sentence, and a note on its use."""
    st.markdown(f":gray[:small[{literal(_(KINDS[erratum.kind]))}: {formulas('; '.join(places(erratum)))}]]")
    left, right = st.columns(2, gap="medium")
    left.markdown(f":gray[{_('Printed')}]  \n{formulas(_(erratum.says))}")
    right.markdown(f":gray[{_('Right')}]  \n{formulas(_(erratum.right))}")
    key, computed = engine_client.per_language(("erratum", erratum.id), erratum.evidence)
    evidence = engine_client.submit(key, computed, erratum.cost)
    with origin.override(changed=erratum.id):
        _pictures(erratum.id, evidence)
    page_parts.summary(evidence.sentence)
    if not evidence.computed:
        st.caption(_("This rests on a citation: it is looked up, not calculated."))
    st.markdown(f":gray[{formulas(_(erratum.note))}]")


def places(erratum: Erratum) -> tuple[str, ...]:
    """Return the places where it is printed, one line a document."""
    return tuple(Cite(where.document, where.section, where.item).place() for where in erratum.where)


def _pictures(id: str, evidence: Evidence) -> None:
    for start in range(0, len(evidence.panels), 2):
        pair = evidence.panels[start : start + 2]
        for place, (column, panel) in enumerate(
            zip(st.columns(2, gap="medium"), pair, strict=False), start=start
        ):
            with column:
                _panel(f"erratum.{id}.{place}", panel)


def _panel(key: str, panel: Panel) -> None:
    if panel.form == "table":
        st.markdown(f"**{formulas(panel.title)}**")
        cells = [
            ["" if math.isnan(value) else number(value, panel.places, grouped=True) for value in row]
            for row in panel.values
        ]
        st.table(
            pd.DataFrame(cells, index=list(panel.rows), columns=list(panel.columns)), border="horizontal"
        )
        return
    told = "; ".join(
        f"{name}: {', '.join(number(v, panel.places, grouped=True) for v in row)}"
        for name, row in zip(panel.rows, panel.values, strict=True)
    )
    page_parts.show(evidence_chart(panel), key, f"{panel.title}. {told}")


def evidence_chart(panel: Panel) -> marks.vega.Layers:
    """Return the numbers of a panel as cells or as bars; one that is not a number is labelled so."""
    shades = panel.form == "weights"
    places = min(panel.places, 2) if shades else panel.places
    labels = [_("no number") if math.isnan(v) else number(v, places, grouped=True) for v in panel.values.flat]
    table = pd.DataFrame(panel.values, list(panel.rows), list(panel.columns))
    if shades:
        return marks.cells(table, labels, title=panel.title)
    return marks.bars(table.fillna(0), labels, title=panel.title)
