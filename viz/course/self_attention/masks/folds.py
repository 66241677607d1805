"""The sentence, controls and folds of the exhibit on masks: widgets and our own words around numbers of `core`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number, tiny
from viz.course.self_attention.masks.charts.masks import leak
from viz.course.shared import masks_panels as panels
from viz.course.shared.maths import masks as lesson
from viz.instruments import heatmap
from viz.labels import distinct, formulas, percent
from viz.shell import state
from viz.widgets import controls, errata, parts
from viz.widgets import lesson as ask

KNOBS: dict[str | None, tuple[tuple[str, str, int, int], ...]] = {
    "padding": (("padded", "Positions at the end that count as padding", 1, 12),),
    "window": (("radius", "Window: words to each side", 0, 12),),
    "sparse": (
        ("radius", "Window: words to each side", 0, 12), ("n_global", "Global words, from the first", 0, 6),
        ("block", "Words a block", 1, 8), ("count", "Random blocks a row", 0, 6), ("draw", "Draw", 0, 99),
    ),
    "prefix": (("length", "Words of the prefix", 0, 24),),
}  # fmt: skip
FIELD = {"draw": "seed"}
"""The field of the recipe, where its name is not that of the link."""
PAST = ("padding", "window", "sparse")
FILLS = (-1, -2, -5, -10, -20, -100, -10_000)
WHERE = {"inside": "before the division: (q·k + M) / √d", "outside": "after it: q·k / √d + M"}


def recipe(kind: str, start: lesson.Recipe) -> lesson.Recipe:
    """The mask by name with the numbers that the visitor chose; for a drawn one the mask it started from."""
    name = panels.named(kind)
    chosen: dict[str, Any] = {
        FIELD.get(knob, knob): state.read(f"masks.{knob}", getattr(start, FIELD.get(knob, knob)), state.whole(low, high))
        for knob, _, low, high in KNOBS.get(name, ())
    }
    if name in PAST:
        chosen["past_only"] = state.read("masks.past_only", start.past_only, state.flag)
    return replace(start, kind=name, **chosen)


def sentence(data: Any, query: int, key: int) -> str:
    """What the chosen row may see, what it looks at, what the mask took away; and rows that may see nothing."""
    names, row = panels.labels(data.tokens), lesson.row(data.scores[query], data.allowed[query])
    n, open_ = len(names), int(data.allowed[query].sum())
    blind = [i for i in range(n) if not data.allowed[i].any()]
    if row.empty:
        said = (f"“{names[query]}” is masked everywhere: e^−∞ = 0 in all {n} cells, and 0 / 0 is no number. "
                f"This model then uses zeros.")  # fmt: skip
        blind.remove(query)
    else:
        top = int(data.pattern[query].argmax())
        shown = [top] if key == top or not data.allowed[query, key] else [top, key]
        given = " and ".join(
            f"{percent(data.pattern[query, j])} to {'itself' if j == query else f'“{names[j]}”'}" for j in shown
        )
        said = f"“{names[query]}” may attend to {open_} of {n} words and gives {given}."
        if open_ < n:
            said += (f" The mask removes {percent(row.hidden)} of what its scores alone would give; "
                     f"the rest grows {number(1 / (1 - row.hidden))}-fold.")  # fmt: skip
    if blind:
        others = ", ".join(f"“{names[i]}”" for i in blind[:5]) + (", .." if len(blind) > 5 else "")
        said += f" Everything masked for {others}: zeros, not NaN."
    return said


def change_it(kind: str, start: lesson.Recipe) -> None:
    """The fold with the numbers of the chosen mask."""
    with parts.fold("Change it", "masks.change") as opened:
        if not opened.open:
            return
        knobs = [knob for knob in KNOBS.get(kind, ()) if knob[0] != "draw"]
        columns = st.columns(2, gap="large") if knobs else ()
        for i, (knob, label, low, high) in enumerate(knobs):
            with columns[i % 2]:
                controls.slider(label, low, high, f"masks.{knob}", getattr(start, knob))
        if kind in PAST:
            controls.toggle("Hide the future as well (& causal)", "masks.past_only", start.past_only)
        controls.toggle("The same mask in every layer (otherwise in this one only)", "masks.everywhere", False)


def finite(data: Any) -> None:
    """The fold with a number in place of -inf: what changes in this head's weights, and how much leaks."""
    with parts.fold("A finite number instead of −∞", "masks.finite") as opened:
        if not opened.open:
            return
        left, right = st.columns(2, gap="large")
        with left:
            fill = controls.segmented("The number M of a masked cell", FILLS, "masks.fill", -5, lambda f: f"−{-f:,}")
        with right:
            where = controls.segmented("Where it is added", tuple(WHERE), "masks.where", "inside", WHERE.__getitem__)
        p, names = data.d_head, panels.labels(data.tokens)
        found = lesson.filled(data.scores, data.allowed, fill, p=p, inside=where == "inside")
        change = found.weights - data.pattern
        fills = -np.logspace(0, 4, 81)
        curves = lesson.leak_curve(data.scores, data.allowed, fills, p=p)
        left, right = st.columns(2, gap="large")
        with left:
            heatmap(change, names, names, key="masks.filled", scale="difference", limit=max(0.1, float(np.abs(change).max())),
                    title="Change of the weights against −∞", numbers=True)  # fmt: skip
        with right:
            shown = {
                f"{when} dividing by √{p}": curves[name] for name, when in (("inside", "before"), ("outside", "after"))
            }
            parts.show(
                leak(fills, shown, marked=fill),
                "masks.leak",
                "Largest leak of a row over the number in place of minus infinity.",
            )
        row, most = found.worst
        told = f"Largest leak: “{names[row]}” puts {_share(most)} on masked words; with −∞ exactly 0."
        if where == "inside":
            told += f" Added before the division, the number itself is divided by √{p} = {number(math.sqrt(p))}."
        if not data.allowed.any(-1).all():
            told += " A row with nothing allowed leaks everything, whatever the number: the same addition to all scores changes no weight."
        parts.numbers(told)


def _share(part: float) -> str:
    """A share in percent that never rounds something to nothing."""
    return (
        percent(part, 2) if part >= 0.0005 or part == 0 else f"{100 * part:.0e} %".replace("e-0", "e-").replace("-", "−")
    )


def question(data: Any, query: int) -> None:
    """Predict first: where does the weight of a word go that is taken away? Asked and answered with words of this run."""
    answers = ("It is lost", "To all others, the same share each", "To all others, by the same factor")
    told = lesson.without_favourite(data.scores, data.allowed, query)
    if told is None:
        st.text("No row of this mask allows two words: take a wider one, and there is something to predict.")
        return
    names = panels.labels(data.tokens)
    ask.predict(
        "masks.guess",
        f"“{names[told.query]}” looks most at “{names[told.key]}”. Mask that word. Where does its weight go?",
        answers, answers[2],
        f"“{names[told.query]}” gives {told.weight:.3f} to “{names[told.key]}”. Masked, that term leaves the sum below the "
        f"fraction: every other weight of the row is divided by 1 − {told.weight:.3f}, so it grows {told.factor:.3f} times; "
        f"“{names[told.other]}” from {told.before:.3f} to {told.after:.3f}. Click the cell in the mask to see it happen.",
    )  # fmt: skip


def equation(data: Any, query: int, key: int) -> None:
    """One row step by step: score, mask, sum, exponential, weight."""
    with parts.fold(parts.EQUATION, "masks.equation") as opened:
        if not opened.open:
            return
        row, name = lesson.row(data.scores[query], data.allowed[query]), panels.labels(data.tokens)[query]
        s, m = number(row.scores[key]), "0" if row.mask[key] == 0 else r"-\infty"
        parts.equation(r"\text{weight}_j = \frac{e^{s_j + M_j}}{\sum_{j'} e^{s_{j'} + M_{j'}}}, \qquad "
                       r"M_j = \begin{cases} 0 & \text{allowed: } e^0 = 1 \text{ keeps} \\ -\infty & \text{masked: } "
                       r"e^{-\infty} = 0 \text{ removes} \end{cases}")  # fmt: skip
        result = r"\frac{0}{0} \rightarrow 0" if row.empty else (
            rf"\frac{{{number(row.exponentials[key], 4)}}}{{{number(row.total, 4)}}} = {number(row.weights[key], 4)}")  # fmt: skip
        parts.equation(
            rf"\text{{the chosen cell: }} \frac{{e^{{{s} + {m}}}}}{{{number(row.total, 4)}}} = {result} \vphantom{{\Bigg|}}"
        )
        st.text(f"The row of “{name}”, {data.path}, key by key (a click on another cell shows its row):")
        st.table(steps(data, query), border="horizontal")
        gap = np.abs(np.array(row.weights) - data.pattern[query]).max()
        st.text(f"The weights differ from the run's own tensor by at most {tiny(gap)} (it is float32, this is float64).")


def steps(data: Any, query: int) -> pd.DataFrame:
    """The arithmetic of one row as a table, with its sum."""
    row, names = lesson.row(data.scores[query], data.allowed[query]), distinct(panels.labels(data.tokens))
    lines = [
        {"key": key, "score s": number(s, 4), "M": "0" if m == 0 else "−∞", "s + M": "−∞" if math.isinf(x) else number(x, 4),
         "exp(s + M)": "0" if math.isinf(x) else number(e, 4), "weight": "0" if math.isinf(x) else number(w, 4)}
        for key, s, m, x, e, w in zip(
            names, row.scores, row.mask, row.summed, row.exponentials, row.weights, strict=True
        )
    ]  # fmt: skip
    total = {
        "key": "sum",
        "score s": "",
        "M": "",
        "s + M": "",
        "exp(s + M)": number(row.total, 4),
        "weight": number(sum(row.weights), 4),
    }
    return pd.DataFrame([*lines, total]).set_index("key")


def looking_at(data: Any, params: Any) -> None:
    """Axes, colours, where the mask went in, and what to try."""
    with parts.fold(parts.LOOKING, "masks.looking") as opened:
        if not opened.open:
            return
        where = "every layer" if params.everywhere else f"layer {params.layer} (all its heads)"
        st.markdown(
            "Three matrices of one head of gpt-mini, reading your sentence. A row is a word that looks (query), a column a word "
            "that is looked at (key). **Left**, the scores q·k / √d: they exist for every pair, the future included; blue is "
            "positive, orange negative. **Middle**, the mask: allowed or, hatched, masked. **Right**, what softmax makes of "
            "both, from 0 to 1; each row sums to 1."
        )
        st.markdown(formulas(
            f"The mask was put into {where} of the real run before softmax, and the pattern is the tensor of that run. "
            "gpt-mini was trained with the causal mask only: with another it does something that it never learned, and that "
            "is what you see. Without the mask its task, the next word, would lie open in the keys, and nothing would have to "
            "be learned. Under the causal mask the first word sees only itself: e^s / e^s = 1, whatever the score.", ours=True
        ))
        blind = int((~data.allowed.any(-1)).sum())
        st.markdown(
            f"**Rows with nothing allowed: {blind}.** Softmax would divide 0 by 0. Many programs print NaN, which then spreads "
            "to everything; some attend uniformly. Here the weights are zeros, the head's output is a zero vector, and the "
            "sentence under the picture names the row."
        )
        st.markdown(
            "**Try** to take away the word that gets the most, by clicking its cell in the mask: all other weights of the row "
            "grow by the same factor."
        )


def documents() -> None:
    """The errata that concern masks, each with its evidence computed now."""
    errata.show("E2", "E17", "E32", "E48", "E55")


def table(data: Any) -> pd.DataFrame:
    """The pattern in words and numbers, one row a query."""
    names = distinct(panels.labels(data.tokens))
    cells = [
        [f"{w:.4f}" if may else "masked" for w, may in zip(*row, strict=True)]
        for row in zip(data.pattern, data.allowed, strict=True)
    ]
    return pd.DataFrame(cells, index=names, columns=names).rename_axis("query \\ key")


def arrays(data: Any) -> dict[str, np.ndarray]:
    """What one takes away."""
    return {"tokens": np.array(data.tokens), "scores": data.scores, "allowed": data.allowed, "pattern": data.pattern}


def code(model: str, params: Any) -> str:
    """The lines that make the same matrices in a notebook."""
    where = "layer.*.self_attn" if params.everywhere else f"layer.{params.layer}.self_attn"
    path = f"layer.{params.layer}.self_attn"
    mask = (
        params.recipe.code()
        if params.drawn is None
        else f"mask = torch.tensor({[[int(c) for c in row] for row in params.drawn]}).bool()"
    )
    return (
        f"import core, torch\nfrom core import edits, masks\n\nmodel = core.open_model({model!r})\ntext = {params.text!r}\n"
        f"n = len(model.run(text, keep=[]).tokens)\n{mask}\n"
        f'edit = edits.SetAllowed("{where}.allowed", tuple(map(tuple, mask.tolist())))\n'
        f"run = model.run(text, edits=[edit])\n"
        f'scores, pattern = run.trace["{path}.scores"][{params.head}], run.trace["{path}.pattern"][{params.head}]'
    )
