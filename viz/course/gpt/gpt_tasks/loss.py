"""The step on the two terms of the loss: the text's log-probability under two tunings, and L for the chosen lambda."""

from __future__ import annotations

import pandas as pd

from core.data.gpt_inputs import combined_objective
from viz.charts.curves import number
from viz.course.exhibit import Folds
from viz.course.gpt.gpt_tasks.params import PAPER, SLUG, Params
from viz.course.gpt.gpt_tasks.read import Models, read_example, recorded, recorded_of
from viz.course.gpt.gpt_tasks.rows import code
from viz.course.gpt.token_costs import token_costs
from viz.instruments.kit import origin
from viz.labels import list_values
from viz.widgets import exhibit_parts, page_parts


def losses(params: Params, models: Models) -> Folds:
    """Draw the loss of each token under two tunings; compute L by hand for the chosen lambda."""
    task, weight = params.tuned, params.weight
    example, by = params.example(task), models[task]
    both = {
        lambda_label(each): read_example(example, recorded(task, each))
        for each in (0.0, PAPER)
        if each in recorded_of(task)
    }
    found = read_example(example, by)
    origin.tell(model=by.name, text=example.first, second_text=example.second)
    texts = {name: each.text for name, each in both.items()}
    known = len(both) < 2 or exhibit_parts.predict(
        SLUG + "cheaper",
        "The same model was tuned twice: once on the label alone, λ = 0, and once on label and text, λ = 0.5. Which one gives this text the higher probability per token?",
        texts,
        max(texts, key=lambda name: texts[name]),
        "The loss per token is "
        + " and ".join(f"{-cost:.2f} nats with {name}" for name, cost in texts.items())
        + ".",
    )
    tokens = [found.tokens[0][place] for place in found.places[0]]
    costs = {name: (-each.logprobs[0]).tolist() for name, each in both.items()} if known else {}
    told = "; ".join(
        f"{name}: " + list_values(zip(tokens, values, strict=True), "{:.2f}")
        for name, values in costs.items()
    )
    page_parts.show(
        token_costs(tokens, costs, height=exhibit_parts.by_mode(230, 300)),
        SLUG + "costs",
        told or "The tokens; their surprisal is shown after your guess.",
    )
    l_1, l_2 = found.text, found.label(example.right)
    total = combined_objective(l_1, l_2, weight)
    one, two, sum_ = (number(value, 3) for value in (l_1, l_2, total))
    chance = found.output.probabilities[example.right]
    page_parts.summary(
        f"The model in use was tuned with {lambda_label(by.weight)}. L₁ = {one}, the mean over {found.n_tokens} "
        f"tokens; L₂ = ln {chance:.4f} = {two} for “{example.labels[example.right]}”. L = {weight:g} · "
        f"({one}) + ({two}) = {sum_}{', only L₂' if weight == 0 else ''}."
        if known
        else f"L = λ L₁ + L₂, here λ = {weight:g}. The numbers are shown after your guess."
    )
    rows = [
        {"row": row + 1, "token": found.tokens[row][place]}
        | {f"ln P, {name}": each.logprobs[row][at] for name, each in both.items()}
        for row, places in enumerate(found.places)
        for at, place in enumerate(places)
    ]
    arrays = {
        f"row {row}, {name}": logprobs
        for name, each in both.items()
        for row, logprobs in enumerate(each.logprobs, 1)
    }
    return Folds(
        lambda: pd.DataFrame(rows),
        arrays | {"terms": [l_1, l_2, total], "probability": chance},
        code(example, by),
        known,
        {
            "gpt.tuned": {"L_1": one, "L_2": two, "L": sum_, "lambda": f"{weight:g}"},
            "gpt.conditionals": {},
            "gpt.label": {},
        },
    )


def lambda_label(weight: float) -> str:
    """Return lambda as a label, such as "λ = 0.5"."""
    return f"λ = {weight:g}"
