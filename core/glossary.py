"""Every tensor name, axis, measure and method: the symbol on paper, the word for it, one sentence, where it stands.

Feeds tooltips, the Names page and a test that no recorded leaf is without an entry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One name as the trace and the code spell it: its symbol (LaTeX), a word for it, one sentence, where it stands."""

    name: str
    symbol: str
    word: str
    sentence: str
    where: str = ""
    said: str = ""
    """How a page says it besides: the beginning of other words for it."""


@dataclass(frozen=True)
class Letter:
    """A letter with several meanings: each meaning and who uses it so."""

    letter: str
    meanings: tuple[tuple[str, str], ...]


LEAVES: tuple[Term, ...] = (
    Term(
        "embed.token",
        "x",
        "token embedding",
        "A row of the embedding matrix for each token; in the Transformer times the square root of d_model.",
        "Vaswani et al. 2017, 3.4",
    ),
    Term(
        "embed.position",
        "p",
        "position embedding",
        "The vector of each position: sinusoids or a learned table.",
        "Ghojogh and Ghodsi 2020, Eq. (17)",
    ),
    Term(
        "embed.segment",
        "s",
        "segment embedding",
        "Which of two texts a token belongs to: one vector for the first, one for the second.",
        "Devlin et al. 2019, 3",
    ),
    Term(
        "embed.sum",
        "x + s + p",
        "sum of the three",
        "Token, segment and position added up, before BERT's norm.",
        "Devlin et al. 2019, Fig. 2",
    ),
    Term(
        "embed.out",
        "x + p",
        "input",
        "What enters the first layer: token plus position, in BERT plus segment and normed.",
        "Ghojogh and Ghodsi 2020, Eq. (18)",
    ),
    Term(
        "resid_in",
        "x",
        "residual stream",
        "The residual stream as a layer receives it.",
        "Elhage et al. 2021",
    ),
    Term(
        "resid_mid",
        "z + x",
        "residual stream",
        "The stream after attention was added, before any post-norm.",
        "Ghojogh and Ghodsi 2020, Eq. (23)",
    ),
    Term(
        "resid_cross",
        "z + x",
        "residual stream",
        "The stream after cross-attention was added, before any post-norm.",
        "Vaswani et al. 2017, 3.1",
    ),
    Term(
        "resid_out",
        "z''",
        "residual stream",
        "What the next layer receives.",
        "Ghojogh and Ghodsi 2020, Eq. (27)",
    ),
    Term(
        "norm1.out",
        "\\mathrm{LN}",
        "layer norm",
        "Layer norm of the first sub-layer: after the sum (post-norm) or before the sub-layer (pre-norm).",
        "Ba et al. 2016",
    ),
    Term("norm2.out", "\\mathrm{LN}", "layer norm", "Layer norm of the second sub-layer.", "Ba et al. 2016"),
    Term(
        "norm3.out",
        "\\mathrm{LN}",
        "layer norm",
        "Layer norm of the decoder's third sub-layer.",
        "Ba et al. 2016",
    ),
    Term(
        "final_norm.out",
        "\\mathrm{LN}",
        "final norm",
        "The norm after the last layer of a pre-norm stack.",
        "Radford et al. 2019",
    ),
    Term(
        "self_attn.q",
        "q_i = W_Q^\\top x_i",
        "query",
        "Queries: what each position asks.",
        "Ghojogh and Ghodsi 2020, Eq. (13)",
    ),
    Term(
        "self_attn.k",
        "k_i = W_K^\\top x_i",
        "key",
        "Keys: what each position answers to.",
        "Ghojogh and Ghodsi 2020, Eq. (14)",
    ),
    Term(
        "self_attn.v",
        "v_i = W_V^\\top x_i",
        "value",
        "Values: what each position contributes when it is attended to.",
        "Ghojogh and Ghodsi 2020, Eq. (15)",
    ),
    Term(
        "self_attn.scores",
        "s_{ij} = q_i \\cdot k_j / \\sqrt{p}",
        "scores",
        "How well key j fits query i, before the softmax.",
        "Ghojogh and Ghodsi 2020, Eq. (10)",
    ),
    Term(
        "self_attn.allowed",
        "M(i, j)",
        "mask",
        "The mask: True where query i may look at key j.",
        "Ghojogh and Ghodsi 2020, Eq. (29)",
    ),
    Term(
        "self_attn.pattern",
        "a_{ij}",
        "attention weights",
        "The attention weights: softmax of the allowed scores; each row sums to 1.",
        "Ghojogh and Ghodsi 2020, Eq. (8)",
    ),
    Term(
        "self_attn.heads",
        "z_i = \\sum_j a_{ij} v_j",
        "head output",
        "The output of a head: its weights times the values.",
        "Ghojogh and Ghodsi 2020, Eq. (6)",
    ),
    Term(
        "self_attn.out",
        "W_O^\\top [Z_1; \\dots; Z_h]",
        "attention output",
        "The heads merged and projected back to d_model.",
        "Ghojogh and Ghodsi 2020, Eq. (22)",
    ),
    Term(
        "ffn.pre",
        "W_1 x + b_1",
        "hidden layer",
        "The hidden layer of the feed-forward network before its activation.",
        "Vaswani et al. 2017, Eq. (2)",
    ),
    Term(
        "ffn.act",
        "\\mathrm{act}(\\cdot)",
        "activation",
        "The same after relu or gelu.",
        "Vaswani et al. 2017, Eq. (2)",
    ),
    Term(
        "ffn.out",
        "R",
        "feed-forward output",
        "What the feed-forward network adds to the stream.",
        "Ghojogh and Ghodsi 2020, Eq. (27)",
    ),
    Term(
        "inputs",
        "x_i",
        "layer input",
        "What a recurrent layer reads at each position: embeddings, or the states of the layer below; a context comes in beside it.",
        "Beigy 2021",
    ),
    Term(
        "hidden",
        "h_i, s_t",
        "hidden state",
        "The state of a recurrent layer after each word: h_i in the encoder (both directions side by side), s_t in the decoder.",
        "Ghojogh and Ghodsi 2020, Eq. (1)",
    ),
    Term(
        "cell",
        "c_t",
        "cell state",
        "What an LSTM keeps for itself: forget * old cell + input * candidate.",
        "Hochreiter and Schmidhuber 1997",
    ),
    Term(
        "input",
        "i_t",
        "input gate",
        "How much of the candidate an LSTM lets in, between 0 and 1.",
        "Hochreiter and Schmidhuber 1997",
    ),
    Term(
        "forget",
        "f_t",
        "forget gate",
        "How much of the old cell an LSTM keeps, between 0 and 1.",
        "Gers et al. 2000",
    ),
    Term(
        "candidate",
        "g_t",
        "candidate",
        "What an LSTM could write into its cell, between -1 and 1.",
        "Hochreiter and Schmidhuber 1997",
    ),
    Term(
        "output",
        "o_t",
        "output gate",
        "How much of its cell an LSTM shows, between 0 and 1.",
        "Hochreiter and Schmidhuber 1997",
    ),
    Term(
        "reset",
        "r_t",
        "reset gate",
        "How much of the old state a GRU uses for its new one.",
        "Cho et al. 2014",
    ),
    Term("update", "z_t", "update gate", "How much of the old state a GRU keeps.", "Cho et al. 2014"),
    Term("new", "n_t", "new state", "What a GRU could become, between -1 and 1.", "Cho et al. 2014"),
    Term(
        "start.context",
        "c = h_n",
        "context vector",
        "The one vector that carries the whole source to the decoder's first state.",
        "Ghojogh and Ghodsi 2020, Eq. (1)",
    ),
    Term(
        "attn.q",
        "s_{t-1}, s_t",
        "query",
        "The decoder state that asks: the one before (Bahdanau) or the present one (Luong).",
        "Bahdanau et al. 2015; Luong et al. 2015",
    ),
    Term(
        "attn.k",
        "h_j",
        "key",
        "The encoder states as they are compared with the query.",
        "Bahdanau et al. 2015, 3.1",
    ),
    Term("attn.v", "h_j", "value", "The encoder states as they are mixed.", "Bahdanau et al. 2015, 3.1"),
    Term(
        "attn.scores",
        "s_{ij}",
        "scores",
        "How well source word j fits the decoder's state, before the softmax.",
        "Ghojogh and Ghodsi 2020, Eq. (4)",
    ),
    Term(
        "attn.allowed",
        "M(i, j)",
        "mask",
        "True where the decoder may look: no padding and, in local attention, inside the window.",
        "Luong et al. 2015, 3.2",
    ),
    Term(
        "attn.centre",
        "p_t",
        "window centre",
        "The source position around which local attention looks, counted from 0; a real number where it is predicted.",
        "Luong et al. 2015, Eq. (9)",
    ),
    Term(
        "attn.align",
        "\\mathrm{align}(h_t, \\bar h_s)",
        "alignment",
        "The softmax inside the window, before the Gaussian.",
        "Luong et al. 2015, Eq. (10)",
    ),
    Term(
        "attn.gaussian",
        "e^{-(s-p_t)^2 / 2\\sigma^2}",
        "Gaussian",
        "The factor that favours words near the centre; sigma is half the window.",
        "Luong et al. 2015, Eq. (10)",
    ),
    Term(
        "attn.pattern",
        "a_{ij}",
        "alignment weights",
        "What mixes the source: softmax of the allowed scores, in local attention times the Gaussian (then the row sums to less than 1).",
        "Ghojogh and Ghodsi 2020, Eq. (5)",
    ),
    Term(
        "attn.heads",
        "c_i = \\sum_j a_{ij} h_j",
        "context",
        "The context vector of each written word, with the axis of its one head.",
        "Ghojogh and Ghodsi 2020, Eq. (3)",
    ),
    Term(
        "attn.context",
        "c_i",
        "context",
        "The context vector of each written word.",
        "Ghojogh and Ghodsi 2020, Eq. (3)",
    ),
    Term(
        "mixed",
        "\\tilde h_t",
        "attentional state",
        "What the output layer reads: context and state mixed, tanh(W [c; s]); with input feeding it also enters the next step.",
        "Luong et al. 2015, Eq. (5)",
    ),
    Term(
        "masked_lm.pre",
        "W z + b",
        "masked-LM head",
        "The last layer's output through the linear map of the masked-LM head.",
        "Devlin et al. 2019, 3.1",
    ),
    Term(
        "masked_lm.act",
        "\\mathrm{gelu}(\\cdot)",
        "masked-LM head",
        "The same after gelu.",
        "Devlin et al. 2019, 3.1",
    ),
    Term(
        "masked_lm.norm.out",
        "\\mathrm{LN}",
        "masked-LM head",
        "The same after its norm: what is compared with the token table.",
        "Devlin et al. 2019, 3.1",
    ),
    Term(
        "pooler.pre",
        "W z_0 + b",
        "pooler",
        "A linear map of the first token's last state, before tanh.",
        "Devlin et al. 2019, 3.1",
    ),
    Term(
        "pooler.out",
        "\\tanh(\\cdot)",
        "pooled output",
        "One vector for the whole input: the first token's last state, mapped and squashed.",
        "Devlin et al. 2019, 3.1",
    ),
    Term(
        "next_sentence",
        "c",
        "next sentence",
        "Two scores: the second text follows the first, or comes from elsewhere.",
        "Devlin et al. 2019, 3.1",
    ),
    Term(
        "classes",
        "W h_{cls}",
        "class scores",
        "A score for each class, from the last state of the first token.",
        "Devlin et al. 2019, 4.1",
    ),
    Term(
        "tags",
        "W h_i",
        "tag scores",
        "A score for each tag, from the last state of each token.",
        "Devlin et al. 2019, 5.3",
    ),
    Term(
        "answer",
        "w_s h_i, w_e h_i",
        "answer scores",
        "For each token, how well the answer starts and how well it ends there.",
        "Devlin et al. 2019, 4.2",
    ),
    Term(
        "logits",
        "W z + b",
        "logits",
        "A logit for every token of the vocabulary; the softmax of all is the prediction.",
        "Ghojogh and Ghodsi 2020, 3.3.3",
    ),
)

AXES: tuple[Term, ...] = (
    Term("batch", "B", "batch", "Texts side by side in one pass."),
    Term(
        "head",
        "i = 1 \\dots h",
        "head",
        "One of the attentions that a layer has side by side: with queries, keys and values of its own it looks in its own way. L3.H5 is head 5 of layer 3, both counted from 0; the sources count from 1.",
    ),
    Term("query", "i", "query", "The position that attends: a row of the attention pattern."),
    Term("key", "j", "key", "The position attended to: a column of the attention pattern."),
    Term("pos", "i", "position", "A position of the sequence."),
    Term("d_model", "d", "width", "The width of the residual stream."),
    Term("d_head", "p, r, d_k", "head width", "The width of one head: of its queries, keys and values."),
    Term(
        "d_ff",
        "d_{\\mathrm{ff}}",
        "inner width",
        "The width of the hidden layer of the feed-forward network.",
    ),
    Term(
        "d_hidden",
        "p, q",
        "state width",
        "The width of one recurrent state; half of d_model where an encoder has two directions.",
    ),
    Term("vocab", "V", "vocabulary", "The tokens of the model."),
    Term("class", "y", "class", "The answers of a small head: is next or is not, good or bad."),
    Term("tag", "t", "tag", "The labels that a head gives to each word: noun, verb, ..."),
    Term("edge", "s, e", "edge", "The two ends of an answer: index 0 its first token, index 1 its last."),
    Term("layer", "N, L", "layer", "The layers of a stack, counted from 0."),
)

METHODS: tuple[Term, ...] = (
    Term(
        "surprisal",
        "-\\log_2 p",
        "surprisal",
        "How unexpected a token is: minus the logarithm of the probability that the model gave it, in bits to base 2, in nats to base e.",
        "Shannon 1948",
    ),
    Term(
        "entropy",
        "-\\sum_j p_j \\log_2 p_j",
        "entropy",
        "How spread a distribution is: the mean surprisal of what is drawn from it. 0 is certainty; n equal probabilities have log₂ n bits.",
        "Shannon 1948",
    ),
    Term(
        "cross_entropy",
        "-\\tfrac{1}{n} \\sum_t \\log p_t",
        "cross-entropy",
        "The mean surprisal of the tokens that are right: the loss that training lowers.",
        "Shannon 1948",
    ),
    Term(
        "perplexity",
        "2^{H}",
        "perplexity",
        "2 to the power of the entropy, or cross-entropy, in bits: so many equally probable tokens would be as uncertain.",
        "Jelinek et al. 1977",
    ),
    Term(
        "divergence",
        "\\mathrm{JS}(a, b)",
        "Jensen-Shannon divergence",
        "How far two distributions are apart: the entropy of their mean less the mean of their entropies. 0 bits: they are equal; 1 bit: nothing in common.",
        "Lin 1991",
        "JS divergence",
    ),
    Term(
        "logit_lens",
        "W_U\\, \\mathrm{LN}(x^{\\ell})",
        "logit lens",
        "The residual stream after a layer, read by the final norm and the output layer as if it were the last: what the model would say at that depth.",
        "nostalgebraist 2020",
    ),
    Term(
        "attribution",
        "\\sum_c W_U\\, c / \\sigma",
        "direct logit attribution",
        "A logit as the sum of what each part of the model wrote towards it into the residual stream, the scale of the final norm held fixed.",
        "Elhage et al. 2021",
    ),
    Term(
        "ablation",
        "z_i \\to 0, \\; z_i \\to \\bar z_i",
        "ablation",
        "A part's output is replaced by zeros (zero-ablation) or by its mean over other texts (mean-ablation), and the rest runs on: what changes is the part's effect.",
        "Michel et al. 2019; Wang et al. 2022",
        "ablat",
    ),
    Term(
        "patching",
        "x \\to x^{\\mathrm{clean}}",
        "activation patching",
        "An activation of one run is put into another run: how much of the difference between the two outputs comes back says what is carried there.",
        "Vig et al. 2020; Meng et al. 2022",
    ),
    Term(
        "cache",
        "K_{\\le t},\\; V_{\\le t}",
        "KV cache",
        "The keys and values of all tokens read so far, kept: the next token then costs one query, and nothing is read again.",
        "Shazeer 2019",
    ),
)

LETTERS: tuple[Letter, ...] = (
    Letter(
        "p",
        (
            ("size of queries and keys", "Ghojogh and Ghodsi, Beigy"),
            ("size of the context vector; size in the complexity table", "Ghojogh and Ghodsi"),
            ("p_i: the vector of position i", "Ghojogh and Ghodsi"),
            ("p_t: the predicted source position of local attention", "Beigy 2021"),
            ("rows of a memory", "Beigy 2021"),
        ),
    ),
    Letter(
        "h",
        (
            ("number of heads", "all"),
            ("h_i: hidden state of an encoder", "Ghojogh and Ghodsi, Beigy"),
            ("one hidden unit in layer norm", "Ghojogh and Ghodsi"),
        ),
    ),
    Letter(
        "n",
        (
            ("number of words", "all"),
            ("length of source and target alike", "Ghojogh and Ghodsi"),
            ("size of the vectors, in the table of scores", "Beigy 2021"),
        ),
    ),
    Letter(
        "k",
        (
            ("a key, k_j", "all"),
            ("the context window of GPT", "Beigy 2024"),
            ("index of a sum, and half of an even dimension", "Ghojogh and Ghodsi, Beigy"),
        ),
    ),
    Letter("S", (("the corpus of GPT's objective", "Beigy 2024"), ("the matrix of scores", "this atlas"))),
    Letter(
        "M",
        (("the mask", "Ghojogh and Ghodsi"), ("M_t: the memory of a neural Turing machine", "Beigy 2021")),
    ),
    Letter("V", (("the values", "all"), ("size of the vocabulary", "Beigy 2024"))),
    Letter(
        "H",
        (
            ("number of hidden units in layer norm", "Ghojogh and Ghodsi"),
            ("hidden size of BERT and ALBERT", "Beigy 2024"),
        ),
    ),
)


def term(name: str) -> Term:
    """The entry of an axis, a measure or a method.

    >>> term("head").word, term("cache").word
    ('head', 'KV cache')
    """
    return next(entry for entry in (*AXES, *METHODS) if entry.name == name)


def spoken(text: str) -> tuple[Term, ...]:
    """The measures and methods that a text speaks of.

    >>> [term.word for term in spoken("JS divergence 0.2 bits; a surprisal of 3 bits. Both heads were zero-ablated.")]
    ['surprisal', 'Jensen-Shannon divergence', 'ablation']
    """
    return tuple(
        term
        for term in METHODS
        if re.search(
            rf"(?<![\w-]){re.escape(term.word)}\b" + (rf"|\b{term.said}" if term.said else ""),
            text,
            re.IGNORECASE,
        )
    )


def leaf(path: str) -> Term | None:
    """The entry of a recorded path: `decoder.layer.2.cross_attn.q` finds `self_attn.q`.

    >>> leaf("decoder.layer.2.cross_attn.pattern").symbol
    'a_{ij}'
    """
    path = path.replace("cross_attn", "self_attn")
    return next((term for term in LEAVES if path == term.name or path.endswith("." + term.name)), None)
