"""Recurrent encoders and decoders: one context, one context a word, Bahdanau's and Luong's attention."""

from __future__ import annotations

from viz.course.equations.form import Sign, both, equation, number, same, vector

BAHDANAU = ("bahdanau2015", "section 3", "")
SLIDES = ("beigy2021", "alignment of source and target", "")
LUONG = ("luong2015", "section 3", "")

SIGNS: dict[str, Sign] = {
    "x_i": vector(
        "d", "word embedding", "a row of the token table", "The vector of source word i.", "embed.token"
    ),
    "h_i": vector(
        "p", "encoder state", "the encoder's recurrence", "What the encoder knows after word i.", "hidden"
    ),
    "h_i-1": vector(
        "p",
        "state before",
        "the encoder's recurrence, one word earlier",
        "What the encoder knew one word before.",
        "hidden",
    ),
    "h_j": vector(
        "p",
        "encoder state",
        "the encoder's recurrence",
        "The encoder's state at source word j: what is mixed.",
        "hidden",
    ),
    "h_n": vector(
        "p", "last state", "the encoder's last step", "The state after the last word of the source.", "hidden"
    ),
    "W": same("p × p", "recurrent weights", "learned", "How the state before enters the new one."),
    "U": same("p × d", "input weights", "learned", "How the word enters the state."),
    "b": vector("p", "bias", "learned", "A constant added to each number of the state."),
    "c": vector(
        "p",
        "context vector",
        "the encoder's last state",
        "The one vector that carries the whole source.",
        "start.context",
    ),
    "c_i": vector(
        "p",
        "context vector",
        "Eq. (3)",
        "A weighted sum of all encoder states, computed anew for output word i.",
        "attn.context",
    ),
    "y_i": same("one word", "output word", "the decoder's choice", "The word that is written at step i."),
    "y_1": same("one word", "first output word", "the decoder's choice", "The first word that was written."),
    "y_i-1": same(
        "one word",
        "word before",
        "the decoder's choice one step earlier",
        "The word that was written last; the decoder reads it.",
    ),
    "l_i": vector(
        "p",
        "decoder state",
        "the decoder's recurrence",
        "The decoder's state at output word i; others call it s.",
        "hidden",
    ),
    "l_i-1": vector(
        "p",
        "decoder state before",
        "the decoder's recurrence",
        "The decoder's state before it writes word i: what asks.",
        "attn.q",
    ),
    "s_ij": number(
        "score", "Eq. (4)", "How well source word j fits what the decoder needs for word i.", "attn.scores"
    ),
    "s_ik": number(
        "score", "Eq. (4)", "The same for each source word k: all of them share the sum below.", "attn.scores"
    ),
    "a_ij": number(
        "attention weight",
        "Eq. (5)",
        "The share that source word j gets when word i is written; over j they sum to 1.",
        "attn.pattern",
    ),
    "n": number("source length", "the source", "The number of words of the source."),
    "C": Sign(
        "all context vectors",
        "p × m",
        "m × p",
        "Eq. (3), all steps at once",
        "One context vector for each output word.",
        "attn.context",
    ),
    "A": same(
        "m × n",
        "attention weights",
        "Eq. (5), all steps at once",
        "A row for each output word, a column for each source word; each row sums to 1.",
        "attn.pattern",
    ),
    "H": Sign(
        "all encoder states",
        "p × n",
        "n × p",
        "the encoder",
        "The states of all source words side by side.",
        "hidden",
    ),
}

BY_TIME: dict[str, Sign] = {
    "s_t": vector(
        "q", "decoder state", "the decoder's recurrence", "The decoder's state at step t.", "hidden"
    ),
    "s_t-1": vector(
        "q",
        "decoder state before",
        "the decoder's recurrence, one step earlier",
        "Bahdanau's query: the state before the word is written.",
        "attn.q",
    ),
    "h_i": vector(
        "p", "encoder state", "both directions side by side", "The annotation of source word i.", "attn.k"
    ),
    "h_j": vector(
        "p",
        "encoder state",
        "both directions side by side",
        "The annotation of each source word j of the sum.",
        "attn.k",
    ),
    "hfwd_i": vector(
        "p", "forward state", "the recurrence from left to right", "What was read up to word i.", "hidden"
    ),
    "hbwd_i": vector(
        "p",
        "backward state",
        "the recurrence from right to left",
        "What is read from the end back to word i.",
        "hidden",
    ),
    "y_t": same("one word", "output word", "the decoder's choice", "The word that is written at step t."),
    "y_t-1": same(
        "one word", "word before", "the decoder's choice one step earlier", "The word that was written last."
    ),
    "x_i": same("one word", "source word", "the source", "Word i of the source."),
    "c_t": vector(
        "p",
        "context vector",
        "the sum of weights times states",
        "What the source says to step t.",
        "attn.context",
    ),
    "alpha_t,i": number(
        "attention weight",
        "softmax of the scores",
        "The share of source word i when word t is written.",
        "attn.pattern",
    ),
    "n": number("source length", "the source", "The number of words of the source."),
    "v_a": vector(
        "u", "weights of the answer", "learned", "Turns the hidden layer of the score into one number."
    ),
    "W_a": same(
        "u × (q + p)",
        "weights of the score",
        "learned",
        "Reads decoder state and encoder state side by side.",
    ),
    "W_1": same(
        "u × q", "its part for the decoder state", "the first q columns of W_a", "What meets the query."
    ),
    "W_2": same(
        "u × p", "its part for the encoder state", "the other p columns of W_a", "What meets the key."
    ),
}

GLOBAL: dict[str, Sign] = {
    "h_t": vector(
        "p",
        "decoder state",
        "the decoder's recurrence",
        "Luong's query: the present state of the decoder.",
        "attn.q",
    ),
    "hbar_s": vector(
        "p",
        "encoder state",
        "the encoder's recurrence",
        "The state of source word s: key and value.",
        "attn.k",
    ),
    "hbar_j": vector(
        "p",
        "encoder state",
        "the encoder's recurrence",
        "The state of each source word of the sum.",
        "attn.k",
    ),
    "a_t": vector(
        "n", "all weights of a step", "the softmax", "One weight for each source word.", "attn.pattern"
    ),
    "a_ts": number(
        "attention weight",
        "the softmax, here times the Gaussian",
        "The share of source word s at step t.",
        "attn.pattern",
    ),
    "c_t": vector(
        "p",
        "context vector",
        "the sum of weights times states",
        "What the source says to step t.",
        "attn.context",
    ),
    "htilde_t": vector(
        "p", "attentional state", "context and state mixed", "What the output layer reads.", "mixed"
    ),
    "W_a": same("p × p", "weights of the score", "learned", "Lets different parts of query and key meet."),
    "W_c": same("p × 2p", "weights of the mix", "learned", "Reads context and state side by side."),
    "W_p": same("u × p", "weights of the centre", "learned", "The hidden layer that predicts where to look."),
    "v_p": vector("u", "weights of the centre", "learned", "Turns that hidden layer into one number."),
    "v_a": vector(
        "u", "weights of the answer", "learned", "Turns the hidden layer of the score into one number."
    ),
    "p_t": number(
        "centre",
        "predicted from the decoder's state",
        "The position in the source around which to look: a real number.",
        "attn.centre",
    ),
    "n": number("source length", "the source", "The number of words of the source."),
    "s": number("place", "counts the source words", "The position of a source word."),
    "sigma": number(
        "width", "half of the window's radius D", "How fast the weights fall off away from the centre."
    ),
    "D": number("radius of the window", "chosen", "So many words to each side are looked at."),
}
CONCAT = {"W_a": same("u × 2p", "weights of the score", "learned", "Reads both states side by side.")}
PLACES = {
    "W_a": same(
        "n × p",
        "weights of the positions",
        "learned",
        "A row for each position: n is the longest source it can serve.",
    )
}
WEIGHTS = "frac{ exp ( score ( %s , %s ) ) }{ sum{ j=1 }{ n } exp ( score ( %s , %s ) ) }"

EQUATIONS = (
    equation(
        "rnn.state",
        "A recurrent state",
        "h_i = tanh ( W h_i-1 + U x_i + b )",
        "h_i = tanh ( h_i-1 W ^T + x_i U ^T + b )",
        [("ghojogh2020", "section 2.2", "")],
        SIGNS,
        note="The slides draw it and print no formula.",
    ),
    equation(
        "rnn.context",
        "One context for the whole source",
        "c = h_n",
        "",
        [("ghojogh2020", "section 2.2", "")],
        SIGNS,
    ),
    equation(
        "seq2seq.probability",
        "The next word from one context",
        "P ( y_i | y_1 , … , y_i-1 ) = g ( y_i-1 , l_i , c )",
        "",
        both(1),
        SIGNS,
    ),
    equation(
        "attention.probability",
        "The next word from its own context",
        "P ( y_i | y_1 , … , y_i-1 ) = g ( y_i-1 , l_i , c_i )",
        "",
        both(2),
        SIGNS,
    ),
    equation(
        "attention.context",
        "The context of one output word",
        "c_i = sum{ j=1 }{ n } a_ij h_j",
        "",
        both(3),
        SIGNS,
    ),
    equation(
        "attention.similarity",
        "The score of a source word",
        "s_ij = similarity ( l_i-1 , h_j )",
        "",
        both(4),
        SIGNS,
    ),
    equation(
        "attention.softmax",
        "From scores to weights",
        "a_ij = frac{ exp ( s_ij ) }{ sum{ k=1 }{ n } exp ( s_ik ) }",
        "",
        both(5),
        SIGNS,
    ),
    equation(
        "attention.matrix",
        "All contexts at once",
        "C = H A ^T",
        "C = A H",
        [both(3)[0]],
        SIGNS,
        note="Eq. (3) for every output word together.",
    ),
    equation(
        "bahdanau.annotation",
        "Both directions joined",
        "h_i = [ hfwd_i ; hbwd_i ]",
        "h_i = [ hfwd_i , hbwd_i ]",
        [SLIDES, BAHDANAU],
        BY_TIME,
        {
            "h_i": vector(
                "2p",
                "encoder state",
                "both directions, one below the other",
                "The annotation of source word i: it sees both neighbours.",
                "hidden",
            )
        },
    ),
    equation(
        "bahdanau.state",
        "The decoder's next state",
        "s_t = f ( s_t-1 , y_t-1 , c_t )",
        "",
        [SLIDES, BAHDANAU],
        BY_TIME,
    ),
    equation(
        "bahdanau.context",
        "The context of step t",
        "c_t = sum{ i=1 }{ n } alpha_t,i h_i",
        "",
        [SLIDES, BAHDANAU],
        BY_TIME,
    ),
    equation(
        "bahdanau.weights",
        "Alignment as weights",
        "alpha_t,i = align ( y_t , x_i ) = " + WEIGHTS % ("s_t-1", "h_i", "s_t-1", "h_j"),
        "",
        [SLIDES, BAHDANAU],
        BY_TIME,
    ),
    equation(
        "bahdanau.split",
        "The additive score, written in two ways",
        "W_a [ s_t ; h_i ] = W_1 s_t + W_2 h_i",
        "[ s_t , h_i ] W_a ^T = s_t W_1 ^T + h_i W_2 ^T",
        [SLIDES],
        BY_TIME,
    ),
    equation(
        "luong.weights",
        "Global attention",
        "a_ts = align ( h_t , hbar_s ) = " + WEIGHTS % ("h_t", "hbar_s", "h_t", "hbar_j"),
        "",
        [SLIDES, LUONG],
        GLOBAL,
    ),
    equation(
        "luong.context",
        "The context of step t",
        "c_t = sum{ s=1 }{ n } a_ts hbar_s",
        "",
        [SLIDES, LUONG],
        GLOBAL,
    ),
    equation(
        "luong.dot",
        "Score: dot",
        "score ( h_t , hbar_s ) = h_t ^T hbar_s",
        "score ( h_t , hbar_s ) = h_t hbar_s ^T",
        [SLIDES, ("luong2015", "section 3.1", "Eq. (8)")],
        GLOBAL,
    ),
    equation(
        "luong.general",
        "Score: general",
        "score ( h_t , hbar_s ) = h_t ^T W_a hbar_s",
        "score ( h_t , hbar_s ) = h_t W_a hbar_s ^T",
        [SLIDES, ("luong2015", "section 3.1", "Eq. (8)")],
        GLOBAL,
    ),
    equation(
        "luong.concat",
        "Score: concat",
        "score ( h_t , hbar_s ) = v_a ^T tanh ( W_a [ h_t ; hbar_s ] )",
        "score ( h_t , hbar_s ) = tanh ( [ h_t , hbar_s ] W_a ^T ) v_a ^T",
        [SLIDES, ("luong2015", "section 3.1", "Eq. (8)")],
        GLOBAL,
        CONCAT,
    ),
    equation(
        "luong.location",
        "Weights from the position alone",
        "a_t = softmax ( W_a h_t )",
        "a_t = softmax ( h_t W_a ^T )",
        [SLIDES, ("luong2015", "section 3.1", "Eq. (9)")],
        GLOBAL,
        PLACES,
        note="No key at all: the words of the source do not matter.",
    ),
    equation(
        "luong.attentional",
        "What the output layer reads",
        "htilde_t = tanh ( W_c [ c_t ; h_t ] )",
        "htilde_t = tanh ( [ c_t , h_t ] W_c ^T )",
        [("luong2015", "section 3", "Eq. (5)")],
        GLOBAL,
    ),
    equation(
        "luong.centre",
        "Where local attention looks",
        "p_t = n · sigmoid ( v_p ^T tanh ( W_p h_t ) )",
        "p_t = n · sigmoid ( tanh ( h_t W_p ^T ) v_p ^T )",
        [SLIDES, ("luong2015", "section 3.2", "Eq. (9)")],
        GLOBAL,
    ),
    equation(
        "luong.gaussian",
        "Weights near the centre",
        "a_ts = align ( h_t , hbar_s ) · exp ( - frac{ ( s - p_t ) ^2 }{ 2 sigma ^2 } )",
        "",
        [SLIDES, ("luong2015", "section 3.2", "Eq. (10)")],
        GLOBAL,
    ),
    equation(
        "luong.width",
        "The width of the Gaussian",
        "sigma = frac{ D }{ 2 }",
        "",
        [("luong2015", "section 3.2", "")],
        GLOBAL,
    ),
)
