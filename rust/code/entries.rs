//! Lines that name something at their start: entries of lists and tables, and heads of functions of C.

use super::words::is_word;

/// Returns whether a name of a text, which is in lower case, ends with a mark: `valid?` and `save!` of
/// Ruby and Elixir.
pub(super) fn is_marked(text: &str, found: &str, name: &str) -> bool {
    let Some(bare) = name.strip_suffix(['?', '!']) else {
        return false;
    };
    // The names are slices of the text.
    let end = found.as_ptr() as usize - text.as_ptr() as usize + found.len();
    found.to_lowercase() == bare && text[end..].starts_with(&name[bare.len()..])
}

/// Returns whether a line is an entry with this name: a mark of a list, a heading or roff, the name,
/// and then a value, a column or the end of the line.
pub(super) fn is_entry(line: &str, name: &str) -> bool {
    let mut rest = line.trim_start();
    loop {
        if begins_entry(rest, name) {
            return true;
        }
        match without_mark(rest) {
            Some(next) => rest = next,
            None => break,
        }
    }
    // Quotes and emphasis, of which a name may begin with one.
    while let Some(next) = rest.strip_prefix(|c| "\"'`*_([|".contains(c)) {
        let is_inside = is_word(rest.as_bytes()[0]);
        rest = next;
        if !is_inside && begins_entry(rest, name) {
            return true;
        }
    }
    false
}

/// Returns what follows the mark of a list, a heading, a comment or a macro of roff.
fn without_mark(text: &str) -> Option<&str> {
    const COMMENTS: [&str; 6] = ["//", "/*", ";", "%", "(*", "<!--"];
    if COMMENTS.iter().any(|begins| text.starts_with(begins)) {
        let after = text.trim_start_matches(|c| "/*!;%(<-".contains(c));
        return after
            .starts_with(char::is_whitespace)
            .then(|| after.trim_start());
    }
    let after = text.trim_start_matches(|c| "-*+•#>|".contains(c));
    if after.len() < text.len() {
        return after
            .starts_with(char::is_whitespace)
            .then(|| after.trim_start());
    }
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() < text.len() {
        let after = after.strip_prefix(['.', ')'])?;
        return after
            .starts_with(char::is_whitespace)
            .then(|| after.trim_start());
    }
    let after = text.strip_prefix('.')?;
    let macro_end = after.find(char::is_whitespace)?;
    let is_macro = macro_end > 0 && after[..macro_end].bytes().all(is_word);
    let after = after[macro_end..].trim_start();
    // `.It Cm Name`: a macro within the line has at most two letters.
    let (word, rest) = after.split_at(after.bytes().position(|byte| !is_word(byte)).unwrap_or(0));
    let is_inner = (1..=2).contains(&word.len()) && rest.starts_with(char::is_whitespace);
    is_macro.then(|| if is_inner { rest.trim_start() } else { after })
}

fn begins_entry(text: &str, name: &str) -> bool {
    begins_entry_with(text, name, |after| {
        is_value(after) || is_value(after.trim_start_matches(|c| "\"'`*_)]|".contains(c)))
    })
}

/// Returns whether a text begins with a name, in small letters, and then with what is wanted.
pub(super) fn begins_entry_with(text: &str, name: &str, wanted: impl Fn(&str) -> bool) -> bool {
    without_prefix(text, name)
        .is_some_and(|after| !after.bytes().next().is_some_and(is_word) && wanted(after))
}

/// Returns whether a text behind a name is a value, a column or empty.
fn is_value(after: &str) -> bool {
    let rest = after.trim_start();
    let blanks = after.len() - rest.len();
    let is_dash = blanks > 0 && {
        let mut chars = rest.chars();
        chars.next().is_some_and(|c| "-–—|".contains(c))
            && chars.next().is_some_and(char::is_whitespace)
    };
    rest.is_empty()
        || rest.starts_with([':', ',', '|'])
        || (rest.starts_with('=') && !rest.starts_with("=="))
        || blanks > 1
        || after.starts_with('\t')
        || is_dash
}

/// Returns whether a line is the head of a function of C: it begins with a type, and is no statement.
pub(super) fn is_typed(line: &str, name: &str) -> bool {
    const TYPE: usize = 80;
    let Some(open) = line.find('(') else {
        return false;
    };
    let head = &line[..open];
    if open < name.len() || !head.is_char_boundary(open - name.len()) {
        return false;
    }
    let (before, found) = head.split_at(open - name.len());
    let before = before.strip_suffix('*').unwrap_or(before);
    let is_type = |byte: u8| is_word(byte) || b"*&:<> ".contains(&byte);
    let end = line.trim_end();
    let is_statement = [
        "return", "else", "throw", "await", "yield", "new", "case", "goto",
    ]
    .contains(&before.split(' ').next().unwrap_or(""));
    found.to_lowercase() == name
        && !is_statement
        && line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && before.len() <= TYPE
        && (before.ends_with([' ', '*', '&', '>']) || before.ends_with("::"))
        && before.bytes().all(is_type)
        && !line.contains(';')
        && end.ends_with([',', ')', '{', '('])
}

/// Returns what follows a name in small letters that a text begins with, whatever its case.
fn without_prefix<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut wanted = name.chars();
    for (at, c) in text.char_indices() {
        for lower in c.to_lowercase() {
            match wanted.next() {
                Some(next) if next == lower => {}
                Some(_) => return None,
                None => return Some(&text[at..]),
            }
        }
    }
    wanted.next().is_none().then_some("")
}
