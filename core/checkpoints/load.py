"""From a folder to a model: look at config and headers, try the tokenizer, then read the weights."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import nn

from core.checkpoints.files import FileStates, find_file, json_object, printable, read_beginning
from core.checkpoints.foreign import BAD_WORDS, ENDS, FIRST, MORE_ENDS, plan_foreign
from core.checkpoints.gguf_file import SUFFIX, gguf_card, gguf_in, gguf_tokenizer_loader, plan_gguf
from core.checkpoints.native_format import plan_own
from core.checkpoints.pooling import pooled
from core.checkpoints.safety.load_plan import Plan, build
from core.checkpoints.tokenizer import TokenizerLoader, shipped_tokenizer
from core.checkpoints.weights import Weights, find_weights
from core.errors import InputError
from core.layers.linear import PACKED_WEIGHTS
from core.model import Model
from core.models import Batch
from core.run.lazy_logits import check_finite
from core.text import Tokenizer

log = logging.getLogger(__name__)
TRIED = 16
DEEPEST, MOST_FOLDERS = 3, 1_000
"""How far down models are looked for: publisher/model, or models--OWNER--NAME/snapshots/REVISION."""
GENERATION = "generation_config.json"


def is_model(folder: Path) -> bool:
    """Return whether a folder has the files of a model; one that cannot be read may have them."""
    if (folder / "config.json").is_file():
        return True
    with suppress(OSError):
        return folder.is_dir() and any(folder.glob(f"*{SUFFIX}"))  # of several it is said when it is opened
    return True


def models_in(place: Path) -> list[Path]:
    """Return the model folders inside a folder, at the first level that has any."""
    level = [place]
    for _ in range(DEEPEST):
        level = [each for folder in level for each in _content(folder)][:MOST_FOLDERS]
        if folders := [folder for folder in level if is_model(folder)]:
            return folders
    return []


def _content(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def inspect(folder: Path) -> tuple[Plan, Weights]:
    """Return the plan and the weights of a folder, from its config and the headers alone; nothing large is read.

    Raises InputError for anything that keeps the model from being opened, except in its tokenizer and its numbers, which are not read here.
    """
    if not folder.is_dir():
        raise InputError(
            "There is no folder '{name}'.",
            "A model is a folder.",
            "Check the path.",
            name=printable(folder.name),
        )
    packed = gguf_in(folder)
    if packed is not None:
        return plan_gguf(packed)
    if not (folder / "config.json").exists() and (several := sorted(folder.glob(f"*{SUFFIX}"))):
        raise InputError(
            "{name} holds {n:,} GGUF files.",
            "One folder is one model, and of several files it is not known which is meant.",
            "Put each into a folder of its own.",
            name=printable(folder.name),
            n=len(several),
        )
    if not (folder / "config.json").exists() and (within := next(iter(models_in(folder)), None)):
        raise InputError(
            "{name} is not a model: it holds folders of models.",
            "A model is a folder that holds its files.",
            "Open one of them, such as '{inside}' in it.",
            name=printable(folder.name),
            inside=printable(str(within.relative_to(folder)), 200),
        )
    values = json_object(folder, "config.json")
    weights = find_weights(folder)
    if "family" in values:
        weights = weights.scaled()
        return plan_own(values, weights), weights
    plan, weights = plan_foreign(values | _generation(folder), weights)
    return (plan, weights) if plan.head else pooled(plan, weights, folder)


def _generation(folder: Path) -> dict[str, Any]:
    """Return the settings that are read from generation_config.json: the sequences that may not be written, the token
    that is always written first, and the tokens that end a text.
    """
    if find_file(folder, GENERATION) is None:
        return {}
    given = json_object(folder, GENERATION)
    return {BAD_WORDS: given.get(BAD_WORDS), FIRST: given.get(FIRST), MORE_ENDS: given.get(ENDS)}


def load_model(folder: Path, name: str, *, shipped: bool = False) -> Model:
    """Return the model of a folder in our own or in Hugging Face format, or of one with a GGUF file; frozen.

    Of a foreign folder the weights stay in their file, memory-mapped, and in their precision; what is computed is float32.
    A folder that is not `shipped` (verified by its sum) has its tokenizer tried in a limited child process first.
    Raises InputError naming the file, the field and what is wrong with it.
    """
    try:
        return _loaded(folder, name, shipped)
    except OSError as error:
        file = printable(Path(str(error.filename)).name) if error.filename else printable(name)
        raise InputError(
            "{file} cannot be read: {reason}.",
            "Whoever runs the atlas must be allowed to read every file of a model, and none may disappear while it is being opened.",
            "Check its permissions, then open it again.",
            file=file,
            reason=error.strerror or type(error).__name__,
        ) from None


def _loaded(folder: Path, name: str, shipped: bool) -> Model:
    plan, weights = inspect(folder)
    if plan.unused:
        log.info("%s: not used: %s", name, ", ".join(map(printable, plan.unused)))
    files = FileStates.now(weights.entries[each].file for each in plan.mapped)
    packed = gguf_in(folder)
    card = _card(folder) if packed is None else gguf_card(packed)

    def model(network: nn.Module, tokenizer: Tokenizer) -> Model:
        given = name, plan.spec, plan.config, network, tokenizer, card, files, plan.never, plan.ends
        return Model(*given, head=plan.head, pooling=plan.pooling, first=plan.first)

    if shipped:
        return model(build(plan, weights), shipped_tokenizer(folder, plan))
    with TokenizerLoader(folder, plan) if packed is None else gguf_tokenizer_loader(packed, plan) as loader:
        network = build(plan, weights, loader.check)  # while a child tries the tokenizer
        _try(plan, network)
        return model(network, loader.tokenizer)


def _try(plan: Plan, network: Any) -> None:
    """Read a few tokens once, without copies of the weights. Raises InputError where finite weights make numbers that are not."""
    ids = torch.arange(min(TRIED, plan.config.n_vocab, plan.config.n_ctx))[None]
    source, values = ids, None
    if plan.spec.reads is not None:
        reader = plan.spec.reads(plan.config)
        encoded = reader.encode(reader.example)
        source, values = torch.tensor([encoded.ids]), torch.from_numpy(encoded.values)[None]
        ids = ids if plan.spec.has_source else source
    given = Batch(
        ids=ids,
        real=ids >= 0,
        source=source,
        source_real=source >= 0,
        segments=torch.zeros_like(ids),
        values=values,
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a core is the child's: of two threads one would wait at every product
    try:
        with torch.inference_mode(), PACKED_WEIGHTS.closed():
            hidden = check_finite(network(given), "")
            for name, output in plan.spec.outputs_with(plan.config, plan.head).items():
                if output.reads == "hidden":
                    check_finite(output.compute(name, network, hidden, given.real), "")
    except InputError:
        raise InputError(
            "Its weights are numbers, but its values for the first few tokens are NaN or infinite.",
            "A picture of such a model would be false.",
            "Use a checkpoint from before the training broke, or export it in float32.",
        ) from None
    finally:
        torch.set_num_threads(threads)


def _card(folder: Path) -> str:
    path = find_file(folder, "README.md")
    return "" if path is None else read_beginning(path)
