//! What a path says of a file: its language, and whether it is a test, an example or not of the project.

/// How a language is written, as far as its definitions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Syntax {
    /// Functions have no keyword: `int main(void) {`, `close() {`.
    pub(super) bare_functions: bool,
    /// `struct x` alone is a use of a type: only `struct x {` defines it.
    pub(super) c_types: bool,
    /// The deepest indentation at which `let`, `const`, `val` and `var` define more than a local
    /// variable.
    pub(super) variable_depth: usize,
    /// `let` defines functions, too: `let fold f x =`.
    pub(super) bound_functions: bool,
    /// `NAME = value` at the start of a line defines a constant.
    pub(super) constants: bool,
    /// `name :: type` at the start of a line defines a function.
    pub(super) signatures: bool,
    /// `#` begins a comment.
    pub(super) hash_comments: bool,
    /// `name(x) = value` at the start of a line defines a function.
    pub(super) equations: bool,
    /// A name may have a hyphen: `Copy-Item`.
    pub(super) hyphens: bool,
    /// Keywords that only this language has.
    pub(super) keywords: &'static [&'static str],
    /// Where a block ends.
    pub(super) blocks: Blocks,
    /// Comments that end with their line.
    pub(super) line_comments: &'static [&'static str],
    /// Comments that may take several lines, by what begins and ends them.
    pub(super) block_comments: &'static [(&'static str, &'static str)],
    /// Strings that may take several lines, likewise.
    pub(super) long_strings: &'static [(&'static str, &'static str)],
    /// What quotes strings that end with their line.
    pub(super) quotes: &'static [u8],
    /// What escapes the byte behind it in code and in strings.
    pub(super) escape: Option<u8>,
    /// Quotes of strings without escapes.
    pub(super) raw_quotes: &'static [u8],
    /// A string behind `@` has no escapes and may take several lines.
    pub(super) verbatim: bool,
    /// Quoted strings may take several lines.
    pub(super) quotes_span: bool,
    /// `<<WORD` begins a string of lines.
    pub(super) heredocs: bool,
}

/// Where the block of a definition ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// At the brace that closes it.
    Braces,
    /// Before the next line that is not indented more, or with the line of its `end`.
    Indentation,
    /// At a semicolon, of SQL.
    Statements,
}

const C_COMMENTS: (&str, &str) = ("/*", "*/");
const TRIPLE: (&str, &str) = ("\"\"\"", "\"\"\"");
const TRIPLE_SINGLE: (&str, &str) = ("'''", "'''");

const KEYWORDS: Syntax = Syntax {
    bare_functions: false,
    c_types: false,
    variable_depth: 0,
    bound_functions: false,
    constants: false,
    signatures: false,
    hash_comments: false,
    equations: false,
    hyphens: false,
    keywords: &[],
    blocks: Blocks::Indentation,
    line_comments: &["//"],
    block_comments: &[C_COMMENTS],
    long_strings: &[],
    quotes: b"\"",
    escape: Some(b'\\'),
    raw_quotes: b"",
    verbatim: false,
    quotes_span: false,
    heredocs: false,
};
const SCRIPT: Syntax = Syntax {
    constants: true,
    hash_comments: true,
    line_comments: &["#"],
    block_comments: &[],
    long_strings: &[TRIPLE, TRIPLE_SINGLE],
    quotes: b"\"'",
    ..KEYWORDS
};
const RUBY: Syntax = Syntax {
    block_comments: &[("\n=begin", "\n=end")],
    long_strings: &[],
    heredocs: true,
    ..SCRIPT
};
const JULIA: Syntax = Syntax {
    equations: true,
    block_comments: &[("#=", "=#")],
    long_strings: &[TRIPLE],
    quotes: b"\"",
    ..SCRIPT
};
const R: Syntax = Syntax {
    constants: false,
    blocks: Blocks::Braces,
    long_strings: &[],
    quotes_span: true,
    ..SCRIPT
};
const ELIXIR: Syntax = Syntax {
    constants: false,
    keywords: &["defimpl", "defstruct", "defdelegate", "defguardp"],
    ..SCRIPT
};
const PERL: Syntax = Syntax {
    constants: false,
    keywords: &["package"],
    blocks: Blocks::Braces,
    block_comments: &[
        ("\n=head", "\n=cut"),
        ("\n=pod", "\n=cut"),
        ("\n=over", "\n=cut"),
        ("\n=item", "\n=cut"),
        ("\n=begin", "\n=cut"),
        ("\n=for", "\n=cut"),
        ("\n=encoding", "\n=cut"),
    ],
    long_strings: &[],
    heredocs: true,
    ..SCRIPT
};
const SHELL: Syntax = Syntax {
    bare_functions: true,
    constants: false,
    blocks: Blocks::Braces,
    long_strings: &[],
    raw_quotes: b"'",
    quotes_span: true,
    heredocs: true,
    ..SCRIPT
};
const POWERSHELL: Syntax = Syntax {
    hyphens: true,
    bare_functions: true,
    constants: false,
    keywords: &["filter", "workflow", "configuration"],
    blocks: Blocks::Braces,
    block_comments: &[("<#", "#>")],
    long_strings: &[("@\"\n", "\n\"@"), ("@'\n", "\n'@")],
    escape: Some(b'`'),
    raw_quotes: b"'",
    quotes_span: true,
    ..SCRIPT
};
const MEMBERS: Syntax = Syntax {
    variable_depth: 4,
    blocks: Blocks::Braces,
    ..KEYWORDS
};
const TRIPLE_QUOTED: Syntax = Syntax {
    long_strings: &[TRIPLE],
    ..MEMBERS
};
const LUA: Syntax = Syntax {
    line_comments: &["--"],
    block_comments: &[("--[[", "]]"), ("--[=[", "]=]"), ("--[==[", "]==]")],
    long_strings: &[("[[", "]]"), ("[=[", "]=]"), ("[==[", "]==]")],
    quotes: b"\"'",
    ..KEYWORDS
};
const SQL: Syntax = Syntax {
    keywords: &[
        "index", "trigger", "schema", "sequence", "domain", "package", "role",
    ],
    blocks: Blocks::Statements,
    line_comments: &["--"],
    quotes: b"\"'",
    escape: None,
    raw_quotes: b"\"'",
    quotes_span: true,
    ..KEYWORDS
};
const ML: Syntax = Syntax {
    variable_depth: 2,
    bound_functions: true,
    line_comments: &[],
    block_comments: &[("(*", "*)")],
    long_strings: &[("{|", "|}")],
    quotes_span: true,
    ..KEYWORDS
};
const HASKELL: Syntax = Syntax {
    signatures: true,
    keywords: &["instance"],
    line_comments: &["--"],
    block_comments: &[("{-", "-}")],
    ..KEYWORDS
};
const BRACES: Syntax = Syntax {
    bare_functions: true,
    blocks: Blocks::Braces,
    quotes: b"\"'",
    ..KEYWORDS
};
const JAVASCRIPT: Syntax = Syntax {
    long_strings: &[("`", "`")],
    ..BRACES
};
const C: Syntax = Syntax {
    c_types: true,
    ..BRACES
};
/// What is assumed of a text whose path does not tell.
pub(super) const UNKNOWN: Syntax = BRACES;

/// The languages of source code with the extensions of their files; their definitions are found by one
/// table for ranking, exact matches, outlines and chunks.
static LANGUAGES: [Language; 37] = [
    ("python", &["py", "pyi", "pyw"], SCRIPT),
    ("rust", &["rs"], MEMBERS),
    ("javascript", &["js", "mjs", "cjs", "jsx"], JAVASCRIPT),
    ("typescript", &["ts", "mts", "cts"], JAVASCRIPT),
    ("tsx", &["tsx"], JAVASCRIPT),
    (
        "go",
        &["go"],
        Syntax {
            long_strings: &[("`", "`")],
            ..MEMBERS
        },
    ),
    ("java", &["java"], BRACES),
    ("c", &["c", "h"], C),
    (
        "cpp",
        &[
            "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "inl", "cu", "cuh",
        ],
        C,
    ),
    ("bash", &["sh", "bash", "zsh", "ksh", "bats"], SHELL),
    (
        "csharp",
        &["cs"],
        Syntax {
            long_strings: &[TRIPLE],
            verbatim: true,
            ..BRACES
        },
    ),
    ("elixir", &["ex", "exs"], ELIXIR),
    ("haskell", &["hs", "lhs"], HASKELL),
    ("kotlin", &["kt", "kts"], TRIPLE_QUOTED),
    ("lua", &["lua"], LUA),
    (
        "php",
        &["php", "phtml"],
        Syntax {
            line_comments: &["//", "#"],
            quotes_span: true,
            heredocs: true,
            ..BRACES
        },
    ),
    ("ruby", &["rb", "rake", "gemspec"], RUBY),
    ("scala", &["scala", "sc"], TRIPLE_QUOTED),
    (
        "swift",
        &["swift"],
        Syntax {
            keywords: &["extension"],
            ..TRIPLE_QUOTED
        },
    ),
    (
        "zig",
        &["zig"],
        Syntax {
            block_comments: &[],
            ..MEMBERS
        },
    ),
    (
        "dart",
        &["dart"],
        Syntax {
            keywords: &["extension"],
            long_strings: &[TRIPLE, TRIPLE_SINGLE],
            ..BRACES
        },
    ),
    ("sql", &["sql"], SQL),
    ("r", &["r"], R),
    ("ocaml", &["ml", "mli"], ML),
    ("julia", &["jl"], JULIA),
    ("perl", &["pl", "pm"], PERL),
    ("powershell", &["ps1", "psm1"], POWERSHELL),
    // Of these only the order is that of source code.
    ("", &["nim", "gd"], SCRIPT),
    ("", &["cr"], RUBY),
    (
        "",
        &["tcl"],
        Syntax {
            constants: false,
            ..SCRIPT
        },
    ),
    (
        "",
        &["proto"],
        Syntax {
            keywords: &["message", "service", "rpc"],
            ..MEMBERS
        },
    ),
    ("", &["v"], MEMBERS),
    (
        "",
        &["erl", "clj", "lisp", "el", "vim", "f90", "pas", "adb", "vb"],
        KEYWORDS,
    ),
    ("", &["fs", "fsi", "fsx"], ML),
    ("", &["elm", "purs"], HASKELL),
    (
        "",
        &["vue", "svelte", "groovy", "gradle", "d", "sol"],
        BRACES,
    ),
    ("", &["m", "mm", "glsl", "hlsl"], C),
];

/// What a file holds, as far as its path tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Source code.
    Source(Syntax),
    /// Prose or markup: a text for people.
    Prose,
    /// Data or configuration.
    Data,
    /// The path does not tell.
    Unknown,
}

/// Names of documents that often have no extension, or one that tells nothing of their contents.
const DOCUMENTS: [&str; 10] = [
    "authors",
    "changelog",
    "changes",
    "copying",
    "copyright",
    "install",
    "licence",
    "license",
    "news",
    "readme",
];

/// Extensions of data and configuration.
const DATA: [&str; 27] = [
    "ac",
    "am",
    "cfg",
    "cmake",
    "conf",
    "css",
    "csv",
    "in",
    "ini",
    "json",
    "jsonl",
    "less",
    "lock",
    "log",
    "m4",
    "out",
    "po",
    "pot",
    "properties",
    "scss",
    "svg",
    "toml",
    "tsv",
    "xlsx",
    "xml",
    "yaml",
    "yml",
];

/// Returns whether a file's name is that of a list of changes: `CHANGES`, `NEWS.md`, `ChangeLog-2.0`.
pub(super) fn is_changelog(path: &str) -> bool {
    let name = uncompressed_name(path).to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphabetic());
    match words.next().unwrap_or_default() {
        "changelog" | "changes" | "history" | "news" | "releasenotes" => true,
        "release" => words.next() == Some("notes"),
        _ => false,
    }
}

fn uncompressed_name(path: &str) -> &str {
    let mut name = file_name(path);
    for compressed in [".gz", ".bz2", ".xz", ".zst"] {
        name = name.strip_suffix(compressed).unwrap_or(name);
    }
    name
}

/// Returns what a file holds by its name, which may be that of a compressed file.
pub(super) fn kind_of(path: &str) -> FileKind {
    let name = uncompressed_name(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let first = name.split('.').next().unwrap_or_default();
    let is_document = DOCUMENTS
        .iter()
        .any(|each| first.eq_ignore_ascii_case(each));
    if stem.is_empty() || extension.is_empty() {
        return if is_document {
            FileKind::Prose
        } else {
            FileKind::Unknown
        };
    }
    let extension = extension.to_ascii_lowercase();
    if let Some((_, _, syntax)) = language_of(&extension) {
        return FileKind::Source(*syntax);
    }
    match extension.as_str() {
        "md" | "markdown" | "mdown" | "mkd" | "rst" | "rest" | "txt" | "text" | "html" | "htm"
        | "xhtml" | "adoc" | "asciidoc" | "org" | "tex" | "rd" | "rmd" | "pdf" | "docx" | "odt"
        | "epub" | "ipynb" | "eml" | "rtf" | "pptx" | "pod" | "1" | "3" | "5" | "7" | "8" => {
            FileKind::Prose
        }
        data if DATA.contains(&data) => FileKind::Data,
        _ if is_document => FileKind::Prose,
        _ => FileKind::Unknown,
    }
}

type Language = (&'static str, &'static [&'static str], Syntax);

fn language_of(extension: &str) -> Option<&'static Language> {
    LANGUAGES
        .iter()
        .find(|(_, extensions, _)| extensions.contains(&extension))
}

/// Returns how a language is written, `None` if no file of it has an outline.
pub(super) fn syntax_named(language: &str) -> Option<Syntax> {
    LANGUAGES
        .iter()
        .find(|(name, ..)| !name.is_empty() && *name == language)
        .map(|&(_, _, syntax)| syntax)
}

/// Returns the extensions of source files, without a dot, and their languages.
pub fn extensions() -> impl Iterator<Item = (&'static str, &'static str)> {
    LANGUAGES
        .iter()
        .filter(|(name, ..)| !name.is_empty())
        .flat_map(|&(name, extensions, _)| extensions.iter().map(move |&each| (each, name)))
}

/// Folders of tests, examples, and code that the project did not write.
const ASIDE_FOLDERS: [&str; 36] = [
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "testing",
    "testdata",
    "fixture",
    "fixtures",
    "__fixtures__",
    "example",
    "examples",
    "_examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "_demos",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "vendor",
    "vendored",
    "_vendor",
    "third_party",
    "thirdparty",
    "third-party",
    "node_modules",
    "extern",
    "external",
    "dist",
    "generated",
    "mock",
    "mocks",
    "__mocks__",
];
const ASIDE_BEGINNINGS: [&str; 3] = ["test_", "conftest.", "mock_"];
/// Ends of a file's name before its extension.
const ASIDE_ENDINGS: [&str; 16] = [
    "_test",
    ".test",
    "-test",
    "_tests",
    "_spec",
    ".spec",
    "-spec",
    ".min",
    "_pb2",
    "_pb2_grpc",
    ".pb",
    "_generated",
    ".generated",
    ".gen",
    ".g",
    "_gen",
];

/// Returns whether a path below the project is that of a test, an example, vendored or generated code.
pub fn is_aside(path: &str) -> bool {
    let name = file_name(path);
    let folders = &path[..path.len() - name.len()];
    let is_folder = |folder: &str| {
        ASIDE_FOLDERS
            .iter()
            .any(|aside| folder.eq_ignore_ascii_case(aside))
    };
    if folders.split('/').any(is_folder) {
        return true;
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let lower = stem.to_ascii_lowercase();
    ASIDE_BEGINNINGS
        .iter()
        .any(|beginning| name.starts_with(beginning))
        || ASIDE_ENDINGS.iter().any(|ending| lower.ends_with(ending))
        || ["Test", "Tests", "Spec"]
            .iter()
            .any(|ending| stem.ends_with(ending))
}

/// Names of files that say nothing of what they hold: it is their folder's.
const GENERIC: [&str; 6] = ["__init__", "index", "mod", "main", "lib", "init"];

/// Returns the name of a file without its extension; of a file such as `http/index.js`, that of its
/// folder.
pub(super) fn stem_of(path: &str) -> &str {
    let mut names = path.rsplit('/');
    let name = names.next().unwrap_or("");
    let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
    let folder = names.next().unwrap_or("");
    match GENERIC.contains(&stem) && !folder.is_empty() {
        true => folder,
        false => stem,
    }
}

/// Returns the length of the folders that all paths have in common, with the last `/`.
pub fn common_folders<'a>(paths: impl IntoIterator<Item = &'a str>) -> usize {
    let mut paths = paths.into_iter();
    let first = paths.next().unwrap_or("");
    let mut common = first.rfind('/').map_or(0, |at| at + 1);
    for path in paths {
        let same = first
            .bytes()
            .zip(path.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let folders = &first.as_bytes()[..common.min(same)];
        common = folders
            .iter()
            .rposition(|&byte| byte == b'/')
            .map_or(0, |at| at + 1);
    }
    common
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_tell_source_code_from_prose() {
        assert!(matches!(kind_of("a/b.Rs"), FileKind::Source(_)));
        assert_eq!(kind_of("a/README.md"), FileKind::Prose);
        assert_eq!(kind_of("a/README"), FileKind::Prose);
        assert_eq!(kind_of("a/changelog.Debian.gz"), FileKind::Prose);
        assert_eq!(kind_of("perldiag.pod"), FileKind::Prose);
        assert!(matches!(kind_of("src/install.py.gz"), FileKind::Source(_)));
        assert_eq!(kind_of("bin/run"), FileKind::Unknown);
        assert_eq!(kind_of("a/LICENSE"), FileKind::Prose);
        assert_eq!(kind_of(".gitignore"), FileKind::Unknown);
    }

    #[test]
    fn tests_examples_and_foreign_code_are_aside() {
        for path in [
            "tests/a.py",
            "a/test_b.py",
            "b_test.go",
            "src/FooTest.java",
            "x/vendor/y/z.go",
            "a.min.js",
            "api_pb2.py",
            "api.pb.go",
            "a.spec.ts",
        ] {
            assert!(is_aside(path), "{path}");
        }
        for path in [
            "src/latest.py",
            "contest.c",
            "testify/a.go",
            "src/manifest.rs",
        ] {
            assert!(!is_aside(path), "{path}");
        }
    }

    #[test]
    fn lists_of_changes_have_names_of_their_own() {
        for path in [
            "a/CHANGES",
            "NEWS.md",
            "x/ChangeLog-2.0",
            "RELEASE-NOTES.txt",
            "changelog.gz",
            "changes.xml",
        ] {
            assert!(is_changelog(path), "{path}");
        }
        for path in ["release.py", "a/changed.md", "newsletter.txt", "README"] {
            assert!(!is_changelog(path), "{path}");
        }
    }

    #[test]
    fn a_generic_file_has_the_name_of_its_folder() {
        assert_eq!(stem_of("src/http/server.rs"), "server");
        assert_eq!(stem_of("src/http/mod.rs"), "http");
        assert_eq!(stem_of("mod.rs"), "mod");
        assert_eq!(stem_of("doc_1"), "");
    }

    #[test]
    fn folders_above_all_files_are_common() {
        assert_eq!(common_folders(["/a/test/x/b.c", "/a/test/xy.c"]), 8);
        assert_eq!(common_folders(["/a/b.c"]), 3);
        assert_eq!(common_folders(["é/b.c", "è/b.c"]), 0);
        assert_eq!(common_folders([]), 0);
    }
}
