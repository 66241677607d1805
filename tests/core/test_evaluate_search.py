"""The searches that a translator is measured with, against slow ones that are plainly right."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from deep import deep
from test_evaluate import END, START, model, sources, tokenizer

from core.layers.cache import Cache
from core.model import Model
from core.models import Batch
from core.models.transformer import Transformer
from core.run.batched import beam, greedy
from core.scoring import translation
from core.trace import OFF, Tap


def log_p(model: Model, source: list[int], written: list[int]) -> torch.Tensor:
    """One sentence, no cache, no padding: log-probabilities of what comes after START + written."""
    ids, seen = torch.tensor([[START, *written]]), torch.tensor([source])
    batch = Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool), source=seen)
    with torch.inference_mode():
        return model.network.logits(model.network(batch))[0, -1].log_softmax(-1)


def slow_beam(model: Model, source: list[int], width: int, limit: int, alpha: float) -> list[int]:
    """Beam search as one writes it on paper: one sentence, every prefix read anew."""
    opened, finished = [(0.0, ())], []
    while len(finished) < width and len(opened[0][1]) < limit:
        grown = []
        for score, written in opened:
            for token, gain in enumerate(log_p(model, source, list(written)).tolist()):
                grown.append((score + gain, (*written, token)))
        grown.sort(key=lambda item: -item[0])
        finished += [(score / len(w) ** alpha, w[:-1]) for score, w in grown[:width] if w[-1] == END]
        opened = [(score, w) for score, w in grown if w[-1] != END][:width]
    return list(max(finished or opened, key=lambda item: item[0])[1])


class Restless(Transformer):
    """Scores that jump from step to step: searches part and end at many lengths. A plain one repeats a token."""

    def logits(self, hidden: torch.Tensor, tap: Tap = OFF) -> torch.Tensor:
        return 2 * (200 * super().logits(hidden, tap)).sin()


def restless(seed: int, n_vocab: int = 13, n_ctx: int = 17) -> Model:
    plain = model("transformer", seed=seed)
    network = Restless(replace(plain.config, n_vocab=n_vocab, n_ctx=n_ctx))
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    return replace(
        plain, config=network.cfg, network=network.double()
    )  # what rounding does is not the question here


@pytest.mark.parametrize(
    ("seed", "alpha", "width"), deep(product(range(2, 8), (0.0, 1.0), (1, 2, 4)), [(2, 0.0, 4), (2, 1.0, 2)])
)
def test_beam_equals_a_slow_search(width, alpha, seed):
    tiny = restless(seed)
    lengths, limits = [3, 7, 5], [4, 9, 12]
    batch = sources(tiny, lengths, seed)
    with torch.inference_mode():
        found = beam(tiny.network, batch, width=width, start=START, end=END, limit=limits, alpha=alpha)
    expected = [
        slow_beam(tiny, batch.source[row, :n].tolist(), width, limit, alpha)
        for row, (n, limit) in enumerate(zip(lengths, limits, strict=True))
    ]
    assert found == expected


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(6))
def test_width_one_is_greedy_and_greedy_is_argmax(seed):
    tiny = restless(seed)
    lengths = [2, 5, 7]
    batch = sources(tiny, lengths, seed)
    with torch.inference_mode():
        found = greedy(tiny.network, batch, start=START, end=END, limit=[6, 0, 11])
        assert beam(tiny.network, batch, width=1, start=START, end=END, limit=[6, 0, 11]) == found
    for row, (n, limit) in enumerate(zip(lengths, [6, 0, 11], strict=True)):
        assert found[row] == slow_beam(tiny, batch.source[row, :n].tolist(), 1, limit, 1.0)


@pytest.mark.parametrize("decode", [greedy, translation.beam_search])
def test_a_batch_gives_what_each_sentence_gives_alone(decode):
    tiny = restless(0, len(tokenizer()), n_ctx=99)
    texts = ["the cat", "a dog, a cat and the sea", "it", "the sun sat on the mat.", ""]
    alone = [translation.translate(tiny, [text], decode)[0] for text in texts]
    assert translation.translate(tiny, texts, decode) == alone
    assert len(set(alone)) > 2


def test_translate_agrees_with_a_run_without_target():
    tiny = model("transformer", n_ctx=150)
    assert translation.translate(tiny, ["the cat sat"])[0] == tiny.run("the cat sat", keep=()).target_text


@pytest.mark.parametrize("width", [0, 300])
def test_an_impossible_width_is_named(width):
    tiny = model("transformer")
    with pytest.raises(ValueError, match=f"width={width}"):
        beam(tiny.network, sources(tiny, [3]), width=width, start=START, end=END, limit=3)


def test_a_reordered_cache_goes_on_with_the_chosen_rows():
    tiny = model("transformer")
    batch, rows = sources(tiny, [5, 5, 5]), torch.tensor([2, 0, 0])
    ids = torch.tensor([[START, 5, 9], [START, 7, 4], [START, 8, 6]])
    real = torch.ones_like(ids, dtype=torch.bool)
    cache = Cache(tiny.config.n_layers)
    with torch.inference_mode():
        memory = tiny.network.encode(batch)
        tiny.network(replace(batch, ids=ids[:, :2], real=real[:, :2]), cache=cache, memory=memory)
        cache.reorder(rows)
        chosen = replace(batch, ids=ids[rows], real=real, source=batch.source[rows])
        found = tiny.network(
            replace(chosen, ids=ids[rows, 2:], real=real[:, 2:]), cache=cache, memory=memory[rows]
        )
        expected = tiny.network(chosen)[:, 2:]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
