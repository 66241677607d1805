"""What the documents only name: models and methods with one honest line each, the seven "attend and ..." tasks, and
the two ways of writing a word, as a column or as a row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """A name in the documents: one line on it, where it was published, the pages nearest to it (slugs, the best first)."""

    name: str
    sentence: str
    paper: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """One of the tasks called "attend and ...": what it does, who is query, key and value, who published it."""

    name: str
    does: str
    query: str
    key: str
    value: str
    paper: str


@dataclass(frozen=True)
class Bridge:
    """One thing as a column (the documents) and as a row (PyTorch), and how to get from one to the other."""

    thing: str
    columns: str
    rows: str
    bridge: str


NAMED: tuple[Named, ...] = (
    Named(
        "n-gram",
        "Predicts a word from the few words before it, by counting; it has no vectors and no attention.",
        "Shannon 1948",
        ("decode",),
    ),
    Named(
        "word2vec",
        "Learns one vector a word from its neighbours; the vector is the same in every sentence.",
        "Mikolov et al. 2013",
        ("word_vectors",),
    ),
    Named(
        "Hidden Markov model",
        "A chain of hidden states of which each emits a word; used for tagging before neural networks.",
        "Baum and Petrie 1966",
        ("bottleneck",),
    ),
    Named(
        "Conditional random field",
        "Scores a whole row of tags at once, so that neighbouring tags can agree.",
        "Lafferty et al. 2001",
        ("bottleneck",),
    ),
    Named(
        "Recurrent network",
        "Reads word by word and keeps one state; all that it remembers must fit in it.",
        "Elman 1990",
        ("bottleneck", "alignment"),
    ),
    Named(
        "Florence",
        "A large model of pictures and their captions, trained on pairs from the web; named as an example of size.",
        "Yuan et al. 2021",
    ),
    Named(
        "PaLM, trained with Pathways",
        "A language model of 540 billion parameters. PaLM is the model, Pathways the system that it was trained on.",
        "Chowdhery et al. 2022",
        ("decode",),
    ),
    Named(
        "Masked autoencoder (MAE)",
        "Hides most patches of a picture and learns to paint them in again: BERT's blanks, for pictures.",
        "He et al. 2021",
        ("look",),
    ),
    Named(
        "Megatron-LM",
        "Shows how to split one Transformer over many graphics cards; its GPT had 8 billion parameters.",
        "Shoeybi et al. 2019",
        ("decode",),
    ),
    Named(
        "Turing-NLG",
        "A language model of 17 billion parameters that was announced, not published.",
        "Microsoft 2020",
        ("decode",),
    ),
    Named(
        "Dropout",
        "Sets random numbers to zero while training. A mask also sets to zero, but always the same places.",
        "Srivastava et al. 2014",
        ("masks",),
    ),
    Named(
        "Maximum mean discrepancy",
        "Measures how far two sets of data lie apart; one way to bring two domains together in one hidden space.",
        "Gretton et al. 2007",
        ("autoencoder",),
    ),
    Named(
        "ResNet",
        "Adds the input of a block to its output; from there the Transformer has its residual sums.",
        "He et al. 2016",
        ("inside",),
    ),
    Named(
        "Batch normalization",
        "Norms each number over the texts of a batch; layer norm does it over the numbers of one word.",
        "Ioffe and Szegedy 2015",
        ("inside",),
    ),
    Named(
        "Area attention",
        "Lets a query look at whole areas of neighbouring keys, and not at single ones only.",
        "Li et al. 2019",
        ("retrieval",),
    ),
    Named(
        "The transformers library of Hugging Face",
        "Code and weights of most published models. We test against it and do not need it to run.",
        "Wolf et al. 2019",
        ("models",),
    ),
    Named(
        "Survey of vision Transformers",
        "A list of what came after the Vision Transformer; the slides of 2024 send the reader there.",
        "Islam 2022",
    ),
)

TASKS: tuple[Task, ...] = (
    Task(
        "Show, attend and tell",
        "Writes a caption for a picture.",
        "the caption so far (state of the decoder)",
        "regions of the picture",
        "the same regions",
        "Xu et al. 2015",
    ),
    Task(
        "Protect, show, attend and tell",
        "Writes captions, and hides a mark of the owner in the network.",
        "the caption so far, with the owner's key in it",
        "regions of the picture",
        "the same regions",
        "Lim et al. 2020",
    ),
    Task(
        "Show, attend and read",
        "Reads the text in a picture.",
        "the letters read so far",
        "regions of the picture",
        "the same regions",
        "Li et al. 2019",
    ),
    Task(
        "Show, attend and translate",
        "Turns one picture into a related one.",
        "what is to be changed",
        "places of the given picture",
        "the same places",
        "Zhang et al. 2018; Yang et al. 2019",
    ),
    Task(
        "Show, ask, attend and answer",
        "Answers a question about a picture.",
        "the question",
        "regions of the picture",
        "the same regions",
        "Kazemi and Elqursh 2017",
    ),
    Task(
        "Show, attend and interact",
        "Lets a robot choose what to do with the people in front of it.",
        "what the robot has seen so far",
        "regions of the camera's picture",
        "the same regions",
        "Qureshi et al. 2017",
    ),
    Task(
        "Listen, attend and spell",
        "Writes down speech, letter by letter.",
        "the letters written so far",
        "stretches of sound",
        "the same stretches",
        "Chan et al. 2015, 2016",
    ),
)

BRIDGES: tuple[Bridge, ...] = (
    Bridge("all words", "X, d × n: a word is a column", "x, (n, d): a word is a row", "x = X.T"),
    Bridge(
        "projection",
        "q_i = W_Q^T x_i, with W_Q d × p",
        "q = x @ W_Q; nn.Linear(d, p).weight is (p, d)",
        "weight = W_Q.T",
    ),
    Bridge("queries, keys, values", "Q and K p × n, V r × n", "q and k (n, p), v (n, r)", "turn them round"),
    Bridge(
        "scores", "S = Q^T K, n × n", "S = q @ k.T, (n, n)", "the same matrix: row i asks, column j answers"
    ),
    Bridge("weights", "softmax over each row", "softmax(dim=-1)", "the same matrix"),
    Bridge("output", "Z = V A^T, r × n", "z = A @ v, (n, r)", "z = Z.T"),
    Bridge(
        "heads, merged",
        "h matrices r × n, one below the other: hr × n",
        "(h, n, r) to (n, h, r) to (n, h·r)",
        "swap head and word, then flatten",
    ),
    Bridge(
        "output projection",
        "Z_t = W_O^T [Z_1; …; Z_h], with W_O hr × d",
        "out_proj.weight is (d, h·r)",
        "weight = W_O.T",
    ),
    Bridge(
        "causal mask",
        "M(i, j) = 0 for j ≤ i, else −∞",
        "torch.triu(full(−inf), diagonal=1)",
        "the same matrix",
    ),
    Bridge("positions", "d × L", "(L, d)", "turn it round"),
)
