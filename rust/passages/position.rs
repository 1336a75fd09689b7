//! The marks around a position: the sections that it is in, and the other marks beside it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// Marks of a text around a position.
#[derive(Debug, PartialEq, Eq)]
pub struct Position {
    /// The labels of the headings and definitions that it is in, outermost first.
    pub headings: Vec<String>,
    /// The marks of other kinds, as JSON, or "" if there are none.
    pub others: String,
}

/// The fields of a mark that tell where it is.
#[derive(Deserialize)]
struct Mark<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    start: u64,
    end: u64,
    #[serde(borrow)]
    label: Cow<'a, str>,
}

/// Returns the marks around a position; `marks` is a JSON list of marks.
///
/// # Errors
/// [`Error::Invalid`] for another JSON value.
pub fn position_in(marks: &str, at: u64) -> Result<Position> {
    let wrong = |error| Error::Invalid(format!("marks: {error}; give a list of marks"));
    let marks: Vec<&RawValue> = serde_json::from_str(marks).map_err(wrong)?;
    let mut around: Vec<Mark<'_>> = Vec::new();
    let mut others = String::new();
    for json in marks {
        let mark: Mark<'_> = serde_json::from_str(json.get()).map_err(wrong)?;
        if !matches!(&*mark.kind, "heading" | "definition") {
            others.push(if others.is_empty() { '[' } else { ',' });
            others.push_str(json.get());
        } else if mark.start <= at && at < mark.end {
            around.push(mark);
        }
    }
    if !others.is_empty() {
        others.push(']');
    }
    around.sort_by_key(|mark| (mark.start, u64::MAX - mark.end));
    let headings = around.into_iter().map(|mark| mark.label.into_owned());
    Ok(Position {
        headings: headings.collect(),
        others,
    })
}

/// Returns the number of line breaks among the first code points of a text.
pub fn line_breaks(text: &str, chars: usize) -> usize {
    let is_break = |&byte: &u8| byte == b'\n';
    if text.is_ascii() {
        let bytes = text.as_bytes();
        return bytes[..chars.min(bytes.len())]
            .iter()
            .filter(|byte| is_break(byte))
            .count();
    }
    text.chars().take(chars).filter(|&c| c == '\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_are_counted_before_a_code_point() {
        for text in ["a\nb\n\nc", "é\nb\n\nc"] {
            let counts: Vec<usize> = (0..9).map(|chars| line_breaks(text, chars)).collect();
            assert_eq!(counts, [0, 0, 1, 1, 2, 3, 3, 3, 3], "{text}");
        }
    }

    #[test]
    fn a_position_is_in_sections_and_beside_other_marks() {
        let marks = r#"[
            {"kind": "heading", "start": 0, "end": 30, "label": "A \"1\"", "level": 1},
            {"kind":"page","start":0,"end":20,"label":"7"},
            {"kind": "definition", "start": 5, "end": 9, "label": "f", "level": 2},
            {"kind": "heading", "start": 5, "end": 30, "label": "B", "level": 2},
            {"kind":"row","start":20,"end":30,"label":"8"}
        ]"#;
        let others = concat!(
            r#"[{"kind":"page","start":0,"end":20,"label":"7"},"#,
            r#"{"kind":"row","start":20,"end":30,"label":"8"}]"#
        );
        let headings_at = |at| position_in(marks, at).map(|found| found.headings);
        assert_eq!(
            headings_at(5),
            Ok(vec!["A \"1\"".into(), "B".into(), "f".into()])
        );
        assert_eq!(headings_at(9), Ok(vec!["A \"1\"".into(), "B".into()]));
        assert_eq!(headings_at(30), Ok(vec![]));
        assert_eq!(
            position_in(marks, 1).map(|found| found.others),
            Ok(others.into())
        );
        let none = Position {
            headings: vec![],
            others: String::new(),
        };
        assert_eq!(position_in("[]", 1), Ok(none));
        assert!(position_in("{}", 1).is_err());
    }
}
