"""Exhibits as their tests see them: drawn by AppTest at a link and in a state of the visit, and all that they say."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np
from drawn_layers import all_rows, drawn_rows, find_layers
from packets import opened, packets_of
from streamlit.testing.v1 import AppTest

PLACEHOLDER = re.compile(r"\{[A-Za-z_]+(?:[.\[][^{}\s]*)?\}")
SET_OR_CODE = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|```.*?```|`[^`]*`", re.DOTALL)


def drawn(
    slug: str, link: Mapping[str, str], state: Mapping[str, object], *, guarded: bool = False
) -> AppTest:
    """The exhibit with the values of a link and what the visit holds; `guarded`: errors are told on the page, as the frame does."""
    page = "from viz.shell import errors\nwith errors.guard():\n    e.page()" if guarded else "e.page()"
    test = AppTest.from_string(
        f"from viz.shell import pages\ne = pages.find({slug!r})\n{page}", default_timeout=90
    )
    for name, value in link.items():
        test.query_params[name] = value
    for name, value in state.items():
        test.session_state[name] = value
    return test.run()


def said(test: AppTest) -> str:
    """Return all words of the page without the escapes of Markdown; no placeholder may be left in them."""
    words = [str(element.value) for kind in (test.markdown, test.text, test.caption) for element in kind]
    assert [left for text in words for left in unfilled(text)] == []
    return "\n".join(words).replace("\\", "")


def unfilled(text: str) -> list[str]:
    """List the placeholders that nothing filled in; braces of formulas and of lines of code are none.

    >>> unfilled("{lines}"), unfilled("of {p.word} $\\\\mathrm{softmax}$"), unfilled("`{x}` {0, 1}")
    (['{lines}'], ['{p.word}'], [])
    """
    return PLACEHOLDER.findall(SET_OR_CODE.sub("", text))


def said_and_set(test: AppTest) -> str:
    """The same with title and equations, which keep their escapes."""
    return "\n".join(
        [said(test), *(str(element.value) for kind in (test.title, test.latex) for element in kind)]
    )


def figure(test: AppTest, place: int = 0) -> dict:
    """What a Plotly chart of the page was given."""
    return json.loads(test.get("plotly_chart")[place].proto.spec)


def plain(values: Any) -> np.ndarray:
    """The numbers of a chart's array, which Plotly may have packed."""
    if isinstance(values, dict):
        found = np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
        return found.reshape([int(n) for n in str(values.get("shape", len(found))).split(",")])
    return np.array(values, dtype=float)


def chart(test: AppTest, place: int = 0) -> list[list[dict[str, Any]]]:
    """Return the rows of all layers of an Altair chart of the page."""
    return [each["data"]["values"] for each in find_layers(test, place=place)]


def layers(figure: alt.TopLevelMixin) -> list[list[dict[str, Any]]]:
    """Return the same of a chart that stands on no page."""
    return [each["data"]["values"] for each in find_layers(figure)]


def bar_labels(test: AppTest, place: int = 0) -> list[str]:
    """Return the labels of the bars that a page draws with viz.charts.marks."""
    return [bar["label"] for bar in drawn_rows(test, mark="bar", place=place)]


def bar_values(figure: alt.TopLevelMixin) -> list[float]:
    """Return the lengths of the bars of a chart of viz.charts.marks."""
    return [bar["value"] for bar in figure.to_dict()["data"]["values"]]


def lanes(test: AppTest, place: int = 0) -> list[np.ndarray]:
    """The numbers of each lane of bars, as they stand under the pointer."""
    found: list[list[float]] = []
    last = np.inf
    for bar in drawn_rows(test, "shade", place=place):
        if not 0 < bar["x"] - last < 1.05:
            found.append([])
        found[-1].append(float(bar["value"].replace(",", "").replace("−", "-")))
        last = bar["x"]
    return [np.array(values) for values in found]


def covers(test: AppTest, place: int = 0) -> int:
    """How many lanes of bars are still covered."""
    return sum(row["text"] == "?" for row in all_rows(test, "text", place=place))


def token_rows(test: AppTest, place: int = 0) -> dict[str, list[str]]:
    """The exact texts of each row of tokens by its name."""
    found: dict[str, list[str]] = {}
    for cell in drawn_rows(test, mark="rect", place=place):
        found.setdefault(cell["row"], []).append(cell["exact"])
    return found


def folds(test: AppTest) -> list[str]:
    """The words of the folds below the picture."""
    return [word.label for word in test.button if (word.key or "").startswith("word:fold:")]


def instruments(test: AppTest, *fields: str) -> list[dict[str, Any]]:
    """List the headers of the instruments of a page that have these fields."""
    return [header for header, _ in map(opened, packets_of(test)) if {*fields} <= {*header}]


@dataclass(frozen=True)
class StepPages:
    """Pages of the steps of an exhibit. `opening`: the link of each; `shared`: names of the link that other pages have, too, and no prefix."""

    slug: str
    opening: Mapping[str, object] = field(default_factory=dict)
    shared: Collection[str] = ("text",)

    def __call__(
        self, step: int = 1, *folds: str, guess: Mapping[str, object] = {}, **link: object
    ) -> AppTest:
        """Draw a step that stands, with these folds open, answers given and values in its link."""
        values = {"step": step} | dict(self.opening) | link
        test = drawn(
            self.slug,
            {
                name if name in self.shared else f"{self.slug}.{name}": str(value)
                for name, value in values.items()
            },
            {f"fold:{self.slug}.{fold}": True for fold in folds}
            | {f"predict:{self.slug}.{question}": answer for question, answer in guess.items()},
            guarded=True,
        )
        assert not test.exception and "went wrong" not in said(test)
        return test

    def answer(self, test: AppTest, question: str) -> Any:
        """Return the right answer to a question of a page."""
        asked = test.session_state[f"predict:{self.slug}.{question}:asked"]["of"]
        return asked[3] if len(asked) == 5 else asked[-1]
