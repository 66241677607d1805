"""Recurrent sequence-to-sequence: an encoder reads word by word, a decoder writes, with or without attention.

Sutskever et al. 2014 (one context vector), Bahdanau et al. 2015 (attention by the state before), Luong et al. 2015
(attention by the present state; over the whole source or inside a window).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from core.layers.cache import States
from core.layers.config_checks import check_sizes
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.linear import Linear
from core.layers.recurrent import CELLS, State, learning, unroll
from core.layers.recurrent.alignment import Gated, Global, Local, Source, prepare_source
from core.layers.scores import SCORES
from core.layers.trace_loops import steps
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


ATTENTIONS = ("none", "bahdanau", "luong-global", "luong-local-m", "luong-local-p")


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """The shape; the defaults are near Bahdanau's, in width and vocabulary.

    `d_model` is the width of embeddings, of decoder states and of what the encoder gives for a word (both directions
    together). `d_ff` is the hidden layer of the alignment network: of the score `concat` and of the predicted position;
    other attentions do not use it. `window` is D of local attention. There is one head.

    >>> Seq2SeqConfig(attention="bahdanau", input_feeding=True)
    Traceback (most recent call last):
    ValueError: input_feeding=True goes with the attention of Luong, not with attention='bahdanau'
    """

    n_layers: int = 1
    n_heads: int = 1
    d_model: int = 512
    d_ff: int = 512
    n_vocab: int = 30000
    n_ctx: int = 256
    cell: str = "lstm"
    bidirectional: bool = True
    attention: str = "bahdanau"
    score: str = "concat"
    input_feeding: bool = False
    window: int = 5
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_sizes(self)
        for name, known in (("cell", CELLS), ("attention", ATTENTIONS), ("score", SCORES)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"{name}={value!r} is not one of {', '.join(known)}")
        for name in ("bidirectional", "input_feeding"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r} is neither true nor false")
        if self.n_heads != 1:
            raise ValueError(f"n_heads={self.n_heads}: a recurrent decoder has n_heads=1")
        if self.bidirectional and self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} cannot be halved for two directions")
        if self.input_feeding and not self.attention.startswith("luong"):
            raise ValueError(
                f"input_feeding=True goes with the attention of Luong, not with attention={self.attention!r}"
            )

    @property
    def d_head(self) -> int:
        return self.d_model

    @property
    def attends(self) -> bool:
        return self.attention != "none"

    @classmethod
    def tiny(cls) -> Seq2SeqConfig:
        return cls(n_layers=2, d_model=34, d_ff=13, n_vocab=29, n_ctx=19, window=2)


class Encoder(nn.Module):
    """h_i = f(h_{i-1}, x_i), and with two directions h_i = [forward; backward] (Bahdanau et al. 2015, section 3.2).

    The states are zero at padding. `cfg` has n_layers, d_model, cell, dropout, and whether it is bidirectional. For `parts`,
    sections that are read one by one, and `axis`, the name of the sequence's axis, see `unroll`.
    """

    def __init__(self, cfg: Any) -> None:
        super().__init__()
        d_hidden = cfg.d_model // 2 if cfg.bidirectional else cfg.d_model

        def cells() -> Any:
            return nn.ModuleList(CELLS[cfg.cell](cfg.d_model, d_hidden) for _ in range(cfg.n_layers))

        self.forward_cells = cells()
        self.backward_cells = cells() if cfg.bidirectional else None
        self.drop = dropout(cfg.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        real: Bool[Tensor, "batch pos"],
        tap: Tap = OFF,
        *,
        parts: Int[Tensor, "batch pos"] | None = None,
        axis: str = "pos",
    ) -> Float[Tensor, "batch pos d_model"]:
        axes = f"batch {axis} d_model"
        for i, ahead in enumerate(self.forward_cells):
            x, part = tap(f"layer.{i}.inputs", x, axes), f"layer.{i}"
            if self.backward_cells is None:
                hidden = unroll(ahead, x, real, tap, part, parts=parts, axis=axis)
            else:
                behind = self.backward_cells[i]
                back = unroll(behind, x, real, tap / "backward", part, backward=True, parts=parts, axis=axis)
                front = unroll(ahead, x, real, tap / "forward", part, parts=parts, axis=axis)
                hidden = tap(f"layer.{i}.hidden", torch.cat((front, back), dim=-1), axes)
            x = self.drop(hidden)
        return x

    def context(
        self, memory: Float[Tensor, "batch pos d_model"], real: Bool[Tensor, "batch pos"]
    ) -> Float[Tensor, "batch d_model"]:
        """Return the one context vector: the state of each direction after the whole source."""
        last = (real.sum(1) - 1).clamp(min=0)[:, None, None].expand(-1, 1, memory.shape[-1])
        ahead = memory.gather(1, last).squeeze(1)
        if self.backward_cells is None:
            return ahead
        half = memory.shape[-1] // 2
        return torch.cat((ahead[:, :half], memory[:, 0, half:]), dim=-1)


class Decoder(nn.Module):
    """Writes with a state s_t and, with attention, a context c_t for each word.

    Bahdanau: c_t by s_{t-1}, then s_t = f(s_{t-1}, [y_{t-1}; c_t]).
    Luong: s_t = f(s_{t-1}, y_{t-1}), then c_t by s_t; with input feeding f also reads the out of the step before.
    out_t = tanh(W [c_t; s_t]) (Luong et al. 2015, Eq. (5)); without attention s_t itself.
    `attend` takes the place of the attention that `cfg` names.
    """

    def __init__(self, cfg: Any, attend: Global | Gated | None = None) -> None:
        super().__init__()
        d, kind = cfg.d_model, CELLS[cfg.cell]
        self.feeding, self.asks_before = cfg.input_feeding, cfg.attention == "bahdanau"
        self.cells: Any = nn.ModuleList(kind(d, d) for _ in range(cfg.n_layers))
        self.bridge = Linear(d, cfg.n_layers * len(kind.states) * d)
        self.attend: Any = attend or _attention(cfg)
        self.from_context: Any = (
            Linear(d, kind.n_parts * d, bias=False) if self.feeding or self.asks_before else None
        )
        self.mix: Any = Linear(2 * d, d) if cfg.attends else None
        self.drop = dropout(cfg.dropout)

    def start(
        self,
        context: Float[Tensor, "batch d_model"],
        memory: Float[Tensor, "batch key d_model"],
        tap: Tap = OFF,
    ) -> dict[str, Float[Tensor, "batch ..."]]:
        """Return the decoder's values before the first word, by name: states made of the context vector, keys and values of the source."""
        context = tap("start.context", context, "batch d_model")
        n_states = len(self.cells[0].states)
        parts = iter(self.bridge(context).float().chunk(len(self.cells) * n_states, dim=-1))
        held: dict[str, Tensor] = {}
        for i, cell in enumerate(self.cells):
            for name in cell.states:
                value = torch.tanh(next(parts)) if name == "hidden" else next(parts)
                held[f"layer.{i}.{name}"] = tap(f"start.layer.{i}.{name}", value, "batch d_hidden")
        if self.feeding:
            held["out"] = context.new_zeros(context.shape, dtype=torch.float32)
        if self.attend is not None:
            held["keys"], held["values"] = prepare_source(self.attend.score, memory, tap / "attn")
        return held

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        real: Bool[Tensor, "#batch key"],
        cache: States,
        tap: Tap = OFF,
        *,
        last: bool = False,
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the decoder's output at each position of `x`; `real` is that of the source.

        The states of `cache` are then those after `x`; with `last` they need not be, because nothing follows.
        """
        x = tap("layer.0.inputs", x, "batch pos d_model")
        states = [
            tuple(cache.values[f"layer.{i}.{name}"] for name in cell.states)
            for i, cell in enumerate(self.cells)
        ]
        source = None if self.attend is None else Source(cache.values["keys"], cache.values["values"], real)
        if last and self.from_context is None and learning(self, tap):
            return self._at_once(x, states, source)
        n = x.shape[1]
        out: Any = cache.values.get("out")
        at, given = steps(tap, n, cache.n_read), self.cells[0].from_input(x)
        hidden: list[Tensor] = []
        contexts: list[Any] = []
        for t in range(n):
            step, word, context = (
                at(t),
                given[:, t],
                out,
            )  # the step before: Luong feeds it in, Bahdanau computes a new one
            if self.asks_before:
                context = self._context(states, source, cache.n_read + t, step)
            if self.from_context is not None:
                word = word + self.from_context(context)
            self._read(word, states, step)
            if source is not None and not self.asks_before:
                context = self._context(states, source, cache.n_read + t, step)
            if self.feeding:
                out = step("mixed", self._mixed(context, states[-1][0]), "batch d_model")
            hidden.append(out if self.feeding else states[-1][0])
            contexts.append(context)
        self._hold(cache, n, states, out)
        together = torch.stack(hidden, dim=1)
        if source is not None and not self.feeding:
            together = tap("mixed", self._mixed(torch.stack(contexts, dim=1), together), "batch pos d_model")
        return self.drop(together)

    def _read(self, word: Tensor, states: list[State], step: Tap) -> None:
        """Take one step in every layer; `word` is the input of the first."""
        for i, cell in enumerate(self.cells):
            layer = step / f"layer.{i}"
            if i:
                word = cell.from_input(layer("inputs", self.drop(states[i - 1][0]), "batch d_model"))
            states[i] = cell.step(word, states[i], layer)

    def _context(self, states: list[State], source: Source | None, t: int, step: Tap) -> Tensor:
        """Return the context c_t, with the top layer's state as query."""
        return self.attend(states[-1][0][:, None], source, t, step / "attn")[:, 0]

    def _mixed(self, context: Any, hidden: Tensor) -> Tensor:
        return torch.tanh(self.mix(torch.cat([context, hidden], dim=-1)))

    def _hold(self, cache: States, n: int, states: list[State], out: Tensor | None) -> None:
        for i, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            cache.values |= {
                f"layer.{i}.{name}": value for name, value in zip(cell.states, state, strict=True)
            }
        if out is not None:
            cache.values["out"] = out
        cache.n_read += n

    def _at_once(self, x: Tensor, states: list[State], source: Source | None) -> Tensor:
        """Return the same in training where no step depends on a context: each layer over the whole sequence, one attention for all words."""
        hidden = x
        for i, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            hidden = cell.fused(self.drop(hidden) if i else x, state)
        if source is not None:
            hidden = self._mixed(self.attend(hidden, source), hidden)
        return self.drop(hidden)


def _attention(cfg: Seq2SeqConfig) -> Global | Local | None:
    if not cfg.attends:
        return None
    score = SCORES[cfg.score](cfg.d_model, cfg.d_model, cfg.d_ff, cfg.n_ctx)
    if not cfg.attention.startswith("luong-local"):
        return Global(score)
    return Local(score, cfg.window, cfg.d_model, cfg.d_ff, predictive=cfg.attention == "luong-local-p")


class Seq2Seq(nn.Module):
    """One token table for both sides and the output, an encoder, a decoder.

    `encode` returns the states of the source; `forward` what the output layer reads, for a batch with `source`; row i of
    `logits` scores the token after decoder input i. With a cache (`new_cache`) the batch has only the new target positions,
    and `memory` is the result of `encode`.

    >>> net = Seq2Seq(Seq2SeqConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0, source=ids))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: Seq2SeqConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model, scaled=True)})
        self.drop = dropout(cfg.dropout)
        self.encoder, self.decoder = Encoder(cfg), Decoder(cfg)

    def new_cache(self) -> States:
        return States()

    def encode(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch key d_model"]:
        tap = tap / "encoder"
        return self.encoder(self._embedded(batch.read(), tap), batch.read_real(), tap)

    def forward(
        self,
        batch: Batch,
        tap: Tap = OFF,
        cache: States | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        states = self.encode(batch, tap) if memory is None else memory
        tap, real, last = tap / "decoder", batch.read_real(), cache is None
        cache = States() if cache is None else cache
        x = self._embedded(batch.ids, tap)
        if not cache.n_read:
            n = len(batch.ids)  # one source may be read for several targets
            context = self.encoder.context(states, real).expand(n, -1)
            cache.values = self.decoder.start(context, states.expand(n, -1, -1), tap)
        return self.decoder(x, real, cache, tap, last=last)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tap("logits", self.embed["token"].scores(hidden), "batch pos vocab")

    def _embedded(self, ids: Tensor, tap: Tap) -> Tensor:
        token = tap("embed.token", self.embed["token"](ids), "batch pos d_model")
        return tap("embed.out", self.drop(token), "batch pos d_model")


FAMILY = Family(
    name="seq2seq",
    config=Seq2SeqConfig,
    network=Seq2Seq,
    kinds=(Kind(name="alignment", stack="decoder", leaf="attn", keys="source", layered=False),),
    stacks={"encoder": "encoder.layer", "decoder": "decoder.layer"},
    stream=("inputs", "hidden"),
    has_source=True,
)
