"""Names, paths and addresses given to open_model; the Hub is a stand-in, no test reaches for the network."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from crafting import good_folder
from huggingface_hub import constants

from core.checkpoints import open_model
from core.errors import InputError

NAMES = [
    "",
    ".",
    "..",
    "../..",
    "/",
    "no-such-model",
    "no/such/folder",
    "gpt\0mini",
    "x" * 5000,
    "<b>gpt</b>",
    "~",
    "C:\\models",
    "\ud800",
]


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_a_name_that_is_no_model_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        open_model(name)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700
    assert str(tmp_path) not in str(caught.value)


def test_a_file_is_no_model_folder(refused, tmp_path, monkeypatch):
    good_folder(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    refused("model/config.json", "'config.json' is a file")


HUB_IDS = [
    "hf:",
    "hf:gpt2",
    "hf:/gpt2",
    "hf:owner/",
    "hf:a/b/c",
    "hf:../gpt2",
    "hf:owner/..",
    "hf:owner/a..b",
    "hf:owner/a--b",
    "hf:https://huggingface.co/gpt2",
    "hf://owner/name",
    "hf:owner/na me",
    "hf:owner/name@main",
    "hf:owner\\name",
    "hf:owner/name?x=1",
    "hf:owner/name#x",
    "hf:-owner/name",
    "hf:owner/.name",
    "hf:owner/name\n",
    "hf:ow\0ner/name",
    "hf:owner/" + "n" * 200,
    "hf:òwner/name",
    "hf:hf:owner/name",
    "hf: owner/name",
    "hf:file:///etc/passwd",
]


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """What is asked of the Hub's library, and what it answers."""
    asked = SimpleNamespace(downloads=[], files={}, error=None, folder=None)

    class Api:
        def __init__(self, endpoint, token):
            assert token is False, "the server's own token is nobody's business"

        def model_info(self, name, files_metadata, timeout):
            if asked.error:
                raise asked.error
            files = [
                SimpleNamespace(rfilename=file, size=size, lfs=None) for file, size in asked.files.items()
            ]
            return SimpleNamespace(sha="0123abc", siblings=files)

    def download(url, out, **options):
        asked.downloads.append(url.rpartition("hf.test/")[2])
        out.write((asked.folder / url.rpartition("/")[2]).read_bytes())

    monkeypatch.setattr("huggingface_hub.HfApi", Api)
    monkeypatch.setattr("huggingface_hub.file_download.http_get", download)
    monkeypatch.setattr(constants, "HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "ENDPOINT", "http://hf.test")
    return asked


@pytest.mark.parametrize("address", HUB_IDS, ids=lambda name: ascii(name)[:30])
def test_an_address_that_is_no_id_never_reaches_the_hub(hub, address):
    with pytest.raises(InputError, match="is not a model of the Hub"):
        open_model(address)
    assert not hub.downloads


def test_only_safe_files_of_one_revision_are_fetched(hub, tmp_path):
    hub.folder = good_folder(tmp_path / "fetched")
    for name in ("README.md", "merges.txt"):
        (hub.folder / name).write_text("")
    hub.files = {
        "model.safetensors": 10**6,
        "model-00001-of-00002.safetensors": 10,
        "pytorch_model.bin": 10**6,
        "config.json": 100,
        "tokenizer.json": 100,
        "README.md": 10,
        "modeling_evil.py": 10,
        "onnx/model.safetensors": 10,
        "tf_model.h5": 10,
        "merges.txt": 10,
        "training_args.bin": 10,
    }
    model = open_model("hf:owner/name")
    assert model.name == "owner/name"
    names = ["README.md", "config.json", "merges.txt", "model.safetensors", "tokenizer.json"]
    assert sorted(hub.downloads) == [f"owner/name/resolve/0123abc/{name}" for name in names]


def test_shards_are_fetched_when_there_is_no_single_file(hub, tmp_path):
    hub.folder = good_folder(tmp_path / "fetched")
    shards = ["model-1.safetensors", "model-2.safetensors", "model.safetensors.index.json"]
    for name in shards:
        (hub.folder / name).write_text("{}")
    hub.files = {**dict.fromkeys(shards, 10), "config.json": 1}
    with pytest.raises(InputError, match="has no usable weight_map"):
        open_model("hf:owner/name")
    assert sorted(name.rpartition("/")[2] for name in hub.downloads) == ["config.json", *shards]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"pytorch_model.bin": 10, "config.json": 1}, "no safetensors"),
        ({"model.safetensors": 9 * 10**9, "config.json": 1}, "9,000,000,001 bytes"),
        ({}, "no safetensors"),
    ],
)
def test_what_must_not_be_fetched_is_refused_first(hub, files, words):
    hub.files = files
    with pytest.raises(InputError, match=words):
        open_model("hf:owner/name")
    assert not hub.downloads


@pytest.mark.parametrize(
    "error", [OSError("/home/me/.cache: no route"), RuntimeError("offline"), TimeoutError()]
)
def test_without_a_network_it_says_so(hub, error):
    hub.error = error
    with pytest.raises(InputError, match="needs the network") as caught:
        open_model("hf:owner/name")
    assert "/home" not in str(caught.value)


def test_a_model_that_is_not_there(hub):
    class RepositoryNotFoundError(Exception):
        pass

    hub.error = RepositoryNotFoundError()
    with pytest.raises(InputError, match="no open model 'owner/name'"):
        open_model("hf:owner/name")
