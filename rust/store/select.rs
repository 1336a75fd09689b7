//! Which documents does a filter hold for?
//!
//! A filter is JSON; it becomes one parametrised statement. No name and no value of it is ever
//! part of the SQL.

use std::sync::Arc;

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value};

use super::Store;
use super::filter::Filter;
use super::glob::Glob;
use super::row::all;
use crate::error::{Error, Result};

impl Store {
    /// The documents that `where_` holds for: a JSON object of field -> condition, all must hold.
    ///
    /// A field is `uri`, `title`, `lang`, `source` (the URI without its `#fragment`) or a metadata
    /// name; of a list, one element must match. Numbers compare with numbers, texts with texts.
    /// `!=` is "not `=`": a document without the field matches.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for what is no such filter.
    pub fn select(&self, where_: &str) -> Result<Filter> {
        let fields: Map<String, Value> = serde_json::from_str(where_)
            .map_err(|error| Error::Invalid(format!("filter: not a JSON object: {error}")))?;
        let mut query = Query::default();
        for (field, condition) in &fields {
            query
                .field(field, condition)
                .map_err(|fact| Error::Invalid(format!("filter: {field}: {fact}")))?;
        }
        let sql = format!("SELECT doc FROM document{}", query.sql);
        let docs = self.read(|db| {
            all(db, &sql, params_from_iter(&query.params), |row| {
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
}

/// Makes the functions that filters use known to a connection.
pub(super) fn register(db: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    db.create_scalar_function("crx_glob", 2, pure, |call| {
        let glob: Arc<Glob> =
            call.get_or_create_aux(0, |pattern| Glob::new(pattern.as_str().unwrap_or_default()))?;
        Ok(glob.matches(call.get_raw(1).as_str()?))
    })?;
    db.create_scalar_function("crx_source", 1, pure, |call| {
        let uri = call.get_raw(0).as_str()?;
        Ok(uri
            .rsplit_once('#')
            .map_or(uri, |(source, _)| source)
            .to_string())
    })?;
    Ok(())
}

/// What is wrong with a filter, as a fact about its field.
type Checked = std::result::Result<(), String>;

/// The condition of a statement on `document`, and what it binds.
#[derive(Debug, Default)]
struct Query {
    sql: String,
    params: Vec<String>,
}

impl Query {
    fn field(&mut self, field: &str, condition: &Value) -> Checked {
        match condition {
            Value::Object(operators) if operators.is_empty() => {
                Err(format!("no operator; one of {OPERATORS} is needed"))
            }
            Value::Object(operators) => operators
                .iter()
                .try_for_each(|(name, value)| self.operator(field, name, value)),
            Value::Array(_) => self.operator(field, "in", condition),
            Value::String(text) if is_path(field) && text.contains(['*', '?', '[']) => {
                self.operator(field, "glob", condition)
            }
            _ => self.operator(field, "=", condition),
        }
    }

    fn operator(&mut self, field: &str, name: &str, value: &Value) -> Checked {
        self.sql.push_str(if self.sql.is_empty() {
            " WHERE "
        } else {
            " AND "
        });
        if name == "!=" {
            self.sql.push_str("NOT ");
        }
        self.sql.push_str("EXISTS (SELECT 1 FROM ");
        self.elements(field);
        self.sql.push_str(" AS element WHERE ");
        match (name, value) {
            ("=" | "!=", value) => self.any_of(std::slice::from_ref(value))?,
            ("in", Value::Array(values)) => self.any_of(values)?,
            ("<" | "<=" | ">" | ">=", Value::String(text)) => {
                self.test(&format!("type = 'text' AND value {name} ?"), text.clone());
            }
            // A bound text is never less than a number: the number is read out of its JSON.
            ("<" | "<=" | ">" | ">=", Value::Number(number)) => self.test(
                &format!("type IN ('integer', 'real') AND value {name} json_extract(?, '$')"),
                number.to_string(),
            ),
            ("prefix", Value::String(text)) => {
                self.test("type = 'text' AND instr(value, ?) = 1", text.clone());
            }
            ("glob", Value::String(pattern)) => {
                Glob::new(pattern)
                    .map_err(|fact| format!("{fact}; {{\"=\": ...}} takes a text as it is"))?;
                self.test("type = 'text' AND crx_glob(?, value)", pattern.clone());
            }
            ("in" | "<" | "<=" | ">" | ">=" | "prefix" | "glob", value) => {
                return Err(format!("{name:?} does not go with {value}"));
            }
            _ => return Err(format!("no operator {name:?}; there are {OPERATORS}")),
        }
        self.sql.push(')');
        Ok(())
    }

    /// A table of `(type, value)`: the field of a document, or each element of a list.
    fn elements(&mut self, field: &str) {
        self.sql.push_str(match field {
            "uri" => "(SELECT 'text' AS type, document.uri AS value)",
            "title" => "(SELECT 'text' AS type, document.title AS value)",
            "lang" => "(SELECT 'text' AS type, document.lang AS value)",
            "source" => "(SELECT 'text' AS type, crx_source(document.uri) AS value)",
            name => {
                // A JSON string is what a quoted step of SQLite's JSON path is.
                self.params.push(format!("$.{}", Value::from(name)));
                "json_each(document.metadata, ?)"
            }
        });
    }

    fn test(&mut self, sql: &str, param: String) {
        self.sql.push_str(sql);
        self.params.push(param);
    }

    /// Equality with any of the values, in lists of one type each: a list of any length is one
    /// parameter.
    fn any_of(&mut self, values: &[Value]) -> Checked {
        if let Some(value) = values
            .iter()
            .find(|value| value.is_null() || value.is_array() || value.is_object())
        {
            return Err(format!("{value} is no text, number, true or false"));
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

fn is_path(field: &str) -> bool {
    matches!(field, "uri" | "source" | "path")
}
