"""Figures of papers: the notebook draws the pictures of the page, their numbers are those of the models, and their links open the same heads."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from shown_values import states
from workspace_pages import page as draw
from workspace_pages import said

import core
from tests.test_notebook import cells_of, run_cell
from viz import theme
from viz.course.pages.figures import page, papers
from viz.shell import pages
from viz.sources import SOURCES

HONEST = page.compute


@cache
def notebook() -> tuple[dict[str, papers.PaperFigure], dict[str, Any]]:
    """Run the notebook once and return its figures by name, and its variables."""
    space: dict[str, Any] = {}
    results = {
        cell["metadata"].get("figure", cell["id"]): run_cell("".join(cell["source"]), space, "paper_figures")
        for cell in cells_of("paper_figures.ipynb")
        if cell["cell_type"] == "code"
    }
    return {name: value for name, value in results.items() if isinstance(value, papers.PaperFigure)}, space


def test_the_page_draws_what_the_notebook_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure, with its text and its link; nothing of a text of a model becomes markup."""
    figures, _ = notebook()
    assert list(figures) == list(papers.FIGURES) and len(figures) == 8
    computed: dict[str, papers.PaperFigure] = {}

    def compute(params: page.Params) -> papers.PaperFigure:
        return computed.setdefault(params.figure, HONEST(params))

    monkeypatch.setattr(page, "compute", compute)
    told = said(draw("figures"))
    for name, figure in figures.items():
        assert (computed.get(name) or HONEST(page.Params(name))) == figure
        assert figure.result in told and figure.title in told and figure.source.title in told
        assert figure.key in SOURCES and any(cite.document == figure.key for cite in page.PAGE.cites)
        assert figure.svg.startswith("<svg") and "http" not in figure.svg.replace(
            "http://www.w3.org/2000/svg", ""
        )
        assert theme.svg_in_dark(figure.svg) != figure.svg
        assert figure._repr_html_().count("<p>") == 4
    assert "<b>" not in papers.alignment(core.open_model("bahdanau-en-es").run("<b> a dog")).svg


@pytest.mark.parametrize("name", papers.FIGURES)
def test_a_link_names_a_page_and_what_it_chooses(name: str) -> None:
    opening = papers.FIGURES[name]
    entry = pages.find(opening.page)
    assert set(opening.query) <= {"model", "text", "kind", "layer", "head", "view"} | {
        key for key in opening.query if key.startswith(f"{entry.slug}.")
    }
    figure = notebook()[0][name]
    if "look.word" in opening.query:  # the sentence begins with the head that the link opens
        assert figure.result.startswith(f"L{opening.query['layer']}.H{opening.query['head']} ")
        words_read = papers._words(core.open_model(opening.query["model"]).run(opening.query["text"]))[0]
        assert f"“{words_read[int(opening.query['look.word'])]}”" in figure.result


@pytest.mark.slow
@pytest.mark.parametrize("name", papers.FIGURES)
def test_a_link_opens(name: str) -> None:
    opening = papers.FIGURES[name]
    assert not draw(opening.page, **opening.query).error, urlencode(opening.query)


def test_the_numbers_are_those_of_the_models() -> None:
    """Recomputed from the patterns by other code."""
    figures, space = notebook()
    runs, text = space["runs"], {name: figure.result for name, figure in figures.items()}
    tokens = [np.array(run.tokens) for run in runs]
    patterns = [run.attention().weights for run in runs]
    to_sep = [w[:, :, :, t == "[SEP]"].sum(-1) for w, t in zip(patterns, tokens, strict=True)]
    layers = np.mean([w.mean((1, 2)) for w in to_sep], 0)
    assert f"to [SEP] in layer {layers.argmax()} ({round(100 * layers.max())}%)" in text["special"]
    own = np.mean([w[:, :, -1].mean(1) for w in to_sep], 0)
    assert states(text["special"], "[SEP]", f"{round(100 * own.max())}% in layer {own.argmax()}")

    pairs: dict[bool, list[float]] = {True: [], False: []}
    joined = [run.attention(by="word").weights for run in runs]
    rows = []
    for w in joined:
        w = w.reshape(48, *w.shape[2:])[:, 1:-1]
        rows.append(np.concatenate([w[..., :1] + w[..., -1:], w[..., 1:-1]], -1))
    wide = max(w.shape[-1] for w in rows)
    every = np.concatenate([np.pad(w, ((0, 0), (0, 0), (0, wide - w.shape[-1]))) for w in rows], 1)
    for a, b in combinations(range(48), 2):
        distance = jensenshannon(every[a], every[b], base=2, axis=-1)
        pairs[a // 8 == b // 8].append(float((distance**2).mean()))
    within, between = map(float, re.findall(r"(\d\.\d+) bits", text["map"]))
    assert np.mean(pairs[True]) == pytest.approx(within, abs=0.0051)
    assert np.mean(pairs[False]) == pytest.approx(between, abs=0.0051)

    weights = np.mean(
        [run.attention().weights[:, :, 1:12, 0] for run in space["stories"] if len(run.ids) >= 12], 0
    )
    heads = int((weights.mean(-1) > 2 * np.mean([1 / n for n in range(2, 13)])).sum())
    assert f"{heads} of 48 heads" in text["sinks"] and "55% of the attention" in text["distant"]
    assert "from 0.10 to 0.84" in text["jump"] and "3.11 to 0.53" in text["jump"]
