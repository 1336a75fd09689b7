"""Definitions in one file for each of twenty-six languages, as a reader finds them.

What is nested in a function is no definition, except in OCaml, where the first level is. Methods
of an interface without a body are none where a function needs no keyword, nor is a name with a
prime in Haskell (`insertBlanks'`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from crx._native import defined_names, document_kind

FOLDER = Path(__file__).parent.parent / "data/definitions"
BYTES = (
    "getUByte getShort getUShort getInt getUInt getLong getULong {0}"
    "setUByte setShort setUShort setInt setUInt setLong setULong setFloat setDouble {1}"
)
DEFINITIONS = {
    "win32.pyw": "LM_MAGIC raw_lmhash",
    "unionfind.rs": "UnionFind get_unchecked get_unchecked_mut new find find_mut "
    "find_mut_recursive equiv union into_labeling",
    "tasks.js": "scheduler onreadystatechange scheduler processTasks scheduledProcess "
    "scheduleTaskProcessing schedule cancel resetForTesting",
    "middleware.ts": "globalMiddlewareFactory commandMiddlewareFactory applyMiddleware "
    "MiddlewareCallback Middleware",
    "code_block.go": "codeBlockParser defaultCodeBlockParser NewCodeBlockParser Trigger Open "
    "Continue Close CanInterruptParagraph CanAcceptIndentedLine preserveLeadingTabInCodeBlock",
    "FileAlterationListenerAdaptor.java": "FileAlterationListenerAdaptor onStart "
    "onDirectoryCreate onDirectoryChange onDirectoryDelete onFileCreate onFileChange onFileDelete "
    "onStop",
    "private_exe.c": "_CRT_SECURE_NO_WARNINGS main MAIN_C_UNIT_TEST START_TEST "
    "make_private_exe_suite",
    "b2_circle_shape.cpp": "Clone GetChildCount TestPoint RayCast ComputeAABB ComputeMass",
    "numbering.rb": "CodeRay Encoders HTML Numbering number",
    "IncludeNode.php": "Node IncludeNode __construct compile addGetTemplate addTemplateArguments",
    "h2_error.lua": "__tostring new new_traceback error assert is add_error",
    "cmdliner_trie.ml": "Cmap value t empty is_empty add loop find_node aux find ambiguities "
    "of_list add",
    "expect-comparison.R": "expect_compare expect_lt expect_lte expect_gt expect_gte "
    "expect_less_than expect_more_than",
    "io.ex": "IO print_app info error prompt yes red cmd",
    "test.sh": "setup announce announce_n run_tests do_test usage main",
    "ByteArray.kt": "getString setString "
    + BYTES.format("getFloat getDouble ", "")
    + "ByteArrayOps "
    + BYTES.format("", "getFloat getDouble"),
    "Mutable.swift": "Mutable mutate mutate directMutate mutate directMutate",
    "Struct.cs": "FlatBuffers Struct Struct",
    "example.dart": "main builderTest objectBuilderTest verify",
    "inventory.scala": "Item Movement sku quantity Movement Arrival Sale Signed signed Warehouse "
    "counts this apply count countOf Warehouse Report report",
    "ring_buffer.zig": "std assert Error default_capacity RingBuffer Self init push pop isFull "
    "Policy usage ring_version fill",
    "library.sql": "library copy_state titles copies copies_by_title available lend titles_seen "
    "shelve popular",
    "signals.jl": "Signals DEFAULT_WIDTH Window Flat Peak Peak weights smooth peaks show sampled",
    "Ledger.pm": "Ledger example new post balance _report accounts Account new name",
    "Backup.psm1": "Age BackupPlan BackupPlan DaysKept Copy-BackupFolder Remove-OldBackup "
    "Select-Stale Write-BackupReport",
    "Internals.hs": "Internals Splitter defaultSplitter Delimiter matchDelim DelimPolicy "
    "CondensePolicy EndPolicy Chunk SplitList fromElem isDelim isText splitInternal breakDelim "
    "postProcess doDrop doCondense insertBlanks doMerge mergeLeft mergeRight dropInitial dropFinal "
    "split oneOf onSublist whenElt dropDelims keepDelimsL keepDelimsR condense dropInitBlank "
    "dropFinalBlank dropInnerBlanks dropBlanks startsWith startsWithOneOf endsWith endsWithOneOf "
    "splitOneOf splitOn splitWhen sepBy sepByOneOf endBy endByOneOf unintercalate wordsBy linesBy "
    "build chunksOf chunk splitEvery splitPlaces splitPlacesBlanks chop divvy",
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions_are_those_that_a_reader_finds(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    assert defined_names(name, text) == DEFINITIONS[name].split()


def test_every_language_has_a_file() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.name != "README.md"}
    assert files == set(DEFINITIONS)
    assert len({Path(name).suffix for name in files}) == 26


def test_prose_defines_nothing() -> None:
    assert defined_names("README.md", "def read():\n    pass\n") == []
    assert document_kind("notes.txt", "def read():\n    pass\n") == "prose"
    assert document_kind("notes/7", "int read(int fd) {\n    return fd;\n}\n") == "code"
