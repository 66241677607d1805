"""Checkpoints of other programs: a table a format, all of a family in one file, which is found by its `FORMATS`."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign.table import TUNED, Format, family_of
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import Plan, Take, check_names, keeping
from core.checkpoints.task_heads import read_head
from core.checkpoints.weights import Weights
from core.errors import InputError

BAD_WORDS = "bad_words_ids"
"""Where a config lists the words, each as ids, that are never written."""
FIRST = "forced_bos_token_id"
"""The token that an encoder-decoder always writes first: of many translators the target language."""
ENDS, MORE_ENDS = "eos_token_id", "generation.eos_token_id"
"""The ends of a text in config.json, and those in generation_config.json."""
WRAPPERS = re.compile(r"(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")
"""Parts of tensor names that compiling and sharding add, at their beginning or within."""
AROUND = ("module.", "model.", "auto_model.", "base_model.")
"""Prefixes of all tensor names of a model that was saved from within another object."""

UNREAD: Mapping[str, tuple[str, str]] = {
    "gemma3": (
        "Pictures are not read by a model of text here; of a Gemma 3 its text model is.",
        "Open a gemma3_text such as google/gemma-3-1b-it, or save the text model of this one alone: text = transformers.Gemma3ForCausalLM(model.config.text_config); text.model = model.model.language_model; text.lm_head = model.lm_head; text.save_pretrained(folder); and put its tokenizer beside it.",
    ),
    "whisper": (
        "Speech is read here by our own speller alone.",
        "Open a model of text or of pictures; how attention aligns letters with sounds is shown with the speller.",
    ),
    **dict.fromkeys(
        ("mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm"),
        (
            "It has no attention: each token changes a state that is handed on, so there are no patterns to show.",
            "Open a model with attention, such as HuggingFaceTB/SmolLM2-135M.",
        ),
    ),
    **dict.fromkeys(
        (
            "jamba",
            "bamba",
            "zamba",
            "zamba2",
            "nemotron_h",
            "falcon_h1",
            "qwen3_next",
            "lfm2",
            "recurrent_gemma",
        ),
        (
            "Most of its layers have no attention; they hand on a state, which is not computed here.",
            "Open a model whose layers all have attention, such as HuggingFaceTB/SmolLM2-135M.",
        ),
    ),
}
"""Kinds that people bring and that are not read: why, and what to do."""


@cache
def formats() -> Mapping[str, Format]:
    """Every format by model type, found by looking into this folder.

    >>> formats()["gpt2"].family
    'gpt'
    """
    modules = (import_module(each.name) for each in pkgutil.iter_modules(__path__, f"{__name__}."))
    return {
        kind: form for module in modules for form in getattr(module, "FORMATS", ()) for kind in form.kinds
    }


def plan_foreign(values: Mapping[str, Any], weights: Weights) -> tuple[Plan, Weights]:
    """The plan for a config.json in Hugging Face format, and the weights under the names the plan uses.

    Raises InputError: a model type, a switch or a size that is not implemented; weights that do not fit the config.
    """
    form = _named(values)
    return _fitting(values, weights) if form is None else _read(form, values, weights)


def _read(
    form: Format, values: Mapping[str, Any], weights: Weights, *, guess: bool = False
) -> tuple[Plan, Weights]:
    fields = Fields(values)
    for name, why in form.refused.items():
        fields.absent(name, why)
    weights = weights.renamed(unwrapped(form, weights)).renamed(form.plain)
    config, given = form.read_all(fields, weights.entries.keys())
    form.check_depth(config, weights.entries.keys())
    if guess and not form.has_table(config, weights.entries.keys()):
        raise _unknown("its table of tokens has another name")
    head, own = read_head(form.tasks, fields, weights.entries, config.d_model) if form.tasks else (None, ())
    takes = (*form.takes(config, given), *own)
    untied = form.ties and fields.raw("tie_word_embeddings") is False
    weights = weights.renamed(stand_ins(takes, weights, untied=untied))
    spec = family_of(type(config))
    if form.ties and any(take.copies and take.copies[-1] not in weights.entries for take in takes):
        fields.only(
            "tie_word_embeddings", True, "Without an output layer of its own this model must be tied."
        )
    unused = check_names(weights.entries, takes, passed=form.passes, heads=TUNED)
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
        first=fields.token_id(FIRST, config.n_vocab) if spec.writes and spec.has_source else None,
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
    first = classes[0] if isinstance(classes, list) and classes and isinstance(classes[0], str) else None
    if isinstance(given, str) and given in formats():
        others = (form for form in formats().values() if form.said_as == given)
        return next((form for form in others if re.match(form.architecture, first or "")), formats()[given])
    for kind, (why, remedy) in UNREAD.items():
        ending = "For(Cond|AudioClass)" if f"{kind}_text" in formats() else "For(Cond|AudioClass|Causal)"
        if given == kind or (
            given is None and first and re.match(kind.replace("_", "") + ending, first, re.I)
        ):
            raise InputError(f"config.json: its kind is {kind}, which is not read.", why, remedy)
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
            found[form.model_type] = _read(form, values, weights, guess=True)
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
