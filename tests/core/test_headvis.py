"""Heads in the file tree of HeadVis and Neuronpedia: ours there and back, theirs read, and what is refused."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from core.analysis.heads import headvis
from core.analysis.heads.corpus_file import shipped_corpus
from core.errors import InputError


@pytest.fixture(scope="module")
def heads():
    found = shipped_corpus("induction-tiny")
    return found.kinds["causal"]


@pytest.mark.parametrize(("name", "kind"), [("induction-tiny", "causal"), ("translator-en-es", "self")])
def test_our_heads_come_back_from_their_form(tmp_path, name, kind):
    found = shipped_corpus(name)
    one = found.kinds[kind]
    for path in (tmp_path / "tree", tmp_path / "tree.zip"):
        headvis.write_headvis(path, one, name, "texts", kind)
        back = headvis.read_headvis(path)
        assert (back.model, back.dataset, back.kind) == (name, "texts", kind)
        two = back.heads
        assert two.n == one.n and two.strongest == one.strongest and two.deciles == one.deciles
        assert two.queries == one.queries and two.keys == one.keys
        for own, other in (
            (one.measures, two.measures),
            *((one.controls[k], two.controls[k]) for k in one.controls),
        ):
            assert own.keys() == other.keys()
            for measure in own:
                np.testing.assert_allclose(own[measure], other[measure], atol=1e-4)
        assert (one.effect is None) == (two.effect is None)
        if one.effect is not None:
            np.testing.assert_allclose(two.effect, one.effect, atol=1e-4)


def test_the_numbers_of_their_form_mean_what_its_readers_take_them_for(tmp_path, heads):
    files = headvis.headvis_files(heads, "induction-tiny", "strings", "causal")
    config, scatter = files["config.json"], files["scatter_data.json"]
    assert config["heads"] == [[0, 0], [0, 1], [1, 0], [1, 1]] and config["n_intervals"] == 10
    needed = ("model_name", "dataset_name", "n_sequences", "seq_len", "dtype", "attn_implementation")
    assert all((config | config["pipeline_config"])[key] is not None for key in needed)
    assert scatter[2]["induction_score"] == pytest.approx(heads.measures["induction"][1, 0, 0], abs=1e-4)
    assert {row["head"] for row in scatter} == {0, 1} and scatter[0]["pattern_entropy"] is None
    content = files["heads/L1H0.json"]
    row, one = heads.strongest[1][0][0], content["sequences"][0]
    n = len(one["tokens"])
    pairs = [divmod(index, n) for index in one["attention_indices"]]
    assert {one["tokens"][query] for query, _ in pairs} == {row.query_token}
    weights = dict(zip((key for _, key in pairs), one["attention_values"], strict=True))
    assert max(weights.values()) == pytest.approx(one["max_activation"], abs=2e-3)
    assert [one["interval"] for one in content["sequences"][8:]] == list(range(10, 0, -1))
    total = sum(sum(one["attention_values"]) for one in content["sequences"])
    assert sum(content["qk_distance_histogram"]["bin_values"]) == pytest.approx(total, abs=0.01)
    rows = headvis.rows_of_neuronpedia(json.dumps(headvis.neuronpedia_sequences(heads, 1, 0)).encode())
    assert [one.weight for one in rows[1, 0]] == sorted((one.weight for one in rows[1, 0]), reverse=True)
    assert rows[1, 0][0].query_token == row.query_token
    translator = shipped_corpus("translator-en-es")
    with pytest.raises(InputError, match="between two texts"):
        headvis.write_headvis(tmp_path, translator.kinds["cross"], "translator-en-es", "pairs", "cross")


def their_tree():
    """Return a tree as their pipeline writes it: whole sequences, several rows of each, one layer of two without attention."""
    tokens = ["<bos>", "The", " king", " and", " the", " queen"]
    pairs = {(2, 0): 0.9, (2, 1): 0.1, (4, 1): 0.8, (4, 0): 0.15, (5, 5): 0.99, (5, 2): 0.01, (3, 2): 0.4}
    sequence = {
        "sequence_id": 7,
        "interval": 2,
        "tokens": tokens,
        "attention_indices": [query * 6 + key for query, key in pairs],
        "attention_values": [*pairs.values()],
        "seq_len": 6,
        "max_activation": 0.99,
    }
    weak = sequence | {
        "sequence_id": 3,
        "interval": 1,
        "attention_values": [value / 2 for value in pairs.values()],
    }
    edge = sequence | {"sequence_id": 4, "attention_indices": [0], "attention_values": [1.0]}
    head = {
        "sequences": [weak, sequence, edge],
        "top_query_tokens": [{"token": " the", "weight": 12.5}],
        "top_key_tokens": [{"token": "The", "weight": 3.5}],
        "histogram": {"bin_edges": [0, 1], "bin_values": [3]},
        "statistics": {"n_samples": 3, "mean_max_activation": 0.8},
    }
    config = {
        "model_name": "some/model",
        "dataset_name": "some/texts",
        "heads": [[1, 0]],
        "n_layers": 2,
        "n_heads": 1,
        "n_intervals": 2,
        "pipeline_config": {"actual_sequences_processed": 40},
    }
    scatter = [{"layer": 1, "head": 0, "induction_score": 0.25, "pattern_entropy": None, "qk_distance": 3.5}]
    return {"config.json": config, "scatter_data.json": scatter, "heads/L1H0.json": head}


def write_archive(path, files):
    with zipfile.ZipFile(path, "w") as file:
        for name, value in files.items():
            file.writestr(f"gemma/headvis/{name}", value if isinstance(value, bytes) else json.dumps(value))
    return path


def test_their_tree_gives_our_rows(tmp_path):
    found = headvis.read_headvis(write_archive(tmp_path / "theirs.zip", their_tree()))
    assert (found.model, found.kind, found.heads.n, found.heads.shape) == ("some/model", "causal", 40, (2, 1))
    row, *others = found.heads.strongest[1][0]
    assert (row.passage, row.weight, row.query, row.key, row.query_token) == (7, 0.8, 4, 1, " the")
    assert not others and row.weights[:3] == (0.15, 0.8, 0.0)
    assert [one.weight for one in found.heads.deciles[1][0]] == [0.8, 0.4]
    assert found.heads.strongest[0][0] == () and found.heads.keys[1][0][0].weight == 3.5
    assert found.heads.measures["induction"][1, 0, 0] == 0.25
    assert (
        np.isnan(found.heads.measures["induction"][0, 0, 0]) and "pattern_entropy" not in found.heads.measures
    )


def changed(name, **changes):
    files = their_tree()
    files[name] = {key: value for key, value in (files[name] | changes).items() if value is not ...}
    return files


def changed_sequence(**changes):
    files = their_tree()
    files["heads/L1H0.json"]["sequences"][1] |= changes
    return files


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "has no config.json"),
        (changed("config.json", attention_atlas={"version": 9}), "has version 9"),
        (changed("config.json", n_layers=...), "has no 'n_layers'"),
        (changed("config.json", heads=[[5, 0]]), "not in the model"),
        (changed("config.json", n_heads=10**9), "number of heads"),
        (changed("config.json", heads=[[0, 0], [1, 0]]), "has no heads/L0H0.json"),
        (changed("config.json", heads=7), "config.json is broken"),
        (changed("heads/L1H0.json", sequences=...), "L1H0.json has no 'sequences'"),
        (changed_sequence(attention_indices=[99] * 7), "out of range"),
        (changed_sequence(attention_values=[0.1]), "different lengths"),
        (changed_sequence(tokens=[1] * 6), "a name is no text"),
        (changed_sequence(interval=3), "interval"),
        (changed_sequence(sequence_id="x"), "whole number"),
        (their_tree() | {"scatter_data.json": {}}, "no list"),
        (their_tree() | {"config.json": "{}".encode("utf-16")}, "not UTF-8"),
        (their_tree() | {"config.json": b'{"n_layers": NaN}'}, "cannot be read"),
        (their_tree() | {"heads/L1H0.json": b" " * (headvis.MOST_BYTES + 1)}, "more than"),
    ],
)
def test_a_file_that_is_not_theirs_is_refused_in_words(tmp_path, files, words):
    path = write_archive(tmp_path / "bad.zip", files)
    with pytest.raises(InputError, match=words):
        headvis.read_headvis(path)
    cut = tmp_path / "cut.zip"
    cut.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"cut.zip cannot be opened"):
        headvis.read_headvis(cut)


@pytest.mark.parametrize("data", [b"{}", b"[1]", b"[{}]", "[]".encode("utf-16"), b"[" * 10**5, b"no"])
def test_a_list_that_is_not_neuronpedias_is_refused_in_words(data):
    with pytest.raises(InputError):
        headvis.rows_of_neuronpedia(data)
