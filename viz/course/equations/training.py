"""How a decoder learns and writes: the loss of a sentence, one optimiser step, the choice of a word; what a layer costs."""

from __future__ import annotations

from viz.course.equations.form import Place, Sign, equation, number, vector

SIGNS: dict[str, Sign] = {
    "L": number(
        "loss",
        "the target and the decoder's probabilities",
        "The mean surprisal of the target words (cross-entropy); training lowers it.",
    ),
    "m": number("length of the target", "the target, END among it", "How many words are wanted."),
    "y_t": vector(
        "V", "word t of the target", "the target", "The word that is wanted, or written, at position t."
    ),
    "y_1": vector(
        "V", "first word of the target", "the target", "The decoder reads it at its second position."
    ),
    "y_t-1": vector(
        "V",
        "the word before",
        "the target in training, the model's own at inference",
        "The decoder reads it where it should say word t.",
    ),
    "x": vector("n", "the source sentence", "the visitor", "What is to be translated."),
    "P": vector(
        "V", "probabilities", "softmax of the logits", "One for each word of the vocabulary.", "logits"
    ),
    "theta": number("one weight", "learned", "Each weight of the network moves by itself."),
    "eta": number("learning rate", "chosen", "How far one step goes."),
    "g": number(
        "slope",
        "the derivative of the loss by this weight",
        "In this direction the loss grows, so the step goes the other way.",
    ),
    "mhat": number(
        "mean gradient", "running mean of the gradients", "A gradient that keeps its sign counts more."
    ),
    "vhat": number(
        "mean squared gradient",
        "running mean of the squared gradients",
        "Divides each weight's step by the usual size of its gradient.",
    ),
    "epsilon": number("a small number", "chosen, 1e-8", "Keeps the division possible."),
    "C": number("multiplications", "Table 1", "How many numbers a layer multiplies for one text."),
    "n": number("words", "the text", "How long the text is."),
    "p": number("width", "the model", "How many numbers a word, a query, a key or a state has."),
}
KINGMA: list[Place] = [("kingma2015", "algorithm 1", "")]
TABLE: list[Place] = [("ghojogh2020", "section 3.4.2", "Table 1"), ("vaswani2017", "section 4", "Table 1")]

EQUATIONS = (
    equation(
        "training.loss",
        "The loss of a sentence",
        "L = - frac{ 1 }{ m } sum{ t=1 }{ m } log P ( y_t | y_1 , … , y_t-1 , x )",
        "",
        [("sutskever2014", "section 3.2", "")],
        SIGNS,
        note="All terms at once: the causal mask hides what comes later.",
    ),
    equation(
        "training.descent",
        "One step down the slope",
        "theta <- theta - eta g",
        "",
        KINGMA,
        SIGNS,
        note="SGD: each weight against its slope.",
    ),
    equation(
        "training.adam",
        "One step of Adam",
        "theta <- theta - eta frac{ mhat }{ sqrt{ vhat } + epsilon }",
        "",
        KINGMA,
        SIGNS,
    ),
    equation(
        "decoding.greedy",
        "The choice of the word",
        "y_t = argmax P ( · | y_1 , … , y_t-1 , x )",
        "",
        [("ghojogh2020", "section 3.3.3", "")],
        SIGNS,
        note="One choice of several: sampling and beam search are others.",
    ),
    equation(
        "complexity.attention",
        "Self-attention",
        "C = n ^2 p",
        "",
        TABLE,
        SIGNS,
        note="Every word with every word; projections are left out.",
    ),
    equation(
        "complexity.recurrence",
        "Recurrence",
        "C = n p ^2",
        "",
        TABLE,
        SIGNS,
        note="Every state through the recurrent weights.",
    ),
    equation(
        "complexity.attention_whole",
        "Self-attention, everything counted",
        "C = 4 n p ^2 + 2 n ^2 p",
        "",
        [("vaswani2017", "section 3.2.2", "")],
        SIGNS,
        note="Queries, keys, values and the merge; scores and the mix of the values.",
    ),
    equation(
        "complexity.lstm_whole",
        "LSTM, everything counted",
        "C = 8 n p ^2",
        "",
        [("hochreiter1997", "", "")],
        SIGNS,
        note="Four gates, each with weights for the input and for the state.",
    ),
)
