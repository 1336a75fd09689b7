//! Values of form fields and texts of annotations, which are not drawn with their page.

use std::collections::BTreeMap;

use super::bidi::leftward;
use super::geometry::{Rect, Turn};
use super::segment::Segment;

/// The text of a form field or an annotation, and its box on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldText {
    /// The text; it may have several lines.
    pub text: String,
    /// The box on the page.
    pub rect: Rect,
}

// The height of the type that is assumed, in points, and of a line of it.
const SIZE: f32 = 12.0;
const LINE: f32 = 1.2;
// The share of the height by which the baseline is below the middle of a line.
const DESCENT: f32 = 0.35;

/// Adds a segment for each line of the fields' texts, turned as most of the page is.
///
/// A value of one line is on the line of the text that stands beside its field.
pub fn add_fields(segments: &mut Vec<Segment>, fields: &[FieldText]) {
    let turn = usual_turn(segments);
    let drawn = segments.len();
    for field in fields {
        let rect = turn.rect(field.rect);
        let lines: Vec<&str> = field
            .text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let height = rect.high - rect.low;
        let size = (height / (LINE * lines.len() as f32)).clamp(1.0, SIZE);
        let is_single = lines.len() == 1 && height < 2.0 * LINE * size;
        let label = label_of(&segments[..drawn], rect, turn).filter(|_| is_single);
        for (at, line) in lines.into_iter().enumerate() {
            let baseline = match label {
                Some(label) => segments[label].baseline,
                None if is_single => (rect.low + rect.high) / 2.0 - DESCENT * size,
                None => rect.high - size * (1.0 + LINE * at as f32),
            };
            segments.push(Segment {
                text: line.trim().to_owned(),
                rect: Rect {
                    low: baseline,
                    high: baseline + size,
                    ..rect
                },
                on_page: field.rect,
                baseline,
                size: label.map_or(size, |label| segments[label].size),
                chars: line.chars().filter(|c| !c.is_whitespace()).count(),
                bold: 0,
                order: label.map_or(segments.len(), |label| segments[label].order),
                turn,
                leftward: line.chars().map(leftward).sum(),
            });
        }
    }
}

/// Returns how most of the page is turned.
fn usual_turn(segments: &[Segment]) -> Turn {
    let mut chars: BTreeMap<Turn, usize> = BTreeMap::new();
    for segment in segments {
        *chars.entry(segment.turn).or_default() += segment.chars;
    }
    chars
        .into_iter()
        .max_by_key(|&(_, count)| count)
        .map_or(Turn::Upright, |(turn, _)| turn)
}

/// Returns the nearest segment beside a box that stands on its height.
fn label_of(segments: &[Segment], rect: Rect, turn: Turn) -> Option<usize> {
    let gap =
        |segment: &Segment| (rect.left - segment.rect.right).max(segment.rect.left - rect.right);
    let is_level = |segment: &Segment| {
        let middle = segment.baseline + DESCENT * segment.size;
        segment.turn == turn && rect.low <= middle && middle <= rect.high
    };
    (0..segments.len())
        .filter(|&at| is_level(&segments[at]) && gap(&segments[at]) >= -SIZE)
        .min_by(|&a, &b| gap(&segments[a]).total_cmp(&gap(&segments[b])))
}
