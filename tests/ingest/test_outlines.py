"""Definitions with what they span, in real files of languages without a grammar.

The lists were compared with the files by hand. Lines are counted from 1; a definition begins with
the comments and annotations above it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from crx import _native
from crx._context.outline import outline
from crx.errors import MissingExtra
from crx.ingest.formats import LANGUAGES
from crx.ingest.readers import code
from crx.types import Chunk, Document
from crx_formats import grammars

FOLDER = Path(__file__).parent.parent / "data/definitions"
OUTLINES = {
    "test.sh": """
function setup 47-53
function announce 55-58
function announce_n 60-63
function run_tests 66-131
function do_test 133-147
function usage 149-157
function main 158-187
""",
    "Struct.cs": """
namespace FlatBuffers 17-34
struct Struct 19-33
  function Struct 27-32
""",
    "io.ex": """
defmodule Mix.Shell.IO 1-109
  def print_app 10-20
  def info 22-28
  def error 30-36
  def prompt 38-46
  def yes 48-91
  defp red 93-95
  def cmd 97-108
""",
    "h2_error.lua": """
function http_error_mt:__tostring 20-29
function http_error_methods:new 31-40
function http_error_methods:new_traceback 42-59
function http_error_methods:error 61-63
function http_error_methods:assert 66-74
function is 76-78
function add_error 80-88
""",
    "IncludeNode.php": """
class IncludeNode 18-106
  function __construct 25-33
  function compile 35-75
  function addGetTemplate 77-88
  function addTemplateArguments 90-105
""",
    "numbering.rb": """
module Encoders 2-107
  class HTML 4-105
    module Numbering 6-103
      def self.number 8-101
""",
    "inventory.scala": """
class Item 5-6
trait Movement 8-11
  def sku 9-9
  def quantity 10-10
object Movement 13-23
  class Arrival 14-14
  class Sale 15-15
  class Signed 17-22
    def signed 18-21
class Warehouse 25-48
  def this 32-32
  def apply 34-41
  def count 43-44
  def countOf 46-47
object Warehouse 50-57
  type Report 51-51
  def report 53-56
""",
    "Mutable.swift": """
protocol Mutable 23-29
extension Mutable 31-42
  func mutate 33-41
extension Mutable 44-64
  func mutate 46-53
  func directMutate 55-63
extension Mutable 66-85
  func mutate 68-74
  func directMutate 76-84
extension Struct 87-87
extension Table 88-88
""",
    "ring_buffer.zig": """
error Error 6-6
struct RingBuffer 11-42
  fn init 19-21
  fn push 23-28
  fn pop 30-37
  fn isFull 39-41
enum Policy 44-44
fn ring_version 51-53
fn fill 55-59
""",
    "example.dart": """
function main 22-25
function builderTest 27-83
function objectBuilderTest 85-113
function verify 115-153
""",
    "library.sql": """
type library.copy_state 4-4
table library.titles 6-12
table library.copies 14-18
index copies_by_title 20-20
view library.available 22-27
function library.lend 29-41
trigger titles_seen 43-45
procedure library.shelve 47-51
view library.popular 54-55
""",
    "expect-comparison.R": """
function expect_compare 22-43
function expect_lt 44-51
function expect_lte 53-60
function expect_gt 62-69
function expect_gte 71-78
function expect_less_than 83-94
function expect_more_than 96-101
""",
    "cmdliner_trie.ml": """
type value 8-12
type t 14-14
let empty 15-15
let is_empty 16-16
let add 18-36
let find_node 38-43
let find 45-48
let ambiguities 50-73
let of_list 75-77
""",
    "signals.jl": """
type Window 12-12
struct Flat 15-17
struct Peak 19-26
  function Peak 22-25
function weights 28-28
function smooth 30-39
function peaks 44-52
function Base.show 54-54
macro sampled 56-61
""",
    "Ledger.pm": """
package Ledger 1-51
  sub new 24-28
  sub post 30-36
  sub balance 38-41
  sub _report 43-49
  sub accounts 51-51
package Ledger::Account 53-63
  sub new 55-59
  sub name 61-61
""",
    "Backup.psm1": """
enum Age 7-10
class BackupPlan 12-25
  function BackupPlan 16-19
  function DaysKept 21-24
function Copy-BackupFolder 27-43
function Remove-OldBackup 45-48
filter Select-Stale 50-52
function global:Write-BackupReport 54-60
""",
}
# Of files with many definitions, some.
PARTS = {
    "ByteArray.kt": [
        "fun ByteArray.getString 21-21",
        "fun ByteArray.setLong 42-42",
        "object ByteArrayOps 47-146",
        "  fun getInt 58-65",
        "  fun setLong 104-116",
    ],
    "Internals.hs": [
        "data Splitter 24-39",
        "newtype Delimiter 65-67",
        "type SplitList 110-112",
        "function dropFinal 234-241",
        "function split 245-249",
        "function oneOf 256-261",
    ],
}
# Of generated text, that no definition takes the longer the more there are of them.
DEEPEST = 64
HOSTILE = {
    ".rb": ("def a\n", ""),
    ".rs": ("pub ", ""),
    ".cs": ("class A {\n", "}\n"),
    ".php": ("function f(\n", ""),
    ".sh": ("cat <<A '\n", ""),
    ".scala": ("@a def f\n", ""),
    ".swift": ("class A{", ""),
    ".sql": ("CREATE PROCEDURE p\nBEGIN\n", ""),
    ".hs": ("f :: Int\nf = {- 3\n", ""),
    ".ex": ('@doc """\na\n"""\ndef a do\n', ""),
    ".ml": ("let f x = (*\n", ""),
    ".pl": ("package A;\nsub x {\n", ""),
    ".lua": ("function M.f(a, b) return a [[ end\n", ""),
}


def read(name: str, text: str) -> Document:
    (document,) = code.read(text.encode(), name=name)
    return document


def outline_of(name: str) -> list[str]:
    document = read(name, (FOLDER / name).read_text("utf-8"))

    def line(at: int) -> int:
        return document.text.count("\n", 0, at) + 1

    return [
        f"{'  ' * (mark.level - 1)}{mark.label} {line(mark.start)}-{line(mark.end - 1)}"
        for mark in document.marks
    ]


@pytest.mark.parametrize("name", OUTLINES)
def test_an_outline_has_the_definitions_of_a_file(name: str) -> None:
    assert outline_of(name) == OUTLINES[name].strip("\n").splitlines()


@pytest.mark.parametrize("name", PARTS)
def test_a_long_outline_has_the_definitions_of_a_file(name: str) -> None:
    found = outline_of(name)
    assert [each for each in found if each in PARTS[name]] == PARTS[name]


def test_each_language_has_a_grammar_or_a_file() -> None:
    with_files = {LANGUAGES[Path(name).suffix.lower()] for name in [*OUTLINES, *PARTS]}
    assert len(with_files) == 18
    assert set(LANGUAGES.values()) == with_files | grammars.LANGUAGES


def test_braces_that_do_not_balance_leave_the_indentation() -> None:
    text = "class A {\n    void f() {\n        g('{');\n    }\n    int h() { return 1; }\n"
    labels = [(mark.label, mark.level) for mark in read("a.cs", text).marks]
    assert labels == [("class A", 1), ("function f", 2), ("function h", 2)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sql", "SELECT a LIKE b ESCAPE '\\';\nCREATE TABLE boil (a text DEFAULT '');\n"),
        ("a.ps1", "$a = $b.TrimEnd('\\')\nfunction boil {\n    'a'\n}\n"),
        ("a.ps1", '$a = "`"{"\nfunction boil {\n}\n'),
        ("a.sh", "IFS='\\'\nboil() {\n  echo 'a'\n}\n"),
        ("a.cs", 'var a = @"c:\\";\nvar b = @"\n{\nclass A {";\nclass boil {\n}\n'),
        ("a.cs", 'var a = "\\"{";\nclass boil {\n}\n'),
    ],
)
def test_a_backslash_is_no_escape_in_each_language(name: str, text: str) -> None:
    (mark,) = read(name, text).marks
    assert mark.label.endswith(" boil")


def test_offsets_are_code_points() -> None:
    document = read("a.rb", "# Größe\n\ndef größe\n  'ß'\nend\n\nx = 1\n")
    (mark,) = document.marks
    assert document.text[mark.start : mark.end] == "def größe\n  'ß'\nend"
    assert document.metadata["format"] == "ruby"


def test_a_symbol_that_is_defined_500_times_is_defined_500_times() -> None:
    assert len(read("a.lua", "function M.f(a)\nend\n" * 500).marks) == 500


def test_a_language_that_is_not_known_has_no_outline() -> None:
    assert _native.outline("def a\n", language="") == []


def test_definitions_in_each_other_have_names_down_to_a_level() -> None:
    text = "".join(f"class a{number}{{\n" for number in range(2_000)) + "}" * 2_000
    levels = [mark.level for mark in read("a.swift", text).marks]
    assert levels == list(range(1, DEEPEST + 1))


def seconds(text: str, extension: str) -> float:
    taken = []
    for _ in range(3):
        started = time.process_time()
        _native.outline(text, language=LANGUAGES[extension])
        taken.append(time.process_time() - started)
    return min(taken)


@pytest.mark.parametrize(
    ("extension", "line", "end"),
    [
        (".sql", "create function f() is x;\n", ""),
        (".sql", "create function f() is function g is begin x;\n", ""),
        (".sql", "create function f() is function g is x;\n", ""),
        (".sql", "function f is x;\n", ""),
        (".kt", ":class A\n", "{}\n"),
    ],
)
def test_blocks_that_never_begin_or_end_are_looked_for_only_near(
    extension: str, line: str, end: str
) -> None:
    def text(size: int) -> str:
        return line * (size // len(line)) + end

    assert seconds(text(640_000), extension) < 9 * seconds(text(160_000), extension)


@pytest.mark.parametrize("extension", HOSTILE)
def test_four_times_the_text_takes_about_four_times_the_time(extension: str) -> None:
    line, end = HOSTILE[extension]

    def text(size: int) -> str:
        count = size // len(line + end)
        return line * count + end * count

    assert seconds(text(1_600_000), extension) < 9 * seconds(text(400_000), extension)


def test_a_long_tag_of_sql_takes_no_time_for_each_line() -> None:
    def text(size: int) -> str:
        return "$" + "a" * size + "$\n" + "\n" * size

    assert seconds(text(800_000), ".sql") < 9 * seconds(text(200_000), ".sql")


def test_a_tag_of_sql_has_at_most_63_bytes() -> None:
    def labels(length: int) -> list[str]:
        tag = f"${'a' * length}$"
        text = f"SELECT {tag}\nCREATE TABLE t (a int);\n{tag};\n"
        return [mark.label for mark in read("a.sql", text).marks]

    assert (labels(63), labels(64)) == ([], ["table t"])


def test_the_outline_of_a_chunk_in_many_definitions_names_the_nearest() -> None:
    names = [f"{'a' * 90}{number}" for number in range(60)]
    text = "".join(f"class {name}{{\n" for name in names) + "f()\n" + "}" * 60
    start = text.index("f()")
    document = replace(read("a.swift", text), uri="a.swift")
    (found,) = outline(document, [Chunk(0, start, start + 3, 0, 0, 0, "f()")])
    assert names[-1] in found
    assert names[20] not in found
    assert len(found) < 2_000


def test_without_grammars_definitions_are_found_line_by_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(group: str, name: str) -> None:
        raise MissingExtra("no grammars", extra="code")

    monkeypatch.setattr(code, "load_shipped", fail)
    code.load_grammars.cache_clear()
    try:
        marks = code.definitions("def fuse(a):\n    return a\n", language="python")
        assert [mark.label for mark in marks] == ["def fuse"]
    finally:
        code.load_grammars.cache_clear()
