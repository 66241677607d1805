"""Checkpoints of other programs: one file a format, found by name. It declares its `FORMAT`, or all of its `FORMATS`."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import tokenizers

from core.checkpoints.files import shown
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import NEVER, ONE_MARK, Plan, Take, check_names, keeping
from core.checkpoints.task_heads import HeadSpec, read_head
from core.checkpoints.weights import Weights
from core.errors import InputError
from core.models import families

REFUSED: Mapping[str, str] = {
    "quantization_config": "Quantised weights are not read.",
    "pruned_heads": "Models with heads cut out are not read.",
    "is_encoder_decoder": "This kind of model has one stack here.",
    "add_cross_attention": "This kind of model has no cross-attention here.",
}
"""What must not be set in a config, unless a format says otherwise."""
BAD_WORDS = "bad_words_ids"
ENDS, MORE_ENDS = "eos_token_id", "generation.eos_token_id"
"""The ends of a text in config.json, and those in generation_config.json."""
"""Where a config lists the words, each as ids, that are never written."""


WRAPPERS = re.compile(r"(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")
"""Parts of tensor names that compiling and sharding add, at their beginning or within."""
AROUND = ("module.", "model.", "auto_model.", "base_model.")
"""Prefixes of all tensor names of a model that was saved from within another object."""
WRITERS = re.compile(r"LMHead|DoubleHeads|CausalLM|Generation|PreTraining|MTModel")
"""Parts of the names of classes whose models output words."""


UNREAD: Mapping[str, tuple[str, str]] = {
    "gemma3": (
        "Pictures are not read by a model of text here; of a Gemma 3 its text model is.",
        "Open a gemma3_text such as google/gemma-3-1b-it, or save the text model of this one alone, model.model.language_model.save_pretrained(folder), with its tokenizer.",
    ),
    "whisper": (
        "Speech is read here by our own speller alone.",
        "Open a model of text or of pictures; how attention aligns letters with sounds is shown with the speller.",
    ),
}
"""Kinds that people bring and that are not read: why, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a folder whose config.json names `model_type` becomes one of our families.

    `config` reads the checked fields, and the names of what is stored, into the family's config and refuses switches
    that change the arithmetic; `values` is the other way round, None for a config that this kind cannot say; `classes`
    names the class of the transformers library. `takes` lists every tensor it must hold, without the `prefix` that all
    names may have but those that begin with `outside`; `endings` are old ends of names with the present ones;
    `passed` and `heads` as in `check_names`, `marks` as in `Plan`, `refused` as in `REFUSED`.
    `architecture` is how the class names begin that old configs give instead of a model type. `alike` are other model
    types of the very same arithmetic and names, each with how its classes begin. `telling` names the field without which
    a config that gives neither is not taken for this kind: what tells it from a kind with the same tensors.
    `ties`: a config that says it is not tied must come with an output layer.
    `tasks` are its heads of fine-tuning, by what the class's name ends in; `wrapped` is another prefix, that of classes with such a head.
    `tokenizer` names what a model of a config reads where that is no text, and its folders have none.
    """

    model_type: str
    architecture: str
    family: str
    config: Callable[[Fields, Collection[str]], Any]
    values: Callable[[Any], Mapping[str, Any] | None]
    classes: Callable[[Any], str]
    takes: Callable[[Any], tuple[Take, ...]]
    prefix: str
    outside: str | tuple[str, ...] = "lm_head."
    endings: Mapping[str, str] = field(default_factory=dict)
    passed: re.Pattern[str] = NEVER
    heads: re.Pattern[str] = NEVER
    marks: Mapping[str, str] = field(default_factory=lambda: ONE_MARK)
    tokenizer: Callable[[Any], tokenizers.Tokenizer] | None = None
    refused: Mapping[str, str] = field(default_factory=lambda: REFUSED)
    alike: Mapping[str, str] = field(default_factory=dict)
    telling: str = ""
    ties: bool = True
    tasks: Mapping[str, HeadSpec] = field(default_factory=dict)
    wrapped: str = ""

    @property
    def kinds(self) -> Mapping[str, str]:
        """Every model type that is read so, with how the names of its classes begin."""
        return {self.model_type: self.architecture, **self.alike}

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


@cache
def formats() -> Mapping[str, Format]:
    """Every format by model type, found by looking into this folder and those in it.

    >>> formats()["gpt2"].family
    'gpt'
    """
    files = (each for each in pkgutil.walk_packages(__path__, f"{__name__}.") if not each.ispkg)
    found = (import_module(each.name) for each in files)
    declared = (getattr(module, "FORMATS", None) or (module.FORMAT,) for module in found)
    return {kind: form for forms in declared for form in forms for kind in form.kinds}


THEIRS: Mapping[str, tuple[str, ...]] = {
    "n_kv_heads": ("num_key_value_heads",),
    "d_head": ("head_dim", "d_kv"),
    "n_buckets": ("relative_attention_num_buckets", "position_buckets"),
    "furthest": ("relative_attention_max_distance", "max_relative_positions"),
    "rope_base": ("rope_theta", "rotary_emb_base"),
    "rope_factor": ("factor",),
    "rope_low": ("low_freq_factor",),
    "rope_high": ("high_freq_factor",),
}
"""What configs call a few values that an error may name, beside the sizes."""


def plan_foreign(values: Mapping[str, Any], weights: Weights) -> tuple[Plan, Weights]:
    """The plan for a config.json in Hugging Face format, and the weights under the names the plan uses.

    Raises InputError: a model type, a switch or a size that is not implemented; weights that do not fit the config.
    """
    form = _named(values)
    return _fitting(values, weights) if form is None else _read(form, values, weights)


def _read(form: Format, values: Mapping[str, Any], weights: Weights) -> tuple[Plan, Weights]:
    fields = Fields(values)
    for name, why in form.refused.items():
        fields.absent(name, why)
    weights = weights.renamed(unwrapped(form, weights)).renamed(form.plain)
    try:
        config = form.config(fields, weights.entries.keys())
    except InputError as error:
        raise fields.in_their_words(error, THEIRS) from None
    head, own = read_head(form.tasks, fields, weights.entries, config.d_model) if form.tasks else (None, ())
    takes = (*form.takes(config), *own)
    untied = form.ties and fields.raw("tie_word_embeddings") is False
    weights = weights.renamed(stand_ins(takes, weights, untied=untied))
    spec = next(family for family in families().values() if family.config is type(config))
    if form.ties and any(take.copies and take.copies[-1] not in weights.entries for take in takes):
        fields.only(
            "tie_word_embeddings", True, "Without an output layer of its own this model must be tied."
        )
    unused = check_names(weights.entries, takes, passed=form.passed, heads=form.heads)
    ids = (
        {} if spec.framed else _ids(fields, config.n_vocab, writes=spec.has_source)
    )  # those of a frame: by name
    named = form.tokenizer(config) if form.tokenizer else None
    plan = Plan(
        spec=spec,
        config=config,
        ids=ids,
        takes=takes,
        marks=form.marks,
        unused=unused,
        tokenizer=named,
        kept=keeping(takes, weights),
        never=_never(fields, config.n_vocab, ids.get("end")) if spec.writes else (),
        ends=_ends(fields, config.n_vocab)[1:] if spec.writes else (),
        head=head,
    )
    return plan, weights


def unwrapped(form: Format, stored: Collection[str]) -> Callable[[str], str]:
    """Return what names each stored tensor without what wrapping a model put before it."""
    names = {name: WRAPPERS.sub("", name) for name in stored}
    while around := next((before for before in AROUND if _all_begin(names.values(), before)), ""):
        if around == form.prefix and not any(name.startswith(2 * around) for name in names.values()):
            break
        names = {name: plain.removeprefix(around) for name, plain in names.items()}
    return names.__getitem__


def _all_begin(names: Collection[str], before: str) -> bool:
    return bool(names) and all(name.startswith(before) for name in names)


def stand_ins(takes: tuple[Take, ...], stored: Collection[str], *, untied: bool) -> Callable[[str], str]:
    """Return what names a copy of a tied tensor by the name that is asked for, where the file keeps the copy alone.

    The last copy is the output layer, which is no copy in an `untied` model.
    """
    found: dict[str, str] = {}
    for take in takes:
        copies = take.copies[:-1] if untied else take.copies
        copy = next((copy for copy in copies if copy in stored), None)
        if copy and take.name not in stored:
            found[copy] = take.name
    return lambda name: found.get(name, name)


def headless(fields: Fields, stored: Collection[str], head: str = "lm_head.weight") -> bool:
    """Return whether a decoder was saved without an output layer: none is stored, and its class has none."""
    classes = fields.raw("architectures")
    first = classes[0] if isinstance(classes, list) and classes else None
    return head not in stored and isinstance(first, str) and not WRITERS.search(first)


def _ids(fields: Fields, n_vocab: int, *, writes: bool) -> dict[str, int]:
    starts = "decoder_start" if writes else "bos"
    start, pad = (fields.token_id(f"{name}_token_id", n_vocab) for name in (starts, "pad"))
    end = next(iter(_ends(fields, n_vocab)), None)
    ids = {"start": end if start is None else start, "end": end, "pad": pad}
    return {name: value for name, value in ids.items() if value is not None}


def _ends(fields: Fields, n_vocab: int) -> tuple[int, ...]:
    """Return all tokens that end a text: the library heeds those of generation_config.json, older files have them in config.json alone."""
    return tuple(dict.fromkeys(id for name in (ENDS, MORE_ENDS) for id in fields.token_ids(name, n_vocab)))


def _never(fields: Fields, n_vocab: int, end: int | None) -> tuple[tuple[int, ...], ...]:
    """The words that are not to be written; the end of a text may always be, as with the transformers library."""
    return tuple(word for word in fields.words(BAD_WORDS, n_vocab) if word != (end,))


CLASS = "(MT)?(LMHead|DoubleHeads|Encoder)?(For[A-Z]|Model)"
"""What may follow the beginning of a class's name: with it BERT is not taken for BertGeneration."""


def _named(values: Mapping[str, Any]) -> Format | None:
    """The format that a config names, by its model type or its class; None where it says neither. Raises InputError for a kind that is not read."""
    given, classes = values.get("model_type"), values.get("architectures")
    if isinstance(given, str) and given in formats():
        return formats()[given]
    first = classes[0] if isinstance(classes, list) and classes and isinstance(classes[0], str) else None
    for kind, (why, remedy) in UNREAD.items():
        if given == kind or (
            given is None and first and re.match(f"{kind}For(Cond|AudioClass)", first, re.I)
        ):
            raise InputError(f"config.json: this is a {kind}, which is not read.", why, remedy)
    if given is None and first is None:
        return None
    if given is None:
        for kind, form in formats().items():
            if re.match(form.kinds[kind] + CLASS, str(first)):
                return form
    said = f"model_type is '{shown(str(given), 40)}'"
    raise _unknown(f"the class is '{shown(str(first), 60)}'" if given is None else said)


def _fitting(values: Mapping[str, Any], weights: Weights) -> tuple[Plan, Weights]:
    """The one format whose config can be read and whose tensors are those that are stored."""
    found: dict[str, tuple[Plan, Weights]] = {}
    for form in formats().values():
        if form.model_type in found or (form.telling and form.telling not in values):
            continue
        with suppress(InputError):
            found[form.model_type] = _read(form, values, weights)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise _unknown("model_type is missing, and the tensors are those of no kind that is read here")
    raise InputError(
        f"config.json: model_type is missing, and the tensors may be those of {', '.join(sorted(found))}.",
        "These kinds compute differently with the same tensors.",
        f'Write "model_type": "{min(found)}" into it, if that is what it is.',
    )


def _unknown(said: str) -> InputError:
    return InputError(
        f"config.json: {said}.",
        f"Kinds read here: {', '.join(sorted(formats()))}.",
        "Open a model of one of these kinds.",
    )
