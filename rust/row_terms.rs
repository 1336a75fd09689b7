//! Terms of a query in the rows of a text: what a row is chosen and marked by.
//!
//! A query is analyzed once for all texts that are looked at for it. An identifier, a code or a
//! number (`parse_known_args`, `TS-999`) has a term as a whole and one for each part; in a text that
//! holds the whole, a part of it alone, as in `parse_args`, tells nothing. A plain word may itself be a
//! part of names: a text that has it as a whole tells more than one that has `_apply_header`.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyze::{self, Analyzer};
use crate::code::{Declaration, declarations, is_source_code};

/// A longer query is a text, whose words are not looked at one by one.
const MOST_WORDS: usize = 100;
/// A term of the title or of the outline is of the whole document and tells little of a row.
const KNOWN_WEIGHT: f64 = 0.25;
/// The marks of a heading of Markdown.
const HEADING_MARKS: usize = 6;
/// Analyzers kept for the next texts, with the words that they know.
const IDLE_ANALYZERS: usize = 4;

static ANALYZERS: Mutex<Vec<Analyzer>> = Mutex::new(Vec::new());

/// A query by its terms, without a language.
#[derive(Debug, Clone)]
pub struct LexicalQuery {
    /// Its distinct terms, in order.
    asked: Vec<String>,
    /// The whole of each word of several terms, and its parts.
    compounds: Vec<(String, Vec<String>)>,
    /// Its words of several terms as they are written, each once.
    wholes: Vec<String>,
    /// The terms of its other words.
    alone: HashSet<String>,
    is_one_word: bool,
    /// The term of its only word, if names may have that as a part.
    plain: Option<String>,
    /// That word as it is written.
    word: Option<String>,
}

/// The terms of a query in each row of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct RowTerms {
    /// The terms that a row holds, as numbers of `weights`, each once.
    pub rows: Vec<Vec<usize>>,
    /// The terms and their weights, which are 1 in all; a rare term weighs more.
    pub weights: Vec<(String, f64)>,
    /// The rows that declare the identifier, number or code that is the query: its definition, else
    /// what has it as a member, else what gives it a value. Of a plain word, those that declare it in
    /// source code, else those that have it as a whole where others have it within names.
    pub defining: Vec<usize>,
}

/// How often a text has a plain word, or a form of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WordCount {
    /// As a whole.
    pub whole: usize,
    /// Within a name.
    pub part: usize,
}

impl LexicalQuery {
    /// Analyzes a query.
    pub fn new(query: &str) -> Self {
        with_analyzer(|analyzer| {
            let terms = analyzer.terms(query);
            let word = query.trim();
            let is_plain = terms.len() == 1
                && word.chars().all(char::is_alphanumeric)
                && analyze::unspaced_spans(word).is_empty();
            let mut found = LexicalQuery {
                plain: is_plain.then(|| terms[0].clone()),
                word: is_plain.then(|| word.to_owned()),
                asked: distinct(terms),
                compounds: Vec::new(),
                wholes: Vec::new(),
                alone: HashSet::new(),
                is_one_word: words(query).nth(1).is_none() && words(query).next().is_some(),
            };
            for word in words(query).take(MOST_WORDS) {
                // A text without spaces has several terms, too, none of which is the whole.
                let is_compound =
                    analyzer.terms(word).len() > 1 && analyze::unspaced_spans(word).is_empty();
                if is_compound && found.wholes.iter().all(|known| known != word) {
                    found.wholes.push(word.to_owned());
                }
                found.add_terms(word, is_compound, analyzer);
            }
            found
        })
    }

    /// Adds the terms of a word to those that stand alone, or to the compounds.
    ///
    /// Of `id=01234` each part is a word of its own; of `use=HashMap` one is itself a compound.
    fn add_terms(&mut self, word: &str, is_compound: bool, analyzer: &mut Analyzer) {
        let mut terms = analyzer.terms(word);
        if !is_compound || terms.len() < 2 {
            self.alone.extend(terms);
            return;
        }
        let joined: String = word.chars().filter(|c| c.is_alphanumeric()).collect();
        let is_whole = !terms[0].chars().all(char::is_alphanumeric)
            || analyzer.terms(&joined).first() == Some(&terms[0]);
        if is_whole {
            let parts = terms.split_off(1);
            self.compounds.push((terms.remove(0), parts));
        } else {
            let is_border = |c: char| !(c.is_alphanumeric() || c == '_');
            let parts: Vec<&str> = word.split(is_border).filter(|p| !p.is_empty()).collect();
            match parts.len() {
                0 | 1 => self.alone.extend(terms),
                _ => parts
                    .into_iter()
                    .for_each(|part| self.add_terms(part, true, analyzer)),
            }
        }
    }

    /// Returns the terms by which a text's words are marked and its rows chosen, in order.
    pub fn terms_for(&self, text: &str) -> Vec<String> {
        with_analyzer(|analyzer| self.asked_of(text, analyzer))
    }

    /// Returns the words of several terms: identifiers, codes and numbers.
    pub fn wholes(&self) -> &[String] {
        &self.wholes
    }

    /// Returns whether it is one word with one term, which names may have as a part.
    pub fn is_plain_word(&self) -> bool {
        self.plain.is_some()
    }

    /// Returns how often each text has the word that the query is; never, if it is no plain word.
    pub fn count_word(&self, texts: &[&str]) -> Vec<WordCount> {
        with_analyzer(|analyzer| {
            analyzer.trim();
            self.count_by(texts, analyzer)
        })
    }

    /// Returns the terms of the query in each row of a text; those that are `known` weigh less.
    pub fn row_terms(&self, rows: &[&str], known: &HashSet<String>) -> RowTerms {
        with_analyzer(|analyzer| self.row_terms_by(rows, known, analyzer))
    }

    /// Returns the span, in code points, of the line of each text that answers.
    ///
    /// It is the line with most terms of the query, the first of equals. A line that defines what is
    /// asked for goes first, a heading of Markdown last: what it names is below it. A text without
    /// any of the terms answers as a whole.
    pub fn find_answers(&self, texts: &[&str]) -> Vec<(usize, usize)> {
        with_analyzer(|analyzer| {
            let answer = |text: &&str| self.find_answer(text, analyzer);
            texts.iter().map(answer).collect()
        })
    }

    fn find_answer(&self, text: &str, analyzer: &mut Analyzer) -> (usize, usize) {
        if !text.contains('\n') {
            return (0, text.chars().count());
        }
        let lines: Vec<&str> = text.split('\n').collect();
        let terms = self.row_terms_by(&lines, &HashSet::new(), analyzer);
        if terms.weights.is_empty() {
            return (0, text.chars().count());
        }
        let is_code = is_source_code(text);
        let rank = |at: usize| {
            let is_heading = !is_code && is_heading(lines[at]);
            let held = terms.rows[at].iter().map(|&term| terms.weights[term].1);
            let share = rounded(held.sum());
            let is_defining = !is_heading && terms.defining.binary_search(&at).is_ok();
            (is_defining, share > 0.0 && !is_heading, share)
        };
        let (mut best, mut highest) = (0, rank(0));
        for at in 1..lines.len() {
            let next = rank(at);
            if next > highest {
                (best, highest) = (at, next);
            }
        }
        let chars = |line: &&str| line.chars().count();
        let start = lines[..best].iter().map(|line| chars(line) + 1).sum();
        (start, start + chars(&lines[best]).max(1))
    }

    fn row_terms_by(
        &self,
        rows: &[&str],
        known: &HashSet<String>,
        analyzer: &mut Analyzer,
    ) -> RowTerms {
        let asked = match self.compounds.is_empty() {
            true => self.asked.clone(),
            false => self.asked_of(&rows.join("\n"), analyzer),
        };
        analyzer.trim();
        let numbers: FxHashMap<u32, usize> = (0..)
            .zip(&asked)
            .map(|(at, term)| (analyzer.number(term), at))
            .collect();
        let mut counts = vec![0u32; asked.len()];
        let mut buffer = Vec::new();
        let mut held = Vec::with_capacity(rows.len());
        for row in rows {
            buffer.clear();
            analyzer.append(row, &mut buffer);
            let found = buffer.iter().filter_map(|number| numbers.get(number));
            let found: BTreeSet<usize> = found.copied().collect();
            for &term in &found {
                counts[term] += 1;
            }
            held.push(found.into_iter().collect());
        }
        let mut defining = self.rows_that_declare(rows);
        if defining.is_empty() && self.plain.is_some() {
            defining = rows_with_whole(&self.count_by(rows, analyzer));
        }
        weighed(asked, held, &counts, known, rows.len(), defining)
    }

    /// Returns the rows that say most of what the name is that the query consists of.
    ///
    /// A question about a name asks for more than the line that declares it. A plain word is a name in
    /// source code alone, and there may be the name of a variable anywhere.
    fn rows_that_declare(&self, rows: &[&str]) -> Vec<usize> {
        let text = rows.join("\n");
        let (names, least) = match &self.word {
            Some(word) if is_source_code(&text) => {
                (std::slice::from_ref(word), Declaration::Member)
            }
            None if self.is_one_word => (&*self.wholes, Declaration::Value),
            _ => return Vec::new(),
        };
        let mut strongest = vec![Declaration::None; rows.len()];
        for name in names {
            for (row, found) in strongest.iter_mut().zip(declarations("", &text, name)) {
                *row = found.max(*row);
            }
        }
        let most = strongest.iter().copied().max().unwrap_or_default();
        let is_most = |at: &usize| most >= least && strongest[*at] == most;
        (0..rows.len()).filter(is_most).collect()
    }

    /// Returns how often each text has the plain word; the analyzer's terms keep their numbers.
    fn count_by(&self, texts: &[&str], analyzer: &mut Analyzer) -> Vec<WordCount> {
        let Some(term) = &self.plain else {
            return vec![WordCount::default(); texts.len()];
        };
        let term = analyzer.number(term);
        let mut known: FxHashMap<&str, WordCount> = FxHashMap::default();
        let mut buffer = Vec::new();
        let mut count = |token| {
            *known.entry(token).or_insert_with(|| {
                buffer.clear();
                analyzer.append(token, &mut buffer);
                let is_whole = buffer == [term] && !token.contains('_');
                WordCount {
                    whole: usize::from(is_whole),
                    part: usize::from(!is_whole && buffer.contains(&term)),
                }
            })
        };
        let add = |sum: WordCount, one: WordCount| WordCount {
            whole: sum.whole + one.whole,
            part: sum.part + one.part,
        };
        texts
            .iter()
            .map(|text| tokens(text).map(&mut count).fold(WordCount::default(), add))
            .collect()
    }

    fn asked_of(&self, text: &str, analyzer: &mut Analyzer) -> Vec<String> {
        if self.compounds.is_empty() {
            return self.asked.clone();
        }
        analyzer.trim();
        let mut buffer = Vec::new();
        analyzer.append(text, &mut buffer);
        let held: FxHashSet<u32> = buffer.into_iter().collect();
        let is_held =
            |whole: &String, analyzer: &mut Analyzer| held.contains(&analyzer.number(whole));
        let mut parts: HashSet<&String> = HashSet::new();
        for (whole, of_whole) in &self.compounds {
            if is_held(whole, analyzer) {
                parts.extend(of_whole);
            }
        }
        let is_whole = |term: &String| self.compounds.iter().any(|(whole, _)| whole == term);
        let tells =
            |term: &&String| !parts.contains(term) || self.alone.contains(*term) || is_whole(term);
        self.asked.iter().filter(tells).cloned().collect()
    }
}

/// Returns the terms of rows with their weights, without those that no row holds.
fn weighed(
    asked: Vec<String>,
    mut held: Vec<Vec<usize>>,
    counts: &[u32],
    known: &HashSet<String>,
    rows: usize,
    defining: Vec<usize>,
) -> RowTerms {
    let mut renumbered = vec![0; asked.len()];
    let mut weights: Vec<(String, f64)> = Vec::new();
    for (at, term) in asked.into_iter().enumerate() {
        if counts[at] > 0 {
            let factor = if known.contains(&term) {
                KNOWN_WEIGHT
            } else {
                1.0
            };
            let rarity = (1.0 + rows as f64 / f64::from(counts[at])).ln();
            renumbered[at] = weights.len();
            weights.push((term, rarity * factor));
        }
    }
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut weights {
        *weight /= total;
    }
    for term in held.iter_mut().flatten() {
        *term = renumbered[*term];
    }
    RowTerms {
        rows: held,
        weights,
        defining,
    }
}

/// Returns the rows that have a word as a whole, if others have it within a name alone.
fn rows_with_whole(counts: &[WordCount]) -> Vec<usize> {
    if counts.iter().all(|row| row.part == 0 || row.whole > 0) {
        return Vec::new();
    }
    let is_whole = |at: &usize| counts[*at].whole > 0;
    (0..counts.len()).filter(is_whole).collect()
}

/// Returns the words and names of a text, with the combining marks and soft hyphens in them, which the
/// analyzer leaves out.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_mark = |c: char| c == '\u{ad}' || ('\u{300}'..='\u{36f}').contains(&c);
    let is_inner = move |c: char| c.is_alphanumeric() || c == '_' || is_mark(c);
    text.split(move |c| !is_inner(c))
        .map(move |token| token.trim_start_matches(is_mark))
        .filter(|token| !token.is_empty())
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=HEADING_MARKS).contains(&(line.len() - rest.len())) && rest.starts_with(' ')
}

/// Returns a share with six digits after the point, so that sums in any order compare equal.
fn rounded(share: f64) -> f64 {
    (1e6 * share).round_ties_even() / 1e6
}

fn distinct(terms: Vec<String>) -> Vec<String> {
    BTreeSet::from_iter(terms).into_iter().collect()
}

/// Returns the words of a query as Python splits it: four control characters separate words, too.
fn words(query: &str) -> impl Iterator<Item = &str> {
    let is_space = |c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c);
    query.split(is_space).filter(|word| !word.is_empty())
}

fn with_analyzer<T>(work: impl FnOnce(&mut Analyzer) -> T) -> T {
    let idle = || ANALYZERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = idle().pop();
    let mut analyzer = known.unwrap_or_else(|| Analyzer::for_documents(""));
    let done = work(&mut analyzer);
    let mut kept = idle();
    if kept.len() < IDLE_ANALYZERS {
        kept.push(analyzer);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(terms: &RowTerms, row: usize) -> Vec<&str> {
        let term = |&term: &usize| terms.weights[term].0.as_str();
        terms.rows[row].iter().map(term).collect()
    }

    #[test]
    fn rows_have_the_terms_of_the_query() {
        let rows = ["Whales eat krill", "krill and krill", "seals"];
        let terms = LexicalQuery::new("whale, krill or otters").row_terms(&rows, &HashSet::new());
        assert_eq!(of(&terms, 0), ["krill", "whale"]);
        assert_eq!(of(&terms, 1), ["krill"]);
        assert_eq!(of(&terms, 2), Vec::<&str>::new());
        let total: f64 = terms.weights.iter().map(|(_, weight)| weight).sum();
        assert!((total - 1.0).abs() < 1e-12);
        assert!(terms.weights[0].1 < terms.weights[1].1);
    }

    #[test]
    fn a_part_tells_nothing_beside_the_whole() {
        let query = LexicalQuery::new("parse_known_args");
        assert_eq!(query.terms_for("parse_args").len(), 4);
        assert_eq!(
            query.terms_for("parse_known_args(), parse_args"),
            ["parseknownarg"]
        );
        assert_eq!(query.wholes(), ["parse_known_args"]);
    }

    #[test]
    fn a_word_without_a_term_as_a_whole_consists_of_others() {
        let rows = ["x id=01230", "x id=01234", "x HashMap", "std"];
        let answer = |query: &str| LexicalQuery::new(query).find_answers(&[&rows.join("\n")])[0];
        assert_eq!(answer("id=01234"), (11, 21));
        assert_eq!(answer("request id=01234"), (11, 21));
        assert_eq!(answer("(id)=(01234"), (11, 21));
        assert_eq!(LexicalQuery::new("id=01234").wholes(), ["id=01234"]);
        let query = LexicalQuery::new("use=HashMap");
        assert_eq!(query.terms_for("a HashMap"), ["hashmap", "use"]);
        assert_eq!(query.terms_for("a hash"), ["hash", "hashmap", "map", "use"]);
    }

    #[test]
    fn the_line_with_most_terms_answers() {
        let text = "# krill\nSeals.\nÉte: whales eat krill.\nkrill\n";
        let query = LexicalQuery::new("krill");
        assert_eq!(
            query.find_answers(&[text, "seals", ""]),
            [(15, 37), (0, 5), (0, 0)]
        );
    }

    #[test]
    fn the_line_that_defines_a_name_answers() {
        let text = "use max_words, max_words\nmax_words = 3\n";
        let query = LexicalQuery::new("max_words");
        assert_eq!(query.find_answers(&[text]), [(25, 38)]);
    }

    #[test]
    fn a_plain_word_is_counted_as_a_whole_and_within_names() {
        let query = LexicalQuery::new("header");
        let texts = [
            "header Headers he\u{ad}ader",
            "_apply_header x-header applyHeader",
            "no",
        ];
        let found: Vec<_> = query
            .count_word(&texts)
            .iter()
            .map(|each| (each.whole, each.part))
            .collect();
        assert_eq!(found, [(3, 0), (1, 2), (0, 0)]);
        assert!(query.is_plain_word() && !LexicalQuery::new("parse_args").is_plain_word());
        let text =
            "# header\nThe function set_header is called.\nIt reads the header of a request.\n";
        assert_eq!(query.find_answers(&[text]), [(44, 77)]);
    }

    #[test]
    fn the_parameter_that_a_plain_word_names_answers_in_source_code() {
        let text = "class Server(Base):\n    def start(\n        self, *, trust: bool = False\n    ):\n        \
                    self.trust = trust; self._trust(trust)\n";
        let found = LexicalQuery::new("trust").find_answers(&[text]);
        assert_eq!(found, [(35, 71)]);
    }

    #[test]
    fn words_are_split_as_in_python() {
        let found: Vec<&str> = words(" a\u{1c}b\u{a0}c\u{200b}d ").collect();
        assert_eq!(found, ["a", "b", "c\u{200b}d"]);
        assert_eq!(words("").count(), 0);
    }
}
