//! A page as an array of nodes in the order of its markup.

use std::borrow::Cow;

use super::attributes::{
    Attributes, has_main_role, is_around, is_boilerplate, is_boilerplate_of_links,
};
use super::elements::{Tag, is_article, is_dropped, is_raw, is_void, newlines};

/// An element or a text.
pub struct Node<'a> {
    /// The number of the node after the last one within this.
    pub end: usize,
    /// Text, or what an element is.
    pub content: Content<'a>,
}

/// What a node is.
pub enum Content<'a> {
    /// A text, decoded.
    Text(Cow<'a, str>),
    /// An element.
    Element(Element),
}

/// What is known of an element.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Element {
    pub tag: Tag,
    /// Newlines before and after it.
    pub newlines: u8,
    /// Its content is no text of the page.
    pub is_dropped: bool,
    /// A browser does not show it.
    pub is_hidden: bool,
    /// A footer within it is content.
    pub is_article: bool,
    pub is_main: bool,
    /// Boilerplate wherever it is.
    pub is_boilerplate: bool,
    /// Boilerplate unless it is part of an article.
    pub is_around: bool,
    /// Boilerplate if it has no heading of its own and most of it is links.
    pub is_boilerplate_of_links: bool,
    /// It has a target.
    pub is_link: bool,
    /// Its target is on the same page.
    pub is_fragment: bool,
    /// A cell of data: none of a table that lays out a page.
    pub is_data_cell: bool,
    /// A cell of a table that is not the first of its row.
    pub follows_cell: bool,
}

/// The nodes of a page; the first is the root.
pub struct Tree<'a> {
    nodes: Vec<Node<'a>>,
}

/// An element that is not closed yet.
struct Open<'a> {
    name: &'a str,
    node: usize,
    /// The tag of the last element directly within it.
    last: Option<Tag>,
    has_cell: bool,
    /// It contains what lays out a page, or two paragraphs.
    has_layout: bool,
}

impl<'a> Tree<'a> {
    /// Reads the serialized markup of one element. An end that nothing opened is passed over.
    pub fn parse(markup: &'a str, ignore_case: bool) -> Self {
        let mut builder = Builder {
            nodes: Vec::new(),
            open: Vec::new(),
            ignore_case,
        };
        let mut rest = markup;
        while !rest.is_empty() {
            rest = builder.read(rest);
        }
        while !builder.open.is_empty() {
            builder.close();
        }
        Tree {
            nodes: builder.nodes,
        }
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    /// The element of a node, unless it is a text.
    pub fn element(&self, node: usize) -> Option<&Element> {
        match &self.nodes[node].content {
            Content::Element(element) => Some(element),
            Content::Text(_) => None,
        }
    }
}

struct Builder<'a> {
    nodes: Vec<Node<'a>>,
    open: Vec<Open<'a>>,
    ignore_case: bool,
}

impl<'a> Builder<'a> {
    /// Reads the next text, tag or comment; returns what comes after it.
    fn read(&mut self, rest: &'a str) -> &'a str {
        let Some(markup) = rest.strip_prefix('<') else {
            let end = rest.find('<').unwrap_or(rest.len());
            self.add_text(unescape(&rest[..end]));
            return &rest[end..];
        };
        if let Some(comment) = markup.strip_prefix("!--") {
            return after(comment, "-->");
        }
        if markup.starts_with(['!', '?']) {
            return after(markup, ">");
        }
        if let Some(end) = markup.strip_prefix('/') {
            let (name, rest) = end.split_once('>').unwrap_or((end, ""));
            if self.open.last().is_some_and(|open| open.name == name) {
                self.close();
            }
            return rest;
        }
        let name_end = markup.find([' ', '>']).unwrap_or(markup.len());
        let (name, rest) = markup.split_at(name_end);
        let (attributes, rest) = read_attributes(rest);
        self.open(name, &attributes);
        if name == "img"
            && let Some(description) = attributes.description()
        {
            self.add_text(Cow::Owned(description));
        }
        if is_void(name) {
            self.close();
        } else if is_raw(name) {
            return self.read_raw(name, rest);
        }
        rest
    }

    /// Reads the text of an element in which nothing is escaped; returns what begins with its end.
    fn read_raw(&mut self, name: &str, rest: &'a str) -> &'a str {
        let end = format!("</{name}>");
        // Nothing ends `<plaintext>`: its text may contain what looks like its end.
        let at = match name {
            "plaintext" => rest.rfind(&end),
            _ => rest.find(&end),
        };
        let (text, rest) = rest.split_at(at.unwrap_or(rest.len()));
        self.add_text(Cow::Borrowed(text));
        rest
    }

    fn add_text(&mut self, text: Cow<'a, str>) {
        if !self.open.is_empty() && !text.is_empty() {
            let end = self.nodes.len() + 1;
            let content = Content::Text(text);
            self.nodes.push(Node { end, content });
        }
    }

    fn open(&mut self, name: &'a str, attributes: &Attributes<'_>) {
        let (tag, ignore_case) = (Tag::of(name), self.ignore_case);
        let mut follows_cell = false;
        let mut has_layout = tag.is_layout();
        if let Some(parent) = self.open.last_mut() {
            follows_cell = parent.has_cell;
            parent.has_cell |= tag == Tag::Cell;
            has_layout |= tag == Tag::Paragraph && parent.last == Some(Tag::Paragraph);
            parent.has_layout |= has_layout;
            parent.last = Some(tag);
        }
        let node = self.nodes.len();
        self.nodes.push(Node {
            end: node,
            content: Content::Element(Element {
                tag,
                newlines: newlines(name),
                is_dropped: is_dropped(name),
                is_hidden: attributes.is_hidden(),
                is_article: is_article(name),
                is_main: tag == Tag::Main || has_main_role(attributes),
                is_boilerplate: is_boilerplate(name, tag, attributes, ignore_case),
                is_around: is_around(name, attributes, ignore_case),
                is_boilerplate_of_links: is_boilerplate_of_links(name, attributes, ignore_case),
                is_link: tag == Tag::Link && attributes.href.is_some(),
                is_fragment: attributes
                    .href
                    .as_deref()
                    .is_some_and(|href| href.starts_with('#')),
                is_data_cell: false,
                follows_cell,
            }),
        });
        self.open.push(Open {
            name,
            node,
            last: None,
            has_cell: false,
            has_layout: false,
        });
    }

    /// Closes the innermost element. What a template contains is not part of the page.
    fn close(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let is_template = open.name == "template";
        if is_template {
            self.nodes.truncate(open.node + 1);
        } else if let Some(parent) = self.open.last_mut() {
            parent.has_layout |= open.has_layout;
        }
        let end = self.nodes.len();
        let node = &mut self.nodes[open.node];
        node.end = end;
        if let Content::Element(element) = &mut node.content {
            element.is_data_cell = element.tag == Tag::Cell && !open.has_layout;
        }
    }
}

/// Reads attributes up to the end of a tag; returns them and what comes after the tag.
fn read_attributes(markup: &str) -> (Attributes<'_>, &str) {
    let mut attributes = Attributes::default();
    let mut rest = markup;
    loop {
        rest = rest.trim_start_matches(' ');
        if let Some(rest) = rest.strip_prefix('>') {
            return (attributes, rest);
        }
        // A name may begin with "=".
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let name_end = rest[first..]
            .find(['=', ' ', '>'])
            .map_or(rest.len(), |at| first + at);
        if name_end == 0 {
            return (attributes, "");
        }
        let (name, after_name) = rest.split_at(name_end);
        let Some(quoted) = after_name.strip_prefix("=\"") else {
            attributes.set(name, Cow::Borrowed(""));
            rest = after_name.strip_prefix('=').unwrap_or(after_name);
            continue;
        };
        let (value, after_value) = quoted.split_once('"').unwrap_or((quoted, ""));
        attributes.set(name, unescape(value));
        rest = after_value;
    }
}

/// Returns what comes after the first occurrence of a text, or nothing.
fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// Decodes the characters that a serializer escapes.
fn unescape(text: &str) -> Cow<'_, str> {
    const ESCAPED: [(&str, char); 5] = [
        ("amp;", '&'),
        ("lt;", '<'),
        ("gt;", '>'),
        ("nbsp;", '\u{a0}'),
        ("quot;", '"'),
    ];
    let Some((first, rest)) = text.split_once('&') else {
        return Cow::Borrowed(text);
    };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(first);
    for piece in rest.split('&') {
        let found = ESCAPED.iter().find_map(|&(name, char)| {
            let rest = piece.strip_prefix(name)?;
            Some((char, rest))
        });
        let (char, rest) = found.unwrap_or(('&', piece));
        decoded.push(char);
        decoded.push_str(rest);
    }
    Cow::Owned(decoded)
}
