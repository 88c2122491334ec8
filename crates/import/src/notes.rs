//! What a header's comments say of each parameter, as far as it is a fact: who writes what the pointer
//! leads to, and whether a number counts bytes. The sentences themselves never leave this module's
//! callers' memory.

use std::collections::BTreeMap;

/// By function as the header writes it, then by parameter: the note in one line of small letters.
pub(crate) type Notes = BTreeMap<String, BTreeMap<String, String>>;

/// Reads the comments before declarations in a header's text.
pub(crate) fn read(text: &str, notes: &mut Notes) {
    let mut rest = text;
    while let Some(start) = rest.find("/**") {
        let Some(body) = rest.get(start + 3..) else { return };
        let Some(end) = body.find("*/") else { return };
        let (comment, after) = body.split_at(end);
        rest = after;
        let Some(name) = declared(after.get(2..).unwrap_or("")) else { continue };
        let params = params(comment);
        if !params.is_empty() {
            // The first note of a name is the documented one; repeats are internal forms.
            notes.entry(name.to_owned()).or_insert(params);
        }
    }
}

/// The function that is declared right after a comment.
fn declared(text: &str) -> Option<&str> {
    let mut text = text.trim_start();
    // Conditions of the preprocessor may stand between.
    while let Some(line) = text.strip_prefix('#') {
        text = line.split_once('\n')?.1.trim_start();
    }
    let end = text.find([';', '{', '}'])?;
    let declaration = text.get(..end)?;
    if declaration.contains("/*") && declaration.find("/*") < declaration.find('(') {
        return None;
    }
    if declaration.trim_start().starts_with("typedef") {
        return None;
    }
    // `__attribute__((x))` and macros in capitals take parentheses too.
    declaration.match_indices('(').find_map(|(at, _)| {
        let before = declaration.get(..at)?.trim_end();
        let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        (name.contains(|c: char| c.is_lowercase()) && !name.starts_with("__attribute")).then_some(name)
    })
}

/// `\param name note` and `@param[out] name note` of a comment; a note ends at an empty line or at the
/// next command.
fn params(comment: &str) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let mut current: Option<(String, String)> = None;
    for line in comment.lines() {
        let line = line.trim().trim_start_matches('*').trim();
        let command = line.strip_prefix(['\\', '@']);
        if command.is_some() || line.is_empty() {
            texts.extend(current.take());
        }
        match command.and_then(|c| c.strip_prefix("param")) {
            Some(rest) => current = one(rest),
            None => {
                if let Some((_, note)) = &mut current {
                    note.push(' ');
                    note.push_str(&line.to_lowercase());
                }
            }
        }
    }
    texts.extend(current);
    texts
}

fn one(text: &str) -> Option<(String, String)> {
    let text = text.trim_start();
    let (direction, rest) = match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        Some((direction, rest)) => (format!("[{}] ", direction.replace(' ', "")), rest),
        None => (String::new(), text),
    };
    let mut words = rest.trim_start().splitn(2, |c: char| c.is_whitespace() || c == ':');
    let name = words.next()?.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let text = words.next().unwrap_or("").trim_start_matches([' ', '\t', '-', ':']);
    (!name.is_empty()).then(|| (name.to_owned(), format!("{direction}{}", text.to_lowercase())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_of_declarations() {
        let text = "/**\n * Makes a pot.\n *\n * \\param pot   - Returned pot\n * \\param bytes - Size\n *   in bytes\n *\n \
                    * \\return x\n */\n#if 1\n__attribute__((old)) result_t API\npotMake(pot_t *pot, size_t bytes);\n\
                    /** @param[in, out] n how many */ void potCount(int *n);\n/** \\param x y */ typedef int t;\n";
        let mut notes = Notes::new();
        read(text, &mut notes);
        assert_eq!(notes.keys().collect::<Vec<_>>(), ["potCount", "potMake"]);
        assert_eq!(notes["potMake"]["pot"], "returned pot");
        assert_eq!(notes["potMake"]["bytes"], "size in bytes");
        assert_eq!(notes["potCount"]["n"], "[in,out] how many");
    }
}
