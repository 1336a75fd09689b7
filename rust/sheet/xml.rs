//! A parser of XML that is fed pieces of a text, whatever their borders.
//!
//! It checks that tags are closed in order and refuses a text that declares entities. Names lose
//! their prefixes.

use std::borrow::Cow;

use memchr::{memchr, memchr3, memmem};

use crate::error::{Error, Result};

/// The longest tag, text or comment in bytes: a cell has at most 32,767 characters.
const LONGEST_TOKEN: usize = 16 << 20;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The receiver of the elements and the texts of a part; names are without prefixes.
pub(super) trait Handler {
    /// Begins an element.
    fn start(&mut self, name: &str, attributes: Attributes<'_>);
    /// Ends an element.
    fn end(&mut self, name: &str);
    /// Takes a text, or a part of one.
    fn text(&mut self, text: &str);
}

/// The attributes of an element, as they are written.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a>(&'a str);

impl<'a> Attributes<'a> {
    /// Returns the value of an attribute.
    pub(super) fn get(self, name: &str) -> Option<Cow<'a, str>> {
        let mut rest = self.0;
        while let Some((key, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let quote = after
                .chars()
                .next()
                .filter(|first| "\"'".contains(*first))?;
            let (value, after) = after[1..].split_once(quote)?;
            if key.trim() == name {
                return unescape(value).ok();
            }
            rest = after;
        }
        None
    }
}

/// The state of a parser between two pieces.
#[derive(Default)]
pub(super) struct Parser {
    /// Bytes of a token that has not ended.
    rest: Vec<u8>,
    /// The names of the open elements, one after the other, and where each begins.
    names: String,
    open: Vec<usize>,
    has_begun: bool,
    has_root: bool,
}

impl Parser {
    /// Parses what a piece completes.
    pub(super) fn feed(&mut self, piece: &[u8], handler: &mut impl Handler) -> Result<()> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(piece);
        let mut at = 0;
        if !self.has_begun && bytes.len() >= BYTE_ORDER_MARK.len() {
            self.has_begun = true;
            at = if bytes.starts_with(BYTE_ORDER_MARK) {
                BYTE_ORDER_MARK.len()
            } else {
                0
            };
        }
        while let Some(length) = self.take_token(&bytes[at..], handler)? {
            at += length;
        }
        bytes.drain(..at);
        if bytes.len() > LONGEST_TOKEN {
            return Err(Error::Invalid(
                "has a cell or a tag of more than 16 MB; split or remove it".into(),
            ));
        }
        self.rest = bytes;
        Ok(())
    }

    /// Fails if the text has not ended.
    pub(super) fn close(&self) -> Result<()> {
        let is_blank = self.rest.iter().all(u8::is_ascii_whitespace);
        if is_blank && self.has_root && self.open.is_empty() {
            Ok(())
        } else {
            Err(malformed())
        }
    }

    /// Parses the first token and returns its length, None if it has not ended.
    fn take_token(&mut self, bytes: &[u8], handler: &mut impl Handler) -> Result<Option<usize>> {
        if !bytes.starts_with(b"<") {
            return self.take_text(bytes, handler);
        }
        let until = |end: &[u8]| memmem::find(bytes, end).map(|at| at + end.len());
        const CDATA: &[u8] = b"<![CDATA[";
        if bytes.starts_with(b"<?") {
            return Ok(until(b"?>"));
        }
        if bytes.starts_with(b"<!--") {
            return Ok(memmem::find(bytes.get(4..).unwrap_or(b""), b"-->").map(|at| at + 7));
        }
        if bytes.starts_with(CDATA) {
            let length = until(b"]]>");
            if let Some(end) = length {
                handler.text(decode(&bytes[CDATA.len()..end - 3])?);
            }
            return Ok(length);
        }
        if CDATA.starts_with(bytes) || b"<!--".starts_with(bytes) {
            return Ok(None);
        }
        if bytes.starts_with(b"<!") {
            return take_declaration(bytes);
        }
        let Some(end) = tag_end(bytes) else {
            return Ok(None);
        };
        self.take_tag(decode(&bytes[1..end])?, handler)?;
        Ok(Some(end + 1))
    }

    fn take_text(&mut self, bytes: &[u8], handler: &mut impl Handler) -> Result<Option<usize>> {
        let Some(end) = memchr(b'<', bytes) else {
            return Ok(None);
        };
        let text = decode(&bytes[..end])?;
        if !self.open.is_empty() {
            handler.text(&unescape(text)?);
        } else if !text.trim_ascii().is_empty() {
            return Err(malformed());
        }
        Ok(Some(end))
    }

    /// Takes a tag without its brackets.
    fn take_tag(&mut self, tag: &str, handler: &mut impl Handler) -> Result<()> {
        if let Some(name) = tag.strip_prefix('/') {
            return self.end(name.trim_end(), handler);
        }
        let (tag, is_empty) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let end = tag
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(end);
        if name.is_empty() || name.contains(['<', '=', '"', '\'', '&']) {
            return Err(malformed());
        }
        if self.open.is_empty() && self.has_root {
            return Err(malformed());
        }
        self.has_root = true;
        handler.start(local(name), Attributes(attributes));
        if is_empty {
            handler.end(local(name));
        } else {
            self.open.push(self.names.len());
            self.names.push_str(name);
        }
        Ok(())
    }

    fn end(&mut self, name: &str, handler: &mut impl Handler) -> Result<()> {
        match self.open.pop() {
            Some(start) if &self.names[start..] == name => self.names.truncate(start),
            _ => return Err(malformed()),
        }
        handler.end(local(name));
        Ok(())
    }
}

/// Returns the length of a declaration such as `<!DOCTYPE ...>`, None if it has not ended.
fn take_declaration(bytes: &[u8]) -> Result<Option<usize>> {
    let first = tag_end(bytes).map(|end| end + 1);
    let has_subset = memchr(b'[', &bytes[..first.unwrap_or(bytes.len())]).is_some();
    let length = match has_subset {
        true => memmem::find(bytes, b"]>").map(|at| at + 2),
        false => first,
    };
    if memmem::find(&bytes[..length.unwrap_or(bytes.len())], b"<!ENTITY").is_some() {
        return Err(Error::Invalid(
            "declares XML entities, which crx does not expand".into(),
        ));
    }
    Ok(length)
}

/// Returns where the `>` of a tag is, which may also be in the value of an attribute.
fn tag_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr3(b'>', b'"', b'\'', bytes.get(at..)?)?;
        if bytes[at] == b'>' {
            return Some(at);
        }
        at += 2 + memchr(bytes[at], bytes.get(at + 1..)?)?;
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, name)| name)
}

fn decode(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| malformed())
}

/// Returns a text with its references replaced by their characters.
fn unescape(text: &str) -> Result<Cow<'_, str>> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let mut whole = String::with_capacity(text.len());
    let mut pieces = text.split('&');
    whole.push_str(pieces.next().unwrap_or(""));
    for piece in pieces {
        let (name, after) = piece.split_once(';').ok_or_else(malformed)?;
        whole.push(character(name).ok_or_else(malformed)?);
        whole.push_str(after);
    }
    Ok(Cow::Owned(whole))
}

/// Returns the character of a reference, by the name between `&` and `;`.
fn character(name: &str) -> Option<char> {
    let number = match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => name.strip_prefix('#')?,
    };
    let code = match number.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    code.ok().and_then(char::from_u32)
}

pub(super) fn malformed() -> Error {
    Error::Invalid("is not well-formed XML".into())
}
