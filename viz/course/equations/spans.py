"""Heads of a tuned BERT that ask every token: where an answer starts and ends, and which tag a word has."""

from __future__ import annotations

from viz.course.equations.form import Place, Sign, equation, matrix, number, same, vector

SIGNS: dict[str, Sign] = {
    "H": matrix(
        "d", "n", "last hidden states", "the network", "One vector for each token of the passage.", "hidden"
    ),
    "h_i": vector(
        "d",
        "hidden state",
        "the network",
        "What the network made of token i, with all others in sight.",
        "hidden",
    ),
    "h_j": vector(
        "d",
        "hidden state",
        "the network",
        "What the network made of token j, with all others in sight.",
        "hidden",
    ),
    "w_s": vector(
        "d",
        "start vector",
        "learned in fine-tuning",
        "One number for each token comes of it. A vector, not a matrix.",
    ),
    "w_e": vector("d", "end vector", "learned in fine-tuning", "The same for the end of the answer."),
    "p_s": vector(
        "n",
        "start probabilities",
        "softmax over the positions",
        "Where the answer starts: all positions together make 1.",
    ),
    "p_e": vector(
        "n",
        "end probabilities",
        "softmax over the positions",
        "Where the answer ends: all positions together make 1.",
    ),
    "r_ij": number(
        "score of a pair",
        "two products",
        "How good an answer from token i to token j is, for i not behind j.",
        "answer",
    ),
    "W": same(
        "d × T",
        "tag weights",
        "learned in fine-tuning",
        "One column for each of the T tags, the same for every token.",
    ),
    "P_i": vector(
        "T", "tag probabilities", "softmax over the tags", "One distribution for each token.", "tags"
    ),
}
ASKED: list[Place] = [("beigy2024", "BERT, question answering", ""), ("devlin2019", "section 4.2", "")]

EQUATIONS = (
    equation(
        "spans.start",
        "Where the answer starts",
        "p_s = softmax ( H ^T w_s )",
        "p_s = softmax ( w_s H ^T )",
        ASKED,
        SIGNS,
        note="The softmax runs over the positions.",
    ),
    equation(
        "spans.end",
        "Where the answer ends",
        "p_e = softmax ( H ^T w_e )",
        "p_e = softmax ( w_e H ^T )",
        ASKED,
        SIGNS,
    ),
    equation(
        "spans.pair",
        "The score of an answer",
        "r_ij = w_s ^T h_i + w_e ^T h_j",
        "r_ij = h_i w_s ^T + h_j w_e ^T",
        [ASKED[1]],
        SIGNS,
        note="For i ≤ j alone; the greatest one is the answer.",
    ),
    equation(
        "spans.tag",
        "The tag of each token",
        "P_i = softmax ( W ^T h_i )",
        "P_i = softmax ( h_i W )",
        [("devlin2019", "section 5.3", "named entities")],
        SIGNS,
        note="Of a word the first token is asked.",
    ),
)
