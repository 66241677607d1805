"""Errata on BERT: predicted positions, the axis of the softmax, masked tokens, the sum of the loss."""

from __future__ import annotations

import math

import numpy as np
import torch

from core.data.passages import MASKED, REDRAWN, SHARE, hide
from core.models import Batch
from core.models.bert import BERT, BERTConfig
from core.trace import Recorder
from viz.course.errata._draws import filled, gap, normal
from viz.course.errata.entry import Evidence, Panel, erratum
from viz.course.shared.masks import softmax
from viz.number_text import in_brackets, small_difference


def _read(network: BERT, ids: list[int]) -> dict[str, torch.Tensor]:
    """Return the output of each block for one text, and that of the last as "hidden"."""
    given = torch.tensor([ids])
    tap = Recorder(("*.resid_out",))
    hidden = network(Batch(ids=given, real=given >= 0), tap)
    trace = tap.close()
    return {path: trace[path] for path in trace} | {"hidden": hidden}


@erratum("E19")
def top_predicts() -> Evidence:
    network = filled(BERT(BERTConfig.tiny()), spread=2)
    found = _read(network, [1, 2, 3, 5, 7])
    logits = network.logits(found["hidden"])
    apart = [gap(network.logits(found[f"layer.{i}.resid_out"]), logits) for i in range(len(network.layers))]
    numbers = {f"block_{i}": value for i, value in enumerate(apart, start=1)}
    sentence = (
        f"A BERT of {len(apart)} blocks drawn once. The head on the output of block {len(apart)} differs from the model's own logits by "
        f"{small_difference(apart[-1])}, on the output of the first block by up to {apart[0]:.2f}."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "Distance from the model's logits",
                [[v] for v in apart],
                tuple(f"block {i + 1}" for i in range(len(apart))),
                ("distance",),
                "bars",
                2,
            ),
        ),
    )


@erratum("E22")
def over_positions() -> Evidence:
    n, h = 6, 16
    scores = normal(n, h) @ normal(h, start=1)
    alone, right = softmax(scores[:, None])[:, 0], softmax(scores)
    numbers = {
        "alone_least": float(alone.min()),
        "alone_sum": float(alone.sum()),
        "right_sum": float(right.sum()),
    }
    sentence = (
        f"{n} tokens: the softmax of each token's one number is {in_brackets(alone, 1)}; over the positions the weights are "
        f"{in_brackets(right, 2)}, and sum to {right.sum():.1f}."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "Probability that the answer starts here",
                np.array([alone, right]),
                ("as printed", "right"),
                tuple(f"token {i + 1}" for i in range(n)),
                "weights",
            ),
        ),
    )


@erratum("E23")
def one_label_or_many() -> Evidence:
    n, h, tags = 6, 16, 3
    states, weight = normal(n, h), normal(h, tags, start=1)
    whole, each = softmax(states[:1] @ weight), softmax(states @ weight)
    numbers = {
        "labels_printed": float(len(whole)),
        "labels_right": float(len(each)),
        "row": float(each[0].sum()),
    }
    sentence = (
        f"{n} tokens, {tags} tags: from [CLS] come {whole.shape[0]} × {whole.shape[1]} probabilities, one label for all; tagging needs "
        f"{each.shape[0]} × {each.shape[1]}, each row a distribution."
    )
    names = tuple(f"tag {i + 1}" for i in range(tags))
    return Evidence(
        numbers,
        sentence,
        (
            Panel("As printed", whole, ("[CLS]",), names, "weights"),
            Panel("Tagging", each, tuple(f"token {i + 1}" for i in range(n)), names, "weights"),
        ),
    )


@erratum("E24")
def likelihoods() -> Evidence:
    likely = np.array([0.1, 0.5, 0.9])
    loss = -np.log(likely)
    numbers = {f"loss_{p}": float(value) for p, value in zip(likely, loss, strict=True)}
    sentence = f"As the likelihood of the right word rises, {in_brackets(likely, 1)}, the loss falls, {in_brackets(loss, 3)}."
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "Likelihood and loss",
                np.array([likely, loss]).T,
                ("poor guess", "even", "good guess"),
                ("likelihood", "loss"),
                "bars",
                3,
            ),
        ),
    )


@erratum("E25")
def what_is_masked() -> Evidence:
    n, rows, mask = 10_000, 10, 1
    ids = np.full((rows, n // rows), 2, dtype=np.int64)
    given, chosen = hide(
        ids, np.zeros_like(ids, dtype=bool), np.random.default_rng(0), mask=mask, drawable=np.arange(3, 1000)
    )
    parts = {
        "[MASK]": int((given == mask).sum()),
        "random words": int((given >= 3).sum()),
        "left alone": int((chosen & (given == ids)).sum()),
    }
    wanted = {
        "[MASK]": SHARE * MASKED * n,
        "random words": SHARE * REDRAWN * n,
        "left alone": SHARE * (1 - MASKED - REDRAWN) * n,
    }
    numbers = {f"drawn_{name}": float(v) for name, v in parts.items()} | {
        f"expected_{name}": v for name, v in wanted.items()
    }
    sentence = (
        f"Of {n:,} tokens {', '.join(f'{v:.0f} {name}' for name, v in wanted.items())} are expected; the routine that trained bert-mini "
        f"drew {', '.join(f'{v} {name}' for name, v in parts.items())}. {int(chosen.sum()):,} are in the loss."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "Tokens",
                [[wanted[name], parts[name]] for name in parts],
                parts,
                ("expected", "drawn"),
                "bars",
                0,
            ),
        ),
    )


@erratum("E37")
def product() -> Evidence:
    sequences, tokens, steps, corpus, printed = 256, 512, 1_000_000, 3.3e9, 128_000
    right = sequences * tokens
    numbers = {
        "tokens": float(right),
        "epochs": right * steps / corpus,
        "epochs_printed": printed * steps / corpus,
    }
    sentence = (
        f"{sequences} × {tokens} = {right:,}. {steps:,} steps over {corpus / 1e9:.1f} billion words are {numbers['epochs']:.1f} epochs, "
        f"and {numbers['epochs_printed']:.1f} with {printed:,}."
    )
    return Evidence(numbers, sentence)


@erratum("E56")
def bank() -> Evidence:
    sentences = (
        [1, 4, 5, 6, 7, 9, 8, 2],
        [1, 4, 10, 11, 12, 9, 13, 2],
    )  # 9 is the word, at the same place in both
    place, places = sentences[0].index(9), {row.index(9) for row in sentences}
    config = BERTConfig(
        n_layers=2,
        n_heads=4,
        d_model=64,
        d_ff=256,
        n_vocab=29,
        n_ctx=17,
        masked_lm=False,
        pooler=False,
        next_sentence=False,
    )
    start, wide = 0.02, 0.2
    numbers = {
        f"spread_{spread}": _cosine_of_contexts(config, sentences, place, spread) for spread in (start, wide)
    } | {"places": float(len(places))}
    sentence = (
        f"Two sentences, the word at position {place} in both, a random BERT with {config.n_layers} layers: drawn with a spread of "
        f"{start}, as BERT starts, the cosine of its two vectors is {numbers[f'spread_{start}']:.6f}; with {wide} it is "
        f"{numbers[f'spread_{wide}']:.3f}."
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                "Cosine of the two vectors",
                [[numbers[f"spread_{s}"]] for s in (start, wide)],
                (f"spread {start}", f"spread {wide}"),
                ("cosine",),
                "bars",
                6,
            ),
        ),
    )


def _cosine_of_contexts(
    config: BERTConfig, sentences: tuple[list[int], ...], place: int, spread: float
) -> float:
    """Return the cosine of the vectors at `place` after the last layer, all weights sampled with that spread."""
    network, lot = BERT(config).double().requires_grad_(False), np.random.default_rng(0)
    for name, weight in network.named_parameters():
        if weight.ndim > 1:
            weight.copy_(torch.from_numpy(lot.normal(0, spread, tuple(weight.shape))))
        elif name.endswith("bias"):
            weight.zero_()
    one, other = (_read(network, ids)["hidden"][0, place].numpy() for ids in sentences)
    return float(one @ other / math.sqrt(float(one @ one) * float(other @ other)))
