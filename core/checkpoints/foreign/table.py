"""A format as a table: the fields of its config.json and the names of its tensors, each row read and written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import tokenizers

from core.checkpoints.safety.config_schema import ELSEWHERE, RANGES, Fields, built, name_for
from core.checkpoints.safety.load_plan import ONE_MARK, Take, blank, unfit
from core.checkpoints.task_heads import HeadSpec
from core.errors import InputError
from core.models import Family, families

Values = Mapping[str, Any]
REFUSED: Mapping[str, str] = {
    "quantization_config": "Quantised weights are not read.",
    "pruned_heads": "Models with heads cut out are not read.",
    "is_encoder_decoder": "This kind of model has one stack here.",
    "add_cross_attention": "This kind of model has no cross-attention here.",
}
"""Settings that a config must not turn on, unless a format allows it."""
WRITERS = re.compile(r"LMHead|DoubleHeads|CausalLM|Generation|PreTraining|MTModel")
"""Parts of the names of classes whose models output words."""
BUFFERS = r"(.*\.)?(rotary_emb\.(original_)?inv_freq|position_ids|token_type_ids|masked_bias)"
"""Names of what old files hold beside learned numbers."""
TUNED = re.compile(
    r"(score|classifier|pre_classifier|qa_outputs|qa_classifier|multiple_choice_head|sequence_summary"
    r"|discriminator_predictions|mask_predictions|classification_head|pooler|head)\."
)
"""How the names of the heads of fine-tuned models begin."""
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
"""Names of activations in configs, with ours; of several names for one the first is written."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A row of config.json: `read` gives values of ours, from the checked fields and the values so far, `write` what is said of a config.

    `names` are those of the file by ours, for errors; `only` are switches that may have one value.
    """

    read: Callable[[Fields, Values], Values] = lambda fields, given: {}
    write: Callable[[Any], Values] = lambda cfg: {}
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: tuple[str, ...] = ()


def _value(ours: str, theirs: tuple[str, ...], read: Callable[[Fields, Values], Any]) -> Field:
    return Field(
        read=lambda fields, given: {ours: read(fields, given)},
        write=lambda cfg: {theirs[0]: getattr(cfg, ours, None)},
        names={ours: theirs},
    )


def whole_number(
    ours: str,
    *theirs: str,
    default: int | Callable[[Values], int] | None = None,
    least: int = 1,
    most: int = 0,
) -> Field:
    """Name a whole number: the name that is written, then others that are read."""

    def read(fields: Fields, given: Values) -> int:
        otherwise = default(given) if callable(default) else default
        return fields.whole(*theirs, largest=most or RANGES[ours], default=otherwise, least=least)

    return _value(ours, theirs, read)


def sizes(**names: str) -> tuple[Field, ...]:
    """Name several sizes that every config of a kind gives, each with its other names behind it."""
    return tuple(whole_number(ours, *theirs.split()) for ours, theirs in names.items())


def small(theirs: str, default: float, ours: str = "eps") -> Field:
    """Name a number between 0 and 1."""
    return _value(ours, (theirs,), lambda fields, given: fields.small(theirs, default))


def positive(theirs: str, ours: str, default: float) -> Field:
    """Name a positive number, which null sets to 0."""
    row = _value(ours, (theirs,), lambda fields, given: fields.positive(theirs, default))
    return replace(row, write=lambda cfg: {theirs: getattr(cfg, ours) or None})


def decoder_layers(theirs: str) -> Field:
    """Name the layers of the decoder, which are as many as the encoder's where the config says no number."""

    def read(fields: Fields, given: Values) -> Values:
        found = fields.whole(theirs, largest=RANGES["n_decoder_layers"], default=given["n_layers"])
        return {"n_decoder_layers": 0 if found == given["n_layers"] else found}

    return Field(
        read=read, write=lambda cfg: {theirs: cfg.decoder_layers}, names={"n_decoder_layers": (theirs,)}
    )


def flag(theirs: str, ours: str, default: bool) -> Field:
    """Name a value that is true or false."""
    return _value(ours, (theirs,), lambda fields, given: bool(fields.flag(theirs, default)))


def choice(theirs: str, ours: str, default: bool, *, yes: Any, no: Any) -> Field:
    """Name a switch by which one of two values is chosen."""
    row = _value(ours, (theirs,), lambda fields, given: yes if fields.flag(theirs, default) else no)
    return replace(row, write=lambda cfg: {theirs: getattr(cfg, ours) == yes})


def word(theirs: str, known: Values, default: str, *ours: str) -> Field:
    """Name a word out of a list and what it means here: the activation, or several values."""
    ours = ours or ("activation",)

    def read(fields: Fields, given: Values) -> Values:
        meant = fields.one_of(theirs, known, default)
        return dict(zip(ours, meant if len(ours) > 1 else (meant,), strict=True))

    def write(cfg: Any) -> Values:
        meant = tuple(getattr(cfg, name) for name in ours)
        return {theirs: name_for(known, meant if len(ours) > 1 else meant[0])}

    return Field(read=read, write=write, names=dict.fromkeys(ours, (theirs,)))


def only(theirs: str, value: Any, why: str, remedy: str = ELSEWHERE) -> Field:
    """Name a switch with its one value that is computed here, or with how that follows from the values so far."""

    def right(given: Values) -> Any:
        return value(given) if callable(value) else value

    def read(fields: Fields, given: Values) -> Values:
        fields.only(theirs, right(given), why, remedy)
        return {}

    return Field(read=read, write=lambda cfg: {theirs: right(vars(cfg))}, only=(theirs,))


def written_of(kind: type[Any], each: Field) -> Field:
    """Return a row that is written of configs of one class, and left out of the others that its format has."""
    return replace(each, write=lambda cfg: each.write(cfg) if isinstance(cfg, kind) else {})


def dropouts(*theirs: str, zero: str = "") -> Field:
    """Name the dropouts of a training; they are written alone, a model that is read drops nothing. Attention's is `zero` here."""
    return Field(write=lambda cfg: {**dict.fromkeys(theirs, cfg.dropout), **({zero: 0.0} if zero else {})})


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of tensors: into which of ours a stored one goes. A star stands for the number of a layer; the ends .weight and .bias follow.

    `turned`, `plus` and `again` as in `Take`, but here `again` are names without an end; `heads` counts those of a tensor of packed parts for a config,
    `shape` gives that of the stored tensor where ours is another; `times` names a value of config.json that it is multiplied by while it is read;
    `pairs` gives heads and turned features as in `Take`.
    """

    into: tuple[str, ...]
    turned: bool = False
    heads: Callable[[Any], int] | None = None
    plus: float = 0.0
    again: tuple[str, ...] = ()
    shape: Callable[[Any], tuple[int, ...]] | None = None
    times: str = ""
    pairs: Callable[[Any], tuple[int, int]] | None = None


Weights = Mapping[str, str | Row]


def row(*into: str, **more: Any) -> Row:
    """Make a row of parts, each named alone."""
    return Row(into=into, **more)


def under(theirs: str, ours: str, rows: Weights) -> dict[str, Row]:
    """Put something before all names of a table."""
    return {
        f"{theirs}{name}": replace(each, into=tuple(f"{ours}{part}" for part in each.into))
        for name, each in _rows(rows).items()
    }


def changed(rows: Weights, which: str, **more: Any) -> dict[str, Row]:
    """Change the rows whose stored name matches a pattern."""
    return {
        name: replace(each, **more) if re.search(which, name) else each for name, each in _rows(rows).items()
    }


def _rows(rows: Weights) -> dict[str, Row]:
    return {name: row(each) if isinstance(each, str) else each for name, each in rows.items()}


@lru_cache(maxsize=16)
def shapes(config: Any) -> Mapping[str, tuple[int, ...]]:
    """Return the shape of every tensor of the network of a config."""
    state = blank(family_of(type(config)), config).state_dict()
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

    `config` is our class, or chooses one by the values that are read: those of `fields`, the `fixed` ones, and the
    `stored` ones, which are true where the name of a stored tensor begins so. `weights` are all tensors, without the `prefix`
    that all names may have but those that begin with `outside`; `output` is the matrix of the output layer, which may be one more copy of
    the table of tokens. `endings` are old ends of names with the present ones; `passed` as in `check_names`, `marks` as in `Plan`,
    `refused` as in `REFUSED`. `tables`: the network has a vector for each position.
    `architecture` is how the class names begin that old configs give instead of a model type, `writer` how the name of the class
    ends that gives words or classes, `bare` how that of one without does; `classes` where that is not all. `alike` are other model
    types of the very same arithmetic and names, each with how its classes begin. `said_as` is the model type that config.json gives where it is that of
    another kind, from which the class alone tells it. `telling` names the field without which
    a config that gives neither is not taken for this kind: what tells it from a kind with the same tensors.
    `ties`: a config that says it is not tied must come with an output layer.
    `tasks` are its heads of fine-tuning, by what the class's name ends in; `wrapped` is another prefix, that of classes with such a head.
    `tokenizer` names what a model of a config reads where that is no text, and its folders have none. `like` names a model of the kind, `shows` says what of it is seen, for README.
    """

    model_type: str
    architecture: str
    config: type[Any] | Callable[[Values], type[Any]]
    fields: tuple[Field, ...]
    weights: Weights | Callable[[Any], Weights]
    fixed: Values = field(default_factory=dict)
    stored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    like: str = ""
    shows: str = ""
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
    refused: Mapping[str, str] = field(default_factory=lambda: REFUSED)
    alike: Mapping[str, str] = field(default_factory=dict)
    said_as: str = ""
    telling: str = ""
    ties: bool = True
    tables: bool = True
    tasks: Mapping[str, HeadSpec] = field(default_factory=dict)
    wrapped: str = ""

    @property
    def kinds(self) -> Mapping[str, str]:
        """Every model type that is read so, with how the names of its classes begin."""
        return {self.model_type: self.architecture, **self.alike}

    @property
    def family(self) -> str:
        """The name of its family; of several the one of a config that says nothing."""
        return family_of(self.config if isinstance(self.config, type) else self.config({})).name

    @cached_property
    def passes(self) -> re.Pattern[str]:
        """The names of stored tensors that are passed over."""
        return re.compile("|".join(filter(None, (BUFFERS, self.passed))))

    def plain(self, stored: str) -> str:
        """The name that `takes` uses for a stored one."""
        bare = stored.removeprefix(self.prefix)
        bare = bare.removeprefix(self.wrapped) if self.wrapped and bare == stored else bare
        bare = stored if bare.startswith(self.outside) else bare
        for old, new in self.endings.items():
            if bare.endswith(old):
                return bare.removesuffix(old) + new
        return bare

    def full(self, plain: str) -> str:
        """The name that is written for one of `takes`."""
        return plain if plain.startswith(self.outside) else self.prefix + plain

    def read(self, fields: Fields, stored: Collection[str] = ()) -> Any:
        """Return our config of a config.json, with the names of what is stored. Raises InputError for what is not computed here."""
        return self.read_all(fields, stored)[0]

    def read_all(self, fields: Fields, stored: Collection[str]) -> tuple[Any, Values]:
        """Return our config and every value that was read, also those that are no part of it."""
        given: dict[str, Any] = dict(self.fixed)
        given |= {
            ours: any(name.startswith(begins) for name in stored) for ours, begins in self.stored.items()
        }
        try:
            for each in self.fields:
                given |= each.read(fields, given)
            kind = self.config if isinstance(self.config, type) else self.config(given)
            known = kind.__dataclass_fields__
            if "headless" in known:
                given["headless"] = _headless(fields, stored, f"{self.output}.weight")
            ours = {name: value for name, value in given.items() if name in known}
            return built(kind, ours, tables=self.tables), given
        except InputError as error:
            names = {ours: theirs for each in self.fields for ours, theirs in each.names.items()}
            raise fields.in_their_words(error, names) from None

    def values(self, config: Any) -> dict[str, Any] | None:
        """Return what a config.json of this kind says of a config; None where it would be read as another."""
        try:
            said = {name: value for each in self.fields for name, value in each.write(config).items()}
            full = {**said, "architectures": [self.class_of(config)]}
            read = self.read(Fields(full), [take.name for take in self.takes(config)])
        except (InputError, AttributeError, KeyError):
            return None
        return said if type(read) is type(config) and _same(vars(read), vars(config)) else None

    def class_of(self, config: Any) -> str:
        """Return the class of the transformers library for a config."""
        if self.classes is not None:
            return self.classes(config)
        return self.architecture + (self.writer if writes(config) else self.bare)

    def check_depth(self, config: Any, stored: Collection[str]) -> None:
        """Refuse a config with more layers than there are tensors, before a network of so many is made. Raises InputError."""
        most = max(config.n_layers, getattr(config, "n_decoder_layers", 0))
        depth = 1 if getattr(config, "shared", "") == "all" else most
        rows, experts = self._rows(config), getattr(config, "n_experts", 0)
        stars = 2 if any(theirs.count("*") == 2 for theirs in rows) else 1
        least = depth * (experts if stars == 2 else 1)
        if least > len(stored):
            there = {tuple(NUMBER.findall(f".{name}")[:stars]) for name in stored}
            every = product(map(str, range(depth)), *([map(str, range(experts))] if stars == 2 else []))
            first = next(numbers for numbers in every if numbers not in there)
            names = [
                f"{_numbered(theirs, list(first))}.weight" for theirs in rows if theirs.count("*") == stars
            ]
            raise unfit("missing", names, f"at least {least:,}")

    def has_table(self, config: Any, stored: Collection[str]) -> bool:
        """Return whether a table of tokens is stored under any of its names, without making a network; true where there is none."""
        rows = {theirs: each for theirs, each in self._rows(config).items() if "embed.token" in each.into}
        names = {name for theirs, each in rows.items() for name in (theirs, *each.again, self.output)}
        return not rows or any(f"{name}.weight" in stored for name in names)

    def _rows(self, config: Any) -> dict[str, Row]:
        rows = _rows(self.weights if isinstance(self.weights, Mapping) else self.weights(config))
        return rows | (_rows({self.output: "to_logits"}) if self.output else {})

    def takes(self, config: Any, given: Values | None = None) -> tuple[Take, ...]:
        """Return every tensor of a model of a config; `given` are the values that were read, of which some are multiplied into weights."""
        return tuple(self._takes(config, given or {}))

    def _takes(self, config: Any, given: Values) -> Iterator[Take]:
        ours, done = shapes(config), set[str]()
        own = any(name.startswith("to_logits.") for name in ours)
        tied = self.output and not own and writes(config)
        by_ours = {part: (theirs, each) for theirs, each in self._rows(config).items() for part in each.into}
        for name in sorted(ours, key=lambda name: "." not in name):  # a parameter of the whole network last
            pattern, numbers = NUMBER.sub("*", name), NUMBER.findall(name)
            before, dot, last = pattern.rpartition(".")
            key, end = (pattern, "") if pattern in by_ours else (before, dot + last)
            theirs, each = by_ours[key]
            if (stored := _numbered(theirs, numbers) + end) in done:
                continue
            done.add(stored)
            into = tuple(_numbered(part, numbers) + end for part in each.into)
            again = tuple(f"{copy}{end}" for copy in each.again)
            if name == "embed.token.weight" and tied:
                again += (f"{self.output}.weight",)
            take = _take(config, each, stored, into, again, [ours[part] for part in into])
            yield replace(take, times=given.get(each.times, 1.0)) if each.times else take


def _take(
    config: Any,
    each: Row,
    stored: str,
    into: tuple[str, ...],
    again: tuple[str, ...],
    parts: list[tuple[int, ...]],
) -> Take:
    """Return the row for one tensor, with its shape."""
    first, turned = parts[0], each.turned and len(parts[0]) == 2
    if each.shape is not None:
        return Take(stored, each.shape(config), into, ours=first)
    if len(parts) == 1:
        shape = first[::-1] if turned else first
        pairs = each.pairs(config) if each.pairs else (0, 0)
        return Take(stored, shape, into, turned=turned, plus=each.plus, again=again, pairs=pairs)
    n_rows = sum(part[0] for part in parts)
    if each.heads is None:
        return Take(stored, (*first[:0:-1], n_rows), into, turned=turned)
    heads = each.heads(config)
    return Take(
        stored, (n_rows, *first[1:]), into, heads=heads, widths=tuple(part[0] // heads for part in parts)
    )


def _same(read: Values, config: Values) -> bool:
    """Return whether two configs are one but for the dropout of a training, and the last digit of a number that was divided and multiplied."""
    return all(
        math.isclose(read[name], value, rel_tol=1e-12) if isinstance(value, float) else read[name] == value
        for name, value in config.items()
        if name != "dropout"
    )


def _numbered(pattern: str, numbers: list[str]) -> str:
    for number in numbers:
        pattern = pattern.replace("*", number, 1)
    return pattern


def _headless(fields: Fields, stored: Collection[str], head: str) -> bool:
    """Return whether a decoder was saved without an output layer: none is stored, and its class has none."""
    classes = fields.raw("architectures")
    first = classes[0] if isinstance(classes, list) and classes else None
    return head not in stored and isinstance(first, str) and not WRITERS.search(first)
