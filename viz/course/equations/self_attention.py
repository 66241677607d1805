"""Self-attention: projections, matrix form, prefix and mask, many heads."""

from __future__ import annotations

from viz.course.equations.form import Sign, both, equation, matrix, number, same, vector

LIFEI = ("lifei2022", "self-attention", "")

SIGNS: dict[str, Sign] = {
    "x_i": vector(
        "d",
        "word vector",
        "embedding plus position, or the layer below",
        "Word i as it enters the layer.",
        "resid_in",
    ),
    "x_j": vector(
        "d",
        "word vector",
        "embedding plus position, or the layer below",
        "Word j as it enters the layer.",
        "resid_in",
    ),
    "X": matrix(
        "d",
        "n",
        "all words",
        "embeddings plus positions, or the layer below",
        "One word a column; in PyTorch one a row.",
        "resid_in",
    ),
    "W_Q": same(
        "d × p", "query weights", "learned", "In PyTorch nn.Linear keeps it turned round, as (p, d)."
    ),
    "W_K": same("d × p", "key weights", "learned", "In PyTorch nn.Linear keeps it turned round, as (p, d)."),
    "W_V": same(
        "d × r", "value weights", "learned", "In PyTorch nn.Linear keeps it turned round, as (r, d)."
    ),
    "q_i": vector("p", "query", "Eq. (13)", "What word i asks.", "self_attn.q"),
    "k_i": vector("p", "key", "Eq. (14)", "What word i answers to.", "self_attn.k"),
    "k_j": vector("p", "key", "Eq. (14)", "What word j answers to.", "self_attn.k"),
    "v_i": vector("r", "value", "Eq. (15)", "What word i hands over.", "self_attn.v"),
    "Q": matrix("p", "n", "all queries", "Eq. (13)", "What each word asks.", "self_attn.q"),
    "K": matrix("p", "n", "all keys", "Eq. (14)", "What each word answers to.", "self_attn.k"),
    "V": matrix("r", "n", "all values", "Eq. (15)", "What each word hands over.", "self_attn.v"),
    "S": same(
        "n × n",
        "scores",
        "queries times keys",
        "Row i: how well each word fits what word i asks. No transpose between the conventions.",
        "self_attn.scores",
    ),
    "A": same(
        "n × n",
        "attention weights",
        "softmax over each row of S",
        "Row i: how word i shares its attention; each row sums to 1.",
        "self_attn.pattern",
    ),
    "Z": matrix(
        "r",
        "n",
        "attention output",
        "values times weights",
        "Each word as a mix of all values.",
        "self_attn.heads",
    ),
    "Z_m": matrix(
        "r",
        "n",
        "masked attention output",
        "values times the weights that the mask leaves",
        "Each word as a mix of the words up to itself.",
        "self_attn.heads",
    ),
    "M": same(
        "n × n",
        "mask",
        "Eq. (29)",
        "0 where row i may look at column j, minus infinity where not.",
        "self_attn.allowed",
    ),
    "p": number("size of query and key", "the model", "The root keeps the scores from growing with it."),
    "d_k": number("size of query and key", "the model", "The survey and the slides also write p."),
    "n": number("number of words", "the sentence", "How many words stand in a row."),
    "y_i": vector(
        "d", "output", "the weights times the words", "Word i after attention, without any projection."
    ),
    "alpha_ij": number(
        "attention weight",
        "the softmax over the words up to i",
        "The share of word j for word i; 0 for words behind i.",
        "self_attn.pattern",
    ),
    "f": Sign(
        "a layer of self-attention",
        "d × n → d × n",
        "n × d → n × d",
        "Eqs. (13) to (16)",
        "Words in, as many words out.",
    ),
    "Pi": same(
        "n × n", "permutation", "the new order of the words", "Each row and each column holds a single 1."
    ),
}
HEADS: dict[str, Sign] = {
    "X": SIGNS["X"],
    "Q_i": matrix("p", "n", "queries of head i", "Eq. (19)", "What each word asks in head i.", "self_attn.q"),
    "V_i": matrix(
        "r", "n", "values of head i", "Eq. (20)", "What each word hands over in head i.", "self_attn.v"
    ),
    "K_i": matrix(
        "p", "n", "keys of head i", "Eq. (21)", "What each word answers to in head i.", "self_attn.k"
    ),
    "W_Q,i": same("d × p", "query weights of head i", "learned", "Each head has its own."),
    "W_V,i": same("d × r", "value weights of head i", "learned", "Each head has its own."),
    "W_K,i": same("d × p", "key weights of head i", "learned", "Each head has its own."),
    "Z_1": matrix(
        "r",
        "n",
        "output of the first head",
        "Eq. (16) in head 1",
        "The mix that the first head made.",
        "self_attn.heads",
    ),
    "Z_h": matrix(
        "r",
        "n",
        "output of the last head",
        "Eq. (16) in head h",
        "The mix that the last head made.",
        "self_attn.heads",
    ),
    "Z_t": matrix(
        "d",
        "n",
        "attention output",
        "all heads, mixed by W_O",
        "What attention adds to the words.",
        "self_attn.out",
    ),
    "W_O": same(
        "hr × d",
        "output weights",
        "learned",
        "Mixes the heads. Its shape is not printed in the slides and the survey.",
    ),
}
CROSS: dict[str, Sign] = {
    "Q": matrix("p", "m", "queries", "the decoder's words", "What each target word asks.", "self_attn.q"),
    "K": matrix("p", "n", "keys", "the encoder's output", "What each source word answers to.", "self_attn.k"),
    "V": matrix(
        "r", "n", "values", "the encoder's output", "What each source word hands over.", "self_attn.v"
    ),
    "Z": matrix(
        "r",
        "m",
        "attention output",
        "values times weights",
        "Each target word as a mix of source words.",
        "self_attn.heads",
    ),
    "p": SIGNS["p"],
}
SETS: dict[str, Sign] = {
    "m": vector("r", "pooled output", "the mean of the outputs", "One vector for the whole sentence."),
    "z_i": vector("r", "output of word i", "Eq. (16)", "One row of the output.", "self_attn.heads"),
    "n": SIGNS["n"],
    "a_j": number(
        "weight of word j",
        "the softmax, each word said once",
        "The share of word j, before it is repeated.",
        "self_attn.pattern",
    ),
    "b_j": number(
        "weight of all its copies",
        "the softmax again",
        "The share that all copies of word j get together.",
        "self_attn.pattern",
    ),
    "c_j": number("count of word j", "the sentence", "How often word j is said."),
    "a_k": number(
        "weight of word k",
        "the softmax, each word said once",
        "The share of word k, before anything is repeated.",
    ),
    "c_k": number("count of word k", "the sentence", "How often word k is said."),
}
TURNED = "Printed without the last transpose: the softmax makes each row sum to 1, so its rows must meet the values."

EQUATIONS = (
    equation("self.query", "Queries", "q_i = W_Q ^T x_i", "q_i = x_i W_Q", both(13), SIGNS),
    equation("self.key", "Keys", "k_i = W_K ^T x_i", "k_i = x_i W_K", both(14), SIGNS),
    equation("self.value", "Values", "v_i = W_V ^T x_i", "v_i = x_i W_V", both(15), SIGNS),
    equation(
        "self.kernel",
        "A score in words alone",
        "q_i ^T k_j = x_i ^T W_Q W_K ^T x_j",
        "q_i k_j ^T = x_i W_Q W_K ^T x_j ^T",
        [both(16)[0]],
        SIGNS,
    ),
    equation(
        "self.scores",
        "All scores",
        "S = frac{ Q ^T K }{ sqrt{ p } }",
        "S = frac{ Q K ^T }{ sqrt{ p } }",
        [both(16)[0]],
        SIGNS,
    ),
    equation(
        "self.weights", "All weights", "A = softmax ( S )", "", [both(16)[0]], SIGNS, note="Over each row."
    ),
    equation(
        "self.matrix",
        "Self-attention",
        "Z = V softmax ( frac{ Q ^T K }{ sqrt{ p } } ) ^T",
        "Z = softmax ( frac{ Q K ^T }{ sqrt{ p } } ) V",
        both(16),
        SIGNS,
        note=TURNED,
    ),
    equation("self.output", "Weights times values", "Z = V A ^T", "Z = A V", [both(16)[0]], SIGNS),
    equation(
        "causal.prefix", "Only the words so far", "y_i = sum{ j=1 }{ i } alpha_ij x_j", "", [LIFEI], SIGNS
    ),
    equation(
        "causal.weights",
        "Weights over the words so far",
        "alpha_ij = frac{ exp ( x_i ^T x_j ) }{ sum{ k=1 }{ i } exp ( x_i ^T x_k ) }",
        "alpha_ij = frac{ exp ( x_i x_j ^T ) }{ sum{ k=1 }{ i } exp ( x_i x_k ^T ) }",
        [LIFEI],
        SIGNS,
        {"x_k": vector("d", "word vector", "the sentence", "Each word k up to word i.", "resid_in")},
    ),
    equation(
        "masked.matrix",
        "Masked attention",
        "Z_m = V softmax ( frac{ Q ^T K + M }{ sqrt{ p } } ) ^T",
        "Z_m = softmax ( frac{ Q K ^T + M }{ sqrt{ p } } ) V",
        both(28),
        SIGNS,
        note=TURNED,
    ),
    equation(
        "masked.mask",
        "The mask",
        'M ( i , j ) = cases{ 0 }{ "if" j <= i }{ -inf }{ "if" j > i }',
        "",
        both(29),
        SIGNS,
    ),
    equation("heads.query", "Queries of a head", "Q_i = W_Q,i ^T X", "Q_i = X W_Q,i", both(19), HEADS),
    equation("heads.value", "Values of a head", "V_i = W_V,i ^T X", "V_i = X W_V,i", both(20), HEADS),
    equation("heads.key", "Keys of a head", "K_i = W_K,i ^T X", "K_i = X W_K,i", both(21), HEADS),
    equation(
        "heads.merge",
        "The heads, merged",
        "Z_t = W_O ^T [ Z_1 ; … ; Z_h ]",
        "Z_t = [ Z_1 , … , Z_h ] W_O",
        both(22),
        HEADS,
    ),
    equation(
        "cross.matrix",
        "Attention from target to source",
        "Z = V softmax ( frac{ Q ^T K }{ sqrt{ p } } ) ^T",
        "Z = softmax ( frac{ Q K ^T }{ sqrt{ p } } ) V",
        [("ghojogh2020", "section 3.3.2", "")],
        CROSS,
        note=TURNED,
    ),
    equation(
        "permutation.equivariant",
        "Another order of the words",
        "f ( X Pi ) = f ( X ) Pi",
        "f ( Pi X ) = Pi f ( X )",
        [("beigy2024", "homework", "")],
        SIGNS,
        note="Holds without positions: the outputs move along, and are otherwise the same.",
    ),
    equation(
        "permutation.pooled",
        "The mean of all outputs",
        "m = frac{ 1 }{ n } sum{ i=1 }{ n } z_i",
        "",
        [("zaheer2017", "section 2.2", "")],
        SETS,
        note="A sum does not ask for the order: the mean is the same in every order of the words.",
    ),
    equation(
        "permutation.repeat",
        "A word that is said c times",
        "b_j = frac{ c_j a_j }{ sum{ k=1 }{ n } c_k a_k }",
        "",
        [("beigy2024", "homework", "")],
        SETS,
        note="Equal words have equal scores. Only the proportions of the counts matter.",
    ),
)
