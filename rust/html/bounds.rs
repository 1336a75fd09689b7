//! Bounds on the depth and the attributes of a page, before it is parsed.
//!
//! The parser looks through the open elements at many tags, and through the attributes of an element
//! at each further one: its time grows with the square of both. As browsers do, a page is made
//! flatter instead of being refused: tags that would open an element too deep are left out, with what
//! ends them, and so are attributes that are too many. The text stays.
//!
//! One pass follows the open elements by the rules of HTML that close them without a tag. Where it is
//! wrong about a page that is broken in some other way, a tag is left out too early, or too late.

use std::borrow::Cow;

use super::elements;

/// Open elements at most, as in browsers.
const MOST_OPEN: usize = 512;
/// Open formatting elements at most: each paragraph opens those again that were left open.
const MOST_FORMATTING: usize = 32;
/// Attributes of an element at most.
const MOST_ATTRIBUTES: usize = 256;

/// Returns the markup of a page within the bounds; `None` for one that is.
pub fn bounded(markup: &str) -> Option<String> {
    let mut pass = Pass {
        markup,
        copied: 0,
        kept: String::new(),
        open: Vec::new(),
        formatting: Vec::new(),
        left_out: Vec::new(),
        document_attributes: 0,
    };
    let mut at = 0;
    while let Some(found) = markup[at..].find('<') {
        at = pass.read(at + found);
    }
    if pass.copied == 0 {
        return None;
    }
    pass.kept.push_str(&markup[pass.copied..]);
    Some(pass.kept)
}

/// An element's name in lower case.
type Name<'a> = Cow<'a, str>;

struct Pass<'a> {
    markup: &'a str,
    /// Where what is not copied yet begins; 0 if nothing was left out.
    copied: usize,
    kept: String,
    open: Vec<Name<'a>>,
    /// Formatting elements that no tag has ended: they outlive the element they are in.
    formatting: Vec<Name<'a>>,
    /// Elements whose start was left out, and whose end did not come yet.
    left_out: Vec<Name<'a>>,
    /// Attributes of `<html>` and `<body>`, which are collected from all such tags.
    document_attributes: usize,
}

/// A tag, up to and with its `>`.
struct Scanned {
    end: usize,
    is_closed: bool,
    attributes: usize,
    /// Where the attributes begin that are too many.
    excess: Option<usize>,
}

impl<'a> Pass<'a> {
    /// Reads the tag or comment at a `<`; returns where to go on.
    fn read(&mut self, start: usize) -> usize {
        let bytes = self.markup.as_bytes();
        match bytes.get(start + 1) {
            Some(first) if first.is_ascii_alphabetic() => self.read_start(start),
            Some(b'/') if bytes.get(start + 2).is_some_and(u8::is_ascii_alphabetic) => {
                let (name, after) = read_name(self.markup, start + 2);
                let tag = scan(self.markup, after, MOST_ATTRIBUTES);
                if self.left_out.last() == Some(&name) {
                    self.left_out.pop();
                    self.leave_out(start, tag.end);
                } else {
                    self.close(&name);
                    self.shorten(&tag);
                }
                tag.end
            }
            Some(b'!') if bytes[start..].starts_with(b"<!--") => {
                comment_end(self.markup, start + 4)
            }
            Some(b'!' | b'?' | b'/') => find(self.markup, start + 1, ">"),
            _ => start + 1,
        }
    }

    fn read_start(&mut self, start: usize) -> usize {
        let (name, after) = read_name(self.markup, start + 1);
        let word = name.as_ref();
        let is_document = matches!(word, "html" | "body");
        let most = MOST_ATTRIBUTES
            - if is_document {
                self.document_attributes
            } else {
                0
            };
        let tag = scan(self.markup, after, most);
        if is_document {
            self.document_attributes += tag.attributes.min(most);
        }
        let is_empty = elements::is_void(word) || (tag.is_closed && self.is_foreign());
        if is_raw(word) && !is_empty {
            self.shorten(&tag);
            return raw_end(self.markup, tag.end, &name);
        }
        let fits = is_empty || is_document || word == "head" || self.open(name.clone());
        if fits {
            self.shorten(&tag);
        } else {
            self.left_out.push(name);
            self.leave_out(start, tag.end);
        }
        tag.end
    }

    fn shorten(&mut self, tag: &Scanned) {
        if let Some(excess) = tag.excess {
            self.leave_out(excess, tag.end);
            self.kept.push('>');
        }
    }

    fn leave_out(&mut self, start: usize, end: usize) {
        self.kept.push_str(&self.markup[self.copied..start]);
        self.copied = end;
    }

    fn is_foreign(&self) -> bool {
        let is_foreign = |name: &Name<'_>| matches!(name.as_ref(), "svg" | "math");
        self.open.iter().any(is_foreign)
    }

    /// Opens an element after those that its tag closes; returns false if it is too deep.
    fn open(&mut self, name: Name<'a>) -> bool {
        let word = name.as_ref();
        if is_formatting(word) {
            if matches!(word, "a" | "nobr") {
                self.formatting.retain(|open| *open != name);
            }
            return push(&mut self.formatting, name, MOST_FORMATTING);
        }
        self.close_before(word);
        push(&mut self.open, name, MOST_OPEN)
    }

    /// Closes what the start of an element closes.
    fn close_before(&mut self, word: &str) {
        if closes_paragraph(word) {
            self.close_back_to(&["p"], |open| is_scope(open) || open == "button");
        }
        match word {
            "li" => self.close_back_to(&["li"], is_item_border),
            "dd" | "dt" => self.close_back_to(&["dd", "dt"], is_item_border),
            "button" => self.close_back_to(&["button"], is_scope),
            "option" | "optgroup" => self.close_back_to(&["option"], |_| true),
            "rb" | "rt" | "rp" | "rtc" => self.close_back_to(&["rb", "rt", "rp", "rtc"], |_| true),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.close_back_to(&["h1", "h2", "h3", "h4", "h5", "h6"], |_| true);
            }
            "td" | "th" => self.close_back_to(&["td", "th"], is_table),
            "tr" => {
                self.close_back_to(&["td", "th"], is_table);
                self.close_back_to(&["tr"], is_table);
            }
            "tbody" | "thead" | "tfoot" | "caption" | "colgroup" => {
                for part in [
                    "td", "th", "tr", "tbody", "thead", "tfoot", "caption", "colgroup",
                ] {
                    self.close_back_to(&[part], is_table);
                }
            }
            "table" => {
                self.close_back_to(&["table"], |open| matches!(open, "td" | "th" | "caption"))
            }
            _ => {}
        }
    }

    /// Closes the innermost of some elements, with all within, unless a border is further in.
    fn close_back_to(&mut self, words: &[&str], is_border: impl Fn(&str) -> bool) {
        for (number, open) in self.open.iter().enumerate().rev() {
            let open = open.as_ref();
            if words.contains(&open) {
                self.open.truncate(number);
                return;
            }
            if is_border(open) {
                return;
            }
        }
    }

    /// Closes what the end of an element closes.
    fn close(&mut self, word: &str) {
        if is_formatting(word) {
            if let Some(number) = self.formatting.iter().rposition(|open| *open == word) {
                self.formatting.remove(number);
            }
        } else if matches!(
            word,
            "table" | "tbody" | "thead" | "tfoot" | "tr" | "td" | "th"
        ) {
            self.close_back_to(&[word], is_table);
        } else if is_special(word) {
            self.close_back_to(&[word], is_scope);
        } else {
            self.close_back_to(&[word], is_special);
        }
    }
}

fn push<'a>(open: &mut Vec<Name<'a>>, name: Name<'a>, most: usize) -> bool {
    let fits = open.len() < most;
    if fits {
        open.push(name);
    }
    fits
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

/// Reads the name of a tag; returns it and where it ends.
fn read_name(markup: &str, start: usize) -> (Name<'_>, usize) {
    let ends = |byte: u8| is_space(byte) || matches!(byte, b'/' | b'>');
    let length = markup[start..].bytes().position(ends);
    let end = length.map_or(markup.len(), |length| start + length);
    let written = &markup[start..end];
    let name = if written.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(written.to_ascii_lowercase())
    } else {
        Cow::Borrowed(written)
    };
    (name, end)
}

/// Reads the rest of a tag after its name.
fn scan(markup: &str, start: usize, most: usize) -> Scanned {
    let bytes = markup.as_bytes();
    let mut tag = Scanned {
        end: bytes.len(),
        is_closed: false,
        attributes: 0,
        excess: None,
    };
    let skip = |at: usize, passed: fn(u8) -> bool| {
        let length = bytes[at..].iter().position(|&byte| !passed(byte));
        length.map_or(bytes.len(), |length| at + length)
    };
    let mut at = start;
    loop {
        at = skip(at, |byte| is_space(byte) || byte == b'/');
        if at == bytes.len() {
            return tag;
        }
        if bytes[at] == b'>' {
            tag.end = at + 1;
            tag.is_closed = bytes[at - 1] == b'/';
            return tag;
        }
        tag.attributes += 1;
        if tag.attributes > most {
            tag.excess.get_or_insert(at);
        }
        // A name may begin with "=".
        at = skip(at + 1, |byte| {
            !is_space(byte) && !matches!(byte, b'/' | b'>' | b'=')
        });
        let after_name = skip(at, is_space);
        if bytes.get(after_name) != Some(&b'=') {
            continue;
        }
        at = skip(after_name + 1, is_space);
        at = match bytes.get(at) {
            Some(b'"') => find(markup, at + 1, "\""),
            Some(b'\'') => find(markup, at + 1, "'"),
            _ => skip(at, |byte| !is_space(byte) && byte != b'>'),
        };
    }
}

/// Returns where the first occurrence of a text ends, or the end.
fn find(markup: &str, start: usize, wanted: &str) -> usize {
    let found = markup[start..].find(wanted);
    found.map_or(markup.len(), |at| start + at + wanted.len())
}

fn comment_end(markup: &str, start: usize) -> usize {
    for empty in [">", "->"] {
        if markup[start..].starts_with(empty) {
            return start + empty.len();
        }
    }
    let mut at = start;
    while let Some(found) = markup[at..].find("--") {
        at += found;
        for end in ["-->", "--!>"] {
            if markup[at..].starts_with(end) {
                return at + end.len();
            }
        }
        at += 1;
    }
    markup.len()
}

/// Returns where the end tag of an element begins in which no other tag counts.
fn raw_end(markup: &str, start: usize, name: &str) -> usize {
    if name == "plaintext" {
        return markup.len();
    }
    let mut at = start;
    while let Some(found) = markup[at..].find("</") {
        at += found;
        if read_name(markup, at + 2).0 == name {
            return at;
        }
        at += 2;
    }
    markup.len()
}

fn is_raw(word: &str) -> bool {
    matches!(word, "textarea" | "title") || (word != "noscript" && elements::is_raw(word))
}

fn is_formatting(word: &str) -> bool {
    matches!(
        word,
        "a" | "b"
            | "big"
            | "code"
            | "em"
            | "font"
            | "i"
            | "nobr"
            | "s"
            | "small"
            | "strike"
            | "strong"
            | "tt"
            | "u"
    )
}

fn is_scope(word: &str) -> bool {
    matches!(
        word,
        "applet" | "caption" | "marquee" | "object" | "table" | "td" | "template" | "th"
    )
}

fn is_table(word: &str) -> bool {
    matches!(word, "table" | "template")
}

fn is_item_border(word: &str) -> bool {
    is_special(word) && !matches!(word, "address" | "div" | "p")
}

fn closes_paragraph(word: &str) -> bool {
    matches!(
        word,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "dir"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "li"
            | "listing"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "ul"
    )
}

fn is_special(word: &str) -> bool {
    closes_paragraph(word)
        || is_scope(word)
        || matches!(
            word,
            "button" | "select" | "tbody" | "tfoot" | "thead" | "tr"
        )
}
