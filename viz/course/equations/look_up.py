"""Attention as look-up: hard and soft retrieval, memory, soft and hard attention."""

from __future__ import annotations

from viz.course.equations.form import Sign, both, equation, matrix, number, same, vector

SLIDES = ("beigy2021", "query, key, value", "")

SIGNS: dict[str, Sign] = {
    "q": vector("p", "query", "what is asked for", "What one is looking for.", "self_attn.q"),
    "k": matrix("p", "n", "all keys", "the stored pairs", "What each stored pair answers to.", "self_attn.k"),
    "k_i": vector(
        "p",
        "key",
        "the stored pair i",
        "What pair i answers to; it is compared with the query.",
        "self_attn.k",
    ),
    "v": matrix(
        "r", "n", "all values", "the stored pairs", "What each stored pair hands over.", "self_attn.v"
    ),
    "v_i": vector("r", "value", "the stored pair i", "What pair i hands over.", "self_attn.v"),
    "s_i": number("score", "Eq. (7)", "How well key i fits the query.", "self_attn.scores"),
    "s_j": number("score", "Eq. (7)", "The same for each pair j of the sum.", "self_attn.scores"),
    "s_k": number("score", "Eq. (7)", "The same for each pair k of the sum.", "self_attn.scores"),
    "a_i": number(
        "attention weight", "Eq. (8)", "The share of value i; all shares sum to 1.", "self_attn.pattern"
    ),
    "a_j": number("attention weight", "Eq. (8)", "The share of value j.", "self_attn.pattern"),
    "a": vector("n", "all weights", "Eq. (8)", "One weight for each pair.", "self_attn.pattern"),
    "V": matrix(
        "r", "n", "all values", "the stored pairs", "One value a column; in PyTorch one a row.", "self_attn.v"
    ),
    "z": vector("r", "answer", "values times weights", "What comes back.", "self_attn.heads"),
    "n": number("number of pairs", "the table", "How many keys and values are stored."),
    "beta": number(
        "inverse temperature",
        "chosen, or made by the network",
        "0 gives every pair the same share; the larger, the nearer to one winner.",
    ),
    "delta_ij": number("one or zero", "a definition", "1 where i and j are the same pair, else 0."),
    "m": number(
        "largest score", "the scores", "Taken off each score, so that no exponential grows too large."
    ),
}
MEMORY: dict[str, Sign] = {
    "r_t": vector("w", "read vector", "the memory and the weights", "What is read at time t."),
    "w_t": vector(
        "p", "read weights", "made by the network", "One weight for each row of the memory; they sum to 1."
    ),
    "M_t": same(
        "p × w",
        "memory",
        "what was written up to time t",
        "p rows of w numbers; a row is one place, in both conventions.",
    ),
    "p": number(
        "rows of the memory", "chosen", "How many places the memory has: here p is no size of a key."
    ),
    "k_t": vector("w", "key", "made by the network", "What is looked for in the memory."),
    "beta": number(
        "key strength",
        "made by the network",
        "Without it the largest weight can be at most e² times the smallest.",
    ),
}
CHANCE: dict[str, Sign] = {
    "J": number("expected reward", "the draws", "What training by reward makes large."),
    "R": number("reward", "the draw", "How good the answer of one draw was."),
    "s_j": number("score", "the similarity", "The score whose gradient is wanted.", "self_attn.scores"),
    "a_i": number(
        "probability",
        "softmax of the scores",
        "The chance that part i is the one that is drawn.",
        "self_attn.pattern",
    ),
}
SOFT = ("beigy2021", "soft attention and hard attention", "")

EQUATIONS = (
    equation(
        "retrieval.hard",
        "Look-up in a table",
        "retrieval ( q , k , v ) = sum{ i=1 }{ n } similarity ( q , k_i ) v_i",
        "",
        [SLIDES],
        SIGNS,
        note="Hard: the similarity is 1 for the row that matches and 0 for all others.",
    ),
    equation(
        "retrieval.mix",
        "Soft look-up: a weighted sum of the values",
        "attention ( q , k , v ) = sum{ i=1 }{ n } a_i v_i",
        "",
        both(6),
        SIGNS,
    ),
    equation(
        "retrieval.similarity", "How well a key fits", "s_i = similarity ( q , k_i )", "", both(7), SIGNS
    ),
    equation(
        "retrieval.softmax",
        "From scores to shares",
        "a_i = frac{ exp ( s_i ) }{ sum{ k=1 }{ n } exp ( s_k ) }",
        "",
        both(8),
        SIGNS,
    ),
    equation(
        "retrieval.sharp",
        "From uniform to one winner",
        "a_i = frac{ exp ( beta s_i ) }{ sum{ k=1 }{ n } exp ( beta s_k ) }",
        "",
        [both(8)[0]],
        SIGNS,
        note="Eq. (8) with an inverse temperature β in front of the scores; beta = 1 is Eq. (8) itself.",
    ),
    equation(
        "retrieval.matrix",
        "The weighted sum as one product",
        "z = V a",
        "z = a V",
        [both(6)[0]],
        SIGNS,
        note="Eq. (6) with the values side by side.",
    ),
    equation(
        "ntm.read",
        "Reading a memory",
        "r_t = sum{ i=1 }{ p } w_t ( i ) M_t ( i )",
        "",
        [("beigy2021", "neural Turing machine", ""), ("graves2014", "section 3.1", "Eq. (2)")],
        MEMORY,
    ),
    equation(
        "ntm.matrix",
        "Reading as one product",
        "r_t = M_t ^T w_t",
        "r_t = w_t M_t",
        [("graves2014", "section 3.1", "Eq. (2)")],
        MEMORY,
    ),
    equation(
        "ntm.address",
        "Finding the place by content",
        "w_t ( i ) = frac{ exp ( beta cosine ( k_t , M_t ( i ) ) ) }{ sum{ j=1 }{ p } exp ( beta cosine ( k_t , M_t ( j ) ) ) }",
        "",
        [("graves2014", "section 3.3.1", "Eq. (5)")],
        MEMORY,
    ),
    equation(
        "soft.mix", "Soft attention: all parts, mixed", "z = sum{ i=1 }{ n } a_i v_i", "", [SOFT], SIGNS
    ),
    equation(
        "hard.draw",
        "Hard attention: one part, drawn",
        'z = v_i "with probability" a_i',
        "",
        [SOFT, ("xu2015", "section 4.1", "")],
        SIGNS,
    ),
    equation(
        "softmax.gradient",
        "How the weights follow the scores",
        "frac{ ∂ a_i }{ ∂ s_j } = a_i ( delta_ij - a_j )",
        "",
        [("beigy2021", "soft attention and hard attention", "")],
        SIGNS,
        note="Soft attention has this gradient; a choice by argmax has none.",
    ),
    equation(
        "hard.gradient",
        "A gradient through a draw",
        "frac{ ∂ J }{ ∂ s_j } = mean ( R frac{ ∂ log a_i }{ ∂ s_j } )",
        "",
        [("williams1992", "", ""), ("xu2015", "section 4.1", "Eq. (11)")],
        CHANCE,
        note="REINFORCE: the mean over many draws of reward times the slope of the log-probability of what was drawn.",
    ),
    equation(
        "softmax.safe",
        "The softmax that cannot overflow",
        "a_i = frac{ exp ( s_i - m ) }{ sum{ j=1 }{ n } exp ( s_j - m ) }",
        "",
        [("lifei2022", "practical considerations", "")],
        SIGNS,
        note="The same weights: numerator and denominator lose the same factor.",
    ),
    equation(
        "attention.entropy",
        "The entropy of the weights",
        '"entropy" = - sum{ i=1 }{ n } a_i log a_i',
        "",
        [("lifei2022", "practical considerations", "")],
        SIGNS,
        note="0 for one winner, log n for equal shares.",
    ),
)
