"""Compare: two heads side by side on one sentence, and their difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import heads as habits
from core.analysis.compare import jensen_shannon
from core.analysis.heads import Heads
from core.analysis.measures import distance, entropy
from core.run import Attention
from viz.instruments import heatmap
from viz.labels import head_name, visible
from viz.pages import Cite, Page
from viz.ui import controls, parts, state
from viz.workspace import _bench
from viz.workspace import _look_heads as chooser

PAGE = Page(
    title="Compare",
    order=40,
    claim="Two heads read the same sentence. Where do they differ?",
    cites=(
        Cite("vaswani2017", "3.2.2", "multi-head attention"),
        Cite("ghojogh2020", "3.2.2", "Eqs. (19)-(22)"),
        Cite("beigy2021", "Multi-head attention", "different heads focus on different words"),
    ),
    menu="top",
)
DIVERGENCE = r"\mathrm{JSD}(a, b) = H\left(\tfrac{a + b}{2}\right) - \tfrac{1}{2}\left(H(a) + H(b)\right)"
CODE = """import core
from core.analysis.compare import jensen_shannon

run = core.open_model({model!r}).run({text!r})
w = run.attention({kind!r}, by="word"{writing}).weights
print(jensen_shannon(w[{a}], w[{b}]))   # one number a row, in bits"""


@dataclass(frozen=True)
class Params:
    """One text through one model, one kind of attention."""

    model: str = "gpt-mini"
    text: str = "The animal didn't cross the street because it was too tired."
    kind: str | None = None


@dataclass(frozen=True)
class Pair:
    """All patterns of one kind, by word, and the measured habits of the heads."""

    attention: Attention
    heads: Heads


def compute(p: Params) -> Pair:
    run = chooser.run(p.model, p.text, None)
    kind = p.kind if p.kind in run.kinds else run.kinds[-1]
    return Pair(chooser.look(run, kind), chooser.survey(p.model)[kind])


def page() -> None:
    parts.title(PAGE)
    _bench.row("compare")
    asked = _bench.choose(_bench.layered, model=Params.model, text=Params.text)
    if asked is None:
        return
    params = Params(asked.model, asked.text, state.read("kind", "") or None)
    data = compute(params)
    a, b = _two(data.heads)
    w, allowed = data.attention.weights, data.attention.allowed[0, 0]
    queries, keys = data.attention.queries, data.attention.keys
    views = (
        ("left", _label(data.heads, a), w[a], "pattern"),
        ("right", _label(data.heads, b), w[b], "pattern"),
        ("difference", "left minus right", w[a] - w[b], "difference"),
    )
    for column, (key, title, values, scale) in zip(st.columns(3, gap="medium"), views, strict=True):
        with column:
            heatmap(values, queries, keys, key=f"compare.{key}", allowed=allowed, scale=scale, limit=1.0 if scale == "difference" else None, title=title, height=380)
    parts.numbers(_sentence(data, a, b))
    _folds(params, data, a, b)


def _two(measured: Heads) -> tuple[tuple[int, int], tuple[int, int]]:
    places = [(i, j) for i in range(measured.shape[0]) for j in range(measured.shape[1])]
    names = [head_name(*place) for place in places]
    first, *others = measured.best().items()
    plain = min(places, key=lambda place: measured.score(*place))  # where no second habit is: the head that has the first one least
    telling = (first[1], others[0][1] if others and others[0][0] != chooser.VAGUE else plain)
    left, right = st.columns(2)
    with left:
        a = controls.select("Left head", names, "compare.left", head_name(*telling[0]), lambda n: f"{n}  {measured.word(*places[names.index(n)])}")
    with right:
        b = controls.select("Right head", names, "compare.right", head_name(*telling[1]), lambda n: f"{n}  {measured.word(*places[names.index(n)])}")
    return places[names.index(a)], places[names.index(b)]


def _label(measured: Heads, place: tuple[int, int]) -> str:
    return f"{head_name(*place)}: {measured.word(*place)}"


def _sentence(data: Pair, a: tuple[int, int], b: tuple[int, int]) -> str:
    w, keys = data.attention.weights, data.attention.keys
    apart = jensen_shannon(w[a], w[b])
    if apart.max() < 1e-6:
        return "The two rows of every word are equal: this is one head beside itself." if a == b else "On this sentence the two heads look the same."
    row = int(apart.argmax())
    looks = [f"{head_name(*p)} looks {w[p][row].max():.0%} at “{visible(keys[int(w[p][row].argmax())])}”" for p in (a, b)]
    return (
        f"They differ most at “{visible(data.attention.queries[row])}”: {looks[0]}, {looks[1]} ({apart[row]:.2f} bits of 1). "
        f"Over all words they are {apart.mean():.2f} bits apart."
    )


def _folds(params: Params, data: Pair, a: tuple[int, int], b: tuple[int, int]) -> None:
    w, measured = data.attention.weights, data.heads
    with parts.fold(parts.EQUATION, "compare.equation") as fold:
        if fold.open:
            parts.equation(DIVERGENCE)
            apart = jensen_shannon(w[a], w[b])
            rows = {"query": [visible(q) for q in data.attention.queries], "divergence in bits": apart.round(4)}
            st.dataframe(pd.DataFrame(rows), hide_index=True, key="compare.rows")
    with parts.fold(parts.LOOKING, "compare.looking") as fold:
        if fold.open:
            st.markdown(
                "Rows are the words that look (queries), columns the words looked at (keys). Both patterns share one scale from 0 to 1; the difference "
                "is centred: one colour where the left head gives more, the other where the right does. Heads of a layer work at the same time and are "
                "equal in rank: none comes second, and none looks at pairs of words (the survey of 2020 suggests that)."
            )
    parts.documents(PAGE)
    parts.as_table(lambda: _figures(measured, w), "compare")
    writing = ", writing=True" if chooser.crosses(data.attention.kind) else ""
    code = CODE.format(model=params.model, text=params.text, kind=data.attention.kind, writing=writing, a=f"{a[0]}, {a[1]}", b=f"{b[0]}, {b[1]}")
    parts.take_away(lambda: {"left": w[a], "right": w[b], "difference": w[a] - w[b]}, code, key="compare")


def _figures(measured: Heads, w: np.ndarray) -> pd.DataFrame:
    """Every head in figures: its habit on the battery, entropy and distance on this sentence."""
    places = [(i, j) for i in range(w.shape[0]) for j in range(w.shape[1])]
    bits, far = entropy(w).mean(-1) / np.log(2), distance(w)
    return pd.DataFrame({
        "head": [head_name(*p) for p in places], "habit": [measured.word(*p) for p in places],
        "entropy here, bits": [round(float(bits[p]), 2) for p in places], "mean distance here, words": [round(float(far[p]), 2) for p in places],
        **{f"on {habits.WORDS[name]}, battery": [round(float(score[p]), 2) for p in places] for name, score in measured.scores.items()},
    })  # fmt: skip
