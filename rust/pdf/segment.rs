//! Segments: stretches of characters that are drawn one after the other on one line.

use std::collections::HashMap;

use super::bidi::{Placed, is_mark, is_right_to_left, leftward, read_in_order};
use super::geometry::{Rect, Turn, median};
use super::source::Glyph;
use crate::analyze::is_unspaced;

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
    /// How many more of its letters run from right to left than from left to right.
    pub leftward: i32,
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
// A letter that is drawn twice to make it bold, and a text with its shadow.
const DOUBLED: f32 = 0.08;
const SHADOW: f32 = 0.25;
// The smallest gap that is a space where PDFium, which looks for upright lines, cannot tell.
const NARROWEST_SPACE: f32 = 0.17;
// Copies of a text that are compared with a new one: a made-up page may have any number.
const MOST_COPIES: usize = 64;
// The gap between letters that are set apart, and how much wider another one of them is at most.
const SPREAD: f32 = 0.1;
const ALIKE: f32 = 1.3;
// How much the steps from letter to letter of a typewriter differ, and how many are looked at.
const EVEN: f32 = 0.06;
const LEAST_EVEN: usize = 8;
const RAISED_DIGITS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻";

/// Returns the segments of a page in the order in which they are drawn.
pub fn segments(glyphs: &[Glyph]) -> Vec<Segment> {
    let vertical = runs_downwards(glyphs);
    let mut runs = Vec::new();
    let mut open = Open::default();
    for glyph in glyphs {
        if glyph.character.is_whitespace() {
            // PDFium ends a line behind a lowered or raised character, whatever the gap.
            let ends_line = matches!(glyph.character, '\r' | '\n');
            open.space |= !ends_line;
            open.line_end |= ends_line;
            continue;
        }
        let turn = match Turn::of_angle(glyph.style.angle) {
            Turn::Upright if vertical => Turn::Vertical,
            turn => turn,
        };
        let piece = Piece::of(glyph, turn);
        if open.ends_in_copy_of(&piece) {
            open.space = false;
            open.line_end = false;
            continue;
        }
        if !open.continues(&piece) {
            open.close(&mut runs);
        }
        open.push(piece);
    }
    open.close(&mut runs);
    let has_leftward = runs.iter().any(Run::is_from_right);
    let runs = if has_leftward {
        read_from_right(runs)
    } else {
        runs
    };
    let found = runs
        .iter()
        .enumerate()
        .map(|(order, run)| run.segment(order, has_leftward))
        .collect();
    without_shadows(without_leaders(found))
}

/// Returns the segments without those that repeat another one at nearly the same position.
fn without_shadows(mut found: Vec<Segment>) -> Vec<Segment> {
    let mut seen: HashMap<&str, Vec<&Segment>> = HashMap::new();
    let shadows: Vec<bool> = found
        .iter()
        .map(|segment| {
            let others = seen.entry(&segment.text).or_default();
            let near = |a: f32, b: f32| (a - b).abs() <= SHADOW * segment.size;
            let is_shadow = others.iter().rev().take(MOST_COPIES).any(|other| {
                near(other.on_page.left, segment.on_page.left)
                    && near(other.on_page.right, segment.on_page.right)
                    && near(other.on_page.low, segment.on_page.low)
            });
            others.push(segment);
            is_shadow
        })
        .collect();
    let mut at = 0;
    found.retain(|_| {
        at += 1;
        !shadows[at - 1]
    });
    found
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
    origin: (f32, f32),
    baseline: f32,
    size: f32,
    bold: bool,
    turn: Turn,
}

impl Piece {
    fn of(glyph: &Glyph, turn: Turn) -> Self {
        let height = glyph.rect.high - glyph.rect.low;
        let size = if glyph.style.size > 0.1 {
            glyph.style.size
        } else {
            height.max(1.0)
        };
        let origin = turn.point(glyph.origin.0, glyph.origin.1);
        let rect = match turn {
            // The box of a slanted letter is wider than the letter, but has the same middle.
            Turn::Slanted(_) => {
                let (x, y) = glyph.rect.middle();
                let (middle, _) = turn.point(x, y);
                Rect {
                    left: origin.0,
                    low: origin.1,
                    right: (2.0 * middle - origin.0).max(origin.0),
                    high: origin.1 + ZONE * size,
                }
            }
            _ => turn.rect(glyph.rect),
        };
        // Characters of vertical writing stand on no common baseline, but are centred.
        let baseline = if turn == Turn::Vertical {
            (rect.low + rect.high) / 2.0 - ZONE * size / 2.0
        } else {
            origin.1
        };
        Self {
            character: glyph.character,
            rect,
            on_page: glyph.rect,
            origin: glyph.origin,
            baseline,
            size,
            bold: glyph.style.bold,
            turn,
        }
    }

    /// Returns whether another one stands on its line, as far as heights tell.
    fn is_level(&self, next: &Self, gap: f32) -> bool {
        let size = self.size.max(next.size);
        let smaller = self.size.min(next.size) < SMALLER * size;
        let rise = (next.baseline - self.baseline).abs();
        let straight = if self.turn == Turn::Vertical {
            RAISED
        } else {
            SAME_LINE
        };
        rise <= straight * size
            || (smaller && rise <= RAISED * size)
            || (rise <= SHIFTED * size && gap.abs() <= CLOSE * size)
    }

    /// Returns whether the next letter of a curved text stands behind it.
    fn bends_to(&self, next: &Self) -> bool {
        let size = self.size.max(next.size);
        let (x, y) = self.turn.point(next.origin.0, next.origin.1);
        let gap = x - self.rect.right;
        self.turn.bends_to(next.turn)
            && (y - self.baseline).abs() <= RAISED * size
            && (-BACKWARDS * size..=WIDEST_SPACE * size).contains(&gap)
    }

    /// Returns how far the origin of another one is to the right.
    fn step_to(&self, next: &Self) -> f32 {
        let along = |piece: &Self| self.turn.point(piece.origin.0, piece.origin.1).0;
        along(next) - along(self)
    }

    /// Returns whether a gap is one between words, for slanted text.
    fn is_spaced(&self, next: &Self) -> bool {
        let (x, _) = self.turn.point(next.origin.0, next.origin.1);
        x - self.rect.right > NARROWEST_SPACE * self.size
    }
}

impl Placed for Piece {
    fn character(&self) -> char {
        self.character
    }

    fn middle(&self) -> f32 {
        self.rect.middle().0
    }

    fn edges(&self) -> (f32, f32) {
        (self.rect.left, self.rect.right)
    }
}

/// The segment that is being read.
#[derive(Default)]
struct Open {
    pieces: Vec<(Piece, bool)>,
    space: bool,
    /// A line of PDFium ended, whether or not a space did.
    line_end: bool,
    gaps: Gaps,
}

/// The gaps between the letters of the last word.
#[derive(Default)]
struct Gaps {
    count: usize,
    narrowest: f32,
}

impl Gaps {
    fn add(&mut self, gap: f32) {
        self.narrowest = if self.count == 0 {
            gap
        } else {
            self.narrowest.min(gap)
        };
        self.count += 1;
    }

    /// Returns whether the letters are set apart, and another gap is like those between them.
    fn are_spread(&self, gap: f32, size: f32) -> bool {
        self.count >= 2 && self.narrowest > SPREAD * size && gap <= ALIKE * self.narrowest
    }
}

impl Open {
    /// Returns whether a character stands on the line of those before, without a wide gap.
    fn continues(&self, next: &Piece) -> bool {
        let Some((last, _)) = self.pieces.last() else {
            return true;
        };
        if next.turn != last.turn {
            return last.bends_to(next);
        }
        let size = last.size.max(next.size);
        let widest = if last.turn == Turn::Vertical {
            2.0
        } else {
            WIDEST_SPACE
        };
        let is_beside = |gap: f32| gap <= widest * size && gap >= -BACKWARDS * size;
        let gap = next.rect.left - last.rect.right;
        let from_right = is_right_to_left(next.character) || is_right_to_left(last.character);
        let back = last.rect.left - next.rect.right;
        // The letters of a ligature have one box.
        next.rect == last.rect
            || (is_beside(gap) && last.is_level(next, gap))
            || (from_right && is_beside(back) && last.is_level(next, back))
            || is_mark(next.character) && last.rect.contains((next.middle(), last.rect.low))
    }

    /// Returns whether the last character is the same one at nearly the same position.
    fn ends_in_copy_of(&self, next: &Piece) -> bool {
        self.pieces.last().is_some_and(|(last, _)| {
            let near = |a: f32, b: f32| (a - b).abs() <= DOUBLED * next.size;
            last.character == next.character
                && last.origin != next.origin
                && near(last.origin.0, next.origin.0)
                && near(last.origin.1, next.origin.1)
        })
    }

    fn push(&mut self, piece: Piece) {
        let spaced = match self.pieces.last() {
            None => false,
            Some((last, _)) if matches!(last.turn, Turn::Slanted(_)) => last.is_spaced(&piece),
            Some((last, _)) => {
                let gap = piece.rect.left - last.rect.right;
                // PDFium takes any gap for a space that is wide for the font.
                let (low, high) = (
                    last.rect.left.max(piece.rect.left),
                    last.rect.right.min(piece.rect.right),
                );
                let is_wide = low - high > NARROWEST_SPACE * last.size.max(piece.size);
                let is_space = self.space || (self.line_end && is_wide);
                let spaced = is_space && !self.gaps.are_spread(gap, piece.size);
                if spaced {
                    self.gaps = Gaps::default();
                } else {
                    self.gaps.add(gap);
                }
                spaced
            }
        };
        self.pieces.push((piece, spaced));
        self.space = false;
        self.line_end = false;
    }

    fn close(&mut self, runs: &mut Vec<Run>) {
        if !self.pieces.is_empty() {
            // A copy has the room that it needs, and the next run grows in that of this one.
            let mut pieces = self.pieces.clone();
            self.pieces.clear();
            drop_spaces_within_words(&mut pieces);
            runs.push(Run(pieces));
            self.gaps = Gaps::default();
        }
    }
}

/// Drops the spaces between letters that are one pitch apart, in the type of a typewriter.
///
/// PDFium takes the border of two pieces of a word for a space: the text under a scan is drawn so.
fn drop_spaces_within_words(pieces: &mut [(Piece, bool)]) {
    if pieces.len() <= LEAST_EVEN || !pieces.iter().any(|&(_, spaced)| spaced) {
        return;
    }
    let step = |pair: &[(Piece, bool)]| pair[0].0.step_to(&pair[1].0);
    // Two steps of one pitch differ by no more than twice what each may; most type ends here.
    let mut inner = pieces.windows(2).filter(|pair| !pair[1].1).map(step);
    let first = inner.next().unwrap_or_default();
    if inner.any(|step| (step - first).abs() > 2.0 * EVEN / (1.0 - EVEN) * first.abs()) {
        return;
    }
    let steps: Vec<f32> = pieces.windows(2).map(step).collect();
    let in_words: Vec<f32> = steps
        .iter()
        .zip(&pieces[1..])
        .filter_map(|(&step, &(_, spaced))| (!spaced).then_some(step))
        .collect();
    let pitch = median(in_words.clone());
    let is_even = |step: f32| (step - pitch).abs() <= EVEN * pitch;
    if in_words.len() < LEAST_EVEN || !in_words.into_iter().all(is_even) {
        return;
    }
    let is_letter =
        |piece: &Piece| piece.character.is_alphanumeric() && !is_unspaced(piece.character);
    for at in 1..pieces.len() {
        let within = is_letter(&pieces[at - 1].0) && is_letter(&pieces[at].0);
        pieces[at].1 &= !(within && is_even(steps[at - 1]));
    }
}

/// Characters of one line without a wide gap, and whether a space stands before each.
struct Run(Vec<(Piece, bool)>);

impl Run {
    fn is_from_right(&self) -> bool {
        self.0
            .iter()
            .any(|(piece, _)| is_right_to_left(piece.character))
    }

    fn edges(&self) -> (f32, f32) {
        self.0
            .iter()
            .fold((f32::MAX, f32::MIN), |(left, right), (piece, _)| {
                (left.min(piece.rect.left), right.max(piece.rect.right))
            })
    }

    fn leftward(&self) -> i32 {
        self.0
            .iter()
            .map(|(piece, _)| leftward(piece.character))
            .sum()
    }

    /// Puts the characters into the order in which they are read.
    fn read(&mut self, from_right: bool) {
        let drawn: Vec<bool> = self.0.iter().map(|&(_, spaced)| spaced).collect();
        let line = self.0.drain(..).map(|(piece, _)| piece).enumerate();
        let gap =
            |a: &Piece, b: &Piece| a.rect.left.max(b.rect.left) - a.rect.right.min(b.rect.right);
        let is_wide = |a: &Piece, b: &Piece| gap(a, b) > NARROWEST_SPACE * a.size.max(b.size);
        let is_spaced = |(first, a): &(usize, Piece), (second, b): &(usize, Piece)| {
            if first.abs_diff(*second) == 1 {
                drawn[*first.max(second)]
            } else {
                is_wide(a, b)
            }
        };
        let mut before: Option<(usize, Piece)> = None;
        let mut letter: Option<Piece> = None;
        for (piece, number, spaced) in read_in_order(line.collect(), from_right, is_spaced) {
            let spaced = match (before, letter) {
                _ if is_mark(piece.character) => false,
                // The gap behind a mark is not that behind its letter.
                (Some((last, mark)), Some(letter)) if is_mark(mark.character) => {
                    (last + 1 != number || drawn[number]) && is_wide(&letter, &piece)
                }
                // Those that were given one after the other have what was between them.
                (Some((last, _)), _) if last + 1 == number => drawn[number],
                _ => spaced,
            };
            self.0.push((piece, spaced));
            before = Some((number, piece));
            if !is_mark(piece.character) {
                letter = Some(piece);
            }
        }
    }

    fn segment(&self, order: usize, has_leftward: bool) -> Segment {
        let pieces = || self.0.iter().map(|(piece, _)| piece);
        let first = &self.0[0].0;
        let is_straight = pieces().all(|piece| piece.turn == first.turn);
        let on_page = pieces().fold(first.on_page, |all, piece| all.union(piece.on_page));
        let rect = if is_straight {
            pieces().fold(first.rect, |all, piece| all.union(piece.rect))
        } else {
            first.turn.rect(on_page)
        };
        let size = median(pieces().map(|piece| piece.size).collect());
        let baseline = if is_straight {
            median(pieces().map(|piece| piece.baseline).collect())
        } else {
            first.baseline
        };
        let mut text = String::with_capacity(self.0.len() + 8);
        for (piece, spaced) in &self.0 {
            if *spaced {
                text.push(' ');
            }
            let raised = is_straight
                && piece.size < SMALLER * size
                && piece.baseline > baseline + SAME_LINE * size;
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
        Segment {
            text,
            rect,
            on_page,
            baseline,
            size,
            chars: self.0.len(),
            bold: pieces().filter(|piece| piece.bold).count(),
            order,
            turn: first.turn,
            leftward: if has_leftward { self.leftward() } else { 0 },
        }
    }
}

/// Runs that stand beside each other on one line, and its edges.
struct LineOfRuns {
    runs: Vec<Run>,
    from_right: bool,
    edges: (f32, f32),
}

impl LineOfRuns {
    fn of(run: Run) -> Self {
        Self {
            from_right: run.is_from_right(),
            edges: run.edges(),
            runs: vec![run],
        }
    }

    /// Adds a line if it stands beside this one, on either side; else returns it.
    fn join(&mut self, mut next: Self) -> Option<Self> {
        let last = self.runs.last().and_then(|run| run.0.last());
        let first = next.runs.first_mut().and_then(|run| run.0.first_mut());
        let (Some((last, _)), Some((first, spaced))) = (last, first) else {
            return Some(next);
        };
        let size = last.size.max(first.size);
        let ((left, right), (next_left, next_right)) = (self.edges, next.edges);
        let gap = left.max(next_left) - right.min(next_right);
        let is_beside = last.turn == first.turn
            && last.is_level(first, gap)
            && (-BACKWARDS * size..=WIDEST_SPACE * size).contains(&gap);
        if !is_beside {
            return Some(next);
        }
        *spaced = gap > NARROWEST_SPACE * size;
        self.runs.append(&mut next.runs);
        self.from_right |= next.from_right;
        self.edges = (left.min(next_left), right.max(next_right));
        None
    }

    /// Returns one run in the order in which it is read, if it has letters from right to left.
    ///
    /// On a page that is read from the right it is too; else it is if most of its letters are.
    fn read(self, page_from_right: bool) -> Vec<Run> {
        if !self.from_right {
            return self.runs;
        }
        let mut joined = Run(self.runs.into_iter().flat_map(|run| run.0).collect());
        let from_right = page_from_right || joined.leftward() >= 0;
        joined.read(from_right);
        vec![joined]
    }
}

/// Joins the runs of each line that has letters from right to left, and puts it into order.
///
/// PDFium gives the words of such a line in any order.
fn read_from_right(runs: Vec<Run>) -> Vec<Run> {
    let mut lines: Vec<LineOfRuns> = Vec::with_capacity(runs.len());
    for run in runs {
        let next = LineOfRuns::of(run);
        let parted = match lines.last_mut() {
            Some(line) => line.join(next),
            None => Some(next),
        };
        lines.extend(parted);
    }
    let letters = lines.iter().flat_map(|line| &line.runs).map(Run::leftward);
    let from_right = letters.sum::<i32>() > 0;
    lines
        .into_iter()
        .flat_map(|line| line.read(from_right))
        .collect()
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
