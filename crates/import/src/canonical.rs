//! A type with every typedef resolved: what two sources must agree on, whatever names they use.

use crate::ctype::words_of;
use crate::decls::Decls;

/// Only builtin types, tags (of types without one: the typedef name) and stars are left.
pub(crate) fn canonical(decls: &Decls, text: &str) -> String {
    let mut text = text.to_owned();
    // A chain of typedefs is short; a circle would be no C.
    for _ in 0..16 {
        if text.contains("(*") || text.contains(" (") {
            return "code".to_owned();
        }
        let mut next: Vec<String> = Vec::new();
        let mut resolved = false;
        for word in words_of(&text) {
            match decls.typedefs.get(word) {
                _ if matches!(word, "struct" | "union" | "enum" | "restrict" | "__restrict") => {}
                Some(typedef) if !typedef.ty.starts_with('@') && !has_tag(decls, word) => {
                    resolved = true;
                    // A const before a pointer typedef is one of the pointer: it says nothing here.
                    if typedef.ty.contains('*') && next.last().is_some_and(|w| w == "const") {
                        next.pop();
                    }
                    next.push(typedef.ty.clone());
                }
                _ => next.push(word.to_owned()),
            }
        }
        text = next.join(" ");
        if !resolved {
            break;
        }
    }
    let mut words: Vec<&str> = words_of(&text);
    if words.last() == Some(&"const") {
        words.pop();
    }
    if !words.contains(&"*") {
        words.retain(|w| *w != "const");
    }
    // An array of a parameter is a pointer.
    words.iter().map(|w| if w.starts_with('[') { "*" } else { w }).collect::<Vec<_>>().join(" ")
}

fn has_tag(decls: &Decls, name: &str) -> bool {
    decls.records.contains_key(name) || decls.enums.contains_key(name)
}
