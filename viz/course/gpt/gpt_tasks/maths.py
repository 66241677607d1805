"""A text as a tuned GPT reads it: its rows, the vector at Extract and its attention, the head's output, and the text's own loss.

Radford et al. 2018, 3.2 and 3.3: P(y | x) = softmax(h W_y) with h at Extract, L_2 = ln P(y | x), L_1 the sum of the ln P of the tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.data import gpt_inputs
from core.data.gpt_inputs import HeadOutput, head_output
from core.errors import InputError
from core.model import Model
from core.trace import Recorder
from core.training.finetune.gpt_finetune_tasks import collate, encode_rows
from core.training.finetune.gpt_tuning import mark_ids

Array = np.ndarray
LONGEST = 64
"""Tokens of one row that are still looked at here."""


@dataclass(frozen=True, eq=False)
class Extracted:
    """Output of a tuned GPT for one example, row by row.

    `tokens` are the rows as names (the marks by theirs), `looks` each (layer, head, pos) the attention from Extract, `logprobs` each (n,) the
    ln P of the tokens of the texts, whose positions are `places`; `vectors` (row, d) are the vectors at Extract after the last layer.
    """

    task: str
    tokens: tuple[tuple[str, ...], ...]
    vectors: Array
    looks: tuple[Array, ...]
    logprobs: tuple[Array, ...]
    places: tuple[tuple[int, ...], ...]
    output: HeadOutput

    @property
    def n_tokens(self) -> int:
        """Count the tokens of the texts of all rows."""
        return sum(map(len, self.places))

    @property
    def text(self) -> float:
        """Return L_1 as a mean over the tokens, in nats."""
        return float(sum(each.sum() for each in self.logprobs)) / self.n_tokens

    def label(self, right: int) -> float:
        """Return L_2 of the right label, in nats."""
        return float(np.log(self.output.probabilities[right]))


def extracted(model: Model, task: str, texts: Sequence[str]) -> Extracted:
    """Read one example of a task with a model that was tuned to it.

    Raises InputError for texts that the task does not take, an empty one, or rows of more than LONGEST tokens.
    """
    gpt_inputs.check_text_count(task, len(texts))
    if not all(text.strip() for text in texts):
        raise InputError(
            "A text is empty.",
            "Each text and each answer needs at least one word.",
            "Type something in every box.",
        )
    own = mark_ids(model)
    rows = encode_rows(model.tokenizer, task, texts, own)
    longest = max(map(len, rows))
    if longest > LONGEST:
        raise InputError(
            f"A row has {longest:,} tokens.",
            f"Rows of up to {LONGEST} tokens are drawn here.",
            "Shorten the text.",
        )
    batch = collate([(rows, 0)], own)
    tap = Recorder(("layer.*.self_attn.pattern",))
    with torch.inference_mode():
        hidden = model.network(batch.batch, tap=tap)
        logprobs = model.network.logits(hidden).double().log_softmax(-1)
    trace = tap.close()
    patterns = np.stack(
        [trace.numpy(f"layer.{layer}.self_attn.pattern") for layer in range(model.config.n_layers)], axis=1
    )
    ends = gpt_inputs.extract_positions(rows)
    vectors = np.stack([hidden[row, end].double().numpy() for row, end in enumerate(ends)])
    places = tuple(tuple(place for place, index in enumerate(row) if index not in own) for row in rows)
    head = model.network.to_classes
    return Extracted(
        task,
        tuple(
            tuple(
                gpt_inputs.SPECIAL_TOKENS[own.index(index)] if index in own else model.tokenizer.token(index)
                for index in row
            )
            for row in rows
        ),
        vectors,
        tuple(patterns[row, :, :, end, : end + 1] for row, end in enumerate(ends)),
        tuple(
            logprobs[row, [place - 1 for place in at], [rows[row][place] for place in at]].numpy()
            for row, at in enumerate(places)
        ),
        places,
        head_output(task, vectors, head.weight.double().numpy(), head.bias.double().numpy()),
    )
