"""How many parameters a Transformer of a shape has, part by part: closed forms, no network."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import InputError

TABLE, SELF, CROSS, NETWORK, NORMS = (
    "token embeddings",
    "self-attention",
    "cross-attention",
    "feed-forward",
    "layer norms",
)


@dataclass(frozen=True)
class Sizes:
    """N layers in each stack, width d of a word, h heads, inner width d_ff, V words; the paper's base model (Vaswani et al. 2017, table 3)."""

    n_layers: int = 6
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    n_vocab: int = 37000

    @property
    def d_head(self) -> int:
        """Return d / h: the heads share the width, so their number changes no count.

        Raises InputError where h does not divide d.
        """
        if self.d_model % self.n_heads:
            raise InputError(
                f"{self.n_heads} heads cannot share a width of {self.d_model}.",
                "d must be a multiple of h.",
                "Choose another h, or another d.",
            )
        return self.d_model // self.n_heads


def attention(d: int) -> int:
    """Count the parameters of attention, W_Q, W_K, W_V, W_O of d x d, each with a bias of d: 4 (d^2 + d), whatever the number of heads.

    >>> attention(512)
    1050624
    """
    return 4 * (d * d + d)


def feed_forward(d: int, d_ff: int) -> int:
    """Count the parameters of the feed-forward network, d to d_ff and back, each with a bias: 2 d d_ff + d_ff + d (Vaswani et al. 2017,
    Eq. 2).

    >>> feed_forward(512, 2048)
    2099712
    """
    return 2 * d * d_ff + d_ff + d


def norm(d: int) -> int:
    """Count the parameters of a layer norm, a gain and a bias for each of d numbers: 2 d."""
    return 2 * d


def encoder_layer(d: int, d_ff: int) -> int:
    """Count the parameters of an encoder layer, 4 (d^2 + d) + 2 d d_ff + d + d_ff + 4 d: attention, network, two norms.

    >>> encoder_layer(512, 2048)
    3152384
    """
    return attention(d) + feed_forward(d, d_ff) + 2 * norm(d)


def decoder_layer(d: int, d_ff: int) -> int:
    """Count the parameters of a decoder layer: an encoder layer, a second attention (cross) and a third norm.

    >>> decoder_layer(512, 2048)
    4204032
    """
    return encoder_layer(d, d_ff) + attention(d) + norm(d)


def stacks(sizes: Sizes) -> int:
    """Count the parameters of both stacks with a norm at the end of each; `torch.nn.Transformer()` has as many.

    >>> stacks(Sizes())
    44140544
    """
    each = encoder_layer(sizes.d_model, sizes.d_ff) + decoder_layer(sizes.d_model, sizes.d_ff)
    return sizes.n_layers * each + 2 * norm(sizes.d_model)


def parameter_counts(sizes: Sizes) -> dict[str, int]:
    """Count the parameters by purpose; one table of token embeddings serves both sides and the output (Vaswani et al. 2017, 3.4).

    >>> parameter_counts(Sizes())["token embeddings"], sum(parameter_counts(Sizes()).values()) - stacks(Sizes())
    (18944000, 18944000)
    """
    n, d = sizes.n_layers, sizes.d_model
    return {
        TABLE: sizes.n_vocab * d,
        SELF: 2 * n * attention(d),
        CROSS: n * attention(d),
        NETWORK: 2 * n * feed_forward(d, sizes.d_ff),
        NORMS: (5 * n + 2) * norm(d),
    }
