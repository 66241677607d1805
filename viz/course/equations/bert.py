"""BERT: what it reads at a place, what it is asked, and how its learning rate goes."""

from __future__ import annotations

from viz.course.equations.form import Place, Sign, equation, matrix, number, same, vector

SIGNS: dict[str, Sign] = {
    "x_i": vector(
        "d",
        "input vector",
        "the three tables",
        "What BERT reads at position i, before the first layer norm.",
        "embed.sum",
    ),
    "e_i": vector(
        "d", "token vector", "the token table", "The row of the token at position i.", "embed.token"
    ),
    "s_i": vector(
        "d", "segment vector", "the segment table", "One of two rows: first text or second.", "embed.segment"
    ),
    "p_i": vector(
        "d",
        "position vector",
        "the position table",
        "The row of the position, learned like the others.",
        "embed.position",
    ),
    "i": number("place", "counts the tokens", "Where the token stands, from 0."),
    "L": number(
        "loss",
        "the chosen tokens and the probabilities",
        "The mean surprisal (cross-entropy) of the chosen tokens; all others count nothing.",
    ),
    "m": number("chosen tokens", "15 % of the text", "How many tokens are to be said."),
    "y_k": vector(
        "V",
        "chosen token k",
        "the text before anything was hidden",
        "The token that stood at the chosen position.",
    ),
    "xtilde": vector(
        "n",
        "text that is read",
        "the draw",
        "The text with [MASK] and random words in it; all of it is in sight.",
    ),
    "P": vector(
        "V", "probabilities", "softmax of the logits", "One for each token of the vocabulary.", "logits"
    ),
    "p_cls": vector("q", "probabilities", "softmax of the scores", "One for each class.", "classes"),
    "h_cls": vector(
        "d",
        "vector of [CLS]",
        "the last layer, first position",
        "The only vector that the head reads.",
        "layer.5.resid_out",
    ),
    "W": matrix(
        "q", "d", "weights of the head", "drawn, then learned", "New: nothing of it was in BERT before."
    ),
    "b": vector("q", "biases of the head", "zero, then learned", "One for each class."),
    "eta_t": number("learning rate", "the schedule", "How far step t goes."),
    "eta_max": number("highest rate", "chosen, 1e-4", "Reached at the end of the warm-up."),
    "t": number("step", "counts the batches", "How many batches were read."),
    "w": number("warm-up", "chosen, 10,000", "Steps in which the rate rises."),
    "T": number("steps", "chosen, 1,000,000", "At this step the rate is 0."),
}
PAIRS: dict[str, Sign] = {
    "P": vector(
        "2",
        "two probabilities",
        "softmax of two scores",
        "The second text follows, or comes from elsewhere.",
        "next_sentence",
    ),
    "h_1": vector(
        "d",
        "vector of [CLS]",
        "the last layer",
        "The first position has no word; all layers write into it.",
        "resid_out",
    ),
    "W_p": same(
        "d × d",
        "pooler's weights",
        "learned",
        "Mix the numbers of [CLS] before they are judged.",
        "pooler.pre",
    ),
    "b_p": vector("d", "pooler's bias", "learned", "A constant for each number."),
    "W": same("2 × d", "weights of the head", "learned", "One row for each of the two answers."),
    "b": vector("2", "bias of the head", "learned", "A constant for each answer."),
    "L": number(
        "loss",
        "both objectives of one batch",
        "The sum of two means of negative log-likelihoods; training makes it smaller.",
    ),
    "m": number("chosen tokens", "15 % of the batch", "How many tokens are to be said."),
    "y_k": vector(
        "V",
        "chosen token k",
        "the texts before anything was hidden",
        "The token that stood at the chosen position.",
    ),
    "n": number("pairs", "the batch", "How many pairs are read."),
    "c_j": number("label of pair j", "the draw", "The second text follows, or it does not."),
    "xtilde": vector(
        "n", "texts that are read", "the draw", "The pairs with [MASK] and random words in them."
    ),
}
DEVLIN: list[Place] = [
    ("devlin2019", "appendix A.2", ""),
    ("lifei2022", "BERT, quotation from the paper", ""),
]

EQUATIONS = (
    equation(
        "bert.input",
        "What BERT reads at a position",
        "x_i = e_i + s_i + p_i",
        "",
        [("beigy2024", "BERT, input", ""), ("devlin2019", "section 3", "Figure 2")],
        SIGNS,
        note="A layer norm follows.",
    ),
    equation(
        "bert.masked",
        "The loss of the chosen tokens",
        "L = - frac{ 1 }{ m } sum{ k=1 }{ m } log P ( y_k | xtilde )",
        "",
        [("devlin2019", "section 3.1", "")],
        SIGNS,
        note="Tokens that were not chosen are read and not asked.",
    ),
    equation(
        "bert.class",
        "The class of a text, or of a pair",
        "p_cls = softmax ( W h_cls + b )",
        "p_cls = softmax ( h_cls W + b )",
        [("beigy2024", "BERT, single sentence classification", ""), ("devlin2019", "section 4.1", "")],
        SIGNS,
        note="Beigy's slides print it without the bias.",
    ),
    equation(
        "bert.next",
        "Does the second text follow?",
        "P = softmax ( W tanh ( W_p h_1 + b_p ) + b )",
        "P = softmax ( tanh ( h_1 W_p ^T + b_p ) W ^T + b )",
        [("devlin2019", "section 3.1", ""), ("beigy2024", "BERT, next sentence prediction", "")],
        PAIRS,
        note="Only the vector of [CLS] is read.",
    ),
    equation(
        "bert.loss",
        "The loss of both objectives",
        "L = - frac{ 1 }{ m } sum{ k=1 }{ m } log P ( y_k | xtilde ) - frac{ 1 }{ n } sum{ j=1 }{ n } log P ( c_j | xtilde )",
        "",
        [("devlin2019", "appendix A.2", "")],
        PAIRS | {"P": SIGNS["P"]},
        note="Two means, added: neither is weighted.",
    ),
    equation(
        "bert.rate",
        "The learning rate over the steps",
        'eta_t = eta_max cases{ frac{ t }{ w } }{ "if" t <= w }{ frac{ T - t }{ T - w } }{ "if" t > w }',
        "",
        DEVLIN,
        SIGNS,
    ),
)
