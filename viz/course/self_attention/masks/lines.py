"""The next steps on masks: a sentence as lines, one per word; a finite number in place of minus infinity."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.self_attention.masks import read, steps
from viz.course.self_attention.masks.params import INTEGER, SLUG, Params
from viz.course.self_attention.masks.steps import LOW, table, tell
from viz.course.shared import masks
from viz.course.shared.maps import side_by_side
from viz.instruments import strip
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, percent, visible
from viz.languages import _
from viz.number_text import fine_percent
from viz.widgets import engine_client, exhibit_parts

MOST_LINES = 26


def lines(params: Params, data: read.Head) -> Folds:
    """Draw ten lines for the sentence of the sources; before the guess only the sentence."""
    text, layer, head = params.example, data.layer, data.head
    run = engine_client.run(read.MODEL, text, keep=("*.pattern", "*.allowed"))
    found = run.attention("causal", by="word")
    origin.tell_run(run, "causal", layer, head)
    names = [visible(word.text) for word in run.side.words]
    n, weights, allowed = len(names), found.weights[layer, head], found.allowed[layer, head]
    known = exhibit_parts.predict(
        SLUG + "count",
        _(
            "“{text}” The model reads word by word; punctuation marks count as words, and for each of them there is one line of weights. How many lines?",
            text=text,
        ),
        tuple(str(m) for m in (n - 1, n, n + 1) if m > 0),
        str(n),
        _(
            "One for each of its {n} words and punctuation marks: the full stop is a token, too. {words} of them are words.",
            n=n,
            words=sum(name.isalnum() for name in names),
        ),
    )
    shown = slice(None) if known else slice(0, 1)
    if n <= MOST_LINES:
        strip(
            weights[shown, shown],
            names[shown],
            allowed=allowed[shown, shown],
            mode="lines",
            selected=n - 1 if known else 0,
            key=f"{SLUG}lines.{known}",
        )
    else:
        st.text(
            _(
                "{n} lines are too many for one picture; up to {most} are drawn. The table below holds all.",
                n=n,
                most=MOST_LINES,
            )
        )
    if not known:
        st.text(_("The first line has one word, so its weight is 1. Guess first, then the others are shown."))
    elif n == 1:
        st.text(_("There is one line with one weight, 1."))
    else:
        best = {i: int(weights[i, :i].argmax()) for i in range(1, n)}
        strong = sorted(sorted(best, key=lambda i: -weights[i, best[i]])[:3])
        told = [
            _(
                "“{query}” to “{key}” {share}",
                query=names[i],
                key=names[best[i]],
                share=percent(weights[i, best[i]]),
            )
            for i in strong
        ]
        st.text(
            _(
                "{n} lines. The largest weights on earlier words in {head}: {weights}. Each line sums to 1.",
                n=n,
                head=head_name(layer, head),
                weights="; ".join(told),
            )
        )
    return Folds(
        lambda: pd.DataFrame(np.round(weights, 4), index=distinct(names), columns=distinct(names)),
        {"weights": weights},
        {},
        known,
        {"causal.prefix": {}},
    )


def edges(params: Params, data: read.Head) -> Folds:
    """Draw a finite number instead of minus infinity, the strict mask, and a row with nothing allowed."""
    tell(params.text, data)
    found, p = read.reading(params.text, data), int(read.config().d_head)
    fill, kind, names = params.m, params.edge, found.words
    may = allowed(kind, len(names))
    loose = masks.filled(found.scores, may, fill, p=p, inside=True)
    exact = masks.filled(found.scores, may, -np.inf, p=p, inside=True)
    beside = masks.filled(found.scores, may, fill, p=p, inside=False).worst[1]
    worst, most = loose.worst
    left_over = np.exp(fill / np.sqrt(p))
    known = exhibit_parts.predict_share(
        SLUG + "leaks",
        _(
            "M = {m} in place of −∞, added before the division by √{p}, as Eq. (28) of Ghojogh and Ghodsi 2020 prints it. How much weight do the masked words get in the line with the largest leak?",
            m=INTEGER(fill),
            p=p,
        ),
        round(most, 2),
        _(
            "“{word}” gives {share} to masked words: the number is divided by √{p} as well, so e^(M/√{p}) = {left:.3g} is left of each masked term. Look, like PyTorch, adds the mask after the division: then e^M = {after:.3g} is left, and the largest leak is {leak}.",
            word=names[worst],
            share=fine_percent(most),
            p=p,
            left=float(left_over),
            after=float(np.exp(fill)),
            leak=fine_percent(beside),
        ),
    )
    weights = loose.weights if known else np.zeros_like(loose.weights)
    title = f"M = {INTEGER(fill)}" if known else _("Guess first")
    closed = np.where(may, np.nan_to_num(exact.weights), 0.0)
    shown = {
        f"{SLUG}edge.loose.{known}": (weights, {"title": title, "numbers": known}),
        SLUG + "edge.exact": (closed, {"title": "M = −∞", "numbers": True, "allowed": may}),
    }
    side_by_side(names, shown, height=LOW if exhibit_parts.presenting() else 300)
    st.text(
        _leaks(names, may, loose, exact, fill, beside)
        if known
        else f"{_('With −∞ every masked weight is exactly 0.')} {_empty(names, may, exact)}"
    )
    nothing = f"may[{blind(len(names))}] = False\n" if kind == "nothing" else ""
    return Folds(
        lambda: table(loose.weights, names),
        {"loose": loose.weights, "leaks": loose.leaks},
        steps.lines() | {"nothing": nothing, "k": -1 if kind == "strict" else 0, "d_head": p},
        known,
        {"masked.matrix": {"p": str(p)}, "masked.mask": {}},
        (rf"e^{{{fill}/\sqrt{{{p}}}}} = {left_over:.4g}, \qquad e^{{-\infty}} = 0",),
    )


def allowed(kind: str, n: int) -> np.ndarray:
    """Return the mask of a case (query key)."""
    may = np.tri(n, k=-1 if kind == "strict" else 0, dtype=bool)
    if kind == "nothing":
        may[blind(n)] = False
    return may


def blind(n: int) -> int:
    """Return the index of the word with nothing allowed: the one in the middle."""
    return n // 2


def _leaks(
    names: list[str],
    may: np.ndarray,
    loose: masks.Filled,
    exact: masks.Filled,
    fill: float,
    leak_after: float,
) -> str:
    """Return a sentence on the largest leak, and on a row with nothing allowed."""
    row, most = loose.worst
    said = _(
        "With M = {m} “{word}” puts {share} on masked words; added after the division {after}; with −∞ exactly 0. ",
        m=INTEGER(fill),
        word=names[row],
        share=fine_percent(most),
        after=fine_percent(leak_after),
    )
    nothing = np.flatnonzero(~may.any(1))
    if len(nothing):
        at = int(nothing[0])
        said += _(
            "“{word}” is masked everywhere: the same number added to every score changes no weight, so it leaks {share} whatever M is. ",
            word=names[at],
            share=fine_percent(float(loose.leaks[at])),
        )
    return said + _empty(names, may, exact)


def _empty(names: list[str], may: np.ndarray, exact: masks.Filled) -> str:
    """Return a sentence on a row with nothing allowed; "" where every row has an allowed word."""
    nothing = np.flatnonzero(~may.any(1))
    if not len(nothing):
        return ""
    n_nan, name = int(np.isnan(exact.weights[nothing]).sum()), names[int(nothing[0])]
    return _(
        "Softmax of nothing is 0 / 0: NaN in all {n} cells of “{word}”. Here such a line is set to zeros.",
        n=n_nan,
        word=name,
    )
