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
