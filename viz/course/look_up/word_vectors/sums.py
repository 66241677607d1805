"""a - b + c: by hand in the plane, on trained vectors, and on their map."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.model import Model
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.look_up import vectors_link
from viz.course.look_up.word_vectors.charts import word_map
from viz.course.look_up.word_vectors.params import NAMES, SLUG, Params, on_plane, places
from viz.course.shared import word_vectors
from viz.instruments import Point, moved_points, plane
from viz.labels import percent, visible
from viz.languages import _
from viz.number_text import true_minus
from viz.shell import links, state
from viz.widgets import engine_client, exhibit_parts, page_parts
from viz.widgets.quiz import tied

KEY = f"{SLUG}.plane"
SHOWN, FREQUENT = 8, 1_000
"""Words in the picture; the table is sorted by frequency, and a distractor is among the first so many."""
PLUS, MINUS = (NAMES.index("king"), NAMES.index("woman")), (NAMES.index("man"),)
OTHERS = [i for i in range(len(NAMES)) if i not in (*PLUS, *MINUS)]


def by_hand(params: Params, data: Model) -> Folds:
    """Draw the toy table of the sources: first the guess, then words to drag."""
    raw = state.read(f"{SLUG}.asked", params.points, on_plane)
    asked = places(raw)
    best, (x, y) = answer(asked)
    king, man, woman = (f"({asked[i][0]:g}, {asked[i][1]:g})" for i in (PLUS[0], MINUS[0], PLUS[1]))
    told = exhibit_parts.predict(
        f"{SLUG}.hand",
        _("king − man + woman: which word is nearest to the result?"),
        [NAMES[i] for i in OTHERS],
        best,
        true_minus(f"{king} − {man} + {woman} = ({x:g}, {y:g})."),
    )
    drawn = places(params.points) if told else asked
    best, (x, y) = answer(drawn)
    points = [Point(name, (at[0], at[1]), "word") for name, at in zip(NAMES, drawn, strict=True)]

    def put() -> None:
        if found := moved_points(KEY, points, limit=vectors_link.LIMIT):
            state.write(**{f"{SLUG}.points": vectors_link.pack(found[0]), f"{SLUG}.asked": raw})

    plane(
        points,
        plus=PLUS,
        minus=MINUS,
        limit=vectors_link.LIMIT,
        blind=not told,
        captions=(_("Words: drag them"), ""),
        key=KEY,
        height=360,
        on_move=put,
    )
    said = _(
        "king − man + woman = ({x:.2f}, {y:.2f}); the nearest of the other words is “{best}”.",
        x=x,
        y=y,
        best=best,
    )
    page_parts.summary(
        true_minus(said)
        if told
        else _("Each of the seven words has two numbers. Choose the word that the sum leads to.")
    )
    king, man, woman = (f"({drawn[i][0]:g},\\, {drawn[i][1]:g})" for i in (PLUS[0], MINUS[0], PLUS[1]))
    return Folds(
        lambda: pd.DataFrame(drawn, index=list(NAMES), columns=["x", "y"]),
        {"places": drawn},
        {"at": dict(zip(NAMES, drawn, strict=True))},
        told,
        {"vectors.analogy": {}},
        (f"{king} - {man} + {woman} = ({x:g},\\, {y:g})",),
        note_below=to_the_card,
    )


def trained(params: Params, data: Model) -> Folds:
    """Draw the words nearest to the visitor's a - b + c."""
    found = added(params, data)
    near = [visible(word) for word in found.nearest[:SHOWN]]
    told = exhibit_parts.predict(
        f"{SLUG}.trained",
        _("{sum}: which of these words is nearest among the trained vectors?", sum=_terms(found)),
        dict(sorted(answer_options(found, data).items())),
        near[0],
        _(
            "Its cosine with the sum is {first:.3f}, that of “{word}” {second:.3f}.",
            first=found.cosines[0],
            word=near[1],
            second=found.cosines[1],
        ),
    )
    rows = pd.Series(found.cosines[:SHOWN], near) if told else pd.Series(np.nan, ["?"] * len(near))
    alt = _("The words nearest to {sum}, by cosine.", sum=_terms(found))
    alt = alt if told else _("Not shown before the guess.")
    page_parts.show(marks.bars(rows, "{:.3f}", highlighted=near[:1], end=1.0), f"{SLUG}.bars", alt)
    with_all = _("it is nearest even with the three words included")
    if found.place > 1:
        with_all = _(
            "with the three words included, “{first}” is first and “{word}” is number {place}",
            first=visible(found.first),
            word=near[0],
            place=found.place,
        )
    page_parts.summary(
        _(
            "{sum}: “{word}”, cosine {cosine:.3f}, the first of {n:,} words; {with_all}.",
            sum=_terms(found),
            word=near[0],
            cosine=found.cosines[0],
            n=len(data.tokenizer) - 1,
            with_all=with_all,
        )
        if told
        else _("Choose one of the five, and the bars appear.")
    )
    return _folds(found, told)


def answer_options(result: word_vectors.Sum, data: Model) -> dict[str, float]:
    """Return the nearest word and four near ones, with their cosines: frequent words, none level with the nearest."""
    best, *others = zip(result.nearest, result.cosines.tolist(), strict=True)
    known = [
        (word, cosine)
        for word, cosine in others
        if data.tokenizer.encode(word).ids[0] < FREQUENT and not tied(cosine, best[1])
    ]
    return {visible(word): cosine for word, cosine in (best, *known[:4])}


def on_the_map(params: Params, data: Model) -> Folds:
    """Draw the words of the sum as points of a plane."""
    found = added(params, data)
    a, b, c = map(visible, found.terms)
    best = found.names.index(found.nearest[0])
    page_parts.show(
        word_map([visible(name) for name in found.names], found.map, best),
        f"{SLUG}.map",
        _(
            "{a}, {b}, {c} and the words nearest to {sum}, in two dimensions.",
            a=a,
            b=b,
            c=c,
            sum=_terms(found),
        ),
    )
    one, other = (np.linalg.norm(found.map[i] - found.map[j]) for i, j in ((0, 1), (-1, 2)))
    page_parts.summary(
        _(
            "The arrow {b} → {a} is {one:.2f} long, the one from {c} to the sum {other:.2f}. These two directions keep {share} of the differences among the {n} words and their sum.",
            a=a,
            b=b,
            one=one,
            c=c,
            other=other,
            share=percent(found.share),
            n=len(found.names),
        )
    )
    return _folds(found)


def added(params: Params, data: Model) -> word_vectors.Sum:
    """Return a - b + c on the shipped vectors."""
    three = (params.a, params.b, params.c)
    return engine_client.submit((SLUG, *three), lambda: word_vectors.add(data, *three, n=40), 400)


def to_the_card() -> None:
    """Draw a link to the training and accuracy of the vectors."""
    links.page_link("models", _("How these vectors were trained, and how often such sums are right"))


def answer(positions: vectors_link.Vectors) -> tuple[str, np.ndarray]:
    """Return the nearest of the other words, and the vector of the sum."""
    target = np.array(positions[PLUS[0]]) - np.array(positions[MINUS[0]]) + np.array(positions[PLUS[1]])
    far = [float(np.hypot(*(np.array(positions[i]) - target))) for i in OTHERS]
    return NAMES[OTHERS[int(np.argmin(far))]], target


def _terms(result: word_vectors.Sum) -> str:
    a, b, c = map(visible, result.terms)
    return f"{a} − {b} + {c}"


def _folds(result: word_vectors.Sum, revealed: bool = True) -> Folds:
    best = "".join(letter for letter in result.nearest[0] if letter.isalpha()) or "?"
    return Folds(
        {"word": result.nearest[:SHOWN], "cosine": result.cosines[:SHOWN]},
        {"cosines": result.cosines[:SHOWN], "map": result.map},
        {},
        revealed,
        {"vectors.analogy": {}, "vectors.cosine": {}},
        (
            r"\hat a - \hat b + \hat c, \qquad \hat x = x / \lVert x \rVert",
            rf"\cos(a - b + c,\; \text{{{best}}}) = {result.cosines[0]:.4f}",
        ),
        note_below=to_the_card,
    )
