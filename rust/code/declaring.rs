//! How each line of a text declares a name: it defines it, has it as a member, or gives it a value.
//!
//! Who asks for a name wants the line that says what it is before those that use it. A function or a
//! class is defined by its keyword; a parameter with a type or a default, a field, a member of an
//! enumeration, a key of a configuration and an entry of a list of options are members. The same form,
//! `name = value`, is an argument in a call and a variable in a function: what encloses a line is the
//! nearest line above that is indented less.

use super::definitions::{Definition, Kind, STATEMENTS, defined_on, is_modifier, past_brackets};
use super::entries::{begins_entry_with, is_entry, is_marked, is_typed};
use super::path::{FileKind, Syntax, UNKNOWN, kind_of};
use super::source::is_source_code;
use super::words::is_word;

/// Lines above one in which what encloses it is looked for, at most.
const LINES_ABOVE: usize = 200;
/// Bytes of a longer line are data.
const LONGEST_LINE: usize = 2_000;

/// How a line declares a name; greater says more of what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Declaration {
    /// The line uses the name, or lacks it.
    #[default]
    None,
    /// It gives the name a value: a local variable, an argument of a call, an attribute of an object.
    Value,
    /// A parameter with a type or a default, a field, a variable of a module, a key, an entry of a list.
    Member,
    /// A function, a class, a type, a macro.
    Definition,
}

/// What encloses a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The line is not indented.
    Module,
    /// The parameters of a function.
    Parameters,
    /// A class or another type.
    Type,
    /// The body of a function, a call, a value.
    Statements,
    /// The text does not tell.
    Unknown,
}

/// Returns how each line of a text declares a name, whatever its case.
///
/// The text is a chunk or a passage. Where its path does not tell the language, or is that of a
/// document, which may have examples, definitions are looked for as in a text of braces.
pub fn declarations(uri: &str, text: &str, name: &str) -> Vec<Declaration> {
    let name = name.to_lowercase();
    let (syntax, is_source) = match kind_of(uri) {
        FileKind::Source(syntax) => (syntax, true),
        FileKind::Prose | FileKind::Data => (UNKNOWN, false),
        FileKind::Unknown => (UNKNOWN, is_source_code(text)),
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let mut start = 0;
    (0..lines.len())
        .map(|at| {
            let from = start;
            start += lines[at].len() + 1;
            let line = lines[at];
            if line.len() < name.len() || line.len() > LONGEST_LINE || name.is_empty() {
                return Declaration::None;
            }
            let reader = LineReader {
                text,
                lines: &lines,
                syntax,
                is_source,
                name: &name,
            };
            match has_word(line, &name) {
                true => reader.read(at, from),
                false => Declaration::None,
            }
        })
        .collect()
}

/// Returns how a text declares a name where it says most of it.
pub fn strongest_declaration(uri: &str, text: &str, name: &str) -> Declaration {
    let found = declarations(uri, text, name);
    found.into_iter().max().unwrap_or_default()
}

struct LineReader<'a> {
    text: &'a str,
    lines: &'a [&'a str],
    syntax: Syntax,
    is_source: bool,
    /// In small letters.
    name: &'a str,
}

impl LineReader<'_> {
    fn read(&self, at: usize, start: usize) -> Declaration {
        let line = self.lines[at];
        let defined = defined_on(self.text, start, line, self.syntax);
        let is_defined = defined.is_some_and(|each| self.is_named(&each));
        if is_defined || is_typed(line, self.name) {
            return Declaration::Definition;
        }
        if is_documented(line, self.name) {
            return Declaration::Member;
        }
        if !self.is_source {
            return match is_entry(line, self.name) || is_quoted_entry(line, self.name) {
                true => Declaration::Member,
                false => Declaration::None,
            };
        }
        let is_head = defined.is_some_and(|each| each.kind != Kind::Variable);
        if is_head && has_default(line, self.name) {
            return Declaration::Member;
        }
        let code = without_modifiers(line.trim_ascii_start(), self.name);
        let form = self.form(code);
        // Entries of comments and of documents with much source code.
        let is_value = code.starts_with(['"', '\'', '(', '[']) && !code.starts_with("(*");
        if form.is_none() && !is_value && is_entry(line, self.name) || is_attribute(code, self.name)
        {
            return Declaration::Member;
        }
        if form.is_none() && !has_default(line, self.name) {
            return value_of(line, self.name);
        }
        match (self.owner(at, start), form) {
            (Owner::Parameters, Some(Form::Valued | Form::Typed | Form::Parameter) | None) => {
                Declaration::Member
            }
            (Owner::Module | Owner::Unknown, Some(Form::Valued | Form::Typed)) => {
                Declaration::Member
            }
            (Owner::Type, Some(Form::Valued | Form::Typed | Form::Element)) => Declaration::Member,
            (_, Some(Form::Valued)) => Declaration::Value,
            _ => value_of(line, self.name),
        }
    }

    fn is_named(&self, found: &Definition<'_>) -> bool {
        [found.name, found.path]
            .iter()
            .any(|each| each.to_lowercase() == self.name || is_marked(self.text, each, self.name))
    }

    /// Returns the form of a line of code that may declare the name.
    fn form(&self, code: &str) -> Option<Form> {
        let is_value = |after: &str| {
            let rest = after.trim_start();
            let is_annotated = rest.starts_with(':') && !rest.starts_with("::");
            let is_assigned = rest.starts_with('=') && !rest.starts_with("==");
            (is_annotated && !rest.starts_with(":=")) || is_assigned || rest.starts_with(":=")
        };
        let bare = code.strip_prefix('$').unwrap_or(code);
        if begins_entry_with(bare, self.name, is_value) {
            return Some(Form::Valued);
        }
        let is_element = |after: &str| {
            matches!(after.trim(), "" | ";")
                || after.starts_with([',', '(', '{'])
                || (after.starts_with(' ')
                    && !after.starts_with("  ")
                    && !code.ends_with([';', ':']))
        };
        if begins_entry_with(bare, self.name, is_element) {
            return Some(Form::Element);
        }
        typed_form(code, self.name)
    }

    /// Returns what encloses a line, which starts at a byte.
    fn owner(&self, at: usize, line_start: usize) -> Owner {
        let indent = indent_of(self.lines[at]);
        if indent == 0 {
            return Owner::Module;
        }
        let mut start = line_start;
        let nearest = self.lines[..at].iter().enumerate().rev();
        for (row, above) in nearest.take(LINES_ABOVE) {
            start -= above.len() + 1;
            let code = above.trim_ascii();
            let is_around =
                indent_of(above) < indent && !code.starts_with(['}', ')', ']', '{', '#']);
            if code.is_empty() || !is_around {
                continue;
            }
            // Brackets that the parameters of a function leave open down to the line.
            let within = &self.text[start..line_start];
            let is_open = within.matches('(').count() > within.matches(')').count();
            let defined = defined_on(self.text, start, above, self.syntax);
            return match defined.map(|each| each.kind) {
                Some(Kind::Function | Kind::Signature | Kind::Binding) if is_open => {
                    Owner::Parameters
                }
                Some(Kind::Type) if is_open => Owner::Parameters,
                Some(Kind::Type | Kind::Module) => Owner::Type,
                Some(_) => Owner::Statements,
                None if begins_members(code) || is_access(code) => Owner::Type,
                // A chunk begins without the white space before its first line.
                None if row == 0 && may_be_member(code) => Owner::Unknown,
                None => Owner::Statements,
            };
        }
        Owner::Unknown
    }
}

/// The form of a line that may declare a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `name: type`, `name = value`.
    Valued,
    /// `type name;`, `type name = value;`.
    Typed,
    /// `type name,`, `type name`, of a list of parameters.
    Parameter,
    /// `name,`, `name(type)`, `name type`, of an enumeration or of a type of Go.
    Element,
}

/// Returns whether a line without the name of a type begins one: `typedef struct {`, `enum {`.
fn begins_members(code: &str) -> bool {
    const TYPES: [&str; 5] = ["struct", "union", "enum", "interface", "type"];
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    code.ends_with(['{', '(']) && words.take(4).any(|word| TYPES.contains(&word))
}

/// Returns whether a line says who may use the members below it, as in C++.
fn is_access(code: &str) -> bool {
    matches!(code, "public:" | "private:" | "protected:")
}

/// Returns whether a line may be a member of a type, or the comment on one, and no statement.
fn may_be_member(code: &str) -> bool {
    let is_plain = code.ends_with(';') && !code.contains(['(', '=']);
    is_plain || code.starts_with("/*") || code.starts_with("//")
}

/// Returns a line of code without the annotations and words that may stand before a declaration of a
/// name.
///
/// A modifier may itself be a name: `value = 3`, `default: 3`, `open int`.
fn without_modifiers<'a>(code: &'a str, name: &str) -> &'a str {
    let mut rest = past_annotations(code);
    loop {
        let word = &rest[..rest.bytes().position(|byte| !is_word(byte)).unwrap_or(0)];
        let mut after = &rest[word.len()..];
        // `pub(crate)`
        if word == "pub" && after.starts_with('(') {
            after = after.split_once(')').map_or("", |(_, behind)| behind);
        }
        // `if name:` uses it; SQL has `if`, `not` and others as modifiers.
        let is_known = is_modifier(word) && !STATEMENTS.contains(&word) || is_variable(word);
        let behind = after.trim_ascii_start();
        let is_name = word.eq_ignore_ascii_case(name) || behind.starts_with(['=', ':', ',', ';']);
        if !is_known || is_name || !after.starts_with([' ', '\t']) {
            return rest;
        }
        rest = past_annotations(behind);
    }
}

/// Returns whether a word stands before a variable, as in Kotlin and in Perl.
fn is_variable(word: &str) -> bool {
    matches!(word, "var" | "val" | "my" | "our")
}

/// Returns what follows `@Name`, `@Name(...)` and, before a word, `[...]`, which begin a line of code.
fn past_annotations(code: &str) -> &str {
    let mut rest = code;
    loop {
        let behind = match rest.as_bytes().first() {
            Some(b'@') => {
                let is_part = |byte: u8| is_word(byte) || byte == b'.';
                let end = 1 + rest[1..].bytes().take_while(|&byte| is_part(byte)).count();
                match rest[end..].starts_with('(') {
                    true => past_brackets(&rest[end..], b'(', b')'),
                    false => &rest[end..],
                }
            }
            Some(b'[') => past_brackets(rest, b'[', b']'),
            _ => return rest,
        };
        let next = behind.trim_ascii_start();
        let is_word = next.starts_with(|c: char| c.is_alphabetic() || "_@[$?".contains(c));
        if !is_word || next.len() == behind.len() {
            return rest;
        }
        rest = next;
    }
}

/// Returns the form of a line of code that is `type name;`, `type name { get; }` or the like.
fn typed_form(code: &str, name: &str) -> Option<Form> {
    let code = code.split("//").next().unwrap_or(code);
    let code = code.split("/*").next().unwrap_or(code).trim_ascii_end();
    let (start, end) = words_at(code, name).next()?;
    let before = code[..start].strip_suffix('$').unwrap_or(&code[..start]);
    let after = code[end..].trim_ascii_start();
    // `type (*name)(type);`
    if let (Some(result), true) = (before.strip_suffix("(*"), after.starts_with(")(")) {
        return (is_type(result) && code.ends_with(';')).then_some(Form::Typed);
    }
    if !is_type(before) {
        return None;
    }
    let ends = after.starts_with([';', '[', ':']) || is_assignment(after);
    let has_accessors = after.strip_prefix('{').is_some_and(|inner| {
        let words = inner.split(|c: char| !c.is_alphanumeric());
        words
            .take(4)
            .any(|word| matches!(word, "get" | "set" | "init"))
    });
    let is_computed = after.starts_with("=>") && after.ends_with(';');
    if ends && code.ends_with([';', ',', '=', '{']) || has_accessors || is_computed {
        return Some(Form::Typed);
    }
    matches!(after, "" | "," | ")").then_some(Form::Parameter)
}

/// Returns whether what stands before a name is a type and white space.
fn is_type(before: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_*&<>:,[]?.|\\ \t".contains(c);
    let first = before
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .find(|word| !word.is_empty());
    before.ends_with([' ', '*', '&', '>', ']', '\t'])
        && before.starts_with(|c: char| c.is_alphabetic() || "_?\\".contains(c))
        && before.chars().all(is_part)
        && first.is_some_and(|word| !STATEMENTS.contains(&word))
}

/// Returns whether a line has a parameter with this name that has a type or a default.
fn has_default(line: &str, name: &str) -> bool {
    words_at(line, name).any(|(start, end)| {
        let before = line[..start].trim_end_matches('$').trim_ascii_end();
        let after = line[end..].trim_ascii_start();
        // `(private val name: type`, `(type name = value`
        let is_typed_before = || {
            let words = line[..start].trim_end_matches('$');
            let at = words.rfind(['(', ',']).map_or(0, |at| at + 1);
            at > 0 && is_type(past_annotations(words[at..].trim_ascii_start()))
        };
        let is_typed = after.starts_with(':') && !after.starts_with("::");
        (is_typed || is_assignment(after))
            && (before.is_empty() || before.ends_with(['(', ',', '*', '{']) || is_typed_before())
    })
}

/// Returns whether a line of code is that of attributes of Ruby and has the name: `attr_reader :name`.
fn is_attribute(code: &str, name: &str) -> bool {
    let word = &code[..code.bytes().position(|byte| !is_word(byte)).unwrap_or(0)];
    ["attr_reader", "attr_writer", "attr_accessor"]
        .iter()
        .any(|each| word.ends_with(each))
        && words_at(code, name).any(|(start, _)| code[..start].ends_with([':', '"', '\'']))
}

/// Returns whether a line documents a parameter, an attribute or an option: `:param int name:`,
/// `@param name`, `.. option:: name`, `name (int) - text`.
fn is_documented(line: &str, name: &str) -> bool {
    const FIELDS: [&str; 11] = [
        "param",
        "parameter",
        "arg",
        "argument",
        "key",
        "keyword",
        "ivar",
        "cvar",
        "var",
        "attribute",
        "property",
    ];
    let code = line.trim_start_matches([' ', '\t', '*', '/', '#', '!']);
    if let Some(field) = code.strip_prefix([':', '@', '\\']) {
        let word = &field[..field.bytes().position(|byte| !is_word(byte)).unwrap_or(0)];
        let ends = if code.starts_with(':') { ":" } else { " " };
        let rest = &field[word.len()..];
        return FIELDS.contains(&word)
            && words_at(rest, name).next().is_some_and(|(start, end)| {
                let is_last = !code.starts_with(':') || rest[end..].starts_with(ends);
                let before = rest[..start].trim();
                let is_type = before.is_empty()
                    || before.ends_with('}')
                    || !before.contains([' ', ':']) && code.starts_with(':');
                is_last && is_type
            });
    }
    if let Some(rest) = code.strip_prefix(".. ") {
        return rest
            .split_once(":: ")
            .is_some_and(|(directive, signature)| {
                !directive.contains(' ')
                    && words_at(signature, name).next().is_some_and(|(start, _)| {
                        signature[..start].split('(').count() == 1
                            && !signature[..start].contains(' ')
                    })
            });
    }
    let is_typed = |after: &str| {
        let Some((_, behind)) = after
            .strip_prefix(" (")
            .and_then(|rest| rest.split_once(')'))
        else {
            return false;
        };
        behind.starts_with(':') || behind.trim_start().starts_with(['–', '—', '-'])
    };
    begins_entry_with(code, name, |after| {
        is_typed(after) || is_typed(after.trim_start_matches(['*', '`', '_']))
    })
}

/// Returns whether a line is a key in quotes with a value.
fn is_quoted_entry(line: &str, name: &str) -> bool {
    let code = line.trim_ascii_start();
    code.starts_with(['"', '\''])
        && begins_entry_with(&code[1..], name, |after| {
            after.starts_with(['"', '\'']) && after[1..].trim_start().starts_with([':', '='])
        })
}

/// Returns whether a line gives a name a value: an attribute, an entry, or the first string of a call.
fn value_of(line: &str, name: &str) -> Declaration {
    let is_value = words_at(line, name).any(|(start, end)| {
        let (before, after) = (&line[..start], &line[end..]);
        // `$this->name = value`
        let object = before.trim_ascii_start().trim_start_matches('$');
        let is_attribute = object.split(['.', '>']).count() == 2
            && before.ends_with(['.', '>'])
            && is_assignment(after.trim_ascii_start())
            && object
                .bytes()
                .all(|byte| is_word(byte) || b".->".contains(&byte));
        let is_called = [("(\"", '"'), ("('", '\'')].iter().any(|(open, close)| {
            before.trim_end_matches('-').ends_with(open) && after.starts_with(*close)
        });
        is_attribute || is_called
    });
    match is_value || is_quoted_entry(line, name) {
        true => Declaration::Value,
        false => Declaration::None,
    }
}

fn is_assignment(after: &str) -> bool {
    after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>")
}

fn has_word(line: &str, name: &str) -> bool {
    words_at(line, name).next().is_some()
}

/// Returns the spans of a text where it has a name, in small letters, between ends of words.
fn words_at<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|&byte| is_word(byte));
    let bytes = text.as_bytes();
    let begins_word = name.bytes().next().is_some_and(is_word);
    let ends_word = name.bytes().last().is_some_and(is_word);
    (0..bytes.len()).filter_map(move |start| {
        let end = end_of_name(text, start, name)?;
        let joins = (begins_word && start > 0 && is_part(bytes.get(start - 1)))
            || (ends_word && is_part(bytes.get(end)));
        (!joins).then_some((start, end))
    })
}

/// Returns the end of a name, in small letters, that starts at a byte of a text.
fn end_of_name(text: &str, start: usize, name: &str) -> Option<usize> {
    if name.is_ascii() {
        let end = start + name.len();
        let found = text.as_bytes().get(start..end)?;
        return found.eq_ignore_ascii_case(name.as_bytes()).then_some(end);
    }
    let mut left = name;
    let mut rest = text.get(start..)?.chars();
    while !left.is_empty() {
        // A capital may have several small letters.
        for small in rest.next()?.to_lowercase() {
            left = left.strip_prefix(small)?;
        }
    }
    Some(text.len() - rest.as_str().len())
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_ascii_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Declaration::{Definition, Member, None, Value};

    fn on_each_line(uri: &str, text: &str, name: &str) -> Vec<Declaration> {
        declarations(uri, text, name)
    }

    #[test]
    fn members_of_c_are_declared_where_a_chunk_begins_within_their_type() {
        let uri = "a/base.h";
        let chunk = "int virtual_max;\n\t/** The most. */\n\tint count_max;\n";
        assert_eq!(
            strongest_declaration(uri, chunk, "count_max"),
            Declaration::Member
        );
        let class = "class Memory {\n private:\n  Nodes m_nodes;\n};";
        assert_eq!(
            strongest_declaration(uri, class, "m_nodes"),
            Declaration::Member
        );
        let pointer = "struct reply {\n\tvoid (*clear)(void *);\n};";
        assert_eq!(
            strongest_declaration(uri, pointer, "clear"),
            Declaration::Member
        );
        let body = "int f()\n{\n\tx = 1;\n\treply->clear(reply);\n}";
        assert_eq!(strongest_declaration(uri, body, "clear"), Declaration::None);
    }

    #[test]
    fn a_method_is_defined_outside_its_class() {
        let text = "const std::string Directives::Translate(\n    const std::string& handle) {\n";
        assert_eq!(
            strongest_declaration("a.cpp", text, "Translate"),
            Declaration::Definition
        );
    }

    #[test]
    fn lines_declare_a_name_as_languages_and_documents_write_it() {
        let of = |line: &str| strongest_declaration("", line, "boil");
        for line in [
            "def boil(water):",
            "    pub fn Boil<T>(x: T) {",
            "#define BOIL 100",
            "static int boil(struct water *w)",
        ] {
            assert_eq!(of(line), Definition, "{line}");
        }
        for line in [
            "boil: heat until bubbles rise",
            "- **boil** - heat it",
            "| boil | heat |",
            "1. boil",
            ".B boil",
            "## boil",
            "boil = 100",
            "boil  heat",
            ":param bool boil: heat it",
            " * @param {number} boil heat it",
            ".. option:: boil",
            "boil (bool) – heat it",
        ] {
            assert_eq!(of(line), Member, "{line}");
        }
        for line in [
            "parser.add_argument(\"--boil\", type=int)",
            "kettle.boil = 3;",
        ] {
            assert_eq!(of(line), Value, "{line}");
        }
        for line in [
            "boil(water);",
            "return boil(water)",
            "boil the water",
            "if boil == 3",
            "if boil:",
            "    if not boil:",
            "case boil: return;",
            "boiler: a thing",
            "parboil: cook",
            "see boil",
            "call(boil, 3);",
            "",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
        let of = strongest_declaration;
        assert_eq!(of("a.rb", "class Foo::Bar < Baz", "Foo::Bar"), Definition);
        assert_eq!(of("", "  --amend  replace the commit", "--amend"), Member);
        assert_eq!(of("a.rb", "def boil?(water)", "boil?"), Definition);
        assert_eq!(of("a.ex", "  def Boil!(x), do: x", "boil!"), Definition);
        assert_eq!(of("a.rb", "def boil(water)", "boil?"), None);
        assert_eq!(of("x.md", "", ""), None);
    }

    #[test]
    fn a_parameter_is_a_member_and_an_argument_a_value() {
        let text = "def serve(\n    app,\n    trust: bool = False,\n):\n    trust = bool(trust)\n    \
                    self.trust = trust\n    run(\n        app,\n        trust=True,\n    )\n";
        let found = on_each_line("a.py", text, "trust");
        assert_eq!(
            found,
            [
                None, None, Member, None, Value, Value, None, None, Value, None, None
            ]
        );
        let found = on_each_line("a.py", "def serve(app, trust=False):\n", "trust");
        assert_eq!(found, [Member, None]);
        let found = on_each_line("a.py", "serve(app, trust=False)\n", "trust");
        assert_eq!(found, [None, None]);
        let aligned = "def serve(app,\n          trust=False, port=8080):\n    pass\n";
        assert_eq!(
            on_each_line("a.py", aligned, "port"),
            [None, Member, None, None]
        );
    }

    #[test]
    fn fields_of_types_are_members_and_locals_are_not() {
        for (uri, text) in [
            ("a.c", "struct kettle {\n    unsigned int heat;\n"),
            ("a.h", "typedef struct {\n\tstruct pipe *heat[3];\n"),
            ("a.h", "enum mode {\n    HEAT,\n"),
            ("a.rs", "pub struct Kettle {\n    pub(crate) heat: u8,\n"),
            ("a.rs", "enum Mode {\n    Heat(u8),\n"),
            ("a.go", "type Kettle struct {\n\tHeat int `json:\"heat\"`\n"),
            (
                "a.java",
                "class Kettle {\n    private final int heat = 3;\n",
            ),
            ("a.ts", "interface Kettle {\n  readonly heat: number;\n"),
            ("a.py", "class Kettle:\n    heat: int = 3\n"),
            ("a.yaml", "kettle:\n  heat: 3\n"),
            ("a.toml", "[kettle]\nheat = 3\n"),
            ("a.json", "{\n  \"heat\": 3,\n"),
        ] {
            let found = on_each_line(uri, text, "heat");
            assert_eq!(found[1], Member, "{text}");
        }
        for (uri, text) in [
            ("a.c", "int main(void) {\n    return heat;\n"),
            ("a.rs", "fn main() {\n    boil(\n        heat,\n"),
            ("a.py", "def main():\n    heat: int = 3\n"),
            ("a.js", "boil({\n  heat: 3,\n"),
            ("a.py", "boil({\n    \"heat\": 3,\n"),
        ] {
            let found = on_each_line(uri, text, "heat");
            assert!(found.iter().all(|each| *each < Member), "{text}: {found:?}");
        }
    }

    #[test]
    fn members_of_a_type_are_found_as_each_language_writes_them() {
        for (uri, text) in [
            (
                "a.java",
                "class Kettle {\n    @Column(name = \"h\") private int heat = 3;\n",
            ),
            ("a.java", "class Kettle {\n    @Getter @Setter int heat;\n"),
            ("a.java", "record Kettle(\n    @Min(3) int heat,\n"),
            (
                "a.cs",
                "class Kettle {\n    public int Heat { get; set; }\n",
            ),
            (
                "a.cs",
                "class Kettle {\n    public List<int>? Heat { get; init; } = null;\n",
            ),
            (
                "a.cs",
                "class Kettle {\n    [Key, Column(\"h\")] public int Heat { get; }\n",
            ),
            ("a.cs", "class Kettle {\n    public int Heat => heat * 2;\n"),
            ("a.php", "class Kettle {\n    private ?int $heat = null;\n"),
            ("a.php", "class Kettle {\n    public $heat;\n"),
            (
                "a.php",
                "public function __construct(\n    private readonly int $heat,\n",
            ),
            ("a.kt", "class Kettle(\n    val heat: Int,\n"),
            (
                "a.kt",
                "class Kettle(\n    @JsonProperty(\"h\") private val heat: Int = 3,\n",
            ),
            ("a.rb", "class Kettle\n  attr_reader :boil, :heat\n"),
            ("a.rb", "class Kettle\n  attr_accessor(:heat)\n"),
        ] {
            let found = on_each_line(uri, text, "heat");
            assert!(found[1] >= Member, "{text}: {found:?}");
        }
        for (uri, line) in [
            ("a.kt", "class Kettle(private val heat: Int, boil: Int) {"),
            ("a.scala", "class Kettle(val heat: Int)"),
            ("a.ts", "  constructor(private readonly heat: number) {"),
            (
                "a.php",
                "    public function boil(int $time, ?int $heat = 3) {",
            ),
        ] {
            assert_eq!(strongest_declaration(uri, line, "heat"), Member, "{line}");
        }
        for (uri, text) in [
            ("a.php", "function boil() {\n    $heat = 3;\n"),
            ("a.php", "function boil() {\n    $this->heat = 3;\n"),
        ] {
            assert_eq!(on_each_line(uri, text, "heat")[1], Value, "{text}");
        }
        for (uri, text) in [
            ("a.rb", "class Kettle\n  boil :heat\n"),
            (
                "a.cs",
                "void Boil() {\n    list.Select(heat => heat * 2);\n",
            ),
            ("a.php", "function boil() {\n    print($heat);\n"),
            ("a.java", "void boil() {\n    return heat;\n"),
            ("a.kt", "fun main() {\n    boil(heat)\n"),
        ] {
            assert_eq!(on_each_line(uri, text, "heat")[1], None, "{text}");
        }
    }

    #[test]
    fn an_entry_of_a_comment_is_a_member_whatever_begins_the_comment() {
        for (uri, line) in [
            ("a.py", "# heat: how hot"),
            ("a.c", "// heat: how hot"),
            ("a.c", "/* heat: how hot */"),
            ("a.rs", "/// heat: how hot"),
            ("a.rs", "//! heat: how hot"),
            ("a.el", ";; heat: how hot"),
            ("a.ml", "(* heat: how hot *)"),
            ("a.html", "<!-- heat: how hot -->"),
            ("a.sql", "-- heat: how hot"),
            ("a.tex", "% heat: how hot"),
        ] {
            assert_eq!(strongest_declaration(uri, line, "heat"), Member, "{line}");
            assert_eq!(strongest_declaration(uri, line, "hot"), None, "{line}");
        }
    }

    #[test]
    fn a_modifier_may_be_the_name_that_is_declared() {
        for name in [
            "value", "default", "open", "local", "replace", "temp", "required", "var", "val",
        ] {
            let local = format!("def f(x):\n    {name} = 3\n");
            assert_eq!(on_each_line("a.py", &local, name)[1], Value, "{local}");
            let argument = format!("run(\n    {name} = 3,\n)\n");
            assert_eq!(
                on_each_line("a.py", &argument, name)[1],
                Value,
                "{argument}"
            );
            let field = format!("type Kettle struct {{\n\t{name} int\n}}\n");
            assert_eq!(on_each_line("a.go", &field, name)[1], Member, "{field}");
        }
        let text = "def f(x):\n    if heat:\n        value = heat\n    return heat, x\n";
        assert!(
            on_each_line("a.py", text, "heat")
                .iter()
                .all(|each| *each == None)
        );
    }

    #[test]
    fn no_text_panics() {
        for text in [
            "é",
            "pub(",
            ":param",
            ".. ",
            "\"é",
            "(\"",
            "x.é = 1",
            ":param é:",
            "é (",
            "ſ=1",
        ] {
            for name in ["é", "x", "\"", "(", "ſ", "param", ""] {
                for uri in ["a.py", "a.md", "", "a.c"] {
                    let _ = declarations(uri, text, name);
                }
            }
        }
    }
}
