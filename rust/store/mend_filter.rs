//! Values of a filter, in the form in which documents have them.
//!
//! A person writes `ext=.MD`, `lang=english` or `from=zofia`; documents have `md`, `en` and
//! `zofia.nowak@example.org`.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use super::select::{WILDCARDS, is_person};
use crate::analyze::lang_code;
use crate::code::extensions;

/// A longer name is compared as it is: each of its letters is four characters of a glob, whose
/// longest has 1,000.
const LONGEST_NAME: usize = 200;
/// Extensions and other names of formats, beside those of source code.
const FORMATS: [(&str, &str); 12] = [
    ("md", "markdown"),
    ("mdown", "markdown"),
    ("mkd", "markdown"),
    ("txt", "text"),
    ("plain", "text"),
    ("htm", "html"),
    ("xhtml", "html"),
    ("mail", "eml"),
    ("email", "eml"),
    ("word", "docx"),
    ("powerpoint", "pptx"),
    ("excel", "xlsx"),
];

/// Returns a filter, a JSON object, with the extension of `ext` without its dot, the codes of
/// languages, the names of formats, and patterns that a part of a person's name matches.
///
/// # Errors
///
/// A message if the filter is not a JSON object.
pub fn mend_filter(where_: &str) -> Result<String, String> {
    let fields: Map<String, Value> = serde_json::from_str(where_)
        .map_err(|error| format!("filter: not a JSON object ({error})"))?;
    let mended = fields.into_iter().map(|(field, condition)| {
        let condition = if is_person(&field) {
            person(condition)
        } else if field == "type" {
            either_name(condition)
        } else if let Some(mend) = mend_of(&field) {
            each_text(condition, mend)
        } else {
            condition
        };
        (field, condition)
    });
    Ok(Value::Object(mended.collect()).to_string())
}

fn mend_of(field: &str) -> Option<fn(&str) -> String> {
    match field {
        "ext" => Some(extension),
        "format" => Some(format_name),
        "kind" => Some(str::to_lowercase),
        "lang" => Some(|lang| lang_code(lang).map_or_else(|| lang.to_lowercase(), String::from)),
        _ => None,
    }
}

fn extension(text: &str) -> String {
    text.trim_start_matches(['*', '.']).to_lowercase()
}

fn format_name(text: &str) -> String {
    let name = extension(text);
    let known = FORMATS.iter().find(|(other, _)| *other == name);
    let code = || extensions().find(|(extension, _)| *extension == name);
    known
        .copied()
        .or_else(code)
        .map_or(name, |(_, format)| format.to_string())
}

/// Returns the condition that a type meets as it is written, or as the name of a format.
fn either_name(condition: Value) -> Value {
    match condition {
        Value::String(_) | Value::Array(_) => either_names(condition),
        Value::Object(operators) => with_operators(operators, |name, value| match name {
            "=" | "in" => ("in", either_names(value)),
            "!=" => (name, each_text(value, format_name)),
            _ => (name, value),
        }),
        other => other,
    }
}

/// Returns the texts and their names of formats, each once.
fn either_names(texts: Value) -> Value {
    let texts = match texts {
        Value::Array(texts) => texts,
        text => vec![text],
    };
    let mut found: Vec<Value> = Vec::new();
    for text in texts {
        let name = text.as_str().map(|text| Value::from(format_name(text)));
        for each in name.into_iter().chain([text]) {
            if !found.contains(&each) {
                found.push(each);
            }
        }
    }
    Value::Array(found)
}

/// Returns a condition with each of its texts mended, but for those of globs and prefixes.
fn each_text(condition: Value, mend: fn(&str) -> String) -> Value {
    match condition {
        Value::String(text) => Value::from(mend(text.trim())),
        Value::Array(values) => values
            .into_iter()
            .map(|value| each_text(value, mend))
            .collect(),
        Value::Object(operators) => with_operators(operators, |name, value| match name {
            "glob" | "prefix" => (name, value),
            _ => (name, each_text(value, mend)),
        }),
        other => other,
    }
}

/// Returns the condition that a part of a person's name or address meets, in any case.
fn person(condition: Value) -> Value {
    let operators = match condition {
        Value::Object(operators) => operators,
        Value::Array(_) => Map::from_iter([("in".to_string(), condition)]),
        _ => Map::from_iter([("=".to_string(), condition)]),
    };
    with_operators(operators, |name, value| match (name, value) {
        ("=", Value::String(text)) if is_part(&text) => ("glob", containing(&text)),
        ("!=", Value::String(text)) if is_part(&text) => (name, containing(&text)),
        ("in", Value::Array(values))
            if !values.is_empty()
                && values
                    .iter()
                    .all(|value| value.as_str().is_some_and(is_part)) =>
        {
            let texts = values.iter().filter_map(Value::as_str);
            ("glob", texts.map(containing).collect())
        }
        (_, value) => (name, value),
    })
}

/// Returns mended operators; one that would take the name of another stays as it is.
fn with_operators(
    operators: Map<String, Value>,
    mend: impl Fn(&str, Value) -> (&str, Value),
) -> Value {
    let mut mended = Map::new();
    for (name, value) in &operators {
        let (new, mended_value) = mend(name, value.clone());
        let is_taken = new != name && (operators.contains_key(new) || mended.contains_key(new));
        match is_taken {
            true => mended.insert(name.clone(), value.clone()),
            false => mended.insert(new.to_string(), mended_value),
        };
    }
    Value::Object(mended)
}

/// Returns whether a text is a part of a name, and not a pattern that it was made already.
fn is_part(text: &str) -> bool {
    let is_pattern = text.starts_with("**") && text.ends_with("**");
    !is_pattern && !text.trim().trim_matches('*').is_empty() && text.chars().count() <= LONGEST_NAME
}

/// Returns the pattern of a text that has this one somewhere, in any case.
fn containing(text: &str) -> Value {
    let inner: String = text.trim().trim_matches('*').nfc().map(any_case).collect();
    Value::from(format!("**{inner}**"))
}

fn any_case(sign: char) -> String {
    let (lower, upper) = (sign.to_lowercase(), sign.to_uppercase());
    if lower.len() == 1 && upper.len() == 1 && lower.clone().ne(upper.clone()) {
        format!("[{lower}{upper}]")
    } else if WILDCARDS.contains(&sign) {
        format!("[{sign}]")
    } else {
        sign.to_string()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_mended_as_documents_have_them() {
        let cases = [
            (json!({"ext": ".MD"}), json!({"ext": "md"})),
            (
                json!({"ext": {"!=": "*.txt"}}),
                json!({"ext": {"!=": "txt"}}),
            ),
            (
                json!({"ext": [".md", " txt"]}),
                json!({"ext": ["md", "txt"]}),
            ),
            (json!({"lang": "English"}), json!({"lang": "en"})),
            (
                json!({"lang": {"in": ["français", "DE", "chinese", "xx"]}}),
                json!({"lang": {"in": ["fr", "de", "zh", "xx"]}}),
            ),
            (json!({"format": ".Md"}), json!({"format": "markdown"})),
            (
                json!({"format": {"=": "py"}}),
                json!({"format": {"=": "python"}}),
            ),
            (json!({"type": "PDF"}), json!({"type": ["pdf", "PDF"]})),
            (
                json!({"type": {"=": "md"}}),
                json!({"type": {"in": ["markdown", "md"]}}),
            ),
            (
                json!({"type": {"in": ["Py", 5, "py"]}}),
                json!({"type": {"in": ["python", "Py", 5, "py"]}}),
            ),
            (
                json!({"type": {"=": "md", "!=": "htm"}}),
                json!({"type": {"in": ["markdown", "md"], "!=": "html"}}),
            ),
            (
                json!({"ext": {"glob": "*d"}}),
                json!({"ext": {"glob": "*d"}}),
            ),
            (
                json!({"author": {"=": "x", "in": ["a"]}}),
                json!({"author": {"glob": "**[xX]**", "in": ["a"]}}),
            ),
            (json!({"author": []}), json!({"author": {"in": []}})),
            (json!({"author": {"!=": ""}}), json!({"author": {"!=": ""}})),
            (
                json!({"author": "Jose\u{301}"}),
                json!({"author": {"glob": "**[jJ][oO][sS][éÉ]**"}}),
            ),
            (json!({"kind": "Code"}), json!({"kind": "code"})),
            (
                json!({"title": "MD", "year": 2020}),
                json!({"title": "MD", "year": 2020}),
            ),
            (
                json!({"from": "zo"}),
                json!({"from": {"glob": "**[zZ][oO]**"}}),
            ),
            (json!({"to": {"!=": "1"}}), json!({"to": {"!=": "**1**"}})),
            (
                json!({"author": ["a", "b"]}),
                json!({"author": {"glob": ["**[aA]**", "**[bB]**"]}}),
            ),
            (json!({"author": {"=": 5}}), json!({"author": {"=": 5}})),
            (
                json!({"author": "x".repeat(201)}),
                json!({"author": {"=": "x".repeat(201)}}),
            ),
        ];
        for (given, want) in cases {
            let mended: Value =
                serde_json::from_str(&mend_filter(&given.to_string()).unwrap()).unwrap();
            assert_eq!(mended, want, "{given}");
            let again: Value =
                serde_json::from_str(&mend_filter(&mended.to_string()).unwrap()).unwrap();
            assert_eq!(again, want, "{given}, twice");
        }
    }
}
