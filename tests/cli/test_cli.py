"""The command line: what each verb prints and exits with, and what it says of bad input."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from pdfs import pdf

from crx import _native
from crx.cli import COMMANDS, cli, run

ROOT = Path(__file__).parents[2]
WHALES = "# Whales\n\nBlue whales eat krill.\n\n## Song\n\nHumpbacks sing for hours.\n"
BREAD = "# Bread\n\nBake at 240 degrees with steam.\n"
BINARY = bytes(range(256)) * 20


@dataclass(frozen=True)
class Done:
    """What a command gave back."""

    code: int
    out: str
    err: str


class Crx:
    """Runs commands in this process, in the current folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Done:
        self._capsys.readouterr()
        code = run([str(each) for each in arguments])
        return Done(code, *self._capsys.readouterr())


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and a user who has chosen the embedder without weights."""
    for name in os.environ:
        if name.startswith("CRX_") and name != "CRX_MODELS":
            monkeypatch.delenv(name)
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "config.toml").write_text('embedder = "hashed"\n')
    monkeypatch.setenv("CRX_HOME", str(home))
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def docs(here: Path) -> Path:
    (here / "docs").mkdir()
    (here / "docs" / "whales.md").write_text(WHALES)
    (here / "docs" / "bread.md").write_text(BREAD)
    return here / "docs"


@pytest.fixture
def crx(capsys: pytest.CaptureFixture[str]) -> Crx:
    return Crx(capsys)


@pytest.fixture
def indexed(crx: Crx, docs: Path) -> Path:
    assert crx("index", docs).code == 0
    return docs.parent / ".crx"


def process(*arguments: object, code: str = "from crx.cli import main; main()") -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]


# each verb


def test_index_says_what_it_did_and_an_unchanged_folder_costs_nothing(crx: Crx, docs: Path) -> None:
    assert crx("index", "docs").out == ".crx: 2 added; 2 chunks put, 2 embedded\n"
    assert crx("index", "docs").out == ".crx: 2 unchanged; 0 chunks put, 0 embedded\n"


def test_search_prints_place_trail_and_text(crx: Crx, indexed: Path) -> None:
    done = crx("search", "krill", "-k", 1)
    assert done == Done(
        0,
        "1. docs/whales.md:1-7  Whales\n"
        + "".join(f"   {line}".rstrip() + "\n" for line in WHALES.splitlines())
        + "\n",
        "",
    )


def test_search_reranks_where_it_is_told_to(crx: Crx, indexed: Path) -> None:
    flags = ("search", "krill", "-k", 1, "--explain")
    assert "rerank" not in crx(*flags).out
    assert ", rerank 1 (0.750)" in crx(*flags, "--set", "reranker=overlap").out
    assert "rerank" not in crx(*flags, "--set", "reranker=overlap", "--no-rerank").out
    assert ", rerank 1 (0." in crx(*flags, "--rerank").out


def test_a_threshold_drops_hits_and_says_so(crx: Crx, indexed: Path) -> None:
    flags = ("search", "krill", "--set", "reranker=overlap", "--min-relevance")
    done = crx(*flags, 0.5)
    assert (done.code, done.err) == (0, "crx: dropped 1 of 2 below a relevance of 0.5\n")
    assert crx(*flags, 0.9).code == 1
    assert crx("search", "krill", "--min-relevance", 0.5).code == 2


def test_status_and_doctor_say_which_reranker(
    crx: Crx, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "reranker: none\n" in crx("status").out
    monkeypatch.setenv("CRX_RERANKER", "overlap")
    assert "reranker: overlap\n" in crx("status").out
    assert "overlap on cpu; gave 0.900 and 0.100; overlap:1\n" in crx("doctor").out
    monkeypatch.setenv("CRX_RERANKER", "nowhere")
    done = crx("doctor")
    assert (done.code, "nowhere: no such model" in done.out) == (7, True)


def test_search_explains_each_stage(crx: Crx, indexed: Path) -> None:
    out = crx("search", "krill", "-k", 1, "--explain").out
    assert re.search(r"chunk 0: score 0\.\d{4}; bm25 1 \(\d\.\d{3}\), dense \d \(", out)


def test_search_takes_filters_legs_and_windows(crx: Crx, indexed: Path) -> None:
    flags = ("--where", "path=docs/bread.md", "--leg", "bm25", "--window", 0, "--by", "document")
    assert crx("search", "krill bake", *flags).out.startswith("1. docs/bread.md:1-3")
    assert crx("search", "krill", "--where", "lang=xx").code == 1


def test_search_says_how_many_hits_a_budget_left_out(crx: Crx, indexed: Path) -> None:
    done = crx("search", "krill bread", "--budget-tokens", 1)
    assert (done.code, done.out.count("1. docs/"), done.out.count("2. docs/")) == (0, 1, 0)
    assert re.fullmatch(r"crx: \d+ of \d+ hits are in no passage: over 1 tokens\n", done.err)


def test_nothing_found_is_exit_code_1(crx: Crx, indexed: Path) -> None:
    assert crx("search", "zebra", "--leg", "bm25") == Done(1, "", "crx: nothing found\n")


def test_show_prints_the_stored_text(crx: Crx, indexed: Path) -> None:
    assert crx("show", "docs/whales.md").out == WHALES + "\n"
    assert crx("show", "docs/whales.md", "--contexts").out.startswith("[0] 0..")


def test_status_counts_and_lists(crx: Crx, indexed: Path) -> None:
    assert re.search(r"^documents +2$", crx("status").out, re.MULTILINE)
    listed = crx("status", "--documents").out.split()
    assert [Path(uri).name for uri in listed] == ["bread.md", "whales.md"]


def test_config_sets_shows_the_origin_and_unsets(crx: Crx, here: Path) -> None:
    assert crx("config", "set", "k", 7, "--project").code == 0
    assert re.search(r"^k +7 +.*crx\.toml +hits wanted", crx("config").out, re.MULTILINE)
    assert crx("config", "unset", "k", "--project").code == 0
    assert re.search(r"^k +20 +default", crx("config").out, re.MULTILINE)


def test_gc_drops_what_has_left(crx: Crx, indexed: Path, docs: Path) -> None:
    (docs / "bread.md").unlink()
    crx("index", docs)
    assert "1 vectors" in crx("gc").out


def test_models_are_listed_checked_and_removed(
    crx: Crx, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = model_store(tmp_path)
    monkeypatch.setenv("CRX_MODELS", str(store))
    assert re.search(r"^tiny +embedder +16 .* mit +", crx("models").out, re.MULTILINE)
    assert crx("models", "verify", "tiny").out == "tiny: ok\n"
    assert crx("models", "remove", "tiny").out == "tiny: removed\n"
    assert crx("models", "verify", "tiny").code == 7


def test_a_damaged_card_does_not_hide_the_others(
    crx: Crx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = model_store(tmp_path)
    (store / "broken").mkdir()
    (store / "broken" / "model.json").write_text("{")
    monkeypatch.setenv("CRX_MODELS", str(store))
    done = crx("models")
    assert done.code == 7
    assert "\ntiny " in done.out
    assert "broken/model.json: not a model card" in done.err
    assert "no such model; here: broken, " in crx("models", "verify", "x").err


def test_doctor_checks_every_part(crx: Crx, indexed: Path) -> None:
    done = crx("doctor", "--verify", "--json")
    checks = {each["name"]: each for each in json.loads(done.out)["checks"]}
    assert list(checks) == [
        "crx", "core", "settings", "offline", "seal key", "models", "embedder", "reranker",
        "threads", "devices", "extras", "index", "disk",
    ]  # fmt: skip
    assert done.code == 0
    assert checks["embedder"]["detail"].startswith("hashed: 256 dimensions")
    assert checks["index"]["detail"] == "every row matches its hash"


def test_doctor_exits_with_the_code_of_the_first_failure(
    crx: Crx, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_EMBEDDER", "nowhere")
    done = crx("doctor")
    assert done.code == 7
    assert re.search(r"^fail  embedder +nowhere: no such model", done.out, re.MULTILINE)


def test_verify_says_that_all_is_well(crx: Crx, indexed: Path) -> None:
    assert crx("verify").out.endswith("every row matches its hash\n")


def test_verify_mends_what_is_derived_and_says_so(crx: Crx, indexed: Path) -> None:
    (vectors,) = (indexed / "derived").glob("vectors-*.f16")
    flip(vectors, -1)
    (postings, *_) = (indexed / "derived" / "bm25").glob("*.idx")
    flip(postings, 3)
    assert crx("verify").out.count("made anew") == 2
    assert crx("verify").out == ".crx: every row matches its hash\n"


def test_verify_names_damaged_rows_and_index_rehash_mends_them(
    crx: Crx, indexed: Path, docs: Path
) -> None:
    sql = "UPDATE chunk SET outline = 'x' WHERE chunk = 1"
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2])"
    command = process(indexed / "crx.db", sql, code=code + "; c.commit(); c.close()")
    subprocess.run(command, check=True)
    done = crx("verify")
    assert (done.code, done.out) == (4, "chunk 1 does not match its hash\n")
    assert "crx index PATH --rehash" in done.err
    assert crx("index", docs, "--rehash").code == 0
    assert crx("verify").code == 0


def test_eval_prints_each_leg(crx: Crx, here: Path) -> None:
    done = crx("eval", question_set(here), "--json")
    figures = json.loads(done.out)
    assert (figures["set"], figures["contexts"]) == ("set", "outline")
    assert figures["legs"]["hybrid"]["recall@5"] == 1.0


@pytest.mark.parametrize(
    "command",
    [
        ("index", "docs"),
        ("search", "krill"),
        ("search", "zebra", "--leg", "bm25"),
        ("show", "docs/bread.md"),
        ("status",),
        ("status", "--documents"),
        ("config",),
        ("verify",),
        ("gc",),
        ("models",),
        ("models", "verify"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_with_json_stdout_holds_one_json_value(
    crx: Crx, indexed: Path, command: tuple[str, ...]
) -> None:
    assert json.loads(crx(*command, "--json").out)


# help and documents


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with the words that call it."""
    context = click.Context(cli)
    for verb in COMMANDS:
        command = cli.get_command(context, verb)
        assert command is not None
        yield (verb,), command
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                yield (verb, name), below


@pytest.mark.parametrize("words", [(), *(words for words, _ in commands())], ids=" ".join)
def test_every_command_has_help(crx: Crx, words: tuple[str, ...]) -> None:
    done = crx(*words, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(" ".join(("Usage: crx", *words)))


def spoken() -> list[tuple[str, str]]:
    """Return (document, command line) for every `crx ...` in the documents' code."""
    found = []
    for name in ("README.md", "ARCHITECTURE.md"):
        text = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).is_file() else ""
        blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
        lines += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
        found += [(name, line) for line in lines if re.match(r"crx [a-z]", line)]
    return found


def test_the_documents_name_only_commands_and_flags_that_exist() -> None:
    known = dict(commands())
    for name, line in spoken():
        words = shlex.split(line, comments=True)[1:]
        command = known.get(tuple(words[:2])) or known.get(tuple(words[:1]))
        assert command is not None, f"{name}: {line}"
        flags = {flag for option in command.params for flag in option.opts} | {"--help"}
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in flags, f"{name}: {line}"


# bad input


def test_a_missing_path(crx: Crx, here: Path) -> None:
    done = crx("index", "nowhere")
    assert done == Done(2, "", "crx: nowhere: no such file or folder; nothing was indexed\n")
    assert not (here / ".crx").exists()


def test_an_empty_folder(crx: Crx, here: Path) -> None:
    (here / "empty").mkdir()
    done = crx("index", "empty")
    assert (done.code, done.out) == (1, ".crx: no readable files; 0 chunks put, 0 embedded\n")


def test_a_folder_that_is_no_index(crx: Crx, docs: Path) -> None:
    done = crx("search", "krill", "--index", docs)
    assert done.code == 2
    assert "docs: not an index" in done.err
    assert crx("search", "krill").err.startswith("crx: no index here or above; ")


@pytest.mark.parametrize("verb", ["index", "search"])
def test_an_index_built_with_another_embedder(crx: Crx, indexed: Path, verb: str) -> None:
    done = crx(verb, "docs", "--set", "embedder=minilm")
    assert done.code == 4
    assert "crx index PATH --index DIR --set embedder=minilm" in done.err
    assert "built with embedder = hashed, but flag says minilm; " in done.err
    assert "into a new folder" in done.err


def test_a_model_that_has_changed_since_the_index_was_built(
    crx: Crx, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiny_model import make_model

    from crx.models import add

    monkeypatch.setenv("CRX_MODELS", str(model_store(tmp_path)))
    assert crx("index", docs, "--embedder", "tiny", "--index", "t.crx").code == 0
    add(make_model(tmp_path / "other", seed=1), name="tiny", into=tmp_path / "store")
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
    assert (done.code, done.out) == (3, ".crx: 2 added, 1 failed; 2 chunks put, 2 embedded\n")
    assert done.err == "crx: docs/noise.txt: is a binary file\n"


def test_a_picture_in_a_folder_is_skipped_and_counted(crx: Crx, docs: Path) -> None:
    (docs / "whale.png").write_bytes(b"\x89PNG\r\n\x1a\n" + BINARY)
    done = crx("index", docs)
    assert done == Done(0, ".crx: 2 added, 1 skipped; 2 chunks put, 2 embedded\n", "")
    assert crx("index", docs / "whale.png").code == 3


def test_a_line_of_a_million_characters(crx: Crx, here: Path) -> None:
    (here / "long.txt").write_text("krill and whales " * 60_000)
    assert crx("index", "long.txt").code == 0
    assert crx("search", "krill", "-k", 1).code == 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf([["Secret"]], encrypted=True), "is encrypted; save a copy without its password"),
        (pdf([[]]), "has no text: a scan needs OCR first"),
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
        (("--set", "bm25_dept=3"), "no such setting: bm25_dept; did you mean bm25_depth?"),
        (("--set", "k"), "--set k: want NAME=VALUE"),
        (("--leg", "sparse"), "'sparse' is not one of 'bm25', 'dense'"),
        (("--nonsense",), "no such option"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_code_2(
    crx: Crx, indexed: Path, command: tuple[str, ...], message: str
) -> None:
    done = crx("search", "krill" if command else " ", *command)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.startswith("crx: ")
    assert done.err.count("\n") == 1


def test_an_unknown_command_names_the_nearest(crx: Crx) -> None:
    done = crx("serach", "x")
    assert done.code == 2
    assert done.err.startswith("crx: serach: no such command; did you mean search? ")


@pytest.mark.parametrize("where", ["environment", "project", "user"])
def test_an_unknown_setting_names_its_origin(
    crx: Crx, indexed: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == "environment":
        monkeypatch.setenv("CRX_RRFK", "3")
    else:
        folder = Path.cwd() if where == "project" else Path(os.environ["CRX_HOME"])
        name = "crx.toml" if where == "project" else "config.toml"
        (folder / name).write_text("rrfk = 3\n")
    done = crx("search", "krill")
    assert done.code == 2
    assert done.err.endswith(": no such setting: rrfk; did you mean rrf_k?\n")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), "model.onnx: no such file"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json: no such file"),
        (lambda folder: flip(folder / "model.onnx", 100), "model.onnx: damaged"),
        (lambda folder: flip(folder / "tokenizer.json", 5), "tokenizer.json: damaged"),
        (lambda folder: (folder / "model.json").write_text("{"), "model.json: not a model card"),
    ],
)
def test_a_model_with_a_missing_or_damaged_file(
    crx: Crx, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm, message: str
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
    assert re.search(r"tinny: no such model; here: .*\btiny\b", done.err)


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


# processes, signals and pipes


def test_an_interrupt_ends_with_130_and_the_same_command_goes_on(
    crx: Crx, docs: Path, here: Path
) -> None:
    for n in range(20):
        (docs / f"{n}.md").write_text(f"# Note {n}\n\nWhale number {n}.\n")
    code = """
import os, signal
from crx.ingest.write import DocumentWriter
from crx.cli import main
# A test run in the background inherits that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
put, written = DocumentWriter.put, []
def put_and_interrupt(self, document, source):
    put(self, document, source)
    written.append(document.uri)
    if len(written) == 6:
        os.kill(os.getpid(), signal.SIGINT)
DocumentWriter.put = put_and_interrupt
main()
"""
    done = subprocess.run(
        process("index", "docs", code=code), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "crx: interrupted; the same command goes on where it stopped\n"
    assert crx("search", "whale").code == 0
    assert crx("index", "docs").out.startswith(".crx: 16 added, 6 unchanged; ")


def test_progress_is_json_lines_where_stderr_is_no_terminal(
    crx: Crx, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.cli.output.PROGRESS_EVERY", 0.0)
    done = crx("index", docs)
    last = json.loads(done.err.splitlines()[-1])["progress"]
    assert (last["documents"], last["found"], last["embedded"]) == (2, 2, 2)
    assert crx("index", docs, "--quiet").err == ""


def test_a_reader_that_goes_away_is_no_error(indexed: Path) -> None:
    command = process("search", "krill", "--json", "--full")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_process_exits_with_the_code(here: Path) -> None:
    done = subprocess.run(process("search", "x"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


# disks


def _may_mount() -> bool:
    if not shutil.which("mount") or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(OSError):
        command = ["mount", "-t", "tmpfs", "tmpfs", place]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            subprocess.run(["umount", place], check=True)
            return True
    return False


needs_mount = pytest.mark.skipif(not _may_mount(), reason="may not mount a file system here")


class Disk:
    """A small file system of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def mount(self, options: str) -> None:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.place)], check=True
        )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    place = tmp_path / "disk"
    place.mkdir()
    disk = Disk(place)
    disk.mount("size=3m")
    yield disk
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@needs_mount
def test_a_full_disk_loses_nothing_and_the_same_command_goes_on(
    crx: Crx, docs: Path, disk: Disk
) -> None:
    place = disk.place / "i.crx"
    assert crx("index", docs, "--index", place).code == 0
    for n in range(150):
        (docs / f"{n}.txt").write_text(f"Whale {n}. " + " ".join(f"w{n}x{i}" for i in range(1500)))
    done = crx("index", docs, "--index", place, "--quiet")
    assert (done.code, done.err.count("\n")) == (6, 1)
    assert "full; free some space and run the same command again" in done.err
    found = crx("search", "krill", "--index", place)
    assert found.code == 0
    assert "changes behind: " in found.err
    disk.mount("remount,size=200m")
    assert crx("index", docs, "--index", place).code == 0
    assert crx("verify", "--index", place).code == 0
    counts = json.loads(crx("status", "--json", "--index", place).out)["counts"]
    assert (counts["documents"], counts["pending"]) == (152, 0)


@needs_mount
def test_a_read_only_disk_can_be_searched_and_not_written(crx: Crx, docs: Path, disk: Disk) -> None:
    place = disk.place / "i.crx"
    assert crx("index", docs, "--index", place).code == 0
    disk.mount("remount,ro")
    found = crx("search", "krill", "-k", 1, "--index", place)
    assert (found.code, found.err) == (0, "")
    (docs / "new.md").write_text("new")
    refused = crx("index", docs, "--index", place)
    assert refused.code == 6
    assert "read-only" in refused.err.lower()
    assert crx("index", docs, "--index", disk.place / "other.crx").code == 6


# what the tests above need


def flip(path: Path, at: int) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def model_store(tmp_path: Path) -> Path:
    """Return a store with one tiny model."""
    from tiny_model import make_model

    from crx.models import add

    add(make_model(tmp_path / "tiny"), into=tmp_path / "store")
    return tmp_path / "store"


def question_set(folder: Path) -> Path:
    """Write a set of one document and one question."""
    place = folder / "set"
    place.mkdir()
    corpus = {"doc_id": "w", "title": "Whales", "text": WHALES}
    gold = [{"any": [{"doc_id": "w", "start": 10, "end": 32}]}]
    query = {"query_id": "1", "query": "what do whales eat", "gold": gold}
    (place / "corpus.jsonl").write_text(json.dumps(corpus) + "\n")
    (place / "queries.jsonl").write_text(json.dumps(query) + "\n")
    return place
