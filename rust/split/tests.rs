//! Chunks of small texts, and the promises of `split` on generated ones.

use super::*;
use proptest::prelude::*;

/// Returns the starts of words: the tokens of a tokenizer without subwords.
fn words(text: &str) -> Vec<u32> {
    let mut starts = Vec::new();
    let mut blank = true;
    for (at, c) in (0..).zip(text.chars()) {
        if blank && !c.is_whitespace() {
            starts.push(at);
        }
        blank = c.is_whitespace();
    }
    starts
}

fn slice(text: &str, (start, end): (u32, u32)) -> String {
    text.chars()
        .skip(start as usize)
        .take((end - start) as usize)
        .collect()
}

fn chunks(text: &str, cuts: &[(u32, u32)], budget: u32) -> Vec<String> {
    let cuts: Vec<Cut> = cuts.iter().map(|&(at, level)| Cut { at, level }).collect();
    split(text, &cuts, Some(&words(text)), Size { budget, overlap: 0 })
        .into_iter()
        .map(|span| slice(text, span))
        .collect()
}

#[test]
fn a_short_text_is_one_chunk_and_a_blank_one_none() {
    assert_eq!(chunks("One. Two.\n", &[], 10), ["One. Two.\n"]);
    assert_eq!(chunks(" \n\n ", &[], 10), [] as [&str; 0]);
    assert_eq!(chunks("", &[], 10), [] as [&str; 0]);
}

#[test]
fn a_small_budget_gives_a_sentence_a_chunk() {
    let text = "Revenue grew by 3.5 percent. Dr. Grey, i.e. the chair, left. \
                \"Why now?\" asked J. Smith of the board. It fell.";
    assert_eq!(
        chunks(text, &[], 8),
        [
            "Revenue grew by 3.5 percent. ",
            "Dr. Grey, i.e. the chair, left. ",
            "\"Why now?\" asked J. Smith of the board. ",
            "It fell.",
        ]
    );
}

#[test]
fn chinese_and_japanese_sentences_end_without_a_space() {
    let text = "他说：“今天下雨。”我们留在家里。明日は晴れますか？はい、晴れます。";
    let spans = split(
        text,
        &[],
        None,
        Size {
            budget: 11,
            overlap: 0,
        },
    );
    let chunks: Vec<String> = spans.into_iter().map(|span| slice(text, span)).collect();
    assert_eq!(
        chunks,
        [
            "他说：“今天下雨。”",
            "我们留在家里。",
            "明日は晴れますか？",
            "はい、晴れます。"
        ]
    );
}

#[test]
fn a_heading_stays_with_the_text_after_it() {
    let text = "alpha beta gamma delta\n\n# Head\n\nepsilon zeta eta theta\n";
    assert_eq!(
        chunks(text, &[(24, 1)], 6),
        [
            "alpha beta gamma delta\n\n",
            "# Head\n\nepsilon zeta eta theta\n"
        ]
    );
}

#[test]
fn a_definition_that_fits_is_whole_and_small_ones_share_a_chunk() {
    let one = "fn a() {\n    1\n}\n\n";
    let long = format!("fn b() {{\n{}}}\n", "    call();\n\n".repeat(12));
    let text = format!("{one}{one}{long}");
    let at = one.len() as u32;
    assert_eq!(
        chunks(&text, &[(0, 1), (at, 1), (2 * at, 1)], 16),
        [format!("{one}{one}"), long]
    );
}

#[test]
fn a_better_cut_is_preferred_to_a_fuller_chunk() {
    let text = "a b c d. e f.\n\ng h i j. k l m n.";
    assert_eq!(
        chunks(text, &[], 10),
        ["a b c d. e f.\n\n", "g h i j. k l m n."]
    );
}

#[test]
fn overlap_repeats_the_last_sentence_or_else_the_last_words() {
    let size = Size {
        budget: 7,
        overlap: 3,
    };
    let repeated = |text: &str| -> Vec<String> {
        split(text, &[], Some(&words(text)), size)
            .into_iter()
            .map(|span| slice(text, span))
            .collect()
    };
    assert_eq!(
        repeated("a b. c d. e f. g h. "),
        ["a b. c d. ", "c d. e f. g h. "]
    );
    assert_eq!(
        repeated("a b c d. e f g h."),
        ["a b c d. ", "b c d. e f g h."]
    );
}

#[test]
fn a_text_of_one_token_is_split_all_the_same() {
    let text = "x".repeat(10_000);
    let spans = split(
        &text,
        &[],
        Some(&[0]),
        Size {
            budget: 10,
            overlap: 0,
        },
    );
    assert!(spans.len() > 30);
    assert!(spans.iter().all(|(start, end)| end - start <= 320));
}

#[test]
fn a_cut_within_whitespace_moves_to_its_end() {
    assert_eq!(chunks("a b c  d e f", &[(5, 1)], 3), ["a b c  ", "d e f"]);
}

#[test]
fn a_text_is_cut_before_the_numbers_of_clauses() {
    let text = "The parties agree as follows. 3. Term. This agreement lasts for two years. It may be \
                renewed. 3.1 Notice is given (a) in writing; (b) within 30 days of the end, and \
                (c) to both parties. Article 5 Law. French law applies. § 6 It is signed twice.";
    assert_eq!(
        chunks(text, &[], 14),
        [
            "The parties agree as follows. ",
            "3. Term. This agreement lasts for two years. It may be renewed. ",
            "3.1 Notice is given (a) in writing; ",
            "(b) within 30 days of the end, and (c) to both parties. ",
            "Article 5 Law. French law applies. § 6 It is signed twice.",
        ]
    );
}

#[test]
fn numbers_within_a_sentence_are_no_clauses() {
    use super::punctuation::clause_number;
    for (text, number) in [
        ("(a) in", 3),
        ("(iv) of", 4),
        ("(12) of", 4),
        ("12. Term", 3),
        ("1.2.3 Term", 5),
        ("§ 3 Term", 4),
        ("§§ 3.1 Term", 8),
        ("Article IV. Term", 10),
        ("Section 5.2 Term", 11),
        ("第五条 甲方", 9),
        ("3) Term", 2),
        ("(above) it", 0),
        ("(2024) it", 0),
        ("3.5 percent", 0),
        ("30 Days", 0),
        ("Article five", 0),
        ("Sections of", 0),
        ("12.", 0),
        ("(", 0),
        ("第", 0),
        ("§", 0),
    ] {
        assert_eq!(clause_number(text), number, "{text}");
    }
}

/// Texts of words, punctuation, line breaks and scripts that are written without spaces.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "word ",
        "word ",
        "Word ",
        "e.g. ",
        ". ",
        "? ",
        ", ",
        "\n",
        "\n\n",
        "  ",
        "\t",
        "- ",
        "{",
        "}",
        "。",
        "漢字",
        "カナ",
        "ไทย",
        "e\u{301}",
        "👩‍👩‍👧",
        "x/y_z",
        ":",
        "\"",
    ]);
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_chunk_that_is_too_long_already_repeats_nothing() {
    let size = Size {
        budget: 3,
        overlap: 1,
    };
    let spans = split("aaaaaa{word \n\n\n", &[], None, size);
    assert_eq!(spans.last(), Some(&(10, 15)));
}

proptest! {
    #[test]
    fn chunks_cover_the_text_in_order_within_the_budget(
        text in any_text(),
        cuts in prop::collection::vec((0u32..300, 0u32..9), 0..8),
        budget in 1u32..40,
        overlap in 0u32..20,
        by_token: bool,
    ) {
        let overlap = overlap.min(budget - 1);
        let cuts: Vec<Cut> = cuts.into_iter().map(|(at, level)| Cut { at, level }).collect();
        let starts = words(&text);
        let tokens = by_token.then_some(starts.as_slice());
        let spans = split(&text, &cuts, tokens, Size { budget, overlap });
        let chars: Vec<char> = text.chars().collect();
        prop_assert_eq!(spans.is_empty(), text.trim().is_empty());
        let size = |from: u32, to: u32| match tokens {
            Some(starts) => starts.iter().filter(|&&s| from <= s && s < to).count() as u32,
            None => to - from,
        };
        if let (Some(first), Some(last)) = (spans.first(), spans.last()) {
            prop_assert_eq!((first.0, last.1 as usize), (0, chars.len()));
        }
        for pair in spans.windows(2) {
            let [(a, b), (c, d)] = [pair[0], pair[1]];
            prop_assert!(a < c && c <= b && b < d);
            prop_assert!(size(c, b) <= overlap);
            prop_assert!(!chars[c as usize].is_whitespace());
        }
        for &(start, end) in &spans {
            let letters = slice(&text, (start, end)).trim().chars().count();
            prop_assert!(letters > 0);
            prop_assert!(size(start, end) <= budget.max(1) + overlap || letters == 1);
            prop_assert!(size(start, end) <= budget || overlap > 0 || letters == 1);
        }
    }

    #[test]
    fn offsets_do_not_depend_on_the_width_of_a_character(text in any_text(), budget in 1u32..40) {
        let wide: String =
            text.chars().map(|c| if c == 'w' { '\u{10428}' } else { c }).collect();
        let narrow: String = text.chars().map(|c| if c == 'w' { 'q' } else { c }).collect();
        let size = Size { budget, overlap: 0 };
        prop_assert_eq!(split(&wide, &[], None, size), split(&narrow, &[], None, size));
    }
}
