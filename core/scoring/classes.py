"""Models that tell the class of a document: how often the class that is scored highest is the right one."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from core.data.documents import Document, encoded, laid_out, read
from core.errors import InputError
from core.models import Batch
from core.scoring import Metrics, Scoring, bags
from core.scoring.files import reading
from core.scoring.progress import progress

AT_ONCE = 32


def measure(model: Any, path: Path, limit: int | None = None) -> Metrics:
    """accuracy, its rows by class, nats (the mean of -log p of the right class) and the share of the commonest class.

    The sentences are those of the file; a document longer than the model reads is cut. Raises InputError for a class that
    the model does not know, and for a file without a document.
    """
    with reading(path):
        found = list(islice(read(path), limit))
    classes = model.config.classes
    check(found, classes, path.name)
    wanted = np.array([classes.index(each.label) for each in found])
    logp = scores(model, found).double().log_softmax(-1)
    lost = F.nll_loss(logp, torch.from_numpy(wanted))
    return {**accuracies(logp.argmax(-1).numpy(), wanted, classes), "nats": float(lost)}


def scores(model: Any, documents: list[Document]) -> torch.Tensor:
    """The scores of the classes (document class), those of about one length read at once."""
    read_as, device = encoded(documents, model.tokenizer), next(model.network.parameters()).device
    order = sorted(range(len(read_as)), key=lambda i: sum(map(len, read_as[i])))
    pad, parts = model.tokenizer.pad or 0, []
    with torch.inference_mode(), progress(len(order), "document") as bar:
        for some in (order[i : i + AT_ONCE] for i in range(0, len(order), AT_ONCE)):
            ids, numbers, real = (
                torch.from_numpy(each).to(device)
                for each in laid_out([read_as[i] for i in some], pad, model.config.n_ctx)
            )
            parts.append(model.network.classes(model.network(Batch(ids=ids, real=real, segments=numbers))))
            bar.update(len(some))
    together = torch.cat(parts).cpu()
    return together.new_zeros(together.shape).index_copy(0, torch.tensor(order), together)


def accuracies(guessed: np.ndarray, wanted: np.ndarray, classes: tuple[str, ...]) -> Metrics:
    """Return accuracy and accuracy_by_class, with `items` and `commonest`, the share of the class that occurs most.

    >>> accuracies(np.array([0, 1, 1]), np.array([0, 1, 0]), ("a", "b"))["accuracy_by_class"]
    {'a': 0.5, 'b': 1.0}
    """
    right, counts = guessed == wanted, np.bincount(wanted, minlength=len(classes))
    return {
        "items": len(wanted),
        "accuracy": float(right.mean()),
        "commonest": float(counts.max() / len(wanted)),
        "accuracy_by_class": {
            name: float(right[wanted == place].mean()) for place, name in enumerate(classes) if counts[place]
        },
    }


def check(documents: list[Document], classes: tuple[str, ...], name: str) -> None:
    """Raise InputError where there is no document, or one of a class that is none of `classes`."""
    unknown = sorted({each.label for each in documents} - {*classes})
    if not documents or unknown:
        wrong = f"{name} has the classes {', '.join(unknown)}." if unknown else f"{name} has no document."
        raise InputError(
            wrong, f"The classes of the model are {', '.join(classes)}.", "Give documents of these."
        )


def beside(model: Any, train: Path, path: Path) -> dict[str, Metrics]:
    """Return the scores on `path` of the baselines of `core.scoring.bags`, which learn from `train`, by their names."""
    with reading(train), reading(path):
        learned, found = list(read(train)), list(read(path))
    classes = model.config.classes
    for some, name in ((learned, train.name), (found, path.name)):
        check(some, classes, name)
    wanted = np.array([classes.index(each.label) for each in found])
    return {
        name: accuracies(guessed, wanted, classes)
        for name, guessed in bags.guesses(learned, found, classes).items()
    }


SCORING = Scoring(
    kind="classifier of documents",
    families=frozenset({"han"}),
    suffix=".jsonl",
    content="a JSON object a line with label and sentences",
    measure=measure,
    beside=beside,
)
