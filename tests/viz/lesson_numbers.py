"""Which answers to questions are ranges of a number, and where 0, 1, all or a tie is meant: `{}` stands for the number.

That the number of a step says something is its promise (test_promises.py).
"""

from __future__ import annotations

from collections.abc import Callable

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
