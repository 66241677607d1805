"""A long text through bigbird-mini: the attention of a head by blocks, and predictions of masked words with either mask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from core.errors import InputError
from core.layers.block_sparse import PARTS
from core.model import Model
from core.models import Batch
from core.scoring.cost import with_full_attention
from core.serving.engine import default
from core.training.recipes.bigbird_mini import RECIPE
from viz.course.bert.sparse_attention.maths import attention_by_part, by_block
from viz.labels import shorten
from viz.widgets import engine_client

MODEL = RECIPE.name
EVERY = 7
"""One of this many tokens is masked."""


@dataclass(frozen=True, eq=False)
class Read:
    """One head over the text: `blocks` (query key) its weights by blocks, `allowed` the blocks that it reads.

    names: the first words of each block. attention_by_part: the share of the attention on each part. n_tokens: the number of
    tokens in the text, of which not all may be read.
    """

    model: str
    n: int
    n_tokens: int
    block: int
    blocks: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    names: tuple[str, ...]
    attention_by_part: Mapping[str, float]


@dataclass(frozen=True)
class Guessed:
    """Of n masked tokens: the number predicted correctly with the blocks, with all pairs, and the number of equal predictions."""

    n: int
    blocks: int
    full: int
    same: int


def model() -> Model:
    return default().open(MODEL)


def fitting(reader: Model, text: str) -> tuple[str, int]:
    """Return the part of the text that the model reads at once, and the number of tokens of the whole. Raises InputError for no
    word."""
    encoded, most = reader.tokenizer.encode(text), reader.config.n_ctx - 2
    if not encoded.ids:
        raise InputError("There is no word.", "This step reads a text, and a long one best.", "Paste a text.")
    spans = [span for span in encoded.spans[:most] if span]
    return (text if len(encoded.ids) <= most else text[: spans[-1][1]]), len(encoded.ids)


def reading(text: str, layer: int, head: int) -> Read:
    """Return one head of one layer over the text."""
    key = ("sparse_attention.reading", model().name, text, layer, head)
    return engine_client.submit(
        key, lambda: _reading(text, layer, head), RECIPE.config.n_layers * min(len(text), 5000)
    )


def _reading(text: str, layer: int, head: int) -> Read:
    reader = model()
    part, given = fitting(reader, text)
    path = f"layer.{layer}.self_attn"
    run = reader.run(part, keep=(f"{path}.pattern", f"{path}.allowed.*"))
    pattern, block = run.trace[f"{path}.pattern"][head], reader.config.block
    parts = {name: run.trace[f"{path}.allowed.{name}"][head] for name in PARTS}
    cuts = range(0, len(pattern), block)
    names = [shorten(" ".join(run.tokens[at : at + 4]).replace(" ##", ""), 22) for at in cuts]
    allowed = np.logical_or.reduce([parts[name] for name in PARTS])[::block, ::block]
    return Read(
        reader.name,
        len(pattern),
        given,
        block,
        by_block(pattern, block),
        allowed,
        tuple(f"{place}: {name}" for place, name in enumerate(names)),
        attention_by_part(pattern, parts),
    )


def guesses(text: str) -> Guessed:
    """Mask every seventh token, all at once, and count the right predictions with the blocks alone and with all pairs."""
    key = ("sparse_attention.guesses", model().name, text)
    return engine_client.submit(
        key, lambda: _guesses(text), 2 * RECIPE.config.n_layers * min(len(text), 5000)
    )


def _guesses(text: str) -> Guessed:
    reader = model()
    ids = np.array(reader.tokenizer.encode(fitting(reader, text)[0]).ids)
    places = np.arange(EVERY // 2, len(ids), EVERY) if len(ids) > EVERY // 2 else np.array([len(ids) - 1])
    hidden = ids.copy()
    hidden[places] = reader.tokenizer.mask
    row = torch.tensor([[reader.tokenizer.start, *hidden.tolist(), reader.tokenizer.end]])
    batch = Batch(ids=row, real=torch.ones_like(row, dtype=torch.bool))
    said = []
    with torch.inference_mode():
        for network in (reader.network, with_full_attention(reader).network):
            states = network(batch)[0, places + 1]
            said.append(network.logits(states[None])[0].argmax(-1).numpy())
    blocks, full = (int((each == ids[places]).sum()) for each in said)
    return Guessed(len(places), blocks, full, int((said[0] == said[1]).sum()))
