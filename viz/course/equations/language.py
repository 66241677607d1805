"""GPT: the product of conditionals that it learns, a task that it is tuned to, and a task that stands in the condition."""

from __future__ import annotations

from viz.course.equations.form import Sign, equation, number, same, vector

SIGNS: dict[str, Sign] = {
    "L_1": number(
        "log-likelihood of the text",
        "the sum over its tokens",
        "What pre-training raises; minus the mean of its terms is the loss.",
    ),
    "n": number("tokens of the text", "the text", "How many terms the sum has."),
    "u_i": vector("V", "token i", "the text", "The token that is to be foretold."),
    "u_i-k": vector("V", "the first token in the window", "the text", "What lies further back is not seen."),
    "u_i-1": vector("V", "the token before", "the text", "The last token that may be seen."),
    "P": vector(
        "V", "probabilities", "softmax of the logits", "One for each token of the vocabulary.", "logits"
    ),
    "y": vector("V", "the output", "the model", "What it writes behind the prompt."),
    "x": vector("V", "the input", "the visitor", "What the task is done to."),
    "yhat": vector(
        "c", "probabilities of the classes", "the softmax", "P(y | x) for each class y.", "classes"
    ),
    "h_m": vector(
        "d",
        "vector at Extract",
        "the last layer",
        "What stands at the last token of the row, after the final norm.",
        "final_norm.out",
    ),
    "W_y": same(
        "d × c",
        "weights of the head",
        "drawn small, then learned",
        "One column a class, in both forms; the bias of the head is left out in the paper.",
    ),
    "L_2": number("log-probability of the label", "the head", "What tuning raises."),
    "L": number("the objective of tuning", "both terms", "Training makes its negative small."),
    "lambda": number(
        "weight of the text", "chosen, 0.5 in the paper", "How much the text itself counts beside its label."
    ),
    "task": vector(
        "V", "the task, as text", "the prompt", "A word or examples in front; no weight is changed for it."
    ),
}

EQUATIONS = (
    equation(
        "gpt.conditionals",
        "The text as a product, in logarithms",
        "L_1 = sum{ i=1 }{ n } log P ( u_i | u_i-k , … , u_i-1 )",
        "",
        [("radford2018", "section 3.1", "Eq. (1)"), ("beigy2024", "GPT, pre-training", "L_1")],
        SIGNS,
        note="The joint probability only where the window k reaches back to the beginning.",
    ),
    equation(
        "gpt.label",
        "The label from the last vector",
        "yhat = softmax ( W_y ^T h_m )",
        "yhat = softmax ( h_m W_y )",
        [("radford2018", "section 3.2", "Eq. (3)"), ("beigy2024", "GPT, fine-tuning", "")],
        SIGNS,
        note="The paper calls this h with the index m, for the last token, and the number of the last layer.",
    ),
    equation(
        "gpt.tuned",
        "Both terms of fine-tuning",
        "L = lambda L_1 + L_2",
        "",
        [("radford2018", "section 3.2", "Eq. (5)"), ("beigy2024", "GPT, fine-tuning", "")],
        SIGNS,
        note="With λ = 0 only the label counts.",
    ),
    equation(
        "gpt.prompted",
        "The task is text",
        "P ( y | x , task )",
        "",
        [("radford2019", "section 2", ""), ("beigy2024", "GPT-2", "")],
        SIGNS,
        note="Input and task are both read as one text.",
    ),
)
