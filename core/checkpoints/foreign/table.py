"""A format: how the folders of one model type become networks of ours, and are written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import tokenizers

from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.tensors import Row, Weights, as_rows, family_of, shapes
from core.checkpoints.safety.config_schema import Fields, build_config
from core.checkpoints.safety.load_plan import END_OF_TEXT, MISSING, WeightMapping, unfit
from core.checkpoints.task_heads import HeadSpec
from core.errors import InputError, Phrase

REFUSED = frozenset({"quantization_config", "pruned_heads", "is_encoder_decoder", "add_cross_attention"})
"""Keys that a config must not turn on, unless a format allows it."""
WORD_CLASSES = re.compile(r"LMHead|DoubleHeads|CausalLM|Generation|PreTraining|MTModel")
BUFFERS = r"(.*\.)?(rotary_emb\.(original_)?inv_freq|position_ids|token_type_ids|masked_bias)"
"""Names in old files of tensors that are not learned."""
TUNED = re.compile(
    r"(score|classifier|pre_classifier|qa_outputs|qa_classifier|multiple_choice_head|sequence_summary"
    r"|discriminator_predictions|mask_predictions|classification_head|pooler|head)\."
)
"""First parts of the tensor names of fine-tuned heads."""
NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def writes(config: Any) -> bool:
    """Return whether a network of a config gives scores of words."""
    return "logits" in family_of(type(config)).outputs(config)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format: how a folder whose config.json names `model_type` becomes one of our networks, and is written.

    - `config`: our class, or a function that chooses it by the values: of `fields`, `fixed`, and `stored` (true where a tensor's name begins so).
    - `weights`: all tensors; `output`: the output layer, which may be a copy of the table of tokens.
    - `prefix`: the beginning of all names but those of `outside`; `wrapped`: another, of classes with a head.
    - `endings`: old ends of names with the present ones; `ignored_tensors`: a regular expression of names that are not read; `refused`: keys that must not be set.
    - `tasks`: heads of fine-tuning by the end of the class's name; `special_tokens`: as in `Plan`; `tokenizer`: for folders without one.
    - `tables`: there is a vector for each position. `ties`: a config that is not tied must bring an output layer.
    - `architecture`: the beginning of its classes' names, if not the model type; `output_suffix`, `body_suffix`: their end with and without an output layer; `classes`: the whole name.
    - `aliases`: model types of the same arithmetic with their classes; `config_model_type`: the model type in config.json, where several formats share it and the class decides.
    - `guess_key`: a key without which a config that has no `model_type` is not taken for this format ("model_type": it never is).
    - `example`, `summary`: a public model of the type and the sentence about it, for the table in core/README.md.
    """

    model_type: str
    config: type[Any] | Callable[[Values], type[Any]]
    fields: tuple[Field, ...]
    weights: Weights | Callable[[Any], Weights]
    fixed: Values = field(default_factory=dict)
    stored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    example: str = ""
    summary: str = ""
    architecture: str = ""
    prefix: str = ""
    output: str = "lm_head"
    outside: str | tuple[str, ...] = "lm_head."
    output_suffix: str = "ForCausalLM"
    body_suffix: str = "Model"
    classes: Callable[[Any], str] | None = None
    endings: Mapping[str, str] = field(default_factory=dict)
    ignored_tensors: str = ""
    special_tokens: Mapping[str, str] = field(default_factory=lambda: END_OF_TEXT)
    tokenizer: Callable[[Any], tokenizers.Tokenizer] | None = None
    refused: frozenset[str] = REFUSED
    aliases: Mapping[str, str] = field(default_factory=dict)
    config_model_type: str = ""
    guess_key: str = ""
    ties: bool = True
    tables: bool = True
    tasks: Mapping[str, HeadSpec] = field(default_factory=dict)
    wrapped: str = ""

    @property
    def kinds(self) -> Mapping[str, str]:
        """Return the model types of the format, each with the first part of its classes' names in the transformers library."""
        return {self.model_type: self.architecture or self.model_type.capitalize(), **self.aliases}

    @property
    def family(self) -> str:
        """Return the name of its family; of several that of a config that says nothing."""
        return family_of(self.config if isinstance(self.config, type) else self.config({})).name

    @cached_property
    def ignored_pattern(self) -> re.Pattern[str]:
        """Return the pattern of stored names that are not read: buffers, and `ignored_tensors`."""
        return re.compile("|".join(filter(None, (BUFFERS, self.ignored_tensors))))

    def plain(self, stored: str) -> str:
        """Return the name under which `takes` expects a stored tensor: without `prefix` or `wrapped`, an old ending replaced by today's; a name in `outside` keeps its beginning."""
        name = stored.removeprefix(self.prefix)
        name = name.removeprefix(self.wrapped) if self.wrapped and name == stored else name
        name = stored if name.startswith(self.outside) else name
        for old, new in self.endings.items():
            if name.endswith(old):
                return name.removesuffix(old) + new
        return name

    def full(self, plain: str) -> str:
        """Return the name that is written for one of `takes`."""
        return plain if plain.startswith(self.outside) else self.prefix + plain

    def read(self, fields: Fields, stored: Collection[str] = ()) -> tuple[Any, Values]:
        """Read the fields of a config.json, given the names of all stored tensors; return our config and all values by name. Raises InputError."""
        values: dict[str, Any] = dict(self.fixed)
        for name, begins in self.stored.items():
            values[name] = any(each.startswith(begins) for each in stored)
        try:
            for each in self.fields:
                values |= each.read(fields.with_defaults(each.defaults), values)
            kind: Any = self.config if isinstance(self.config, type) else self.config(values)
            attributes = kind.__dataclass_fields__
            if "headless" in attributes:
                values["headless"] = _headless(fields, stored, f"{self.output}.weight")
            own = {name: value for name, value in values.items() if name in attributes}
            return build_config(kind, own, tables=self.tables), values
        except InputError as error:
            names = {name: keys for each in self.fields for name, keys in each.names.items()}
            raise fields.in_their_words(error, names) from None

    def values(self, config: Any) -> dict[str, Any] | None:
        """Return the config.json of a config; None if it would be read as another."""
        try:
            entries = {key: value for each in self.fields for key, value in each.write(config).items()}
            whole = {**entries, "architectures": [self.class_of(config)]}
            again, _ = self.read(Fields(whole), [take.name for take in self.takes(config)])
        except (InputError, AttributeError, KeyError):
            return None
        return entries if type(again) is type(config) and _same(vars(again), vars(config)) else None

    def class_of(self, config: Any) -> str:
        """Return the name of the transformers library's class for a config."""
        if self.classes is not None:
            return self.classes(config)
        next_sentence, words = getattr(config, "next_sentence", False), writes(config)
        end = "ForNextSentencePrediction" if next_sentence else self.body_suffix
        if words:
            both = next_sentence or getattr(config, "sentence_order", False)
            end = "ForPreTraining" if both else self.output_suffix
        return self.kinds[self.model_type] + end

    def check_depth(self, config: Any, stored: Collection[str]) -> None:
        """Raise InputError for more layers than stored tensors, before a network is made."""
        most = max(config.n_layers, getattr(config, "n_decoder_layers", 0))
        depth = 1 if getattr(config, "shared", "") == "all" else most
        rows, experts = self._rows(config), getattr(config, "n_experts", 0)
        stars = max(name.count("*") for name in rows)
        ranges = [map(str, range(n)) for n in (depth, experts)[:stars]]
        least = math.prod((depth, experts)[:stars])
        if least > len(stored):
            there = {tuple(NUMBER.findall(f".{name}")[:stars]) for name in stored}
            first = next(numbers for numbers in product(*ranges) if numbers not in there)
            names = [f"{_numbered(name, first)}.weight" for name in rows if name.count("*") == stars]
            raise unfit(MISSING, names, Phrase("at least {n:,}", n=least))

    def has_table(self, config: Any, stored: Collection[str]) -> bool:
        """Return whether the table of tokens, if there is one, is stored under any of its names."""
        rows = {name: each for name, each in self._rows(config).items() if "embed.token" in each.into}
        names = {copy for name, each in rows.items() for copy in (name, *each.copies, self.output)}
        return not rows or any(f"{name}.weight" in stored for name in names)

    def _rows(self, config: Any) -> dict[str, Row]:
        rows = as_rows(self.weights if isinstance(self.weights, Mapping) else self.weights(config))
        return rows | (as_rows({self.output: "to_logits"}) if self.output else {})

    def takes(self, config: Any, values: Values | None = None) -> tuple[WeightMapping, ...]:
        """Return every tensor of a model of a config; some `values` are multiplied into weights."""
        ours, takes = shapes(config), dict[str, WeightMapping]()
        untied = any(name.startswith("to_logits.") for name in ours)
        tied = self.output and not untied and writes(config)
        by_part = {part: (name, each) for name, each in self._rows(config).items() for part in each.into}
        for name in sorted(ours, key=lambda name: "." not in name):  # a parameter of the whole network last
            pattern, numbers = NUMBER.sub("*", name), NUMBER.findall(name)
            before, dot, last = pattern.rpartition(".")
            key, end = (pattern, "") if pattern in by_part else (before, dot + last)
            stored_pattern, each = by_part[key]
            if (stored := _numbered(stored_pattern, numbers) + end) in takes:
                continue
            into = tuple(_numbered(part, numbers) + end for part in each.into)
            copies = tuple(f"{copy}{end}" for copy in each.copies)
            if name == "embed.token.weight" and tied:
                copies += (f"{self.output}.weight",)
            take, times = each.take(config, stored, into, copies), (values or {}).get(each.times, 1.0)
            takes[stored] = take if times == 1.0 else replace(take, times=times)
        return tuple(takes.values())


def kin(base: Format, model_type: str, example: str, summary: str, **changes: Any) -> Format:
    """Return a format that has the fields of `base` except those given here."""
    return replace(base, model_type=model_type, example=example, summary=summary, **changes)


def _same(values: Values, config: Values) -> bool:
    """Return whether two configs are equal, but for dropout and the last digit of a number that was divided."""
    pairs = [(values[name], value) for name, value in config.items() if name != "dropout"]
    return all(
        math.isclose(*pair, rel_tol=1e-12) if isinstance(pair[1], float) else pair[0] == pair[1]
        for pair in pairs
    )


def _numbered(pattern: str, numbers: Sequence[str]) -> str:
    for number in numbers:
        pattern = pattern.replace("*", number, 1)
    return pattern


def first_class(classes: Any) -> str:
    """Return the first name of `architectures` in config.json; "" if there is none."""
    first = classes[0] if isinstance(classes, list) and classes else ""
    return first if isinstance(first, str) else ""


def _headless(fields: Fields, stored: Collection[str], head: str) -> bool:
    """Return whether a decoder was saved without an output layer: none is stored, and its class has none."""
    first = first_class(fields.raw("architectures"))
    return bool(first) and head not in stored and not WORD_CLASSES.search(first)
