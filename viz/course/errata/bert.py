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
from viz.languages import _, mark
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
    sentence = _(
        "A BERT of {n} blocks drawn once. The head on the output of block {n} differs from the model's own logits by {top}, on the output of the first block by up to {first:.2f}.",
        n=len(apart),
        top=small_difference(apart[-1]),
        first=apart[0],
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Distance from the model's logits"),
                [[v] for v in apart],
                tuple(_("block {i}", i=i + 1) for i in range(len(apart))),
                (_("distance"),),
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
    sentence = _(
        "{n} tokens: the softmax of each token's one number is {alone}; over the positions the weights are {right}, and sum to {total:.1f}.",
        n=n,
        alone=in_brackets(alone, 1),
        right=in_brackets(right, 2),
        total=right.sum(),
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Probability that the answer starts here"),
                np.array([alone, right]),
                (_("as printed"), _("right")),
                tuple(_("token {i}", i=i + 1) for i in range(n)),
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
    sentence = _(
        "{n} tokens, {tags} tags: from [CLS] come {whole_rows} × {whole_columns} probabilities, one label for all; tagging needs {each_rows} × {each_columns}, each row a distribution.",
        n=n,
        tags=tags,
        whole_rows=whole.shape[0],
        whole_columns=whole.shape[1],
        each_rows=each.shape[0],
        each_columns=each.shape[1],
    )
    names = tuple(_("tag {i}", i=i + 1) for i in range(tags))
    return Evidence(
        numbers,
        sentence,
        (
            Panel(_("As printed"), whole, ("[CLS]",), names, "weights"),
            Panel(_("Tagging"), each, tuple(_("token {i}", i=i + 1) for i in range(n)), names, "weights"),
        ),
    )


@erratum("E24")
def likelihoods() -> Evidence:
    likely = np.array([0.1, 0.5, 0.9])
    loss = -np.log(likely)
    numbers = {f"loss_{p}": float(value) for p, value in zip(likely, loss, strict=True)}
    sentence = _(
        "As the likelihood of the right word rises, {likely}, the loss falls, {loss}.",
        likely=in_brackets(likely, 1),
        loss=in_brackets(loss, 3),
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Likelihood and loss"),
                np.array([likely, loss]).T,
                (_("poor guess"), _("even"), _("good guess")),
                (_("likelihood"), _("loss")),
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
        mark("random words"): int((given >= 3).sum()),
        mark("left alone"): int((chosen & (given == ids)).sum()),
    }
    wanted = {
        "[MASK]": SHARE * MASKED * n,
        mark("random words"): SHARE * REDRAWN * n,
        mark("left alone"): SHARE * (1 - MASKED - REDRAWN) * n,
    }
    numbers = {f"drawn_{name}": float(v) for name, v in parts.items()} | {
        f"expected_{name}": v for name, v in wanted.items()
    }
    sentence = _(
        "Of {n:,} tokens {wanted} are expected; the routine that trained bert-mini drew {parts}. {chosen:,} are in the loss.",
        n=n,
        wanted=", ".join(f"{v:.0f} {_(name)}" for name, v in wanted.items()),
        parts=", ".join(f"{v} {_(name)}" for name, v in parts.items()),
        chosen=int(chosen.sum()),
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Tokens"),
                [[wanted[name], parts[name]] for name in parts],
                map(_, parts),
                (_("expected"), _("drawn")),
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
    sentence = _(
        "{sequences} × {tokens} = {right:,}. {steps:,} steps over {corpus:.1f} billion words are {epochs:.1f} epochs, and {epochs_printed:.1f} with {printed:,}.",
        sequences=sequences,
        tokens=tokens,
        right=right,
        steps=steps,
        corpus=corpus / 1e9,
        epochs=numbers["epochs"],
        epochs_printed=numbers["epochs_printed"],
        printed=printed,
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
    sentence = _(
        "Two sentences, the word at position {place} in both, a random BERT with {n_layers} layers: drawn with a spread of {start}, as BERT starts, the cosine of its two vectors is {spread_start:.6f}; with {wide} it is {spread_wide:.3f}.",
        place=place,
        n_layers=config.n_layers,
        start=start,
        spread_start=numbers[f"spread_{start}"],
        wide=wide,
        spread_wide=numbers[f"spread_{wide}"],
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Cosine of the two vectors"),
                [[numbers[f"spread_{s}"]] for s in (start, wide)],
                (_("spread {start}", start=start), _("spread {wide}", wide=wide)),
                (_("cosine"),),
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
