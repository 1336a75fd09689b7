//! The costs of cuts and of uneven chunks.

// The costs were tuned by the sizes of the chunks that they lead to. A chunk of fill f (its size
// divided by the budget) costs FILL_WEIGHT * (f - FREE_FILL)^2, and the cut that ends it costs c. So
// text with possible cuts of cost c everywhere is cut at f = sqrt(FREE_FILL^2 + c / FILL_WEIGHT):
// half of the budget at structure, three quarters at paragraphs, seven eighths at sentences. A
// section that fills the budget stays whole, and small definitions share a chunk until it is about
// half full.
pub(super) const FREE_FILL: f32 = 0.5;
pub(super) const FILL_WEIGHT: f32 = 4.0;

/// A cut at structure: 0 at level 1, and this much more for each of up to six further levels.
pub(super) const STRUCTURE_STEP: f32 = 0.15;
/// A blank line.
pub(super) const PARAGRAPH: f32 = 1.4;
/// Added to a blank line for each column of indentation after it: a cut between two functions is
/// better than one inside a function.
pub(super) const INDENT_STEP: f32 = 0.05;
/// A line break after a sentence, before a list's next item, or out of an indented block.
pub(super) const LINE: f32 = 1.6;
/// The end of a line or a sentence before the number of a clause: `(b)`, `1.2`, `§ 3`.
pub(super) const NUMBERED: f32 = 1.2;
/// The end of a part of a sentence before such a number: "in writing; (b) within 30 days".
pub(super) const NUMBERED_PART: f32 = 2.4;
/// Taken from the cost of a blank line before the number of a clause.
pub(super) const NUMBERED_PARAGRAPH: f32 = 0.4;
/// The end of a sentence.
pub(super) const SENTENCE: f32 = 2.0;
/// A line break that may be within a sentence.
pub(super) const WRAP: f32 = 2.8;
/// The end of a clause.
pub(super) const CLAUSE: f32 = 3.5;
/// The end of a word.
pub(super) const WORD: f32 = 4.5;
/// The end of a grapheme.
pub(super) const GRAPHEME: f32 = 8.0;
/// Added between a heading, a term, a lead-in, a caption or the header of a table and the text after
/// it: more than that of a cut between words, so that only a budget below them parts them.
pub(super) const ORPHAN: f32 = 8.0;
/// Added before a closing bracket, after a colon and within a joined word: the two sides belong
/// together.
pub(super) const HANGING: f32 = 1.2;
