"""Names: what every recorded tensor and axis is called here and in the documents, and letters that collide."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import glossary
from core.glossary import Letter, Term
from viz.labels import literal
from viz.pages import Cite, Page
from viz.ui import parts

PAGE = Page(title="Names", order=70, menu="more",
            claim="One name for each tensor, the same in the code, on the pages and in the address bar.",
            cites=(Cite("ghojogh2020", "2.4 to 3.3", "symbols of Eqs. (6)-(29)"),
                   Cite("vaswani2017", "3.2, 3.3", "h, d_model, d_ff")))
ATTENTION = (r"\begin{aligned}\mathrm{pattern} &= \operatorname{softmax}\left(\frac{q\,k^{\top}}"
             r"{\sqrt{d_{\mathrm{head}}}}\right)\\ \mathrm{heads} &= \mathrm{pattern}\; v\end{aligned}")


@dataclass(frozen=True)
class Params:
    """Nothing to choose."""


def compute(_: Params = Params()) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Letter, ...]]:
    """Tensors, axes, letters with several meanings."""
    return glossary.LEAVES, glossary.AXES, glossary.LETTERS


def page() -> None:
    """The equation in our names, the two tables, the letters."""
    parts.title(PAGE, still=True)
    leaves, axes, letters = compute()
    parts.equation(ATTENTION)
    st.subheader("Tensors", anchor=False)
    st.markdown(":gray[A path ends with one of these: `decoder.layer.2.cross_attn.pattern`. "
                "What is said of `self_attn` holds for `cross_attn`, whose keys and values come from the encoder.]")
    _rows(leaves)
    st.subheader("Axes", anchor=False)
    _rows(axes)
    st.subheader("One letter, several meanings", anchor=False)
    st.markdown(":gray[When a formula of the documents looks wrong, check which meaning the letter has there.]")
    columns = st.columns(2, gap="medium")
    for place, letter in enumerate(letters):
        with columns[place % 2], st.container(border=True, gap="small"):
            st.subheader(f"*{letter.letter}*", anchor=False)
            for meaning, who in letter.meanings:
                st.markdown(f"{literal(meaning)}  \n:gray[:small[{literal(who)}]]")
    parts.documents(PAGE)


def _rows(terms: tuple[Term, ...]) -> None:
    """One row a term; on a phone name and symbol stand above the sentence."""
    with st.container(border=True, gap="small"):
        for term in terms:
            with st.container(horizontal=True, gap="small"):
                st.markdown(f"`{term.name}`", width=165)
                st.markdown(f"${term.symbol}$", width=140)
                with st.container(width=640):
                    where = f" :gray[:small[{literal(term.where)}]]" if term.where else ""
                    st.markdown(f"**{literal(term.word)}.** {literal(term.sentence)}{where}")
