"""What `crx models` lists outside of the store, and the speeds that it measures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Crx
from ollama_server import OllamaServer, serving
from tiny_model import make_model

from crx._models.elsewhere import OtherModel, list_cached_models
from crx._models.store import add_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PAGE = "---\nlicense: mit\nlanguage: en\n---\n# A model\n"


def snapshot(cache: Path, repository: str, files: dict[str, str]) -> Path:
    """Make a model's folder in a cache; return it."""
    model = cache / f"models--{repository.replace('/', '--')}"
    folder = model / "snapshots" / COMMIT
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return model


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    service = OllamaServer()
    with serving(service) as url:
        monkeypatch.setenv("OLLAMA_HOST", url)
        yield service


def test_a_model_of_the_cache_has_its_size_and_licence_and_the_command_that_adds_it(
    tmp_path: Path,
) -> None:
    files = {"config.json": "{}", "model.safetensors": "w" * 98, "README.md": PAGE}
    model = snapshot(tmp_path / "hub", "BAAI/bge-small-en-v1.5", files)
    size = 100 + len(PAGE)
    expected = OtherModel(
        "hf:BAAI/bge-small-en-v1.5", "", size, "mit", ("en",), f"crx models add {model}"
    )
    assert list_cached_models({"HF_HOME": str(tmp_path)}) == [expected]
    assert list_cached_models({"HF_HUB_CACHE": str(tmp_path / "hub")}) == [expected]


def test_each_gguf_file_of_the_cache_is_a_generator(tmp_path: Path) -> None:
    model = snapshot(tmp_path / "hub", "own/tiny-GGUF", {"a.gguf": "GGUF", "b.gguf": "GGUF1"})
    found = list_cached_models({"HF_HOME": str(tmp_path)})
    assert [(each.name, each.kind, each.size_bytes) for each in found] == [
        ("hf:own/tiny-GGUF:a.gguf", "generator", 4),
        ("hf:own/tiny-GGUF:b.gguf", "generator", 5),
    ]
    assert found[0].use == f"llama:{model / 'snapshots' / COMMIT / 'a.gguf'}"


def test_a_model_of_pickles_is_not_listed_nor_a_cache_that_is_missing(tmp_path: Path) -> None:
    assert list_cached_models({"HF_HOME": str(tmp_path)}) == []
    snapshot(tmp_path / "hub", "own/old", {"config.json": "{}", "pytorch_model.bin": "x"})
    assert list_cached_models({"HF_HOME": str(tmp_path)}) == []


def test_models_of_ollama_are_listed_with_what_they_are_for(
    crx: Crx, ollama: OllamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    out = crx("models").out
    row = r"^ollama:nomic-embed-text +embedder +274.3 MB +Apache License +ollama:nomic-embed-text$"
    assert re.search(row, out, re.MULTILINE)
    assert re.search(r"^ollama:llama3.2:3b +generator ", out, re.MULTILINE)
    others = json.loads(crx("models", "--json").out)["elsewhere"]
    assert [each["name"] for each in others] == ["ollama:llama3.2:3b", "ollama:nomic-embed-text"]


def test_a_server_of_ollama_that_is_named_and_fails_is_a_line(
    crx: Crx, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ollama.html = True
    done = crx("models")
    assert done.code == 0
    assert done.err.count("is not Ollama; set OLLAMA_HOST") == 1
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    assert "ollama: http://127.0.0.1:9 cannot be reached" in crx("models").err
    monkeypatch.setenv("CRX_OFFLINE", "1")
    assert "ollama" not in crx("models").err


def test_speeds_are_measured_once_and_shown_from_then_on(
    crx: Crx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setattr("crx._cli.embedder_speed.QUICK_PROBE_S", 0.01)
    add_model(make_model(tmp_path / "tiny"))
    assert "chunks/s" not in crx("models").out
    measured = crx("models", "--speed").out
    assert re.search(r"^tiny +embedder .* [\d,]+ chunks/s +", measured, re.MULTILINE)
    assert re.search(r"^crx +reranker .* [\d,]+ pairs/s +", measured, re.MULTILINE)
    assert crx("models").out == measured
