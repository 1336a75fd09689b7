//! The strings that the sheets of a workbook share.

use std::sync::Arc;

use crate::error::Result;

use super::text::{push_line, without_escapes};
use super::xml::{Attributes, Handler, Parser};

/// The shared strings so far, each as one line without its readings.
#[derive(Default)]
pub struct SharedStrings {
    parser: Parser,
    found: Found,
}

#[derive(Default)]
struct Found {
    strings: Vec<Box<str>>,
    text: String,
    is_text: bool,
    readings: usize,
}

impl SharedStrings {
    /// Parses a piece of the part.
    pub fn feed(&mut self, piece: &[u8]) -> Result<()> {
        self.parser.feed(piece, &mut self.found)
    }

    /// Returns the strings; fails if the part has not ended.
    pub fn close(&mut self) -> Result<Arc<[Box<str>]>> {
        self.parser.close()?;
        Ok(std::mem::take(&mut self.found.strings).into())
    }
}

impl Handler for Found {
    fn start(&mut self, name: &str, _: Attributes<'_>) {
        match name {
            "si" => self.text.clear(),
            "rPh" => self.readings += 1,
            _ => {}
        }
        self.is_text = name == "t" && self.readings == 0;
    }

    fn end(&mut self, name: &str) {
        self.is_text = false;
        match name {
            "rPh" => self.readings -= 1,
            "si" => {
                let mut line = String::new();
                push_line(&mut line, &without_escapes(std::mem::take(&mut self.text)));
                self.strings.push(line.into());
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_text {
            self.text.push_str(text);
        }
    }
}
