"""The step on the two terms: what the text itself is worth to two tunings, and L for the chosen lambda, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.data.gpt_inputs import combined
from core.training.finetune.gpt_tuning import LAMBDAS
from viz.charts.curves import number
from viz.course.gpt.gpt_tasks import link, rows
from viz.course.gpt.gpt_tasks.charts.token_costs import token_costs
from viz.course.gpt.gpt_tasks.link import PAPER, SLUG, Params
from viz.course.shared.shown import Shown, later
from viz.instruments.kit import origin
from viz.widgets import controls, lesson, parts

LOOKING = (
    "A bar is the surprisal of a token: minus the logarithm of its probability given the tokens before it. L₁ is minus the mean of these bars, over all tokens of all rows, the marks left out. L₂ is the logarithm of the probability of the label that counts as right. The paper writes both as sums over a data set; "
    "its published code, and the tuning here, take the mean over the tokens for L₁ and the mean over the texts for L₂, and make −L small. With λ = 0 nothing asks the network to go on as a language model, and it does not: it keeps of the text what the label needs."
)


def named(weight: float) -> str:
    """Lambda as a name."""
    return f"λ = {weight:g}"


def losses(params: Params) -> Shown:
    """The cost of each token under two tunings; L by hand for the chosen lambda."""
    weights = [weight for weight in (0.0, PAPER) if weight in link.recorded_of(params.task)]
    both = {weight: link.heard(params, link.used(params.task, weight)) for weight in weights}
    by = link.used(params.task)
    found = link.heard(params, by)
    origin.tell(model=by.name, text=params.first, beside=params.second)
    better = max(both, key=lambda weight: both[weight].text)
    question, picture = st.container(), st.container()
    with question:
        known = lesson.predict(
            SLUG + "cheaper", "The same model was tuned twice: once for the label alone, λ = 0, and once with the text beside it, λ = 0.5. To which is this text more probable, token by token?", {named(weight): each.text for weight, each in both.items()}, named(better),
            "A token costs " + " and ".join(f"{-each.text:.2f} nats with {named(weight)}" for weight, each in both.items()) + ".",
        ) if len(both) > 1 else True  # fmt: skip
    l_1, l_2 = found.text, found.label(params.right)
    total = combined(l_1, l_2, params.weight)
    with picture:
        tokens = [found.tokens[0][place] for place in found.places[0]]
        costs = {named(weight): (-each.logprobs[0]).tolist() for weight, each in both.items()} if known else {}
        parts.show(token_costs(tokens, costs, height=300 if lesson.presenting() else 230), SLUG + "costs",
                   "; ".join(f"{name}: " + ", ".join(f"{token} {cost:.2f}" for token, cost in zip(tokens, values, strict=True)) for name, values in costs.items()) or "The tokens; what they cost comes after the guess.")  # fmt: skip
        parts.numbers(
            f"The model in use was tuned with {named(by.weight)}. L₁ = {number(l_1, 3)}, the mean over {found.n_tokens} tokens; L₂ = ln {found.said.probabilities[params.right]:.4f} = {number(l_2, 3)} for “{params.labels[params.right]}”. "
            f"L = {params.weight:g} · ({number(l_1, 3)}) + ({number(l_2, 3)}) = {number(total, 3)}{', pure L₂' if params.weight == 0 else ''}." if known else f"L = λ L₁ + L₂, here λ = {params.weight:g}. The numbers come after the guess."
        )  # fmt: skip
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            with st.container(width=260):
                controls.stops("λ, weight of the text", LAMBDAS, SLUG + "weight", PAPER, lambda weight: f"{weight:g}")
            if not lesson.presenting():
                controls.segmented("Right is", range(len(params.labels)), f"{SLUG}{params.task}.right", link.opening(params.task), lambda at: params.labels[at])
    table = pd.DataFrame([{"row": row + 1, "token": found.tokens[row][place], **{f"ln P, {named(weight)}": each.logprobs[row][at] for weight, each in both.items()}}
                          for row, places in enumerate(found.places) for at, place in enumerate(places)])  # fmt: skip
    values = {"L_1": number(l_1, 3), "L_2": number(l_2, 3), "L": number(total, 3), "lambda": f"{params.weight:g}"} if known else {}
    arrays = {f"row {row + 1}, {named(weight)}": logprobs for weight, each in both.items() for row, logprobs in enumerate(each.logprobs)}
    return Shown({"gpt.tuned": values, "gpt.conditionals": {}, "gpt.label": {}}, (), LOOKING, (lambda: table) if known else later, arrays | {"terms": np.array([l_1, l_2, total])} if known else {},
                 rows.code(params, by) + f"\nprint({params.weight!r} * found.text + found.label({params.right}))")  # fmt: skip
