"""Models of the transformers library of a kind that is not read here: the library runs them, and gives their attention patterns and outputs of heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers
import torch
from torch import Tensor, nn

from core.errors import InputError
from core.models import Kind
from core.run import Attention
from core.run.external_attention import ExternalAttention
from core.trace import Edit, apply_edit, matches, ready

if TYPE_CHECKING:
    from jaxtyping import Float, Int


Array = np.ndarray
ATTENTION = ("attn", "attention")
"""Parts of the names of modules that are attention."""
CROSS = ("cross", "encoder_attn", "encdec", "enc_attn")
"""Parts of the names of attention to another text."""
PROJECTIONS = (
    "o_proj",
    "out_proj",
    "c_proj",
    "dense",
    "to_out",
    "wo",
    "out_lin",
    "fc_out",
    "attn_out",
    "dense_out",
    "proj",
    "out",
    "o",
)
"""Names that the map from the outputs of the heads to the residual stream has in the kinds of the library."""
PROBE = "a b c"
"""The text with which a model is tried when it is wrapped."""


@dataclass(frozen=True, eq=False)
class LibraryModel:
    """A network of the transformers library with its tokenizer, run by the library as it is: on its device, in its precision, with eager attention.

    `run(text)` gives tokens, logits, hidden states and attention patterns, which all pictures of `viz` draw. Edits change the
    outputs of heads where their output projection is found by its name, and reads the heads side by side (`projections`, one for each layer, else none).
    The network is not copied: what happens to it later changes what it gives here. It is for one user: hooks are on it during a run.
    """

    name: str
    network: Any = field(repr=False)
    tokenizer: tokenizers.Tokenizer = field(repr=False)
    projections: tuple[str, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"LibraryModel: {self.name}, {self.limits}"

    def __getattr__(self, name: str) -> Any:
        """Refuse what only a model that is read here has, in words."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"A LibraryModel has no '{name}': it is {self.limits}.")

    @property
    def limits(self) -> str:
        """Return what can be had of this model, and what cannot, as a sentence."""
        edits = (
            f"edits at {_path(0)} to {_path(len(self.projections) - 1)}"
            if self.projections
            else "no edits (the output projection of its heads was not found, one for each layer)"
        )
        return f"run by the transformers library: tokens, logits, hidden states and attention patterns; {edits}; no other values, gradients, decoding or pages"

    def run(self, text: str, *, target: str | None = None, edits: Sequence[Edit] | Edit = ()) -> LibraryRun:
        """Run a text through the network once. `target` is what an encoder-decoder writes, which has to be given.

        Edits are those of `core.edits` for the outputs of heads, with paths such as layer.0.self_attn.heads, which the trace has, too.
        Raises InputError for a text, a target or an edit that cannot be used, and for a network that returns no attention patterns.
        """
        if not isinstance(text, str) or not text.strip():
            raise InputError("The text is empty.", "A run reads one text.", "Type a sentence.")
        source = self._ids(text)
        target_ids = self._target(target)
        given = {"input_ids": source} | ({} if target_ids is None else {"decoder_input_ids": target_ids})
        heads: dict[str, Array] = {}
        with torch.no_grad(), _eager(self.network), self._hooks(ready(self, edits), heads):
            out = self.network(**given, output_attentions=True, output_hidden_states=True)
        return LibraryRun(self, text, target, source[0].tolist(), target_ids, out, heads)

    def _ids(self, text: str, *, special: bool = True) -> Int[Tensor, "one pos"]:
        """Return the ids of a text, with the marks that its tokenizer puts around it."""
        ids = self.tokenizer.encode(text, add_special_tokens=special).ids
        if not ids:
            raise InputError("The text holds no token.", "A model needs at least one.", "Type a word.")
        return torch.tensor([ids], device=next(self.network.parameters()).device)

    def _target(self, target: str | None) -> Int[Tensor, "one pos"] | None:
        config = self.network.config
        if not getattr(config, "is_encoder_decoder", False):
            if target is None:
                return None
            rule = "It reads one text, and has no second one beside it."
            raise InputError(f"{self.name} reads no target.", rule, "Leave target out.")
        if target is None:
            rule = f"{self.name} reads one text and writes another; what it writes is not decoded here."
            raise InputError("There is no target.", rule, "Give target, the text that it writes.")
        start = getattr(config, "decoder_start_token_id", None)
        first = start if start is not None else getattr(config, "bos_token_id", None)
        ids = self._ids(target, special=False)
        return ids if first is None else torch.cat((ids.new_tensor([[first]]), ids), 1)

    @contextmanager
    def _hooks(self, edits: tuple[Edit, ...], heads: dict[str, Array]) -> Iterator[None]:
        """Apply edits to the outputs of heads and record them while the block runs. Raises InputError for an edit of another value."""
        paths = [_path(layer) for layer in range(len(self.projections))]
        for edit in edits:
            if not any(matches(path, edit.where) for path in paths):
                remedy = f"Name one of {paths[0]} to {paths[-1]}." if paths else "Leave edits out."
                raise InputError(
                    f"There is no '{edit.where}' to edit in {self.name}.", f"It is {self.limits}.", remedy
                )
        n_heads = _number_of_heads(self.network.config)

        def hook(path: str) -> Any:
            def edited(_: nn.Module, inputs: tuple[Any, ...]) -> Any:
                value = inputs[0].unflatten(-1, (n_heads, -1)).transpose(1, 2)
                for edit in edits:
                    value = apply_edit(edit, value, path) if matches(path, edit.where) else value
                heads[path] = value[0].float().cpu().numpy()
                return (value.transpose(1, 2).flatten(-2), *inputs[1:])

            return edited

        with ExitStack() as stack:
            for path, name in zip(paths, self.projections, strict=True):
                handle = self.network.get_submodule(name).register_forward_pre_hook(hook(path))
                stack.callback(handle.remove)
            yield


class LibraryRun(ExternalAttention):
    """One run of a `LibraryModel`: its patterns by kind of attention, its tokens, logits and hidden states.

    The trace has the outputs of heads (head, query, d_head) by path, as far as they were found.
    """

    def __init__(
        self,
        model: LibraryModel,
        text: str,
        target: str | None,
        ids: list[int],
        target_ids: Tensor | None,
        out: Any,
        heads: Mapping[str, Array],
    ) -> None:
        read = _tokens(model, ids)
        parts: dict[str, ExternalAttention] = {}
        if target_ids is None:
            one = ExternalAttention(_patterns(model, out, "attentions"), read, name=model.name)
            parts[one.kinds[0]] = one
            self.ids, self.source, self.side = tuple(ids), None, one.side
            sides = [Kind(name=one.kinds[0], stack="layer")]
        else:
            self.ids = tuple(target_ids[0].tolist())
            own = _tokens(model, self.ids)
            for kind, name, tokens, keys in (
                ("self", "encoder_attentions", read, None),
                ("causal", "decoder_attentions", own, None),
                ("cross", "cross_attentions", own, read),
            ):
                parts[kind] = ExternalAttention(_patterns(model, out, name), tokens, keys, name=model.name)
            self.side, self.source = parts["causal"].side, parts["self"].side
            self.source = replace(self.source, text=text, ids=tuple(ids))
            sides = [
                Kind(name="self", stack="encoder.layer", queries="source", keys="source"),
                Kind(name="causal", stack="decoder.layer"),
                Kind(name="cross", stack="decoder.layer", leaf="cross_attn", keys="source"),
            ]
        self.side = replace(self.side, text=text if target is None else target, ids=self.ids)
        self.target_text, self.trace = target, heads
        self._by_kind = {kind: replace(part.attention(), kind=kind) for kind, part in parts.items()}
        spec = SimpleNamespace(kind={kind.name: kind for kind in sides}.__getitem__, framed=False)
        self.model = SimpleNamespace(name=model.name, spec=spec)
        self._out = out

    def __repr__(self) -> str:
        return ", ".join([f"Run: {self.model.name}", f"{len(self.ids)} tokens", *self.kinds])

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self._by_kind)

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.side.tokens

    @property
    def logits(self) -> Float[Array, "..."]:
        """Return the logits, (pos, vocab), or the scores of a head of fine-tuning. Raises InputError where the network gives none."""
        found = getattr(self._out, "logits", None)
        if found is None:
            raise InputError(
                f"{self.model.name} has no logits.",
                "It was given without its output layer.",
                "Load it with a class such as AutoModelForCausalLM.",
            )
        return found[0].float().cpu().numpy()

    def hidden(self) -> Float[Array, "stage pos d_model"]:
        """Return the residual stream as the library gives it: what enters each layer, and what leaves the last; of an encoder-decoder that of the decoder."""
        found = getattr(self._out, "hidden_states", None) or getattr(self._out, "decoder_hidden_states", None)
        if not found:
            rule = "The library returns none for this kind."
            raise InputError(f"{self.model.name} has no hidden states.", rule, "Look at its attention.")
        return torch.stack([each[0].float().cpu() for each in found]).numpy()

    def attention(self, kind: str | None = None, by: str = "token", *, writing: bool = False) -> Attention:
        """Return the patterns of one kind by token, whatever `by` is; by default those of the last kind."""
        kind = self.kinds[-1] if kind is None else kind
        if kind not in self._by_kind:
            has = f"It has {', '.join(self.kinds)}."
            raise InputError(
                f"There is no attention '{kind}' in {self.model.name}.", has, "Choose one of them."
            )
        return self._by_kind[kind]


def open_library_model(network: Any, tokenizer: tokenizers.Tokenizer, name: str) -> LibraryModel:
    """Return a network with its tokenizer once it was tried on a few words. Raises InputError if it cannot read them or returns no patterns."""
    called, bare = type(network).__name__, LibraryModel(name, network, tokenizer)
    target = PROBE if getattr(network.config, "is_encoder_decoder", False) else None
    try:
        run = bare.run(PROBE, target=target)
    except InputError as error:
        raise InputError(
            f"The attention of this {called} cannot be shown: {error.wrong}",
            "Its kind is not read here; what the library runs must return weights (head, query, key) over all tokens for every layer, and their rows sum to 1.",
            "Choose a model whose layers all have such attention.",
        ) from None
    except Exception as error:
        raise InputError(
            f"A {called} does not run on the tokens of a text alone: {type(error).__name__}, {error}.",
            "Its kind is not read here, and what the library runs is given tokens and nothing else.",
            "Choose a model of texts.",
        ) from error
    if target:
        return bare
    with suppress(AttributeError, NotImplementedError, RuntimeError, TypeError):  # of odd networks: no edits
        return replace(bare, projections=_projections(bare, len(run.attention().weights)))
    return bare


def _projections(model: LibraryModel, n_layers: int) -> tuple[str, ...]:
    """Return the names of the output projections of the heads, one for each layer; none where their names do not show which they are, or where they read anything but the heads side by side.

    The part that belongs to one head must depend on the pattern of that head, and on no other pattern of its layer: of the
    first and of the last head this is measured by gradients.
    """
    network, n_heads, inputs = model.network, _number_of_heads(model.network.config), []
    found = [name for name, module in network.named_modules() if _is_projection(name, module)]
    if len(found) != n_layers or not n_heads:
        return ()
    with ExitStack() as stack:
        for name in found:
            module = network.get_submodule(name)
            stack.callback(module.register_forward_pre_hook(lambda _, given: inputs.append(given[0])).remove)
        embedding = network.get_input_embeddings()  # weights may be frozen: gradients begin at what it gives
        handle = embedding.register_forward_hook(
            lambda _, __, given: given + given.new_zeros((), requires_grad=True)
        )
        stack.callback(handle.remove)
        stack.enter_context(_eager(network))
        with torch.enable_grad():
            out = network(model._ids(PROBE), output_attentions=True)
    if len(inputs) != n_layers:
        return ()
    for value, pattern in zip(inputs, out.attentions, strict=True):
        if (
            value.ndim != 3
            or value.shape[-1] % n_heads
            or not (value.requires_grad and pattern.requires_grad)
        ):
            return ()
        heads = value.unflatten(-1, (n_heads, -1))
        for head in (0, n_heads - 1):
            (slope,) = torch.autograd.grad(
                heads[:, :, head].sum(), pattern, retain_graph=True, allow_unused=True
            )
            if slope is None or slope.shape[1] != n_heads:
                return ()
            moved = slope.abs().sum((0, 2, 3)) > 0
            if moved.nonzero().flatten().tolist() != [head]:
                return ()
    return tuple(found)


def _is_projection(name: str, module: nn.Module) -> bool:
    """Return whether a module is the output projection of attention within one text, by its name and the shape of its weight."""
    inside, _, last = name.lower().rpartition(".")
    weight = getattr(module, "weight", None)
    named = last in PROJECTIONS and any(part in inside for part in ATTENTION)
    return (
        named
        and not any(part in inside for part in CROSS)
        and isinstance(weight, Tensor)
        and weight.ndim == 2
    )


def _number_of_heads(config: Any) -> int:
    """Return the number of attention heads that a config names, 0 where it names none."""
    names = ("num_attention_heads", "n_head", "n_heads", "num_heads")
    return next((value for name in names if isinstance(value := getattr(config, name, None), int)), 0)


def _patterns(model: LibraryModel, out: Any, name: str) -> tuple[Tensor, ...]:
    """Return the patterns that the library returned under a name. Raises InputError where there are none, or no square of positions."""
    found = getattr(out, name, None)
    if not found or any(not isinstance(layer, Tensor) for layer in found):
        raise InputError(
            "It does not return a pattern for every layer.",
            "Patterns are what it returns with output_attentions=True.",
            "Choose a model whose layers all have attention.",
        )
    return tuple(found)


def _tokens(model: LibraryModel, ids: Sequence[int]) -> list[str]:
    """Return the tokens of ids, as their tokenizer writes them."""
    return [model.tokenizer.id_to_token(token) or f"<{token}>" for token in ids]


def _path(layer: int) -> str:
    """Return the path of the outputs of a layer's heads."""
    return f"layer.{layer}.self_attn.heads"


@contextmanager
def _eager(network: Any) -> Iterator[None]:
    """Let a network compute its attention step by step and without dropout while the block runs, so that it can return patterns."""
    before = getattr(network.config, "_attn_implementation", None)
    training = [module for module in network.modules() if module.training]
    try:
        network.eval()
        if before not in (None, "eager"):
            network.set_attn_implementation("eager")
        yield
    finally:
        if before not in (None, "eager"):
            network.set_attn_implementation(before)
        for module in training:
            module.training = True
