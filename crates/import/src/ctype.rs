//! C types as text: in one spelling, with one name for each struct and enum. The text is the type
//! everywhere in `api/`; nothing here builds a tree of it.

use std::collections::BTreeMap;

/// One name for each type that has several: what to write for a tag or typedef name; for `TAG *` with an
/// opaque tag the handle's name.
pub(crate) type Names = BTreeMap<String, String>;

/// The type in the spelling of `api/`: no `struct`, no `restrict`, `*` after a blank, no const on the
/// value itself, function pointers as `code`, names as `names` has them.
pub(crate) fn spell(text: &str, names: &Names) -> String {
    // A parameter that is an array of arrays: where its numbers begin.
    if let Some((element, _)) = text.split_once("(*)[").filter(|(_, counts)| counts.ends_with(']')) {
        return spell(&format!("{element}*"), names);
    }
    if text.contains("(*") || text.contains(" (") {
        return "code".to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    for word in words_of(text) {
        match word {
            "struct" | "union" | "enum" | "restrict" | "__restrict" | "__restrict__" => {}
            "_Bool" => words.push("bool".to_owned()),
            "*" => {
                let opaque = words.last().and_then(|w| names.get(&format!("{w} *")));
                match opaque.filter(|_| words.len() == 1) {
                    Some(handle) => words = vec![handle.clone()],
                    None => words.push(word.to_owned()),
                }
            }
            word => words.push(names.get(word).map_or_else(|| word.to_owned(), Clone::clone)),
        }
    }
    // A const of the value itself says nothing to a caller.
    if words.last().is_some_and(|w| w == "const") {
        words.pop();
    }
    if !words.iter().any(|w| w == "*") {
        words.retain(|w| w != "const");
    }
    let mut spelled = String::new();
    for word in &words {
        let tight = spelled.is_empty() || word.starts_with('[') || (spelled.ends_with('*') && word != "__attribute__");
        if !tight {
            spelled.push(' ');
        }
        spelled.push_str(word);
    }
    spelled
}

/// Words, stars and `[n]` of a type.
pub(crate) fn words_of(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '[' => rest.find(']').map_or(rest.len(), |at| at + 1),
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':' || c == '@' || c == '.'
}

/// What a pointer leads to: `(type, is const)`. None where the text is no pointer.
pub(crate) fn pointee(text: &str) -> Option<(&str, bool)> {
    let inner = text.strip_suffix('*')?.trim_end();
    let constant =
        inner.ends_with(" const") || inner.ends_with("*const") || (starts_const(inner) && !inner.contains('*'));
    Some((inner.trim_end_matches("const").trim_end(), constant))
}

fn starts_const(text: &str) -> bool {
    text.starts_with("const ")
}

/// The name in a type: without const, stars and arrays.
pub(crate) fn base(text: &str) -> String {
    let words = words_of(text).into_iter().filter(|w| !matches!(*w, "const" | "volatile" | "*") && !w.starts_with('['));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Names, base, pointee, spell};

    #[test]
    fn one_spelling() {
        let row = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let names = Names::from([row("A_st", "A"), row("H_st *", "H")]);
        let said = |text: &str| spell(text, &names);
        assert_eq!(said("const struct A_st *"), "const A *");
        assert_eq!(said("const struct A_st"), "A");
        assert_eq!(said("struct A_st *const"), "A *");
        assert_eq!(said("const char *const *"), "const char *const *");
        assert_eq!(said("void **"), "void **");
        assert_eq!(said("unsigned int [2][3]"), "unsigned int[2][3]");
        assert_eq!(said("void (*)(void *)"), "code");
        assert_eq!(said("const double (*)[3]"), "const double *");
        assert_eq!(said("_Bool"), "bool");
        assert_eq!(said("struct H_st **"), "H *");
        assert_eq!(said("const A_st *__restrict"), "const A *");
    }

    #[test]
    fn pointers() {
        assert_eq!(pointee("const void *"), Some(("const void", true)));
        assert_eq!(pointee("const char **"), Some(("const char *", false)));
        assert_eq!(pointee("const char *const *"), Some(("const char *", true)));
        assert_eq!(pointee("int"), None);
        assert_eq!(base("const unsigned int *[3]"), "unsigned int");
    }
}
