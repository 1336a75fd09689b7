//! The definitions of a source text with what they span, for a language without a grammar.
//!
//! A definition begins with the comments and annotations directly above it. It ends where its block
//! does: at the closing brace in languages of braces whose braces balance, at a semicolon in SQL, else
//! before the next line that is not indented more. `end` and the like, at the indentation of the
//! definition, belong to it.

use super::definitions::{Definition, Kind, defined_on};
use super::lines::{Line, LineKind, Lines, new_delimiter, read_lines};
use super::path::{Blocks, Syntax};
use super::words::is_word;

/// Definitions in each other, at most; those that lie deeper have no names.
const DEEPEST: usize = 64;
/// Lines from which a variable is a table, and worth a name.
const TABLE_LINES: usize = 4;
/// Brackets and semicolons between a name and the brace of its block, at most.
const BEFORE_BLOCK: usize = 200;
/// Lines between them, at most.
const LINES_BEFORE_BLOCK: usize = 200;
/// Statements of a text of SQL behind which an `END` is looked for to the end of the text, in vain.
const IN_VAIN: usize = 16;
/// The end of what goes on to the end of the text.
const REST: usize = usize::MAX;
/// Words that continue the block above them at the same indentation.
const CONTINUING: [&str; 19] = [
    "else", "elsif", "elif", "elseif", "rescue", "ensure", "catch", "after", "finally", "where",
    "then", "do", "with", "in", "is", "as", "begin", "deriving", "when",
];
/// Words that end the block above them at the same indentation.
const ENDING: [&str; 5] = ["end", "done", "fi", "esac", "endfunction"];

/// A definition of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Bytes, half open.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// A word such as "function" and the name.
    pub label: String,
    /// How many definitions it lies in, and 1.
    pub level: u32,
    /// Whether it is a module, a namespace or a package.
    pub is_module: bool,
}

/// A definition whose end is looked for.
struct Open<'a> {
    line: usize,
    indent: usize,
    definition: Definition<'a>,
    end: Option<usize>,
}

/// Returns the definitions of a text, the outer before the inner.
pub(super) fn outline(text: &str, syntax: Syntax) -> Vec<Span> {
    let lines = read_lines(text, syntax);
    let pairs = match syntax.blocks {
        Blocks::Braces => brace_pairs(&lines),
        _ => None,
    };
    let closed = close(text, syntax, &lines, pairs.as_deref());
    nest(text, &lines, closed, syntax.blocks == Blocks::Statements)
}

/// Returns for each mark that is an opening brace the byte of its closing one; `None` if they do not
/// balance.
fn brace_pairs(lines: &Lines) -> Option<Vec<usize>> {
    let mut pairs = vec![0; lines.marks.len()];
    let mut open = Vec::new();
    for (number, &(at, byte)) in lines.marks.iter().enumerate() {
        match byte {
            b'{' => open.push(number),
            b'}' => pairs[open.pop()?] = at,
            _ => {}
        }
    }
    open.is_empty().then_some(pairs)
}

/// Returns the definitions with their ends, by their starts.
fn close<'a>(
    text: &'a str,
    syntax: Syntax,
    lines: &Lines,
    pairs: Option<&[usize]>,
) -> Vec<Open<'a>> {
    let mut all: Vec<Open<'a>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut end_before = 0;
    let mut in_vain = 0;
    for (number, line) in lines.lines.iter().enumerate() {
        if line.kind == LineKind::String {
            end_before = line.end;
        }
        if line.kind != LineKind::Code {
            continue;
        }
        let code = &text[line.code..line.end];
        let is_over = |&last: &usize| all[last].end.is_some_and(|end| end <= line.code);
        let is_sought = syntax.blocks != Blocks::Statements || open.last().is_none_or(is_over);
        let definition = is_sought
            .then(|| defined_on(text, line.start, &text[line.start..line.end], syntax))
            .flatten();
        while let Some(&last) = open.last() {
            let known = all[last].end;
            let is_over = match known {
                // A package of Perl, up to the next one.
                Some(REST) => line.indent == all[last].indent && is_package(code),
                Some(end) => line.code >= end,
                None => {
                    line.indent <= all[last].indent
                        && (definition.is_some() || !continues(code, line, &all[last]))
                }
            };
            if is_over {
                all[last].end = Some(known.filter(|&end| end != REST).unwrap_or(end_before));
                open.pop();
            } else {
                let is_last = known.is_none() && line.indent == all[last].indent && ends(code);
                if is_last {
                    all[last].end = Some(line.end);
                }
                break;
            }
        }
        if let Some(definition) = definition {
            let end = match syntax.blocks {
                Blocks::Braces if is_package(code) && code.ends_with(';') => Some(REST),
                Blocks::Braces => pairs.and_then(|pairs| block_end(text, lines, pairs, number)),
                Blocks::Statements => {
                    let end = statement_end(text, lines, number, definition.keyword, in_vain);
                    in_vain += usize::from(end.is_in_vain);
                    Some(end.at)
                }
                Blocks::Indentation => None,
            };
            let indent = line.indent;
            open.push(all.len());
            all.push(Open {
                line: number,
                indent,
                definition,
                end,
            });
        }
        end_before = line.end;
    }
    for each in &mut all {
        each.end = Some(each.end.unwrap_or(end_before).min(end_before));
    }
    all
}

fn is_package(code: &str) -> bool {
    code.starts_with("package ")
}

/// Returns whether a line that is not indented more than a definition belongs to it.
fn continues(code: &str, line: &Line, open: &Open<'_>) -> bool {
    if line.indent < open.indent {
        return false;
    }
    let word = &code[..code
        .bytes()
        .position(|byte| !is_word(byte))
        .unwrap_or(code.len())];
    let is_equation = open.definition.kind == Kind::Signature && word == open.definition.name;
    ends(code)
        || is_equation
        || CONTINUING.contains(&word)
        || code.starts_with(['{', '|', '=', ':', '-', '+', '.', '?', '&'])
}

fn ends(code: &str) -> bool {
    let word = &code[..code
        .bytes()
        .position(|byte| !is_word(byte))
        .unwrap_or(code.len())];
    ENDING.contains(&word) || code.starts_with(['}', ')', ']'])
}

/// Returns the end of the braces that a definition on a line opens, `None` if it opens none.
fn block_end(text: &str, lines: &Lines, pairs: &[usize], number: usize) -> Option<usize> {
    let line = &lines.lines[number];
    let first = lines.marks.partition_point(|&(at, _)| at < line.code);
    let mut nested = 0usize;
    let mut current = number;
    for (mark, &(at, byte)) in lines
        .marks
        .iter()
        .enumerate()
        .skip(first)
        .take(BEFORE_BLOCK)
    {
        while lines.lines[current].end < at {
            current += 1;
            if current - number > LINES_BEFORE_BLOCK {
                return None;
            }
            let next = &lines.lines[current];
            let code = text.as_bytes().get(next.code).copied().unwrap_or(b'\n');
            let is_other = next.kind == LineKind::Code
                && next.indent <= line.indent
                && nested == 0
                && !b"{:)]>".contains(&code);
            if is_other {
                return None;
            }
        }
        match byte {
            b'(' | b'[' => nested += 1,
            b')' | b']' => nested = nested.checked_sub(1)?,
            b'{' if nested == 0 => {
                let close = pairs[mark] + 1;
                let rest = text[close..]
                    .bytes()
                    .take_while(|byte| b");,".contains(byte));
                let end = close + rest.count();
                // `} .join()`: the block is a part of what the line goes on with.
                let rest = text[end..].lines().next().unwrap_or("");
                return Some(match rest.trim_start().starts_with('.') {
                    true => end + rest.len(),
                    false => end,
                });
            }
            b';' if nested == 0 => return None,
            b'}' if nested == 0 => return None,
            _ => {}
        }
    }
    None
}

/// What is open in a statement of SQL.
#[derive(PartialEq, Eq)]
enum Section {
    /// From `IS` or `AS` of a routine or a package to its `BEGIN`, or to its `END`.
    Declarations,
    /// From `BEGIN` to `END`.
    Block,
    /// From `CASE` to `END`.
    Case,
}

/// Words behind `AS` and `IS` after which no declarations follow.
const NO_DECLARATIONS: [&str; 31] = [
    "select",
    "with",
    "language",
    "table",
    "return",
    "external",
    "insert",
    "update",
    "delete",
    "set",
    "if",
    "exec",
    "execute",
    "declare",
    "merge",
    "while",
    "print",
    "throw",
    "raiserror",
    "null",
    "not",
    "of",
    "call",
    "values",
    "true",
    "false",
    "unknown",
    "distinct",
    "e",
    "enum",
    "object",
];
/// Words behind `BEGIN` that open no block.
const NO_BLOCKS: [&str; 6] = [
    "tran",
    "transaction",
    "distributed",
    "dialog",
    "conversation",
    "work",
];

/// The end of a statement of SQL.
struct StatementEnd {
    at: usize,
    /// Whether the text was read to its end for declarations that are none.
    is_in_vain: bool,
}

/// Returns the end of a statement of SQL that begins on a line: behind a semicolon that is in no
/// block from `BEGIN` or `CASE` to `END`, and not between the declarations before `BEGIN`.
///
/// Only routines have blocks: a table may have a column "begin". Where declarations were looked for
/// often in vain, none are.
fn statement_end(
    text: &str,
    lines: &Lines,
    number: usize,
    keyword: &str,
    in_vain: usize,
) -> StatementEnd {
    let found = |at| StatementEnd {
        at,
        is_in_vain: false,
    };
    let start = lines.lines[number].code;
    let first = lines.marks.partition_point(|&(at, _)| at < start);
    let mut marks = lines.marks[first..].iter().copied().peekable();
    let mut open: Vec<Section> = Vec::new();
    let is_body = keyword == "type" && is_type_body(&text[start..lines.lines[number].end]);
    let mut is_head = matches!(keyword, "function" | "procedure" | "package") || is_body;
    let is_routine = is_head || matches!(keyword, "trigger" | "event");
    let mut nested = 0usize;
    let mut first_semicolon = None;
    let mut end = lines.lines[number].end;
    let mut is_in_vain = true;
    for (line, at_line) in lines.lines[number..].iter().zip(number..) {
        if line.kind == LineKind::Blank {
            continue;
        }
        if line.kind == LineKind::Code {
            let code = &text[line.code..line.end];
            if code.eq_ignore_ascii_case("go") || new_delimiter(code).is_some() {
                return found(end);
            }
            // Nothing is created among declarations.
            if at_line > number
                && first_semicolon.is_some()
                && open.last() == Some(&Section::Declarations)
                && begins_with(code, "create ")
            {
                is_in_vain = false;
                break;
            }
        }
        end = line.end;
        while let Some((at, byte)) = marks.next_if(|&(at, _)| at < line.end) {
            let (word, next) = word_behind(&text[at..]);
            let (word_on_line, _) = word_behind(&text[at..line.end]);
            // A parameter or a column.
            let is_name = nested > 0 || next.is_some_and(|next| b",)=.".contains(&next));
            match byte {
                b'/' => return found(at + 1),
                b';' if open.is_empty() => return found(at + 1),
                b';' => {
                    first_semicolon.get_or_insert(at + 1);
                    is_head = false;
                    nested = 0;
                }
                b'(' => nested += 1,
                b')' => nested = nested.saturating_sub(1),
                _ if !is_routine => {}
                b'f' => is_head |= open.last() == Some(&Section::Declarations),
                b'i' if is_head
                    && in_vain < IN_VAIN
                    && !word.is_empty()
                    && !is_any(&NO_DECLARATIONS, word) =>
                {
                    open.push(Section::Declarations);
                    is_head = false;
                }
                // `DECLARE @name` is a statement of SQL Server.
                b'd' if keyword == "trigger"
                    && open.is_empty()
                    && in_vain < IN_VAIN
                    && !word.is_empty() =>
                {
                    open.push(Section::Declarations);
                }
                b'b' if is_name || next == Some(b';') || is_any(&NO_BLOCKS, word_on_line) => {}
                b'b' => {
                    if open.last() == Some(&Section::Declarations) {
                        open.pop();
                    }
                    open.push(Section::Block);
                    is_head = false;
                }
                b'c' if word_before(&text[start..at]) != "end" => open.push(Section::Case),
                b'e' if open.last() != Some(&Section::Case)
                    && (is_name || word_before(&text[start..at]) == "as") => {}
                // Of SQL Server, `END` and `IF` on the next line.
                b'e' if !is_any(&["if", "loop", "while", "repeat", "for"], word_on_line) => {
                    open.pop();
                }
                _ => {}
            }
        }
    }
    // Declarations that never end are none.
    match open.first() {
        Some(Section::Declarations) => StatementEnd {
            at: first_semicolon.unwrap_or(end),
            is_in_vain,
        },
        _ => found(end),
    }
}

/// Returns whether a line creates the body of a type, in Oracle.
fn is_type_body(code: &str) -> bool {
    let mut words = code.split_ascii_whitespace();
    words.any(|word| word.eq_ignore_ascii_case("type"))
        && words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("body"))
}

fn begins_with(text: &str, word: &str) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn is_any(words: &[&str], word: &str) -> bool {
    words.iter().any(|each| word.eq_ignore_ascii_case(each))
}

/// Returns the word behind the one that a text begins with, "" if there is none, and the byte there.
fn word_behind(text: &str) -> (&str, Option<u8>) {
    let rest = text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let rest = rest.trim_ascii_start();
    let end = rest.bytes().position(|byte| !is_word(byte));
    (&rest[..end.unwrap_or(rest.len())], rest.bytes().next())
}

/// Returns the word that ends a text, in lower case.
fn word_before(text: &str) -> String {
    let text = text.trim_ascii_end();
    let start = text.bytes().rposition(|byte| !is_word(byte));
    text[start.map_or(0, |at| at + 1)..].to_ascii_lowercase()
}

/// A definition around others.
#[derive(Clone, Copy)]
struct Around {
    end: usize,
    /// The level of what it holds.
    level: u32,
    /// Whether it or one around it is a function or a variable.
    is_inner: bool,
}

/// Returns the definitions that are worth a name, with how deeply they lie in each other.
fn nest(text: &str, lines: &Lines, all: Vec<Open<'_>>, is_sql: bool) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut around: Vec<Around> = Vec::new();
    let mut free = 0;
    for each in all {
        let line = &lines.lines[each.line];
        let end = each.end.unwrap_or(line.end);
        while around.last().is_some_and(|outer| outer.end <= line.code) {
            around.pop();
        }
        let outer = around.last().copied().unwrap_or(Around {
            end: usize::MAX,
            level: 1,
            is_inner: false,
        });
        let count = lines.lines[each.line..]
            .iter()
            .take(TABLE_LINES)
            .take_while(|line| line.start < end)
            .count();
        let kind = each.definition.kind;
        let is_kept = match kind {
            Kind::Variable => !outer.is_inner && count == TABLE_LINES,
            Kind::Binding => !outer.is_inner,
            _ => true,
        };
        // A broken source: half in and half out.
        if outer.end < end || !is_kept || around.len() >= DEEPEST {
            continue;
        }
        // A namespace is of the file, and the types in it are the outermost definitions, too.
        let is_level = each.definition.keyword != "namespace";
        around.push(Around {
            end,
            level: outer.level + u32::from(is_level),
            is_inner: outer.is_inner
                || matches!(
                    kind,
                    Kind::Function | Kind::Signature | Kind::Variable | Kind::Binding
                ),
        });
        let start = leading(text, lines, each.line, free);
        free = line.end.min(end);
        spans.push(Span {
            start,
            end,
            label: each.definition.label(),
            level: outer.level,
            // What a package of SQL holds has no spans of its own.
            is_module: kind == Kind::Module && !(is_sql && each.definition.keyword == "package"),
        });
    }
    // `namespace x;` and the head of a module of Haskell hold nothing.
    let is_empty: Vec<bool> = spans
        .iter()
        .enumerate()
        .map(|(at, span)| {
            span.is_module && spans.get(at + 1).is_none_or(|next| next.start >= span.end)
        })
        .collect();
    spans
        .into_iter()
        .zip(is_empty)
        .filter_map(|(span, is_empty)| (!is_empty).then_some(span))
        .collect()
}

/// Returns the byte where a definition on a line begins with the comments and annotations above it,
/// none of which starts before `free`.
fn leading(text: &str, lines: &Lines, number: usize, free: usize) -> usize {
    let mut first = number;
    while let Some(above) = first.checked_sub(1) {
        let line = &lines.lines[above];
        if line.start < free {
            break;
        }
        let code = &text[line.code..line.end];
        let belongs = match line.kind {
            LineKind::Comment => true,
            LineKind::Code => is_annotation(code),
            // The text of an annotation: `@doc """`.
            LineKind::String => {
                let mut begins = above;
                while lines.lines[begins].kind == LineKind::String
                    && lines.lines[begins].start > free
                {
                    begins -= 1;
                }
                let opening = &lines.lines[begins];
                if opening.start < free || !text[opening.code..opening.end].starts_with('@') {
                    break;
                }
                first = begins;
                continue;
            }
            LineKind::Blank => false,
        };
        if !belongs {
            break;
        }
        first = above;
    }
    lines.lines[first].start.max(free)
}

fn is_annotation(code: &str) -> bool {
    code.starts_with(['@', '#']) || (code.starts_with('[') && code.ends_with(']'))
}
