"""a - b + c: by hand in the plane, on trained vectors, and on their map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

import core.serving.engine
from viz.charts.scores import bars
from viz.course.look_up import vectors_link as link
from viz.course.look_up.word_vectors.charts import word_map
from viz.course.shared.maths import word_vectors as words
from viz.course.shared.shown import Shown
from viz.instruments import Point, moved, plane
from viz.labels import literal, percent, visible
from viz.shell import state
from viz.shell.state import Unusable
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG, KEY, MODEL = "word_vectors.", "word_vectors.plane", "vectors-mini"
NAMES = (*words.TOY, *words.OTHERS)
OPENING: link.Vectors = (*words.TOY.values(), *words.OTHERS.values())
PLUS, MINUS = (NAMES.index("king"), NAMES.index("woman")), (NAMES.index("man"),)
READY = (("king", "prince", "princess"), ("king", "man", "woman"), ("brother", "boy", "girl"), ("walked", "walk", "play"), ("went", "go", "come"), ("mice", "mouse", "child"))
LOOKING_HAND = (
    "Each dot is a word. The solid arrow leads from the word taken off to the first; the dashed one is the same arrow, put at the third, as from *man* to *king* and at *woman*. The ring is where it ends, and the coloured word "
    "is the nearest that is none of the three. **Drag** *queen* away, or *girl* into the ring, and another word is the answer. Distance decides here; trained vectors are compared by direction (cosine)."
)
LOOKING_TRAINED = (
    "Each bar is a word and its cosine with a − b + c: 1 is the same direction, 0 none in common. The three given words are left out, as is the custom, and the sentence says what would be "
    "nearest with them: very often one of the three, because the sum starts from there. **Try** words of your own; many sums lead nowhere, and the card of the model says how many. The vectors have the habits of the books they were learnt from, prejudices among them: what comes of doctor − man + woman?"
)
LOOKING_MAP = (
    "Eighty numbers a word cannot be drawn, so this is their shadow on a plane: the two directions in which just these words differ most (principal components, computed from them). The share in the sentence says how "
    "much of their differences the shadow keeps; what looks near here may be far apart. Both arrows are the same, because a shadow keeps sums."
)


def places(raw: str) -> link.Vectors:
    """The places of the words by hand; raises Unusable for others."""
    found = link.vectors(raw, link.LIMIT)
    if len(found) != len(NAMES) or len(found[0]) != 2:
        raise Unusable(f"It must be {len(NAMES)} places x,y.")
    return found


def _answer(at: link.Vectors) -> tuple[str, np.ndarray]:
    target = np.array(at[PLUS[0]]) - np.array(at[MINUS[0]]) + np.array(at[PLUS[1]])
    others = [i for i in range(len(NAMES)) if i not in (*PLUS, *MINUS)]
    far = [float(np.hypot(*(np.array(at[i]) - target))) for i in others]
    return NAMES[others[int(np.argmin(far))]], target


def by_hand(params: Any) -> Shown:
    """The toy table of the documents: guess, then drag."""
    raw = state.read(SLUG + "asked", link.pack(params.points), lambda text: link.pack(places(text)))
    asked = places(raw)
    answer, target = _answer(asked)
    x, y = target
    known = lesson.predict(SLUG + "hand", "king − man + woman: which word is nearest to where that leads?", [name for i, name in enumerate(NAMES) if i not in (*PLUS, *MINUS)], answer,
                           f"({asked[PLUS[0]][0]:g}, {asked[PLUS[0]][1]:g}) − ({asked[MINUS[0]][0]:g}, {asked[MINUS[0]][1]:g}) + ({asked[PLUS[1]][0]:g}, {asked[PLUS[1]][1]:g}) = ({x:g}, {y:g}).".replace("-", "−"))  # fmt: skip
    drawn = params.points if known else asked
    answer, (x, y) = _answer(drawn)
    points = [Point(name, at, "word") for name, at in zip(NAMES, drawn, strict=True)]  # pyright: ignore[reportArgumentType]

    def put() -> None:
        found = moved(KEY, points, limit=link.LIMIT)
        if found is not None:
            state.write(**{SLUG + "points": link.pack(found[0]), SLUG + "asked": raw})

    plane(points, plus=PLUS, minus=MINUS, limit=link.LIMIT, blind=not known, captions=("Words: drag them", ""), key=KEY, height=360, on_move=put)
    parts.numbers(f"king − man + woman = ({x:.2f}, {y:.2f}); the nearest of the other words is “{answer}”.".replace("-", "−") if known else "Seven words, two numbers each. Say where the sum leads.")
    code = ("import numpy as np\n\n" f"at = {dict(zip(NAMES, drawn, strict=True))!r}\n"
            'target = np.subtract(at["king"], at["man"]) + at["woman"]\nmin(at, key=lambda word: np.linalg.norm(at[word] - target))')  # fmt: skip
    return Shown(
        {"vectors.analogy": {}}, (_sum(drawn, x, y),) if known else (), LOOKING_HAND,
        lambda: pd.DataFrame(drawn, index=list(NAMES), columns=["x", "y"]), {"places": drawn}, code,
    )  # fmt: skip


def _sum(at: link.Vectors, x: float, y: float) -> str:
    king, man, woman = (f"({at[i][0]:g},\\, {at[i][1]:g})" for i in (PLUS[0], MINUS[0], PLUS[1]))
    return f"{king} - {man} + {woman} = ({x:g},\\, {y:g})"


# ---------------------------------------------------------------- trained vectors


def _boxes() -> None:
    """Three boxes for words, and ready-made sums."""
    for column, name, label, default in zip(st.columns(3), "abc", ("a", "− b", "+ c"), READY[0], strict=True):
        with column:
            controls.text(label, SLUG + name, default)
    now = tuple(state.read(SLUG + name, default) for name, default in zip("abc", READY[0], strict=True))
    said = {f"{a} − {b} + {c}": (a, b, c) for a, b, c in READY}
    key = SLUG + "ready"
    lit = state.held(key, next((text for text, three in said.items() if three == now), None))

    def take() -> None:
        three = said.get(st.session_state.get(key) or "")
        if three:
            state.write(**{SLUG + name: word for name, word in zip("abc", three, strict=True)})

    st.pills("Sums", list(said), format_func=literal, key=key, default=lit, on_change=take, label_visibility="collapsed")


def _add(params: Any) -> words.Sum:
    three = (params.a, params.b, params.c)
    return ask.submit(("word_vectors", *three), lambda: words.add(core.serving.engine.default().open(MODEL), *three), 400)


def _parts(found: words.Sum, looking: str, known: bool = True) -> Shown:
    a, b, c = found.terms
    numbers = rf"\cos(a - b + c,\; \text{{{_plain(found.nearest[0])}}}) = {found.cosines[0]:.4f}"
    code = ("import core\nfrom viz.course.shared.maths.word_vectors import add\n\n" f'add(core.open_model("{MODEL}"), {a!r}, {b!r}, {c!r})')  # fmt: skip
    return Shown(
        {"vectors.analogy": {}, "vectors.cosine": {}}, (r"\hat a - \hat b + \hat c, \qquad \hat x = x / \lVert x \rVert", *([numbers] if known else [])), looking,
        lambda: pd.DataFrame({"word": found.nearest, "cosine": found.cosines} if known else {"word": found.terms}),
        {"cosines": found.cosines, "map": found.map} if known else {}, code,
    )  # fmt: skip


def _plain(word: str) -> str:
    return "".join(letter for letter in word if letter.isalpha()) or "?"


def trained(params: Any) -> Shown:
    """The nearest words to a - b + c of the visitor's own."""
    return _above(_trained, params)


def on_the_map(params: Any) -> Shown:
    """The words in play as places of a plane."""
    return _above(_on_the_map, params)


def _above(draw: Callable[[Any], Shown], params: Any) -> Shown:
    """The picture above the boxes, which are there whatever stands in them."""
    top = st.container()
    _boxes()
    with top:
        return draw(params)


def _trained(params: Any) -> Shown:
    found = _add(params)
    a, b, c = map(visible, found.terms)
    sum_ = f"{a} − {b} + {c}"
    near = list(found.nearest)
    known = lesson.predict(SLUG + "trained", f"{sum_}: which of these words is nearest in the trained table?", dict(sorted(zip(map(visible, near[:5]), found.cosines.tolist(), strict=False))), visible(near[0]),
                           f"Its cosine with the sum is {found.cosines[0]:.3f}, that of “{visible(near[1])}” {found.cosines[1]:.3f}.")  # fmt: skip
    rows = [(visible(word), float(cosine), i == 0) for i, (word, cosine) in enumerate(zip(near, found.cosines, strict=True))]
    if not known:
        rows = [("?" + " " * i, 0.0, False) for i in range(len(rows))]
    parts.show(bars(rows, "{:.3f}" if known else "", end=1.0), SLUG + "bars", f"The words nearest to {sum_}, by cosine." if known else "Not shown before the guess.")
    with_all = "it is nearest even when the three count" if found.place == 1 else f"if the three counted, “{visible(found.first)}” would be first and “{visible(near[0])}” at place {found.place}"
    parts.numbers(f"{sum_}: “{visible(near[0])}”, cosine {found.cosines[0]:.3f}, the first of {len(core.serving.engine.default().open(MODEL).tokenizer) - 1:,} words; {with_all}."
                  if known else "Choose one of the five, and the bars appear.")  # fmt: skip
    return _parts(found, LOOKING_TRAINED, known)


def _on_the_map(params: Any) -> Shown:
    found = _add(params)
    a, b, c = map(visible, found.terms)
    best = found.names.index(found.nearest[0])
    parts.show(word_map([visible(name) for name in found.names], found.map, best), SLUG + "map", f"{a}, {b}, {c} and the words nearest to {a} − {b} + {c}, in two dimensions.")
    step = np.linalg.norm(found.map[0] - found.map[1])
    parts.numbers(f"The arrow {b} → {a} is {step:.2f} long, the one from {c} to the sum {np.linalg.norm(found.map[-1] - found.map[2]):.2f}. "
                  f"These two directions keep {percent(found.share)} of what the {len(found.names)} words and their sum differ in.")  # fmt: skip
    return _parts(found, LOOKING_MAP)
