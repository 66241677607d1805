"""Classifiers of documents: how often the class with the highest score is the right one."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from core.data.documents import Document, encode_sentences, pad_documents, read_documents
from core.errors import InputError
from core.models import Batch
from core.scoring import Metrics, Scoring, bags
from core.scoring.files import reading_errors
from core.scoring.progress import progress

AT_ONCE = 32


def measure(model: Any, path: Path, limit: int | None = None) -> Metrics:
    """Measure accuracy, accuracy by class, nats (the mean of -log p of the right class) and the share of the commonest class.

    The documents are those of the file, cut where they are longer than the model reads. Raises InputError for a class
    that the model does not know, and for a file without a document.
    """
    with reading_errors(path):
        found = list(islice(read_documents(path), limit))
    classes = model.config.classes
    check(found, classes, path.name)
    wanted = np.array([classes.index(each.label) for each in found])
    logp = scores(model, found).double().log_softmax(-1)
    lost = F.nll_loss(logp, torch.from_numpy(wanted))
    return {**accuracies(logp.argmax(-1).numpy(), wanted, classes), "nats": float(lost)}


def scores(model: Any, documents: list[Document]) -> torch.Tensor:
    """Return the scores of the classes, (document, class); documents of similar length are read together."""
    read_as, device = encode_sentences(documents, model.tokenizer), next(model.network.parameters()).device
    order = sorted(range(len(read_as)), key=lambda i: sum(map(len, read_as[i])))
    pad, parts = model.tokenizer.pad or 0, []
    with torch.inference_mode(), progress(len(order), "document") as bar:
        for some in (order[i : i + AT_ONCE] for i in range(0, len(order), AT_ONCE)):
            ids, numbers, real = (
                torch.from_numpy(each).to(device)
                for each in pad_documents([read_as[i] for i in some], pad, model.config.n_ctx)
            )
            parts.append(model.network.classes(model.network(Batch(ids=ids, real=real, segments=numbers))))
            bar.update(len(some))
    together = torch.cat(parts).cpu()
    return together.new_zeros(together.shape).index_copy(0, torch.tensor(order), together)


def accuracies(guessed: np.ndarray, labels: np.ndarray, classes: tuple[str, ...]) -> Metrics:
    """Return accuracy and accuracy_by_class, with `items` and `commonest`, the share of the most frequent class.

    >>> accuracies(np.array([0, 1, 1]), np.array([0, 1, 0]), ("a", "b"))["accuracy_by_class"]
    {'a': 0.5, 'b': 1.0}
    """
    right, counts = guessed == labels, np.bincount(labels, minlength=len(classes))
    return {
        "items": len(labels),
        "accuracy": float(right.mean()),
        "commonest": float(counts.max() / len(labels)),
        "accuracy_by_class": {
            name: float(right[labels == place].mean()) for place, name in enumerate(classes) if counts[place]
        },
    }


def check(documents: list[Document], classes: tuple[str, ...], name: str) -> None:
    """Check that there are documents and that the model knows their classes. Raises InputError that names the file where not."""
    unknown = sorted({each.label for each in documents} - {*classes})
    if not documents or unknown:
        wrong = f"{name} has the classes {', '.join(unknown)}." if unknown else f"{name} has no document."
        raise InputError(
            wrong, f"The classes of the model are {', '.join(classes)}.", "Give documents of these."
        )


def baselines(model: Any, train: Path, path: Path) -> dict[str, Metrics]:
    """Return the metrics on `path` of the baselines of `core.scoring.bags`, learned from `train`, by their names."""
    with reading_errors(train), reading_errors(path):
        learned, found = list(read_documents(train)), list(read_documents(path))
    classes = model.config.classes
    for some, name in ((learned, train.name), (found, path.name)):
        check(some, classes, name)
    wanted = np.array([classes.index(each.label) for each in found])
    return {
        name: accuracies(guessed, wanted, classes)
        for name, guessed in bags.baseline_classes(learned, found, classes).items()
    }


SCORING = Scoring(
    kind="classifier of documents",
    families=frozenset({"han"}),
    suffix=".jsonl",
    content="a JSON object a line with label and sentences",
    measure=measure,
    baselines=baselines,
)
