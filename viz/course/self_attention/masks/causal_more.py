"""The last steps before the mask editor: a sentence as lines, one a word; and what is not quite minus infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number
from viz.course.self_attention.masks import causal_run as runs
from viz.course.self_attention.masks import causal_steps as steps
from viz.course.shared.maths import masks as lesson_of
from viz.course.shared.shown import Shown
from viz.instruments import heatmap, strip
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, percent, visible
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson

SLUG = "masks."
FBI = "The FBI is chasing a criminal on the run ."
READ = (FBI, "The animal didn't cross the street because it was too tired.")
ROWS = {"causal": "causal", "strict": "strict: without the word itself", "nothing": "one word may see nothing"}
NUMBERS = (-1, -2, -5, -10, -20, -100, -10_000)
MOST_LINES = 26
LOOKING_LINES = (
    "The sentence once for each of its words, as far as it was read: the current word is marked, the earlier ones are shaded by the weights of one head of gpt-mini. Each line is a row of the causal matrix and sums "
    "to 1; a line never holds a word that comes later. Pieces of a word are joined. Cheng, Dong and Lapata drew this picture for a recurrent reader; a causal head gives it at once. **Try** another head, in the fold."
)
LOOKING_EDGE = (
    "Left, the weights when a masked score gets the number M instead of −∞, added before the division by √d as the equation prints it; right, with −∞. What is left of the masked cells on the left is a "
    "leak: weight on words that must not be seen. **Strict** masks the word itself too, so the first line has nothing to look at: e^−∞ / Σ e^−∞ = 0 / 0. Many programs print NaN there, and NaN spreads to everything; "
    "with a finite number the line looks at all words by their scores, the future included; here it is zeros."
)


def lines(start: Any) -> Shown:
    """Ten lines for the sentence of the documents; before the guess only the sentence."""
    top = st.container()
    text = controls.text("Sentence", "text", FBI, placeholder="Type a sentence", of=runs.MODEL, most=f"up to {runs.LONGEST} tokens")
    controls.preset_row(READ, "text", FBI)
    with top:
        layer, head = steps._head()
        run = ask.run(runs.MODEL, text, keep=("*.pattern", "*.allowed"))
        found = run.attention("causal", by="word")
        origin.tell_run(run, "causal", layer, head)
        names = [visible(word.text) for word in run.side.words]
        n, weights = len(names), found.weights[layer, head]
        question, picture = st.container(), st.container()
        with question:
            told = lesson.predict(
                SLUG + "count", f"“{text}” The model reads word by word, signs count as words, and for each of them there is one line of weights. How many lines?", tuple(str(m) for m in (n - 1, n, n + 1) if m > 0), str(n),
                f"One for each of its {n} words and signs: a full stop is read as well, and remembers. {sum(name.isalnum() for name in names)} of them are words.",
            )  # fmt: skip
        with picture, st.container():
            shown = slice(None) if told else slice(0, 1)
            if n <= MOST_LINES:
                strip(weights[shown, shown], names[shown], allowed=found.allowed[layer, head][shown, shown], mode="lines", selected=n - 1 if told else 0, key=f"{SLUG}lines.{told}")
            else:
                st.text(f"{n} lines are too many for one look; up to {MOST_LINES} are drawn. The table below holds all.")
        if told:
            best = {i: int(weights[i, :i].argmax()) for i in range(1, n)}
            strong = sorted(best, key=lambda i: -weights[i, best[i]])[:3]
            picture.text(f"{n} lines. What {head_name(layer, head)} remembers most: " + "; ".join(f"“{names[i]}” of “{names[best[i]]}” {percent(weights[i, best[i]])}" for i in sorted(strong)) + ". Each line sums to 1."
                          if n > 1 else "One line, and one weight: 1.")  # fmt: skip
        else:
            picture.text("The first line has one word, so its weight is 1. Guess first, then the others are shown.")
    table = pd.DataFrame(np.round(weights, 4), index=distinct(names), columns=distinct(names)) if told else pd.DataFrame({"": ["Guess first: then the lines are here."]})
    code = (f"import core\n\nrun = core.open_model({runs.MODEL!r}).run({text!r})\nfound = run.attention('causal', by='word')\n"
            f"for word, row in zip(found.queries, found.weights[{layer}, {head}]):\n    print(word, row.round(3))")  # fmt: skip
    return Shown({"causal.prefix": {}}, (), LOOKING_LINES, lambda: table, {"weights": weights} if told else {}, code, steps._choose_head)


def edges(start: Any) -> Shown:
    """A number instead of minus infinity, the strict mask, and a row that may see nothing."""
    top = st.container()
    text = steps._sentence()
    with top:
        layer, head = steps._head()
        origin.tell(model=runs.MODEL, text=text, kind="causal", layer=layer, head=head)
        found, p = runs.reading(text, layer, head), int(runs.default().open(runs.MODEL).config.d_head)
        fill, kind = state.read(SLUG + "m", -5, state.one_of(NUMBERS)), state.read(SLUG + "edge", "causal", state.one_of(tuple(ROWS)))
        names, may = found.words, allowed(kind, len(found.words))
        loose, exact = lesson_of.filled(found.scores, may, fill, p=p, inside=True), lesson_of.filled(found.scores, may, -np.inf, p=p, inside=True)
        beside = lesson_of.filled(found.scores, may, fill, p=p, inside=False).worst[1]
        worst, most = loose.worst
        question, picture = st.container(), st.container()
        with question:
            told = lesson.predict_number(
                SLUG + "leaks", f"M = {_minus(fill)} in place of −∞, added before the division by √{p}, as Eq. (28) of Ghojogh and Ghodsi 2020 prints it. How much of its weight does the leakiest line put on masked words?", 0.0, 1.0, round(most, 2),
                f"“{names[worst]}” puts {_share(most)} there: the number is divided by √{p} as well, so e^(M/√{p}) = {np.exp(fill / np.sqrt(p)):.3g} is left of each masked term. "
                f"Look, like PyTorch, adds the mask after the division: then e^M = {np.exp(fill):.3g} is left, and the leakiest line puts {_share(beside)} there.", 0.05, "%",
            )  # fmt: skip
        left, right = picture.columns(2, gap="small" if lesson.presenting() else "medium")
        with left:
            heatmap(loose.weights if told else np.zeros_like(loose.weights), names, names, key=f"{SLUG}edge.loose.{told}", title=f"M = {_minus(fill)}" if told else "Guess first", numbers=told, height=steps.LOW if lesson.presenting() else 300)
        with right:
            heatmap(np.where(may, np.nan_to_num(exact.weights), 0.0), names, names, key=SLUG + "edge.exact", allowed=may, title="M = −∞", numbers=True, height=steps.LOW if lesson.presenting() else 300)
        picture.text(told_of(names, may, loose, exact, fill, beside) if told else f"With −∞ every masked weight is exactly 0. {empty(names, may, exact)}")
        with st.container(horizontal=True, gap="medium"):
            with st.container(width="content"):
                controls.segmented("M of a masked cell", NUMBERS, SLUG + "m", -5, _minus)
            with st.container(width="content"):
                controls.segmented("The mask", tuple(ROWS), SLUG + "edge", "causal", ROWS.__getitem__)
    code = steps._code(text, layer, head) + (
        f"\n\nimport numpy as np\nfrom viz.course.shared.maths.masks import filled\n\nn = len(scores)\nmay = np.tri(n, k={-1 if kind == 'strict' else 0}, dtype=bool)\n"
        + (f"may[{blind(len(names))}] = False\n" if kind == "nothing" else "") + f"leak = filled(scores, may, {fill}, p={p}, inside=True)\nprint(leak.worst)"
    )  # fmt: skip
    return Shown(
        {"masked.matrix": {"p": str(p)}, "masked.mask": {}}, (rf"e^{{{fill}/\sqrt{{{p}}}}} = {np.exp(fill / np.sqrt(p)):.4g}, \qquad e^{{-\infty}} = 0",), LOOKING_EDGE,
        lambda: steps._lines(loose.weights if told else np.zeros_like(loose.weights), names), {"loose": loose.weights, "leaks": loose.leaks} if told else {}, code, steps._choose_head,
    )  # fmt: skip


def allowed(kind: str, n: int) -> np.ndarray:
    """The mask of a case (query key)."""
    may = np.tri(n, k=-1 if kind == "strict" else 0, dtype=bool)
    if kind == "nothing":
        may[blind(n)] = False
    return may


def blind(n: int) -> int:
    """The word that may see nothing: the one in the middle."""
    return n // 2


def told_of(names: list[str], may: np.ndarray, loose: Any, exact: Any, fill: float, beside: float) -> str:
    """How much leaks, and what becomes of a row with nothing."""
    row, most = loose.worst
    said = f"With M = {_minus(fill)} “{names[row]}” puts {_share(most)} on masked words; added after the division {_share(beside)}; with −∞ exactly 0. "
    nothing = np.flatnonzero(~may.any(1))
    if len(nothing):
        at = int(nothing[0])
        said += f"“{names[at]}” is masked everywhere: the same number added to every score changes no weight, so it leaks {_share(float(loose.leaks[at]))} whatever M is. "
    return said + empty(names, may, exact)


def empty(names: list[str], may: np.ndarray, exact: Any) -> str:
    """What softmax makes of a row with nothing allowed, and what this house does; "" where every row may see something."""
    nothing = np.flatnonzero(~may.any(1))
    if not len(nothing):
        return ""
    n_nan = int(np.isnan(exact.weights[nothing]).sum())
    return f"Softmax of nothing is 0 / 0: NaN in all {n_nan} cells of “{names[int(nothing[0])]}”. Here such a line is set to zeros."


def _share(part: float) -> str:
    return percent(part, 2) if part >= 0.0005 or part == 0 else f"{number(100 * part, 4)} %" if part >= 1e-6 else "less than 0.0001 %"


def _minus(value: float) -> str:
    return f"−{-value:,}"
