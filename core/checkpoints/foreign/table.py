"""A format as a table: rows for the keys of config.json and for the names of tensors, each read and written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import tokenizers

from core.checkpoints.files import printable
from core.checkpoints.safety.config_schema import ELSEWHERE, RANGES, Fields, build_config, name_for
from core.checkpoints.safety.load_plan import ONE_MARK, Take, meta_network, unfit
from core.checkpoints.task_heads import HeadSpec
from core.errors import InputError
from core.models import Family, families

Values = Mapping[str, Any]
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
GELUS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "relu": "relu",
}
SILUS = {"silu": "silu", "swish": "silu"}
"""Activations by their names in config.json, of which the first is written."""
USUAL_SIZES = {
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "d_model": "hidden_size",
    "d_ff": "intermediate_size",
    "n_vocab": "vocab_size",
    "n_ctx": "max_position_embeddings",
}


@dataclass(frozen=True, kw_only=True)
class Field:
    """A row of config.json: `read` gives values of our config, by those of earlier rows; `write` gives entries of config.json.

    `names` are the keys of each value, for errors; `only` are keys that may have one value alone.
    """

    read: Callable[[Fields, Values], Values] = lambda fields, values: {}
    write: Callable[[Any], Values] = lambda cfg: {}
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: tuple[str, ...] = ()


def wrong(
    key: str, value: Any, rule: str, remedy: str = "Correct it, or download the model again."
) -> InputError:
    """Return the error for a value of config.json."""
    return InputError(f"config.json: {key} is {printable(repr(value), 60)}.", rule, remedy)


def _value(name: str, keys: tuple[str, ...], read: Callable[[Fields, Values], Any]) -> Field:
    return Field(
        read=lambda fields, values: {name: read(fields, values)},
        write=lambda cfg: {keys[0]: getattr(cfg, name, None)},
        names={name: keys},
    )


def computed(name: str, rule: Callable[[Values], Any]) -> Field:
    """Give a value that has no key: it follows from the values of earlier rows."""
    return Field(read=lambda fields, values: {name: rule(values)})


def whole_number(
    name: str,
    *keys: str,
    default: int | Callable[[Values], int] | None = None,
    least: int = 1,
    most: int = 0,
) -> Field:
    """Name a whole number by the key that is written and others that are read."""

    def read(fields: Fields, values: Values) -> int:
        otherwise = default(values) if callable(default) else default
        return fields.whole_number(*keys, largest=most or RANGES[name], default=otherwise, least=least)

    return _value(name, keys, read)


def sizes(*, omit: str = "", **keys: str) -> tuple[Field, ...]:
    """Name the sizes of a model but those in `omit`; `keys` are read beside the usual ones, and the first is written."""
    usual = {name: key for name, key in USUAL_SIZES.items() if name not in omit.split()}
    every = {name: f"{keys.get(name, '')} {usual.get(name, '')}".split() for name in {**usual, **keys}}
    return tuple(whole_number(name, *dict.fromkeys(found)) for name, found in every.items())


def small(key: str, default: float, name: str = "eps") -> Field:
    """Name a number between 0 and 1."""
    return _value(name, (key,), lambda fields, values: fields.small(key, default))


def positive(key: str, name: str, default: float) -> Field:
    """Name a positive number, which null sets to 0."""
    row = _value(name, (key,), lambda fields, values: fields.positive(key, default))
    return replace(row, write=lambda cfg: {key: getattr(cfg, name) or None})


def decoder_layers(key: str) -> Field:
    """Name the number of the decoder's layers, by default that of the encoder's."""

    def read(fields: Fields, values: Values) -> Values:
        n = fields.whole_number(key, largest=RANGES["n_decoder_layers"], default=values["n_layers"])
        return {"n_decoder_layers": 0 if n == values["n_layers"] else n}

    names = {"n_decoder_layers": (key,)}
    return Field(read=read, write=lambda cfg: {key: cfg.decoder_layers}, names=names)


def flag(key: str, name: str, default: bool) -> Field:
    """Name a value that is true or false."""
    return _value(name, (key,), lambda fields, values: bool(fields.flag(key, default)))


def word(key: str, meanings: Values, default: str, *names: str) -> Field:
    """Name a word of a list by its meaning: the activation, or the values called `names`."""
    names = names or ("activation",)

    def read(fields: Fields, values: Values) -> Values:
        meaning = fields.one_of(key, meanings, default)
        return dict(zip(names, meaning if len(names) > 1 else (meaning,), strict=True))

    def write(cfg: Any) -> Values:
        meaning = tuple(getattr(cfg, name) for name in names)
        return {key: name_for(meanings, meaning if len(names) > 1 else meaning[0])}

    return Field(read=read, write=write, names=dict.fromkeys(names, (key,)))


def only(reason: str = "", remedy: str = ELSEWHERE, /, **settings: Any) -> Field:
    """Name keys of arithmetic with the one value that is computed here, or with a function of the values so far."""

    def right(values: Values) -> Values:
        return {key: value(values) if callable(value) else value for key, value in settings.items()}

    def read(fields: Fields, values: Values) -> Values:
        for key, value in right(values).items():
            fields.only(key, value, reason or f"Only {key} = {value!r} is computed for this kind.", remedy)
        return {}

    return Field(read=read, write=lambda cfg: right(vars(cfg)), only=tuple(settings))


def written_of(kind: type[Any], each: Field) -> Field:
    """Return a row that is written only for configs of one class."""
    return replace(each, write=lambda cfg: each.write(cfg) if isinstance(cfg, kind) else {})


def dropouts(*keys: str, zero: str = "") -> Field:
    """Write the dropout of a training under these keys; attention has none (`zero`)."""
    return Field(write=lambda cfg: {**dict.fromkeys(keys, cfg.dropout), **({zero: 0.0} if zero else {})})


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of tensors: the parts of our network that a stored tensor goes into, in names with a star for each number.

    `turned`, `plus`, `copies` and `pairs` are as in `Take`; `heads` is the number of heads that parts are packed by,
    `shape` a stored shape that is not ours, `times` the name of a value to multiply by.
    """

    into: tuple[str, ...]
    turned: bool = False
    heads: Callable[[Any], int] | None = None
    plus: float = 0.0
    copies: tuple[str, ...] = ()
    shape: Callable[[Any], tuple[int, ...]] | None = None
    times: str = ""
    pairs: Callable[[Any], tuple[int, int]] | None = None

    def take(self, config: Any, stored: str, into: tuple[str, ...], copies: tuple[str, ...]) -> Take:
        """Return one tensor of a model with its shape, by the names of the parts."""
        parts = [shapes(config)[name] for name in into]
        first, turned = parts[0], self.turned and len(parts[0]) == 2
        if self.shape is not None:
            return Take(stored, self.shape(config), into, target_shape=first)
        if len(parts) == 1:
            shape = first[::-1] if turned else first
            pairs = self.pairs(config) if self.pairs else (0, 0)
            return Take(stored, shape, into, turned=turned, plus=self.plus, tied_names=copies, pairs=pairs)
        n_rows = sum(part[0] for part in parts)
        if self.heads is None:
            return Take(stored, (*first[:0:-1], n_rows), into, turned=turned)
        heads = self.heads(config)
        widths = tuple(part[0] // heads for part in parts)
        return Take(stored, (n_rows, *first[1:]), into, heads=heads, widths=widths)


Weights = Mapping[str, str | Row]
QKV = tuple(f"self_attn.to_{part}" for part in "qkv")


def row(*into: str, **options: Any) -> Row:
    """Make a row of the parts it goes into."""
    return Row(into=into, **options)


def stacked(*into: str) -> Row:
    """Make a row of one matrix that is several of ours, one below the other."""
    return row(*into, heads=lambda cfg: 1)


def under(stored: str, prefix: str, rows: Weights) -> dict[str, Row]:
    """Put one prefix before the stored names of a table, and another before ours."""
    return {
        f"{stored}{name}": replace(each, into=tuple(f"{prefix}{part}" for part in each.into))
        for name, each in _rows(rows).items()
    }


def layers(stored: str, *tables: Weights, prefix: str = "layers", **norms: str) -> dict[str, Row]:
    """Join the tables of a layer, and its norms by their stored names."""
    rows = {name: each for table in tables for name, each in table.items()}
    rows |= {theirs: ours for ours, theirs in norms.items()}
    return under(f"{stored}.*.", f"{prefix}.*.", rows)


def attention(pattern: str, parts: str, module: str = "self_attn") -> dict[str, str]:
    """Name the maps to queries, keys, values and the output: a pattern with braces for each of `parts`."""
    ours = (f"{module}.to_{part}" for part in ("q", "k", "v", "out"))
    return {pattern.format(part): name for part, name in zip(parts.split(), ours, strict=True)}


def feed_forward(hidden: str, out: str, gate: str = "") -> dict[str, str]:
    """Name the maps of a feed-forward network."""
    rows = {hidden: "ffn.to_hidden", out: "ffn.to_out"}
    return {**rows, gate: "ffn.to_gate"} if gate else rows


def changed(rows: Weights, pattern: str, **changes: Any) -> dict[str, Row]:
    """Change the rows whose stored name matches a pattern."""
    return {
        name: replace(each, **changes) if re.search(pattern, name) else each
        for name, each in _rows(rows).items()
    }


def _rows(rows: Weights) -> dict[str, Row]:
    return {name: row(each) if isinstance(each, str) else each for name, each in rows.items()}


@lru_cache(maxsize=16)
def shapes(config: Any) -> Mapping[str, tuple[int, ...]]:
    """Return the shape of every tensor of the network of a config."""
    state = meta_network(family_of(type(config)), config).state_dict()
    return {name: tuple(value.shape) for name, value in state.items()}


def family_of(kind: type[Any]) -> Family:
    """Return the family that has configs of this class."""
    return next(family for family in families().values() if family.config is kind)


def writes(config: Any) -> bool:
    """Return whether a network of a config gives scores of words."""
    return "logits" in family_of(type(config)).outputs(config)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format: how a folder whose config.json names `model_type` becomes one of our networks, and is written.

    - `config`: our class, or a function that chooses it by the values: of `fields`, `fixed`, and `stored` (true where a tensor's name begins so).
    - `weights`: all tensors; `output`: the output layer, which may be a copy of the table of tokens.
    - `prefix`: the beginning of all names but those of `outside`; `wrapped`: another, of classes with a head.
    - `endings`: old ends of names with the present ones; `passed`: tensors that are passed over; `refused`: keys that must not be set.
    - `tasks`: heads of fine-tuning by the end of the class's name; `marks`: as in `Plan`; `tokenizer`: for folders without one.
    - `tables`: there is a vector for each position. `ties`: a config that is not tied must bring an output layer.
    - `architecture`: the beginning of its classes' names, if not the model type; `writer`, `bare`: their end with and without an output layer; `classes`: the whole name.
    - `aliases`: model types of the same arithmetic with their classes; `said_as`: the model type in config.json, if only the class tells.
    - `telling`: a key that a config without a kind must have. `like`, `shows`: for README.
    """

    model_type: str
    config: type[Any] | Callable[[Values], type[Any]]
    fields: tuple[Field, ...]
    weights: Weights | Callable[[Any], Weights]
    fixed: Values = field(default_factory=dict)
    stored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    like: str = ""
    shows: str = ""
    architecture: str = ""
    prefix: str = ""
    output: str = "lm_head"
    outside: str | tuple[str, ...] = "lm_head."
    writer: str = "ForCausalLM"
    bare: str = "Model"
    classes: Callable[[Any], str] | None = None
    endings: Mapping[str, str] = field(default_factory=dict)
    passed: str = ""
    marks: Mapping[str, str] = field(default_factory=lambda: ONE_MARK)
    tokenizer: Callable[[Any], tokenizers.Tokenizer] | None = None
    refused: frozenset[str] = REFUSED
    aliases: Mapping[str, str] = field(default_factory=dict)
    said_as: str = ""
    telling: str = ""
    ties: bool = True
    tables: bool = True
    tasks: Mapping[str, HeadSpec] = field(default_factory=dict)
    wrapped: str = ""

    @property
    def kinds(self) -> Mapping[str, str]:
        """Return every model type with the beginning of its classes' names."""
        return {self.model_type: self.architecture or self.model_type.capitalize(), **self.aliases}

    @property
    def family(self) -> str:
        """Return the name of its family; of several that of a config that says nothing."""
        return family_of(self.config if isinstance(self.config, type) else self.config({})).name

    @cached_property
    def passes(self) -> re.Pattern[str]:
        """Return the pattern of stored names that are passed over."""
        return re.compile("|".join(filter(None, (BUFFERS, self.passed))))

    def plain(self, stored: str) -> str:
        """Return the name that `takes` uses for a stored one."""
        bare = stored.removeprefix(self.prefix)
        bare = bare.removeprefix(self.wrapped) if self.wrapped and bare == stored else bare
        bare = stored if bare.startswith(self.outside) else bare
        for old, new in self.endings.items():
            if bare.endswith(old):
                return bare.removesuffix(old) + new
        return bare

    def full(self, plain: str) -> str:
        """Return the name that is written for one of `takes`."""
        return plain if plain.startswith(self.outside) else self.prefix + plain

    def read(self, fields: Fields, stored: Collection[str] = ()) -> tuple[Any, Values]:
        """Return our config of a config.json, and every value that was read. Raises InputError."""
        values: dict[str, Any] = dict(self.fixed)
        values |= {
            name: any(each.startswith(begins) for each in stored) for name, begins in self.stored.items()
        }
        try:
            for each in self.fields:
                values |= each.read(fields, values)
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
        end = "ForNextSentencePrediction" if next_sentence else self.bare
        if words:
            both = next_sentence or getattr(config, "sentence_order", False)
            end = "ForPreTraining" if both else self.writer
        return self.kinds[self.model_type] + end

    def check_depth(self, config: Any, stored: Collection[str]) -> None:
        """Raise InputError for more layers than stored tensors, before a network is made."""
        most = max(config.n_layers, getattr(config, "n_decoder_layers", 0))
        depth = 1 if getattr(config, "shared", "") == "all" else most
        rows, experts = self._rows(config), getattr(config, "n_experts", 0)
        stars = 2 if any(name.count("*") == 2 for name in rows) else 1
        least = depth * (experts if stars == 2 else 1)
        if least > len(stored):
            there = {tuple(NUMBER.findall(f".{name}")[:stars]) for name in stored}
            every = product(map(str, range(depth)), *([map(str, range(experts))] if stars == 2 else []))
            first = next(numbers for numbers in every if numbers not in there)
            names = [f"{_numbered(name, list(first))}.weight" for name in rows if name.count("*") == stars]
            raise unfit("missing", names, f"at least {least:,}")

    def has_table(self, config: Any, stored: Collection[str]) -> bool:
        """Return whether the table of tokens, if there is one, is stored under any of its names."""
        rows = {name: each for name, each in self._rows(config).items() if "embed.token" in each.into}
        names = {copy for name, each in rows.items() for copy in (name, *each.copies, self.output)}
        return not rows or any(f"{name}.weight" in stored for name in names)

    def _rows(self, config: Any) -> dict[str, Row]:
        rows = _rows(self.weights if isinstance(self.weights, Mapping) else self.weights(config))
        return rows | (_rows({self.output: "to_logits"}) if self.output else {})

    def takes(self, config: Any, values: Values | None = None) -> tuple[Take, ...]:
        """Return every tensor of a model of a config; some `values` are multiplied into weights."""
        ours, takes = shapes(config), dict[str, Take]()
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
            take = each.take(config, stored, into, copies)
            takes[stored] = replace(take, times=(values or {}).get(each.times, 1.0))
        return tuple(takes.values())


def kin(base: Format, model_type: str, like: str, shows: str, **changes: Any) -> Format:
    """Return a format that differs from another only in some things."""
    return replace(base, model_type=model_type, like=like, shows=shows, **changes)


def _same(values: Values, config: Values) -> bool:
    """Return whether two configs are equal, but for dropout and the last digit of a number that was divided."""
    return all(
        math.isclose(values[name], value, rel_tol=1e-12)
        if isinstance(value, float)
        else values[name] == value
        for name, value in config.items()
        if name != "dropout"
    )


def _numbered(pattern: str, numbers: list[str]) -> str:
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
