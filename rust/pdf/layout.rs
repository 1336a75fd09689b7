//! The order in which the segments of a page are read.

use std::collections::BTreeMap;

use super::field::{FieldText, add_fields};
use super::geometry::{Turn, median};
use super::gutter::{Band, Gutter, bands, best_gutter};
use super::line::{Kind, Line};
use super::segment::{Segment, segments};
use super::source::GlyphSource;

// Shares of the height of the type.
const LEAST_GUTTER: f32 = 0.6;
const CELL_GAP: f32 = 0.6;
const PARAGRAPH: f32 = 1.3;
// Usual gaps between lines that part a table from the columns below it.
const CHANGE: f32 = 1.6;
const MOST_CHANGES: usize = 6;
const LEAST_SPACE: f32 = 0.08;
// Usual gaps between lines, up to which one continues the cell above.
const CLOSE: f32 = 1.15;
// Lines on both sides of a gutter that are columns, or rows with cells on both sides.
const LEAST_COLUMN: usize = 3;
const LEAST_ROWS: usize = 2;
// A line of prose: characters, and the share of the column's width.
const PROSE_CHARS: usize = 20;
const PROSE_WIDTH: f32 = 0.8;
const PROSE_SHARE: f32 = 0.6;
// Deeper nesting of columns is no page that somebody reads.
const MOST_DEPTH: usize = 12;
const MOST_SEGMENTS: usize = 30_000;

/// Returns the lines of a page in reading order, the number of its characters, and how many of
/// them the font names no character for.
///
/// `fields` are the values of the form fields and annotations of the page, which are not drawn with
/// it.
pub fn read_page(source: &impl GlyphSource, fields: &[FieldText]) -> (Vec<Line>, usize, usize) {
    let (glyphs, unknown) = source.glyphs();
    let mut segments = segments(&glyphs);
    add_fields(&mut segments, fields);
    let mut by_turn: BTreeMap<Turn, Vec<usize>> = BTreeMap::new();
    for (at, segment) in segments.iter().enumerate() {
        by_turn.entry(segment.turn).or_default().push(at);
    }
    // What most of the page is written in comes first.
    let mut groups: Vec<Vec<usize>> = by_turn.into_values().collect();
    groups.sort_by_key(|set| {
        std::cmp::Reverse(set.iter().map(|&at| segments[at].chars).sum::<usize>())
    });
    let mut lines = Vec::new();
    let mut block = 0;
    for set in groups {
        let from_right = set.iter().map(|&at| segments[at].leftward).sum::<i32>() > 0;
        if from_right {
            // Columns and cells are read from the right as others are from the left.
            for &at in &set {
                segments[at].rect = segments[at].rect.mirrored();
            }
        }
        let mut page = Page {
            segments: &segments,
            lines,
            block,
            from_right,
        };
        page.read(&set, 0);
        block = page.block + 1;
        lines = page.lines;
    }
    (lines, glyphs.len(), unknown)
}

/// The lines of a page so far.
struct Page<'a> {
    segments: &'a [Segment],
    lines: Vec<Line>,
    block: u32,
    /// Whether it is read from right to left; the boxes of its segments are mirrored then.
    from_right: bool,
}

impl Page<'_> {
    /// Adds the lines of a set of segments: what is above its best gutter, beside it, and below.
    fn read(&mut self, set: &[usize], depth: usize) {
        if set.is_empty() {
            return;
        }
        let size = median(set.iter().map(|&at| self.segments[at].size).collect());
        let bands = bands(self.segments, set);
        if depth < MOST_DEPTH && set.len() <= MOST_SEGMENTS {
            self.read_bands(&bands, size, depth);
        } else {
            self.add_text(&bands);
        }
    }

    fn read_bands(&mut self, bands: &[Band], size: f32, depth: usize) {
        let gutter = best_gutter(bands, self.segments, LEAST_GUTTER * size)
            .filter(|gutter| gutter.support >= LEAST_ROWS && depth < MOST_DEPTH);
        let Some(gutter) = gutter else {
            self.add_text(bands);
            return;
        };
        let inner = &bands[gutter.first..gutter.end];
        if let Some(cut) = self.change(inner, &gutter) {
            let (above, below) = bands.split_at(gutter.first + cut);
            self.read_bands(above, size, depth + 1);
            self.block += 1;
            self.read_bands(below, size, depth + 1);
            return;
        }
        let (left, right) = self.sides(inner, &gutter);
        if self.are_columns(&left, &right) {
            self.read_bands(&bands[..gutter.first], size, depth + 1);
            self.block += 1;
            self.read(&left, depth + 1);
            self.block += 1;
            self.read(&right, depth + 1);
            self.block += 1;
            self.read_bands(&bands[gutter.end..], size, depth + 1);
            return;
        }
        let Some((first, end)) = self.rows_of(inner, &gutter) else {
            self.add_text(bands);
            return;
        };
        let (first, end) = (gutter.first + first, gutter.first + end);
        self.read_bands(&bands[..first], size, depth + 1);
        self.block += 1;
        self.add_table(&bands[first..end]);
        self.block += 1;
        self.read_bands(&bands[end..], size, depth + 1);
    }

    /// Returns the position of a wide gap between bands if the gutter is one of columns on one side
    /// of the gap, and one of a table on the other.
    fn change(&self, bands: &[Band], gutter: &Gutter) -> Option<usize> {
        let gaps: Vec<f32> = bands
            .windows(2)
            .map(|pair| self.baseline(&pair[0]) - self.baseline(&pair[1]))
            .collect();
        let least = CHANGE * median(gaps.clone());
        let mut wide: Vec<usize> = (0..gaps.len()).filter(|&at| gaps[at] >= least).collect();
        wide.sort_by(|&a, &b| gaps[b].total_cmp(&gaps[a]));
        let are_columns = |part: &[Band]| {
            let (left, right) = self.sides(part, gutter);
            self.are_columns(&left, &right)
        };
        wide.into_iter().take(MOST_CHANGES).find_map(|at| {
            let (above, below) = bands.split_at(at + 1);
            let parts = above.len().min(below.len()) >= LEAST_COLUMN;
            (parts && are_columns(above) != are_columns(below)).then_some(at + 1)
        })
    }

    /// Returns the segments on the left and on the right of a gutter.
    fn sides(&self, bands: &[Band], gutter: &Gutter) -> (Vec<usize>, Vec<usize>) {
        let middle = (gutter.left + gutter.right) / 2.0;
        bands
            .iter()
            .flat_map(|band| band.members.iter().copied())
            .partition(|&at| self.segments[at].rect.left < middle)
    }

    /// Returns whether the sides of a gutter are columns: drawn one after the other, or both prose.
    fn are_columns(&self, left: &[usize], right: &[usize]) -> bool {
        let lines = self.line_count(left).min(self.line_count(right));
        if lines < LEAST_COLUMN {
            return false;
        }
        if self.switches(left, right) * 4 <= lines {
            return !self.is_drawn_by_column(left, right);
        }
        self.is_prose(left) && self.is_prose(right)
    }

    fn line_count(&self, set: &[usize]) -> usize {
        bands(self.segments, set).len()
    }

    /// Returns how often the drawing of a page goes from one side to the other, after the first.
    fn switches(&self, left: &[usize], right: &[usize]) -> usize {
        let mut sides: Vec<(usize, bool)> = left
            .iter()
            .map(|&at| (self.segments[at].order, false))
            .chain(right.iter().map(|&at| (self.segments[at].order, true)))
            .collect();
        sides.sort_unstable();
        let changes = sides
            .windows(2)
            .filter(|pair| pair[0].1 != pair[1].1)
            .count();
        changes.saturating_sub(1)
    }

    /// Returns whether the sides are the columns of a table that is drawn column by column.
    fn is_drawn_by_column(&self, left: &[usize], right: &[usize]) -> bool {
        let has_number = |&&at: &&usize| is_number(&self.segments[at].text);
        let numbers = right.iter().filter(has_number).count();
        let aligned = right
            .iter()
            .filter(|&&at| {
                let segment = &self.segments[at];
                left.iter().any(|&other| {
                    (self.segments[other].baseline - segment.baseline).abs() < 0.2 * segment.size
                })
            })
            .count();
        numbers * 10 >= right.len() * 6 && aligned * 10 >= right.len() * 8
    }

    /// Returns whether a set is prose, in one column or in several.
    fn is_prose(&self, set: &[usize]) -> bool {
        let bands = bands(self.segments, set);
        let size = median(set.iter().map(|&at| self.segments[at].size).collect());
        let gutter = best_gutter(&bands, self.segments, LEAST_GUTTER * size).filter(|gutter| {
            gutter.support >= LEAST_COLUMN && 2 * (gutter.end - gutter.first) > bands.len()
        });
        let Some(gutter) = gutter else {
            return self.is_column_of_prose(set, &bands);
        };
        let (left, right) = self.sides(&bands[gutter.first..gutter.end], &gutter);
        self.is_prose(&left) && self.is_prose(&right)
    }

    /// Returns whether most lines of a set are as wide as the set and long enough to be prose.
    fn is_column_of_prose(&self, set: &[usize], bands: &[Band]) -> bool {
        let left = set.iter().map(|&at| self.segments[at].rect.left);
        let right = set.iter().map(|&at| self.segments[at].rect.right);
        let width = right.fold(f32::MIN, f32::max) - left.fold(f32::MAX, f32::min);
        let full = bands
            .iter()
            .filter(|band| {
                let covered: f32 = band
                    .members
                    .iter()
                    .map(|&at| self.segments[at].rect.right - self.segments[at].rect.left)
                    .sum();
                let chars: usize = band.members.iter().map(|&at| self.segments[at].chars).sum();
                let wide_gaps = band.members.len() > 2;
                covered >= PROSE_WIDTH * width && chars >= PROSE_CHARS && !wide_gaps
            })
            .count();
        full >= LEAST_COLUMN && full as f32 >= PROSE_SHARE * bands.len() as f32
    }

    /// Returns the bands of a table: from the first to the last with cells on both sides, and those
    /// that go on with a cell of the last.
    fn rows_of(&self, bands: &[Band], gutter: &Gutter) -> Option<(usize, usize)> {
        let middle = (gutter.left + gutter.right) / 2.0;
        let parted = |band: &Band| {
            let left = |&at: &usize| self.segments[at].rect.left < middle;
            band.members.iter().any(left) && !band.members.iter().all(left)
        };
        let first = bands.iter().position(parted)?;
        let end = bands.iter().rposition(parted)? + 1;
        let rows = bands[first..end].iter().filter(|band| parted(band)).count();
        let (row, leading) = (&bands[end - 1], self.leading(&bands[first..]));
        let hanging = bands[end - 1..].windows(2).take_while(|pair| {
            let gap = self.baseline(&pair[0]) - self.baseline(&pair[1]);
            gap <= CLOSE * leading && self.hangs_below(&row.members, &pair[1].members)
        });
        (rows >= LEAST_ROWS).then(|| (first, end + hanging.count()))
    }

    /// Adds the lines of bands that no gutter parts.
    fn add_text(&mut self, bands: &[Band]) {
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for band in bands {
            let mut members = band.members.clone();
            members.sort_by(|&a, &b| {
                self.segments[b]
                    .baseline
                    .total_cmp(&self.segments[a].baseline)
            });
            let mut row: Vec<usize> = Vec::new();
            for at in members {
                let segment = &self.segments[at];
                let on_line = row.last().is_none_or(|&last: &usize| {
                    let last = &self.segments[last];
                    (last.baseline - segment.baseline).abs() <= 0.3 * last.size.max(segment.size)
                });
                if !on_line {
                    rows.push(std::mem::take(&mut row));
                }
                row.push(at);
            }
            rows.push(row);
        }
        let mut added: Vec<Line> = Vec::new();
        let mut baselines: Vec<f32> = Vec::new();
        for mut row in rows {
            row.sort_by(|&a, &b| {
                self.segments[a]
                    .rect
                    .left
                    .total_cmp(&self.segments[b].rect.left)
            });
            baselines.push(self.segments[row[0]].baseline);
            added.push(self.line(&row, Kind::Text));
        }
        mark_paragraphs(&mut added, &baselines);
        self.lines.append(&mut added);
    }

    /// Adds the rows of a table; a band with nothing below the first cell continues the row before.
    fn add_table(&mut self, bands: &[Band]) {
        let leading = self.leading(bands);
        let mut rows: Vec<Vec<usize>> = Vec::new();
        let mut last = f32::INFINITY;
        for band in bands {
            let baseline = self.baseline(band);
            let close = last - baseline <= CLOSE * leading;
            let hangs = rows
                .last()
                .is_some_and(|row| self.hangs_below(row, &band.members));
            match rows.last_mut() {
                Some(row) if hangs && close => row.extend(&band.members),
                _ => rows.push(band.members.clone()),
            }
            last = baseline;
        }
        for (at, row) in rows.iter().enumerate() {
            let mut line = self.line(row, Kind::Row);
            line.opens = at == 0;
            self.lines.push(line);
        }
    }

    /// Returns the usual distance of the baselines of bands.
    fn leading(&self, bands: &[Band]) -> f32 {
        median(
            bands
                .windows(2)
                .map(|pair| self.baseline(&pair[0]) - self.baseline(&pair[1]))
                .collect(),
        )
    }

    /// Returns whether each of some segments stands below text of a row that is no number, behind
    /// its first cell.
    fn hangs_below(&self, row: &[usize], members: &[usize]) -> bool {
        let label = &self.segments[row[0]];
        members.iter().all(|&at| {
            let segment = &self.segments[at];
            segment.rect.left >= label.rect.right
                && !is_number(&segment.text)
                && row.iter().any(|&above| {
                    let above = &self.segments[above];
                    let shared = above.rect.right.min(segment.rect.right)
                        - above.rect.left.max(segment.rect.left);
                    shared > 0.5 * segment.size && !is_number(&above.text)
                })
        })
    }

    fn baseline(&self, band: &Band) -> f32 {
        band.members
            .iter()
            .map(|&at| self.segments[at].baseline)
            .fold(f32::MIN, f32::max)
    }

    /// Returns the line of some segments; what stands one below the other is one cell of it.
    fn line(&self, members: &[usize], kind: Kind) -> Line {
        let mut cells: Vec<Vec<usize>> = Vec::new();
        let mut ordered = members.to_vec();
        ordered.sort_by(|&a, &b| {
            self.segments[a]
                .rect
                .left
                .total_cmp(&self.segments[b].rect.left)
        });
        let mut right = f32::MIN;
        for at in ordered {
            let segment = &self.segments[at];
            let gap = segment.rect.left - right;
            let least = if kind == Kind::Row { CELL_GAP } else { 3.0 };
            match cells.last_mut() {
                Some(cell) if gap < least * segment.size => cell.push(at),
                _ => cells.push(vec![at]),
            }
            right = right.max(segment.rect.right);
        }
        if kind == Kind::Text && self.is_turned(members) {
            cells.reverse();
        }
        let mut text = String::new();
        for cell in &mut cells {
            if !text.is_empty() {
                text.push('\t');
            }
            self.add_cell(&mut text, cell);
        }
        let all = || members.iter().map(|&at| &self.segments[at]);
        let chars: usize = all().map(|segment| segment.chars).sum();
        let bold: usize = all().map(|segment| segment.bold).sum();
        let widest = all().max_by_key(|segment| segment.chars);
        let rect = all()
            .map(|segment| segment.on_page)
            .reduce(|all, each| all.union(each));
        Line {
            text,
            rect: rect.unwrap_or(super::geometry::Rect {
                left: 0.0,
                low: 0.0,
                right: 0.0,
                high: 0.0,
            }),
            size: widest.map_or(0.0, |segment| segment.size),
            bold: bold * 10 >= chars * 9,
            kind,
            block: self.block,
            opens: false,
        }
    }

    /// Returns whether segments of a line are read in the other direction than the page.
    fn is_turned(&self, members: &[usize]) -> bool {
        let leftward: i32 = members.iter().map(|&at| self.segments[at].leftward).sum();
        leftward != 0 && (leftward > 0) != self.from_right
    }

    /// Adds the text of a cell: its lines from the top, each as it is read.
    fn add_cell(&self, text: &mut String, cell: &mut [usize]) {
        let baseline = |at: usize| self.segments[at].baseline;
        let left = |at: usize| self.segments[at].rect.left;
        cell.sort_by(|&a, &b| baseline(b).total_cmp(&baseline(a)));
        let mut lines: Vec<Vec<usize>> = Vec::new();
        for &at in cell.iter() {
            match lines.last_mut() {
                Some(line) if baseline(line[0]) - baseline(at) <= 0.45 * self.segments[at].size => {
                    line.push(at);
                }
                _ => lines.push(vec![at]),
            }
        }
        for (number, line) in lines.iter_mut().enumerate() {
            if number > 0 {
                if ends_in_hyphen(text) {
                    text.push('\n');
                } else if !joins(text, &self.segments[line[0]].text) {
                    text.push(' ');
                }
            }
            line.sort_by(|&a, &b| left(a).total_cmp(&left(b)));
            if self.is_turned(line) {
                line.reverse();
            }
            for (at, &member) in line.iter().enumerate() {
                let segment = &self.segments[member];
                if at > 0 {
                    // A value may stand over what the page draws at the same position.
                    let before = self.segments[line[at - 1]].rect;
                    let gap =
                        segment.rect.left.max(before.left) - segment.rect.right.min(before.right);
                    let is_apart = gap > LEAST_SPACE * segment.size || gap < -segment.size;
                    if is_apart && !joins(text, &segment.text) {
                        text.push(' ');
                    }
                }
                text.push_str(&segment.text);
            }
        }
    }
}

/// Returns whether texts meet in scripts that have no spaces between words.
fn joins(before: &str, after: &str) -> bool {
    let unspaced = |c: char| matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}');
    before.chars().next_back().is_some_and(unspaced) && after.chars().next().is_some_and(unspaced)
}

fn ends_in_hyphen(text: &str) -> bool {
    text.ends_with(['-', '\u{2}', '\u{fffe}', '\u{ad}'])
}

/// Marks the lines that begin a paragraph: after a wider gap, or in another size of type.
fn mark_paragraphs(lines: &mut [Line], baselines: &[f32]) {
    let gaps: Vec<f32> = baselines.windows(2).map(|pair| pair[0] - pair[1]).collect();
    let usual = median(gaps.clone());
    for at in 0..lines.len() {
        lines[at].opens = at == 0
            || gaps[at - 1] > PARAGRAPH * usual.min(1.6 * lines[at].size)
            || (lines[at].size - lines[at - 1].size).abs() > 0.12 * lines[at].size;
    }
}

/// Returns whether a text is a number, with its signs and units, or a dash for none.
fn is_number(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    (digits > 0 && letters <= 1)
        || text
            .chars()
            .all(|c| matches!(c, '-' | '–' | '—' | '.' | '*'))
}
