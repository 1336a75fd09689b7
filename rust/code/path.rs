//! What a path says of a file: its language, and whether it is a test, an example or not of the project.

/// How definitions are written in a language, as far as it differs from others.
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
}

const KEYWORDS: Syntax = Syntax {
    bare_functions: false,
    c_types: false,
    variable_depth: 0,
    bound_functions: false,
    constants: false,
    signatures: false,
    hash_comments: false,
};
const SCRIPT: Syntax = Syntax {
    constants: true,
    hash_comments: true,
    ..KEYWORDS
};
const BRACES: Syntax = Syntax {
    bare_functions: true,
    ..KEYWORDS
};
/// What is assumed of a text whose path does not tell.
pub(super) const UNKNOWN: Syntax = BRACES;

/// What a file holds, as far as its path tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Source code.
    Source(Syntax),
    /// Prose, markup, data or configuration.
    Prose,
    /// The path does not tell.
    Unknown,
}

/// Returns what a file holds by the extension of its path.
pub(super) fn kind_of(path: &str) -> FileKind {
    let name = file_name(path);
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return FileKind::Unknown;
    };
    if stem.is_empty() {
        return FileKind::Unknown;
    }
    let syntax = match extension.to_ascii_lowercase().as_str() {
        "py" | "pyi" | "pyw" | "rb" | "rake" | "jl" | "nim" | "gd" => SCRIPT,
        "r" => Syntax {
            constants: false,
            ..SCRIPT
        },
        "ex" | "exs" | "pl" | "pm" | "cr" | "tcl" => Syntax {
            constants: false,
            ..SCRIPT
        },
        "sh" | "bash" | "zsh" | "ksh" | "bats" | "ps1" => Syntax {
            bare_functions: true,
            constants: false,
            ..SCRIPT
        },
        "rs" | "go" | "zig" | "swift" | "kt" | "kts" | "scala" | "sc" | "proto" | "v" => Syntax {
            variable_depth: 4,
            ..KEYWORDS
        },
        "lua" | "sql" | "erl" | "clj" | "lisp" | "el" | "vim" | "f90" | "pas" | "adb" | "vb" => {
            KEYWORDS
        }
        "ml" | "mli" | "fs" | "fsi" | "fsx" => Syntax {
            variable_depth: 2,
            bound_functions: true,
            ..KEYWORDS
        },
        "hs" | "lhs" | "elm" | "purs" => Syntax {
            signatures: true,
            ..KEYWORDS
        },
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" | "java"
        | "cs" | "php" | "dart" | "groovy" | "gradle" | "d" | "sol" => BRACES,
        "c" | "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "inl" | "cu" | "cuh"
        | "m" | "mm" | "glsl" | "hlsl" => Syntax {
            c_types: true,
            ..BRACES
        },
        "md" | "markdown" | "mdown" | "mkd" | "rst" | "rest" | "txt" | "text" | "html" | "htm"
        | "xhtml" | "xml" | "json" | "jsonl" | "yaml" | "yml" | "toml" | "ini" | "cfg" | "conf"
        | "properties" | "adoc" | "asciidoc" | "org" | "tex" | "rd" | "rmd" | "css" | "scss"
        | "less" | "svg" | "csv" | "tsv" | "po" | "pot" | "am" | "in" | "ac" | "m4" | "cmake"
        | "lock" | "log" | "out" | "pdf" | "docx" | "odt" | "epub" | "ipynb" | "eml" | "rtf"
        | "pptx" | "xlsx" | "1" | "3" | "5" | "7" | "8" => return FileKind::Prose,
        _ => return FileKind::Unknown,
    };
    FileKind::Source(syntax)
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
pub(super) fn is_aside(path: &str) -> bool {
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

/// Returns the name of a file without its extension and that of its folder; of a file such as
/// `http/index.js`, those of its folder and of the folder around it.
pub(super) fn stem_and_folder(path: &str) -> (&str, &str) {
    let mut names = path.rsplit('/');
    let name = names.next().unwrap_or("");
    let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
    let folder = names.next().unwrap_or("");
    match GENERIC.contains(&stem) && !folder.is_empty() {
        true => (folder, names.next().unwrap_or("")),
        false => (stem, folder),
    }
}

/// Returns the length of the folders that all paths have in common, with the last `/`.
pub(super) fn common_folders<'a>(paths: impl IntoIterator<Item = &'a str>) -> usize {
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
        assert_eq!(kind_of("a/LICENSE"), FileKind::Unknown);
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
    fn a_generic_file_has_the_name_of_its_folder() {
        assert_eq!(stem_and_folder("src/http/server.rs"), ("server", "http"));
        assert_eq!(stem_and_folder("src/http/mod.rs"), ("http", "src"));
        assert_eq!(stem_and_folder("doc_1"), ("", ""));
    }

    #[test]
    fn folders_above_all_files_are_common() {
        assert_eq!(common_folders(["/a/test/x/b.c", "/a/test/xy.c"]), 8);
        assert_eq!(common_folders(["/a/b.c"]), 3);
        assert_eq!(common_folders(["é/b.c", "è/b.c"]), 0);
        assert_eq!(common_folders([]), 0);
    }
}
