//! The layout of a page's text.

use std::collections::HashSet;

use super::elements::Tag;
use super::tree::{Content, Element, Tree};
use super::whitespace::{collapse, is_blank, normalize, squeeze};

/// What a definition is indented by below its term, as in a man page.
const INDENT: &str = "    ";
/// Levels of definitions that are indented; a page could nest more and more.
const DEEPEST: usize = 8;
/// Nodes of a part of a formula that are looked at.
const LOOKED_AT: usize = 64;

/// The text of a page, which may be empty, and its headings in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PageText {
    /// The text, without white space at its end.
    pub text: String,
    /// The headings that have a label and are within the text.
    pub headings: Vec<Heading>,
}

/// A heading of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Heading {
    /// The code point at which it starts.
    pub start: usize,
    /// Its text on one line.
    pub label: String,
    /// 1 to 6.
    pub level: u8,
}

/// Returns the text of some nodes without hidden elements and some others.
pub fn lay_out(
    tree: &Tree<'_>,
    roots: impl IntoIterator<Item = usize>,
    left_out: &HashSet<usize>,
) -> PageText {
    let mut page = Layout::default();
    for root in roots {
        page.lay_out(tree, root, left_out);
    }
    page.finish()
}

/// An element whose content is being laid out.
struct Open {
    node: usize,
    element: Element,
    /// The parts of a formula so far.
    parts: usize,
    /// Whether it is such a part, in parentheses.
    is_grouped: bool,
}

impl Open {
    /// Returns what stands between its parts if it is a fraction or a power.
    fn operator(&self) -> Option<&'static str> {
        self.element.tag.operator()
    }
}

/// Returns whether an element has more than one text, but for white space, in its first nodes.
fn is_several(tree: &Tree<'_>, node: usize) -> bool {
    let nodes = &tree.nodes()[node..tree.nodes()[node].end];
    let is_text = |content: &Content<'_>| match content {
        Content::Text(text) => !text.trim().is_empty(),
        Content::Element(_) => false,
    };
    let first = nodes.iter().take(LOOKED_AT);
    first.filter(|each| is_text(&each.content)).count() > 1
}

/// The text so far, and the separator before the next piece: newlines, a bullet, a space.
#[derive(Default)]
struct Layout {
    text: String,
    /// Code points of the text.
    length: usize,
    newlines: u8,
    prefix: String,
    space: bool,
    cells: usize,
    /// The bytes before each of the enclosing rows.
    row_starts: Vec<usize>,
    preformatted: usize,
    /// The enclosing definitions.
    definitions: usize,
    /// Whether the innermost of them has no text so far.
    begins_definition: bool,
    /// Of the enclosing lists: the last number, or `None` for bullets.
    counters: Vec<Option<usize>>,
    /// The enclosing headings: the code point at which each will start, and the bytes before it.
    open_headings: Vec<(usize, usize)>,
    headings: Vec<Heading>,
}

impl Layout {
    fn lay_out(&mut self, tree: &Tree<'_>, root: usize, left_out: &HashSet<usize>) {
        let nodes = tree.nodes();
        let mut open: Vec<Open> = Vec::new();
        let mut node = root;
        while node < nodes[root].end {
            while let Some(inner) = open.pop_if(|inner| nodes[inner.node].end <= node) {
                self.leave(&inner);
            }
            match &nodes[node].content {
                Content::Text(text) => {
                    let operator = open.last().and_then(Open::operator);
                    if operator.is_none() || !text.trim().is_empty() {
                        self.add(&normalize(text));
                    }
                    node += 1;
                }
                Content::Element(element) => {
                    if element.is_dropped || element.is_hidden || left_out.contains(&node) {
                        node = nodes[node].end;
                    } else {
                        let is_grouped = open
                            .last_mut()
                            .is_some_and(|outer| self.begin_part(outer, tree, node));
                        self.open(*element);
                        open.push(Open {
                            node,
                            element: *element,
                            parts: 0,
                            is_grouped,
                        });
                        node += 1;
                    }
                }
            }
        }
        while let Some(inner) = open.pop() {
            self.leave(&inner);
        }
    }

    /// Adds what stands before a part of a formula. Returns whether the part is in parentheses.
    fn begin_part(&mut self, outer: &mut Open, tree: &Tree<'_>, node: usize) -> bool {
        let Some(operator) = outer.operator() else {
            return false;
        };
        if outer.parts > 0 {
            self.add(operator);
        }
        outer.parts += 1;
        let is_grouped = is_several(tree, node);
        if is_grouped {
            self.add("(");
        }
        is_grouped
    }

    fn leave(&mut self, inner: &Open) {
        self.close(inner.element);
        if inner.is_grouped {
            self.add(")");
        }
    }

    fn add(&mut self, text: &str) {
        if self.preformatted > 0 && !text.is_empty() {
            self.add_verbatim(text);
        } else {
            self.add_words(text);
        }
    }

    /// Adds running text; a run of white space becomes one space.
    fn add_words(&mut self, text: &str) {
        let collapsed = collapse(text);
        if collapsed.starts_with(' ') {
            self.space = true;
        }
        let core = collapsed.trim_matches(' ');
        if !core.is_empty() {
            self.add_verbatim(core);
            self.space = collapsed.ends_with(' ');
        }
    }

    /// Adds text as it is.
    fn add_verbatim(&mut self, text: &str) {
        let begins_line = self.length == 0 || self.newlines > 0;
        if self.length > 0 {
            for _ in 0..self.newlines {
                self.put("\n");
            }
        }
        if begins_line {
            self.put(&self.indent());
        }
        if !self.prefix.is_empty() {
            let prefix = std::mem::take(&mut self.prefix);
            self.put(&prefix);
        } else if self.space && self.length > 0 && self.newlines == 0 {
            self.put(" ");
        }
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.put("\n");
            }
            if at > 0 && !line.is_empty() {
                self.put(&self.indent());
            }
            self.put(line);
        }
        self.newlines = 0;
        self.space = false;
        self.begins_definition = false;
    }

    /// Returns the white space before a line of the enclosing definitions.
    fn indent(&self) -> String {
        INDENT.repeat(self.definitions.min(DEEPEST))
    }

    /// Starts the next piece on a new line (1) or after a blank one (2).
    ///
    /// Nothing changes directly after a bullet, nor within a table's cell, which stays on the line of
    /// its row.
    fn break_line(&mut self, newlines: u8) {
        if newlines == 0 {
            return;
        }
        if self.cells > 0 || !self.prefix.is_empty() {
            self.space = true;
        } else {
            self.newlines = self.newlines.max(newlines);
        }
        // The term is the line above its definition.
        if self.begins_definition {
            self.newlines = self.newlines.min(1);
        }
    }

    fn open(&mut self, element: Element) {
        self.break_line(element.newlines);
        match element.tag {
            Tag::Preformatted => self.preformatted += 1,
            Tag::Cell if !element.is_data_cell => self.break_line(1),
            Tag::Cell => {
                if element.follows_cell {
                    if self.row_has_text() {
                        self.newlines = 0;
                    }
                    self.prefix.push('\t');
                }
                self.cells += 1;
            }
            Tag::Item => {
                self.prefix = match self.counters.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{number}. ")
                    }
                    _ => "- ".to_owned(),
                };
            }
            Tag::Row => self.row_starts.push(self.text.len()),
            Tag::Definition => {
                self.definitions += 1;
                self.begins_definition = true;
                self.newlines = self.newlines.min(1);
            }
            Tag::BulletList => self.counters.push(None),
            Tag::NumberedList => self.counters.push(Some(0)),
            Tag::Heading(_) => self
                .open_headings
                .push((self.next_start(), self.text.len())),
            _ => {}
        }
    }

    fn close(&mut self, element: Element) {
        match element.tag {
            Tag::Preformatted => self.preformatted -= 1,
            Tag::Cell => self.cells -= usize::from(element.is_data_cell),
            // Of an empty item, or of empty cells at a row's end.
            Tag::Item => self.prefix.clear(),
            Tag::Row => {
                self.prefix.clear();
                self.row_starts.pop();
            }
            Tag::BulletList | Tag::NumberedList => {
                self.counters.pop();
            }
            Tag::Definition => {
                self.definitions -= 1;
                self.begins_definition = false;
            }
            Tag::Heading(level) => {
                if let Some((start, at)) = self.open_headings.pop() {
                    let label = squeeze(&self.text[at..]);
                    self.headings.push(Heading {
                        start,
                        label,
                        level,
                    });
                }
            }
            _ => {}
        }
        self.break_line(element.newlines);
    }

    /// Returns whether the row's earlier cells have text.
    fn row_has_text(&self) -> bool {
        self.row_starts
            .last()
            .is_none_or(|&start| self.text.len() > start)
    }

    /// Returns the code point at which the next piece will start.
    fn next_start(&self) -> usize {
        match (self.length, self.newlines) {
            (0, _) => self.indent().len(),
            (length, 0) => length,
            (length, newlines) => length + usize::from(newlines) + self.indent().len(),
        }
    }

    fn finish(mut self) -> PageText {
        let end = self.text.trim_end_matches(is_blank).len();
        self.text.truncate(end);
        let length = self.text.chars().count();
        self.headings
            .retain(|heading| !heading.label.is_empty() && heading.start < length);
        self.headings.sort_by_key(|heading| heading.start);
        PageText {
            text: self.text,
            headings: self.headings,
        }
    }

    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.length += text.chars().count();
    }
}
