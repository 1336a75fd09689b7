"""`crx eval`: what each of its commands prints, writes and exits with."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from crx._cli import run
from crx.protocols import Generator
from crx_evaluate import load
from crx_evaluate.results import select_queries

NAMES = ("heron", "egret", "bittern", "stork", "ibis", "crane")
# Questions in the words of one of the documents, so many that a row can be recommended.
FORMS = ("nests of the {}", "the {} last year", "how many nests has the {}", "{} counted", "{}?")
ONLY_IF = "a difference can be significant only if 6 or more of them change"


@pytest.fixture(autouse=True)
def question_set(here: Path) -> Path:
    """A question set in the current folder."""
    (here / "set").mkdir()
    corpus, queries = [], []
    for name in NAMES:
        text = f"# The {name.title()}\n\nIt counted {len(name) * 37} nests last year.\n"
        corpus.append({"doc_id": name, "title": "", "text": text})
        gold = [{"any": [{"doc_id": name, "start": 0, "end": len(text)}]}]
        for at, form in enumerate(FORMS):
            question = form.format(name)
            queries.append({"query_id": f"{name}-{at}", "query": question, "gold": gold})
    for file, rows in (("corpus", corpus), ("queries", queries)):
        (here / "set" / f"{file}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return here / "set"


class Crx:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = run(list(arguments))
        return (code, *self._capsys.readouterr())


@pytest.fixture
def crx(capsys: pytest.CaptureFixture[str]) -> Crx:
    return Crx(capsys)


@pytest.fixture
def saved(crx: Crx) -> str:
    assert crx("eval", "run", "set", "-q", "--save", "run.npz")[0] == 0
    return "run.npz"


def test_a_set_alone_is_short_for_run(crx: Crx) -> None:
    long, short, turned = (
        json.loads(crx("eval", *args)[1])
        for args in (("run", "set", "--json"), ("set", "--json"), ("--json", "set"))
    )
    assert list(long["legs"]) == ["bm25", "dense", "hybrid"]
    for each in (long, short, turned):
        assert each["legs"]["hybrid"]["recall@5"] == 1.0


@pytest.mark.parametrize("command", ["run", "ablate", "gate"])
def test_an_option_names_the_embedder_that_is_measured(crx: Crx, command: str) -> None:
    least = ("--min", "recall@5=0.9") if command == "gate" else ()
    code, _, err = crx("eval", command, "set", "-q", "--embedder", "nowhere", *least)
    assert (code, "nowhere" in err) == (7, True)
    assert crx("eval", command, "set", "-q", "--embedder", "hashed", *least)[0] == 0


def test_words_alone_are_measured_without_an_embedder(crx: Crx) -> None:
    args = ("--embedder", "none", "-q", "--json")
    code, out, _ = crx("eval", "run", "set", *args)
    assert (code, list(json.loads(out)["legs"])) == (0, ["bm25"])
    reranked = json.loads(crx("eval", "run", "set", *args, "--rerank", "overlap")[1])
    assert list(reranked["legs"]) == ["bm25", "bm25+rerank"]
    least = ("--min", "recall@5=0.9")
    assert crx("eval", "gate", "set", "-q", "--embedder", "none", *least)[0] == 0


def test_a_command_that_is_none_is_named_with_the_nearest(crx: Crx) -> None:
    code, _, err = crx("eval", "abblate", "set")
    assert code == 2
    assert "abblate: no such folder or command; did you mean ablate?" in err


def test_ablate_prints_a_table_and_recommends_a_row(crx: Crx) -> None:
    code, out, _ = crx("eval", "ablate", "set", "-q")
    assert code == 0
    assert "outline hybrid auto" in out
    assert out.count("\nrecommended: ") == 1


def test_ablate_reranks_and_reads_the_baselines(crx: Crx) -> None:
    args = ("--contexts", "none", "--rerank", "overlap", "--with", "fake:")
    code, out, _ = crx(
        "eval", "ablate", "set", "-q", *args, "--baselines", "summary,hyde", "--json"
    )
    names = {row["name"] for row in json.loads(out)["rows"]}
    assert code == 0
    assert {"none hybrid+rerank auto", "summary hybrid+rerank", "none hyde"} <= names


def test_ablate_compares_with_a_named_row_on_a_named_metric(crx: Crx) -> None:
    args = ("eval", "ablate", "set", "-q", "--json", "--metric", "mrr", "--against", "none bm25")
    rows = {row["name"]: row["against"] for row in json.loads(crx(*args)[1])["rows"]}
    assert rows["none bm25"] is None
    assert {(a["row"], a["metric"]) for a in rows.values() if a} == {("none bm25", "mrr")}


def test_ablate_writes_the_settings_it_recommends(crx: Crx, here: Path) -> None:
    code, out, _ = crx(
        "eval", "ablate", "set", "-q", "--contexts", "none", "--write-config", "crx.toml"
    )
    assert code == 0
    assert "recommended: none bm25" in out
    assert (here / "crx.toml").read_text() == (
        'contexts = "none"\nreranker = ""\n\n[rank.fusion]\ndense = 0.0\n'
    )


def test_with_too_few_questions_nothing_is_recommended(crx: Crx, here: Path) -> None:
    questions = (here / "set" / "queries.jsonl").read_text().splitlines()
    (here / "set" / "queries.jsonl").write_text("\n".join(questions[:20]))
    arguments = ("eval", "ablate", "set", "-q", "--write-config", "crx.toml")
    code, out, err = crx(*arguments)
    assert code == 0
    assert "no recommendation: 20 questions are too few: none bm25 may have up to 14" in out
    assert "\nrecommended" not in out
    assert "crx.toml: not written" in err
    assert not (here / "crx.toml").exists()
    assert json.loads(crx(*arguments, "--json")[1])["recommended"] is None


def test_a_page_and_pictures_hold_all_and_fetch_nothing(crx: Crx, here: Path) -> None:
    pytest.importorskip("matplotlib")
    code, _, _ = crx(
        "eval", "ablate", "set", "-q", "--html", "r.html", "--png", "pics", "--svg", "pics"
    )
    assert code == 0
    names = {f"{name}.{kind}" for name in ("recall", "steps", "latency") for kind in ("png", "svg")}
    assert {path.name for path in (here / "pics").iterdir()} == names
    page = (here / "r.html").read_text()
    figures, intervals = 3, 5
    assert page.count("<svg") == figures + intervals
    first, _, folded = page.partition("</table>")
    assert first.count("<tr>") == 1 + 6
    assert "<small>compared with</small>" in first
    assert "<details><summary>All 14 rows</summary>" in folded
    assert "outline hybrid auto" in page
    for fetches in ("<script", "<link", "<img", "src=", "@import", 'href="http', "url(http"):
        assert fetches not in page


def test_a_missing_matplotlib_is_reported_before_any_work(
    crx: Crx, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = crx("eval", "ablate", "set", "--html", "r.html")
    assert (code, err) == (2, "crx: figures need matplotlib; pip install 'crx[eval]'\n")


def test_gate_exits_with_1_under_a_bound_and_0_above(crx: Crx, saved: str) -> None:
    assert crx("eval", "gate", saved, "--min", "recall@20=0.9")[0] == 0
    code, out, err = crx("eval", "gate", saved, "--min", "recall@20=0.9", "--min", "ms=0")
    assert code == 1
    assert out.startswith("held: outline hybrid: recall@20 is 1, the bound 0.9\nmissed: ")
    assert "1 of 2 bounds missed" in err
    assert crx("eval", "gate", "set", "-q", "--min", "mrr=0.1")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gate", "run.npz", "--min", "recall@20"), "want METRIC=NUMBER"),
        (("gate", "run.npz", "--min", "recall@99=1"), "recall@99: no such metric"),
        (("gate", "run.npz", "--min", "mrr=1", "--row", "x"), "x: no such row; use one of:"),
        (("compare", "run.npz", "set/corpus.jsonl"), "contains no saved results"),
        (("compare", "run.npz", "gone.npz"), "gone.npz: no such file"),
        (("compare", "run.npz", "run.npz", "--with-row", "x"), "--with-row x: needs --row"),
        (("compare", "run.npz", "run.npz", "--row", "x"), "x: no such row; use one of: outline"),
        (("compare", "a", "b", "--in", "run.npz", "--row", "x"), "--row is for two saved runs"),
        (("run", "set", "--window", "grow"), "--window grow: cannot fill a prompt"),
        (("run", "set", "--save", "gone/a.npz"), "gone/a.npz: there is no folder gone"),
        (("ablate", "set", "--html", "gone/a.html"), "gone/a.html: there is no folder gone"),
        (("ablate", "set", "--contexts", ","), "give at least one"),
        (("ablate", "set", "--contexts", "gone.jsonl"), "gone.jsonl: no such file of contexts"),
        (("ablate", "set", "--baselines", "hyde"), "need a generator, such as --with llama:PATH"),
        (("ablate", "set", "--metric", "f1"), "f1: no such metric"),
        (("init", "gone", "--out", "mine"), "gone: no such file or folder"),
        (("init", "--out", "mine"), "no index here or above"),
    ],
)
def test_bad_input_is_one_line(
    crx: Crx, saved: str, arguments: tuple[str, ...], message: str
) -> None:
    code, _, err = crx("eval", *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_compare_tells_two_runs_and_two_rows_apart(crx: Crx, saved: str) -> None:
    crx(
        "eval",
        "set",
        "-q",
        "--contexts",
        "outline",
        "--set",
        "rank.fusion.dense=1",
        "--save",
        "b.npz",
    )
    code, out, _ = crx("eval", "compare", saved, "b.npz", "--json", "--row", "outline hybrid")
    compared = json.loads(out)["compared"]
    assert json.loads(out)["notes"][0] == "settings of A -> B: rank.fusion.dense 0.3 -> 1.0"
    assert code == 0
    assert [each["metric"] for each in compared][:2] == ["recall@1", "recall@5"]
    code, out, _ = crx("eval", "compare", "outline bm25", "outline dense", "--in", saved)
    assert code == 0
    assert "outline bm25 -> outline dense" in out
    assert len(load(Path(saved)).rows) == 3


@pytest.mark.parametrize(
    ("count", "note"),
    [
        (1, "too few questions to compare rows, 1: a difference can be significant from 6; "),
        (5, "too few questions to compare rows, 5: a difference can be significant from 6; "),
        (6, f"6 questions are few: {ONLY_IF}, 100 points of recall if each has one answer"),
        (30, f"30 questions are few: {ONLY_IF}, 20 points of recall if each has one answer"),
        (60, None),
    ],
)
def test_a_note_says_which_differences_so_few_questions_can_show(
    crx: Crx, count: int, note: str | None
) -> None:
    rows = [json.loads(line) for line in Path("set/queries.jsonl").read_text().splitlines()]
    numbered = [{**rows[at % len(rows)], "query_id": f"{at}"} for at in range(count)]
    Path("set/queries.jsonl").write_text("\n".join(map(json.dumps, numbered)))
    _, _, err = crx("eval", "set", "-q", "--contexts", "none", "--save", "few.npz")
    _, compared, _ = crx("eval", "compare", "few.npz", "few.npz", "--json")
    if note is None:
        assert (err, json.loads(compared)["notes"]) == ("", [])
    else:
        assert err.startswith(f"crx: {note}")
        assert json.loads(compared)["notes"][0].startswith(note)


@pytest.fixture
def bare(crx: Crx) -> str:
    """A saved run without contexts, reranked, on all questions but six."""
    lines = Path("set/queries.jsonl").read_text().splitlines()
    Path("set/queries.jsonl").write_text("\n".join(lines[6:]))
    arguments = ("--contexts", "none", "--rerank", "overlap", "--save", "bare.npz")
    assert crx("eval", "run", "set", "-q", *arguments)[0] == 0
    return "bare.npz"


def test_compare_pairs_runs_with_other_contexts_and_names_what_has_no_pair(
    crx: Crx, saved: str, bare: str
) -> None:
    code, out, err = crx("eval", "compare", saved, bare, "--json", "--metric", "mrr")
    found = json.loads(out)
    assert (code, found["queries"]) == (0, 24)
    assert [each["row"] for each in found["compared"]] == [
        f"outline {legs} -> none {legs}" for legs in ("bm25", "dense", "hybrid")
    ]
    assert (found["only_a"], found["only_b"]) == ([], ["none hybrid+rerank"])
    assert err.startswith(
        'crx: settings of A -> B: reranker "" -> "overlap:1"\n'
        "crx: only in A, not compared: 6 questions\n"
        "crx: only in B, not compared: none hybrid+rerank\n"
        "crx: 24 questions are few: a difference can be significant only if 6 or "
    )


def test_compare_takes_one_named_row_of_each_run(crx: Crx, saved: str, bare: str) -> None:
    rows = ("--row", "outline hybrid", "--with-row", "none hybrid+rerank")
    code, out, _ = crx("eval", "compare", saved, bare, *rows, "--metric", "mrr", "--json")
    (compared,) = json.loads(out)["compared"]
    assert (code, compared["row"]) == (0, "outline hybrid -> none hybrid+rerank")


def test_rows_of_one_name_are_not_paired(crx: Crx) -> None:
    for folder in ("x", "y"):
        Path(folder).mkdir()
        span = {"doc_id": "heron", "start": 0, "end": 3, "context": f"A heron of {folder}."}
        Path(folder, "c.jsonl").write_text(json.dumps(span))
    contexts = ("--contexts", "none,x/c.jsonl,y/c.jsonl")
    assert crx("eval", "ablate", "set", "-q", *contexts, "--save", "two.npz")[0] == 0
    found = json.loads(crx("eval", "compare", "two.npz", "two.npz", "--json")[1])
    assert {each["row"].split()[0] for each in found["compared"]} == {"none"}
    assert {name.split()[0] for name in found["only_a"]} == {"c.jsonl"}


def test_compare_does_not_guess_which_rows_of_several_contexts_belong_together(
    crx: Crx, bare: str
) -> None:
    save = ("--save", "two.npz", "--contexts", "outline,set/contexts.jsonl")
    span = {"doc_id": "heron", "start": 0, "end": 3, "context": "A heron nests."}
    Path("set/contexts.jsonl").write_text(json.dumps(span))
    assert crx("eval", "ablate", "set", "-q", *save)[0] == 0
    code, _, err = crx("eval", "compare", bare, "two.npz")
    assert code == 2
    assert "the runs share no row; name one of each with --row and --with-row: A has none " in err


@pytest.fixture
def two_languages() -> None:
    """Name the languages of the set: English for 20 questions, French about English for 10."""
    lines = Path("set/queries.jsonl").read_text().splitlines()
    rows = [{**json.loads(line), "lang": "en"} for line in lines]
    for row in rows[20:]:
        row["query_lang"] = "fr"
    Path("set/queries.jsonl").write_text("\n".join(map(json.dumps, rows)))


@pytest.mark.usefixtures("two_languages")
def test_a_set_in_several_languages_is_also_listed_by_language(crx: Crx) -> None:
    code, out, _ = crx("eval", "set", "-q", "--save", "run.npz")
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.startswith("outline hybrid ")]
    assert [row[2:6] for row in rows[1:]] == [
        ["en", "20", "100.0", "100.0"],
        ["fr", ">", "en", "10"],
    ]
    saved = load(Path("run.npz"))
    assert saved.langs == ("en",) * 20 + ("fr > en",) * 10
    assert select_queries(saved, [25, 3]).langs == ("fr > en", "en")


@pytest.mark.usefixtures("two_languages")
def test_the_figures_by_language_are_those_of_its_questions(crx: Crx) -> None:
    whole = json.loads(crx("eval", "set", "-q", "--json", "--contexts", "none")[1])
    lines = Path("set/queries.jsonl").read_text().splitlines()
    Path("set/queries.jsonl").write_text("\n".join(lines[20:]))
    part = json.loads(crx("eval", "set", "-q", "--json", "--contexts", "none")[1])
    found = whole["languages"]["fr > en"]
    assert whole["notes"][-1] == (
        "points of recall that 6 questions are, by language: en 30, fr > en 60"
    )
    assert (list(whole["languages"]), found["queries"]) == (["en", "fr > en"], 10)
    for row, alone in zip(found["rows"], part["rows"], strict=True):
        assert row["figures"]["mrr"] == alone["figures"]["mrr"]


def test_run_notes_the_questions_that_are_left_out(crx: Crx, here: Path) -> None:
    notes(here)
    rows = [
        {"query": "which bird?", "path": "heron.md", "quote": quote}
        for quote in ("It nests", "It swims")
    ]
    (here / "notes" / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code, _, err = crx("eval", "notes", "-q")
    assert code == 0
    assert "crx: 1 of 2 questions are left out: their quotes are in no document" in err


@pytest.fixture
def hard_question(here: Path) -> None:
    """Add a question whose answer shares no word with it, and one whose answer is found."""
    text = (here / "set" / "corpus.jsonl").read_text().splitlines()
    ibis = next(json.loads(line) for line in text if json.loads(line)["doc_id"] == "ibis")
    places = [{"doc_id": "ibis", "start": 0, "end": len(ibis["text"])}]
    rows = [
        {"query_id": "easy", "query": "nests of the ibis", "gold": [{"any": places}]},
        {"query_id": "hard", "query": "the <heron> last year", "gold": [{"any": places}]},
    ]
    (here / "set" / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))


@pytest.mark.usefixtures("hard_question")
def test_a_failed_question_is_listed_with_what_came_instead(crx: Crx) -> None:
    code, out, _ = crx("eval", "set", "-q", "--contexts", "none", "--failed-at", "1", "--json")
    rows = {row["name"]: row["failed"] for row in json.loads(out)["rows"]}
    assert (code, list(rows)) == (0, ["none bm25", "none dense", "none hybrid"])
    (question,) = rows["none bm25"].pop("questions")
    assert rows["none bm25"] == {"at": 1, "count": 1}
    assert (question["id"], question["query"]) == ("hard", "the <heron> last year")
    (expected,) = question["expected"]
    text = "# The Ibis It counted 148 nests last year."
    assert expected["rank"] > 1
    assert expected["places"] == [{"uri": "ibis", "start": 0, "end": 44, "text": text}]
    first = question["instead"][0]
    assert (first["rank"], first["span"]["uri"], first["overlaps_gold"]) == (1, "heron", False)
    assert first["span"]["text"].startswith("# The Heron It counted 185 nests")
    assert len(question["instead"]) == 3


@pytest.mark.usefixtures("hard_question")
def test_failed_questions_are_counted_at_20_by_default_and_named(crx: Crx) -> None:
    count = "of 2 questions lack a gold item in the first"
    assert f"none hybrid: 0 {count} 20 chunks\n" in crx("eval", "set", "--contexts", "none")[1]
    named = crx("eval", "set", "--contexts", "none", "--failed-at", "1")[1]
    assert f"none hybrid: 1 {count} chunk: hard\n" in named


@pytest.mark.usefixtures("hard_question")
def test_the_page_lists_the_failed_questions(crx: Crx, here: Path) -> None:
    pytest.importorskip("matplotlib")
    arguments = ("--contexts", "none", "--failed-at", "1", "--html", "r.html")
    assert crx("eval", "ablate", "set", "-q", *arguments)[0] == 0
    page = (here / "r.html").read_text()
    assert page.count("<li><b>the &lt;heron&gt; last year</b> <code>hard</code>") == 3
    assert "<code>heron 0-" in page
    assert "<heron>" not in page


class Asks:
    """A generator that asks about the last word but one of what it is shown."""

    fingerprint = "asks"

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        passage = prompt.partition("<passage>\n")[2].partition("\n</passage>")[0]
        yield f"What is said of {passage.split()[2]}?"

    def close(self) -> None:
        pass


@pytest.fixture
def generating(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_generator(spec: str) -> Generator:
        return Asks()

    monkeypatch.setattr("crx_evaluate.commands.init.load_generator", load_generator)


def notes(folder: Path) -> None:
    (folder / "notes").mkdir()
    for name in NAMES:
        (folder / "notes" / f"{name}.md").write_text(f"# The {name.title()}\n\nIt nests here.\n")


@pytest.mark.usefixtures("generating")
def test_init_has_a_generator_ask_and_goes_on(crx: Crx, here: Path) -> None:
    notes(here)
    code, out, _ = crx("eval", "init", "notes", "--out", "mine", "--with", "fake:", "-n", "2")
    assert (code, out) == (0, 'mine: 2 questions; "crx eval mine" measures on them\n')
    assert (
        "mine: 5 questions"
        in crx("eval", "init", "notes", "--out", "mine", "--with", "fake:", "-n", "5")[1]
    )
    code, out, _ = crx("eval", "mine", "--json", "-q")
    assert json.loads(out)["queries"] == 5


def test_init_takes_questions_that_are_typed_and_skips_and_ends(
    crx: Crx, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(here)
    assert crx("index", "notes", "-q")[0] == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("Where do they nest?\n\nq\n"))
    code, out, err = crx("eval", "init", "--out", "mine", "-n", "9")
    assert (code, out) == (0, 'mine: 1 questions; "crx eval mine" measures on them\n')
    assert "It nests here." in err


def test_init_ends_without_an_error_at_the_end_of_piped_input(
    crx: Crx, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(here)
    monkeypatch.setattr("sys.stdin", io.StringIO("Where do they nest?\n"))
    code, out, err = crx("eval", "init", "notes", "--out", "mine", "-n", "9")
    assert (code, out) == (0, 'mine: 1 questions; "crx eval mine" measures on them\n')
    assert "interrupted" not in err


def test_init_makes_questions_from_structure_whose_kinds_have_figures(crx: Crx, here: Path) -> None:
    (here / "docs").mkdir()
    page = '<h1>{0}</h1><p>See <a href="{1}.html">how to keep {2}</a>.</p><dl><dt>--{0}<dd>{3}</dl>'
    for name, other, link, text in (
        ("hens", "bees", "insects busy", "They lay their eggs in straw."),
        ("bees", "hens", "birds warm", "They fly to the lime trees in June."),
    ):
        (here / "docs" / f"{name}.html").write_text(page.format(name, other, link, text))
    code, out, err = crx("eval", "init", "docs", "--from", "structure", "--out", "made")
    assert (code, out) == (0, 'made: 4 questions; "crx eval made" measures on them\n')
    assert "by kind: 2 link, 2 option" in err
    assert "200 were wanted; the structure of the documents gives no more" in err
    code, out, _ = crx("eval", "made", "--embedder", "none", "-q")
    assert code == 0
    assert "option (exact words)          2  100.0" in out
    kinds = json.loads(crx("eval", "made", "--embedder", "none", "-q", "--json")[1])["kinds"]
    assert {kind: each["queries"] for kind, each in kinds.items()} == {
        "link": 2,
        "option (exact words)": 2,
    }


def test_init_makes_questions_from_the_structure_of_an_index(crx: Crx, here: Path) -> None:
    (here / "notes").mkdir()
    (here / "notes" / "a.md").write_text("# Birds\n\n## The grey heron\n\nIt stands still.\n")
    assert crx("index", "notes", "-q")[0] == 0
    code, out, _ = crx("eval", "init", "--from", "structure", "--out", "made")
    assert (code, out) == (0, 'made: 1 questions; "crx eval made" measures on them\n')


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 3, "crx: nothing to make questions from: no links, definitions, headings, captions,"),
        (("--with", "fake:"), 2, "crx: --from and --with: give one of them"),
        (("--out", "set"), 2, "corpus.jsonl: exists already; name another folder with --out"),
    ],
)
def test_init_says_why_structure_gives_no_questions(
    crx: Crx, here: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (here / "plain.txt").write_text("A text without any structure.")
    (here / "a.md").write_text("# Birds\n\n## The grey heron\n\nIt stands still.\n")
    path = "a.md" if "set" in arguments else "plain.txt"
    out = () if "--out" in arguments else ("--out", "made")
    found, _, err = crx("eval", "init", path, "--from", "structure", *out, *arguments)
    assert (found, err.count("\n")) == (code, 1)
    assert message in err


def test_questions_that_quote_files_are_measured_and_those_without_a_file_named(
    here: Path, crx: Crx
) -> None:
    (here / "docs").mkdir()
    (here / "docs" / "lease.md").write_text("The lease ends on 31 December 2029 at noon.")
    (here / "own").mkdir()
    (here / "own" / "questions.jsonl").write_text(
        '{"query": "when does it end?", "path": "lease.md", "quote": "ends on 31 December 2029"}\n'
        '{"query": "who?", "path": "x.md", "quote": "nowhere"}\n'
    )
    code, out, err = crx("eval", "own", "--files", "docs", "-q", "--json")
    left_out = (
        "1 of 2 questions are left out: their quotes are in no document; the first is 2, of x.md"
    )
    assert code == 0
    assert left_out in json.loads(out)["notes"]
    assert f"crx: {left_out}\n" in err
