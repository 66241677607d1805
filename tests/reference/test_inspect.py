"""What is said of a folder before it is opened is true, and every reason not to open it is named at once."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest
import torch
from kinds import CASES, ONE
from parity import variant
from transformers import RobertaConfig, RobertaForSequenceClassification

from core.checkpoints import open_model
from core.checkpoints.foreign import formats
from core.checkpoints.inspect import main, report
from core.checkpoints.store import shipped_folder
from core.text.learn import learn_wordpiece
from core.tools import kinds_table


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    config = RobertaConfig(**{**ONE, "vocab_size": 90})
    folder = tmp_path_factory.mktemp("roberta") / "model"
    RobertaForSequenceClassification(config).to(torch.bfloat16).save_pretrained(folder)
    learn_wordpiece(["She has a white car."] * 3, 60).save(str(folder / "tokenizer.json"))
    return folder


def test_what_opens_is_described_and_nothing_is_read(roberta, capsys, monkeypatch):
    opened = open_model(roberta)
    with monkeypatch.context() as patch:
        patch.setattr("core.checkpoints.weights.Weights.read", lambda *_: pytest.fail("a tensor was read"))
        assert main([str(roberta)]) == 0
    said = capsys.readouterr().out
    n, largest = opened.n_parameters, max(weight.numel() for weight in opened.network.parameters())
    halves = sum(weight.numel() for weight in opened.network.parameters() if weight.dtype == torch.bfloat16)
    held = sum(weight.nbytes for weight in opened.network.parameters())
    assert 0.5 * n < halves < n
    for part in (
        "config.json calls it roberta",
        "kind: bert, attention: self",
        "layers: 3, heads: 3, width: 33, width of a head: 11",
        "context length: 59",
        f"parameters: {n:,} in ",
        "stored as BF16",
        f"memory: {held / 2**20:,.1f} MB ({halves:,} numbers stay in half precision, mapped from the file), "
        f"{(held + 4 * largest) / 2**20:,.1f} MB while",
        "computed in: float32",
        "outputs: classes",
        "start [CLS], end [SEP], pad [PAD], mask [MASK]",
        "it opens",
    ):
        assert part in said, part


def test_half_precision_stays_and_a_file_that_is_written_to_is_noticed(roberta, tmp_path):
    folder = variant(roberta, tmp_path)
    opened, exact = open_model(folder), open_model(roberta)
    for name, weight in opened.network.named_parameters():
        matrix = weight.ndim == 2 and not name.startswith(("embed.position", "embed.segment"))
        assert weight.dtype == (torch.bfloat16 if matrix else torch.float32), name
    before = opened.run("She has a white car.")
    assert before.trace["layer.1.resid_out"].dtype == np.float32 and opened.files
    file = folder / "model.safetensors"
    other = folder / "other"
    shutil.copy(file, other)
    other.replace(file)  # another file of the same name: what is mapped is still there
    assert opened.files
    again = opened.run("She has a white car.")
    assert np.array_equal(again.trace["layer.1.resid_out"], before.trace["layer.1.resid_out"])
    opened = open_model(folder)
    with file.open("r+b") as held:
        held.write(held.read(1))
    os.utime(file, ns=(1, 1))
    assert not opened.files and exact.files


def test_config_and_tokenizer_are_refused_at_once(roberta, tmp_path, capsys):
    folder = variant(roberta, tmp_path, config={"position_embedding_type": "relative_key"})
    held = json.loads((folder / "tokenizer.json").read_text())
    held["model"]["type"] = "Magic"
    (folder / "tokenizer.json").write_text(json.dumps(held))
    assert main([str(folder)]) == 2
    said = capsys.readouterr().out
    assert "refused: config.json: position_embedding_type is 'relative_key'." in said
    assert "refused: tokenizer.json is refused: its model is not among the known ones" in said
    assert "it is not opened" in said


def test_a_folder_without_weights_and_none_at_all(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text('{"model_type": "gpt2"}')
    lines, problems = report(tmp_path / "empty")
    assert "calls it gpt2" in lines[0] and "model.safetensors is missing" in str(problems[0])
    assert "There is no folder" in str(report(tmp_path / "nowhere")[1][0])


def test_a_shipped_model_is_described_too():
    lines, problems = report(shipped_folder() / "bert-mini")
    assert not problems and any("kind: bert" in line for line in lines)


def test_the_table_of_kinds_is_that_of_the_formats_and_each_has_a_row_of_parity():
    text = kinds_table.README.read_text(encoding="utf-8")
    assert kinds_table.updated(text) == text, "python -m core.tools.kinds_table writes it"
    assert all(form.example and form.summary for form in formats().values())
    own_files = {"vit", "deit", "jina_bert"}
    compared = {case.config.model_type for case in CASES.values()} | own_files
    assert compared == set(formats())
