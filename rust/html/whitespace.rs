//! White space of HTML, and newlines as documents have them.

use std::borrow::Cow;

/// The white space that HTML collapses. (Other spaces, such as the no-break space, are kept.)
pub fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// White space at the end of a text, and what does not count as its content.
pub fn is_blank(char: char) -> bool {
    char.is_whitespace() || matches!(char, '\x1c'..='\x1f')
}

/// Returns a text with "\n" newlines. A form feed at the edge of a line goes, and else is a blank.
pub fn normalize(text: &str) -> Cow<'_, str> {
    if !text.contains(['\r', '\x0c']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut normalized = String::with_capacity(text.len());
    let mut before = '\n';
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\x0c' if before == '\n' || chars.peek().is_none_or(|&next| next == '\n') => {}
            '\x0c' => normalized.push(' '),
            other => normalized.push(other),
        }
        before = char;
    }
    Cow::Owned(normalized)
}

/// Returns a text on one line: each run of white space is one blank, none is at its ends.
pub fn squeeze(text: &str) -> String {
    collapse(&normalize(text)).trim_matches(is_blank).to_owned()
}

/// Returns a text in which each run of white space is one blank.
pub fn collapse(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    let mut in_space = false;
    for char in text.chars() {
        let space = is_space(char);
        if !space {
            collapsed.push(char);
        } else if !in_space {
            collapsed.push(' ');
        }
        in_space = space;
    }
    collapsed
}
