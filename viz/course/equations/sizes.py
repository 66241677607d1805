"""How many numbers a model has, from its shape."""

from __future__ import annotations

from viz.course.equations.form import Place, Sign, equation, number

SIGNS: dict[str, Sign] = {
    "P": number("parameters", "counted", "All parameters of the model."),
    "B": number(
        "numbers in the blocks", "counted", "The weight matrices of all blocks, without biases and norms."
    ),
    "V": number(
        "vocabulary", "the tokenizer", "How many tokens there are; each has a row of the embedding matrix."
    ),
    "C": number(
        "context", "the model", "How many positions there are; each has a row of the position table."
    ),
    "S": number("segments", "the model", "BERT knows two: first and second text."),
    "L": number("layers", "the model", "How many blocks stand one above the other."),
    "d": number("width", "the model", "How many numbers a word has."),
    "F": number("inner width", "the model", "Hidden units of the feed-forward network, as a rule 4 d."),
}
GPT: list[Place] = [("radford2019", "section 2.3", "")]

EQUATIONS = (
    equation(
        "sizes.gpt",
        "Parameters of a GPT-2",
        "P = V d + C d + L ( 12 d ^2 + 13 d ) + 2 d",
        "",
        GPT,
        SIGNS,
        note="Tokens, positions, blocks, and one norm at the end. The number of heads is not in it.",
    ),
    equation(
        "sizes.bert",
        "Parameters of a BERT",
        "P = ( V + C + S + 2 ) d + L ( 4 ( d ^2 + d ) + 2 d F + F + d + 4 d ) + d ^2 + d",
        "",
        [("devlin2019", "section 3", "")],
        SIGNS,
        note="The last two terms are the pooler.",
    ),
    equation(
        "sizes.blocks",
        "The rule of thumb",
        "B = 12 L d ^2",
        "",
        [("brown2020", "section 2.1", "")],
        SIGNS,
        note="Four matrices of d × d for attention, two of d × 4 d for the network.",
    ),
)
