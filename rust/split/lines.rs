//! Lines that say how they belong together: rows and rules of tables, terms above their definitions.

/// Bytes of a line, and lines, that are looked at; the time stays linear in the length of a text.
const LOOKED_AT: usize = 240;
const LINES: usize = 8;

/// Returns whether a text begins with the row of a table: cells between tabs or bars.
pub(super) fn is_row(text: &str) -> bool {
    let line = first_line(text);
    line.starts_with('|') || line.trim_end().contains('\t')
}

/// Returns whether a text begins with a rule: a line of three or more hyphens, equals signs, bars and
/// colons.
pub(super) fn is_rule(text: &str) -> bool {
    let line = first_line(text).trim_end();
    line.len() >= 3
        && line.contains(['-', '='])
        && line.bytes().all(|byte| b"-=+|: \t".contains(&byte))
}

/// Returns whether a text begins with lines of this indentation, or one, above a line that is
/// indented by more: the terms of a definition, or the first line of a block.
pub(super) fn hangs_below(text: &str, indent: u32) -> bool {
    let mut rest = text;
    for _ in 0..LINES {
        let line = first_line(rest);
        let ends_open = line
            .trim_end()
            .ends_with(|c: char| c.is_alphanumeric() || ">])}*'\"`".contains(c));
        let Some(next) = rest[line.len()..].strip_prefix('\n') else {
            return false;
        };
        let below = next.trim_start_matches([' ', '\t']);
        let blanks = &next[..next.len() - below.len()];
        let columns: u32 = blanks.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
        if below.is_empty() || below.starts_with('\n') || columns < indent || !ends_open {
            return false;
        }
        if columns > indent {
            return true;
        }
        rest = below;
    }
    false
}

/// Returns the first line of a text, or what of it is looked at.
fn first_line(text: &str) -> &str {
    let mut end = text.len().min(LOOKED_AT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let line = &text[..end];
    line.find('\n').map_or(line, |newline| &line[..newline])
}
