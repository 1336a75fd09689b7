//! The lines of a source text: their indentation, and which of them begin in a comment or in a string.
//!
//! The text is read once, by what its language says of comments, strings and here-documents. What is
//! guessed wrongly, as a quote in a regular expression, ends with its line where strings do, and else
//! after `LONGEST` bytes. Time is linear in the length of the text.

use rustc_hash::FxHashMap;

use super::path::{Blocks, Syntax};
use super::words::is_word;

/// Bytes of a quoted string, at most.
const LONGEST: usize = 8_000;
/// Bytes of a character in apostrophes, at most: `'\u{10FFFF}'`.
const CHARACTER: usize = 12;
/// Bytes of what ends the statements of MySQL, at most.
const DELIMITER: usize = 8;
/// Bytes of the word in `$word$`, at most, as for names in PostgreSQL.
const TAG: usize = 63;

/// What a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    /// Nothing but a comment.
    Comment,
    /// Begins in a string of several lines.
    String,
    Code,
}

/// A line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// The bytes where it starts, where its first visible character is, and where it ends.
    pub(super) start: usize,
    pub(super) code: usize,
    pub(super) end: usize,
    /// The columns before the first visible character.
    pub(super) indent: usize,
    pub(super) kind: LineKind,
}

/// The lines of a text, and the brackets, semicolons and words of blocks in its code.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) lines: Vec<Line>,
    /// Bytes of brackets and semicolons outside of comments and strings; in SQL also where the words
    /// `BLOCK_WORDS` begin, with their letters, and the last bytes of MySQL's delimiters, as `/`.
    pub(super) marks: Vec<(usize, u8)>,
}

/// Words of SQL that begin and end blocks, or may stand before one, by the letters that mark them.
const BLOCK_WORDS: [(&str, u8); 8] = [
    ("begin", b'b'),
    ("case", b'c'),
    ("end", b'e'),
    ("is", b'i'),
    ("as", b'i'),
    ("function", b'f'),
    ("procedure", b'f'),
    ("declare", b'd'),
];

enum State {
    Code,
    Comment {
        ends: &'static str,
        begins: &'static str,
        depth: usize,
    },
    String {
        ends: String,
    },
    /// A quoted string that ends at a byte.
    Until(usize),
    /// The lines of a here-document, up to this one.
    Lines(usize),
}

/// Reads the lines of a text.
pub(super) fn read_lines(text: &str, mut syntax: Syntax) -> Lines {
    let is_sql = syntax.blocks == Blocks::Statements;
    if is_sql && is_mysql(text) {
        syntax.escape = Some(b'\\');
        syntax.raw_quotes = b"";
    }
    let bounds: Vec<(usize, usize)> = text
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, start + line.trim_end_matches(['\n', '\r']).len()))
        })
        .collect();
    let ends = match syntax.heredocs {
        true => lone_words(text, &bounds),
        false => FxHashMap::default(),
    };
    let mut found = Lines::default();
    let mut state = State::Code;
    // What `DELIMITER` has set.
    let mut delimiter = None;
    for (number, &(start, end)) in bounds.iter().enumerate() {
        let line = &text[start..end];
        let code = start + (line.len() - line.trim_ascii_start().len());
        let begins = match state {
            State::Code => LineKind::Code,
            State::Comment { .. } => LineKind::Comment,
            State::Lines(until) if number > until => LineKind::Code,
            State::Until(until) if start >= until => LineKind::Code,
            _ => LineKind::String,
        };
        let mut reader = LineReader {
            text,
            syntax,
            ends: &ends,
            number,
            start,
            end,
            has_code: false,
            has_comment: false,
            delimiter,
            marks: &mut found.marks,
        };
        let command = (is_sql && matches!(state, State::Code)).then(|| new_delimiter(line));
        if let Some(Some(set)) = command {
            delimiter = Some(set);
            reader.has_code = true;
        } else {
            state = reader.read(state);
        }
        let kind = match begins {
            LineKind::Code if code == end => LineKind::Blank,
            LineKind::Code if reader.has_comment && !reader.has_code => LineKind::Comment,
            // What follows a comment in its last line is read as code.
            LineKind::Comment if reader.has_code => LineKind::Code,
            kind => kind,
        };
        let indent = text[start..code]
            .bytes()
            .fold(0, |columns, byte| match byte {
                b'\t' => columns / 4 * 4 + 4,
                _ => columns + 1,
            });
        found.lines.push(Line {
            start,
            code,
            end,
            indent,
            kind,
        });
    }
    found
}

/// Returns whether a text of SQL is for MySQL, in which `\` escapes a quote in a string.
fn is_mysql(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let signs = ["table `", "exists `", "into `", "auto_increment", "engine="];
    signs.iter().any(|sign| text.contains(sign))
        || text.lines().any(|line| new_delimiter(line).is_some())
}

/// Returns what ends statements from a line on that is `DELIMITER` of MySQL's client.
///
/// `DELIMITER ','` is an option of PostgreSQL's `COPY`.
pub(super) fn new_delimiter(line: &str) -> Option<&str> {
    let (command, rest) = line
        .trim_ascii_start()
        .split_at_checked("delimiter ".len())?;
    let ends = rest.trim_ascii();
    let is_sign = |byte: u8| byte.is_ascii_punctuation() && !b"'\"`()_".contains(&byte);
    (command.eq_ignore_ascii_case("delimiter ")
        && (1..=DELIMITER).contains(&ends.len())
        && ends.bytes().all(is_sign))
    .then_some(ends)
}

/// Returns the numbers of the lines that hold nothing but a word, by it.
fn lone_words<'a>(text: &'a str, bounds: &[(usize, usize)]) -> FxHashMap<&'a str, Vec<usize>> {
    let mut found: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (number, &(start, end)) in bounds.iter().enumerate() {
        let word = text[start..end].trim_ascii();
        let word = word.trim_end_matches([';', ')', ',']);
        if !word.is_empty() && word.bytes().all(is_word) {
            found.entry(word).or_default().push(number);
        }
    }
    found
}

/// Returns where a text has another one, of a few bytes.
///
/// A searcher that is made for each line would take most of the time.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted.first()?;
    let last = text.len().checked_sub(wanted.len())?;
    (0..=last).find(|&at| text[at] == *first && text[at..].starts_with(wanted))
}

struct LineReader<'a> {
    text: &'a str,
    syntax: Syntax,
    ends: &'a FxHashMap<&'a str, Vec<usize>>,
    number: usize,
    start: usize,
    end: usize,
    has_code: bool,
    has_comment: bool,
    /// What ends statements, where `DELIMITER` has set it.
    delimiter: Option<&'a str>,
    marks: &'a mut Vec<(usize, u8)>,
}

impl LineReader<'_> {
    /// Reads the line, from the state in which the line before left the text, and returns its own.
    fn read(&mut self, mut state: State) -> State {
        let mut at = self.start;
        let mut after = None;
        loop {
            match state {
                State::Lines(until) if self.number <= until => return State::Lines(until),
                State::Until(until) if until >= self.end => return State::Until(until),
                State::Lines(_) => state = State::Code,
                State::Until(until) => {
                    at = at.max(until);
                    state = State::Code;
                }
                State::Comment {
                    begins,
                    ends,
                    depth,
                } => {
                    self.has_comment = true;
                    (at, state) = self.comment(at, begins, ends, depth);
                }
                State::String { ends } => {
                    self.has_code = true;
                    // What ends with the start of a line is looked for from the line break on.
                    let from = at
                        .saturating_sub(usize::from(ends.starts_with('\n')))
                        .max(self.start.saturating_sub(1));
                    match find(&self.text.as_bytes()[from..self.end], ends.as_bytes()) {
                        Some(found) => {
                            at = from + found + ends.len();
                            state = State::Code;
                        }
                        None => return State::String { ends },
                    }
                }
                State::Code => {
                    if at >= self.end {
                        return after.map_or(State::Code, State::Lines);
                    }
                    (at, state) = self.code(at, &mut after);
                }
            }
            if at >= self.end && !matches!(state, State::Code) {
                return state;
            }
        }
    }

    fn comment(
        &self,
        from: usize,
        begins: &'static str,
        ends: &'static str,
        mut depth: usize,
    ) -> (usize, State) {
        // Only comments of one language with another way to begin them cannot be nested.
        let nests = !begins.starts_with('\n') && matches!(begins, "{-" | "(*" | "#=");
        let mut at = from.saturating_sub(usize::from(ends.starts_with('\n') && from == self.start));
        while at < self.end {
            let rest = &self.text.as_bytes()[at..self.end];
            if rest.starts_with(ends.as_bytes()) {
                depth -= 1;
                at += ends.len();
                if depth == 0 {
                    // The rest of a line such as `=cut` is no code.
                    let at = if ends.starts_with('\n') { self.end } else { at };
                    return (at, State::Code);
                }
            } else if nests && rest.starts_with(begins.as_bytes()) {
                depth += 1;
                at += begins.len();
            } else {
                at += 1;
            }
        }
        (
            self.end,
            State::Comment {
                begins,
                ends,
                depth,
            },
        )
    }

    /// Reads what begins at a byte of code, and returns where it ends.
    fn code(&mut self, at: usize, after: &mut Option<usize>) -> (usize, State) {
        let bytes = self.text.as_bytes();
        let byte = bytes[at];
        if byte.is_ascii_whitespace() || byte >= 0x80 {
            self.has_code |= byte >= 0x80;
            return (at + 1, State::Code);
        }
        let rest = &bytes[at..];
        if let Some(ends) = self.delimiter
            && rest.starts_with(ends.as_bytes())
        {
            self.has_code = true;
            self.marks.push((at + ends.len() - 1, b'/'));
            return (at + ends.len(), State::Code);
        }
        for &(begins, ends) in self.syntax.block_comments {
            let is_here = match begins.strip_prefix('\n') {
                Some(word) => at == self.start && rest.starts_with(word.as_bytes()),
                None => rest.starts_with(begins.as_bytes()),
            };
            if is_here {
                let comment = State::Comment {
                    begins,
                    ends,
                    depth: 1,
                };
                return (at + begins.trim_start().len(), comment);
            }
        }
        let is_apart =
            at == self.start || !is_word(bytes[at - 1]) && !b"$#&{(\"'`".contains(&bytes[at - 1]);
        let begins_comment =
            |begins: &&str| rest.starts_with(begins.as_bytes()) && (byte != b'#' || is_apart);
        if self.syntax.line_comments.iter().any(begins_comment) {
            self.has_comment = true;
            return (self.end, State::Code);
        }
        self.has_code = true;
        for &(begins, ends) in self.syntax.long_strings {
            if rest.starts_with(begins.as_bytes()) {
                return (
                    at + begins.len(),
                    State::String {
                        ends: ends.to_owned(),
                    },
                );
            }
        }
        match byte {
            _ if self.syntax.escape == Some(byte) => (at + 2, State::Code),
            b'\'' if !self.syntax.raw_quotes.contains(&byte) && self.character(at).is_some() => {
                (self.character(at).unwrap_or(at + 1), State::Code)
            }
            _ if self.syntax.quotes.contains(&byte) => (at + 1, self.quoted(at)),
            b'$' if self.syntax.blocks == Blocks::Statements && self.delimiter.is_none() => {
                self.dollar(at)
            }
            b'<' if self.syntax.heredocs && rest.starts_with(b"<<") => {
                (self.heredoc(at, after), State::Code)
            }
            b';' if self.delimiter.is_some() => (at + 1, State::Code),
            b'{' | b'}' | b'(' | b')' | b'[' | b']' | b';' => {
                self.marks.push((at, byte));
                (at + 1, State::Code)
            }
            _ if self.syntax.blocks == Blocks::Statements && is_word(byte) => {
                (self.word(at), State::Code)
            }
            _ => (at + 1, State::Code),
        }
    }

    /// Marks a word of SQL if it has to do with blocks, and returns where it ends.
    fn word(&mut self, at: usize) -> usize {
        let rest = &self.text[at..self.end];
        let word = &rest[..rest
            .bytes()
            .position(|byte| !is_word(byte))
            .unwrap_or(rest.len())];
        let known = BLOCK_WORDS
            .iter()
            .find(|(each, _)| word.eq_ignore_ascii_case(each));
        // `t.begin` is a column, and `@end` a variable.
        let is_name = at > self.start && b".@".contains(&self.text.as_bytes()[at - 1]);
        if let Some(&(_, letter)) = known
            && !is_name
        {
            self.marks.push((at, letter));
        }
        at + word.len()
    }

    /// Returns the end of a character in apostrophes.
    fn character(&self, at: usize) -> Option<usize> {
        let inner = &self.text.as_bytes()[at + 1..self.end];
        let most = match inner.first()? {
            b'\\' => CHARACTER,
            first => 1 + usize::from(*first >= 0x80) * 3,
        };
        let skipped = usize::from(inner[0] == b'\\') + 1;
        let rest = inner.get(skipped..most.max(skipped + 1).min(inner.len()))?;
        let close = rest.iter().position(|&byte| byte == b'\'')?;
        Some(at + 1 + skipped + close + 1)
    }

    /// Returns the state behind the quote at a byte: a string up to its closing quote.
    fn quoted(&self, at: usize) -> State {
        let bytes = self.text.as_bytes();
        let quote = bytes[at];
        let before = &bytes[self.start..at];
        let is_verbatim =
            self.syntax.verbatim && (before.ends_with(b"@") || before.ends_with(b"@$"));
        // `E'it\'s'` of PostgreSQL.
        let is_escaped = self.syntax.blocks == Blocks::Statements
            && quote == b'\''
            && matches!(
                before,
                [b'e' | b'E'] | [.., b' ' | b'(' | b',' | b'=' | b'|' | b'\t', b'e' | b'E']
            );
        let escape = match is_verbatim || self.syntax.raw_quotes.contains(&quote) {
            true if is_escaped => Some(b'\\'),
            true => None,
            false => self.syntax.escape,
        };
        let most = match self.syntax.quotes_span || is_verbatim {
            true => (at + LONGEST).min(bytes.len()),
            false => self.end,
        };
        let mut end = at + 1;
        while end < most {
            match bytes[end] {
                byte if escape == Some(byte) => end += 1,
                byte if byte == quote => return State::Until(end + 1),
                _ => {}
            }
            end += 1;
        }
        State::Until(self.end)
    }

    /// Reads a string of SQL between `$$` or `$word$`.
    fn dollar(&self, at: usize) -> (usize, State) {
        let bytes = self.text.as_bytes();
        let last = self.end.min(at + 1 + TAG + 1);
        let word = (at + 1..last).find(|&next| !is_word(bytes[next]));
        if let Some(word) = word.filter(|&word| bytes[word] == b'$') {
            let ends = self.text[at..=word].to_owned();
            return (word + 1, State::String { ends });
        }
        (at + 1, State::Code)
    }

    /// Reads what stands behind `<<`, and says after which line a here-document ends.
    fn heredoc(&self, at: usize, after: &mut Option<usize>) -> usize {
        let rest = self.text[at + 2..self.end].trim_start_matches(['<', '-', '~']);
        let spaced = rest.trim_start_matches(' ');
        let rest = match spaced.starts_with(|c: char| c.is_ascii_uppercase()) {
            true => spaced,
            false => rest,
        };
        let is_quoted = rest.starts_with(['"', '\'']);
        let rest = rest.trim_start_matches(['"', '\'']);
        let length = rest.bytes().position(|byte| !is_word(byte));
        let word = &rest[..length.unwrap_or(rest.len())];
        let last = self.ends.get(word).and_then(|lines| {
            let next = lines.partition_point(|&line| line <= self.number);
            lines.get(next).copied()
        });
        if last.is_some() {
            *after = last;
        }
        self.end.min(
            at + 2
                + (self.text[at + 2..self.end].len() - rest.len())
                + word.len()
                + usize::from(is_quoted),
        )
    }
}
