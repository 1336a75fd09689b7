//! The texts of cells as one line each.

/// Adds a text with a single space for each run of white space, and for NULs.
pub(super) fn push_line(line: &mut String, text: &str) {
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte);
    let bytes = text.as_bytes();
    let has_odd_spaces =
        bytes.first() == Some(&b' ') || bytes.last() == Some(&b' ') || text.contains("  ");
    if !has_odd_spaces && bytes.iter().copied().all(is_plain) {
        line.push_str(text);
        return;
    }
    let start = line.len();
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if line.len() > start {
            line.push(' ');
        }
        line.push_str(word);
    }
}

/// Returns whether a character separates words: as Python has it, with NUL.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\0' | '\x1c'..='\x1f')
}

/// Returns a text without the escapes (`_x000D_`) of characters that XML cannot hold.
pub(super) fn without_escapes(text: String) -> String {
    if !text.contains("_x") {
        return text;
    }
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut plain = Vec::with_capacity(units.len());
    let mut at = 0;
    while let Some(&unit) = units.get(at) {
        let escaped = units.get(at..at + 7).and_then(escaped_unit);
        plain.push(escaped.unwrap_or(unit));
        at += if escaped.is_some() { 7 } else { 1 };
    }
    String::from_utf16_lossy(&plain)
}

fn escaped_unit(escape: &[u16]) -> Option<u16> {
    let escape = String::from_utf16(escape).ok()?;
    let digits = escape.strip_prefix("_x")?.strip_suffix('_')?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex {
        u16::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}
