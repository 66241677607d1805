"""Direct logit attribution: what embedding, heads and feed-forward layers each added to one logit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from core.abilities import ASKABLE
from core.analysis.attribution.target_token import OutputTarget, read_positions
from core.analysis.one_line import OneLine
from core.errors import InputError
from core.layers.norm import RMSNorm
from core.layers.task_head import BENDS, POOLS
from core.model import Model
from core.models import ENTERS, LEAVES, Kind
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray

KEEP = (ENTERS, LEAVES, "*.heads", "*.out|*.gated", "*embed.*", "|".join(ASKABLE))
"""The values that a run must keep for this."""


@dataclass(frozen=True, repr=False)
class Attribution(OneLine):
    """The contribution of each part to a logit: rows of the embedding by name, heads and the bias of W_O by
    kind, feed-forward, and `rest`, the biases of norms and output layer. `logit` is the run's own.
    Where a layer has another part than a feed-forward network, feed_forward is that part's contribution, and `layer_part` its name.
    """

    embedding: Mapping[str, float]
    heads: Mapping[str, Float[Array, "layer head"]]
    biases: Mapping[str, Float[Array, " layer"]]
    feed_forward: Float[Array, " layer"]
    rest: float
    logit: float
    layer_part: str = "feed-forward"

    @property
    def total(self) -> float:
        """Return the sum of all parts."""
        attention = sum(self.attention(kind).sum() for kind in self.heads)
        return float(sum(self.embedding.values()) + attention + self.feed_forward.sum() + self.rest)

    def attention(self, kind: str) -> Float[Array, " layer"]:
        """Return the contribution of each layer's attention, all heads and the bias."""
        return self.heads[kind].sum(1) + self.biases[kind]


def attribute(run: Run, output: OutputTarget) -> Attribution:
    """Return the parts of one logit (with `output.against`, of the difference of two), which add up to it.

    The stream that the output layer reads is a sum, x = embedding + what each sub-layer added, and with the scale of each
    norm held at its value in this run a norm is linear but for its bias (Elhage et al. 2021, "A mathematical framework
    for transformer circuits"). Then logit = sum over parts p of c_p . p, where c is the row of the output layer carried
    back through the norms: norm(x) = g (x - mean(x)) / sigma + b gives c' = centred(g c / sigma) and adds b . c to the rest;
    a root-mean-square norm has no mean and no b. Capped logits are held at the share of them that the cap leaves.
    In a post-norm model c passes a norm at every sub-layer; in BERT also the output head, whose activation x g(x) is held
    at its gate g, and in ALBERT the map behind its narrow table. So it is exact as a sum, and says nothing of how a part would
    change the scales: for that, take it away.
    The head of a fine-tuned model is walked through in the same way, its activation held; what it reads is one position, or the mean of all: then each
    position's parts are added up.
    Where each part writes features of its own (SNAIL), c of a part is the output layer's columns for them, and nothing is held.
    Raises InputError for a model without layers of heads.
    """
    model, network = run.model, run.model.network
    if model.spec.stream[0] == "features_in":
        return _attribute_concatenated(run, output)
    kinds, stack = _kinds(model)
    row = run.scores[output.row].astype(np.float64)
    logit = float(row[output.token] - (0.0 if output.against is None else row[output.against]))
    if model.main_output == "answer" and output.against is not None:
        one, other = (
            attribute(run, replace(output, token=at, against=None)) for at in (output.token, output.against)
        )
        return _difference(one, other, logit)
    shape = (model.spec.depth(model.config, stack), model.config.n_heads)
    heads, biases = {k.name: np.zeros(shape) for k in kinds}, {k.name: np.zeros(shape[0]) for k in kinds}
    feed_forward, embedding, rest = np.zeros(shape[0]), dict[str, float](), 0.0
    read = read_positions(run, output)
    for position in read:
        walk = _BackwardWalk(run, position)
        walk.output(network, walk.trace(f"{stack}.{shape[0] - 1}.resid_out"), output)
        walk.c, walk.rest = walk.c / len(read), walk.rest / len(read)
        for layer in reversed(range(shape[0])):
            _walk_layer(walk, kinds, stack, layer, heads, biases, feed_forward)
        for name, value in _embedding(walk, stack).items():
            embedding[name] = embedding.get(name, 0.0) + value
        rest += walk.rest
    return Attribution(embedding, heads, biases, feed_forward, rest, logit)


def _embedding(walk: _BackwardWalk, stack: str) -> dict[str, float]:
    """Go back through what precedes the first layer, and return what the rows of its tables added, by name."""
    embed, prefix = walk.run.model.network.embed, stack.removesuffix("layer")
    if f"{prefix}embed.token" not in walk.run.trace:  # a picture is embedded before its encoder begins
        prefix = ""
    if "to_model" in embed:
        walk.linear(embed["to_model"])
    if "norm" in embed:
        read = f"{prefix}embed.sum"
        walk.norm(embed["norm"], walk.trace(read if read in walk.run.trace else f"{prefix}embed.token"))
    return {
        name: walk.contribution(walk.trace(f"{prefix}embed.{name}"))
        for name in ("token", "position", "segment")
        if name in embed
    }


def _difference(one: Attribution, other: Attribution, logit: float) -> Attribution:
    """Return what each part adds to a difference."""
    return Attribution(
        {name: value - other.embedding[name] for name, value in one.embedding.items()},
        {kind: value - other.heads[kind] for kind, value in one.heads.items()},
        {kind: value - other.biases[kind] for kind, value in one.biases.items()},
        one.feed_forward - other.feed_forward,
        one.rest - other.rest,
        logit,
    )


def _attribute_concatenated(run: Run, output: OutputTarget) -> Attribution:
    """Return the parts of a logit where layers are concatenated: each meets the output layer's columns that read it."""
    config, trace, out = run.model.config, run.trace, run.model.network.to_vocab
    weight, bias = _array(out.weight), _array(out.bias)
    c, rest = weight[output.token], bias[output.token]
    if output.against is not None:
        c, rest = c - weight[output.against], rest - bias[output.against]
    at = 0

    def meets(part: Array) -> Array:
        nonlocal at
        at += part.size
        return c[at - part.size : at].reshape(part.shape) * part.astype(np.float64)

    token = float(meets(trace["embed.token"][output.row]).sum())
    heads, convolved = np.zeros((config.n_layers, config.n_heads)), np.zeros(config.n_layers)
    for layer in range(config.n_layers):
        for i in range(len(config.dilations)):
            convolved[layer] += meets(trace[f"layer.{layer}.dense.{i}.gated"][output.row]).sum()
        if config.attends:
            heads[layer] = meets(trace[f"layer.{layer}.self_attn.heads"][:, output.row]).sum(1)
    row = run.logits[output.row].astype(np.float64)
    return Attribution(
        {"token": token},
        {"causal": heads} if config.attends else {},
        {"causal": np.zeros(config.n_layers)} if config.attends else {},
        convolved,
        float(rest),
        float(row[output.token] - (0.0 if output.against is None else row[output.against])),
        "convolutions",
    )


def _kinds(model: Model) -> tuple[list[Kind], str]:
    """Return the kinds of attention in the stack that writes, in the order of the block, and the path of the stack."""
    stack = model.spec.stacks.get("decoder") or model.spec.stacks.get("encoder", "")
    kinds = [kind for kind in model.spec.kinds if kind.layered and kind.stack == stack]
    if not kinds:
        raise InputError(
            "The output of {name} is not a sum over layers.",
            "Attribution splits a residual stream into its parts.",
            "Choose another model.",
            name=model.name,
        )
    return kinds, stack


class _BackwardWalk:
    """A row of the output layer on its way back through one position: `c` is the factor of a part."""

    def __init__(self, run: Run, row: int) -> None:
        self.run, self.row, self.rest, self.c = run, row, 0.0, np.zeros(0)

    def output(self, network: Any, x: Array, target: OutputTarget) -> None:
        """Go through the output layer, or the head of a fine-tuned model, and the norm before it."""
        if self.run.model.main_output == "logits":
            self._words(network, x, target)
        else:
            self._task(network, target)
        names = ("final_norm", "decoder_norm", "encoder_norm")
        norm = next((found for name in names if (found := getattr(network, name, None)) is not None), None)
        if norm is not None:
            self.norm(norm, x)

    def _task(self, network: Any, target: OutputTarget) -> None:
        name, head = self.run.model.main_output, getattr(network, "task", None)
        if getattr(network, "to_distilled", None) is not None:
            raise InputError(
                "The output of {name} is not one sum.",
                "It is the mean of what two heads read at two positions.",
                "Ablate a part instead (What matters).",
                name=self.run.model.name,
            )
        out = getattr(network, f"to_{name}") if head is None else head.out
        self.c = _array(out.weight)[target.row if name == "answer" else target.token]
        bias = np.broadcast_to(_bias(out), out.weight.shape[:1])
        self.rest += float(bias[target.row if name == "answer" else target.token])
        if target.against is not None:
            self.c = self.c - _array(out.weight)[target.against]
            self.rest -= float(bias[target.against])
        if head is None:
            return
        hidden = self.run.outputs.hidden[:, : self.run.side.n_real]
        if head.dense is not None:
            real = torch.ones(hidden.shape[:2], dtype=torch.bool)
            x = POOLS[head.head.pool](hidden, real)[0] if head.head.pool else hidden[0, self.row]
            self._activation(head.dense, BENDS[head.head.activation], head.norm, x.double().numpy())
        if head.head.pooled:
            self._activation(network.pooler, torch.tanh, None, hidden[0, 0].double().numpy())

    def _words(self, network: Any, x: Array, target: OutputTarget) -> None:
        own = getattr(network, "to_logits", None)
        table = _array((network.embed["token"] if own is None else own).weight)
        if getattr(network, "logit_cap", 0.0):  # held at its share of what would be said without it
            table = table * self._cap_shares(network, table)[:, None]
        self.c = table[target.token] - (0.0 if target.against is None else table[target.against])
        self.c = self.c * getattr(network, "output_scale", 1.0)
        added = getattr(network, "logits_bias", None)
        if added is not None:
            bias = _array(added)[0]
            self.rest += float(bias[target.token] - (0.0 if target.against is None else bias[target.against]))
        head, norm = getattr(network, "masked_lm", None), getattr(network, "final_norm", None)
        if head is not None:
            bias = _array(head.bias)
            self.rest += float(bias[target.token] - (0.0 if target.against is None else bias[target.against]))
            read = x if norm is None else self.trace("final_norm.out")
            self._activation(head.to_hidden, head.activation, head.norm, read)

    def trace(self, path: str) -> Array:
        return self.run.trace[path][self.row].astype(np.float64)

    def _cap_shares(self, network: Any, table: Array) -> Array:
        """Return, for each logit, the share of it that a cap leaves."""
        plain = table @ self.trace("final_norm.out")
        kept = network.logit_cap * np.tanh(plain / network.logit_cap)
        return np.divide(kept, plain, out=np.ones_like(plain), where=plain != 0)

    def _activation(self, layer: Any, activation: Any, norm: Any, x: Array) -> None:
        """Follow the gradient through a linear map of x, its activation as a fixed factor per feature, and the norm after it."""
        pre = _array(layer.weight) @ x + _bias(layer)
        act = activation(torch.from_numpy(pre)).numpy()
        if norm is not None:
            self.norm(norm, act)
        self.c = self.c * np.divide(act, pre, out=np.zeros_like(pre), where=pre != 0)
        self.linear(layer)

    def linear(self, layer: Any) -> None:
        """Go back through a linear map."""
        self.rest += float((self.c * _bias(layer)).sum())
        self.c = self.c @ _array(layer.weight)

    def norm(self, norm: Any, x: Array) -> None:
        """Go back through a norm that read x, its scale fixed."""
        x = x.astype(np.float64)
        if isinstance(norm, RMSNorm):
            self.c = self.c * _array(norm.weight) / np.sqrt((x * x).mean() + norm.eps)
            return
        self.rest += float((self.c * _bias(norm)).sum())
        self.c = self.c * _array(norm.weight) / np.sqrt(x.var() + norm.eps)
        self.c = self.c - self.c.mean()

    def contribution(self, part: Array) -> float:
        return float(self.c @ part.astype(np.float64))


def _walk_layer(
    walk: _BackwardWalk,
    kinds: list[Kind],
    stack: str,
    layer: int,
    heads: dict[str, Array],
    biases: dict[str, Array],
    feed_forward: Array,
) -> None:
    """Go back through the sub-layers of one block, adding each one's contribution."""
    trace, row, network = walk.run.trace, walk.row, walk.run.model.network
    modules = {kind: kind.module(network, layer) for kind in kinds}
    block = kinds[0].block(network, layer)
    post = getattr(walk.run.model.config, "order", "post") == "post"
    steps: list[Kind | None] = [*kinds, *([None] if hasattr(block, "ffn") else [])]
    outs = [
        trace[f"{stack}.{layer}.ffn.out" if kind is None else kind.path(layer, "out")][row] for kind in steps
    ]
    before = (
        [
            trace[f"{stack}.{layer}.resid_in"],
            *(trace[f"{stack}.{layer}.norm{k}.out"] for k in range(1, len(steps))),
        ]
        if post
        else []
    )
    for number in reversed(range(len(steps))):
        kind, out = steps[number], outs[number]
        if post:
            walk.norm(getattr(block, f"norm{number + 1}"), before[number][row] + out)
        behind, through = getattr(block, f"after{number + 1}", None), walk.c
        if behind is not None:  # what this sub-layer gives passes a norm of its own before it is added
            walk.norm(behind, out)
        if kind is None:
            feed_forward[layer] += walk.contribution(out)
            walk.c = through
            continue
        to_out, values = modules[kind].to_out, trace[kind.path(layer, "heads")][:, row].astype(np.float64)
        heads[kind.name][layer] += ((walk.c @ _array(to_out.weight)).reshape(values.shape) * values).sum(1)
        biases[kind.name][layer] += 0.0 if to_out.bias is None else walk.c @ _array(to_out.bias)
        walk.c = through


def _array(weight: Any) -> Array:
    return weight.detach().double().numpy()


def _bias(layer: Any) -> Array:
    return np.zeros(1) if layer.bias is None else _array(layer.bias)
