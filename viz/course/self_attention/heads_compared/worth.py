"""The last steps on the heads of a trained model: the habit of each, and the loss without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads.habits import HABIT_NAMES
from core.edits import ZeroHead
from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.self_attention.charts.head_grids import colour
from viz.course.self_attention.heads_compared.maths import Layer, Removal, removal
from viz.course.self_attention.heads_compared.params import SLUG, Params
from viz.course.self_attention.heads_compared.steps import deeper, head_link, heads
from viz.instruments import heatmap
from viz.labels import distinct, head_name, percent
from viz.shell import links
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

FACTORS = (
    "It falls to less than half",
    "It falls, to no less than half",
    "It hardly changes, by less than 10%",
    "It rises",
)
SHORT = {
    "itself": "itself",
    "coreference": "pronoun's noun",
    "agreement": "verb's subject",
    "separator": "separator",
}
"""Short names of habits whose names are too long beside a picture."""
HABITS = (
    *("previous", "itself", "next", "first"),
    *("coreference", "agreement", "separator", "punctuation", "spread"),
)
"""Habits in the order of the picture: of position, of meaning."""


def kinds(params: Params, data: Layer) -> Folds:
    """Draw the measured habits of the heads of this layer over our sentences."""
    if data.heads is None:
        raise InputError(
            f"The heads of {data.model} were not measured.",
            "Habits are measured over many sentences and shipped with a model.",
            "Choose another model.",
        )
    measured, layer, n, room = data.heads, data.layer, len(data.weights), exhibit_parts.presenting()
    rows = [name for name in HABITS if name in measured.scores]
    values = np.array([measured.scores[name][layer] for name in rows])
    head, names = data.pointing, data.names
    key = int(data.weights[head, data.row].argmax())
    habit = measured.scores["coreference"][layer] if "coreference" in measured.scores else np.zeros(n)
    left, right = st.columns(2, gap="medium")
    with left:
        called, title = [SHORT.get(name, HABIT_NAMES[name]) for name in rows], f"Over {measured.n} sentences"
        options: dict[str, Any] = {"numbers": True, "axis": ("habit", "head"), "height": 210 if room else 330}
        heatmap(values, called, heads(data), key=f"{SLUG}kinds", title=title, **options)
    with right:
        weights = {
            f"here: “{names[data.row]}” at “{names[key]}”": data.weights[:, data.row, key],
            "in the test: pronouns on what they mean": habit,
        }
        figure = marks.bars(
            pd.DataFrame(weights, heads(data)),
            "{:.2f}",
            title="One sentence against all pronouns of the synthetic test sentences",
            row=370 / n,
        )
        told = "For each head the weight on one word of this sentence, and the mean weight of pronouns on what they mean."
        page_parts.show(figure, f"{SLUG}kinds.bars", told)
    words = [measured.label(layer, h) for h in range(n)]
    page_parts.summary(
        f"{'; '.join(f'H{h} {word}' for h, word in enumerate(words))}. Here H{head} gives {percent(data.weights[head, data.row, key])} of the attention of “{names[data.row]}” to “{names[key]}”; over all "
        f"pronouns of the test it gives {percent(habit[head])} to what they mean. One sentence does not establish a habit."
    )
    links.page_link("find", "Find heads of a kind in all models", **head_link(params, data, head))

    def table() -> pd.DataFrame:
        rounded = np.round(values.astype(float), 4).astype(object)
        frame = pd.DataFrame(rounded, index=[HABIT_NAMES[name] for name in rows], columns=heads(data))
        frame.loc["named"] = words
        return frame.astype(str)

    return Folds(
        table,
        {"habits": values},
        {"n": n},
        equations={"self.weights": {}},
        latex=(
            r"\text{habit} = \text{the mean of } a_{ij} \text{ over all rows } i \text{ with a } j"
            r" \text{ of that kind}",
        ),
        note_below=lambda: deeper(params, data),
    )


def ablation(params: Params, data: Layer) -> Folds:
    """Ask for the probability of the predicted tokens without a head, then draw it without each head and without all of the
    layer."""
    found = engine_client.submit(
        ("heads_compared.off", data.model, params.text, data.kind),
        lambda: removal(default().open(data.model), params.text, data.kind),
        400 * len(params.text),
    )
    factors, names, n = found.factors(data.layer), data.names, len(data.weights)
    head, best = data.pointing, int(factors[:n].argmin())
    key, factor = int(data.weights[head, data.row].argmax()), float(factors[head])
    what = "the translation" if found.target is not None else "the words of the sentence"
    known = exhibit_parts.predict(
        f"{SLUG}off",
        f"Reading “{names[data.row]}”, H{head} gives {percent(data.weights[head, data.row, key])} of its attention to “{names[key]}”. How does the probability of {what} change without this head?",
        FACTORS,
        FACTORS[0 if factor < 0.5 else 1 if factor <= 0.9 else 2 if factor < 1.1 else 3],
        f"It is multiplied by {factor:.3f}; without H{best}, whose removal costs most, by {factors[best]:.3f}; "
        f"without all {n} at once by {factors[n]:.3g}.",
    )
    picture = st.container()
    # which head is missed most, is read off the run
    off = controls.pills(
        "Switch off", (*range(n), n), SLUG + "off", best, lambda h: f"all {n}" if h == n else f"H{h}"
    )
    with picture:
        rows = [*(f"without H{h}" for h in range(n)), f"without all {n}"]
        figure = marks.bars(
            pd.Series(np.log2(np.maximum(factors, 1e-30)), rows),
            "{:+.3f}",
            title="doublings (+) and halvings (−) of its probability",
            hues=[colour(h) for h in (*range(n), -1)],
            end=1.0,
            covered=not known,
            row=30,
        )
        told = "A bar per head: by how many doublings or halvings the probability changes without it."
        page_parts.show(figure, f"{SLUG}off.picture", told if known else "Covered until you guess.")
        page_parts.summary(
            _largest_loss(params, data, found, off)
            if known
            else f"{data.model} outputs {len(found.tokens)} tokens. Guess first, then each head is switched off."
        )
    one = min(off, n - 1)
    links.page_link(
        "what_if", f"Switch {head_name(data.layer, one)} off in What if", **head_link(params, data, one)
    )
    columns = [*heads(data), "all"]

    def table() -> pd.DataFrame:
        every = np.vstack([found.before, found.without_head[data.layer], found.without_layer[data.layer]])
        return pd.DataFrame(np.exp(every.T).round(4), distinct(found.tokens), ["as it is", *columns])

    return Folds(
        table,
        {
            "before": found.before,
            "without": found.without_head,
            "bare": found.without_layer,
            "factors": factors,
        },
        {},
        known,
        {"heads.merge": {}},
        (
            r"\log_2 \frac{p(\text{said} \mid Z_i = 0)}{p(\text{said})} = \sum_t \log_2 "
            r"\frac{p_t(Z_i = 0)}{p_t}",
            *(
                rf"\text{{without {name}: }} \log_2 {each:.4g} = {np.log2(max(each, 1e-30)):+.4f}"
                for name, each in zip(columns, factors, strict=True)
            ),
        ),
        note_below=lambda: deeper(params, data),
    )


def _largest_loss(params: Params, data: Layer, effects: Removal, off: int) -> str:
    """Return a sentence on the token that loses most, and for a translator its new translation."""
    n = len(data.weights)
    after = effects.without_layer[data.layer] if off == n else effects.without_head[data.layer, off]
    worst = int((after - effects.before).argmin())
    called = f"all {n} heads of the layer" if off == n else f"H{off}"
    layers = ", ".join(f"L{layer} {effects.factors(layer)[n]:.2g}" for layer in range(data.n_layers))
    said = (
        f"Without {called} the token that loses most is “{effects.tokens[worst].strip()}”: from "
        f"{percent(np.exp(effects.before[worst]), 2)} to {percent(np.exp(after[worst]), 2)}. "
        f"All heads of one layer off, the probability is multiplied by: {layers}."
    )
    if effects.target is None:
        return said
    path = default().open(data.model).spec.kind(data.kind).path(data.layer, "heads")
    edits = tuple(ZeroHead(path, head) for head in (range(n) if off == n else [off]))
    request = RunRequest(data.model, params.text, keep=(), edits=edits)
    written = engine_client.submit(
        ("heads_compared.written", data.model, params.text, edits),
        lambda: default().run(request).target_text,
        20 * len(params.text),
    )
    return said + (
        " It writes the same translation." if written == effects.target else f" It now writes “{written}”"
    )
