"""The last layer and the choice of the word: logits to probabilities, and a text more probable than the greedy one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.transformer.training_and_inference import greedy
from viz.course.transformer.training_and_inference.charts import learned_task
from viz.course.transformer.training_and_inference.parallel_decoder import AtOnce
from viz.course.transformer.training_and_inference.params import MODEL, SLUG, Params, as_words, word
from viz.exhibit_text import data
from viz.labels import distinct, percent
from viz.number_text import number
from viz.shell import links
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

TOP = 7
WHERE = {"paper": "On paper", "model": "The translator"}
SENTENCES: list[str] = data(__file__)["sentences"]


def last_layer(params: Params, data: AtOnce) -> Folds:
    """Draw the largest probabilities at one position, and all others together."""
    labels = distinct(as_words(data.target))
    picture, sentence = st.container(), st.container()
    left, right = st.columns(2, gap="medium")
    with left:
        place = controls.pills(
            "At the position of", range(len(labels)), SLUG + "place", 0, lambda i: labels[i]
        )
    with right:
        heat = controls.slider("Temperature", 0.25, 4.0, SLUG + "temperature", 1.0, 0.25)
    z = data.logits[place] / heat
    p = np.exp(z - z.max())
    p /= p.sum()
    best = np.argsort(-p, kind="stable")[:TOP]
    tokenizer = default().open(MODEL).tokenizer
    names = ["END" if index == tokenizer.end else word(tokenizer.token(int(index))) for index in best]
    rest = float(1 - p[best].sum())
    rows = pd.Series(p[best], names)
    others = f"{len(p) - TOP:,} others"
    target = names[best.tolist().index(data.ids[place])] if data.ids[place] in best else others
    with picture:
        page_parts.show_large(
            marks.bars(pd.concat([rows, pd.Series({others: max(rest, 0.0)})]), percent, highlighted=[target]),
            SLUG + "bars.picture",
            "The most probable tokens: "
            + ", ".join(f"{name} {percent(value)}" for name, value in rows.items())
            + ".",
            270,
        )
    with sentence:
        page_parts.summary(
            f"{len(p):,} probabilities, one for each token; they add up to {p.sum():.6f}. “{names[0]}” has the largest, {percent(p[best[0]])}, because its logit is {number(z[best[0]] - z[best[1]])} above the next: e^{number(z[best[0]] - z[best[1]])} = {number(float(p[best[0]] / p[best[1]]), 1)} times as probable."
        )
    frame = pd.DataFrame(
        {"token": names, "logit": data.logits[place][best].round(4), "probability": p[best].round(6)}
    )
    config = default().open(MODEL).config
    return Folds(
        frame,
        {"logits": data.logits[place], "p": p},
        {"model": MODEL, "place": place, "heat": heat, "top": TOP},
        equations={
            "output.softmax": {"P": number(float(p[best[0]]), 4)},
            "decoding.greedy": {"y_t": names[0]},
        },
        latex=(
            rf"P = \mathrm{{softmax}}(z / T), \quad T = {heat:g}",
            rf"\sum_{{v=1}}^{{{len(p)}}} P_v = {p.sum():.6f}",
        ),
        look={"d": config.d_model, "V": config.n_vocab},
    )


def not_always(params: Params, data: AtOnce) -> Folds:
    """Draw greedy decoding against the best text, on paper or by the translator."""
    question, picture, sentence = st.container(), st.container(), st.container()
    where = controls.segmented("Where", tuple(WHERE), SLUG + "where", "paper", WHERE.__getitem__, quiet=True)
    with st.container():
        text = SENTENCES[0]
        if where == "model":
            text = controls.text(
                "English sentence",
                SLUG + "sentence",
                SENTENCES[0],
                placeholder="Type a sentence",
                model=MODEL,
            )
            controls.preset_row(SENTENCES, SLUG + "sentence", SENTENCES[0])
    if where == "paper":
        (first, best), every = greedy.on_paper()
    else:
        model = default().open(MODEL)
        first, best = engine_client.submit(
            ("training.greedy", MODEL, text), lambda: greedy.by_model(model, text), 1_000 + 40 * len(text)
        )
        every = ()
    with question:
        told = where == "model" or _ask_first_word(every, first, best)
    name = "best" if where == "paper" else f"beam of {greedy.WIDTH}"
    parting = greedy.parting(first, best)
    with picture:
        ways = [(label, way.tokens, way.products) for label, way in (("greedy", first), (name, best))]
        page_parts.show_large(
            learned_task.products(ways, [way.products for way in every], covered=not told, parts=parting),
            SLUG + "ways.picture",
            f"The probability of the text so far: greedy {first.total:.4f}, {name} {best.total:.4f}."
            if told
            else "The first words and their probabilities.",
            280 if where == "paper" else 330,
        )
    with sentence:
        page_parts.summary(
            _ways_numbers(first, best, parting, name, where)
            if told
            else "The first word: " + ", ".join(f"{way.tokens[0]} {way.p[0]:g}" for way in every[::3]) + "."
        )
    with st.container():
        links.page_link(
            "decode", "Widen the beam in Decode", icon=":material/arrow_forward:", model=MODEL, text=text
        )
    frame = pd.DataFrame(
        [
            (label, word(token), p, product)
            for label, way in (("greedy", first), (name, best))
            for token, p, product in zip(way.tokens, way.p, way.products, strict=True)
        ],
        columns=["way", "token", "probability", "of the text so far"],
    )
    return Folds(
        frame,
        {"greedy": np.array(first.p), "other": np.array(best.p)},
        _ways_code(where, text),
        told,
        {"decoding.greedy": {}},
        latex=(
            rf"{number(first.total, 4)} \; \text{{greedy}}, \qquad {number(best.total, 4)} \; \text{{{name}}}",
        ),
    )


def _ask_first_word(every: tuple[greedy.Way, ...], first: greedy.Way, best: greedy.Way) -> bool:
    tops: dict[str, greedy.Way] = {}
    for way in sorted(every, key=lambda way: way.total):
        tops[way.tokens[0]] = way
    tops = dict(sorted(tops.items()))
    firsts = ", ".join(f"“{letter}” ({way.p[0]:g})" for letter, way in tops.items())
    seconds = ", ".join(f"{way.p[1]:g}" for way in tops.values())
    return exhibit_parts.predict(
        SLUG + "best",
        f"A text has two words. The first one is {firsts}; the most probable second word after each of these has {seconds}. Greedy begins with “{first.tokens[0]}”. With which word does the most probable text begin?",
        {letter: way.total for letter, way in tops.items()},
        best.tokens[0],
        f"{best.p[0]:g} × {best.p[1]:g} = {best.total:.2f} is more than {first.p[0]:g} × {first.p[1]:g} = {first.total:.2f}: “{first.tokens[0]}” is the most probable first word, but it does not begin the most probable text.",
    )


def _ways_numbers(first: greedy.Way, best: greedy.Way, parting: int, name: str, where: str) -> str:
    if where == "paper":
        told = (" × ".join(f"{p:g}" for p in way.p) + f" = {way.total:.2f}" for way in (first, best))
        return "Greedy: {}. The most probable text: {}.".format(*told)
    one, other = ("".join(way.tokens[:-1]).strip() for way in (first, best))
    if first.tokens == best.tokens:
        return f"Both write “{one}” ({first.total:.4f}): here the greedy choice is as good as the beam's."
    fork = f"At position {parting + 1} greedy takes “{word(first.tokens[parting])}” ({percent(first.p[parting])}), the other “{word(best.tokens[parting])}” ({percent(best.p[parting])})."
    return f"Greedy: “{one}”, {first.total:.4f}. A {name}: “{other}”, {best.total:.4f}, {best.total / first.total:.1f} times as probable. {fork}"


def _ways_code(where: str, text: str) -> str:
    if where == "paper":
        return "from viz.course.transformer.training_and_inference.greedy import on_paper\n\n(greedy, best), every = on_paper()\nprint(greedy.total, best.total)"
    return (
        f"import core\nfrom viz.course.transformer.training_and_inference.greedy import by_model\n\ngreedy, beam = by_model(core.open_model({MODEL!r}), {text!r})\n"
        "print(greedy.tokens, greedy.total)\nprint(beam.tokens, beam.total)"
    )
