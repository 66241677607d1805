"""Matrices of the translator in whole steps, so that its attention stays within 0.001 of the exact one on sentences in 12 MB.

The error of each column is handed to the columns behind it, as far as the inputs of a calibration set make up for it (Frantar et al. 2022, "GPTQ").
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int16
from numpy.typing import NDArray

from core.data.texts import texts
from core.model import Model
from core.run import Run

STEPS = {
    "letters": 9600,
    "embed": 1400,
    "encoder_scores": 1400,
    "decoder_scores": 2400,
    "first": 1200,
    "encoder": 900,
    "decoder": 1250,
    "logits": 110,
}
"""Steps in one standard deviation of a row, more where the attention is sensitive: embeddings of tokens of one or two letters, of which strings
that are no words consist, and of others; queries and keys; the other matrices of the encoder's first layer, of the encoder and of the decoder;
matrices that only the logits depend on."""
EMBED = "embed.token.weight"
INPUTS = ("*.norm*.out", "*.final_norm.out", "*.heads", "*.ffn.act")
SHORT = 2
DAMPING = 0.01
"""Share of the mean second moment that is added to each."""
SENTENCES, STRINGS = 127, 24


def scales_of(
    name: str, values: Float[np.ndarray, "d_out d_in"], model: Model
) -> Float[np.ndarray, "d_out 1"]:
    """Return the step of each row: a power of two, so that the larger Float16 numbers stay exact."""
    spread = np.maximum(values.astype(np.float64).std(axis=1, keepdims=True), 1e-6)
    least = np.maximum(np.abs(values).max(axis=1, keepdims=True) / np.iinfo(np.int16).max, 1e-9)
    steps = np.array([STEPS[use] for use in _uses(name, model)])[:, None]
    return np.exp2(np.maximum(np.round(np.log2(spread / steps)), np.ceil(np.log2(least))))


def _uses(name: str, model: Model) -> Iterator[str]:
    """Yield for which of `STEPS` a matrix is, or each row of the embedding.

    >>> from core.checkpoints import open_model
    >>> translator = open_model("translator-en-es")
    >>> [next(_uses(name, translator)) for name in ("decoder.2.ffn.to_out.weight", "decoder.2.cross_attn.to_q.weight", "encoder.0.ffn.to_out.weight")]
    ['logits', 'decoder_scores', 'first']
    """
    if name == EMBED:
        for token in range(model.config.n_vocab):
            yield "letters" if len(model.tokenizer.decode([token]).strip()) <= SHORT else "embed"
    elif only_logits(name, model):
        yield "logits"
    else:
        stack, layer, *_ = name.split(".")
        sensitive = name.endswith(("to_q.weight", "to_k.weight"))
        first = stack == "encoder" and layer == "0"
        yield f"{stack}_scores" if sensitive else "first" if first else stack


def only_logits(name: str, model: Model) -> bool:
    """Return whether no attention depends on a matrix."""
    last = f"decoder.{model.config.decoder_layers - 1}."
    return name.startswith(tuple(last + part for part in ("ffn", "cross_attn.to_v", "cross_attn.to_out")))


def second_moments(model: Model) -> dict[str, Float[np.ndarray, "d_in d_in"]]:
    """Return the mean of x x^T of the inputs x of each matrix, over sentences and over strings of random letters; for the embedding the directions that are read."""
    moments: dict[str, NDArray[np.float64]] = {EMBED: _readers(model)}
    for text in calibration_texts():
        run, by_input = model.run(text, keep=INPUTS), dict[str, NDArray[np.float64]]()
        for name, value in model.network.named_parameters():
            if value.ndim == 2 and name != EMBED and not only_logits(name, model):
                path = _input_of(name)
                if path not in by_input:
                    x = _rows(run, path)
                    by_input[path] = x.T @ x / len(x)
                moments[name] = moments.get(name, 0) + by_input[path]
    return moments


def _readers(model: Model) -> Float[np.ndarray, "d_model d_model"]:
    """Return the mean of W^T W of the matrices W that read the residual stream, each times the gain of its norm: how much an error of an embedding counts in each direction."""
    weights = {name: value.detach().double().numpy() for name, value in model.network.named_parameters()}
    total = np.zeros((model.config.d_model, model.config.d_model))
    for name, value in weights.items():
        if value.ndim == 2 and name != EMBED and not only_logits(name, model) and ".norm" in _input_of(name):
            layer, norm = name.split(".")[:2], _input_of(name).split(".")[-2]
            seen = value * weights[".".join((*layer, norm, "weight"))]
            total += seen.T @ seen / np.sum(seen**2)
    return total


def calibration_texts() -> list[str]:
    """Return every other text of the battery, and strings of random letters."""
    chosen = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789äéïöüñçœÆøåЖλ日本語한ア€§±→.,;:!?()[]{}<>/\\|@#$%^&*_-+='\"`~"
    sentences = [sentence.text for sentence in texts("battery")][: 2 * SENTENCES : 2]
    return sentences + [
        " ".join(
            "".join(chosen.choices(letters, k=chosen.randint(1, 8))) for _ in range(chosen.randint(1, 3))
        )
        for _ in range(STRINGS)
    ]


def _input_of(name: str) -> str:
    """Return the path in a trace of a matrix's input.

    >>> [_input_of(f"decoder.1.{part}.weight") for part in ("self_attn.to_q", "cross_attn.to_k", "ffn.to_out")]
    ['decoder.layer.1.norm1.out', 'encoder.final_norm.out', 'decoder.layer.1.ffn.act']
    """
    stack, layer, part, matrix, _ = name.split(".")
    if matrix == "to_out":
        value = "ffn.act" if part == "ffn" else f"{part}.heads"
    elif part == "cross_attn" and matrix != "to_q":
        return "encoder.final_norm.out"
    else:
        norms = ("self_attn", "ffn") if stack == "encoder" else ("self_attn", "cross_attn", "ffn")
        value = f"norm{norms.index(part) + 1}.out"
    return f"{stack}.layer.{layer}.{value}"


def _rows(run: Run, path: str) -> Float[np.ndarray, "pos d_in"]:
    value = np.asarray(run.trace[path], np.float64)
    return value.transpose(1, 0, 2).reshape(value.shape[1], -1) if value.ndim == 3 else value


def in_steps(
    values: Float[np.ndarray, "d_out d_in"],
    scales: Float[np.ndarray, "d_out 1"],
    moment: Float[np.ndarray, "d_in d_in"] | None,
    block: int = 64,
) -> Int16[np.ndarray, "d_out d_in"]:
    """Return a matrix in steps of `scales`; with the second moments of its inputs each error is made up for in later columns."""
    if moment is None:
        return np.rint(values / scales).astype("<i2")
    damped = moment + DAMPING * np.mean(np.diag(moment)) * np.eye(len(moment))
    factor = np.linalg.cholesky(np.linalg.inv(damped)).T
    rest, out = values.astype(np.float64), np.empty(values.shape, "<i2")
    bounds = np.iinfo(np.int16)
    for start in range(0, len(moment), block):
        end = min(start + block, len(moment))
        errors = np.empty((len(values), end - start))
        for column in range(start, end):
            out[:, column] = np.clip(np.rint(rest[:, column] / scales[:, 0]), bounds.min, bounds.max)
            error = (rest[:, column] - out[:, column] * scales[:, 0]) / factor[column, column]
            rest[:, column:end] -= np.outer(error, factor[column, column:end])
            errors[:, column - start] = error
        rest[:, end:] -= errors @ factor[start:end, end:]
    return out
