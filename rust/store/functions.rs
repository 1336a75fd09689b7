//! The SQL functions of document filters.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use super::base::Base;
use crate::error::Result;
use crate::glob::Glob;

/// A longer text is compared with a glob up to here: the longest path has as many bytes, and a value
/// of a document's metadata may have millions.
const LONGEST_TEXT: usize = 4096;

/// Registers `crx_glob(pattern, text)`, `crx_source(uri)` and `crx_absolute(stored, base)` with a
/// connection.
pub(super) fn register(db: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    db.create_scalar_function("crx_glob", 2, pure, |call| {
        let glob: Arc<Glob> =
            call.get_or_create_aux(0, |pattern| Glob::new(pattern.as_str().unwrap_or_default()))?;
        let text = call.get_raw(1).as_str()?;
        let mut ends = (0..=text.len().min(LONGEST_TEXT)).rev();
        let end = ends.find(|&end| text.is_char_boundary(end));
        Ok(glob.matches(&text[..end.unwrap_or(0)]))
    })?;
    db.create_scalar_function("crx_source", 1, pure, |call| {
        let uri = call.get_raw(0).as_str()?;
        Ok(uri
            .rsplit_once('#')
            .map_or(uri, |(source, _)| source)
            .to_string())
    })?;
    db.create_scalar_function("crx_absolute", 2, pure, |call| {
        let base: Arc<Base> = call.get_or_create_aux(1, |folder| {
            Ok::<_, rusqlite::Error>(Base::new(folder.as_str()?))
        })?;
        Ok(base.absolute(call.get_raw(0).as_str()?).into_owned())
    })?;
    Ok(())
}
