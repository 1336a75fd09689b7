#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use super::*;

const WEIGHTS: Weights = Weights {
    definition: 1.0,
    names: 0.3,
    path: 0.35,
    aside: 0.3,
    prose: 0.3,
    file: 0.2,
};
const NONE: Weights = Weights {
    definition: 0.0,
    names: 0.0,
    path: 0.0,
    aside: 1.0,
    prose: 1.0,
    file: 0.0,
};

/// Returns the order of files of one chunk each, with scores from 1 downwards in small steps.
fn order(query: &str, files: &[(&str, &str)], weights: &Weights) -> Vec<usize> {
    let candidates: Vec<Candidate<'_>> = files
        .iter()
        .zip(0u8..)
        .map(|(&(uri, text), at)| Candidate {
            doc: i64::from(at),
            uri,
            kind: Kind::of(uri, text),
            text,
            score: 10.0 - f32::from(at) / 10.0,
        })
        .collect();
    rank(query, &candidates, weights)
        .into_iter()
        .map(|(at, _)| at)
        .collect()
}

#[test]
fn the_chunk_that_defines_a_symbol_comes_first() {
    let files = [
        ("a/use.py", "read_all(3)"),
        ("a/define.py", "def read_all(n):"),
    ];
    assert_eq!(order("read_all", &files, &WEIGHTS), [1, 0]);
    assert_eq!(order("read_all", &files, &NONE), [0, 1]);
}

#[test]
fn a_name_made_of_words_of_the_query_is_raised() {
    let files = [
        ("x/a.py", "def close(x):"),
        ("x/b.py", "def parse_header_lines(x):"),
    ];
    assert_eq!(
        order("how are lines of a header parsed", &files, &WEIGHTS),
        [1, 0]
    );
}

#[test]
fn a_constant_in_capitals_is_a_name_wherever_it_is_defined() {
    let define = [
        "    static int MAX_HEADER_SIZE = 6;",
        "    public const MAX_HEADER_SIZE    = '/^x/';",
        "    MAX_HEADER_SIZE = 6  # bytes",
        "pub const MAX_HEADER_SIZE: usize = 6;",
        "#  define MAX_HEADER_SIZE 6",
    ];
    for line in define {
        assert_eq!(constant(line), Some("MAX_HEADER_SIZE"), "{line}");
        let files = [("x/a.java", "f(x.MAX_HEADER_SIZE);"), ("x/b.java", line)];
        for query in ["value of max header size", "MAX_HEADER_SIZE"] {
            assert_eq!(order(query, &files, &WEIGHTS), [1, 0], "{query}: {line}");
        }
    }
    for line in [
        "if MAX_SIZE == size:",
        "sizes[MAX_SIZE] = 3",
        "x.MAX_SIZE = 3",
        "f(MAX_SIZE = 3)",
        "size = MAX_SIZE",
        "MAX_SIZE => 3,",
        "SELECT = 3",
    ] {
        assert_eq!(constant(line), None, "{line}");
    }
}

#[test]
fn a_file_named_in_the_query_is_raised() {
    let files = [("x/a.rs", "f(1);"), ("x/scheduler.rs", "g(1);")];
    assert_eq!(
        order("where does the scheduler pick work", &files, &WEIGHTS),
        [1, 0]
    );
}

#[test]
fn tests_count_less_unless_the_query_asks_for_them() {
    let files = [("x/tests/a.rs", "f(1);"), ("x/src/a.rs", "f(1);")];
    assert_eq!(order("how does it boil", &files, &WEIGHTS), [1, 0]);
    assert_eq!(order("tests of boiling", &files, &WEIGHTS), [0, 1]);
}

#[test]
fn prose_counts_less_among_source_code_alone() {
    let code = [
        ("x/README.md", "Boil."),
        ("x/a.rs", "f(1);"),
        ("x/b.rs", "f(2);"),
    ];
    assert_eq!(order("how does it boil", &code, &WEIGHTS), [1, 2, 0]);
    let prose = [
        ("x/README.md", "Boil."),
        ("x/b.md", "Boil."),
        ("x/c.txt", "Boil."),
    ];
    assert_eq!(order("how does it boil", &prose, &WEIGHTS), [0, 1, 2]);
}

#[test]
fn a_changelog_counts_less_and_does_not_tell_what_the_query_is_for() {
    let mut files = vec![("x/CHANGES", "Boil."); 9];
    files.extend([
        ("x/guide.md", "Boil."),
        ("x/a.rs", "f(1);"),
        ("x/b.rs", "f(2);"),
    ]);
    assert_eq!(
        order("how does it boil", &files, &WEIGHTS)[..3],
        [10, 11, 9]
    );
    assert_eq!(order("changelog of boil", &files, &WEIGHTS)[0], 0);
}

#[test]
fn prose_beside_source_code_counts_as_much_for_a_query_in_words() {
    let mixed = [
        ("x/guide.md", "Boil."),
        ("x/a.rs", "f(1);"),
        ("x/b.html", "Boil."),
        ("x/c.rs", "f(2);"),
    ];
    assert_eq!(order("how does it boil", &mixed, &WEIGHTS), [0, 1, 2, 3]);
    assert_eq!(order("where is boil_water", &mixed, &WEIGHTS), [1, 3, 0, 2]);
}

#[test]
fn configuration_beside_source_code_counts_less_however_much_there_is_of_it() {
    let mixed = [
        ("x/a.yaml", "Boil."),
        ("x/a.rs", "f(1);"),
        ("x/b.JSON.gz", "Boil."),
        ("x/c.rs", "f(2);"),
        ("x/c.toml", "Boil."),
        ("x/d.xml", "Boil."),
    ];
    assert_eq!(
        order("how does it boil", &mixed, &WEIGHTS),
        [1, 3, 0, 2, 4, 5]
    );
}

#[test]
fn the_best_chunk_of_a_file_with_several_good_hits_is_raised() {
    let chunk = |doc, uri, score| Candidate {
        doc,
        uri,
        kind: Kind::Code,
        text: "f(1);",
        score,
    };
    let candidates = [
        chunk(1, "x/a.rs", 1.0),
        chunk(2, "x/b.rs", 0.99),
        chunk(2, "x/b.rs", 0.98),
        chunk(3, "x/c.rs", 0.5),
    ];
    let ranked: Vec<usize> = rank("boil", &candidates, &WEIGHTS)
        .into_iter()
        .map(|(at, _)| at)
        .collect();
    assert_eq!(ranked, [1, 0, 2, 3]);
}

#[test]
fn a_symbol_that_is_defined_500_times_and_no_candidate_at_all_are_ranked() {
    let text = "def read_all(n):\n".repeat(500);
    let candidates = vec![
        Candidate {
            doc: 1,
            uri: "a.py",
            kind: Kind::Code,
            text: &text,
            score: 1.0
        };
        150
    ];
    let ranked = rank("read_all", &candidates, &WEIGHTS);
    assert_eq!(ranked.len(), 150);
    assert_eq!(rank("read_all", &[], &WEIGHTS), []);
}

#[test]
fn without_weights_scores_stay() {
    let files = [("x/tests/a.rs", "fn boil() {"), ("x/boil.md", "Boil.")];
    let candidates: Vec<Candidate<'_>> = files
        .iter()
        .map(|&(uri, text)| Candidate {
            doc: 1,
            uri,
            kind: Kind::of(uri, text),
            text,
            score: 3.0,
        })
        .collect();
    assert_eq!(rank("boil", &candidates, &NONE), [(0, 3.0), (1, 3.0)]);
}

#[test]
fn scores_are_numbers_where_nothing_counts() {
    let candidates = ["x/tests/a.rs", "x/examples/b.rs"].map(|uri| Candidate {
        doc: 1,
        uri,
        kind: Kind::Code,
        text: "f(1);",
        score: 1.0,
    });
    let weights = Weights {
        aside: 0.0,
        ..WEIGHTS
    };
    assert_eq!(rank("boil", &candidates, &weights), [(0, 0.0), (1, 0.0)]);
}

/// The names that a reader finds in a file of each of 26 languages.
///
/// What is nested in a function is no definition, except in OCaml, where the first level is. Methods
/// of an interface without a body are none where a function needs no keyword, nor is a name with a
/// prime in Haskell (`insertBlanks'`).
const DEFINITIONS: [(&str, &str); 26] = [
    ("win32.pyw", "LM_MAGIC raw_lmhash"),
    (
        "unionfind.rs",
        "UnionFind get_unchecked get_unchecked_mut new find find_mut find_mut_recursive \
         equiv union into_labeling",
    ),
    (
        "tasks.js",
        "scheduler onreadystatechange scheduler processTasks scheduledProcess \
         scheduleTaskProcessing schedule cancel resetForTesting",
    ),
    (
        "middleware.ts",
        "globalMiddlewareFactory commandMiddlewareFactory applyMiddleware \
         MiddlewareCallback Middleware",
    ),
    (
        "code_block.go",
        "codeBlockParser defaultCodeBlockParser NewCodeBlockParser Trigger Open Continue \
         Close CanInterruptParagraph CanAcceptIndentedLine preserveLeadingTabInCodeBlock",
    ),
    (
        "FileAlterationListenerAdaptor.java",
        "FileAlterationListenerAdaptor onStart onDirectoryCreate onDirectoryChange \
         onDirectoryDelete onFileCreate onFileChange onFileDelete onStop",
    ),
    (
        "private_exe.c",
        "_CRT_SECURE_NO_WARNINGS main MAIN_C_UNIT_TEST START_TEST make_private_exe_suite",
    ),
    (
        "b2_circle_shape.cpp",
        "Clone GetChildCount TestPoint RayCast ComputeAABB ComputeMass",
    ),
    ("numbering.rb", "CodeRay Encoders HTML Numbering number"),
    (
        "IncludeNode.php",
        "Node IncludeNode __construct compile addGetTemplate addTemplateArguments",
    ),
    (
        "h2_error.lua",
        "__tostring new new_traceback error assert is add_error",
    ),
    (
        "cmdliner_trie.ml",
        "Cmap value t empty is_empty add loop find_node aux find ambiguities of_list add",
    ),
    (
        "expect-comparison.R",
        "expect_compare expect_lt expect_lte expect_gt expect_gte expect_less_than \
         expect_more_than",
    ),
    ("io.ex", "IO print_app info error prompt yes red cmd"),
    (
        "test.sh",
        "setup announce announce_n run_tests do_test usage main",
    ),
    (
        "ByteArray.kt",
        "getString setString getUByte getShort getUShort getInt getUInt getLong getULong \
         getFloat getDouble setUByte setShort setUShort setInt setUInt setLong setULong \
         setFloat setDouble ByteArrayOps getUByte getShort getUShort getInt getUInt \
         getLong getULong setUByte setShort setUShort setInt setUInt setLong setULong \
         setFloat setDouble getFloat getDouble",
    ),
    (
        "Mutable.swift",
        "Mutable mutate mutate directMutate mutate directMutate",
    ),
    ("Struct.cs", "FlatBuffers Struct Struct"),
    ("example.dart", "main builderTest objectBuilderTest verify"),
    (
        "inventory.scala",
        "Item Movement sku quantity Movement Arrival Sale Signed signed Warehouse counts \
         this apply count countOf Warehouse Report report",
    ),
    (
        "ring_buffer.zig",
        "std assert Error default_capacity RingBuffer Self init push pop isFull Policy \
         usage ring_version fill",
    ),
    (
        "library.sql",
        "library copy_state titles copies copies_by_title available lend titles_seen \
         shelve popular",
    ),
    (
        "signals.jl",
        "Signals DEFAULT_WIDTH Window Flat Peak Peak weights smooth peaks show sampled",
    ),
    (
        "Ledger.pm",
        "Ledger example new post balance _report accounts Account new name",
    ),
    (
        "Backup.psm1",
        "Age BackupPlan BackupPlan DaysKept Copy-BackupFolder Remove-OldBackup \
         Select-Stale Write-BackupReport",
    ),
    (
        "Internals.hs",
        "Internals Splitter defaultSplitter Delimiter matchDelim DelimPolicy \
         CondensePolicy EndPolicy Chunk SplitList fromElem isDelim isText splitInternal \
         breakDelim postProcess doDrop doCondense insertBlanks doMerge mergeLeft \
         mergeRight dropInitial dropFinal split oneOf onSublist whenElt dropDelims \
         keepDelimsL keepDelimsR condense dropInitBlank dropFinalBlank dropInnerBlanks \
         dropBlanks startsWith startsWithOneOf endsWith endsWithOneOf splitOneOf splitOn \
         splitWhen sepBy sepByOneOf endBy endByOneOf unintercalate wordsBy linesBy build \
         chunksOf chunk splitEvery splitPlaces splitPlacesBlanks chop divvy",
    ),
];

#[test]
fn definitions_are_those_that_a_reader_finds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/definitions");
    for (name, expected) in DEFINITIONS {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let syntax = syntax_of(name, Kind::of(name, &text)).unwrap();
        let expected: Vec<&str> = expected.split(' ').collect();
        assert_eq!(defined_names(&text, syntax), expected, "{name}");
    }
}

#[test]
fn every_language_has_a_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/definitions");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    files.retain(|name| name != "README.md");
    let mut named: Vec<_> = DEFINITIONS.map(|(name, _)| OsString::from(name)).into();
    files.sort();
    named.sort();
    assert_eq!(files, named);
    let suffixes = DEFINITIONS.map(|(name, _)| Path::new(name).extension());
    assert_eq!(HashSet::from(suffixes).len(), 26);
}

#[test]
fn prose_has_no_definitions() {
    let prose = "def read():\n    pass\n";
    assert!(syntax_of("README.md", Kind::of("README.md", prose)).is_none());
    assert_eq!(Kind::of("notes.txt", prose), Kind::Prose);
    let code = "int read(int fd) {\n    return fd;\n}\n";
    assert_eq!(Kind::of("notes/7", code), Kind::Code);
}
