"""Around attention: positions, residual sums, layer norm, the feed-forward network, the last softmax."""

from __future__ import annotations

from viz.course.equations.form import Sign, both, equation, matrix, number, same, vector

SIGNS: dict[str, Sign] = {
    "x_i": vector(
        "d", "word vector", "the token table", "Word i, then with its position added.", "embed.out"
    ),
    "p_i": vector("d", "position vector", "Eq. (17)", "The vector of position i.", "embed.position"),
    "i": number("position", "counts the words", "The position of the word."),
    "j": number("pair of dimensions", "counts the pairs", "Dimensions 2j and 2j + 1 turn together."),
    "d": number(
        "size of a word vector", "the model", "In the exponent; Ghojogh and Ghodsi 2020 print p there."
    ),
    "X": matrix(
        "d",
        "n",
        "the words as they came in",
        "the layer below",
        "One word a column; in PyTorch one a row.",
        "resid_in",
    ),
    "Z_t": matrix(
        "d", "n", "attention output", "Eq. (22)", "What attention adds to the words.", "self_attn.out"
    ),
    "Z'_t": matrix(
        "d", "n", "after the first sum", "Eq. (23)", "The words with what attention added.", "resid_mid"
    ),
    "Z''_t": matrix(
        "d", "n", "after the second sum", "Eq. (27)", "The words with what the network added.", "resid_out"
    ),
    "R": matrix(
        "d",
        "n",
        "output of the network",
        "the feed-forward network, for each word by itself",
        "What the network adds to the words.",
        "ffn.out",
    ),
    "h_i": number(
        "one number of a word", "the sum before the norm", "Here h is one hidden unit, not an encoder state."
    ),
    "g": number("gain", "learned", "Stretches the normed number again."),
    "mu": number("mean", "Eq. (25)", "The mean of the H numbers of the word."),
    "sigma": number("deviation", "Eq. (26)", "The root of the mean square distance from the mean."),
    "H": number("number of hidden units", "the model", "How many numbers a word has."),
    "x": vector("d", "a word", "the layer", "One word; the network sees no other.", "resid_mid"),
    "W_1": same("d_ff × d", "first weights", "learned", "From the word to the inner layer.", "ffn.pre"),
    "b_1": vector("d_ff", "first bias", "learned", "A constant for each inner unit."),
    "W_2": same("d × d_ff", "second weights", "learned", "Back to the size of a word.", "ffn.out"),
    "b_2": vector("d", "second bias", "learned", "A constant for each number of the word."),
    "P": vector(
        "V", "probabilities", "softmax of the logits", "One for each word of the vocabulary.", "logits"
    ),
    "z": vector("d", "last state", "the last layer", "The last layer's output at the position.", "resid_out"),
    "W": same("V × d", "output weights", "learned", "A row for each word of the vocabulary."),
    "b": vector("V", "output bias", "learned", "A constant for each word."),
}
ANGLE = "frac{ i }{ 10000 ^{ 2j / d } }"

EQUATIONS = (
    equation(
        "positions.sinusoid",
        "Positions as waves",
        f"lines{{ p_i ( 2j ) = sin ( {ANGLE} ) }}{{ p_i ( 2j + 1 ) = cos ( {ANGLE} ) }}",
        "",
        both(17),
        SIGNS,
        note="The survey prints p in the exponent, the slides d; d is right.",
    ),
    equation("positions.add", "A word and its position", "x_i <- x_i + p_i", "", both(18), SIGNS),
    equation("residual.first", "The first sum", "Z'_t <- Z_t + X", "", both(23), SIGNS),
    equation("norm.apply", "Layer norm", "h_i <- frac{ g }{ sigma } ( h_i - mu )", "", both(24), SIGNS),
    equation("norm.mean", "Its mean", "mu = frac{ 1 }{ H } sum{ i=1 }{ H } h_i", "", both(25), SIGNS),
    equation(
        "norm.deviation",
        "Its deviation",
        "sigma = sqrt{ frac{ 1 }{ H } sum{ i=1 }{ H } ( h_i - mu ) ^2 }",
        "",
        both(26),
        SIGNS,
        note="Printed without 1/H under the root.",
    ),
    equation("ffn.residual", "The second sum", "Z''_t <- R + Z'_t", "", both(27), SIGNS),
    equation(
        "ffn.inside",
        "The feed-forward network",
        "FFN ( x ) = W_2 relu ( W_1 x + b_1 ) + b_2",
        "FFN ( x ) = relu ( x W_1 ^T + b_1 ) W_2 ^T + b_2",
        [("vaswani2017", "section 3.3", "Eq. (2)")],
        SIGNS,
    ),
    equation(
        "output.softmax",
        "The next word",
        "P = softmax ( W z + b )",
        "P = softmax ( z W ^T + b )",
        [("ghojogh2020", "section 3.3.3", "")],
        SIGNS,
    ),
)
