"""Every score function of the documents, and why the score is scaled."""

from __future__ import annotations

from viz.course.equations.form import Sign, both, equation, number, same, vector

TABLE = ("beigy2021", "table of alignment scores", "")

SIGNS: dict[str, Sign] = {
    "s_i": number(
        "score", "query and key", "How well the key fits the query, before the softmax.", "self_attn.scores"
    ),
    "q": vector("p", "query", "what asks", "What one is looking for.", "self_attn.q"),
    "k_i": vector("p", "key", "what is asked", "What a stored pair answers to.", "self_attn.k"),
    "p": number("size of query and key", "the model", "How many numbers a query and a key have."),
    "d_k": number(
        "size of query and key",
        "the model",
        "How many numbers a query and a key have; the survey and the slides also write p.",
    ),
    "W": same(
        "p × p",
        "weights of the score",
        "learned",
        "Lets different parts of query and key meet; the identity gives the dot product.",
    ),
    "w_q": vector(
        "p",
        "weights of the query",
        "learned",
        "Its term is the same for every key, so the softmax cancels it.",
    ),
    "w_k": vector("p", "weights of the key", "learned", "This term alone decides the weights."),
    "W_a": same("u × 2p", "weights of the score", "learned", "Reads query and key side by side."),
    "v_a": vector("u", "weights of the answer", "learned", "Turns the hidden layer into one number."),
    "beta": number(
        "sharpness",
        "chosen, or made by the network",
        "Multiplies the cosine, which alone stays between -1 and 1.",
    ),
    "a": vector(
        "n", "attention weights", "the softmax", "One weight for each position.", "self_attn.pattern"
    ),
    "W_n": same(
        "n × p",
        "weights of the positions",
        "learned",
        "A row for each position: n is the longest source it can serve.",
    ),
}

EQUATIONS = (
    equation("score.dot", "Score: inner product", "s_i = q ^T k_i", "s_i = q k_i ^T", both(9), SIGNS),
    equation(
        "score.scaled",
        "Score: scaled inner product",
        "s_i = frac{ q ^T k_i }{ sqrt{ p } }",
        "s_i = frac{ q k_i ^T }{ sqrt{ p } }",
        both(10),
        SIGNS,
    ),
    equation("score.general", "Score: general", "s_i = q ^T W k_i", "s_i = q W k_i ^T", both(11), SIGNS),
    equation(
        "score.linear",
        "Score: additive, linear",
        "s_i = w_q ^T q + w_k ^T k_i",
        "s_i = q w_q ^T + k_i w_k ^T",
        both(12),
        SIGNS,
        note="The query adds the same number to every key: after the softmax it is gone.",
    ),
    equation(
        "score.tanh",
        "Score: additive, with tanh",
        "s_i = v_a ^T tanh ( W_a [ q ; k_i ] )",
        "s_i = tanh ( [ q , k_i ] W_a ^T ) v_a ^T",
        [TABLE, ("bahdanau2015", "appendix A.1.2", "")],
        SIGNS,
    ),
    equation(
        "score.cosine",
        "Score: content, by cosine",
        "s_i = frac{ q ^T k_i }{ || q || || k_i || }",
        "s_i = frac{ q k_i ^T }{ || q || || k_i || }",
        [TABLE, ("graves2014", "section 3.3.1", "Eq. (6)")],
        SIGNS,
    ),
    equation(
        "score.cosine_beta",
        "Score: cosine with an inverse temperature",
        "s_i = beta frac{ q ^T k_i }{ || q || || k_i || }",
        "s_i = beta frac{ q k_i ^T }{ || q || || k_i || }",
        [("graves2014", "section 3.3.1", "Eq. (5)")],
        SIGNS,
    ),
    equation(
        "score.location",
        "Weights from the position alone",
        "a = softmax ( W_n q )",
        "a = softmax ( q W_n ^T )",
        [TABLE],
        SIGNS,
        note="There is no key in it.",
    ),
    equation(
        "scaling.spread",
        "Why the root: the spread of a score",
        "lines{ Var ( q ^T k_i ) = d_k }{ Var ( frac{ q ^T k_i }{ sqrt{ d_k } } ) = 1 }",
        "lines{ Var ( q k_i ^T ) = d_k }{ Var ( frac{ q k_i ^T }{ sqrt{ d_k } } ) = 1 }",
        [("vaswani2017", "section 3.2.1", ""), ("lifei2022", "practical considerations", "")],
        SIGNS,
        note="For queries and keys whose numbers are independent, with mean 0 and variance 1.",
    ),
)
