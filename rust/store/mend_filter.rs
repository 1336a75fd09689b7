//! Values of a filter, in the form in which documents have them.
//!
//! A person writes `ext=.MD`, `lang=english` or `from=zofia`; documents have `md`, `en` and
//! `zofia.nowak@example.org`.

use serde_json::{Map, Value};

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
        Value::String(text) => Value::from(vec![format_name(&text), text]),
        Value::Object(mut operators) if operators.len() == 1 => {
            let equal = operators.remove("=").or_else(|| operators.remove("in"));
            equal.map_or(Value::Object(operators), either_name)
        }
        Value::Array(values) => values
            .into_iter()
            .flat_map(|value| match either_name(value) {
                Value::Array(either) => either,
                other => vec![other],
            })
            .collect(),
        other => other,
    }
}

/// Returns a condition with each of its texts mended.
fn each_text(condition: Value, mend: fn(&str) -> String) -> Value {
    match condition {
        Value::String(text) => Value::from(mend(text.trim())),
        Value::Array(values) => values
            .into_iter()
            .map(|value| each_text(value, mend))
            .collect(),
        Value::Object(operators) => Value::Object(
            operators
                .into_iter()
                .map(|(name, value)| (name, each_text(value, mend)))
                .collect(),
        ),
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
    let mended = operators.into_iter().map(|(name, value)| match value {
        Value::String(text) if name == "=" && is_short(&text) => {
            ("glob".to_string(), containing(&text))
        }
        Value::String(text) if name == "!=" && is_short(&text) => (name, containing(&text)),
        Value::Array(values) if name == "in" && values.iter().all(is_short_text) => {
            let texts = values.iter().filter_map(Value::as_str);
            ("glob".to_string(), texts.map(containing).collect())
        }
        value => (name, value),
    });
    Value::Object(mended.collect())
}

fn is_short(text: &str) -> bool {
    text.chars().count() <= LONGEST_NAME
}

fn is_short_text(value: &Value) -> bool {
    value.as_str().is_some_and(is_short)
}

/// Returns the pattern of a text that has this one somewhere, in any case.
fn containing(text: &str) -> Value {
    let inner: String = text
        .trim()
        .trim_matches('*')
        .chars()
        .map(any_case)
        .collect();
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
                json!({"type": ["markdown", "md"]}),
            ),
            (
                json!({"type": {"in": ["Py", 5]}}),
                json!({"type": ["python", "Py", 5]}),
            ),
            (json!({"type": {"!=": "x"}}), json!({"type": {"!=": "x"}})),
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
        }
    }
}
