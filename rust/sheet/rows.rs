//! The rows of a sheet, each with its filled cells.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::Result;

use super::date::DateFormat;
use super::number::{FixedPoint, push_general};
use super::text::{push_line, without_escapes};
use super::xml::{Attributes, Handler, Parser};

/// Columns of a sheet in Excel and LibreOffice.
const MOST_COLUMNS: u32 = 16_384;
/// Values of a sheet that the front shows once.
const KEPT_VALUES: usize = 10_000;

/// How a style of cells shows numbers, and whether it shows texts otherwise than as they are.
#[derive(Debug, Clone, Default)]
pub struct Style {
    /// The formats of numbers above zero, below zero, and of zero.
    pub numbers: [NumberFormat; 3],
    /// Whether texts have a format.
    pub formats_text: bool,
}

/// A format of numbers.
#[derive(Debug, Clone, Default)]
pub enum NumberFormat {
    /// Up to 15 digits.
    #[default]
    General,
    /// One row of digits.
    FixedPoint(FixedPoint),
    /// A date or a time.
    Date(DateFormat),
    /// Any other, which the front shows.
    Other,
}

/// A value that the front shows in the format of a style.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// A row: its number from 1, its filled columns from 0, and their cells with tabs between.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The number of the row, from 1.
    pub number: u32,
    /// The columns of its cells, from 0 and in order.
    pub columns: Vec<u32>,
    /// The cells, each of which is one line, with tabs between.
    pub cells: String,
}

/// The rows of a sheet while its part is parsed.
///
/// After each piece the front shows the values that [`SheetRows::feed`] returns, and takes the rows.
pub struct SheetRows {
    parser: Parser,
    sheet: Sheet,
}

impl SheetRows {
    /// Returns a parser of a sheet of a workbook with these strings and styles.
    ///
    /// A style that is not among `styles` is the general one. Dates count from 1904 if `from_1904`.
    pub fn new(strings: Arc<[Box<str>]>, styles: Vec<Style>, from_1904: bool) -> Self {
        let sheet = Sheet {
            strings,
            styles,
            from_1904,
            ..Sheet::default()
        };
        Self {
            parser: Parser::default(),
            sheet,
        }
    }

    /// Parses a piece; returns the values that the front must show, each with its style.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Vec<(usize, Value)>> {
        self.parser.feed(piece, &mut self.sheet)?;
        Ok(std::mem::take(&mut self.sheet.values))
    }

    /// Returns the rows that have ended, given the values of the last piece as they are shown.
    ///
    /// # Panics
    ///
    /// If `shown` has not one text for each value.
    pub fn take_rows(&mut self, shown: &[String]) -> Vec<Row> {
        let sheet = &mut self.sheet;
        let pending = std::mem::take(&mut sheet.pending);
        let rows = std::mem::take(&mut sheet.rows);
        let rows = rows.into_iter().filter_map(|row| row.join(shown)).collect();
        for cell in &mut sheet.row.cells {
            if let Shown::Pending(at) = cell.1 {
                cell.1 = sheet.row.line.push(&shown[at]);
            }
        }
        if sheet.kept.len() + pending.len() > KEPT_VALUES {
            sheet.kept.clear();
        }
        let kept = pending.into_iter().take(KEPT_VALUES);
        sheet
            .kept
            .extend(kept.map(|(key, at)| (key, shown[at].as_str().into())));
        rows
    }

    /// Fails if the part has not ended.
    pub fn close(&self) -> Result<()> {
        self.parser.close()
    }

    /// Returns how many formulas have no stored result; their cells are the formulas.
    pub fn uncomputed(&self) -> usize {
        self.sheet.uncomputed
    }
}

#[derive(Default)]
struct Sheet {
    strings: Arc<[Box<str>]>,
    styles: Vec<Style>,
    from_1904: bool,
    uncomputed: usize,
    rows: Vec<OpenRow>,
    row: OpenRow,
    cell: Cell,
    into: Into,
    readings: usize,
    /// The values that the front must show, and where each number is among them.
    values: Vec<(usize, Value)>,
    pending: FxHashMap<(usize, u64), usize>,
    kept: FxHashMap<(usize, u64), Box<str>>,
}

/// Where a text goes.
#[derive(Default, Clone, Copy)]
enum Into {
    #[default]
    Nowhere,
    Value,
    Formula,
}

#[derive(Default)]
struct Cell {
    column: Option<u32>,
    kind: Kind,
    style: usize,
    value: String,
    formula: String,
}

/// The type of a cell.
#[derive(Default, Clone, Copy)]
enum Kind {
    #[default]
    Number,
    Shared,
    Text,
    Truth,
    Error,
}

/// The cells of a row so far.
#[derive(Default)]
struct OpenRow {
    number: u32,
    line: Line,
    cells: Vec<(u32, Shown)>,
}

/// The texts of a row, one after the other.
#[derive(Default)]
struct Line(String);

enum Shown {
    At(usize, usize),
    Pending(usize),
}

impl Line {
    fn push(&mut self, text: &str) -> Shown {
        self.push_with(|line| push_line(line, text))
    }

    fn push_with(&mut self, push: impl FnOnce(&mut String)) -> Shown {
        let start = self.0.len();
        push(&mut self.0);
        Shown::At(start, self.0.len())
    }
}

impl OpenRow {
    /// Returns the row with its filled cells, None if it has none; the last of a column counts.
    fn join(mut self, shown: &[String]) -> Option<Row> {
        if !self.cells.is_sorted_by(|one, next| one.0 < next.0) {
            self.cells.reverse();
            self.cells.sort_by_key(|cell| cell.0);
            self.cells.dedup_by_key(|cell| cell.0);
        }
        let mut row = Row {
            number: self.number,
            columns: vec![],
            cells: String::new(),
        };
        row.columns.reserve(self.cells.len());
        row.cells.reserve(self.line.0.len() + self.cells.len());
        for (column, cell) in self.cells {
            let length = row.cells.len();
            let tab = usize::from(!row.columns.is_empty());
            row.cells.push_str(&"\t"[..tab]);
            match cell {
                Shown::At(start, end) => row.cells.push_str(&self.line.0[start..end]),
                Shown::Pending(at) => push_line(&mut row.cells, &shown[at]),
            }
            if row.cells.len() > length + tab {
                row.columns.push(column);
            } else {
                row.cells.truncate(length);
            }
        }
        if row.columns.is_empty() {
            None
        } else {
            Some(row)
        }
    }
}

impl Handler for Sheet {
    fn start(&mut self, name: &str, attributes: Attributes<'_>) {
        match name {
            "c" => self.start_cell(attributes),
            "v" => self.into = Into::Value,
            "t" if self.readings == 0 => self.into = Into::Value,
            "f" => self.into = Into::Formula,
            "rPh" => self.readings += 1,
            "row" => {
                let written = attributes.get("r").and_then(|number| whole_number(&number));
                self.row.number = written.unwrap_or(self.row.number + 1);
                self.cell.column = None;
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        self.into = Into::Nowhere;
        match name {
            "c" => self.end_cell(),
            "row" => {
                let next = OpenRow {
                    number: self.row.number,
                    ..OpenRow::default()
                };
                self.rows.push(std::mem::replace(&mut self.row, next));
            }
            "rPh" => self.readings -= 1,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.into {
            Into::Nowhere => {}
            Into::Value => self.cell.value.push_str(text),
            Into::Formula => self.cell.formula.push_str(text),
        }
    }
}

impl Sheet {
    fn start_cell(&mut self, attributes: Attributes<'_>) {
        let cell = &mut self.cell;
        cell.column = match attributes.get("r") {
            Some(reference) if reference.starts_with(|first: char| !first.is_ascii_digit()) => {
                column_number(reference.trim_end_matches(|c: char| c.is_ascii_digit()))
            }
            _ => Some(cell.column.map_or(0, |column| column + 1)),
        };
        let style = attributes.get("s").and_then(|style| whole_number(&style));
        cell.style = style.unwrap_or(0) as usize;
        cell.kind = match attributes.get("t").as_deref() {
            Some("s") => Kind::Shared,
            Some("str" | "inlineStr") => Kind::Text,
            Some("b") => Kind::Truth,
            Some("e") => Kind::Error,
            _ => Kind::Number,
        };
        cell.value.clear();
        cell.formula.clear();
    }

    fn end_cell(&mut self) {
        let is_empty = self.cell.value.is_empty() && self.cell.formula.is_empty();
        let column = self
            .cell
            .column
            .filter(|column| !is_empty && *column < MOST_COLUMNS);
        if let Some(column) = column {
            let shown = self.show();
            self.row.cells.push((column, shown));
        }
    }

    /// Returns the cell as it is shown, a formula without a result as it is written.
    fn show(&mut self) -> Shown {
        let value = std::mem::take(&mut self.cell.value);
        let formats_text = self
            .styles
            .get(self.cell.style)
            .is_some_and(|style| style.formats_text);
        let line = &mut self.row.line;
        match self.cell.kind {
            Kind::Shared => {
                let at = whole_number(&value).map_or(usize::MAX, |at| at as usize);
                let text = self.strings.get(at).map_or("", |text| text);
                match formats_text {
                    true => self.ask(Value::Text(text.into())),
                    false => line.push_with(|line| line.push_str(text)),
                }
            }
            Kind::Text if formats_text => self.ask(Value::Text(without_escapes(value))),
            Kind::Text => line.push(&without_escapes(value)),
            Kind::Truth => line.push(match value.as_str() {
                "1" => "TRUE",
                "0" => "FALSE",
                other => other,
            }),
            Kind::Error => line.push(&value),
            Kind::Number if value.trim().is_empty() => {
                self.uncomputed += 1;
                line.push(&format!("={}", self.cell.formula))
            }
            Kind::Number => match value.trim().parse() {
                Ok(number) => self.show_number(number),
                Err(_) => line.push(&value), // a date as text
            },
        }
    }

    fn show_number(&mut self, value: f64) -> Shown {
        let line = &mut self.row.line;
        let sign = if value > 0.0 {
            0
        } else {
            1 + usize::from(value == 0.0)
        };
        let format = self
            .styles
            .get(self.cell.style)
            .map(|style| &style.numbers[sign]);
        let mut shown = String::new();
        match format.unwrap_or(&NumberFormat::General) {
            NumberFormat::Other if value.is_finite() => return self.ask_once(value),
            NumberFormat::FixedPoint(fixed_point) if value.is_finite() => {
                fixed_point.push(&mut shown, value)
            }
            NumberFormat::Date(date) if date.push(&mut shown, value, self.from_1904) => {}
            _ => push_general(&mut shown, value),
        }
        line.push(&shown)
    }

    /// Leaves a number to the front, unless that has shown it in this style.
    fn ask_once(&mut self, value: f64) -> Shown {
        let key = (self.cell.style, value.to_bits());
        if let Some(shown) = self.kept.get(&key) {
            return self.row.line.push(shown);
        }
        if let Some(&at) = self.pending.get(&key) {
            return Shown::Pending(at);
        }
        self.pending.insert(key, self.values.len());
        self.ask(Value::Number(value))
    }

    /// Leaves a value to the front.
    fn ask(&mut self, value: Value) -> Shown {
        self.values.push((self.cell.style, value));
        Shown::Pending(self.values.len() - 1)
    }
}

fn whole_number(written: &str) -> Option<u32> {
    let is_short = (1..9).contains(&written.len());
    let is_whole = is_short && written.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole { written.parse().ok() } else { None }
}

/// Returns the column from 0 that letters name; None for one that no sheet has.
fn column_number(letters: &str) -> Option<u32> {
    if letters.len() > 3 || !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let number = letters.bytes().fold(0, |number, letter| {
        26 * number + u32::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    Some(number - 1).filter(|column| *column < MOST_COLUMNS)
}
