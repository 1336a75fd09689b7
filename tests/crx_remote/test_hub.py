"""Models of the Hugging Face Hub: the real client against a small hub on this machine."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from hub_server import COMMIT, Hub, HubRepository, read_files, serve_hub
from tiny_export import make_exported_reranker
from tiny_model import make_model

from crx._models.card import read_card
from crx._models.hub_address import HubAddress, parse_hub_address
from crx._models.licences import forbids_commercial_use, is_permissive
from crx._models.store import add_model
from crx.errors import NoRoom, UsageError
from crx_remote import hub as client

pytest.importorskip("huggingface_hub")

TINY = "acme/Tiny-Model"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve_hub() as served:
        yield served


class Pull:
    """Runs `crx models pull` in a process of its own, since the client reads its settings once."""

    def __init__(self, folder: Path, hub: Hub) -> None:
        self.store = folder / "store"
        self.home = folder / "home"
        names = ("PATH", "PYTHONPATH", "SYSTEMROOT", "HOME")
        self.environment = {name: os.environ[name] for name in names if name in os.environ} | {
            "CRX_MODELS": str(self.store),
            "HF_HOME": str(self.home),
            "HF_ENDPOINT": hub.url,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """Return what was printed; with an exit code, the one line of the error."""
        done = subprocess.run(
            [sys.executable, "-m", "crx", "models", "pull", *arguments],
            env=self.environment | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        if code:
            lines = [line for line in done.stderr.splitlines() if "; fetching " not in line]
            assert len(lines) == 1, done.stderr
            assert not self.store.exists() or os.listdir(self.store) == []
            return lines[0]
        return done.stdout + done.stderr


@pytest.fixture
def pull(tmp_path: Path, hub: Hub) -> Pull:
    return Pull(tmp_path, hub)


@pytest.fixture
def tiny(tmp_path: Path, hub: Hub) -> HubRepository:
    """An embedder in safetensors, on the hub."""
    files = read_files(make_model(tmp_path / "tiny"))
    files["pytorch_model.bin"] = b"a pickle" * 1_000
    hub.models[TINY] = HubRepository(files)
    return hub.models[TINY]


# Fetched models


def test_safetensors_are_fetched_at_a_commit_and_no_pickle_is(
    pull: Pull, hub: Hub, tiny: HubRepository
) -> None:
    printed = pull(f"hf:{TINY}")
    assert f"hf:{TINY} at 0123456, licence: mit; fetching" in printed
    card = read_card(pull.store / "tiny-model")
    assert (card.kind, card.licence, card.languages) == ("embedder", "mit", ("en",))
    assert card.provenance is not None
    assert (card.provenance.package, card.provenance.version) == (f"hf:{TINY}", COMMIT)
    assert card.command == (
        f"crx models pull hf:{TINY}@{COMMIT} --name tiny-model --precision fp32"
    )
    assert not [line for line in hub.requests if "pytorch_model" in line]


def test_a_graph_is_fetched_with_the_file_of_its_tensors(
    pull: Pull, hub: Hub, tmp_path: Path
) -> None:
    folder = make_exported_reranker(tmp_path / "reranker", graph="onnx/model.onnx")
    graph = folder / "onnx" / "model.onnx"
    onnx.save(
        onnx.load(graph),
        graph,
        save_as_external_data=True,
        location="model.onnx_data",
        size_threshold=0,
    )
    hub.models["acme/ranker"] = HubRepository(read_files(folder))
    pull("hf:acme/ranker:onnx/model.onnx", "--kind", "reranker", "--max-tokens", "24")
    card = read_card(pull.store / "ranker")
    assert (card.kind, card.sequence) == ("reranker", 24)


def test_a_gguf_file_is_stored_as_a_generator(pull: Pull, hub: Hub) -> None:
    files = {"Tiny-Q8_0.gguf": b"GGUF" + bytes(5_000), "Tiny-Q4_0.gguf": b"GGUF"}
    hub.models["acme/tiny-gguf"] = HubRepository(files)
    asked = pull("hf:acme/tiny-gguf", code=7)
    assert asked.endswith("name one, as in hf:acme/tiny-gguf:Tiny-Q4_0.gguf")
    pull("hf:acme/tiny-gguf@v1:Tiny-Q8_0.gguf", "--name", "tiny")
    card = read_card(pull.store / "tiny")
    assert (card.kind, card.precision, card.licence) == ("generator", "gguf", "mit")
    assert (pull.store / "tiny" / "model.gguf").read_bytes() == files["Tiny-Q8_0.gguf"]


def test_a_private_model_is_fetched_with_the_token(
    pull: Pull, hub: Hub, tiny: HubRepository
) -> None:
    tiny.token = "hf_secret"
    refused = pull(f"hf:{TINY}", code=7)
    assert refused.endswith("check the name, or set HF_TOKEN (401)")
    pull(f"hf:{TINY}", HF_TOKEN="hf_secret")


def test_a_download_that_breaks_is_resumed(pull: Pull, hub: Hub) -> None:
    # The client keeps whole blocks of this size.
    block = 10 << 20
    content = b"GGUF" + bytes(block)
    hub.models["acme/tiny"] = HubRepository({"tiny.gguf": content})
    hub.cut = [block + 1]
    pull("hf:acme/tiny:tiny.gguf")
    assert hub.ranges == [f"bytes={block}-"]
    assert (pull.store / "tiny" / "model.gguf").read_bytes() == content


def test_a_projection_in_a_folder_of_its_own_is_read_from_the_cache(
    pull: Pull, hub: Hub, tmp_path: Path
) -> None:
    hub.models[TINY] = HubRepository(read_files(make_model(tmp_path / "dense", dense=8)))
    pull(f"hf:{TINY}")
    assert read_card(pull.store / "tiny-model").dimensions == 8


def test_a_filled_cache_needs_no_hub(pull: Pull, hub: Hub, tiny: HubRepository) -> None:
    pull(f"hf:{TINY}", "--name", "first")
    printed = pull(f"hf:{TINY}", "--name", "second", HF_ENDPOINT="http://127.0.0.1:9")
    assert "the hub cannot be reached, so it is that of the cache" in printed
    first, second = (read_card(pull.store / name) for name in ("first", "second"))
    assert first.fingerprint == second.fingerprint
    assert second.provenance == first.provenance


def test_a_folder_of_the_cache_is_added_as_it_stands(
    pull: Pull, hub: Hub, tiny: HubRepository, tmp_path: Path
) -> None:
    pull(f"hf:{TINY}")
    folder = pull.home / "hub" / "models--acme--Tiny-Model"
    added = add_model(folder, into=tmp_path / "other")
    pulled = read_card(pull.store / "tiny-model")
    assert (added.name, added.files) == ("tiny-model", pulled.files)
    assert added.provenance == pulled.provenance


# Refused models


def test_an_unknown_model_revision_or_file_is_one_line(
    pull: Pull, hub: Hub, tiny: HubRepository
) -> None:
    assert "acme/none: no such model, or a private one" in pull("hf:acme/none", code=7)
    assert "no such model, revision or file (404)" in pull(f"hf:{TINY}@v9", code=7)
    assert "x.onnx: no such file; there is none" in pull(f"hf:{TINY}:x.onnx", code=7)


def test_a_gated_model_names_the_terms(pull: Pull, hub: Hub, tiny: HubRepository) -> None:
    tiny.gated = True
    assert "accept its terms on its page and set HF_TOKEN" in pull(f"hf:{TINY}", code=7)


def test_a_file_that_differs_from_its_hash_is_removed_from_the_cache(
    pull: Pull, hub: Hub, tiny: HubRepository
) -> None:
    hub.garbled = {"model.safetensors"}
    assert "model.safetensors differs from the hash" in pull(f"hf:{TINY}", code=7)
    hub.garbled = set()
    pull(f"hf:{TINY}")


def test_pickles_alone_are_refused_before_a_fetch(
    pull: Pull, hub: Hub, tiny: HubRepository
) -> None:
    del tiny.files["model.safetensors"]
    assert "pytorch_model.bin alone, which can run code" in pull(f"hf:{TINY}", code=7)
    assert not [line for line in hub.requests if "/resolve/" in line]


def test_a_licence_that_forbids_commercial_use_is_said_and_asked_for(
    pull: Pull, hub: Hub, tiny: HubRepository
) -> None:
    tiny.card = {"license": "cc-by-nc-4.0"}
    refused = pull(f"hf:{TINY}", code=2)
    assert "licence, cc-by-nc-4.0, forbids commercial use" in refused
    assert refused.endswith("--accept-licence cc-by-nc-4.0")
    assert not [line for line in hub.requests if "/resolve/" in line]
    pull(f"hf:{TINY}", "--accept-licence", "cc-by-nc-4.0")
    assert read_card(pull.store / "tiny-model").licence == "cc-by-nc-4.0"


def test_what_is_no_hub_and_what_cannot_be_reached_are_one_line(
    pull: Pull, hub: Hub, tiny: HubRepository
) -> None:
    hub.html = True
    assert "what answers is no hub; check HF_ENDPOINT" in pull(f"hf:{TINY}", code=7)
    unreachable = pull(f"hf:{TINY}", code=7, HF_ENDPOINT="http://127.0.0.1:9")
    assert "the hub cannot be reached" in unreachable


def test_nothing_is_asked_for_offline(pull: Pull, hub: Hub, tiny: HubRepository) -> None:
    assert "needs the network, and CRX_OFFLINE is set" in pull(
        f"hf:{TINY}", code=2, CRX_OFFLINE="1"
    )
    assert hub.requests == []


def test_a_gguf_file_is_no_embedder(pull: Pull, hub: Hub) -> None:
    hub.models["acme/tiny"] = HubRepository({"tiny.gguf": b"GGUF"})
    refused = pull("hf:acme/tiny:tiny.gguf", "--kind", "embedder", code=7)
    assert "a GGUF file is a generator here, not embedder" in refused


def test_a_gguf_file_has_no_options_of_other_models(pull: Pull, hub: Hub) -> None:
    hub.models["acme/tiny"] = HubRepository({"tiny.gguf": b"GGUF"})
    for option in (("--precision", "int8"), ("--max-tokens", "24")):
        refused = pull("hf:acme/tiny:tiny.gguf", *option, code=2)
        assert "a GGUF file is stored as it is" in refused
    assert not (pull.store / "tiny").exists()


def test_a_full_disk_is_named() -> None:
    with (
        pytest.raises(NoRoom, match=r"no space left to download it; .* HF_HOME"),
        client._mapped_errors(HubAddress(TINY, None, None)),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


# Addresses and licences


def test_an_address_names_a_revision_and_a_file() -> None:
    assert parse_hub_address("hf:a/b@v1:onnx/x.onnx") == HubAddress("a/b", "v1", "onnx/x.onnx")
    assert parse_hub_address("hf:a/b") == HubAddress("a/b", None, None)


@pytest.mark.parametrize(
    "address", ["hf:", "hf:a", "hf:a/b/c", "hf:../b", "hf:a/b:../x", "hf:a/b@"]
)
def test_another_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="write hf:OWNER/NAME"):
        parse_hub_address(address)


def test_licences_are_told_apart() -> None:
    names = ["mit", "Apache-2.0", "cc-by-4.0", "cc-by-nc-4.0", "cc-by-sa-4.0", "gemma", ""]
    assert [is_permissive(name) for name in names] == [True] * 3 + [False] * 4
    non_commercial = ["cc-by-nc-4.0", "cc-by-nc-sa-3.0", "fair-noncommercial-research"]
    assert all(map(forbids_commercial_use, non_commercial))
    assert not any(map(forbids_commercial_use, ["mit", "ncsa", "cc-by-sa-4.0"]))


def test_the_answer_as_json_has_the_commit(pull: Pull, hub: Hub, tiny: HubRepository) -> None:
    printed = pull(f"hf:{TINY}", "--json")
    listed = json.loads(printed[: printed.rindex("}") + 1])
    assert listed["provenance"]["version"] == COMMIT
