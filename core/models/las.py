"""Listen, attend and spell: a pyramid of recurrent layers listens, attention looks, a recurrent decoder writes letters.

Chan et al. 2016. A second of sound is fifty frames, far more than the letters that are said in it. Each level of the pyramid
reads two states of the level below as one, so that what attention looks at is a few states a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from core.data.speech.reader import SpeechReader
from core.data.speech.waves import N_BANDS
from core.layers.cache import States
from core.layers.config_checks import check_sizes
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.linear import Linear
from core.layers.recurrent import LSTMCell, unroll
from core.layers.recurrent.alignment import Global, Source, prepare_source
from core.layers.scores import SCORES
from core.layers.trace_loops import steps
from core.models import Batch, Family, Kind
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Shaped


@dataclass(frozen=True, kw_only=True)
class LasConfig:
    """The shape: frames of `n_bands` numbers, halved `n_levels` times; `d_model` is the width of a state, both directions
    together, and of the decoder's state.

    What the network is given for one place is `n_frames` frames, as many as become one state of the top of the pyramid.
    `d_ff` is the hidden layer of the score where it has one. The decoder has `n_layers` layers and one head.

    >>> LasConfig(n_levels=3).n_frames
    8
    >>> LasConfig(d_model=33)
    Traceback (most recent call last):
    ValueError: d_model=33 cannot be halved for two directions
    """

    n_layers: int = 1
    n_heads: int = 1
    n_levels: int = 2
    n_bands: int = N_BANDS
    d_model: int = 128
    d_ff: int = 64
    n_vocab: int = 32
    n_ctx: int = 256
    score: str = "concat"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_sizes(self)
        if not isinstance(self.score, str) or self.score not in SCORES:
            raise ValueError(f"score={self.score!r} is not one of {', '.join(SCORES)}")
        if self.n_heads != 1:
            raise ValueError(f"n_heads={self.n_heads}: a recurrent decoder has n_heads=1")
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} cannot be halved for two directions")

    @property
    def d_head(self) -> int:
        return self.d_model

    @property
    def n_frames(self) -> int:
        """Return how many frames become one state: 2 to the number of levels."""
        return 2**self.n_levels

    @classmethod
    def tiny(cls) -> LasConfig:
        return cls(n_layers=2, n_levels=2, n_bands=3, d_model=34, d_ff=13, n_vocab=29, n_ctx=19)


def pair_frames(x: Shaped[Tensor, "batch pos d_model"]) -> Shaped[Tensor, "batch pos//2 2*d_model"]:
    """Return every two neighbours concatenated, [h_2i; h_2i+1] (Chan et al. 2016, Eq. (5)).

    >>> pair_frames(torch.tensor([[[1.0], [2.0], [3.0], [4.0]]])).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    return x.unflatten(1, (-1, 2)).flatten(2)


class Listener(nn.Module):
    """h_i^j = BLSTM(h_i-1^j, [h_2i^j-1; h_2i+1^j-1]) (Chan et al. 2016, Eq. (5)), above a BLSTM of the frames.

    `values` are the frames of each position, one after the other; the result is zero at padding. Level 0 has `n_frames`
    states per position, each level half as many as the one below, the top level one.
    """

    def __init__(self, cfg: LasConfig) -> None:
        super().__init__()
        self.n_bands, self.n_levels = cfg.n_bands, cfg.n_levels
        widths = [cfg.n_bands, *[2 * cfg.d_model] * cfg.n_levels]

        def cells() -> Any:
            return nn.ModuleList(LSTMCell(width, cfg.d_model // 2) for width in widths)

        self.forward_cells, self.backward_cells, self.drop = cells(), cells(), dropout(cfg.dropout)

    def forward(
        self, values: Float[Tensor, "batch pos number"], real: Bool[Tensor, "batch pos"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("frames", values.unflatten(-1, (-1, self.n_bands)).flatten(1, 2), "batch frame band")
        for i, (ahead, behind) in enumerate(zip(self.forward_cells, self.backward_cells, strict=True)):
            axis = self.axis(i)
            x = tap(f"layer.{i}.inputs", self.drop(pair_frames(x)) if i else x, f"batch {axis} d_input")
            here = real.repeat_interleave(x.shape[1] // real.shape[1], dim=1)
            back = unroll(behind, x, here, tap / "backward", f"layer.{i}", backward=True, axis=axis)
            front = unroll(ahead, x, here, tap / "forward", f"layer.{i}", axis=axis)
            x = tap(f"layer.{i}.hidden", torch.cat((front, back), dim=-1), f"batch {axis} d_model")
        return x

    def axis(self, level: int) -> str:
        """Return the axis name of a level's sequence: "frame", "frame_2", "frame_4", .. and "pos" at the top."""
        below = f"frame_{2**level}" if level else "frame"
        return "pos" if level == self.n_levels else below


class Speller(nn.Module):
    """s_t = LSTM(s_t-1, [y_t-1; c_t-1]), c_t = attention of s_t over the states, out_t = tanh(W [c_t; s_t]).

    Chan et al. 2016, Eqs. (6) to (8): the query of a context is the state that has read the letter and the context before.
    """

    def __init__(self, cfg: LasConfig) -> None:
        super().__init__()
        d = cfg.d_model
        self.cells: Any = nn.ModuleList(LSTMCell(d, d) for _ in range(cfg.n_layers))
        self.from_context = Linear(d, LSTMCell.n_parts * d, bias=False)
        self.attend = Global(SCORES[cfg.score](d, d, cfg.d_ff, cfg.n_ctx))
        self.mix, self.drop = Linear(2 * d, d), dropout(cfg.dropout)

    def start(
        self, memory: Float[Tensor, "batch key d_model"], tap: Tap = OFF
    ) -> dict[str, Float[Tensor, "batch ..."]]:
        """Return the decoder's values before the first letter, by name: states and context (zeros), and keys and values of the source `memory`."""
        zero = memory.new_zeros(memory.shape[0], memory.shape[-1], dtype=torch.float32)
        keys, values = prepare_source(self.attend.score, memory, tap / "attn")
        states = {f"layer.{i}.{name}": zero for i, cell in enumerate(self.cells) for name in cell.states}
        return {**states, "context": zero, "keys": keys, "values": values}

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        real: Bool[Tensor, "#batch key"],
        cache: States,
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = tap("layer.0.inputs", x, "batch pos d_model")
        values, n = cache.values, x.shape[1]
        source, context = Source(values["keys"], values["values"], real), values["context"]
        states = [
            tuple(values[f"layer.{i}.{name}"] for name in cell.states) for i, cell in enumerate(self.cells)
        ]
        at, given = steps(tap, n, cache.n_read), self.cells[0].from_input(x)
        outputs: list[Tensor] = []
        for t in range(n):
            word = given[:, t] + self.from_context(context)
            for i, cell in enumerate(self.cells):
                layer = at(t) / f"layer.{i}"
                if i:
                    word = cell.from_input(layer("inputs", self.drop(states[i - 1][0]), "batch d_model"))
                states[i] = cell.step(word, states[i], layer)
            context = self.attend(states[-1][0][:, None], source, cache.n_read + t, at(t) / "attn")[:, 0]
            outputs.append(torch.cat((context, states[-1][0]), dim=-1))
        for i, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            values |= {f"layer.{i}.{name}": value for name, value in zip(cell.states, state, strict=True)}
        values["context"] = context
        cache.n_read += n
        mixed = torch.tanh(self.mix(self.drop(torch.stack(outputs, dim=1))))
        return self.drop(tap("mixed", mixed, "batch pos d_model"))


class Las(nn.Module):
    """The listener, the speller, and one table of letters for what is read back and for what is written.

    `encode` returns the states of the sound; `forward` what the output layer reads, for a batch with `source` and `values`; row
    i of `logits` scores the letter after decoder input i. With a cache (`new_cache`) the batch has only the new letters, and
    `memory` is the result of `encode`.

    >>> net = Las(LasConfig.tiny())
    >>> ids, sound = torch.tensor([[1, 2, 3]]), torch.zeros(1, 5, 12)
    >>> net.logits(net(Batch(ids=ids, real=ids >= 0, source=sound[..., 0].long(), values=sound))).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: LasConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model, scaled=True)})
        self.encoder, self.decoder = Listener(cfg), Speller(cfg)

    def new_cache(self) -> States:
        return States()

    def encode(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch key d_model"]:
        return self.encoder(batch.read_values(), batch.read_real(), tap / "encoder")

    def forward(
        self,
        batch: Batch,
        tap: Tap = OFF,
        cache: States | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        states = self.encode(batch, tap) if memory is None else memory
        tap, real = tap / "decoder", batch.read_real()
        cache = States() if cache is None else cache
        x = tap("embed.token", self.embed["token"](batch.ids), "batch pos d_model")
        if not cache.n_read:  # one sound may be read for several targets
            cache.values = self.decoder.start(states.expand(len(batch.ids), -1, -1), tap)
        return self.decoder(x, real, cache, tap)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tap("logits", self.embed["token"].scores(hidden), "batch pos vocab")


FAMILY = Family(
    name="las",
    config=LasConfig,
    network=Las,
    kinds=(Kind(name="alignment", stack="decoder", leaf="attn", keys="source", layered=False),),
    stacks={"decoder": "decoder.layer"},
    stream=("inputs", "hidden"),
    has_source=True,
    reads=lambda config: SpeechReader(config.n_frames, config.n_ctx, config.n_bands),
)
