//! The order of candidates in source code: definitions, paths, kinds of files and hits of one file.
//!
//! BM25 and embedders find the chunks that use a name as well as the one that defines it, and know
//! nothing of paths. This stage adds to a candidate's score what its text and path say. With *s* the
//! candidate's score relative to the best one, which is 1, and *n* the words of the query that are no
//! function words:
//!
//! ```text
//! t = s + definition * min(1, 1.5 * (symbols of the query that the chunk defines) / n)
//!       + names * max over defined names of (k / parts of the name) * min(1, k / 2)
//! ```
//!
//! where *k* is how many parts of the name are words of the query: `parse_args` has two. A chunk counts
//! once for its best name. A constant in capitals, such as `static int MAX_SIZE = 6;`, is a name that its
//! chunk defines, wherever it is: of 86 questions such as "value of max size", 42 had its chunk first
//! without that, and 56 with it. The best chunk of a file, by *t*, gets what the file's path says:
//!
//! ```text
//! t += path * (j / parts of the stem) * min(1, 4 * j / words of the query)
//! ```
//!
//! where *j* is how many parts of the file's stem are words of the query. Then a test, an example, a
//! vendored or generated file counts `aside` of its score, and a file of prose or configuration:
//!
//! ```text
//! t *= 1 - (1 - prose) * c * u,  c = min(1, 2 * (source code among the ten best) / 10)
//! ```
//!
//! Here *u* is 1 if the query names a symbol. Else it falls from 1 to 0 while the share of documents,
//! without data and configuration, among all candidates rises from a quarter to a half: where manuals
//! stand beside the sources, a query in words asks for the manuals as much. No file counts less if the
//! query asks for such files: "tests of the parser" and "installation guide" do, "test runner" does
//! not. What is added above and below is multiplied by *c*, so that one script among notes is no code
//! base.
//!
//! A changelog has a line like each of many queries, and many of its chunks are candidates. It is not
//! counted for *c* and *u*, and has both factors, `prose` and `aside`. Of 210 commits that mend a fault
//! (message to changed files) recall@1 was .028 [.010, .050] higher so, and of 237 others .019 [.004,
//! .038].
//!
//! At last the best chunk of a file with several good hits is raised. With *r* =
//! max(0, (t - t50) / (t1 - t50)), where *t1* and *t50* are the best and the fiftieth:
//!
//! ```text
//! t += file * (sum of r^2 over the chunks of the file) / (the greatest such sum)
//! ```
//!
//! The square lets a long file with many weak hits gain little: with r itself, questions about chunks
//! lost what those about files won.

mod declaring;
mod definitions;
mod entries;
mod kind;
mod lines;
mod outline;
mod path;
mod query;
mod source;
mod words;

use rustc_hash::FxHashMap;

use crate::fuse::FLOOR_RANK;

pub use declaring::{Declaration, declarations, strongest_declaration};
pub use kind::Kind;
pub use outline::Span;
pub use path::{common_folders, extensions, is_aside};
pub use source::is_source_code;

use definitions::{constant, defined_names};
use path::{FileKind, Syntax, UNKNOWN, is_changelog, kind_of, stem_of};
use query::CodeQuery;
use words::parts;

/// The candidates whose kinds tell how much the query is one for source code.
pub const BEST: usize = 10;
/// The shares of prose among the candidates from which it is taken for documentation of its own, and at
/// which it counts as source code does. Where comments were the questions, in packages with some
/// documentation, nDCG@10 of files fell from .825 to .822; without the rule for prose it is .811.
const SOME_PROSE: f64 = 0.25;
const MUCH_PROSE: f64 = 0.5;
/// A symbol that is this share of a query's words, or more, has the full weight of a definition. With 1
/// instead, recall@1 of codebases fell by .4.
const SYMBOL_SHARE: f64 = 1.5;

/// A candidate: a chunk of a document.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The document's number.
    pub doc: i64,
    /// The path of the document, or another URI.
    pub uri: &'a str,
    /// What the document is.
    pub kind: Kind,
    /// The chunk's text.
    pub text: &'a str,
    /// Its score so far.
    pub score: f32,
}

/// How much each rule counts; with 0 for the first three and `file`, and 1 for the others, nothing
/// changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Of a chunk that defines a symbol of the query.
    pub definition: f64,
    /// Of a chunk that defines a name whose parts are words of the query.
    pub names: f64,
    /// Of a file whose name is in the query.
    pub path: f64,
    /// What a test, an example, vendored or generated code counts.
    pub aside: f64,
    /// What prose and configuration count among source code.
    pub prose: f64,
    /// Of a file with several good hits.
    pub file: f64,
}

/// Returns the names of source code that a query has.
pub fn symbols(query: &str) -> Vec<String> {
    let symbols = CodeQuery::new(query).symbols;
    symbols.into_iter().map(str::to_owned).collect()
}

/// Returns the definitions of a whole source text, the outer before the inner; none of a language that
/// is not known.
pub fn outline(text: &str, language: &str) -> Vec<Span> {
    path::syntax_named(language).map_or_else(Vec::new, |syntax| outline::outline(text, syntax))
}

/// Returns how definitions are written in a document, `None` if it is not source code.
fn syntax_of(uri: &str, kind: Kind) -> Option<Syntax> {
    match (kind, kind_of(uri)) {
        (Kind::Code, FileKind::Source(syntax)) => Some(syntax),
        (Kind::Code, _) => Some(UNKNOWN),
        _ => None,
    }
}

/// Returns the candidates, given best first, in their new order: indexes and scores.
///
/// The best score is that of the best candidate before. Equal scores keep their order, as do all
/// candidates if none of the ten best is source code. Changelogs are not counted among these.
pub fn rank(query: &str, candidates: &[Candidate<'_>], weights: &Weights) -> Vec<(usize, f32)> {
    let syntaxes: Vec<Option<Syntax>> = candidates
        .iter()
        .map(|each| syntax_of(each.uri, each.kind))
        .collect();
    let query = CodeQuery::new(query);
    let changelogs: Vec<bool> = candidates
        .iter()
        .map(|each| each.kind != Kind::Code && !query.wants_prose && is_changelog(each.uri))
        .collect();
    let others: Vec<Kind> = candidates
        .iter()
        .zip(&changelogs)
        .filter(|(_, is_changelog)| !**is_changelog)
        .map(|(each, _)| each.kind)
        .collect();
    let best = &others[..others.len().min(BEST)];
    let sources = best.iter().filter(|kind| **kind == Kind::Code).count();
    let top = candidates
        .first()
        .map_or(0.0, |first| f64::from(first.score));
    if sources == 0 || top <= 0.0 {
        return candidates
            .iter()
            .map(|each| each.score)
            .enumerate()
            .collect();
    }
    let share = (2.0 * sources as f64 / best.len() as f64).min(1.0);
    let weights = &Weights {
        definition: share * weights.definition,
        names: share * weights.names,
        path: share * weights.path,
        file: share * weights.file,
        ..*weights
    };
    let mut scores: Vec<f64> = candidates
        .iter()
        .map(|each| f64::from(each.score) / top)
        .collect();
    for ((score, each), syntax) in scores.iter_mut().zip(candidates).zip(&syntaxes) {
        if let &Some(syntax) = syntax {
            *score += score_definitions(&query, each.text, syntax, weights);
        }
    }
    let common = common_folders(candidates.iter().map(|each| each.uri));
    for at in best_of_files(candidates, &scores) {
        scores[at] += weights.path * score_path(&query, candidates[at].uri);
    }
    let prose = 1.0 - (1.0 - weights.prose) * share * prefer_code(&query, &others);
    let changelog = (1.0 - (1.0 - weights.prose) * share) * weights.aside;
    for ((score, each), &is_changelog) in scores.iter_mut().zip(candidates).zip(&changelogs) {
        if is_changelog {
            *score *= changelog;
        } else if each.kind != Kind::Code && !query.wants_prose {
            *score *= prose;
        }
        if !query.wants_aside && is_aside(&each.uri[common..]) {
            *score *= weights.aside;
        }
    }
    raise_files(candidates, &mut scores, weights.file);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let best = scores[order[0]];
    // A weight of zero may leave nothing to scale.
    let scale = if best > 0.0 { top / best } else { 0.0 };
    order
        .into_iter()
        .map(|at| (at, (scores[at] * scale) as f32))
        .collect()
}

/// Returns how much a query prefers source code to prose, by the kinds of the candidates.
fn prefer_code(query: &CodeQuery<'_>, candidates: &[Kind]) -> f64 {
    if !query.symbols.is_empty() {
        return 1.0;
    }
    let prose = candidates.iter().filter(|kind| **kind == Kind::Prose);
    let prose = prose.count();
    let share = prose as f64 / candidates.len() as f64;
    ((MUCH_PROSE - share) / (MUCH_PROSE - SOME_PROSE)).clamp(0.0, 1.0)
}

/// Returns what the definitions in a chunk add to its score.
fn score_definitions(query: &CodeQuery<'_>, text: &str, syntax: Syntax, weights: &Weights) -> f64 {
    let mut names = defined_names(text, syntax);
    names.extend(text.lines().filter_map(constant));
    let defines = |symbol: &&&str| names.iter().any(|name| query.is_symbol(symbol, name));
    let defined = query.symbols.iter().filter(defines).count();
    let share = (SYMBOL_SHARE * defined as f64 / query.length as f64).min(1.0);
    let named = |name: &&str| {
        let parts = parts(name);
        let known = query.count(&parts) as f64;
        known / parts.len().max(1) as f64 * (known / 2.0).min(1.0)
    };
    let best_name = names.iter().map(named).fold(0.0, f64::max);
    weights.definition * share + weights.names * best_name
}

/// Returns how much of a file's name a query has, 0 to 1.
fn score_path(query: &CodeQuery<'_>, uri: &str) -> f64 {
    let stem = parts(stem_of(uri));
    let known = query.count(&stem) as f64;
    let covered = (4.0 * known / query.stems.len().max(1) as f64).min(1.0);
    known / stem.len().max(1) as f64 * covered
}

/// Returns the index of the best candidate of each file, in the order of their scores before.
fn best_of_files(candidates: &[Candidate<'_>], scores: &[f64]) -> Vec<usize> {
    let mut best: FxHashMap<i64, usize> = FxHashMap::default();
    for (at, each) in candidates.iter().enumerate() {
        let known = best.entry(each.doc).or_insert(at);
        if scores[at] > scores[*known] {
            *known = at;
        }
    }
    let mut best: Vec<usize> = best.into_values().collect();
    best.sort_unstable();
    best
}

/// Raises the best candidate of each file by the file's share of good hits.
fn raise_files(candidates: &[Candidate<'_>], scores: &mut [f64], weight: f64) {
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (highest, floor) = (sorted[0], sorted[sorted.len().min(FLOOR_RANK) - 1]);
    if highest <= floor {
        return;
    }
    let mut sums: FxHashMap<i64, f64> = FxHashMap::default();
    for (each, &score) in candidates.iter().zip(&*scores) {
        let relative = ((score - floor) / (highest - floor)).max(0.0);
        *sums.entry(each.doc).or_default() += relative * relative;
    }
    let most = sums.values().copied().fold(0.0, f64::max);
    for at in best_of_files(candidates, scores) {
        scores[at] += weight * sums[&candidates[at].doc] / most;
    }
}

#[cfg(test)]
mod tests;
