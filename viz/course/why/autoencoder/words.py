"""A word compressed into p numbers: one decoder that is guessed, then four that write from the same context."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.kit import equation_view
from viz.course.why.autoencoder import charts, compression, concepts
from viz.course.why.autoencoder.params import SLUG, TAUGHT, WORDS, Params
from viz.labels import percent
from viz.languages import _, mark, ngettext
from viz.number_text import row_of_numbers
from viz.widgets import exhibit_parts, page_parts

MARKS = {"c": mark("the bars in the middle")}
NAMES = {
    "spanish": mark("Spanish"),
    "french": mark("French"),
    "german": mark("German"),
    "persian": mark("Persian"),
}
"""The names of the decoders of `concepts.LANGUAGES`."""


def guess(params: Params, data: compression.Word) -> Folds:
    """Ask for the French decoder's word before it is shown."""
    near, wanted = data.near["french"], _listed(params.word)
    nearest = "; ".join(f"{word} {cosine:.2f}" for word, cosine in near[:3])
    offered = {"la table": 0.0} | ({wanted: 0.0} if wanted else {}) | dict(near)
    told = exhibit_parts.predict(
        f"{SLUG}.first",
        _(
            "“{word}” is squeezed from 80 numbers into {p}. Which word does the French decoder write?",
            word=params.word,
            p=params.p,
        ),
        dict(sorted(offered.items())),
        near[0][0],
        _(
            "The decoder writes from {numbers}; the nearest words of its list, with their cosines, are {nearest}. With this size {share} of the {n} words come out right.",
            numbers=numbers(params.p),
            nearest=nearest,
            share=percent(data.right["french"]),
            n=len(TAUGHT),
        ),
    )
    _boxes(params, data, {"french": data.exits["french"] if told else None})
    page_parts.summary(_in_french(params, data) if told else " ")
    return _folds(params, data, told)


def three_boxes(params: Params, data: compression.Word) -> Folds:
    """Draw encoder, hidden space and decoder."""
    _boxes(params, data, {"french": data.exits["french"]})
    page_parts.summary(_in_french(params, data))
    return _folds(params, data)


def many_targets(params: Params, data: compression.Word) -> Folds:
    """Draw four decoders on one context."""
    _boxes(params, data, dict(data.exits))
    right = ", ".join(f"{_(NAMES[language])} {percent(share)}" for language, share in data.right.items())
    page_parts.summary(
        _(
            "From the same {numbers}: {words}. Of the {n} words in the list these come out right: {shares}.",
            numbers=numbers(params.p),
            words=", ".join(data.exits.values()),
            n=len(TAUGHT),
            shares=right,
        )
    )
    return _folds(params, data)


def numbers(p: int) -> str:
    """Return a count of numbers as text.

    >>> numbers(1), numbers(4)
    ('1 number', '4 numbers')
    """
    return ngettext("{n} number", "{n} numbers", p)


def equations(p: int, entry: np.ndarray, context: np.ndarray, lost_share: float) -> None:
    """Show encoder and decoder as products, with the shapes and numbers of this run; `lost_share` is of all variation."""
    d, shown = entry.size, row_of_numbers(context[:6]) + (", …" if p > 6 else "")
    marks = {name: _(text) for name, text in MARKS.items()}
    equation_view.show("autoencoder.code", f"{SLUG}.", marks=marks | {"x": _("the box at the left")})
    equation_view.show("autoencoder.decode", f"{SLUG}.", marks=marks | {"xhat": _("what comes out")})
    sizes = {"p": str(p), "d": str(d)}
    equation_view.show("autoencoder.error", f"{SLUG}.", values=sizes, marks={"p": _("the slider")})
    st.text(
        _(
            "x has {d} numbers, with the mean of all inputs subtracted; the encoder is {p} by {d}; c = ({context}). Of all variation {share} is lost: the sum of the squared singular values after number {p}, divided by the sum of all.",
            d=d,
            p=p,
            context=shown,
            share=percent(lost_share, 2),
        )
    )
    st.markdown(
        _(
            "No pair of linear encoder and decoder can lose less (Eckart and Young 1936). The first p right singular vectors reach it; so does learning, by other axes of the same p-dimensional space."
        )
    )


def _listed(word: str) -> str | None:
    """Return the French word of our list, or None for a word outside it."""
    return next((concept.french for concept in concepts.taught() if concept.english == word), None)


def _boxes(params: Params, data: compression.Word, exits: dict[str, str | None]) -> None:
    """Draw input, context and outputs; a word that is None is covered."""
    covered = None in exits.values()
    page_parts.show(
        charts.boxes(
            (params.word, data.entry.reshape(10, 8), True),
            data.context,
            [(_(NAMES[language]), word) for language, word in exits.items()],
            limit=data.limit,
            height=360,
        ),
        f"{SLUG}.boxes",
        _("{word} as 80 numbers, {p} numbers, and a word still covered.", word=params.word, p=params.p)
        if covered
        else _(
            "{word} as 80 numbers, {p} numbers, and the word of each decoder.", word=params.word, p=params.p
        ),
    )


def _in_french(params: Params, data: compression.Word) -> str:
    wanted, said = _listed(params.word), data.exits["french"]
    verdict = _(" Right would be {word}.", word=wanted) if wanted else ""
    if wanted == said:
        verdict = _(" That is right.")
    return _(
        "From {numbers} the French decoder writes {word}.{verdict} Of the {n} words in the list {share} come out right.",
        numbers=numbers(params.p),
        word=said,
        verdict=verdict,
        n=len(TAUGHT),
        share=percent(data.right["french"]),
    )


def _folds(params: Params, data: compression.Word, revealed: bool = True) -> Folds:
    """Return the folds: encoder and decoder with these numbers; the nearest words of every list."""
    rows = [
        (language, word, f"{cosine:.3f}") for language, near in data.near.items() for word, cosine in near
    ]
    exits = {f"out {name}": np.asarray(word) for name, word in data.exits.items()}

    def explained() -> None:
        equations(params.p, data.entry, data.context, data.lost_share)
        st.markdown(
            _(
                "A language's decoder is linear too: it gives a number for each pair of neighbouring letters, fitted by least squares. It writes the word of its list whose letter pairs have the largest cosine with these numbers, the mean subtracted from both."
            )
        )

    return Folds(
        lambda: pd.DataFrame(rows, columns=["decoder", "word of its list", "cosine"]).set_index("decoder"),
        lambda: {"input": data.entry, "context": data.context, "right": list(data.right.values())} | exits,
        code(params),
        revealed,
        more=explained,
    )


def code(params: Params) -> str:
    """Return lines of Python that compute the same in a notebook."""
    word = params.word.strip().casefold()
    vector = f"known[{word!r}]" if word in WORDS else "row / np.linalg.norm(row)"
    row = f"row = table[model.tokenizer.encode({word!r}).ids[0]].astype(float)\n"
    return (
        "import core\nimport numpy as np\nfrom viz.course.why.autoencoder import concepts\n"
        "from viz.course.why.autoencoder.linear_autoencoder import Data\n\n"
        'model = core.open_model("vectors-mini")\n'
        'table = model.network.get_parameter("embed.token.weight").numpy()\n'
        "words = [c.english for c in concepts.taught()] + list(concepts.UNTAUGHT)\n"
        "known = concepts.vectors(table, {w: model.tokenizer.encode(w).ids[0] for w in words})\n"
        + ("" if word in WORDS else row)
        + "rows = Data(np.array([known[c.english] for c in concepts.taught()]))\n"
        f"book = concepts.Dictionary(rows, {params.p})\n"
        f"context = book.coder.context({vector})\n"
        "print(context.round(4))\n"
        "print([language.says(context) for language in book.languages.values()])"
    )
