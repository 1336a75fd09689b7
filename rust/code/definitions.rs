//! The names that a chunk of source code defines, found line by line by how languages write them.
//!
//! A chunk may begin and end anywhere, so it cannot be parsed; and most languages share a few forms:
//!
//! * a keyword before the name, after nothing but modifiers: `pub fn name`, `class Outer::Name`,
//!   `func (s *Server) Name`, `CREATE TABLE name`, `#define NAME`;
//! * a variable that is not local, by its indentation: `const name =`, `let name` in OCaml;
//! * a function or class that is assigned: `app.name = function`, `name: (x) => x`, `name <- function`;
//! * a name, parameters and `{`, in languages of which functions have no keyword;
//! * a signature at the start of a line, in Haskell and its like: `name :: Int`.

use super::path::{Blocks, Syntax};
use super::words::is_word;

/// Keywords before the name of what they define.
const KEYWORDS: [&str; 47] = [
    "def",
    "fn",
    "func",
    "fun",
    "function",
    "class",
    "struct",
    "enum",
    "union",
    "trait",
    "interface",
    "type",
    "typedef",
    "module",
    "namespace",
    "macro",
    "macro_rules",
    "record",
    "object",
    "protocol",
    "actor",
    "defmodule",
    "defmacro",
    "defmacrop",
    "defp",
    "defprotocol",
    "defguard",
    "defun",
    "defn",
    "sub",
    "proc",
    "procedure",
    "newtype",
    "data",
    "mod",
    "method",
    "event",
    "delegate",
    "annotation",
    "table",
    "view",
    "external",
    "exception",
    "mixin",
    "concept",
    "typealias",
    "subroutine",
];
/// Keywords of variables.
const VARIABLES: [&str; 7] = ["let", "const", "val", "var", "static", "and", "define"];
/// Words that may stand before a keyword.
const MODIFIERS: [&str; 70] = [
    "pub",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "async",
    "export",
    "default",
    "unsafe",
    "const",
    "extern",
    "inline",
    "override",
    "open",
    "sealed",
    "virtual",
    "partial",
    "readonly",
    "declare",
    "local",
    "implicit",
    "case",
    "lazy",
    "lateinit",
    "weak",
    "suspend",
    "inner",
    "companion",
    "typedef",
    "constexpr",
    "friend",
    "mut",
    "fileprivate",
    "rec",
    "create",
    "or",
    "replace",
    "temporary",
    "temp",
    "if",
    "not",
    "exists",
    "crate",
    "super",
    "in",
    "value",
    "noncomputable",
    "return",
    "mutating",
    "class",
    "required",
    "convenience",
    "indirect",
    "let",
    "external",
    "late",
    "factory",
    "expect",
    "actual",
    "operator",
    "infix",
    "tailrec",
    "unique",
    "materialized",
    "unlogged",
    "mutable",
    "primitive",
];
/// Modifiers of members, which no local variable has.
const MEMBER_MODIFIERS: [&str; 8] = [
    "pub",
    "public",
    "private",
    "protected",
    "internal",
    "override",
    "open",
    "fileprivate",
];
/// Modifiers that local variables may have, too.
const SHARED_MODIFIERS: [&str; 5] = ["final", "lateinit", "lazy", "implicit", "weak"];
/// Lines and bytes above a variable in which the type that it is a member of begins, at most.
const LINES_ABOVE: usize = 100;
const BYTES_ABOVE: usize = 4_000;
/// Statements that look like functions without a keyword.
pub(super) const STATEMENTS: [&str; 40] = [
    "return",
    "else",
    "if",
    "while",
    "for",
    "case",
    "throw",
    "new",
    "await",
    "yield",
    "not",
    "and",
    "or",
    "in",
    "elif",
    "assert",
    "delete",
    "goto",
    "raise",
    "when",
    "match",
    "switch",
    "catch",
    "echo",
    "foreach",
    "try",
    "synchronized",
    "do",
    "using",
    "lock",
    "with",
    "unless",
    "until",
    "function",
    "defer",
    "this",
    "base",
    "super",
    "sizeof",
    "param",
];
/// Bytes within which the parameters of a function end, and after them `{` follows.
const PARAMETERS: usize = 600;
const AFTER_PARAMETERS: usize = 160;

/// What a definition defines, as far as its form tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A class, a type, a table.
    Type,
    Module,
    /// More of a type that is defined elsewhere.
    Extension,
    Function,
    /// A signature of Haskell, which equations of the same name follow.
    Signature,
    Variable,
    /// `let` where it defines functions, too.
    Binding,
}

/// A definition on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Definition<'a> {
    /// The name alone, of `Outer::Inner` the last one.
    pub(super) name: &'a str,
    /// The name as it is written.
    pub(super) path: &'a str,
    /// The word before it, or what it would be.
    pub(super) keyword: &'static str,
    pub(super) kind: Kind,
}

impl<'a> Definition<'a> {
    fn function(name: &'a str) -> Self {
        Definition {
            name,
            path: name,
            keyword: "function",
            kind: Kind::Function,
        }
    }

    /// Returns the keyword and the name, such as "class Reader".
    pub(super) fn label(&self) -> String {
        let path: String = self.path.chars().take(LABEL_CHARS).collect();
        format!("{} {path}", self.keyword)
    }
}

/// Characters of a name in a label.
const LABEL_CHARS: usize = 120;

/// Returns the names that a text defines, in order; a name may occur twice.
pub(super) fn defined_names(text: &str, syntax: Syntax) -> Vec<&str> {
    definitions(text, syntax)
        .filter(|each| each.kind != Kind::Extension)
        .map(|each| each.name)
        .collect()
}

/// Returns the definitions of a text, line by line.
pub(super) fn definitions(text: &str, syntax: Syntax) -> impl Iterator<Item = Definition<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        start += line.len();
        defined_on(text, start - line.len(), line, syntax)
    })
}

/// Returns what a line of a text defines; the line starts at `start`.
pub(super) fn defined_on<'a>(
    text: &'a str,
    start: usize,
    line: &'a str,
    syntax: Syntax,
) -> Option<Definition<'a>> {
    let code = line.trim_ascii_start();
    let depth = line.len() - code.len();
    let code = code.trim_ascii_end();
    if code.is_empty() || is_comment(code, syntax) {
        return None;
    }
    if let Some(rest) = code.strip_prefix('#') {
        let (word, after) = first_word(rest.trim_ascii_start());
        return (word == "define")
            .then(|| first_word(after.trim_ascii_start()).0)
            .filter(|name| !name.is_empty())
            .map(|name| Definition {
                keyword: "define",
                kind: Kind::Variable,
                ..Definition::function(name)
            });
    }
    if syntax.blocks == Blocks::Statements && !begins_statement(code) {
        return None;
    }
    let typedef = || {
        typedef_name(code, syntax).map(|name| Definition {
            keyword: "typedef",
            kind: Kind::Type,
            ..Definition::function(name)
        })
    };
    let bare = || {
        let found = syntax
            .bare_functions
            .then(|| bare_function(text, start + depth, code));
        found.flatten().map(Definition::function)
    };
    let found = typedef().or_else(|| after_keyword(text, start, depth, code, syntax));
    match found {
        // `const close = () => 1` and `const Box = struct {` are no mere variables.
        Some(variable) if variable.kind == Kind::Variable => {
            let value = assigned(code, depth, syntax);
            Some(
                value
                    .filter(|value| value.name == variable.name)
                    .unwrap_or(variable),
            )
        }
        Some(found) => Some(found),
        None => assigned(code, depth, syntax).or_else(bare),
    }
}

/// Returns whether a line of SQL may define something: a column may be called "type" or "view".
fn begins_statement(code: &str) -> bool {
    let word = first_word(code).0.to_ascii_lowercase();
    matches!(
        word.as_str(),
        "create" | "function" | "procedure" | "package"
    )
}

fn is_comment(code: &str, syntax: Syntax) -> bool {
    let bytes = code.as_bytes();
    matches!(
        bytes,
        [b'/', b'/' | b'*', ..] | [b'*' | b';' | b'%', ..] | [b'-', b'-', ..] | [b'(', b'*', ..]
    ) || (bytes[0] == b'#' && (syntax.hash_comments || bytes.get(1) == Some(&b'[')))
}

/// Returns the name behind a keyword before which only modifiers stand.
fn after_keyword<'a>(
    text: &str,
    start: usize,
    depth: usize,
    code: &'a str,
    syntax: Syntax,
) -> Option<Definition<'a>> {
    let mut rest = code;
    // The deepest indentation of a variable that is more than a local one.
    let mut variable = None;
    let mut is_member = false;
    let mut is_shared = false;
    loop {
        rest = skip_marks(rest);
        // Attributes of C#, `private[package]` of Scala.
        while rest.starts_with('[') {
            rest = skip_marks(past_brackets(rest, b'[', b']'));
        }
        let (word, after) = first_word(rest);
        if word.is_empty() {
            return None;
        }
        // SQL has keywords in capitals; `Struct(` is a constructor.
        let is_shouted = !word.bytes().any(|byte| byte.is_ascii_lowercase());
        let lower = match is_shouted {
            true => word.to_ascii_lowercase(),
            false => word.to_owned(),
        };
        let next = after.trim_ascii_start();
        let is_apart = next.len() < after.len() || after.starts_with(['*', '!', '(', '<']);
        if is_apart && let Some(keyword) = keyword(&lower, syntax) {
            // `typedef struct x` and `enum class x` have two.
            let (second, behind) = first_word(skip_marks(next));
            let is_before_name =
                behind.starts_with([' ', '\t']) && !behind.trim_ascii_start().starts_with('=');
            let is_keyword = KEYWORDS.contains(&second) && second != word && is_before_name;
            if !is_keyword {
                return named(next, keyword, syntax);
            }
        } else if is_apart && let Some(keyword) = find(&VARIABLES, &lower) {
            let is_local = !syntax.bound_functions && !matches!(keyword, "const" | "static");
            is_member |= is_shared && lies_in_type(text, start, depth, syntax);
            is_shared = false;
            let deepest = match is_local {
                true if is_member => usize::MAX,
                true => 0,
                false => syntax.variable_depth,
            };
            variable = Some((keyword, deepest));
        } else if let Some((keyword, deepest)) = variable {
            if !is_modifier(&lower) || next.starts_with('=') {
                // A word follows a type: `const int x`; or, in OCaml, a function: `let fold f x`.
                let is_name = syntax.bound_functions || next.starts_with(['=', ':', ';']);
                let kind = match syntax.bound_functions {
                    true => Kind::Binding,
                    false => Kind::Variable,
                };
                return (is_name && depth <= deepest).then_some(Definition {
                    keyword,
                    kind,
                    ..Definition::function(word)
                });
            }
        } else if !is_modifier(&lower) {
            return None;
        }
        is_member |= MEMBER_MODIFIERS.contains(&lower.as_str());
        is_shared |= variable.is_none() && SHARED_MODIFIERS.contains(&lower.as_str());
        rest = after;
    }
}

/// Returns whether the line above that is indented less than one at `start` begins a type.
fn lies_in_type(text: &str, start: usize, depth: usize, syntax: Syntax) -> bool {
    let mut from = start.saturating_sub(BYTES_ABOVE);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    for line in text[from..start].lines().rev().take(LINES_ABOVE) {
        let code = line.trim_ascii_start();
        // `) : Base {`
        if line.len() - code.len() < depth && !code.is_empty() && !code.starts_with(['}', ')', '{'])
        {
            return begins_type(code, syntax);
        }
    }
    false
}

fn begins_type(code: &str, syntax: Syntax) -> bool {
    let mut rest = skip_marks(code);
    loop {
        let (word, after) = first_word(rest);
        if let Some(keyword) = keyword(word, syntax) {
            return kind_of_keyword(keyword) != Kind::Function;
        }
        if !is_modifier(word) {
            return false;
        }
        rest = skip_marks(after);
        while rest.starts_with('[') {
            rest = skip_marks(past_brackets(rest, b'[', b']'));
        }
    }
}

/// Returns a keyword of a language that stands before what it defines.
fn keyword(word: &str, syntax: Syntax) -> Option<&'static str> {
    find(&KEYWORDS, word).or_else(|| find(syntax.keywords, word))
}

fn find(words: &[&'static str], word: &str) -> Option<&'static str> {
    words.iter().find(|each| **each == word).copied()
}

/// Returns what a keyword defines.
fn kind_of_keyword(keyword: &str) -> Kind {
    match keyword {
        "module" | "namespace" | "mod" | "package" | "defmodule" | "schema" => Kind::Module,
        "extension" | "instance" | "defimpl" => Kind::Extension,
        "def" | "fn" | "func" | "fun" | "function" | "macro" | "macro_rules" | "defmacro"
        | "defmacrop" | "defp" | "defguard" | "defguardp" | "defun" | "defn" | "defdelegate"
        | "sub" | "proc" | "procedure" | "method" | "external" | "subroutine" | "filter"
        | "workflow" | "rpc" => Kind::Function,
        _ => Kind::Type,
    }
}

pub(super) fn is_modifier(word: &str) -> bool {
    MODIFIERS.contains(&word)
}

/// Returns a text from its first word on, without annotations and what is in brackets before it.
fn skip_marks(text: &str) -> &str {
    let mut rest = text.trim_ascii_start();
    loop {
        rest = match rest.as_bytes().first() {
            Some(b'(') => past_brackets(rest, b'(', b')'),
            Some(b'<') => past_brackets(rest, b'<', b'>'),
            Some(b'"') => rest[1..].split_once('"').map_or("", |(_, after)| after),
            Some(b'@') => match first_word(&rest[1..]) {
                // Java's `@interface` defines an annotation.
                ("interface", _) => &rest[1..],
                (_, after) => after,
            },
            // A type parameter in OCaml: `type 'a tree`.
            Some(b'\'') => first_word(&rest[1..]).1,
            Some(b':' | b'*' | b'&' | b'!') => &rest[1..],
            _ => return rest,
        }
        .trim_ascii_start();
    }
}

/// Returns what follows the brackets that a text begins with, "" if they do not end in it.
pub(super) fn past_brackets(text: &str, open: u8, close: u8) -> &str {
    let mut nested = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        if byte == open {
            nested += 1;
        } else if byte == close {
            nested -= 1;
            if nested == 0 {
                return &text[at + 1..];
            }
        }
    }
    ""
}

/// Returns the name at the start of a text, the last of `Outer::Inner` and `Outer.name`.
fn named<'a>(text: &'a str, keyword: &'static str, syntax: Syntax) -> Option<Definition<'a>> {
    if syntax.blocks == Blocks::Statements {
        return named_in_sql(text, keyword);
    }
    let mut rest = skip_marks(text);
    let (mut name, mut after) = first_word(rest);
    if keyword == "table" || keyword == "view" {
        while is_modifier(&name.to_ascii_lowercase()) {
            rest = after.trim_ascii_start();
            (name, after) = first_word(rest);
        }
    }
    loop {
        let inner = ["::", ".", ":", "~", "\\"]
            .iter()
            .find_map(|join| after.strip_prefix(join))
            .filter(|inner| inner.bytes().next().is_some_and(is_word));
        let Some(inner) = inner else { break };
        (name, after) = first_word(inner);
    }
    // Names of PowerShell: `Copy-Item`.
    if syntax.hyphens
        && let Some(noun) = after.strip_prefix('-')
    {
        let first = rest.len() - after.len() - name.len();
        after = first_word(noun).1;
        name = &rest[first..rest.len() - after.len()];
    }
    let path = &rest[..rest.len() - after.len()];
    let after = after.trim_ascii_start();
    let is_type = matches!(keyword, "struct" | "enum" | "union" | "class");
    if syntax.c_types
        && is_type
        && !(after.is_empty() || after.starts_with(['{', ':']) || after.starts_with("final"))
    {
        return None;
    }
    // As in prose, "the type of a file", and Ruby's `proc do`.
    let is_prose = matches!(name, "of" | "for" | "is" | "that" | "do") && !after.starts_with('(');
    let is_name = !name.is_empty() && !is_prose;
    is_name.then_some(Definition {
        name,
        path,
        keyword,
        kind: kind_of_keyword(keyword),
    })
}

/// Returns the name at the start of a text in SQL, which may be quoted: `"a"."b"`, `[a].[b]`.
fn named_in_sql<'a>(text: &'a str, keyword: &'static str) -> Option<Definition<'a>> {
    const QUOTES: [char; 4] = ['"', '`', '[', ']'];
    let mut rest = text.trim_start_matches(QUOTES);
    let (mut name, mut after) = first_word(rest);
    // `PACKAGE BODY name` and `TYPE BODY name`, of Oracle.
    let is_body = |name: &str, after: &str| {
        let next = first_word(after.trim_ascii_start().trim_start_matches(QUOTES)).0;
        matches!(keyword, "package" | "type")
            && name.eq_ignore_ascii_case("body")
            && !next.is_empty()
            && !["as", "is", "under"]
                .iter()
                .any(|each| next.eq_ignore_ascii_case(each))
    };
    while is_modifier(&name.to_ascii_lowercase()) || is_body(name, after) {
        rest = after.trim_ascii_start().trim_start_matches(QUOTES);
        (name, after) = first_word(rest);
    }
    while let Some(inner) = after.trim_start_matches(QUOTES).strip_prefix('.') {
        (name, after) = first_word(inner.trim_start_matches(QUOTES));
    }
    (!name.is_empty()).then_some(Definition {
        name,
        path: &rest[..rest.len() - after.len()],
        keyword,
        kind: kind_of_keyword(keyword),
    })
}

/// Returns the name that a line assigns a function, a class or, at its start, a constant.
fn assigned(code: &str, depth: usize, syntax: Syntax) -> Option<Definition<'_>> {
    let mut rest = skip_marks(code);
    let (mut name, mut after) = first_word(rest);
    let quoted = quoted_key(code);
    if let Some((key, value)) = quoted {
        (name, after) = (key, value);
    }
    while matches!(
        name,
        "export"
            | "pub"
            | "const"
            | "let"
            | "var"
            | "local"
            | "static"
            | "readonly"
            | "public"
            | "private"
            | "final"
            | "my"
            | "our"
    ) {
        rest = skip_marks(after);
        (name, after) = first_word(rest);
    }
    while let Some(inner) = after
        .strip_prefix(['.', ':', '$'])
        .filter(|inner| inner.bytes().next().is_some_and(is_word))
    {
        (name, after) = first_word(inner);
    }
    if name.is_empty() {
        return None;
    }
    let path = match quoted {
        Some(_) => name,
        None => &rest[..rest.len() - after.len()],
    };
    let after = after.trim_ascii_start();
    if syntax.signatures && depth == 0 && after.starts_with("::") {
        return Some(Definition {
            kind: Kind::Signature,
            ..Definition::function(name)
        });
    }
    if syntax.equations && depth == 0 && after.starts_with('(') {
        let value = past_brackets(after, b'(', b')').trim_ascii_start();
        let value = match value.strip_prefix("where") {
            Some(bounds) => bounds.split_once('=').map_or("", |_| "= "),
            None => value,
        };
        let is_equation =
            value.starts_with('=') && !value.starts_with("==") && !value.starts_with("=>");
        return is_equation.then_some(Definition {
            path,
            ..Definition::function(name)
        });
    }
    let value = ["<-", ":=", "=", ":"]
        .iter()
        .find_map(|sign| after.strip_prefix(sign))?;
    let value = value.trim_ascii_start();
    let value = value
        .strip_prefix("async ")
        .map_or(value, str::trim_ascii_start);
    let (word, then) = first_word(value);
    // Layouts of Zig: `packed struct {`, and sets of errors: `error{`.
    let (word, then) = match word {
        "packed" | "extern" if then.starts_with(" struct") || then.starts_with(" union") => {
            ("struct", then)
        }
        _ => (word, then),
    };
    let is_function = matches!(
        word,
        "function" | "lambda" | "class" | "struct" | "enum" | "union" | "fn" | "func" | "opaque"
    ) || (word == "error" && then.starts_with('{'))
        || then.trim_ascii_start().starts_with("=>")
        || (value.starts_with('(')
            && past_brackets(value, b'(', b')')
                .trim_ascii_start()
                .starts_with("=>"));
    let is_constant = syntax.constants
        && depth == 0
        && after.starts_with('=')
        && !after.starts_with("==")
        && name.bytes().any(|byte| byte.is_ascii_uppercase())
        && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let (keyword, kind) = match word {
        _ if !is_function => ("constant", Kind::Variable),
        "class" => ("class", Kind::Type),
        "struct" => ("struct", Kind::Type),
        "enum" => ("enum", Kind::Type),
        "error" => ("error", Kind::Type),
        "opaque" => ("opaque", Kind::Type),
        "union" => ("union", Kind::Type),
        _ => ("function", Kind::Function),
    };
    (is_function || is_constant).then_some(Definition {
        name,
        path,
        keyword,
        kind,
    })
}

/// Returns the name and what follows it of a line that begins with a name in quotes: `'open': `.
fn quoted_key(code: &str) -> Option<(&str, &str)> {
    let quote = code.chars().next().filter(|&c| c == '\'' || c == '"')?;
    let (name, after) = code[1..].split_once(quote)?;
    (!name.is_empty() && name.bytes().all(is_word)).then_some((name, after))
}

/// Returns the name before the first parameters of a line if `{` or `=>` follows them.
fn bare_function<'a>(text: &'a str, start: usize, code: &'a str) -> Option<&'a str> {
    let open = code.find('(')?;
    let head = code[..open].trim_ascii_end();
    let name_start = head
        .bytes()
        .rposition(|byte| !is_word(byte))
        .map_or(0, |at| at + 1);
    let name = &head[name_start..];
    let before = head[..name_start].trim_ascii_end();
    let first = first_word(if before.is_empty() { name } else { before }).0;
    let is_type = |byte: u8| is_word(byte) || b":<>,*&[]~?@. \t".contains(&byte);
    let fits = !name.is_empty()
        && !name.as_bytes()[0].is_ascii_digit()
        && !STATEMENTS.contains(&first)
        && !STATEMENTS.contains(&name)
        && before.bytes().all(is_type)
        && !before.ends_with(['.', ','])
        // The initializers of a constructor.
        && !before.starts_with([':', ','])
        // A pointer to a function: `void (*handler)(int)`.
        && !code[open..].starts_with("(*");
    if !fits {
        return None;
    }
    let from = start + open;
    let parameters = floor(text, from, PARAMETERS);
    let rest = past_brackets(parameters, b'(', b')');
    if rest.is_empty() {
        return None;
    }
    let after = floor(text, from + parameters.len() - rest.len(), AFTER_PARAMETERS);
    // `const`, `throws E`, `-> T`, `: base(x)` may stand before the body; a statement ends before.
    let body = match after.trim_ascii_start().starts_with(':') {
        true => after.find(['{', ';', '}'])?,
        false => after.find(['{', ';', '=', ')', '"', '}'])?,
    };
    let between = &after[..body];
    let is_body =
        after[body..].starts_with('{') || (after[body..].starts_with("=>") && !before.is_empty());
    (is_body && !between.contains("\n\n") && !between.contains('.')).then_some(name)
}

/// Returns the name of `typedef old new;` and of `} name;` after the body of a `typedef`, in C.
fn typedef_name(code: &str, syntax: Syntax) -> Option<&str> {
    let declared = match code.strip_prefix("typedef") {
        Some(rest) => rest,
        None => code.strip_prefix('}')?,
    };
    let declared = declared.strip_suffix(';')?.trim_ascii();
    if !syntax.c_types {
        return None;
    }
    let last = match declared.split_once("(*") {
        Some((_, pointer)) => first_word(pointer).0,
        None => declared
            .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
            .next()
            .unwrap_or(""),
    };
    (!last.is_empty()).then_some(last)
}

/// Returns the word that a text begins with, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !is_word(byte))
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Returns a text from an offset on, cut after so many bytes, or before at the start of a character.
fn floor(text: &str, from: usize, bytes: usize) -> &str {
    let mut end = (from + bytes).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[from..end]
}

/// Returns the constant in capitals that a line defines: `MAX_SIZE = 6`, `#define MAX_SIZE 6`.
///
/// Its name has a `_`: words in capitals are many other things.
pub(super) fn constant(line: &str) -> Option<&str> {
    let line = line.trim_ascii();
    let defined = line.strip_prefix('#').map(str::trim_ascii_start);
    let declared = match defined.and_then(|rest| rest.strip_prefix("define ")) {
        Some(defined) => defined.split_ascii_whitespace().next()?,
        None => {
            let (before, value) = line.split_once('=')?;
            let is_value =
                !value.starts_with(['=', '>', '~']) && !before.contains(['(', '"', '\'']);
            // The type may stand behind the name: `MAX_SIZE: usize = 6`.
            let name = before.split_once(": ").map_or(before, |(name, _)| name);
            name.split_ascii_whitespace().last().filter(|_| is_value)?
        }
    };
    let is_capital = |byte: u8| byte == b'_' || byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let is_compound = declared.trim_matches('_').contains('_');
    let begins = declared.starts_with(|first: char| first.is_ascii_uppercase());
    (begins && is_compound && declared.bytes().all(is_capital)).then_some(declared)
}

#[cfg(test)]
mod tests {
    use super::super::path::{FileKind, kind_of};
    use super::*;

    fn names<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
        let FileKind::Source(syntax) = kind_of(path) else {
            panic!("{path}: not source code")
        };
        defined_names(text, syntax)
    }

    #[test]
    fn keywords_define_names_behind_modifiers() {
        assert_eq!(
            names(
                "a.rs",
                "pub(crate) async fn read<T>(x: T) {\n    let inner = 1;\n    const DEEP: u8 = 1;\n    pub fn union(&self) {\n"
            ),
            ["read", "DEEP", "union"]
        );
        assert_eq!(
            names(
                "a.py",
                "async def read(x):\n    value = 3\nclass Reader(Base):\nLIMIT = 3\nvalue = 2\n"
            ),
            ["read", "Reader", "LIMIT"]
        );
        assert_eq!(
            names(
                "a.go",
                "func (s *Server) Close() error {\ntype Handler func(w Writer)\ntype Pair struct {\n"
            ),
            ["Close", "Handler", "Pair"]
        );
        assert_eq!(
            names(
                "a.java",
                "@Override public @interface Fast {\npublic static final class Box<T> {\n"
            ),
            ["Fast", "Box"]
        );
        assert_eq!(
            names("a.rb", "  def self.open(path)\nmodule Outer::Inner\n"),
            ["open", "Inner"]
        );
        assert_eq!(
            names("a.ex", "defmodule App.Store do\n  defp fetch(x), do: x\n"),
            ["Store", "fetch"]
        );
        assert_eq!(
            names(
                "a.sql",
                "CREATE TABLE IF NOT EXISTS users (\ncreate or replace function total(a int)\n"
            ),
            ["users", "total"]
        );
    }

    #[test]
    fn functions_without_keyword_have_parameters_and_a_body() {
        let c = "static int\nread_all(int fd,\n         char *to)\n{\n    if (fd) {\n    close(fd);\n    return read_all(fd, to);\n}\nint declared(void);\n";
        assert_eq!(names("a.c", c), ["read_all"]);
        assert_eq!(
            names(
                "a.cpp",
                "Box::Box(int a)\n    : a_(a) {\nvoid Box::close() const {\nBox::~Box() {\nauto f = run(x);\n"
            ),
            ["Box", "close", "Box"]
        );
        assert_eq!(
            names(
                "a.java",
                "  public List<String> names(int n) throws IOException {\n    for (int i = 0; i < n; i++) {\n"
            ),
            ["names"]
        );
        assert_eq!(
            names("a.js", "  close() {\n    if (a) {\n    run(function () {\n"),
            ["close"]
        );
        assert_eq!(
            names("a.sh", "usage() {\nfunction main {\n"),
            ["usage", "main"]
        );
        assert_eq!(names("a.dart", "int twice(int x) => 2 * x;\n"), ["twice"]);
    }

    #[test]
    fn functions_may_be_assigned() {
        assert_eq!(
            names(
                "a.js",
                "app.get = function (x) {\nconst twice = (x) => 2 * x\n  close: async () => {\n  'open': function (x) {\nlet n = 3\n  let local = 3\n"
            ),
            ["get", "twice", "close", "open", "n"]
        );
        assert_eq!(
            names("a.r", "read_all <- function(x) {\n  y <- x\n"),
            ["read_all"]
        );
        assert_eq!(
            names(
                "a.lua",
                "local function a()\nfunction M.b(x)\nM.c = function(x)\nfunction M:d()\n"
            ),
            ["a", "b", "c", "d"]
        );
    }

    #[test]
    fn c_types_are_defined_by_their_bodies() {
        let c = "struct box {\nstruct box *make(void);\ntypedef struct {\n} crate_t;\ntypedef unsigned int word;\ntypedef int (*callback)(void);\n#define LIMIT 3\nenum kind\n";
        assert_eq!(
            names("a.h", c),
            ["box", "crate_t", "word", "callback", "LIMIT", "kind"]
        );
    }

    #[test]
    fn bindings_of_functional_languages_are_definitions_at_the_top() {
        assert_eq!(
            names(
                "a.ml",
                "type 'a tree = A\nlet rec fold f x =\n  let inner = 3 in\n      let deep = 3 in\nand other y =\ntype t = A\nmodule M = struct\n"
            ),
            ["tree", "fold", "inner", "other", "t", "M"]
        );
        assert_eq!(
            names(
                "a.hs",
                "readAll :: Int -> IO ()\nreadAll n = pure ()\ndata Box = Box\n"
            ),
            ["readAll", "Box"]
        );
    }

    #[test]
    fn comments_and_calls_define_nothing() {
        assert!(
            names(
                "a.rs",
                "// fn read()\n/// class Foo\nread(x);\n    let y = 3;\n"
            )
            .is_empty()
        );
        assert!(names("a.py", "# def read():\nx = read(1)\nif def_ == 3:\n").is_empty());
        assert!(names("a.c", "x = f(1) {\n").is_empty());
        assert!(names("a.py", "\"class of\"\n'def x'\n").is_empty());
        assert_eq!(
            names("a.cs", "public Struct(int x) : this() {\n"),
            ["Struct"]
        );
    }

    #[test]
    fn a_variable_with_a_modifier_of_members_is_no_local_one() {
        assert_eq!(
            names(
                "a.kt",
                "class A {\n    private val size = 1\n    override var name: String\n    lateinit var box: Box\n    val local = 3\n        internal val deep = 2\n"
            ),
            ["A", "size", "name", "box", "deep"]
        );
        assert_eq!(
            names(
                "a.swift",
                "struct A {\n    public let size = 1\n    if let inner = x {\n    let local = 3\n"
            ),
            ["A", "size"]
        );
        for (path, text) in [
            (
                "a.scala",
                "class A {\n  def f() = {\n    implicit val ec = g\n    lazy val x = 1\n    final val y = 2\n",
            ),
            (
                "a.java",
                "class A {\n  void f(\n    int a\n  ) {\n    final var list = g();\n",
            ),
            (
                "a.swift",
                "class A {\n  func f() {\n    weak var s = self\n    lazy var c = 3\n",
            ),
            ("a.kt", "class A {\n  fun f() {\n    lateinit var x: Foo\n"),
        ] {
            assert_eq!(names(path, text)[0], "A");
            assert!(
                names(path, text)[1..].iter().all(|&name| name == "f"),
                "{path}"
            );
        }
        assert_eq!(
            names(
                "a.scala",
                "private[a] case class A(\n    b: Int\n) extends C {\n\n  lazy val x = 1\n\n  implicit val y: Z = 2\n"
            ),
            ["A", "x", "y"]
        );
        assert_eq!(
            names(
                "a.kt",
                "class A {\n    companion object {\n        lateinit var box: Box\n"
            ),
            ["A", "box"]
        );
        assert!(names("a.rs", "    let mut local = 3;\n    static mut X: u8;\n").len() < 2);
    }

    #[test]
    fn messages_and_services_are_definitions_of_protocol_buffers_alone() {
        let text = "package shop.v1;\nmessage Order {\nservice Orders {\n  rpc Cancel(Order) returns (Order);\n";
        assert_eq!(names("a.proto", text), ["Order", "Orders", "Cancel"]);
        assert!(names("a.go", "package shop\nmessage Order\n").is_empty());
        assert!(names("a.rs", "impl Order {\nimpl Show for Order {\n").is_empty());
    }

    #[test]
    fn no_text_panics() {
        for text in [
            "é(",
            "fn é",
            "(((",
            "<<<",
            "@",
            "\"",
            "#define",
            "}",
            "typedef",
            "x(\u{1F600}",
            "class ",
            ")",
            ">",
            "function*",
            "type",
        ] {
            for path in ["a.c", "a.py", "a.rs", "a.js", "a.hs", "a.sql"] {
                let _ = names(path, text);
            }
        }
    }
}
