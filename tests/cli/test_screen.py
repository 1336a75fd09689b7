"""What a search prints: no more than a screen, unless more is asked for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Crx, run_process, run_terminal

from crx._cli.excerpt import Body, count_rows, excerpt, share_rows
from crx._cli.passages import choose_shown, layout_passages
from crx._cli.screen import make_screen
from crx._show.copies import Copies
from crx._show.excerpt import columns
from crx.types import Anchor, Hit, Passage

STYLE = re.compile(r"\x1b\[\d+m|\x1b\]8;;[^\x1b]*\x1b\\")


@pytest.fixture
def many(here: Path, crx: Crx) -> Path:
    """An index of long documents: short lines, one long line, and a script without spaces."""
    (here / "docs").mkdir()
    for n in range(12):
        lines = "\n".join(f"Whale {n} eats krill at depth {depth}." for depth in range(60))
        (here / "docs" / f"lines{n}.md").write_text(f"# Whales {n}\n\n{lines}\n")
    (here / "docs" / "long.md").write_text("# Long\n\n" + "Krill is eaten by whales, often. " * 90)
    (here / "docs" / "ja.md").write_text("# 鯨\n\n" + "鯨はkrillを食べる。" * 200)
    assert crx("index", "docs", "-q").code == 0
    return here


def rows(shown: str, width: int) -> int:
    """Return how many rows of a terminal a text takes."""
    lines = STYLE.sub("", shown).splitlines()
    return sum(max(1, -(-columns(line) // width)) for line in lines)


@pytest.mark.parametrize(("lines", "width"), [(24, 80), (50, 120), (60, 40)])
def test_a_default_search_fits_on_the_screen(many: Path, lines: int, width: int) -> None:
    code, shown = run_terminal("search", "what eats krill", lines=lines, columns=width)
    assert code == 0
    assert rows(shown, width) <= lines - 1
    assert len(re.findall(r"^\d\. docs", STYLE.sub("", shown), re.MULTILINE)) == 5


def test_a_default_search_in_a_pipe_is_as_short(many: Path) -> None:
    done = run_process("search", "what eats krill")
    assert len(done.out.splitlines()) <= 30
    assert re.search(r"^1\. docs/\S+  \(\+\d+ lines\)  \w", done.out)
    assert re.search(r" \.\.\.$", done.out, re.MULTILINE)
    assert done.err == ""


def test_the_words_of_a_query_need_no_quotes(crx: Crx, many: Path) -> None:
    assert crx("search", "what", "eats", "krill", "-n", 1).out == (
        crx("search", "what eats krill", "-n", 1).out
    )


def test_full_more_and_n_print_more(crx: Crx, many: Path) -> None:
    def passages(*options: object) -> list[str]:
        return re.findall(r"^\d+\. ", crx("search", "krill", *options).out, re.MULTILINE)

    assert len(passages()) == 5
    assert len(passages("-n", 2)) == 2
    assert len(passages("--more")) > 5
    whole = crx("search", "krill", "--full", "-n", 1, "--where", "path=docs/lines3.md")
    assert "..." not in whole.out
    assert len(whole.out.splitlines()) > 24


def passage(text: str, *, start: int, end: int) -> Passage:
    hit = Hit(1, 1.0, "a.md", "A", 0, start, end, text[start:end], "", "", {})
    return Passage("a.md", "A", 0, len(text), text, 1.0, 9, (hit,), lines=(1, 9))


def test_the_lines_shown_are_those_of_the_chunk_that_hold_the_query() -> None:
    text = "".join(f"line {n}\n" for n in range(30)) + "whales eat krill\n" + "rest\n" * 20
    found = passage(text, start=text.index("line 20"), end=len(text))
    assert excerpt(found, query="krill of whales", counts=[3], width=40) == Body(
        ["line 29", "whales eat krill", "rest ..."], "(+48 lines)", cut_before=True
    )


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_marks_of_what_is_left_out_take_no_text_away(count: int) -> None:
    text = " ".join(f"word{n:03}" for n in range(200))
    found = passage(text, start=0, end=len(text))
    lines, *_ = excerpt(found, query="word090", counts=[count], width=40)
    assert max(map(len, lines)) <= 40
    shown = " ".join(lines).removeprefix("... ").removesuffix(" ...")
    assert " ".join(shown.split()) in text


def test_the_mark_of_what_is_left_out_takes_no_word_of_the_query_away() -> None:
    for row, shown in (
        ("whales, seals and penguins eat tiny krill", "whales, seals and penguins eat tiny krill"),
        ("krill is eaten by whales and by otters", "krill is eaten by whales and by otter ..."),
        ("krill is eaten by whales", "krill is eaten by whales ..."),
    ):
        text = f"rest\n\n{row}\n" + "rest\n" * 20
        found = passage(text, start=text.index(row), end=text.index(row) + len(row))
        assert excerpt(found, query="krill", counts=[1], width=41).lines == [shown]


def test_nothing_is_said_of_blank_lines_and_brackets_of_a_passage_that_is_shown_whole() -> None:
    text = "int krill(int y)\n{\n    if (y)\n    {\n        f(y);\n    }\n\n    return g(y);\n}\n"
    found = replace(passage(text, start=0, end=len(text)), uri="a.c")
    assert excerpt(found, query="krill", counts=[4], width=40) == Body(
        ["int krill(int y) {", "    if (y) {", "        f(y); }", "    return g(y); }"], ""
    )
    assert excerpt(found, query="krill", counts=[3], width=40).left == "(+2 lines)"


def test_a_rare_word_of_the_query_outweighs_common_ones() -> None:
    text = "whales eat and whales sing\n" * 20 + "krill is small\n" + "whales eat\n" * 20
    found = passage(text, start=0, end=len(text))
    lines, *_ = excerpt(found, query="do whales eat krill", counts=[2], width=40)
    assert lines == ["whales eat and whales sing", "krill is small ..."]


def hits_of(text: str, *scores: float) -> Passage:
    """Return a passage of a hit of this text for each score."""
    hits = [
        Hit(n, score, "a.md", "A", 0, n * len(text), (n + 1) * len(text), text, "", "", {})
        for n, score in enumerate(scores)
    ]
    whole = text * len(scores)
    return Passage("a.md", "A", 0, len(whole), whole, max(scores), 9, tuple(hits))


def share(passages: list[Passage], total: int) -> list[list[int]]:
    needed = [count_rows(each, width=60) for each in passages]
    return share_rows(passages, needed=needed, total=total, width=60)


def test_the_best_hit_is_shown_whole_and_the_next_four_have_a_share() -> None:
    line = "whales eat krill in the seas of the south pole, all day long\n"
    first, second, third = (hits_of(line * 8, score) for score in (0.9, 0.8, 0.7))
    assert share([first, second, third], 16) == [[8], [4], [4]]
    assert share([first, second, third], 20) == [[8], [8], [4]]
    assert share([first, second, third], 40) == [[8], [8], [8]]
    fourth = hits_of(line * 8, 0.6, 0.5)
    assert share([first, second, third, fourth], 20) == [[8], [5], [4], [2, 1]]
    assert share([first, second, third, fourth], 33) == [[8], [8], [8], [5, 4]]


def test_the_rows_of_good_hits_go_to_them_wherever_they_stand() -> None:
    line = "whales eat krill in the seas of the south pole, all day long\n"
    assert share([hits_of(line * 8, 0.6, 0.8), hits_of(line * 8, 0.7)], 16) == [[4, 8], [4]]


def test_of_source_code_half_of_the_best_hits_comes_first() -> None:
    chunk = "def count(self):\n" + "    total = [f(item), {1: 2}];\n" * 9
    first, second, third = (hits_of(chunk, score) for score in (0.9, 0.8, 0.7))
    # Five of the ten rows of each hold half of its characters.
    assert share([first, second, third], 15) == [[5], [5], [5]]
    assert share([first, second, third], 18) == [[8], [5], [5]]


def test_rows_that_hits_leave_go_to_the_text_around_them() -> None:
    text = "krill\n" * 20
    assert share([passage(text, start=0, end=12)], 9) == [[9]]
    assert share([passage(text, start=0, end=12)], 50) == [[20]]


def test_a_passage_without_rows_has_one_line_with_the_row_that_answers() -> None:
    line = "whales eat krill in the seas of the south pole, all day long\n"
    found = [Copies(hits_of(line * 30, 1 - n / 10), ()) for n in range(4)]
    screen = make_screen(None, environ={"LINES": "12", "COLUMNS": "80"}, folder=".")
    lines = layout_passages(found, query="krill", screen=screen)[0]
    assert [line[:2] for line in lines if not line.startswith(" ")] == ["1.", "2.", "3.", "4."]
    assert lines[-1].startswith("4. a.md  A  whales eat krill")
    assert max(map(columns, lines)) <= 80


def one_line(columns: int, *, title: str, row: str) -> str:
    """Return the last of four passages, which has one line."""
    found = [
        Copies(replace(hits_of(f"{row}\n" * 30, 1 - n / 10), title=title), ()) for n in range(4)
    ]
    environ = {"LINES": "12", "COLUMNS": str(columns)}
    screen = make_screen(None, environ=environ, folder=".")
    return layout_passages(found, query="krill", screen=screen)[0][-1]


def test_the_section_of_a_passage_with_one_line_is_cut_between_words() -> None:
    row = "whales eat krill in the seas of the south pole, all day long"
    for columns_, shown in (
        (80, "4. a.md  Seas of the...  whales eat kril..."),
        (22, "4. a.md  Seas of..."),
    ):
        assert one_line(columns_, title="Seas of the south", row=row) == shown
    assert one_line(80, title="", row=row) == f"4. a.md  {row[:31]}..."
    # Without blanks it is cut where the width ends.
    shown = one_line(80, title="水の中の鯨と海の生き物について", row=row)
    assert shown.startswith("4. a.md  水の中の鯨")
    assert columns(shown) <= 80
    # A part of a name tells nothing.
    assert one_line(80, title="def eat_krill_of_seas", row=row) == f"4. a.md  {row[:31]}..."


def test_what_is_said_of_a_passage_in_a_pipe_takes_no_second_row() -> None:
    line = "whales eat krill in the seas of the south pole, all day long\n"
    passage = replace(hits_of(line * 30, 0.9), uri=f"{'folder/' * 9}a.md", title="Krill")
    screen = make_screen(None, environ={}, folder=".")
    for uri, trail in (
        ("a.md", "  (+1 line)  Krill"),
        ("a" * 60, "  (+1 line)..."),
        ("a" * 75, ""),
    ):
        found = [Copies(replace(passage, uri=uri), ())]
        first = layout_passages(found, query="krill", screen=screen)[0][0]
        assert first == f"1. {uri}{trail}"


def test_a_note_takes_a_line_of_the_screen() -> None:
    texts = ["".join(f"whale {n} eats krill at {m}\n" for m in range(60)) for n in range(5)]
    found = [Copies(passage(text, start=0, end=len(text)), ()) for text in texts]
    screen = make_screen((80, 30), environ={"NO_COLOR": "1"}, folder=".")
    counts = [
        len(layout_passages(found, query="krill", screen=screen, notes=notes)[0])
        for notes in (0, 1, 3)
    ]
    assert counts == [28, 27, 25]


def test_blank_lines_stand_between_passages_that_fit_whole(crx: Crx, here: Path) -> None:
    (here / "docs").mkdir()
    for animal in ("whales", "seals", "penguins"):
        (here / "docs" / f"{animal}.md").write_text(f"{animal} eat krill\n")
    assert crx("index", "docs", "-q").code == 0
    lines = crx("search", "krill", "--leg", "bm25").out.splitlines()
    assert lines[2::3] == ["", "", ""]


def test_a_text_in_several_files_is_printed_once_with_its_other_places(
    here: Path, crx: Crx
) -> None:
    (here / "docs").mkdir()
    text = "Whales eat four tonnes of krill a day in the cold seas of the south pole."
    (here / "docs" / "a.md").write_text(f"# Whales\n\n{text}\n")
    (here / "docs" / "b.txt").write_text(text.replace(" of ", " of\n"))
    (here / "docs" / "c.txt").write_text("Krill is small, red and lives for six years in all seas.")
    assert crx("index", "docs", "-q").code == 0
    shown = crx("search", "krill whales").out
    assert re.findall(r"^\d\. docs/\S+(  \(1 more like it\))?", shown, re.MULTILINE) == [
        "  (1 more like it)",
        "",
    ]
    out = crx("search", "krill whales", "--full").out
    assert re.search(r"^   also in docs/(?:a\.md|b\.txt)$", out, re.MULTILINE)


def test_a_passage_that_fits_is_printed_as_it_is() -> None:
    text = "# A\n\nb\n"
    found = passage(text, start=0, end=len(text))
    assert excerpt(found, query="b", counts=[3], width=9) == Body(["# A", "", "b"], "")


def test_one_long_line_is_cut_at_the_width_and_its_characters_counted() -> None:
    text = "krill " * 200
    lines, left, _ = excerpt(passage(text, start=0, end=600), query="krill", counts=[2], width=40)
    assert [columns(line) <= 40 for line in lines] == [True, True]
    assert re.fullmatch(r"\(\+1,\d+ characters\)", left)


def test_a_location_of_two_rows_after_those_with_text_is_left_out() -> None:
    def found(uri: str) -> Copies[Passage]:
        return Copies(replace(hits_of("whales eat krill\n" * 9, 0.9), uri=uri), ())

    screen = make_screen(None, environ={"COLUMNS": "80"}, folder=".")
    short, long = found("a.md"), found(f"{'folder/' * 12}a.md")
    assert choose_shown([long] * 5, screen) == [long] * 3
    assert choose_shown([long, long, long, short, long, short], screen) == [long] * 3 + [short]


def test_folders_of_a_link_are_left_out_if_it_takes_two_rows() -> None:
    passage = replace(hits_of("whales eat krill\n", 0.9), uri=f"/docs/{'folder/' * 20}a.md")
    terminal = make_screen((80, 24), environ={"TERM_PROGRAM": "vscode"}, folder="/")
    linked = terminal._replace(link=lambda _: "file:///docs/a.md")
    first, *_ = layout_passages([Copies(passage, ())], query="krill", screen=linked)[0]
    assert "1. docs/.../folder/" in first
    assert "folder/a.md" in first
    plain = make_screen(None, environ={"COLUMNS": "80"}, folder="/")
    first, *_ = layout_passages([Copies(passage, ())], query="krill", screen=plain)[0]
    assert first.startswith(f"1. docs/{'folder/' * 20}a.md")


@pytest.mark.parametrize("lines", [24, 999])
@pytest.mark.parametrize("columns", range(1, 9))
def test_a_paragraph_is_shown_on_a_screen_of_any_width(columns: int, lines: int) -> None:
    text = "Whales eat krill in the cold water of the south, of which there\nare large swarms.\n"
    screen = make_screen((columns, lines), environ={"NO_COLOR": "1"}, folder="/")
    found = [Copies(hits_of(text, 0.9), ())]
    heading, *shown = layout_passages(found, query="krill", screen=screen)[0]
    assert heading.startswith("1. a.md")
    assert max(map(len, shown), default=0) < 10
    assert "".join("".join(shown).replace("...", "").split()) in "".join(text.split())


@pytest.mark.parametrize(
    "uri",
    [
        f"/{'long' * 30}.md",
        f"/docs/{'long' * 30}.md",
        f"/docs/a/{'long' * 30}.md",
        f"https://host/{'folder/' * 20}a.html",
    ],
)
def test_a_path_without_inner_folders_and_a_url_are_shown_whole(uri: str) -> None:
    passage = replace(hits_of("whales eat krill\n", 0.9), uri=uri)
    linked = make_screen((80, 24), environ={}, folder="/")._replace(link=lambda _: "file:///a")
    first, *_ = layout_passages([Copies(passage, ())], query="krill", screen=linked)[0]
    assert f"1. {uri.removeprefix('/')}" in first


def test_a_slash_in_the_name_of_a_sheet_is_no_folder() -> None:
    anchor = Anchor("row", "2", "3", sheet="income/of/the/year and expenses/of/the/next/year")
    passage = replace(
        hits_of("whales eat krill\n", 0.9), uri=f"/docs/{'folder/' * 9}a.xlsx", anchor=anchor
    )
    linked = make_screen((80, 24), environ={}, folder="/")._replace(link=lambda _: "file:///a")
    first, *_ = layout_passages([Copies(passage, ())], query="krill", screen=linked)[0]
    assert f"1. docs/.../a.xlsx, {anchor.label}" in first


def test_less_relevant_passages_are_printed_last_in_a_line_each(here: Path, crx: Crx) -> None:
    (here / "docs").mkdir()
    (here / "docs" / "answer.md").write_text("The narwhal tusk is a tooth of a narwhal.")
    for ship in "abc":
        (here / "docs" / f"note{ship}.md").write_text(f"A tooth of the wheel broke on ship {ship}.")
    assert crx("index", "docs", "--embedder", "none", "-q").code == 0
    query = "narwhal tusk tooth"
    lines = crx("search", query).out.splitlines()
    at = lines.index("less relevant:")
    assert lines[0].startswith("1. docs/answer.md")
    assert [line[:2] for line in lines[at + 1 :]] == ["2.", "3.", "4."]
    assert "less relevant:" not in crx("search", query, "--full").out
