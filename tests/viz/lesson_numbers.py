"""Which number each step of an exhibit is about, as the words around it on the page; and where 0, 1, all or a tie is meant.

`{}` stands for the number, `…` for whatever stands between. A step that asks for a number, or whose answers each have
one, is about that number and needs no line here.
"""

from __future__ import annotations

from collections.abc import Callable

NUMBERS: dict[str, dict[int, str]] = {
    "weighting": {
        2: "“Leonardo” gets {}, “portrait” {},",
        3: "“Leonardo” gets {}, “portrait” {},",
        4: "Together they hold {} of the attention",
        5: "{} is on the face and {} on the hair",
    },
    "autoencoder": {2: "in the list {} come out right", 3: "French {},", 4: "of all 26 letters {} is lost"},
    "bottleneck": {
        1: "{} of {} letters are right",
        2: "{} letters became {} numbers",
        3: "” at {};",
        4: "From one vector {} of … are right, with attention {}.",
        5: "20 letters: {} and {};",
        6: "LSTM {}, GRU {}.",
    },
    "alignment": {
        2: "{} numbers computed from",
        3: "its weight is … = {};",
        4: "” ({}). Position with",
        5: "= {} and $c_{i}$",
        6: "is {} on average. The query of luong",
    },
    "word_vectors": {3: "These two directions keep {} of"},
    "score_functions": {2: "with {} on one key; the plain cosine gives its best key {}.", 4: "gives C {},"},
    "scaling": {
        1: "their variance is {},",
        2: "takes {} of all weight, scaled {}.",
        3: "entropy is {} … and {}",
    },
    "soft_and_hard": {
        1: "weighs most, {}.",
        2: "weighs most, {}.",
        3: "with a probability of {}",
        4: "draws is {} away",
        5: "exactly {}, from",
    },
    "hierarchy": {3: "” {} × {} = {},"},
    "luong": {
        1: "with {}.",
        2: "{} of the weight, ",
        3: "softmax {} × Gaussian {} =",
        4: "{} nats per token instead of {}.",
    },
    "self_attention": {
        1: "{} question marks",
        3: "{} weights serve {} words",
        4: "gives it {} of its attention",
        5: "becomes ({},",
        6: "= ({},",
    },
    "masks": {
        2: "= {} “",
        3: "last word {} of the {} outputs",
        4: "largest weights on … {};",
        6: "gives {} to",
    },
    "many_heads": {
        1: "= {} numbers",
        2: "{} of {} keep their index",
        3: "head 1 attends most to … ({}), head 2",
        5: "by up to {}:",
        6: "One head loses {},",
    },
    "heads_compared": {
        1: "gives {} of its attention to",
        2: ": {} bits per row",
        3: "gives {}, … {}, a difference",
        4: "gives {} of the attention … it gives {} to",
        5: "from {} to {}. All heads",
    },
    "permutation": {
        1: "position by position it is {}.",
        2: "gives … {} before",
        3: "{} of 6 rows keep their numbers; without positions it was {}",
        5: "change by up to {}.",
        6: "{} of {} rows keep",
    },
    "convolution_and_attention": {3: "(convolutions alone {}, attention alone {})"},
    "positions": {
        1: "{} of their length apart with positions, {} without",
        3: "nearest two {} apart;",
        4: "are at {}°",
    },
    "walk_through": {3: "{} in head", 5: "boxes to … {}."},
    "residual_norm": {
        1: "Number 1: {} +",
        2: "the signal is {} times",
        3: "Without sums: {} nats instead of {}.",
        4: "dividing by σ = {}:",
        5: "changes {} of {} words under layer norm",
        6: "at the start {} times",
    },
    "feed_forward": {
        2: "{} get more than 0",
        3: "switches on {}, … {}.",
        4: "of the attention by up to {}.",
        5: "cosine {};",
        6: "{} of its layer",
    },
    "encoder": {
        2: "leaves with {}.",
        3: "before any layer is {} on average",
        4: "the largest is {}:",
        5: "after L2 {} and",
        6: "counted in the network: {}.",
    },
    "cross_attention": {
        1: "{} × {} =",
        2: "{} queries meet {} keys",
        3: "L1: Q {},",
        5: "by up to {} when padding",
        6: "has {} parameters; without",
    },
    "training_and_inference": {
        1: "the mean loss is {} nats",
        3: "Training: {} pass. Inference: {} passes.",
        5: "has the largest, {},",
        6: "Greedy: … = {}. The most probable text: … = {}.",
    },
    "complexity": {
        1: "{} for self-attention, {} for recurrence",
        2: "self-attention is {} times",
        4: "are {} kB; … are {} kB.",
        5: "attention {} ms, LSTM {} ms",
    },
    "bert_input": {
        1: "{} lookups in a vocabulary of {},",
        2: "tokens, {} unknown. bert-mini's …: … tokens, {} unknown",
        4: "their sum {}.",
    },
    "masked_words": {2: "predicted with {})", 6: "{} epochs"},
    "sentence_pairs": {1: "P(IsNext) = {}, P(NotNext) = {}", 2: "P(IsNext) = {}."},
    "cls_and_pairs": {4: "[CLS] has {} of it"},
    "spans_and_tags": {
        1: "most probable at … {}; end",
        2: "= {}: “",
        5: "{} of the answers were right at step 0, {} at the end",
    },
    "frozen_or_full": {
        2: "frozen {}, ",
        3: "Frozen: … from {} to {}, recorded before. Full fine-tuning",
        5: "output “… {}”. Full fine-tuning",
    },
    "show_attend_tell": {7: "{} of {} filters"},
    "sparse_attention": {
        3: "Longest path between two blocks, in layers: window {}, window + random {},",
        4: "n = 4,096: {} ms for all pairs, {} ms for the blocks;",
    },
    "bank": {3: "account for {} of the variance"},
    "next_token": {2: "blocks of {} parameters"},
    "gpt_tasks": {1: "The vector of {} numbers", 2: "reads the vectors at positions {},"},
    "prompting": {1: "One set of {} weights", 4: "Mean share of the right answer: {},"},
    "families": {
        1: "GPT {} of {},",
        2: "GPT {} of {},",
        3: "GPT has {} such pairs, BERT {}.",
        4: "From the left {}, from the right",
    },
}

NONE = {
    "word_vectors 1": "words placed by hand: 0 and 1 are their coordinates",
    "retrieval 1": "a database says 0 or 1: that is its lesson",
    "score_functions 3": "that some weights do not change at all is the lesson",
    "show_attend_tell 2": "that (nearly) all of the weight is on the thing that the word names is the lesson",
    "show_attend_tell 3": "where printed numbers come from is the lesson",
    "show_attend_tell 5": "captions as cards to judge",
    "show_attend_tell 6": "captions and weights as they are printed elsewhere",
    "scaling 5": "that it is no number is the lesson",
    "self_attention 2": "the vectors of one word are shown, whatever they are",
    "permutation 4": "that two means are the same up to rounding is the lesson",
    "elmo 4": "that both products are one number is the lesson",
    "positions 5": "that learned places are as ordered as the sinusoids is the lesson",
    "positional_encoding 1": "one picture without steps; its question names the numbers",
    "walk_through 2": "shows which word stands where",
    "gpt_tasks 5": "a curve with a button; its question names the numbers",
    "families 5": "a table of what the steps before counted",
}
"""Steps that are about no number that could be trivial, and why."""

MEANT = {
    "induction.both": "that hardly anything is left without the first layer is what was measured",
    "masks.leak": "all right, where nothing can be known, is the leak",
    "bank.whole": "that no sentence finds the one that means the same is what was measured",
    "prompting.long": "that nothing longer than what it learned from comes out right is what was measured",
    "picture_as_words.class": "that the class token attends to the lines and hardly to the ground is what was measured",
}
"""Numbers that are 0 or everything, and why that is the lesson."""

EDGES: dict[str, tuple[str, Callable[..., float], tuple[float, ...]]] = {
    "show_attend_tell.filters": ("{} of {}. The others", lambda some, n: some / n, (1 / 3, 2 / 3)),
    "bottleneck.right": ("{} of {}:", lambda right, n: right / n, (0.5,)),
    "luong.cost": (
        "{} nats per token with the whole source, {} with D",
        lambda whole, near: near - whole,
        (-0.02, 0.25),
    ),
    "heads_compared.off": ("multiplied by {};", float, (0.5, 0.9, 1.1)),
    "residual_norm.long": ("has length {}, the added one {}:", lambda word, added: added / word, (0.5, 1.5)),
    "residual_norm.fares": (
        "The loss of gpt-mini on the next token is {} nats (a uniform guess: {}). What is the loss without the residual sums? {} nats",
        lambda kept, blind, bare: bare / blind,
        (1.0,),
    ),
    "gpt_tasks.helps": ("{} against {},", lambda both, plain: both / plain, (1.0,)),
}
"""Questions whose answers are ranges of a number: where question and reason say it, and where one range ends and the next begins."""

EXACT = {
    "counted": (
        "hierarchy.sum",
        "retrieval.rows",
        "self_attention.count",
        "masks.moved",
        "masks.count",
        "heads_compared.first",
        "permutation.mask",
        "feed_forward.alone",
        "cross_attention.shape",
        "cross_attention.less",
        "complexity.more",
        "sparse_attention.path.window",
        "cls_and_pairs.arrives",
        "frozen_or_full.count",
        "gpt_tasks.rows",
        "families.open",
        "families.moves",
        "families.places",
        "families.heard",
        "families.two",
        "prompting.help",
        "show_attend_tell.caption",
        "show_attend_tell.judge",
        "show_attend_tell.printed",
    ),
    "equal to the last bit, or changed": (
        "score_functions.turn",
        "many_heads.redraw",
        "permutation.first",
        "permutation.set",
        "positions.first",
        "positional_encoding.guess",
        "cross_attention.moves",
    ),
    "how it is built": (
        "weighting.share",
        "scaling.spread",
        "scaling.overflow",
        "soft_and_hard.first",
        "soft_and_hard.path",
        "masks.guess",
        "many_heads.first",
        "training_and_inference.shift",
        "bert_input.cut",
        "next_token.gone",
        "gpt_tasks.place",
        "spans_and_tags.crossed",
        "word_vectors.hand",
        "self_attention.which",
    ),
    "written by the model": ("prompting.written",),
    "the same by the product rule": ("elmo.joint",),
    "the same by the closed form (k − 1) / k": ("many_heads.several",),
}
"""Questions of which no two answers can be nearly as good, and why."""
