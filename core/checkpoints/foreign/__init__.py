"""Checkpoints of other programs: folders in Hugging Face format; every `Format` in a file here is read, those of a family in one file."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from core.checkpoints.files import printable
from core.checkpoints.foreign.table import TUNED, Format, first_class
from core.checkpoints.foreign.tensors import family_of
from core.checkpoints.safety.config_schema import CONFIG, Fields, config_error
from core.checkpoints.safety.load_plan import Plan, WeightMapping, check_names, find_mappable
from core.checkpoints.task_heads import read_head
from core.checkpoints.weights import Weights
from core.errors import InputError, Phrase, UnknownKind
from core.wording import mark

BAD_WORDS = "bad_words_ids"
"""The key of the words, each as ids, that are never written."""
FIRST = "forced_bos_token_id"
"""The key of the token that an encoder-decoder writes first: for many translators the target language."""
ENDS, MORE_ENDS = "eos_token_id", "generation.eos_token_id"
"""The keys of the ends of a text in config.json and in generation_config.json."""
WRAPPERS = re.compile(r"(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")
COMMON, STACKS, DEEPEST = "model.", ("encoder.", "decoder."), 8
"""The part that kinds and wrappers both put first, parts that may be a whole model, and how many are taken off."""

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
        (
            *("mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm", "jamba", "bamba", "zamba", "zamba2"),
            *("nemotron_h", "falcon_h1", "qwen3_next", "lfm2", "recurrent_gemma"),
        ),
        (
            "It has layers without attention: each token changes a state there, so there are no patterns to show.",
            "Open a model whose layers all have attention, such as HuggingFaceTB/SmolLM2-135M.",
        ),
    ),
}
"""Kinds that people bring and that are not read: why, and what to do."""


@cache
def formats() -> Mapping[str, Format]:
    """Return every format by model type, from the files of this folder.

    >>> formats()["gpt2"].family
    'gpt'
    """
    modules = (import_module(each.name) for each in pkgutil.iter_modules(__path__, f"{__name__}."))
    forms = (each for module in modules for each in vars(module).values() if isinstance(each, Format))
    return {kind: form for form in forms for kind in form.kinds}


def plan_foreign(values: Mapping[str, Any], weights: Weights) -> tuple[Plan, Weights]:
    """Return the plan for a config.json in Hugging Face format, and the weights under its names. Raises InputError."""
    form = _named_format(values)
    return _guess(values, weights) if form is None else _read(form, values, weights)


def _read(
    form: Format, values: Mapping[str, Any], weights: Weights, *, guess: bool = False
) -> tuple[Plan, Weights]:
    fields = Fields(values)
    for key in form.refused:
        fields.absent(key, "A model of this kind with {name} is not read.")
    weights = weights.renamed(unwrapped(form, weights.entries)).renamed(form.plain)
    config, read = form.read(fields, weights.entries.keys())
    form.check_depth(config, weights.entries.keys())
    if guess and not form.has_table(config, weights.entries.keys()):
        raise _unknown(mark("its table of tokens has another name"))
    head, own = read_head(form.tasks, fields, weights.entries, config.d_model) if form.tasks else (None, ())
    takes = (*form.takes(config, read), *own)
    untied = form.ties and fields.raw("tie_word_embeddings") is False
    weights = weights.renamed(stand_ins(takes, weights.entries, untied=untied))
    spec = family_of(type(config))
    if form.ties and any(take.copies and take.copies[-1] not in weights.entries for take in takes):
        reason = mark("Without an output layer of its own this model must be tied.")
        fields.only("tie_word_embeddings", True, reason)
    n_vocab = config.n_vocab
    ids = {} if spec.framed else _ids(fields, n_vocab, writes=spec.has_source)  # those of a frame: by name
    unused = check_names(weights.entries, takes, ignored=form.ignored_pattern, heads=TUNED)
    plan = Plan(
        spec=spec,
        config=config,
        ids=ids,
        takes=takes,
        special_tokens=form.special_tokens,
        unused=unused,
        tokenizer=form.tokenizer(config) if form.tokenizer else None,
        mapped=find_mappable(takes, weights),
        never=_never(fields, n_vocab, ids.get("end")) if spec.writes else (),
        ends=_ends(fields, n_vocab)[1:] if spec.writes else (),
        first=fields.token_id(FIRST, n_vocab) if spec.writes and spec.has_source else None,
        head=head,
    )
    return plan, weights


def unwrapped(form: Format, stored: Collection[str]) -> Callable[[str], str]:
    """Return a function that removes from a stored name the prefix that wrapping put before all names; a prefix of the model type itself stays."""
    names = {name: WRAPPERS.sub("", name) for name in stored}
    own = {each.prefix for each in formats().values()} - {COMMON} | {form.prefix, *STACKS}
    for _ in range(DEEPEST):
        prefix = next(iter(names.values()), "").partition(".")[0] + "."
        doubled = any(name.startswith(2 * prefix) for name in names.values())
        if (prefix in own and not doubled) or not all(name.startswith(prefix) for name in names.values()):
            break
        names = {name: plain.removeprefix(prefix) for name, plain in names.items()}
    return names.__getitem__


def stand_ins(
    takes: tuple[WeightMapping, ...], stored: Collection[str], *, untied: bool
) -> Callable[[str], str]:
    """Return a function that names a copy of a tied tensor as in `takes`, where only the copy is stored.

    The last copy is the output layer, which is none in an `untied` model.
    """
    names: dict[str, str] = {}
    for take in takes:
        copies = take.copies[:-1] if untied else take.copies
        copy = next((copy for copy in copies if copy in stored), None)
        if copy and take.name not in stored:
            names[copy] = take.name
    return lambda name: names.get(name, name)


def _ids(fields: Fields, n_vocab: int, *, writes: bool) -> dict[str, int]:
    starts = "decoder_start" if writes else "bos"
    start, pad = (fields.token_id(f"{name}_token_id", n_vocab) for name in (starts, "pad"))
    end = next(iter(_ends(fields, n_vocab)), None)
    ids = {"start": end if start is None else start, "end": end, "pad": pad}
    return {name: value for name, value in ids.items() if value is not None}


def _ends(fields: Fields, n_vocab: int) -> tuple[int, ...]:
    """Return all tokens that end a text, from both files: older folders have them in config.json alone."""
    return tuple(dict.fromkeys(id for key in (ENDS, MORE_ENDS) for id in fields.token_ids(key, n_vocab)))


def _never(fields: Fields, n_vocab: int, end: int | None) -> tuple[tuple[int, ...], ...]:
    """Return the words that are never written; the end always may be, as in the transformers library."""
    return tuple(word for word in fields.words(BAD_WORDS, n_vocab) if word != (end,))


CLASS = "(MT)?(LMHead|DoubleHeads|Encoder)?(For[A-Z]|Model)"
"""The rest of a class's name after its beginning: so BERT is not taken for BertGeneration."""


def _named_format(values: Mapping[str, Any]) -> Format | None:
    """Return the format that a config names by its model type or its class; None if it names neither."""
    given, first = values.get("model_type"), first_class(values.get("architectures"))
    if isinstance(given, str) and given in formats():
        others = (form for form in formats().values() if form.config_model_type == given)
        return next((form for form in others if re.match(form.architecture, first)), formats()[given])
    for kind, (reason, remedy) in UNREAD.items():
        ending = "For(Cond|AudioClass)" if f"{kind}_text" in formats() else "For(Cond|AudioClass|Causal)"
        if given == kind or (given is None and re.match(kind.replace("_", "") + ending, first, re.I)):
            raise config_error(Phrase("its kind is {kind}, which is not read", kind=kind), reason, remedy)
    if given is not None:
        raise _unknown(Phrase("model_type is '{kind}'", kind=printable(str(given), 40)))
    if not first:
        return None
    for kind, form in formats().items():
        if re.match(form.kinds[kind] + CLASS, first):
            return form
    raise _unknown(Phrase("the class is '{name}'", name=printable(first, 60)))


def _guess(values: Mapping[str, Any], weights: Weights) -> tuple[Plan, Weights]:
    """Return the plan of the one format that can read the config and has the stored tensors."""
    possible: dict[str, tuple[Plan, Weights]] = {}
    for form in formats().values():
        if form.model_type in possible or (form.guess_key and form.guess_key not in values):
            continue
        with suppress(InputError):
            possible[form.model_type] = _read(form, values, weights, guess=True)
    if len(possible) == 1:
        return next(iter(possible.values()))
    if not possible:
        raise _unknown(mark("model_type is missing, and the tensors are those of no kind that is read here"))
    kinds = ", ".join(sorted(possible))
    raise config_error(
        Phrase("model_type is missing, and the tensors may be those of {kinds}", kinds=kinds),
        "These kinds compute differently with the same tensors.",
        'Write "model_type": "{kind}" into it, if that is what it is.',
        kind=min(possible),
    )


def _unknown(problem: str) -> InputError:
    values = {"where": CONFIG, "problem": problem, "kinds": ", ".join(sorted(formats()))}
    remedy = mark("Open a model of one of these kinds.")
    return UnknownKind("{where}: {problem}.", "Kinds read here: {kinds}.", remedy, **values)
