//! Document filters: JSON conditions, compiled to one SQL statement.
//!
//! All names and values of a filter are bound as parameters; none becomes part of the SQL.

use std::sync::atomic::Ordering;

use rusqlite::{Connection, Row, params_from_iter};
use serde_json::{Map, Value};

use super::base::{Base, RELATIVE};
use super::filter::Filter;
use super::row::{all, check};
use super::schema::DOCUMENT;
use super::watched::Watched;
use super::{Store, changes};
use crate::error::{Error, Result};
use crate::glob::Glob;

impl Store {
    /// Returns the documents that match `where_`: a JSON object of field -> condition, all of which
    /// must hold.
    ///
    /// A field is `uri`, `title`, `lang`, `kind` (`code`, `prose` or `data`), `source` (the URI without its `#fragment`), `modified` (the
    /// time of its file in UTC, such as `2024-05-31T08:00:00Z`) or a metadata name; of a list, one
    /// element must match. Numbers compare with numbers, texts with texts. `!=` is "not `=`": a
    /// document without the field matches. Of a path, a text with wildcards is a glob, and one
    /// without a slash matches the end of the path: `*.md` is `**/*.md`. Several globs are any of
    /// them. `from` is the address of a sender, and the name in `author` beside it; `type` is
    /// `format` for a document without a field of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] names the field whose condition is not valid.
    pub fn select(&self, where_: &str) -> Result<Filter> {
        let fields: Map<String, Value> = serde_json::from_str(where_)
            .map_err(|error| Error::Invalid(format!("filter: not a JSON object ({error})")))?;
        let mut condition = Condition {
            base: self.base.as_ref(),
            ..Condition::default()
        };
        for (field, wanted) in &fields {
            condition
                .field(field, wanted)
                .map_err(|fact| Error::Invalid(format!("filter: {field}: {fact}")))?;
        }
        let sql = format!("SELECT doc FROM document{}", condition.sql);
        let docs = self.read(|db| {
            let _watched = Watched::new();
            self.check_documents(db)?;
            all(db, &sql, params_from_iter(&condition.params), |row| {
                Ok(row.get::<_, i64>(0)?)
            })
        });
        match docs {
            Err(Error::System(text)) if text.contains("malformed JSON") => Err(Error::Damaged(
                format!("{text}; `crx verify` lists every fault"),
            )),
            docs => Ok(Filter::from_docs(docs?)),
        }
    }

    /// Checks the rows of all documents, and later those that changed since: a damaged one could
    /// match, or not match, in silence.
    fn check_documents(&self, db: &Connection) -> Result<()> {
        let (seq, checked) = (
            changes::last(db)?,
            self.documents_checked.load(Ordering::Relaxed),
        );
        let columns = DOCUMENT.select();
        let check_row = |row: &Row<'_>| check(&DOCUMENT, row, 0);
        if checked < 0 {
            let sql = format!("SELECT {columns} FROM document");
            all(db, &sql, [], check_row)?;
        } else if checked != seq {
            let sql =
                format!("SELECT {columns} FROM document JOIN change USING (doc) WHERE seq > ?");
            all(db, &sql, [checked], check_row)?;
        }
        self.documents_checked.store(seq, Ordering::Relaxed);
        Ok(())
    }
}

/// The error is a fact about a field.
type Checked = std::result::Result<(), String>;

/// The WHERE clause of a statement on `document`, and its parameters.
#[derive(Debug, Default)]
struct Condition<'a> {
    /// The base of stored paths.
    base: Option<&'a Base>,
    sql: String,
    params: Vec<String>,
}

impl Condition<'_> {
    /// Adds the condition of a field.
    fn field(&mut self, field: &str, wanted: &Value) -> Checked {
        match wanted {
            Value::Object(operators) if operators.is_empty() => {
                Err(format!("no operator; give one of {OPERATORS}"))
            }
            Value::Object(operators) => operators
                .iter()
                .try_for_each(|(name, value)| self.operator(field, name, value)),
            Value::Array(_) => self.operator(field, "in", wanted),
            Value::String(text) if is_path(field) && text.contains(WILDCARDS) => {
                self.operator(field, "glob", wanted)
            }
            _ => self.operator(field, "=", wanted),
        }
    }

    /// Adds the condition of an operator.
    fn operator(&mut self, field: &str, name: &str, value: &Value) -> Checked {
        self.sql.push_str(if self.sql.is_empty() {
            " WHERE "
        } else {
            " AND "
        });
        if name == "!=" {
            self.sql.push_str("NOT ");
        }
        let pattern = value.as_str().filter(|text| {
            let is_pattern = name == "glob" || name == "!=" && text.contains(WILDCARDS);
            is_pattern && (is_path(field) || is_person(field))
        });
        let (name, anywhere) = match pattern {
            Some(pattern) if is_path(field) && !pattern.contains('/') => {
                ("glob", Some(Value::from(format!("**/{pattern}"))))
            }
            Some(_) => ("glob", None),
            None => (name, None),
        };
        let value = anywhere.as_ref().unwrap_or(value);
        self.sql.push_str("EXISTS (SELECT 1 FROM ");
        // Stored paths are compared as they are, if that gives the same result.
        let base = self.base.filter(|_| is_path(field));
        let stored = base.and_then(|base| stored_operand(base, name, value));
        match base.filter(|_| stored.is_none()) {
            Some(base) => self.absolute_elements(field, base),
            None => self.elements(field),
        }
        let value = stored.as_ref().unwrap_or(value);
        self.sql.push_str(" AS element WHERE ");
        match (name, value) {
            ("=" | "!=", value) => self.any_of(std::slice::from_ref(value))?,
            ("in", Value::Array(values)) => self.any_of(values)?,
            ("<" | "<=" | ">" | ">=", Value::String(text)) => {
                self.test(&format!("type = 'text' AND value {name} ?"), text.clone());
            }
            // All parameters are bound as text, so the number is extracted from its JSON.
            ("<" | "<=" | ">" | ">=", Value::Number(number)) => self.test(
                &format!("type IN ('integer', 'real') AND value {name} json_extract(?, '$')"),
                number.to_string(),
            ),
            ("prefix", Value::String(text)) => {
                self.test("type = 'text' AND instr(value, ?) = 1", text.clone());
            }
            ("glob", Value::String(_)) => self.any_glob(std::slice::from_ref(value))?,
            ("glob", Value::Array(patterns)) if !patterns.is_empty() => self.any_glob(patterns)?,
            ("in" | "<" | "<=" | ">" | ">=" | "prefix" | "glob", value) => {
                return Err(format!("{name:?} does not accept {value}"));
            }
            _ => {
                return Err(format!(
                    "no operator {name:?}; the operators are {OPERATORS}"
                ));
            }
        }
        self.sql.push(')');
        Ok(())
    }

    /// Adds a table of `(type, value)`: the value of the field, or each element of a list.
    fn elements(&mut self, field: &str) {
        self.sql.push_str(match field {
            "uri" => "(SELECT 'text' AS type, document.uri AS value)",
            "title" => "(SELECT 'text' AS type, document.title AS value)",
            "lang" => "(SELECT 'text' AS type, document.lang AS value)",
            "kind" => "(SELECT 'text' AS type, document.kind AS value)",
            "source" => "(SELECT 'text' AS type, crx_source(document.uri) AS value)",
            "modified" => {
                "(SELECT 'text' AS type, strftime('%Y-%m-%dT%H:%M:%SZ', \
                 document.source_mtime_ns / 1000000000, 'unixepoch') AS value \
                 WHERE document.source_mtime_ns > 0)"
            }
            "from" => {
                "(SELECT type, value FROM json_each(document.metadata, '$.from') \
                 UNION ALL SELECT type, value FROM json_each(document.metadata, '$.author') \
                 WHERE json_type(document.metadata, '$.from') IS NOT NULL)"
            }
            "type" => {
                "json_each(document.metadata, iif(json_type(document.metadata, '$.type') IS NULL, \
                 '$.format', '$.type'))"
            }
            name => {
                // A quoted step of SQLite's JSON path has the form of a JSON string.
                self.params.push(format!("$.{}", Value::from(name)));
                "json_each(document.metadata, ?)"
            }
        });
    }

    /// Adds the table of a field that holds paths, which are stored relative to a base.
    fn absolute_elements(&mut self, field: &str, base: &Base) {
        self.sql.push_str(match field {
            "uri" => "(SELECT 'text' AS type, crx_absolute(document.uri, ?) AS value)",
            "source" => {
                "(SELECT 'text' AS type, crx_source(crx_absolute(document.uri, ?)) AS value)"
            }
            _ => {
                "(SELECT type, CASE type WHEN 'text' THEN crx_absolute(value, ?) ELSE value END \
                 AS value FROM json_each(document.metadata, '$.path'))"
            }
        });
        self.params.push(base.folder().to_string());
    }

    /// Adds SQL with one parameter.
    fn test(&mut self, sql: &str, param: String) {
        self.sql.push_str(sql);
        self.params.push(param);
    }

    /// Adds a match of any of some globs, by halves: the depth of SQLite's expressions is limited.
    fn any_glob(&mut self, patterns: &[Value]) -> Checked {
        let [pattern] = patterns else {
            let (first, second) = patterns.split_at(patterns.len() / 2);
            self.sql.push('(');
            self.any_glob(first)?;
            self.sql.push_str(" OR ");
            self.any_glob(second)?;
            self.sql.push(')');
            return Ok(());
        };
        let pattern = pattern
            .as_str()
            .ok_or_else(|| format!("\"glob\" does not accept {pattern}"))?;
        Glob::new(pattern)
            .map_err(|fact| format!("{fact}; use {{\"=\": ...}} for a text without wildcards"))?;
        self.test(
            "(type = 'text' AND crx_glob(?, value))",
            pattern.to_string(),
        );
        Ok(())
    }

    /// Adds equality with any of the values, with one parameter for each type.
    fn any_of(&mut self, values: &[Value]) -> Checked {
        if let Some(value) = values
            .iter()
            .find(|value| value.is_null() || value.is_array() || value.is_object())
        {
            return Err(format!("{value} is not a text, number, true or false"));
        }
        let of = |is: fn(&Value) -> bool| {
            let list: Vec<_> = values.iter().filter(|value| is(value)).cloned().collect();
            Value::Array(list).to_string()
        };
        let one_of = |types: &str| {
            format!("type IN ({types}) AND value IN (SELECT value FROM json_each(?))")
        };
        self.sql.push('(');
        self.test(&one_of("'text'"), of(Value::is_string));
        self.sql.push_str(" OR ");
        self.test(&one_of("'integer', 'real'"), of(Value::is_number));
        self.sql.push_str(" OR ");
        self.test(&one_of("'true', 'false'"), of(Value::is_boolean));
        self.sql.push(')');
        Ok(())
    }
}

const OPERATORS: &str = "=, !=, <, <=, >, >=, prefix, glob, in";

/// Returns the operand that compares with stored paths as `value` does with absolute ones, None if
/// there is no such operand: for an order, and for a pattern or a prefix that begins above the base.
fn stored_operand(base: &Base, name: &str, value: &Value) -> Option<Value> {
    let stored = |path: &str| Value::from(base.stored(path));
    let inside = |text: &str| {
        let rest = text.strip_prefix(base.inside())?;
        Some(Value::from(format!("{RELATIVE}{rest}")))
    };
    match (name, value) {
        ("=" | "!=", Value::String(path)) => Some(stored(path)),
        ("in", Value::Array(values)) => {
            let each = |value: &Value| value.as_str().map_or_else(|| value.clone(), stored);
            Some(values.iter().map(each).collect())
        }
        ("prefix", Value::String(prefix)) => inside(prefix),
        ("glob", Value::String(pattern)) => {
            let is_literal = !base.inside().contains(WILDCARDS);
            (is_literal && Glob::new(pattern).is_ok())
                .then(|| inside(pattern))
                .flatten()
        }
        _ => None,
    }
}

pub(super) const WILDCARDS: [char; 3] = ['*', '?', '['];

fn is_path(field: &str) -> bool {
    matches!(field, "uri" | "source" | "path")
}

/// Returns whether a field names people, of whom a part of the name is enough.
pub(super) fn is_person(field: &str) -> bool {
    matches!(field, "author" | "from" | "to")
}
