//! The text of `-e` as a filter; no text wants every call.

use crate::error::{Error, Result};
use cutap_trace::Filter;

/// Parses it, with the parser's sentence if it is refused.
pub fn filter(text: Option<&str>) -> Result<Filter> {
    let parsed = text.map(Filter::parse).transpose();
    Ok(parsed.map_err(|e| Error::own(e.to_string()))?.unwrap_or_default())
}

/// Rules of a control page as the text that they came from.
pub fn text_of(rules: &str) -> String {
    let mut terms: Vec<String> = Vec::new();
    for (rule, next) in
        rules.lines().filter(|line| !line.starts_with('~')).filter_map(|line| Some((line, line.split_at_checked(1)?.1)))
    {
        let not = if rule.starts_with('-') { "!" } else { "" };
        let mut words = next.split(' ');
        let (layer, library, name) = (words.next(), words.next().unwrap_or("*"), words.next().unwrap_or("*"));
        // A library is meant with each form of its file name, a function with each of its versions.
        let stem = library.strip_suffix(".so*").map(|l| l.trim_end_matches("-*").trim_end_matches(".alt"));
        let term = match (layer, stem.unwrap_or(library), name) {
            (Some("d"), "*", "*") => "driver".to_owned(),
            (Some("r"), "*", "*") => "runtime".to_owned(),
            (Some("l"), "*", "*") => "library".to_owned(),
            (_, "*", name) => name.to_owned(),
            (_, library, "*") => library.to_owned(),
            (_, library, name) => format!("{library}:{name}"),
        };
        let term = format!("{not}{term}");
        if terms.last().is_none_or(|last| *last != term && format!("{last}_*") != term) {
            terms.push(term);
        }
    }
    if terms.is_empty() { "all functions".to_owned() } else { terms.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_told_as_they_were_given() {
        for text in [
            "cuCtx*",
            "driver,!cuCtx*",
            "cuMemAlloc,runtime",
            "!library",
            "libcublas:cublasSgemm*",
            "libnvrtc",
            "my-app.bin:*",
        ] {
            let rules = filter(Some(text)).unwrap().rules().to_owned();
            let told = text_of(&rules);
            assert_eq!(told, text.trim_end_matches(":*"), "{rules}");
            assert_eq!(filter(Some(text)).unwrap().rules(), rules);
        }
        assert_eq!(text_of(filter(None).unwrap().rules()), "all functions");
    }
}
