"""The folds of the exhibit on the context vector: equations with numbers, what is seen, documents, table, lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.why.autoencoder.maths import concepts
from viz.course.why.autoencoder.maths.glyphs import letters
from viz.labels import percent
from viz.widgets import lesson, parts

LETTERS, LOST = 3, 4


def equation(data: Any, params: Any, step: int) -> None:
    """Encoder and decoder as products, with the shapes and numbers of this run."""
    with parts.fold(parts.EQUATION, "autoencoder.equation") as opened:
        if not opened.open:
            return
        d = data.entry.size
        middle = {"c": "the bars in the middle"}
        lesson.equation("autoencoder.code", "autoencoder.", marks=middle | {"x": "the box at the left"})
        lesson.equation("autoencoder.decode", "autoencoder.", marks=middle | {"xhat": "what comes out"})
        lesson.equation("autoencoder.error", "autoencoder.", values={"p": str(params.p), "d": str(d)}, marks={"p": "the slider"})
        shown = ", ".join(f"{value:.2f}" for value in data.context[:6]).replace("-", "−") + (", …" if params.p > 6 else "")
        st.text(f"x has {d} numbers, taken from the mean of all inputs; the encoder is {params.p} by {d}; c = ({shown}). Of all variation {percent(data.lost, 2)} is lost: "
                f"the sum of the squared singular values behind number {params.p}, divided by the sum of all.")  # fmt: skip
        st.markdown("No pair of linear encoder and decoder can lose less (Eckart and Young 1936). The first p right singular vectors reach it; so does "
                    "learning, by other axes of the same p-dimensional space.")  # fmt: skip
        if step < LETTERS:
            st.markdown("A language's decoder is linear too: it gives a number for each pair of neighbouring letters, fitted by least squares. "
                        "The word of its list whose letter pairs point most nearly the same way (the largest cosine, both taken from their mean) is written.")  # fmt: skip


def looking_at(step: int) -> None:
    """What the boxes are, and what is honest about them."""
    with parts.fold(parts.LOOKING, "autoencoder.looking") as opened:
        if not opened.open:
            return
        st.markdown("**Left**, what goes in: a word's vector (blue positive, orange negative) or the dots of a letter. **Middle**, the context c: p bars, right is "
                    "positive; nothing else reaches the decoders. **Right**, what they make of it.")  # fmt: skip
        if step < LETTERS:
            st.markdown(f"The vectors are those of vectors-mini, learned from children's books without any translation. Encoder and decoders were fitted to the "
                        f"{len(concepts.taught())} words of our list; words outside it ({', '.join(concepts.UNTAUGHT[:4])} and others) were shown to the encoder "
                        "only now. Where they come out as a related word, that is because their vectors lie near each other. This is a dictionary of a few words, no translator.")  # fmt: skip
        else:
            st.markdown("The letters and their styles are drawn for this course. Dots that come back are between 0 and 1 only roughly: a linear decoder knows no limits, "
                        "and the colours stop at both ends.")  # fmt: skip
        st.markdown("**Try** p = 1: every word comes out as one of a few. Then raise p and watch which words part first.")


def documents() -> None:
    """What the documents show, and what is ours."""
    st.markdown("Slides and survey show *elephant* becoming *l'éléphant*, and a cartoon of an elephant becoming a photograph; the slides of 2021 one concept with "
                "several target languages. They print no equation here beyond c ∈ ℝᵖ. The linear autoencoder is the smallest one that can be computed in full; those in "
                "the slides and the survey have nonlinear layers between.")  # fmt: skip


def table(data: Any, params: Any, step: int) -> pd.DataFrame:
    """The numbers of the picture."""
    if step == LOST:
        floor = data.floors["letters, 35 dots"]
        rows = [(p, percent(floor[p], 4), percent(data.learned[p], 4) if p in data.learned else "") for p in range(len(floor))]
        return pd.DataFrame(rows, columns=["p", "smallest possible loss", "learned"]).set_index("p")
    if step == LETTERS:
        return pd.DataFrame(np.asarray(data.exits["plain"]).round(3)).rename_axis(index="row", columns="column").rename(columns=str)
    rows = [(language, word, f"{cosine:.3f}") for language, near in data.near.items() for word, cosine in near]
    return pd.DataFrame(rows, columns=["decoder", "word of its list", "cosine"]).set_index("decoder")


def arrays(data: Any) -> dict[str, np.ndarray]:
    """What one takes away."""
    found = {"input": data.entry, "context": data.context, "learning": data.course} | {f"floor {name}": curve for name, curve in data.floors.items()}
    return found | {f"out {name}": np.asarray(made) for name, made in data.exits.items()}


def code(params: Any, step: int) -> str:
    """The lines that make the same in a notebook."""
    if step >= LETTERS:
        return (f"from viz.course.why.autoencoder.maths.autoencoder import Data\nfrom viz.course.why.autoencoder.maths.glyphs import glyphs\n\ndata = Data(glyphs())  # (26, 35)\n"
                f"coder = data.best({params.p})\ncontext = coder.context(data.rows[{letters().index(params.letter)}])\n"
                f"print(coder.back(context).reshape(7, 5).round(1), coder.lost(data.rows), data.trained({params.p}, 60, {params.draw})[1][-1])")  # fmt: skip
    word = params.word.strip().casefold()
    inside = word in {*(c.english for c in concepts.taught()), *concepts.UNTAUGHT}
    vector = f"known[{word!r}]" if inside else "row / np.linalg.norm(row)"
    row = "" if inside else f'row = model.network.get_parameter("embed.token.weight").numpy()[model.tokenizer.encode({word!r}).ids[0]].astype(float)\n'
    return ("import core\nimport numpy as np\nfrom viz.course.why.autoencoder.maths import concepts\nfrom viz.course.why.autoencoder.maths.autoencoder import Data\n\n"
            'model = core.open_model("vectors-mini")\nwords = [c.english for c in concepts.taught()] + list(concepts.UNTAUGHT)\n'
            'known = concepts.vectors(model.network.get_parameter("embed.token.weight").numpy(), {w: model.tokenizer.encode(w).ids[0] for w in words})\n' + row +
            f"book = concepts.Dictionary(Data(np.array([known[c.english] for c in concepts.taught()])), {params.p})\n"
            f"print([language.says(book.coder.context({vector})) for language in book.languages.values()])")  # fmt: skip
