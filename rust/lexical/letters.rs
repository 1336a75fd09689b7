//! Scores of texts by the letters that their words share with those of a query.
//!
//! A compound, an inflection that no stemmer knows and a part of a word have letters in common with
//! the word that is asked for. Only texts that are candidates already are compared, so that no index is
//! needed, and how rare four letters are is told by the candidates.

use rustc_hash::FxHashMap;

use super::bm25::{Bm25, idf, saturation};
use crate::analyze;

/// Four letters of a word with a blank before and after it; a shorter word is one with blanks behind.
type Gram = [char; 4];

/// Returns the BM25 score of each text by the distinct grams of a query, with the frequencies of these
/// texts; 0 for a query in scripts without spaces, whose words are not known.
pub fn letter_scores(query: &str, texts: &[&str]) -> Vec<f32> {
    let mut asked: FxHashMap<Gram, usize> = FxHashMap::default();
    each_gram(query, |gram| {
        let next = asked.len();
        asked.entry(gram).or_insert(next);
    });
    // Most tokens occur in several texts, or several times in one.
    let mut known: FxHashMap<&str, TokenGrams> = FxHashMap::default();
    let counted = texts.iter().map(|text| {
        let (mut counts, mut length) = (vec![0u32; asked.len()], 0.0);
        for token in text.split_ascii_whitespace() {
            let grams = known
                .entry(token)
                .or_insert_with(|| TokenGrams::of(token, &asked));
            length += f64::from(grams.length);
            for &at in &grams.asked {
                counts[at] += 1;
            }
        }
        (counts, length)
    });
    let counted: Vec<(Vec<u32>, f64)> = counted.collect();
    let weights: Vec<f64> = (0..asked.len())
        .map(|at| {
            let held = counted.iter().filter(|(counts, _)| counts[at] > 0).count();
            idf(texts.len() as u64, held as u64)
        })
        .collect();
    let mean = counted.iter().map(|(_, length)| length).sum::<f64>() / texts.len().max(1) as f64;
    let score = |(counts, length): &(Vec<u32>, f64)| {
        let norm = Bm25::default().norm(*length, mean);
        let held = counts.iter().zip(&weights).filter(|(count, _)| **count > 0);
        held.map(|(&count, weight)| *weight as f32 * saturation(count as f32, norm))
            .sum()
    };
    counted.iter().map(score).collect()
}

/// The grams of a text without white space: how many there are, and which of those of a query.
struct TokenGrams {
    length: u32,
    asked: Vec<usize>,
}

impl TokenGrams {
    fn of(token: &str, asked: &FxHashMap<Gram, usize>) -> TokenGrams {
        let mut found = TokenGrams {
            length: 0,
            asked: Vec::new(),
        };
        each_gram(token, |gram| {
            found.length += 1;
            found.asked.extend(asked.get(&gram));
        });
        found
    }
}

/// Calls a function with each gram of the words of a text, in scripts with spaces.
fn each_gram(text: &str, mut take: impl FnMut(Gram)) {
    analyze::each_folded_word(text, |word| {
        let mut gram = [' '; 4];
        for (at, letter) in word.chars().chain([' ']).enumerate() {
            gram = [gram[1], gram[2], gram[3], letter];
            if at >= 2 {
                take(gram);
            }
        }
        if word.chars().nth(1).is_none() {
            take(gram);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grams(text: &str) -> Vec<String> {
        let mut grams = Vec::new();
        each_gram(text, |gram| grams.push(gram.iter().collect()));
        grams
    }

    #[test]
    fn the_grams_of_a_text_are_those_of_its_words() {
        assert_eq!(grams("Été! a 東京"), [" ete", "ete ", "  a "]);
        assert_eq!(grams("東京 ไทย"), [] as [String; 0]);
    }

    #[test]
    fn a_compound_scores_by_a_part_of_it() {
        let texts = [
            "Die Datenbankreplikation läuft.",
            "Die Sicherung läuft.",
            "",
        ];
        let scores = letter_scores("Replikation", &texts);
        assert!(scores[0] > 1.0);
        assert_eq!(scores[1..], [0.0, 0.0]);
        assert_eq!(letter_scores("東京", &["東京"]), [0.0]);
        assert_eq!(letter_scores("word", &[]), [] as [f32; 0]);
    }
}
