"""Steps of the exhibit on one word with two meanings: its two vectors, the one vector of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.errors import InputError
from core.serving.engine import default
from viz.charts import marks
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.bank.params import MODEL, SLUG, TABLE, Params, names_of
from viz.course.bert.charts.by_layer import by_layer
from viz.course.exhibit import Folds
from viz.instruments.kit import origin
from viz.labels import list_values, visible
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

LONGEST = 1000
EXAMPLES = (
    (*senses.DOCUMENTS, "bank"),
    ("Money is in the bank.", "She put her gold in the bank.", "bank"),
    ("Money is in the bank.", "Money is in the bank.", "bank"),
    ("He can see the can.", "They can see the moon.", "see"),
)


def two(params: Params, sense: senses.Word) -> Folds:
    """Draw the cosine of a word's two vectors, layer by layer; before the guess only that of the table."""
    check(params.one, params.two, params.word)
    origin.tell(model=MODEL, text=params.one, second_text=params.two)
    pair, model = (params.one, params.two), default().open(MODEL)
    key, cost = ("bank.two", *pair, params.word), 30 * len(params.one + params.two)
    found = engine_client.submit(key, lambda: contextual_vectors.uses(model, pair, params.word), cost)
    values, word = found.by_layer(), visible(params.word.strip())
    names = names_of(len(values))
    told = exhibit_parts.predict_number(
        SLUG + "two",
        f"How alike are the two vectors of “{word}” after the last layer? (cosine; 1: the same)",
        0.0,
        1.0,
        float(np.clip(values[-1], 0, 1)),
        f"{values[0]:.3f} in the table, {values[-1]:.3f} after the last layer.",
        0.05,
    )
    by_name = list(zip(names, values, strict=True))
    page_parts.show(
        by_layer(word, values, names, revealed=told),
        SLUG + "two",
        "Cosine: " + list_values(by_name, "{:.3f}")
        if told
        else "The table gives 1; the rest is covered until you guess.",
    )
    first, second = found.places
    lowest = int(values.argmin())
    page_parts.summary(
        f"“{word}” is token {first} and token {second}, "
        f"{'the same position' if first == second else 'different positions'}: {values[1]:.3f} before the "
        f"first layer. The vectors are farthest apart at “{names[lowest]}” ({values[lowest]:.3f}) and end at "
        f"{values[-1]:.3f}."
        if told
        else f"“{word}” is token {first} of the first sentence and token {second} of the second. "
        f"In the table it has one vector: {values[0]:.3f}."
    )
    controls.preset_values(
        {
            f"{word}: {one} / {two}": {SLUG + "one": one, SLUG + "two": two, SLUG + "word": word}
            for one, two, word in EXAMPLES
        },
        SLUG + "ready",
        {SLUG + "one": params.one, SLUG + "two": params.two, SLUG + "word": params.word},
    )
    return Folds(
        {"where": names, "cosine": values},
        {"cosines": values},
        {"model": MODEL, "pair": pair},
        told,
        {"vectors.cosine": {}},
        [rf"\cos_{{\text{{{name}}}}} = {value:.6f}" for name, value in by_name],
    )


def static(params: Params, sense: senses.Word) -> Folds:
    """Ask for the nearer meaning, then draw the cosines of the word's one vector in a static table with words of both meanings."""
    word, meanings, key = sense.word, sense.meanings, ("bank.static", params.which)
    rows = engine_client.submit(
        key, lambda: contextual_vectors.belongs(default().open(TABLE), word, sense.near), 200
    )
    means = [float(np.mean([cosine for _, number, cosine in rows if number == kind])) for kind in (0, 1)]
    told = exhibit_parts.predict(
        SLUG + f"static.{word}",
        f"vectors-mini has one vector for “{word}”. To which words is it nearer?",
        dict(zip(meanings, means, strict=True)),
        meanings[int(means[1] > means[0])],
        f"Mean cosine {means[0]:.3f} with words of “{meanings[0]}”, {means[1]:.3f} with words of "
        f"“{meanings[1]}”.",
    )
    bars = pd.Series({f"{near} ({meanings[kind]})": cosine for near, kind, cosine in rows})
    page_parts.show(
        marks.bars(bars, "{:.2f}", hues=[kind for _, kind, _ in rows], end=1.0, covered=not told, row=28),
        SLUG + "static",
        "Cosines: " + ", ".join(f"{near} {cosine:.2f}" for near, cosine in bars.items())
        if told
        else "Bars, covered until you guess.",
    )
    texts, kinds = zip(*sense.uses, strict=True)
    own = engine_client.submit(
        ("bank.many", params.which, ""),
        lambda: contextual_vectors.uses(default().open(MODEL), texts, word),
        3000,
    )
    same, other = contextual_vectors.kept_apart(own.cosines(-1), kinds)
    page_parts.summary(
        f"One vector for all: mean cosine {means[0]:.3f} with “{meanings[0]}”, {means[1]:.3f} with "
        f"“{meanings[1]}”. bert-mini after its last layer: {same:.3f} between uses of one meaning, "
        f"{other:.3f} between the two."
        if told
        else f"“{word}” means {meanings[0]} or {meanings[1]}. A table has one vector for both."
    )
    return Folds(
        lambda: pd.DataFrame(rows, columns=["word", "meaning", "cosine"]),
        {
            "cosines": [cosine for *_, cosine in rows],
            "means": means,
            "same_meaning": same,
            "other_meaning": other,
        },
        {"model": MODEL, "table": TABLE},
        told,
        {"vectors.cosine": {}},
        (rf"\text{{mean: }} {means[0]:.4f}, \quad {means[1]:.4f}",),
    )


def check(*texts: str) -> None:
    """Raise InputError for a text that is too long for this page."""
    for text in texts:
        if len(text) > LONGEST:
            rule = f"This page reads up to {LONGEST:,}."
            raise InputError(f"A sentence has {len(text):,} letters.", rule, "Shorten it.")
