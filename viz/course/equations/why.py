"""Why attention: weighting, a linear encoder and decoder, word vectors."""

from __future__ import annotations

from viz.course.equations.form import Sign, equation, matrix, number, same, vector

SURVEY = ("ghojogh2020", "section 2.1", "")

SIGNS: dict[str, Sign] = {
    "a_i": number("weight", "the softmax", "The share of part i; all shares sum to 1."),
    "s_i": number(
        "importance", "chosen, or a score", "How much part i matters, before the softmax; any number."
    ),
    "s_j": number("importance", "chosen, or a score", "The same for each part j of the sum."),
    "n": number("number of parts", "the data", "How many words, or regions of a picture, there are."),
    "x": vector("d", "input", "the data", "What is encoded: d numbers."),
    "c": vector(
        "p",
        "context vector",
        "the encoder",
        "The point in the hidden space: p numbers, fewer than d.",
        "start.context",
    ),
    "xhat": vector("d", "reconstruction", "the decoder", "What comes back out of the hidden space."),
    "W_enc": same("p × d", "encoder", "learned", "From the input to the hidden space."),
    "W_dec": same("d × p", "decoder", "learned", "From the hidden space back."),
    "X": matrix("d", "n", "all inputs", "the data", "One input a column; in PyTorch one a row."),
    "Xhat": matrix("d", "n", "all reconstructions", "encoder and decoder", "What comes back for each input."),
    "sigma_i": number(
        "singular value",
        "the data X",
        "How much of the data lies along direction i; sorted, the largest first.",
    ),
    "p": number("size of the hidden space", "chosen", "How many numbers the context vector holds."),
    "d": number("size of the input", "the data", "How many numbers one input has."),
    "x_king": vector(
        "d",
        "vector of king",
        "a table of word vectors",
        "One vector a word, whatever stands around it.",
        "embed.token",
    ),
    "x_man": vector("d", "vector of man", "a table of word vectors", "Taken away.", "embed.token"),
    "x_woman": vector("d", "vector of woman", "a table of word vectors", "Added.", "embed.token"),
    "x_queen": vector(
        "d",
        "vector of queen",
        "a table of word vectors",
        "The word whose vector lies nearest to the result.",
        "embed.token",
    ),
    "u": vector("d", "a vector", "a table of word vectors", "One of the two that are compared."),
    "w": vector("d", "a vector", "a table of word vectors", "The other one."),
}

EQUATIONS = (
    equation(
        "weighting.softmax",
        "Scores become weights",
        "a_i = frac{ exp ( s_i ) }{ sum{ j=1 }{ n } exp ( s_j ) }",
        "",
        [("ghojogh2020", "section 1", "")],
        SIGNS,
        note="Ghojogh and Ghodsi 2020 say it in words; the formula is that of Eq. (8).",
    ),
    equation("autoencoder.code", "Into the hidden space", "c = W_enc x", "c = x W_enc ^T", [SURVEY], SIGNS),
    equation("autoencoder.decode", "And back", "xhat = W_dec c", "xhat = c W_dec ^T", [SURVEY], SIGNS),
    equation(
        "autoencoder.error",
        "What is lost, at best",
        "|| X - Xhat || ^2 = sum{ i=p+1 }{ d } sigma_i ^2",
        "",
        [("eckart1936", "", "")],
        SIGNS,
        note="No linear encoder and decoder of size p can lose less.",
    ),
    equation(
        "vectors.analogy",
        "Arithmetic with words",
        "x_king - x_man + x_woman ~= x_queen",
        "",
        [("ghojogh2023", "word vectors", "")],
        SIGNS,
    ),
    equation(
        "vectors.cosine",
        "How alike two directions are",
        "cosine ( u , w ) = frac{ u ^T w }{ || u || || w || }",
        "cosine ( u , w ) = frac{ u w ^T }{ || u || || w || }",
        [("ghojogh2023", "word vectors", "")],
        SIGNS,
    ),
)
