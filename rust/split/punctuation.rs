//! Punctuation: ends of sentences, brackets and quotes, list items, abbreviations.

/// Whether a character ends a sentence.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It does not.
    #[default]
    No,
    /// It does if whitespace follows.
    BeforeBlank,
    /// It does in any case.
    Always,
}

/// Abbreviations that occur within a sentence before a capital or a number.
pub(super) const ABBREVIATIONS: [&str; 19] = [
    "Mr", "Mrs", "Ms", "Dr", "Prof", "St", "vs", "cf", "Fig", "fig", "No", "no", "Nos", "Art",
    "art", "Sec", "Eq", "pp", "Mme",
];

/// Returns whether a character ends a sentence.
///
/// UAX 29 is not used: it ends a sentence at every line break and after every abbreviation.
pub(super) fn stop_of(c: char) -> Stop {
    match c {
        '.' | '!' | '?' | '…' | '؟' | '۔' | '।' | '॥' | '։' | '။' | '។' | '።' => {
            Stop::BeforeBlank
        }
        '。' | '！' | '？' | '．' | '｡' => Stop::Always,
        _ => Stop::No,
    }
}

/// Returns whether a character is a closing bracket, quote or emphasis mark.
pub(super) fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '”'
            | '’'
            | '»'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '〉'
            | '〕'
            | '*'
            | '_'
    )
}

/// Returns whether a character is an opening bracket or quote.
pub(super) fn is_opener(c: char) -> bool {
    matches!(
        c,
        '(' | '[' | '{' | '“' | '‘' | '«' | '「' | '『' | '（' | '【' | '《' | '〈' | '〔'
    )
}

/// Words before the number of an article or a section.
const DIVISIONS: [&str; 9] = [
    "Article", "ARTICLE", "Art.", "Section", "SECTION", "Sec.", "Clause", "CLAUSE", "Artikel",
];
/// Digits or letters of a clause's number, at most: `(xviii)`.
const NUMBER: usize = 5;

/// Returns the bytes of the number of a clause that a text begins with: `(a)`, `1.2`, `12.`, `§ 3`,
/// `Article 5`, `第五条`; 0 if it begins with none.
///
/// A plain number must stand before a capital or a quotation mark, and so must one with points in it:
/// "12. Term", not "3.5 percent".
pub(super) fn clause_number(text: &str) -> usize {
    let number = match text.chars().next() {
        Some('(') => bracketed(&text[1..]).map_or(0, |length| length + 1),
        Some('§') => {
            let rest = text
                .trim_start_matches('§')
                .trim_start_matches([' ', '\u{a0}']);
            let digits = dotted_digits(rest);
            if digits > 0 {
                text.len() - rest.len() + digits
            } else {
                0
            }
        }
        Some('第') => {
            let rest = &text['第'.len_utf8()..];
            let numeral = |c: char| c.is_numeric() || "〇一二三四五六七八九十百千".contains(c);
            let after = rest.trim_start_matches(numeral);
            let is_clause =
                after.len() < rest.len() && after.starts_with(['条', '條', '章', '節', '节', '項']);
            return if is_clause {
                text.len() - after.len() + '条'.len_utf8()
            } else {
                0
            };
        }
        Some('0'..='9') => {
            let digits = dotted_digits(text);
            let is_marked = text[..digits].contains('.') || text[digits..].starts_with(')');
            let digits = digits + usize::from(text[digits..].starts_with(')'));
            let after = text[digits..].trim_start();
            let begins = after.starts_with(|c: char| c.is_uppercase() || is_opener(c) || c == '"');
            if is_marked && begins { digits } else { 0 }
        }
        _ => {
            let division = DIVISIONS
                .iter()
                .find_map(|word| text.strip_prefix(word))
                .and_then(|rest| rest.strip_prefix(' '));
            division.map_or(0, |rest| {
                let digits = match dotted_digits(rest) {
                    0 => rest
                        .bytes()
                        .take_while(|byte| b"IVXLC".contains(byte))
                        .count(),
                    digits => digits,
                };
                if digits > 0 {
                    text.len() - rest.len() + digits
                } else {
                    0
                }
            })
        }
    };
    let ends = text[number..].starts_with(|c: char| c.is_whitespace() || ".:,)–-".contains(c));
    if number > 0 && ends { number } else { 0 }
}

/// Returns the bytes up to the bracket that closes the number of a clause.
fn bracketed(text: &str) -> Option<usize> {
    let number = text
        .bytes()
        .take(NUMBER)
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    let inner = &text.as_bytes()[..number];
    let is_roman = || inner.iter().all(|byte| b"ivxlcIVXLC".contains(byte));
    let is_number = || inner.len() <= 3 && inner.iter().all(u8::is_ascii_digit);
    let is_letter = || {
        inner.len() <= 2
            && inner
                .iter()
                .all(|byte| *byte == inner[0] && byte.is_ascii_alphabetic())
    };
    let fits = number > 0 && (is_roman() || is_number() || is_letter());
    (fits && text[number..].starts_with(')')).then_some(number + 1)
}

/// Returns the bytes of a number such as `12`, `1.2` or `1.2.3.`; 0 if a text begins with none.
fn dotted_digits(text: &str) -> usize {
    let mut end = 0;
    loop {
        let digits = text[end..]
            .bytes()
            .take(4)
            .take_while(u8::is_ascii_digit)
            .count();
        if digits == 0 || digits > 3 {
            return if digits == 0 { end } else { 0 };
        }
        end += digits;
        match text[end..].strip_prefix('.') {
            Some(_) => end += 1,
            None => return end,
        }
    }
}

/// Returns whether a line begins like a list item or a table row.
pub(super) fn is_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match (digits, line.chars().next()) {
        (0, Some('|')) => return true,
        (0, Some('-' | '*' | '+' | '•' | '–')) => line.chars().as_str(),
        (1..=3, _) if line[digits..].starts_with(['.', ')']) => &line[digits..],
        _ => return false,
    };
    rest.chars().nth(1).is_some_and(char::is_whitespace)
}
