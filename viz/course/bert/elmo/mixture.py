"""Steps of the exhibit on ELMo: the mixture of layers, the mixtures that tasks learned, one word with two meanings beside BERT."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.scores import read_scores
from core.checkpoints.store import shipped_folder
from core.errors import InputError
from core.serving.engine import default
from core.training.finetune.mixing import MIXED, N_CHECKED, SPLIT
from viz.charts import marks
from viz.charts.tensors import Panel, tensors
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.charts.by_layer import by_layer
from viz.course.bert.elmo import layer_mixture
from viz.course.bert.elmo.chains import Chains
from viz.course.bert.elmo.params import FLOORS, MODEL, READER, SLUG, TASKS, Params
from viz.course.bert.elmo.reading import token_labels
from viz.course.exhibit import Folds
from viz.course.shared.wilson_interval import wilson
from viz.instruments.kit import origin
from viz.labels import list_values, percent, visible
from viz.number_text import row_of_numbers
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

QUESTION_WEIGHTS = (2.0, 0.0, 0.0)
"""The weights w of the question on the mixture."""


def mix(params: Params, data: Chains) -> Folds:
    """Ask for a weight s, then draw a word's vectors in all layers, and their mixture."""
    names = token_labels(data)
    place = min(params.place, len(names)) - 1
    layers = engine_client.submit(
        ("elmo.layers", params.text),
        partial(layer_mixture.layers_of, default().open(MODEL), params.text),
        60 * len(names),
    )[:, place]
    share = layer_mixture.mixed(layers, QUESTION_WEIGHTS, 1.0).weights
    told = exhibit_parts.predict_share(
        SLUG + "share",
        f"w = ({', '.join(f'{w:g}' for w in QUESTION_WEIGHTS)}): w is 2 for the {FLOORS[0]} and 0 for both LSTM layers, and s = softmax(w). Which weight s does the {FLOORS[0]} get?",
        float(share[0]),
        f"e^2 = {np.exp(2):.2f} of e^2 + 1 + 1 = {np.exp(2) + 2:.2f}: a softmax, as for attention weights, but the same for every word.",
    )
    made = layer_mixture.mixed(layers, params.w, params.gamma, params.single_layer)
    limit = float(np.quantile(np.abs(layers), 0.98))
    panels = [
        Panel(
            f"h of “{visible(names[place])}”",
            layers,
            FLOORS[: len(layers)],
            limit=limit,
            keep_spaces=True,
        ),
        Panel("mixture", made.mixture[None], ("γ Σ s h",), limit=limit, keep_spaces=True),
    ]
    page_parts.show(
        tensors(panels, height=exhibit_parts.by_mode(290, 320), room=exhibit_parts.presenting(), most=32),
        SLUG + "mix",
        f"Three rows of {layers.shape[1]} numbers, one per layer, and below them their mixture.",
    )
    like = made.likeness() if np.any(made.mixture) else np.zeros(len(layers))
    same = params.single_layer
    if same is not None and not (params.gamma == 1 and (made.mixture == layers[same]).all()):
        same = None
    page_parts.summary(
        (
            f"s = ({', '.join(percent(s) for s in made.weights)}), γ = {params.gamma:g}. Cosine of the mixture with each layer: {', '.join(f'{value:.3f}' for value in like)}."
            + (f" One-hot: the mixture is the {FLOORS[same]}, number by number." if same is not None else "")
        )
        if told
        else f"{len(layers)} vectors of {layers.shape[1]} numbers each: the first half is the forward chain's, the second the backward chain's."
    )
    shares_of = {task: recorded(task)[1] for task in TASKS}
    ready = {
        f"learned for {TASKS[task]}": {
            f"{SLUG}w{j}": round(min(4.0, max(-4.0, w)), 1) for j, w in enumerate(layer_mixture.set_to(s))
        }
        for task, s in shares_of.items()
        if len(s) == len(layers)
    } | {"all alike": {f"{SLUG}w{j}": 0.0 for j in range(len(layers))}}
    if told:
        controls.preset_values(ready, SLUG + "ready", {f"{SLUG}w{j}": w for j, w in enumerate(params.w)})
    rows = [*FLOORS[: len(layers)], "mixture"]
    return Folds(
        lambda: pd.DataFrame(
            {
                "of": rows,
                "s": [*made.weights, np.nan],
                "cosine with the mixture": [*like, 1.0],
                "length": np.linalg.norm([*layers, made.mixture], axis=1),
            }
        ),
        {"layers": made.layers, "weights": made.weights, "mixture": made.mixture},
        {"model": MODEL, "place": place, "w": params.w, "only": params.single_layer},
        told,
        {"elmo.mixture": {"gamma": f"{params.gamma:g}"}},
        (r"s = (" + row_of_numbers(made.weights, 4, r",\ ") + ")",),
        look={"lengths": _lengths(params.text)},
    )


def learned(params: Params, _: object) -> Folds:
    """Ask for the layer with the largest weight, then draw the learned s, and the accuracy of a small head on the mixture and
    on each layer alone."""
    accuracy, s = recorded(params.task)
    if not accuracy:
        raise InputError(
            f"No mixture of {MODEL} is recorded.",
            "Its scores hold what was learned for two tasks.",
            f"python -m core.training.finetune.mixing {MODEL} learns it.",
        )
    floors, task = FLOORS[: len(s)], TASKS[params.task]
    told = exhibit_parts.predict(
        SLUG + f"learned.{params.task}",
        f"A small head learns {task} on frozen states, together with the weights of the mixture. Which layer gets the largest weight s?",
        dict(zip(floors, s, strict=True)),
        floors[int(np.argmax(s))],
        f"s = {list_values(list(zip(floors, s, strict=True)), '{:.2f}')}. Correct with the mixture: {percent(accuracy[MIXED], 2)}; with the top layer alone: {percent(accuracy[_single_layer_name(len(s) - 1)], 2)}.",
    )
    left, right = st.columns(2, gap="medium")
    with left:
        if told:
            page_parts.show(
                marks.bars(
                    pd.Series(s, [*map(_in_mode, floors)]),
                    percent,
                    title=exhibit_parts.by_mode(f"s, learned for {task}", "s"),
                    end=1.0,
                ),
                SLUG + "s",
                f"The learned shares: {list_values(list(zip(floors, s, strict=True)), '{:.2f}')}.",
            )
        else:
            st.markdown("The learned weights s are shown after your guess.")
    rows = {MIXED: accuracy[MIXED]} | {floors[j]: accuracy[_single_layer_name(j)] for j in range(len(s))}
    with right:
        if told:
            page_parts.show(
                marks.bars(
                    pd.Series(rows).rename(_in_mode),
                    "{:.1%}",
                    highlighted=[_in_mode(MIXED)],
                    end=1.0,
                ),
                SLUG + "accuracy",
                f"Right: {list_values(list(rows.items()), '{:.3f}')}.",
            )
    page_parts.summary(
        f"{task.capitalize()}, correct on held-out synthetic texts: {percent(rows[MIXED], 2)} with the mixture, {percent(max(list(rows.values())[1:]), 2)} with the best single layer. The weights s do not show which layer is better."
        if told
        else f"{task.capitalize()}: synthetic labelled texts of our own grammar, some for training and others for testing."
    )
    return Folds(
        {"head reads": list(rows), "right": list(rows.values())},
        {"s": np.array(s), "right": np.array(list(rows.values()))},
        {"model": MODEL, "task": params.task},
        told,
        {"elmo.mixture": {}},
        look={
            "lengths": _lengths(params.text),
            "interval": " to ".join(percent(end, 2) for end in interval(max(list(rows.values())[1:]))),
        },
    )


def _lengths(text: str) -> str:
    found = engine_client.submit(("elmo.lengths", text), lambda: lengths(text), 60 * len(text))
    return row_of_numbers(found, 1)


def _single_layer_name(layer: int) -> str:
    return f"layer {layer} alone"


def bank(params: Params, _: object) -> Folds:
    """Ask how many nearest sentences have the same meaning, then draw the cosines between the two meanings, layer by layer, in
    ELMo and in BERT."""
    word = senses.WORDS[params.which]
    origin.tell(model=MODEL, text=word.uses[0][0], second_text=word.uses[1][0])
    texts, kinds = [text for text, _ in word.uses], [kind for _, kind in word.uses]
    elmo, bert = (
        engine_client.submit(
            ("elmo.bank", of, params.which), partial(read, default().open(name), texts, word.word), 3000
        )
        for of, name, read in (("elmo", MODEL, layer_mixture.uses), ("bert", READER, contextual_vectors.uses))
    )
    n = len(texts)
    rows = {name: _mean_cosines(each, kinds) for name, each in ((MODEL, elmo), (READER, bert))}
    right = {
        name: contextual_vectors.agree(each.cosines(-1), kinds)
        for name, each in ((MODEL, elmo), (READER, bert))
    }
    told = exhibit_parts.predict_number(
        SLUG + f"bank.{params.which}",
        f"{n} sentences with “{word.word}”, half about {word.meanings[0]}, half about {word.meanings[1]}. By the mixture of ELMo's layers, for how many of them does the nearest sentence have the same meaning? (By chance: {(n / 2 - 1) / (n - 1) * n:.1f})",
        0.0,
        float(n),
        float(right[MODEL]),
        f"{right[MODEL]} of {n} with ELMo's mixture, {right[READER]} of {n} with BERT's last layer. A difference of one or two sentences in eight may be chance.",
        0.9,
    )
    named_rows = (
        (MODEL, [*FLOORS[: len(elmo.vectors) - 1], "mixture"]),
        (READER, ["table", "+ position", *(f"L{i}" for i in range(len(bert.vectors) - 2))]),
    )
    for place, (name, names) in zip(st.columns(2, gap="medium"), named_rows, strict=True):
        other = rows[name][1]
        with place:
            st.markdown(f"**{name}**")
            page_parts.show(
                by_layer(word.word, other, [_short(at) for at in names], revealed=told),
                SLUG + f"bank.{name}",
                f"Mean cosine between the two meanings: {list_values(list(zip(names, other, strict=True)), '{:.3f}')}."
                if told
                else "Covered until you guess, except for the table.",
            )
    (same, other), (bert_same, bert_other) = rows[MODEL], rows[READER]
    page_parts.summary(
        f"Mean cosine with the other meaning, with the same: {MODEL}'s mixture {other[-1]:.3f}, {same[-1]:.3f}; {READER}'s last layer {bert_other[-1]:.3f}, {bert_same[-1]:.3f}. Nearest sentence has the same meaning: {right[MODEL]} and {right[READER]} of {n}, by chance {(n / 2 - 1) / (n - 1) * n:.1f}."
        if told
        else "In both tables the word has one vector: cosine 1."
    )
    return Folds(
        lambda: pd.DataFrame(
            [
                (name, at, float(a), float(b))
                for name, names in named_rows
                for at, a, b in zip(names, *rows[name], strict=True)
            ],
            columns=["model", "layer", "same meaning", "other meaning"],
        ),
        {"elmo": elmo.vectors, "bert": bert.vectors},
        {"model": MODEL, "reader": READER},
        told,
        {"vectors.cosine": {}, "elmo.mixture": {}},
    )


def _mean_cosines(uses: contextual_vectors.Uses, kinds: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean cosine with sentences of the same meaning, and of the other, layer by layer."""
    both = [contextual_vectors.kept_apart(uses.cosines(layer), kinds) for layer in range(len(uses.vectors))]
    return np.array([same for same, _ in both]), np.array([other for _, other in both])


def _in_mode(name: str) -> str:
    return exhibit_parts.by_mode(name, _short(name))


def _short(name: str) -> str:
    return {"+ position": "", "mixture": "mix", MIXED: "mix"}.get(
        name, name.removeprefix("token ").replace("LSTM layer ", "L")
    )


def lengths(text: str) -> tuple[float, ...]:
    """Return the mean length of a text's vectors, layer by layer."""
    layers = layer_mixture.layers_of(default().open(MODEL), text)
    return tuple(np.linalg.norm(layers, axis=-1).mean(1).tolist())


def recorded(task: str) -> tuple[dict[str, float], tuple[float, ...]]:
    """Return the recorded accuracies of a task by what the head reads, and the learned s."""
    return layer_mixture.learned(_scores(), MODEL, SPLIT, task)


def interval(accuracy: float) -> tuple[float, float]:
    """Return the 95% interval of an accuracy on the held-out texts, a text counted as one case."""
    return wilson(accuracy, N_CHECKED)


def _scores() -> tuple[layer_mixture.Score, ...]:
    return read_scores(shipped_folder() / MODEL)
