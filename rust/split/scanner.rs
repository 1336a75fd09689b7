//! The scanner that finds the boundaries between sentences, lines, paragraphs and sections.

use super::costs::{
    HANGING, INDENT_STEP, LINE, NUMBERED, NUMBERED_PARAGRAPH, NUMBERED_PART, ORPHAN, PARAGRAPH,
    SENTENCE, STRUCTURE_STEP, WRAP,
};
use super::lines::{hangs_below, is_row, is_rule};
use super::punctuation::{ABBREVIATIONS, Stop, clause_number, is_closer, is_item, stop_of};

/// Characters of the longest line that may be a term, or a caption above a table.
const LONGEST_TERM: u32 = 160;

/// The state of the scan: what the cost of the next boundary depends on.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// Whether a visible character has been read.
    started: bool,
    /// Line breaks since the last visible character.
    breaks: u32,
    /// Columns since the last line break.
    indent: u32,
    /// Whether the last character was whitespace.
    blank: bool,
    /// The indentation of the current line.
    line_indent: u32,
    /// Whether the current line begins with a closing bracket.
    line_closes: bool,
    /// The characters of the current line so far.
    line_length: u32,
    /// Whether the current line is the row of a table.
    line_is_row: bool,
    /// Whether the line before it is one, too.
    follows_row: bool,
    /// Whether the current line is drawn: the rule below the header of a table.
    line_is_rule: bool,
    /// The strongest structural level at which the current line begins.
    line_level: Option<u32>,
    /// The byte at which the current word begins.
    word: usize,
    /// Whether the current line begins with that word.
    word_is_first: bool,
    /// Whether the last character ends a sentence.
    stop: Stop,
    /// Whether the last visible character is a colon.
    colon: bool,
    /// Whether the last visible character may end a clause: `;`, `,` or `:`.
    pause: bool,
    /// The byte where the last number of a clause ends.
    number_end: usize,
    /// Whether the last visible character belongs to such a number.
    in_number: bool,
}

impl Scanner {
    /// Returns whether a visible character has been read.
    pub(super) fn started(&self) -> bool {
        self.started
    }

    /// Reads a whitespace character.
    pub(super) fn whitespace(&mut self, c: char, byte: usize) {
        self.blank = true;
        self.line_length += 1;
        self.word = byte + c.len_utf8();
        match c {
            '\n' | '\u{2028}' => (self.breaks, self.indent) = (self.breaks + 1, 0),
            '\u{c}' | '\u{2029}' => (self.breaks, self.indent) = (self.breaks + 2, 0),
            '\t' => self.indent += 4,
            _ => self.indent += 1,
        }
    }

    /// Returns the cost of a cut before `c`, the first character of `rest`; None if there is no boundary.
    pub(super) fn cost(&self, rest: &str, c: char, level: Option<u32>) -> Option<f32> {
        if !self.started {
            return None;
        }
        // The number of a clause stays with its text.
        if self.in_number && self.breaks == 0 && level.is_none() {
            return None;
        }
        let is_numbered = level.is_none() && self.begins_number(c) && clause_number(rest) > 0;
        let numbered = if is_numbered { NUMBERED_PARAGRAPH } else { 0.0 };
        let cost = match (level, self.breaks) {
            (Some(level), _) => STRUCTURE_STEP * level.clamp(1, 7).saturating_sub(1) as f32,
            (None, 0) if is_numbered && self.stop == Stop::No => NUMBERED_PART,
            (None, 0 | 1) if is_numbered => NUMBERED,
            (None, 0) => return self.sentence_ended(c).then_some(SENTENCE),
            (None, 1) => self.line_cost(rest, c),
            (None, _) => PARAGRAPH + INDENT_STEP * self.indent.min(16) as f32 - numbered,
        };
        let is_heading = self.breaks > 0
            && self
                .line_level
                .is_some_and(|heading| level.is_none_or(|level| level > heading));
        let leads = self.breaks > 0 && level.is_none() && self.leads_in(rest);
        let orphan = if self.in_number || is_heading || leads {
            ORPHAN
        } else {
            0.0
        };
        let hanging = if self.colon { HANGING } else { 0.0 };
        Some(cost + orphan + hanging)
    }

    /// Returns whether the current line belongs to the lines after it, of which `rest` begins with the
    /// first: a lead-in that ends in a colon, a term above its definition, a caption above a table, and
    /// a table's header.
    fn leads_in(&self, rest: &str) -> bool {
        let is_short = self.line_length <= LONGEST_TERM;
        let is_adjacent = self.breaks == 1;
        let is_open = self.stop == Stop::No;
        if self.colon || is_adjacent && rest.starts_with(": ") {
            return true;
        }
        if self.indent > self.line_indent && (is_adjacent || is_open && is_short) {
            return true;
        }
        if is_row(rest) && is_short && !self.line_is_row {
            return true;
        }
        let is_header = self.line_is_row && !self.follows_row && is_row(rest);
        if is_adjacent && (is_header || self.line_is_rule || is_rule(rest)) {
            return true;
        }
        // One of several terms of a definition.
        let is_term = is_open && is_short && !self.pause && !self.line_is_row;
        is_term && is_adjacent && self.indent == self.line_indent && hangs_below(rest, self.indent)
    }

    /// Returns whether the number of a clause may begin with `c`: at the start of a line or behind the
    /// end of a sentence or of a part of it.
    fn begins_number(&self, c: char) -> bool {
        let begins = matches!(c, '(' | '§' | '第' | '0'..='9' | 'A' | 'C' | 'S');
        begins && (self.breaks > 0 || self.blank && (self.pause || self.stop != Stop::No))
    }

    /// Returns the cost of a cut at a single line break.
    fn line_cost(&self, rest: &str, c: char) -> f32 {
        if matches!(c, ')' | ']' | '}') {
            return WRAP + HANGING;
        }
        let ends = self.stop != Stop::No || self.line_closes || self.indent < self.line_indent;
        if ends || is_item(rest) { LINE } else { WRAP }
    }

    /// Returns whether a sentence ends before `c`.
    fn sentence_ended(&self, c: char) -> bool {
        match self.stop {
            Stop::No => false,
            // A lower-case letter continues the sentence: "e.g. this", "Wait... what?"
            Stop::BeforeBlank => self.blank && !c.is_lowercase(),
            Stop::Always => self.blank || !(is_closer(c) || stop_of(c) != Stop::No),
        }
    }

    /// Reads a visible character that starts at `byte`, with the level of a structural cut before it.
    pub(super) fn visible(&mut self, text: &str, c: char, byte: usize, level: Option<u32>) {
        let begins_line = self.breaks > 0 || !self.started;
        if begins_line {
            self.follows_row = self.line_is_row && self.breaks == 1;
            self.line_is_row = is_row(&text[byte..]);
            self.line_is_rule = is_rule(&text[byte..]);
            self.line_length = 0;
            self.line_indent = self.indent;
            self.line_closes = matches!(c, ')' | ']' | '}');
            self.line_level = level;
        } else if let Some(level) = level {
            self.line_level = Some(self.line_level.map_or(level, |heading| heading.min(level)));
        }
        if begins_line || self.blank {
            self.word_is_first = begins_line;
        }
        if !self.started || self.begins_number(c) {
            let number = clause_number(&text[byte..]);
            let is_dotted = text[byte + number..].starts_with(['.', ':']);
            if number > 0 {
                self.number_end = byte + number + usize::from(is_dotted);
            }
        }
        self.in_number = byte < self.number_end;
        let closes = is_closer(c) && !self.blank && self.stop != Stop::No;
        if !closes {
            self.stop = match stop_of(c) {
                Stop::BeforeBlank if c == '.' && self.is_abbreviation(&text[self.word..byte]) => {
                    Stop::No
                }
                stop => stop,
            };
        }
        self.line_length += 1;
        self.colon = matches!(c, ':' | '：');
        self.pause = matches!(c, ';' | ',' | ':' | '；');
        (self.started, self.blank, self.breaks, self.indent) = (true, false, 0, 0);
    }

    /// Returns whether a point after this word is part of the word.
    fn is_abbreviation(&self, word: &str) -> bool {
        // The limit keeps the time linear for a megabyte of "a.b.c.".
        if word.len() > 16 {
            return false;
        }
        let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let letters = |part: &str| {
            let mut chars = part.chars();
            chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
        };
        let numbers_item = || self.word_is_first && word.bytes().all(|b| b.is_ascii_digit());
        let initial = || letters(word) && word.chars().all(char::is_uppercase);
        let dotted = || word.contains('.') && word.split('.').all(letters);
        ABBREVIATIONS.contains(&word) || numbers_item() || initial() || dotted()
    }
}
