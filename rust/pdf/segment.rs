//! Segments: stretches of characters that are drawn one after the other on one line.

use super::geometry::{Rect, Turn, median};
use super::source::Glyph;

/// A stretch of a line without a wide gap; all coordinates are those after the turn of the page.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The characters, with single spaces; raised digits are the characters for them.
    pub text: String,
    /// The box after the turn.
    pub rect: Rect,
    /// The box on the page.
    pub on_page: Rect,
    /// The y of the baseline.
    pub baseline: f32,
    /// The height of its type.
    pub size: f32,
    /// How many characters are not white space, and how many of them are bold.
    pub chars: usize,
    /// How many characters are bold.
    pub bold: usize,
    /// The position in the order in which the page is drawn.
    pub order: usize,
    /// How the page is turned for it.
    pub turn: Turn,
}

impl Segment {
    /// Returns the y of the top of its small letters, by the height of its type up to the tallest.
    pub fn zone_top(&self, tallest: f32) -> f32 {
        self.baseline + ZONE * self.size.min(tallest)
    }
}

// Shares of the height of the type. The gap between two columns is seldom less than one height,
// a space between words seldom more.
const ZONE: f32 = 0.45;
const WIDEST_SPACE: f32 = 0.9;
const BACKWARDS: f32 = 0.5;
const RAISED: f32 = 0.5;
const SAME_LINE: f32 = 0.12;
const SMALLER: f32 = 0.85;
// A letter that is set a little lower or higher than its neighbours, as in a logo.
const SHIFTED: f32 = 0.25;
const CLOSE: f32 = 0.15;
const RAISED_DIGITS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻";

/// Returns the segments of a page in the order in which they are drawn.
pub fn segments(glyphs: &[Glyph]) -> Vec<Segment> {
    let vertical = runs_downwards(glyphs);
    let mut found = Vec::new();
    let mut open = Open::default();
    for glyph in glyphs {
        if glyph.character.is_whitespace() {
            open.space = true;
            continue;
        }
        let turn = match Turn::of_angle(glyph.style.angle) {
            Turn::Upright if vertical => Turn::Vertical,
            turn => turn,
        };
        let piece = Piece::of(glyph, turn);
        if !open.continues(&piece) {
            open.close(&mut found);
        }
        open.push(piece);
    }
    open.close(&mut found);
    without_leaders(found)
}

/// Returns the segments without the dots that lead from a name to a number.
fn without_leaders(mut found: Vec<Segment>) -> Vec<Segment> {
    let dots = |segment: &Segment| segment.text.chars().all(|c| matches!(c, '.' | ' ' | '…'));
    let leads: Vec<bool> = (0..found.len())
        .map(|at| {
            let beside = |other: usize| {
                found.get(other).is_some_and(|other: &Segment| {
                    (other.baseline - found[at].baseline).abs() < SAME_LINE * other.size
                        && (dots(other) || other.text.ends_with(". ."))
                })
            };
            dots(&found[at])
                && (found[at].chars >= 3 || beside(at + 1) || (at > 0 && beside(at - 1)))
        })
        .collect();
    let mut at = 0;
    found.retain(|_| {
        at += 1;
        !leads[at - 1]
    });
    for segment in &mut found {
        if segment.text.ends_with(" .") || segment.text.ends_with("....") {
            let kept = segment.text.trim_end_matches(['.', ' ', '…']).len();
            segment.text.truncate(kept);
        }
    }
    found.retain(|segment| !segment.text.is_empty());
    found
}

/// Returns whether most characters stand below the one before: East Asian vertical writing.
fn runs_downwards(glyphs: &[Glyph]) -> bool {
    let (mut below, mut beside) = (0, 0);
    for pair in glyphs.windows(2) {
        let (first, second) = (&pair[0], &pair[1]);
        if first.character.is_whitespace() || second.character.is_whitespace() {
            continue;
        }
        let size = first.style.size.max(1.0);
        let middle = |glyph: &Glyph| (glyph.rect.left + glyph.rect.right) / 2.0;
        let down = first.rect.high - second.rect.high;
        let aside = (middle(first) - middle(second)).abs();
        if aside < 0.6 * size && down > 0.4 * size && down < 2.0 * size {
            below += 1;
        } else {
            beside += 1;
        }
    }
    below >= 4 && below > beside
}

/// A character after the turn of the page.
#[derive(Clone, Copy)]
struct Piece {
    character: char,
    rect: Rect,
    on_page: Rect,
    baseline: f32,
    size: f32,
    bold: bool,
    turn: Turn,
}

impl Piece {
    fn of(glyph: &Glyph, turn: Turn) -> Self {
        let rect = turn.rect(glyph.rect);
        let height = glyph.rect.high - glyph.rect.low;
        let size = if glyph.style.size > 0.1 {
            glyph.style.size
        } else {
            height.max(1.0)
        };
        // Characters of vertical writing stand on no common baseline, but are centred.
        let baseline = if turn == Turn::Vertical {
            (rect.low + rect.high) / 2.0 - ZONE * size / 2.0
        } else {
            turn.point(glyph.origin.0, glyph.origin.1).1
        };
        Self {
            character: glyph.character,
            rect,
            on_page: glyph.rect,
            baseline,
            size,
            bold: glyph.style.bold,
            turn,
        }
    }
}

/// The segment that is being read.
#[derive(Default)]
struct Open {
    pieces: Vec<(Piece, bool)>,
    space: bool,
}

impl Open {
    /// Returns whether a character stands on the line of those before, without a wide gap.
    fn continues(&self, next: &Piece) -> bool {
        let Some((last, _)) = self.pieces.last() else {
            return true;
        };
        let size = last.size.max(next.size);
        let smaller = last.size.min(next.size) < SMALLER * size;
        let rise = (next.baseline - last.baseline).abs();
        let gap = next.rect.left - last.rect.right;
        let straight = if last.turn == Turn::Vertical {
            RAISED
        } else {
            SAME_LINE
        };
        let on_line = rise <= straight * size
            || (smaller && rise <= RAISED * size)
            || (rise <= SHIFTED * size && gap.abs() <= CLOSE * size);
        let widest = if last.turn == Turn::Vertical {
            2.0
        } else {
            WIDEST_SPACE
        };
        // The letters of a ligature have one box.
        let ligature = next.rect == last.rect;
        next.turn == last.turn
            && (ligature || (on_line && gap <= widest * size && gap >= -BACKWARDS * size))
    }

    fn push(&mut self, piece: Piece) {
        let spaced = self.space && !self.pieces.is_empty();
        self.pieces.push((piece, spaced));
        self.space = false;
    }

    fn close(&mut self, found: &mut Vec<Segment>) {
        let Some(((first, _), rest)) = self.pieces.split_first() else {
            return;
        };
        let on_page = rest
            .iter()
            .fold(first.on_page, |all, (piece, _)| all.union(piece.on_page));
        let rect = rest
            .iter()
            .fold(first.rect, |all, (piece, _)| all.union(piece.rect));
        let size = median(self.pieces.iter().map(|(piece, _)| piece.size).collect());
        let baseline = median(
            self.pieces
                .iter()
                .map(|(piece, _)| piece.baseline)
                .collect(),
        );
        let mut text = String::with_capacity(self.pieces.len() + 8);
        for (piece, spaced) in &self.pieces {
            if *spaced {
                text.push(' ');
            }
            let raised =
                piece.size < SMALLER * size && piece.baseline > baseline + SAME_LINE * size;
            let character = if raised {
                raised_character(piece.character)
            } else {
                piece.character
            };
            // "10²" and "word¹" would be found as 102 and word1, "m²" as m2.
            if character != piece.character && ends_in_word(&text) {
                text.push(' ');
            }
            text.push(character);
        }
        found.push(Segment {
            text,
            rect,
            on_page,
            baseline,
            size,
            chars: self.pieces.len(),
            bold: self.pieces.iter().filter(|(piece, _)| piece.bold).count(),
            order: found.len(),
            turn: first.turn,
        });
        self.pieces.clear();
    }
}

/// Returns whether a text ends in a number or in more than two letters.
fn ends_in_word(text: &str) -> bool {
    let mut last = text.chars().rev().take_while(|c| c.is_alphanumeric());
    let is_letter = |c: char| c.is_alphabetic();
    match last.next() {
        Some(c) if RAISED_DIGITS.contains(c) => false,
        Some(c) if is_letter(c) => last.take_while(|&c| is_letter(c)).count() >= 2,
        Some(_) => true,
        None => false,
    }
}

/// Returns the character for a raised digit or sign, others as they are.
fn raised_character(character: char) -> char {
    match character {
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4'..='9' => {
            char::from_u32('⁴' as u32 + (character as u32 - '4' as u32)).unwrap_or(character)
        }
        '+' => '⁺',
        '-' | '−' => '⁻',
        _ => character,
    }
}
