"""Each format's bytes become the text, the title and the marks that they hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdfs import pdf

from crx.errors import InputError, NothingToRead, NotText
from crx.ingest.read import read_bytes
from crx.ingest.readers.normal_text import map_offsets, normalize
from crx.ingest.readers.structure import structure
from crx.types import Document, Mark


def one(data: bytes | str, name: str) -> Document:
    """Read bytes that hold one document."""
    (document,) = read_bytes(data.encode() if isinstance(data, str) else data, name=name)
    return document


def outline(document: Document, kind: str = "heading") -> list[tuple[int, str]]:
    """Return the level and the label of a document's marks of a kind."""
    return [(mark.level, mark.label) for mark in document.marks if mark.kind == kind]


def spans(document: Document) -> dict[str, str]:
    """Return what each mark covers, by label."""
    return {mark.label: document.text[mark.start : mark.end] for mark in document.marks}


JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n" * 8
CHINESE = "学而时习之，不亦说乎？有朋自远方来，不亦乐乎？人不知而不愠，不亦君子乎？\n" * 8
FRENCH = "L’été dernier, l’élève a reçu un « très bon » résumé à l’école – où ça ? À Nîmes.\n" * 8
RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастлива по-своему.\n" * 8


KEPT = r'{"a": "\\u0141 \u0022 \u000a \ud83d \u5c"}'


class TestBytes:
    @pytest.mark.parametrize(
        ("text", "encoding"),
        [
            (JAPANESE, "shift_jis"),
            (JAPANESE, "euc_jp"),
            (JAPANESE, "iso2022_jp"),
            (CHINESE, "gbk"),
            (FRENCH, "cp1252"),
            (RUSSIAN, "cp1251"),
            (FRENCH, "utf-8"),
            (FRENCH, "utf-8-sig"),
            (JAPANESE, "utf-16"),
            (FRENCH, "utf-32"),
            (FRENCH.replace("\n", "\r\n"), "utf-16"),
        ],
    )
    def test_a_text_is_the_same_in_every_encoding(self, text: str, encoding: str) -> None:
        assert one(text.encode(encoding), "a.txt").text == text.replace("\r\n", "\n")

    def test_utf_16_is_told_without_a_byte_order_mark(self) -> None:
        assert one("plain words".encode("utf-16-le"), "a.txt").text == "plain words"
        assert one("plain words".encode("utf-16-be"), "a.txt").text == "plain words"

    def test_another_encoding_than_utf_8_is_told(self) -> None:
        assert one(RUSSIAN.encode("cp1251"), "a.txt").metadata["encoding"] == "cp1251"
        assert "encoding" not in one("words", "a.txt").metadata

    def test_newlines_are_one_character_and_nothing_else_is_edited(self) -> None:
        text = one("a \r\n\tb\rc\u2028\x0b  e\u0301\n", "a.txt").text
        assert text == "a \n\tb\nc\u2028\x0b  e\u0301\n"

    def test_form_feeds_are_no_text_and_change_no_line(self) -> None:
        text = one("\fone\n\f\ntwo\f\r\n\fthree\ffour\f", "a.txt").text
        assert text == "one\n\ntwo\nthree four"

    @given(st.text(alphabet="a\r\n\f\0"))
    def test_offsets_are_mapped_to_the_same_characters(self, text: str) -> None:
        normalized = normalize(text)
        at = map_offsets(text, list(range(len(text))))
        kept = [offset for character, offset in zip(text, at, strict=True) if character == "a"]
        assert [normalized[offset] for offset in kept] == ["a"] * len(kept)
        assert map_offsets(text, [len(text)]) == [len(normalized)]

    def test_few_bad_bytes_are_replaced_and_counted(self) -> None:
        document = one(FRENCH.encode() + b"\xe9\n", "a.log")
        assert document.text == FRENCH + "\ufffd\n"
        assert document.metadata["undecodable"] == 1

    @pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\xef\xbb\xbf", b"\xff\xfe"])
    def test_nothing_is_no_document(self, data: bytes) -> None:
        with pytest.raises(InputError, match="is empty"):
            one(data, "a.txt")

    @pytest.mark.parametrize(
        "data",
        [
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0" + bytes(range(256)) * 4,
            b"\x7fELF\2\1\1" + b"\0" * 60 + b"words of a program " * 3,
            bytes(range(256)) * 8,
        ],
    )
    @pytest.mark.parametrize("name", ["a.txt", "a.md", "a.py", "a.html", "a", "a.xyz"])
    def test_a_binary_file_is_no_text_whatever_its_name(self, data: bytes, name: str) -> None:
        with pytest.raises(NotText, match=r"picture|program|binary"):
            one(data, name)

    def test_an_unknown_extension_is_read_as_text(self) -> None:
        document = one("key = 1\n\nTOTAL COST\n\n", "a.cfg")
        assert (document.metadata, document.marks) == ({"ext": "cfg", "format": "text"}, ())

    def test_an_office_file_says_what_to_do(self) -> None:
        with pytest.raises(InputError, match=r"no reader for \.key; save it as"):
            one(b"PK\x03\x04", "a.key")


class TestText:
    CONTRACT = """\
SUPPLY AGREEMENT

This Agreement is made between ACME INC. and Beta.

1. DEFINITIONS

1.1 "Goods" means what is sold in Section 3.2 of this Agreement.

2. Payment Terms. The buyer shall pay within
30 days of delivery.   2.1 Late Payment. Interest accrues.

ARTICLE IV
REPRESENTATIONS

Section 4.1 Authority. Each party may sign.
Section 3.2 of the law applies.

ACME INC.
"""

    def test_headings_of_a_contract_are_found_and_sentences_are_not(self) -> None:
        document = one(self.CONTRACT, "a.txt")
        assert outline(document) == [
            (1, "SUPPLY AGREEMENT"),
            (1, "1. DEFINITIONS"),
            (1, "2. Payment Terms"),
            (2, "2.1 Late Payment"),
            (1, "ARTICLE IV REPRESENTATIONS"),
            (2, "Section 4.1 Authority"),
        ]
        assert document.title == "SUPPLY AGREEMENT"

    def test_a_section_runs_to_the_next_heading_of_its_level(self) -> None:
        covered = spans(one(self.CONTRACT, "a.txt"))
        assert covered["2. Payment Terms"].endswith("Interest accrues.\n\n")
        assert covered["2.1 Late Payment"] == "2.1 Late Payment. Interest accrues.\n\n"

    def test_a_table_of_contents_gives_no_headings(self) -> None:
        text = (
            "1. TERM     1.1 Start     2. FEES\n\n"
            "1. TERM\n1.1 Start. At once.\n\n2. FEES\n\nNone.\n"
        )
        document = one(text, "a.txt")
        assert outline(document) == [(1, "1. TERM"), (2, "1.1 Start"), (1, "2. FEES")]
        assert spans(document)["2. FEES"] == "2. FEES\n\nNone.\n"

    def test_underlined_lines_are_headings_by_the_order_of_their_marks(self) -> None:
        text = (
            "Guide\n=====\n\nwords\n\nFirst step\n----------\n\nwords\n\nSecond step\n-----------\n"
        )
        assert outline(one(text, "a.rst")) == [(1, "Guide"), (2, "First step"), (2, "Second step")]

    @pytest.mark.parametrize(
        "text",
        [
            "1. Widgets are counted every day by the clerk.\n2. Then they are sold.\n",
            "1 Modem     12.5     yes\n2 Switch    13.0     no\n",
            "1. DEFINITIONS .......... 4\n2. TERM .......... 5\n",
            "\nPAGE HEAD HERE\n\na\n\nPAGE HEAD HERE\n\nb\n\nPAGE HEAD HERE\n\nc\n",
            "as is said in Section 4 and\nSection 3.3(a) of the Indenture, which\n",
            "He said: STOP RIGHT THERE\nand they did.\n",
            "2019. Was a good year.\n14. Paragraphs follow nothing.\n",
        ],
    )
    def test_lists_tables_and_sentences_are_no_headings(self, text: str) -> None:
        assert one(text, "a.txt").marks == ()


class TestMarkdown:
    def test_headings_are_found_and_code_is_not(self) -> None:
        text = (
            "# The *Guide*\n\nwords\n\n```sh\n# no heading\n```\n\n"
            "Set up\n------\n\n~~~~\n## none\n~~~\n# none\n~~~~\n\n"
            "### [Deep](x.md) `er` ###\n#none\n\n"
            "- item\n---\n\ntwo lines\nof words\n---\n"
        )
        document = one(text, "a.md")
        assert outline(document) == [(1, "The Guide"), (2, "Set up"), (3, "Deep er")]
        assert document.title == "The Guide"
        assert document.text == text

    def test_front_matter_is_metadata(self) -> None:
        text = (
            '---\ntitle: "On: cats"\nlang: fr\ndate: 2024-05-01\n'
            'tags: [a, "b c"]\nkeywords:\n- x\n---\n# One\n'
        )
        document = one(text, "a.md")
        assert (document.title, document.lang) == ("On: cats", "fr")
        assert document.metadata == {
            "ext": "md",
            "format": "markdown",
            "date": "2024-05-01",
            "tags": ["a", "b c"],
            "keywords": ["x"],
        }
        assert outline(document) == [(1, "One")]

    @pytest.mark.parametrize(
        ("front", "fields"),
        [
            ("---\ntags: boats, #oars\n---\n", {"tags": ["boats", "oars"]}),
            ("---\ntags: #boats #oars\n---\n", {"tags": ["boats", "oars"]}),
            ("---\ntags: [#boats, #oars]\n---\n", {"tags": ["boats", "oars"]}),
            ("---\ntags: boats, oars # both\n---\n", {"tags": ["boats", "oars"]}),
            ('---\nkin: [ "a, b",\n  c]\nm: 7.25\n...\n', {"kin": ["a, b", "c"], "m": 7.25}),
            ("--- \na: >-\n  kelp\n  soup\nland: no\n--- \n", {"a": "kelp soup", "land": "no"}),
            ('{\n "mass": 3,\n "kin": ["a"], "x": null\n}\n', {"mass": 3, "kin": ["a"]}),
            ("---\nstatus: draft\nyear: 2031\n---\n", {"status": "draft", "year": 2031}),
            ("---\nzip: 01234\nversion: 1.10\n---\n", {"zip": "01234", "version": "1.10"}),
            ("---\ndraft: true\n---\n", {"draft": True}),
            ("---\ncreated: 2031-04-05\n---\n", {"created": "2031-04-05"}),
            ("---\nformat: x\npath: /etc\n---\n", {}),
            ('+++\ntags = ["anchors"]\n+++\n', {"tags": ["anchors"]}),
            ("+++\ndate = 2031-02-03\n+++\n", {"date": "2031-02-03"}),
            ("+++\nyear = 2031\n[taxonomies]\ntags = ['a']\n+++\n", {"year": 2031, "tags": ["a"]}),
            ("+++\nno toml\n+++\n", {}),
        ],
    )  # fmt: skip
    def test_all_fields_of_front_matter_can_be_filtered(
        self, front: str, fields: dict[str, object]
    ) -> None:
        metadata = one(front + "# One\n", "a.md").metadata
        assert metadata == {"ext": "md", "format": "markdown", **fields}

    @pytest.mark.parametrize(
        "front",
        ["title: Eels: a life", "title: Eels\nx: [[" + "[" * 9000, "title: &e Eels\nx: [*e, *e]"],
        ids=["colon", "depth", "aliases"],
    )
    def test_front_matter_that_does_not_parse_is_text_and_says_so(self, front: str) -> None:
        document = one(f"---\n{front}\n---\n# One\n", "a.md")
        assert "Eels" in document.title
        assert document.metadata["left_out"] == ["front matter"]
        assert front in document.text

    def test_a_field_that_does_not_parse_costs_no_other(self) -> None:
        front = 'title: "Eels"\nsubtitle: On: eels\ntags:\n  - a\n  - b'
        document = one(f"---\n{front}\n---\n", "a.md")
        assert document.title == "Eels"
        assert document.metadata["tags"] == ["a", "b"]
        assert document.metadata["subtitle"] == "On: eels"
        assert "no YAML" in str(document.metadata["left_out_reasons"])
        assert "unicode string" not in str(document.metadata["left_out_reasons"])

    @pytest.mark.parametrize("name", ["a.md", "a.txt", "a.ipynb"])
    def test_the_bytes_of_a_picture_in_a_text_are_left_out(self, name: str) -> None:
        text = f"# Jib\n\n![jib](data:image/png;base64,{'iVBORw0K' * 500}=)\n\nEleven tonnes.\n"
        if name == "a.ipynb":
            text = json.dumps({"cells": [{"cell_type": "markdown", "source": text}]})
        found = one(text, name).text.strip()
        assert found == "# Jib\n\n![jib](data:image/png;base64,)\n\nEleven tonnes."

    def test_a_rule_at_the_start_is_no_front_matter(self) -> None:
        assert outline(one("---\n\n# One\n", "a.md")) == [(1, "One")]

    def test_a_note_without_a_heading_has_the_name_of_its_file_as_title(self) -> None:
        assert one("only words", "Great Title.md").title == "Great Title"


# What each source defines, as an outline.
SOURCES = {
    "a.py": (
        """\
import os

TABLE = {
    1: 2,
    3: 4,
}
X = 1

@decorated
class Foo(Base):
    async def bar(self):
        def inner(): ...

def baz(): ...
""",
        """\
constant TABLE
class Foo
  def bar
    def inner
def baz""",
    ),
    "a.rs": (
        """\
#[derive(Debug)]
pub struct Diff<A> { a: A }

impl<A: B> Executor<A> for Diff<A> {
    fn new() -> Self { Diff { a } }
}
impl<A> Diff<A> {}
mod tests { fn t() {} }
trait T { fn f(); }
enum E { A }
macro_rules! m { () => {} }
""",
        """\
struct Diff
impl Executor for Diff
  fn new
impl Diff
mod tests
  fn t
trait T
  fn f
enum E
macro_rules m""",
    ),
    "a.js": (
        """\
export default class A { run() {} }
export const f = (x) => x;
function g() { const h = () => 1; }
const one = [1];
app.get = (path) => path;
Router.prototype.handle = async function (req) { return req; };
app.get("/", function () {});
exports.Whale = class { sing() {} };
""",
        """\
class A
  method run
function f
function g
function app.get
function Router.prototype.handle
class exports.Whale
  method sing""",
    ),
    "a.ts": (
        """\
export interface I { a: string }
export enum E { A }
type T = string;
abstract class C { m(): void {} }
namespace N { function f() {} }
""",
        """\
interface I
enum E
type T
class C
  method m
namespace N
  function f""",
    ),
    "a.tsx": ("const A = () => <p>hi</p>;\n", "function A"),
    "a.go": (
        """\
package a

// Server serves.
type Server struct { n int }
type R interface { Read() }
func (s *Server) Start() error { return nil }
func main() {}
type Handler func(w Writer) error
type Names = map[string]int
type (
	Level int
	Point struct{ x int }
)
""",
        """\
type Server
interface R
func (*Server) Start
func main
type Handler
type Names
type Level
type Point""",
    ),
    "A.java": (
        """\
package a;
@Final
public class A<T> {
  A() {}
  <U> void m() {}
  enum E { X }
}
interface I { void n(); }
record R(int a) {}
""",
        """\
class A
  constructor A
  method m
  enum E
interface I
  method n
record R""",
    ),
    "a.c": (
        """\
struct point { int x; };
typedef struct { int a; } pair;
enum e { A };
static char *name(int a) { return 0; }
int (*pick(void))(int) { return 0; }
int declared(void);
""",
        """\
struct point
typedef pair
enum e
function name
function pick""",
    ),
    "a.cpp": (
        """\
namespace n {
template <class T>
class C : public D {
 public:
  C() {}
  int get() const { return 1; }
};
int& C::ref() { static int i; return i; }
bool operator==(C a, C b) { return true; }
}
""",
        """\
namespace n
  class C
    function C
    function get
  function C::ref
  function operator==""",
    ),
}


class TestCode:
    @pytest.mark.parametrize("name", SOURCES)
    def test_definitions_are_called_as_programmers_say_them(self, name: str) -> None:
        source, expected = SOURCES[name]
        document = one(source, name)
        said = ["  " * (level - 1) + label for level, label in outline(document, kind="definition")]
        assert said == expected.split("\n")
        assert structure(source, name=name) == (document.metadata["format"], document.marks)

    def test_comments_and_decorators_belong_to_a_definition(self) -> None:
        source = (
            "x = 1  # é: not of it\n# of it\n@a\n@b(1)\ndef f():\n    pass\n\n"
            "# apart\n\ndef g(): ...\n"
        )
        assert spans(one(source, "a.py")) == {
            "def f": "# of it\n@a\n@b(1)\ndef f():\n    pass",
            "def g": "def g(): ...",
        }

    def test_doc_comments_and_attributes_belong_to_a_definition(self) -> None:
        source = "//! The file's.\n\n/// Its é.\n#[test]\n/// More.\npub fn f() {}\n"
        assert spans(one(source, "a.rs")) == {
            "fn f": "/// Its é.\n#[test]\n/// More.\npub fn f() {}"
        }

    def test_a_definition_starts_with_its_indentation(self) -> None:
        assert (
            spans(one("class A:\n    def f(self): ...\n", "a.py"))["def f"]
            == "    def f(self): ..."
        )

    def test_a_header_is_c_or_cpp_by_what_it_says(self) -> None:
        assert one("struct a { int b; };\n", "a.h").metadata["format"] == "c"
        assert one("namespace a { struct b {}; }\n", "a.h").metadata["format"] == "cpp"

    def test_a_source_too_large_to_parse_says_so(self) -> None:
        document = one("x = 1\n" * 400_000, "a.py")
        assert document.marks == ()
        assert document.metadata["unstructured"] == "larger than 2,000,000 characters"

    def test_a_broken_source_has_the_definitions_that_are_left(self) -> None:
        document = one("def f():\n    x = = 1\n\n\ndef g():\n    pass\n", "a.py")
        assert outline(document, "definition") == [(1, "def f"), (1, "def g")]


class TestStructure:
    @pytest.mark.parametrize(
        ("source", "language"),
        [
            ("import os\n\ndef f(self):\n    return os.name\n", "python"),
            ("use std::io;\n\npub fn f() -> io::Result<()> {\n    Ok(())\n}\n", "rust"),
            ('#include <stdio.h>\nint main(void) { printf("a"); return 0; }\n', "c"),
            ("#pragma once\nnamespace a { class B { public: virtual ~B() {} }; }\n", "cpp"),
            ("package a.b;\n\npublic class C {\n  private int d;\n}\n", "java"),
            ('package a\n\nimport "fmt"\n\nfunc f() {\n\tx := 1\n}\n', "go"),
            ("const a = require('b');\nfunction f(x) { return x === a; }\n", "javascript"),
            (
                "interface A { b: string }\nexport const c = (d: number): void => {};\n",
                "typescript",
            ),
            ("Words and words.\n\nAnd for class struggle, import duties and functions.\n", "text"),
            ("for most people, the class is public\nand it returns: nothing\n", "text"),
            ("# A\n\nsee [b](c.md)\n\n## D\n\nwords\n", "markdown"),
            ("#!/bin/sh\n\n# set up\n\n## now\n\necho a\n", "bash"),
            ("#!/usr/bin/env -S perl -w\nprint 1;\n", "perl"),
            ("#!/usr/bin/env pwsh\n'a'\n", "powershell"),
            ("#!/usr/bin/env unknown\nwords\n", "text"),
            ("吾輩は猫である。\n", "text"),
        ],
    )
    def test_the_format_of_a_text_without_a_name_is_told_by_what_it_says(
        self, source: str, language: str
    ) -> None:
        assert structure(source)[0] == language


class TestJsonLines:
    def test_a_line_is_a_document(self) -> None:
        lines = (
            b'{"id": "a", "title": "T", "text": "one two", "chunks": [[0, 3], [4, 7]],'
            b' "lang": "en", "metadata": {"year": 2024, "tags": ["x"]}, "url": "u"}\n\n'
            b'{"text": "three"}\n'
        )
        assert list(read_bytes(lines, name="/x.jsonl")) == [
            Document(
                "/x.jsonl#a",
                "one two",
                "T",
                "en",
                {"ext": "jsonl", "format": "text", "url": "u", "year": 2024, "tags": ["x"]},
                (),
                ((0, 3), (4, 7)),
            ),
            Document("/x.jsonl#3", "three", metadata={"ext": "jsonl", "format": "text"}),
        ]

    def test_given_spans_follow_the_text_when_it_is_normalized(self) -> None:
        (document,) = read_bytes(
            rb'{"text": "a\r\nb\u0000c\rd", "chunks": [[0, 3], [3, 8]]}', name="x.jsonl"
        )
        assert document.text == "a\nb c\nd"
        assert document.chunks is not None
        assert [document.text[start:end] for start, end in document.chunks] == ["a\n", "b c\nd"]

    def test_bad_lines_are_named_after_the_good_ones_were_given(self) -> None:
        lines = (
            b'{"id": 1, "text": "a"}\n{"text"\n{"id": 2}\n[]\n'
            b'{"id": 1, "text": "b"}\n{"id": 3, "text": "c"}'
        )
        documents = read_bytes(lines, name="x.jsonl")
        assert [next(documents).uri, next(documents).uri] == ["x.jsonl#1", "x.jsonl#3"]
        with pytest.raises(
            InputError,
            match=r'line 2: is no JSON .*; line 3: has no "text"; line 4: is no JSON object; '
            r"line 5: id '1' was there before \(2 other documents were read\)",
        ):
            next(documents)

    def test_a_bad_item_of_an_array_is_named_by_its_number_among_the_records(self) -> None:
        items = b'[{"id": 1, "text": "a"},\n\n\n{"id": 1, "text": "b"}, null]'
        documents = read_bytes(items, name="x.jsonl")
        assert next(documents).uri == "x.jsonl#1"
        with pytest.raises(
            InputError, match=r"^record 2: id '1' was there before; record 3: is no JSON object"
        ):
            next(documents)

    def test_records_without_a_text_are_lines_of_one_document(self) -> None:
        log = '{"at": 3, "error": {"msg": "winch\\u0021"}, "none": null}\n'
        chat = '{"role": "user", "content": [{"text": "Repair\\n\\nit, \\u0141ukasz"}]}\n'
        chat += '{"blob": "%s"}\n' % ("A" * 600)
        document = one(log * 2 + chat + "no json\n" + log[:20], "/a/winch.jsonl")
        assert (document.uri, document.metadata["format"]) == ("/a/winch.jsonl", "jsonl")
        assert document.text == (
            "at: 3, msg: winch!\nat: 3, msg: winch!\n\n"
            "role: user\ntext: Repair\n\nit, Łukasz\nno json"
        )

    @pytest.mark.parametrize(
        ("lines", "texts"),
        [
            ('{"text": ""}\n{"text": "dab"}', {"2": "dab"}),
            ('{"text": "dab"}\n{"id": 2, "body": "ray"}', {"1": "dab", "2": "body: ray"}),
            ('{"text": "dab"}\n{"text": ["ray", 7]}', {"1": "dab", "2": "text: ray\ntext: 7"}),
            ('[{"text": "dab"},\n {"text": "ray"}]', {"1": "dab", "2": "ray"}),
            ('{\n "text": "dab"\n}\n{\n "text": "ray"\n}', {"1": "dab", "2": "ray"}),
            ('At noon\n{"msg": "dab"}\n', {"": "At noon\nmsg: dab"}),
            ("{'text': 'dab'}\n", {"": "{'text': 'dab'}"}),
            ('[1, "dab", "bay"]\n[2, "ray", "quay"]\n', {"": "1, dab, bay\n2, ray, quay"}),
            ('[[1, "dab"],\n [2, "ray"]]', {"": "1, dab\n2, ray"}),
            ('[{"at": 1}, {"at": 2}]\n[{"at": 3}]', {"": "at: 1\nat: 2\nat: 3"}),
        ],
    )  # fmt: skip
    def test_what_has_no_text_costs_no_other_record(
        self, lines: str, texts: dict[str, str]
    ) -> None:
        found = read_bytes(lines.encode(), name="x.jsonl")
        assert {each.uri.partition("#")[2]: each.text for each in found} == texts

    def test_a_line_that_is_being_written_is_left_for_the_next_run(self) -> None:
        lines = b'{"id": "a", "text": "one"}\n{"id": "b", "te'
        assert [each.text for each in read_bytes(lines, name="x.jsonl")] == ["one"]

    @pytest.mark.parametrize(
        ("written", "text"),
        [
            (r'{"a": "\u0141\u00f3d\u017a \ud83d\ude00"}', '{"a": "Łódź 😀"}'),
            (KEPT, KEPT),
        ],
    )
    def test_escapes_of_json_are_the_characters_that_they_name(
        self, written: str, text: str
    ) -> None:
        assert one(written, "a.json").text == text

    @pytest.mark.parametrize(
        "chunks", ["[[0, 9]]", "[[2, 2]]", "[[1, 2], [0, 1]]", "[1]", "[[0, true]]", "[]"]
    )
    def test_spans_that_do_not_fit_are_an_error(self, chunks: str) -> None:
        with pytest.raises(InputError, match=r"line 1: has .*chunk"):
            one(f'{{"text": "abc", "chunks": {chunks}}}', "x.jsonl")

    @pytest.mark.parametrize(
        ("record", "reason"),
        [
            ({"id": "a" * 1001}, 'has an "id" of more than 1,000 characters'),
            ({"id": "x", "lang": "a" * 36}, 'has a "lang" of more than 35 characters'),
            ({"metadata": {"a": "b" * 100_000}}, "has more than 100 kB of metadata"),
            ({"a": list(range(9))} | {str(n): n for n in range(20_000)}, "has more than 100 kB"),
        ],
    )
    def test_what_every_answer_would_repeat_is_limited(
        self, record: dict[str, object], reason: str
    ) -> None:
        with pytest.raises(InputError, match=reason):
            one(json.dumps({"text": "a", **record}), "x.jsonl")
        document = one(json.dumps({"text": "a", "title": "b" * 5000}), "x.jsonl")
        assert len(document.title) == 1000


class TestHtml:
    def test_a_page_is_what_its_reader_reads(self) -> None:
        page = """<!DOCTYPE html><html lang="fr-CA"><head><title> A &amp;  B </title>
            <meta name="description" content="On  cats"><style>x{}</style></head><body>
            <nav>menu</nav><h1>Top <b>one</b></h1><p>Hello,   <i>wor</i>ld&eacute;<br>next</p>
            <div hidden>no</div><p style="display: none">no</p><p aria-hidden="true">no</p>
            <ul><li>one<li>two<ol><li>a<li><p>b</p></ol></ul>
            <table><tr><th>A<th>B<tr><td>1<td><p>2</p></table>
            <pre>  x\n    y</pre><h2>Sub</h2>text<script>no</script></body></html>"""
        document = one(page, "a.html")
        assert document.text == (
            "Top one\n\nHello, worldé\nnext\n\n- one\n- two\n\n1. a\n2. b\n\n"
            "A\tB\n1\t2\n\n  x\n    y\n\nSub\n\ntext"
        )
        assert (document.title, document.lang) == ("A & B", "fr")
        assert document.metadata == {"ext": "html", "format": "html", "description": "On cats"}
        assert outline(document) == [(1, "Top one"), (2, "Sub")]
        assert spans(document)["Sub"] == "Sub\n\ntext"

    def test_a_table_that_lays_out_a_page_is_read_as_blocks(self) -> None:
        page = "<table><tr><td><h1>A</h1><p>b</p></td><td><p>c</p><p>d</p></td></tr></table>"
        assert one(page, "a.html").text == "A\n\nb\n\nc\n\nd"

    def test_the_encoding_that_a_page_declares_is_used(self) -> None:
        page = b"<meta charset=euc-kr><p>" + "모든 인간".encode("euc_kr")
        assert one(page, "a.html").text == "모든 인간"

    @pytest.mark.parametrize("name", ["a.xhtml", "a.html"])
    def test_empty_elements_end_in_xhtml_that_is_well_formed(self, name: str) -> None:
        page = (
            "<!DOCTYPE html>\n<html xmlns='http://www.w3.org/1999/xhtml'><head><style/></head>"
            "<body><iframe src='a'/><p>Gorse{}</p><textarea/><p>Heather</p></body></html>"
        )
        assert one(page.format("<br/>"), name).text == "Gorse\n\nHeather"
        with pytest.raises(NothingToRead):
            one(page.format("<br>"), name)

    def test_a_page_is_known_without_an_extension(self) -> None:
        assert one("<!doctype html><p>a", "index").metadata == {"format": "html"}

    def test_navigation_breadcrumbs_contents_and_footers_are_left_out(self) -> None:
        page = """<title>Reset</title><link rel=home title="The Manual"><link rel=up title="Boot">
            <div class=navheader><a href=p>Prev</a> <a href=n>Next</a></div>
            <ol class=breadcrumb><li><a href=/>Home</a></ol>
            <header class=header>Next: <a href=n>Menus</a>, Up: <a href=u>Start</a></header>
            <h1>Reset<a class=headerlink href=#r>¶</a></h1>
            <ul><li><a href=#1>Keys</a><li><a href=#2>Menus</a><li><a href=#3>Logs</a></ul>
            <p>Press R.</p><h2>Keys</h2><p>See <a href=#2>menus</a>.</p>
            <article><p>Said Ann.</p><footer>Ann</footer></article><footer>Copyright</footer>"""
        document = one(page, "a.html")
        assert document.text == "Reset\n\nPress R.\n\nKeys\n\nSee menus.\n\nSaid Ann.\n\nAnn"
        assert outline(document) == [(1, "Reset"), (2, "Keys")]
        assert document.metadata["part_of"] == "The Manual > Boot"

    @pytest.mark.parametrize("main", ["main", "main role=main", "div role=main"])
    def test_the_main_element_is_the_content_of_a_page(self, main: str) -> None:
        tag = main.split()[0]
        page = f"<div>Log in</div><{main}><h1>A</h1><p>Press R.</p></{tag}><div>Share</div>"
        assert one(page, "a.html").text == "A\n\nPress R."

    def test_classes_are_compared_without_case_in_a_page_without_a_type(self) -> None:
        page = "<p>a</p><div class=NavHeader>b</div>"
        assert one(page, "a.html").text == "a"
        assert one(f"<!doctype html>{page}", "a.html").text == "a\n\nb"

    def test_markup_that_looks_like_text_stays_text(self) -> None:
        page = "<p title='<b>&quot;'>&lt;p&gt; &amp;amp;</p><xmp><i>&amp;</xmp><plaintext></p>"
        assert one(page, "a.html").text == "<p> &amp;\n\n<i>&amp;</p>"

    def test_the_content_of_a_template_is_no_text_of_the_page(self) -> None:
        page = "<ul><li>a<template><li><p>b</template></ul><p>c"
        assert one(page, "a.html").text == "- a\n\nc"

    def test_a_main_element_that_holds_little_of_the_page_is_not_its_content(self) -> None:
        page = f"<main><h1>A</h1></main><p>{'word ' * 20}</p>"
        assert "word" in one(page, "a.html").text

    def test_a_list_of_links_to_other_pages_is_content(self) -> None:
        page = "<h2>See also</h2><ul><li><a href=a>a</a><li><a href=b>b</a><li><a href=c>c</a></ul>"
        assert one(page, "a.html").text == "See also\n\n- a\n- b\n- c"

    def test_a_page_that_is_all_navigation_keeps_it(self) -> None:
        page = "<h1>Site map</h1><nav><a href=a>Start</a> <a href=b>Help</a></nav>"
        assert one(page, "a.html").text == "Site map\n\nStart Help"

    @pytest.mark.parametrize("title", ["", "Untitled Document", "Index"])
    def test_a_page_without_a_title_has_that_of_its_first_heading(self, title: str) -> None:
        page = f"<title>{title}</title><h1>Reset</h1><p>a</p>"
        assert one(page, "a.html").title == "Reset"

    def test_the_keywords_of_a_page_are_joined(self) -> None:
        page = "<meta itemprop=keywords content='a, b'><meta name=keywords content=c><p>d"
        assert one(page, "a.html").metadata["keywords"] == "a, b, c"

    def test_a_page_nests_as_deep_as_it_likes(self) -> None:
        assert one("<div>" * 20_000 + "deep", "a.html").text == "deep"

    def test_a_page_without_text_is_no_document(self) -> None:
        with pytest.raises(InputError, match="no text"):
            one("<script>x</script>", "a.html")


class TestPdf:
    def test_pages_are_marks_with_the_labels_they_are_printed_with(self) -> None:
        document = one(
            pdf([["one"], ["two", "more"]], labels="0 << /S /r /St 4 >> 1 << /S /D >>"), "a.pdf"
        )
        assert document.text == "one\n\ntwo\nmore"
        assert document.marks == (Mark("page", 0, 5, "iv"), Mark("page", 5, 13, "1"))
        assert document.metadata == {"ext": "pdf", "format": "pdf", "pages": 2}

    def test_pages_without_labels_count_from_one(self) -> None:
        assert outline(one(pdf([["a"], ["b"]]), "a.pdf"), "page") == [(0, "1"), (0, "2")]

    def test_bookmarks_are_headings_where_the_page_says_them(self) -> None:
        document = one(
            pdf([["Intro", "Scope", "words"], ["Terms"]], outline=[("Scope", 0), ("terms", 1)]),
            "a.pdf",
        )
        assert spans(document)["Scope"] == "Scope\nwords\n\n"
        assert spans(document)["terms"] == "Terms"

    def test_without_bookmarks_headings_are_those_of_the_text(self) -> None:
        assert outline(one(pdf([["1. TERM", "words"], ["2. FEES"]]), "a.pdf")) == [
            (1, "1. TERM"),
            (1, "2. FEES"),
        ]

    def test_a_word_that_a_line_breaks_is_whole(self) -> None:
        lines = ["exam-", "ples of well-", "known and Smith-", "Jones, well-known"]
        assert (
            one(pdf([lines]), "a.pdf").text == "examples of well-known and Smith-Jones, well-known"
        )

    @pytest.mark.parametrize(
        ("written", "title"),
        [
            ("A café", "A café"),
            ("Microsoft Word - a.doc", ""),
            ("(anonymous)", ""),
            ("thesis.tex", ""),
            ("Untitled", ""),
        ],
    )
    def test_the_title_is_the_authors_not_the_programs(self, written: str, title: str) -> None:
        assert one(pdf([["words"]], info=f"/Title ({written})"), "a.pdf").title == title

    @pytest.mark.parametrize(
        ("lines", "large", "title"),
        [
            (["7 May", "Annual Report", "of Acme", "We sold"], "Annual Report\nof Acme", None),
            (["UNITED STATES", "ACME CORP", "We sold"], "UNITED STATES\nACME CORP", "ACME CORP"),
            (["We sold", "all of it"], "", ""),
        ],
    )
    def test_the_title_is_the_line_in_the_largest_type(
        self, lines: list[str], large: str, title: str | None
    ) -> None:
        wanted = large.replace("\n", " ") if title is None else title
        assert one(pdf([lines], large=large), "a.pdf").title == wanted

    @pytest.mark.parametrize(
        ("name", "title"),
        [("lease_of-the_barn.pdf", "lease of the barn"), ("scan0001.pdf", ""), ("a.pdf", "")],
    )
    def test_a_document_without_a_title_has_the_name_of_its_file(
        self, name: str, title: str
    ) -> None:
        document = one(pdf([["we sold", "all of it"]]), name)
        assert document.title == title
        assert document.metadata.get("title_from") == ("name" if title else None)

    def test_an_encrypted_file_says_so(self) -> None:
        with pytest.raises(InputError, match="is encrypted; save"):
            one(pdf([["a"]], encrypted=True), "a.pdf")

    def test_a_scan_says_so(self) -> None:
        with pytest.raises(InputError, match="has no text: a scan; pip install"):
            one(pdf([[], []]), "a.pdf")

    def test_blank_pages_are_nothing_to_read(self) -> None:
        with pytest.raises(NothingToRead, match="has blank pages alone"):
            one(pdf([[]]).replace(b"re f", b"    "), "a.pdf")

    def test_pages_without_text_are_counted(self) -> None:
        assert one(pdf([["a"], []]), "a.pdf").metadata["pages_without_text"] == 1

    @pytest.mark.parametrize("data", [b"%PDF-1.7 cut", pdf([["a"]])[:300]])
    def test_a_damaged_file_says_so(self, data: bytes) -> None:
        with pytest.raises(InputError, match="is a damaged PDF"):
            one(data, "a.pdf")

    def test_a_file_is_known_by_its_first_bytes(self) -> None:
        assert one(pdf([["a"]]), "scan").metadata["format"] == "pdf"


NAMES = [
    "a.txt",
    "a.md",
    "a.html",
    "a.jsonl",
    "a.py",
    "a.rs",
    "a.cpp",
    "a.tsx",
    "a.go",
    "a.java",
    "a",
]
FRAGMENTS = [
    "# A\n", "==\n", "```\n", "1. DEFINITIONS\n", "ARTICLE I\n", "\n", "   ", "def f():\n",
    "class A {", "}", "(", "fn f() {", "<h1>", "</h1>", "<table><tr><td>", "<li>", "<pre>",
    "é", "猫", "\U0001f600",
    "\r\n", "\f", "// c\n", "#[a]\n", "---\n", "a: b\n", "'", '"', "/*", "impl A for B {",
    "@d\n", '{"text": "a", "chunks": [[0,1]]}\n', "\x00", "1.1 Term. ", "Section 2 Pay\n",
    "namespace a {",
]  # fmt: skip


SAMPLES = [
    ("a.pdf", pdf([["Intro", "one"], ["two"]], info="/Title (A)", outline=[("Intro", 0)])),
    (
        "a.html",
        b"<html lang=en><title>a</title><h1>b</h1><table><tr><td>c<td>d</table><ul><li>e</ul>",
    ),
    ("a.md", b"---\ntitle: a\ntags: [b]\n---\n# c\n\nd\n---\n\n```\n# e\n```\n"),
    ("a.jsonl", b'{"id": "a", "text": "b c", "chunks": [[0, 1]], "metadata": {"d": [1]}}\n' * 2),
    ("a.txt", JAPANESE.encode("shift_jis")),
    ("b.txt", FRENCH.encode("utf-16")),
    ("a.py", b"@a\nclass B:\n    def c(self):\n        return 1\n"),
    ("a.cpp", b"namespace a { template <class T> class B { int c() { return 1; } }; }\n"),
]


class TestPromises:
    @given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join), st.sampled_from(NAMES))
    def test_marks_lie_in_the_text_and_in_each_other(self, source: str, name: str) -> None:
        try:
            documents = list(read_bytes(source.encode(), name=name))
        except InputError:
            return
        for document in documents:
            check_marks(document.text, document.marks)

    @given(st.binary(max_size=600), st.sampled_from([*NAMES, "a.pdf", "a.docx"]))
    def test_any_bytes_are_documents_or_an_input_error(self, data: bytes, name: str) -> None:
        try:
            for document in read_bytes(data, name=name):
                document.text.encode()
        except InputError as why:
            assert "\n" not in str(why)  # noqa: PT017

    @given(st.data())
    def test_a_damaged_file_is_documents_or_an_input_error(self, data: st.DataObject) -> None:
        name, whole = data.draw(st.sampled_from(SAMPLES))
        at = data.draw(st.integers(0, len(whole)))
        cut = data.draw(st.integers(0, 40))
        damaged = whole[:at] + data.draw(st.binary(max_size=20)) + whole[at + cut :]
        try:
            for document in read_bytes(damaged, name=name):
                check_marks(document.text, document.marks)
        except InputError as why:
            assert "\n" not in str(why)  # noqa: PT017

    @given(st.text(max_size=300))
    def test_structure_takes_any_text(self, source: str) -> None:
        check_marks(source, structure(source)[1])


def check_marks(text: str, marks: tuple[Mark, ...]) -> None:
    """Check that marks lie in the text, in order, and that sections nest."""
    open_: list[Mark] = []
    for mark in marks:
        assert 0 <= mark.start < mark.end <= len(text)
        assert mark.label
        if mark.kind == "page":
            continue
        while open_ and open_[-1].end <= mark.start:
            open_.pop()
        if open_:
            assert open_[-1].start <= mark.start
            assert mark.end <= open_[-1].end
            assert mark.level > open_[-1].level
        open_.append(mark)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.html", "<title>{0}</title><meta name=author content={0}><h1>{0}</h1><p>x"),
        ("a.eml", "Subject: {0}\nFrom: {0}\n\nx"),
        ("a.tex", "\\title{{{0}}}\\section{{{0}}}x"),
        ("a.org", "#+title: {0}\nx"),
        ("a.rtf", "{{\\rtf1{{\\info{{\\title {0}}}{{\\author {0}}}}}x}}"),
    ],
)
def test_titles_labels_and_metadata_have_a_length_that_answers_can_repeat(
    name: str, data: str
) -> None:
    (document,) = read_bytes(data.format("w" * 300_000).encode(), name=name)
    assert len(document.title) == 1000
    assert all(len(mark.label) <= 1000 for mark in document.marks)
    assert all(len(str(value)) <= 100_000 for value in document.metadata.values())


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<ruby>図<rp>(</rp><rt>と</rt><rp>)</rp>書<rt>しょ</rt></ruby>は", "図書は"),
        ("<math><mi>E</mi><mo>=</mo><mi>m</mi><annotation>x</annotation></math>", "E=m"),
        ("<svg><title>x</title><text>North</text><g><text>quay</text></g></svg>", "North\nquay"),
    ],
)
def test_ruby_formulas_and_drawings_give_the_words_that_are_seen(source: str, text: str) -> None:
    assert one(f"<p>a</p><p>{source}</p>", "a.html").text == f"a\n\n{text}"
