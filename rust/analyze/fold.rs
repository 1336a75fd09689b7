//! Folding of spellings: NFKC, lower case, no accents, one form of digits and of Arabic letters.

use unicode_normalization::char::decompose_canonical;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Writes the text in NFKC without invisible characters (soft hyphens, zero-width spaces and
/// joiners, variation selectors, direction marks), with the digits of ASCII.
///
/// Between Arabic letters, a zero-width non-joiner is the hyphen of Persian.
pub(super) fn clean(text: &str, out: &mut String) {
    out.clear();
    let mut before = ' ';
    let shown = text.chars().filter_map(|c| {
        let is_hyphen = c == '\u{200C}' && is_arabic(before);
        before = c;
        match c {
            _ if is_hyphen => Some('-'),
            _ if is_invisible(c) => None,
            _ => Some(unified(c)),
        }
    });
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        out.extend(shown);
    } else {
        out.extend(shown.nfkc());
    }
}

fn is_arabic(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6FF}')
}

/// Returns the digit of ASCII for one of another script, and the Arabic letter for the Persian form of
/// yeh and kaf.
fn unified(c: char) -> char {
    const ZEROS: [u32; 16] = [
        0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0,
        0xF20, 0x1040, 0x17E0,
    ];
    match c {
        ..'\u{660}' | '\u{17EA}'.. => c,
        '\u{6CC}' => '\u{64A}',
        '\u{6A9}' => '\u{643}',
        _ => {
            let digit = |zero: &u32| u32::from(c).checked_sub(*zero).filter(|&digit| digit < 10);
            let digit = ZEROS.iter().find_map(digit);
            digit
                .and_then(|digit| char::from_digit(digit, 10))
                .unwrap_or(c)
        }
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{1F3FB}'..='\u{1F3FF}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Appends a character in lower case with its accents.
pub(super) fn lower(c: char, out: &mut String) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
    } else {
        match c {
            // The two letters whose lower case depends on their position or the locale.
            'İ' => out.push('i'),
            'ς' => out.push('σ'),
            _ => out.extend(c.to_lowercase()),
        }
    }
}

/// Appends a lower-case word without its accents.
pub(super) fn unaccented(word: &str, out: &mut String) {
    for c in word.chars() {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'þ' => out.push_str("th"),
            'đ' | 'ð' => out.push('d'),
            'ø' => out.push('o'),
            'ł' => out.push('l'),
            'ħ' => out.push('h'),
            'ŧ' => out.push('t'),
            'ı' => out.push('i'),
            'ĸ' => out.push('k'),
            'ŋ' => out.push('n'),
            // The Russian stemmer treats й as a letter of its own, not as и with a mark.
            'й' => out.push(c),
            _ => decompose_canonical(c, |part| {
                if !is_accent(part) {
                    out.push(part);
                }
            }),
        }
    }
}

/// Returns whether a mark may be left out when typing: European accents, Hebrew points, Arabic
/// vowels, the nukta of Hindi. The other marks of Indic scripts are letters.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5C7}' | '\u{640}'
        | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{93C}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(word: &str) -> String {
        let (mut text, mut lowered, mut out) = (String::new(), String::new(), String::new());
        clean(word, &mut text);
        text.chars().for_each(|c| lower(c, &mut lowered));
        unaccented(&lowered, &mut out);
        out
    }

    #[test]
    fn spellings_of_one_word_fold_to_one() {
        for (word, want) in [
            ("Élève", "eleve"),
            ("E\u{301}le\u{300}ve", "eleve"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("İstanbul", "istanbul"),
            ("ısı", "isi"),
            ("ＡＢＣ１２", "abc12"),
            ("ﬁn", "fin"),
            ("co\u{AD}opé\u{200B}rer", "cooperer"),
            ("Đường", "duong"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("Ёлка", "елка"),
            ("чай", "чай"),
            ("שָׁלוֹם", "שלום"),
            ("یک", "يك"),
            ("می\u{200C}رود", "مي-رود"),
            ("क़लम\u{200C} २०२६", "कलम 2026"),
            ("۲۰۲۶ ٢٠٢٦ ๒๐๒๖", "2026 2026 2026"),
        ] {
            assert_eq!(folded(word), want, "{word}");
        }
    }

    #[test]
    fn half_width_kana_become_kana() {
        let mut out = String::new();
        clean("ｶﾞｰﾃﾞﾝ", &mut out);
        assert_eq!(out, "ガーデン");
    }
}
