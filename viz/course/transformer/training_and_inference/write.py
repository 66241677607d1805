"""The last layer and the choice of the word: scores to probabilities, and why the largest is not always
best."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.engine import default
from viz.charts.curves import number
from viz.course.lesson import Folds
from viz.course.shared.shown import show
from viz.course.transformer.training_and_inference.charts import taught
from viz.course.transformer.training_and_inference.charts.teaching import named, word
from viz.course.transformer.training_and_inference.maths import greedy
from viz.course.transformer.training_and_inference.maths.at_once import AtOnce
from viz.course.transformer.training_and_inference.params import MODEL, SENTENCES, SLUG, Params
from viz.labels import distinct, percent
from viz.shell import links
from viz.widgets import compute, controls, lesson, parts

TOP = 7


def last_layer(params: Params, data: AtOnce) -> Folds:
    """The largest probabilities at one place, and all others together."""
    labels = distinct(named(data.wanted))
    picture, sentence = st.container(), st.container()
    left, right = st.columns(2, gap="medium")
    with left:
        place = controls.pills(
            "At the position of", range(len(labels)), SLUG + "place", 0, lambda i: labels[i]
        )
    with right:  # beside the positions, whose names are those of the target
        params.show("training_and_inference", "temperature")
    heat = params.temperature
    z = data.logits[place] / heat
    p = np.exp(z - z.max())
    p /= p.sum()
    best = np.argsort(-p, kind="stable")[:TOP]
    tokenizer = default().open(MODEL).tokenizer
    names = ["END" if index == tokenizer.end else word(tokenizer.token(int(index))) for index in best]
    rest = float(1 - p[best].sum())
    rows = [
        (name, float(p[index]), index == data.ids[place]) for name, index in zip(names, best, strict=True)
    ]
    with picture:
        told = ", ".join(f"{name} {percent(value)}" for name, value, _ in rows)
        others = (f"{len(p) - TOP:,} others", max(rest, 0.0), False)
        show(
            taught.largest([*rows, others]), SLUG + "bars.picture", f"The most probable tokens: {told}.", 270
        )
    ahead = number(z[best[0]] - z[best[1]])
    with sentence:
        parts.numbers(
            f"{len(p):,} outputs, one for each token; together {p.sum():.6f}. “{names[0]}” has the "
            f"largest, {percent(p[best[0]])}, because its logit is {ahead} above the next: e^{ahead} = "
            f"{number(float(p[best[0]] / p[best[1]]), 1)} times as probable."
        )
    d, n_vocab = default().open(MODEL).config.d_model, default().open(MODEL).config.n_vocab
    rows_of = {"token": names, "score": data.logits[place][best].round(4), "probability": p[best].round(6)}
    return Folds(
        lambda: pd.DataFrame(rows_of),
        lambda: {"logits": data.logits[place], "p": p},
        _layer_code(params, place, heat),
        equations={
            "output.softmax": {"P": number(float(p[best[0]]), 4)},
            "decoding.greedy": {"y_t": names[0]},
        },
        latex=(
            rf"P = \mathrm{{softmax}}(z / T), \quad T = {heat:g}",
            rf"\sum_{{v=1}}^{{{len(p)}}} P_v = {p.sum():.6f}",
        ),
        look=f"The decoder's last state at this position, {d} numbers, is multiplied with one row for each "
        f"of the {n_vocab:,} tokens (a linear layer; in this model its rows are those of the token "
        f"table, and there is no bias). Softmax makes the {n_vocab:,} logits positive and lets them "
        "add up to 1. The bars are the largest, the last one all others together. Temperature divides "
        "the logits first: below 1 the winner takes more, above 1 the others come up; the order never "
        "changes.",
    )


def not_always(params: Params, data: AtOnce) -> Folds:
    """Greedy against the best, on paper or by the translator."""
    on_paper, text = params.where == "paper", params.sentence if params.where == "model" else SENTENCES[0]
    every: tuple[greedy.Way, ...] = ()
    if on_paper:
        (first, best), every = greedy.on_paper()
    else:
        model, cost = default().open(MODEL), 1_000 + 40 * len(text)
        first, best = compute.submit(
            ("training.greedy", MODEL, text), lambda: greedy.by_model(model, text), cost
        )
    told = not on_paper or _which(every, first, best)
    name = "best" if on_paper else f"beam of {greedy.WIDTH}"
    parting = greedy.parting(first, best)
    both = {"greedy": first, name: best}
    ways = [(label, way.tokens, way.products) for label, way in both.items()]
    picture = taught.products(ways, [way.products for way in every], told=told, parts=parting)
    totals = f"The probability of the text so far: greedy {first.total:.4f}, {name} {best.total:.4f}."
    show(
        picture,
        SLUG + "ways.picture",
        totals if told else "The first words and their probabilities.",
        280 if on_paper else 330,
    )
    begins = ", ".join(f"{way.tokens[0]} {way.p[0]:g}" for way in every[::3])
    parts.numbers(
        _ways_numbers(first, best, parting, name, params.where) if told else f"The first word: {begins}."
    )
    params.show(
        "training_and_inference", "where", *(() if on_paper else ("sentence",))
    )  # a box only for the translator
    with st.container():
        links.to(
            "decode", "Widen the beam in Decode", icon=":material/arrow_forward:", model=MODEL, text=text
        )
    rows = [
        (label, word(token), p, product)
        for label, way in both.items()
        for token, p, product in zip(way.tokens, way.p, way.products, strict=True)
    ]
    return Folds(
        lambda: pd.DataFrame(rows, columns=["way", "token", "probability", "of the text so far"]),
        lambda: {"greedy": first.p, "other": best.p},
        _ways_code(params.where, text),
        told,
        {"decoding.greedy": {}},
        (rf"{number(first.total, 4)} \; \text{{greedy}}, \qquad {number(best.total, 4)} \; \text{{{name}}}",),
    )


def _which(every: tuple[greedy.Way, ...], first: greedy.Way, best: greedy.Way) -> bool:
    letters = {
        way.tokens[0]: max(each.total for each in every if each.tokens[0] == way.tokens[0]) for way in every
    }
    return lesson.predict(
        SLUG + "best",
        f"Three words, then three again. Greedy begins with “{first.tokens[0]}”. With which word does the "
        "most probable sentence begin?",
        letters,
        best.tokens[0],
        f"“{first.tokens[0]}” is more probable at first, {first.p[0]:g} against {best.p[0]:g}; but after "
        f"it nothing has more than {first.p[1]:g}, after “{best.tokens[0]}” one word has {best.p[1]:g}.",
    )


def _ways_numbers(first: greedy.Way, best: greedy.Way, parting: int, name: str, where: str) -> str:
    if where == "paper":
        told = (" × ".join(f"{p:g}" for p in way.p) + f" = {way.total:.2f}" for way in (first, best))
        return "Greedy: {}. The best sentence: {}.".format(*told)
    one, other = ("".join(token for token in way.tokens if token != "END").strip() for way in (first, best))
    if first.tokens == best.tokens:
        return f"Both write “{one}” ({first.total:.4f}): here the greedy choice is as good as the beam's."
    fork = (
        f"At position {parting + 1} greedy takes “{word(first.tokens[parting])}” "
        f"({percent(first.p[parting])}), the other “{word(best.tokens[parting])}” "
        f"({percent(best.p[parting])})."
    )
    return (
        f"Greedy: “{one}”, {first.total:.4f}. A {name}: “{other}”, {best.total:.4f}, "
        f"{best.total / first.total:.1f} times as probable. {fork}"
    )


def _layer_code(params: Params, place: int, heat: float) -> str:
    return (
        f"import core\nimport numpy as np\n\nrun = core.open_model({MODEL!r}).run({params.text!r}, "
        f"target={params.wanted!r})\nz = run.logits[{place}] / {heat:g}\np = np.exp(z - z.max())\n"
        f"p /= p.sum()\nprint(np.sort(p)[::-1][:{TOP}], p.sum())"
    )


def _ways_code(where: str, text: str) -> str:
    if where == "paper":
        return (
            "from viz.course.transformer.training_and_inference.maths.greedy import on_paper\n\n"
            "(greedy, best), every = on_paper()\nprint(greedy.total, best.total)"
        )
    return (
        "import core\nfrom viz.course.transformer.training_and_inference.maths.greedy import by_model\n\n"
        f"greedy, beam = by_model(core.open_model({MODEL!r}), {text!r})\n"
        "print(greedy.tokens, greedy.total)\nprint(beam.tokens, beam.total)"
    )
