//! The texts of `cutap help TOPIC`, embedded from `crates/cli/help`. Lists of layers in them are from
//! `api/layers.toml`.

use cutap_trace::Layer;
use std::fmt::Write;

/// A page and the word by which it is asked for. {LAYERS} and the like stand for lists.
const TOPICS: [(&str, &str); 8] = [
    ("filters", include_str!("../help/filters.txt")),
    ("output", include_str!("../help/output.txt")),
    ("files", include_str!("../help/files.txt")),
    ("environment", include_str!("../help/environment.txt")),
    ("inject", include_str!("../help/inject.txt")),
    ("limit", include_str!("../help/limit.txt")),
    ("hooks", include_str!("../help/hooks.txt")),
    ("strace", include_str!("../help/strace.txt")),
];

/// The lines about filters at the end of `cutap trace --help`.
const FILTERS_SHORT: &str = include_str!("../help/filters_short.txt");

/// Words of a filter that add something as a layer does.
const TERMS: [(&str, &str); 2] = [
    ("lookup", "Questions for the address of a function; alone, nothing else is shown."),
    ("cxx", "C++ functions of watched libraries: no arguments, no result, no time."),
];

/// All topics with their texts.
pub fn topics() -> impl Iterator<Item = (&'static str, String)> {
    TOPICS.iter().map(|(name, text)| (*name, filled(text)))
}

/// The short lines about filters.
pub fn filters_short() -> String {
    filled(FILTERS_SHORT)
}

/// The words of a filter that have a page: layers, and what is added as a layer is.
pub fn filter_words() -> impl Iterator<Item = &'static str> {
    Layer::all().map(Layer::name).chain(TERMS.iter().map(|(word, _)| *word))
}

/// The page about a layer, or about a word that adds something as a layer does.
pub fn filter_word(word: &str) -> Option<String> {
    let layer = Layer::of_name(word);
    let term = TERMS.iter().find(|(name, _)| *name == word);
    let about = layer.map(Layer::about).or(term.map(|(_, about)| *about))?;
    let kind = if layer.is_some() { "a layer of calls" } else { "a word of a filter" };
    let (does, alone) = match layer.is_some_and(|layer| !layer.is_asked()) {
        true => ("shows these calls and no others", format!("-e '!{word}' leaves them out")),
        false => ("adds them to the calls that are shown", format!("Without -e {word} they are not recorded")),
    };
    let mut page = format!("{}: {kind}\n\n{about}\n\n", word.to_uppercase());
    let _ = writeln!(page, "    cutap -e {word} ./app            {does}");
    let _ = writeln!(page, "    cutap record -e {word} ./app     records the same");
    let _ = writeln!(page, "\n{alone}. cutap help filters has all terms.");
    Some(page)
}

fn filled(text: &str) -> String {
    let of = |asked: bool| Layer::all().filter(move |layer| layer.is_asked() == asked);
    let names = |asked| of(asked).map(Layer::name).collect::<Vec<_>>().join(", ");
    let rows = |asked| of(asked).map(|layer| row(layer.name(), layer.about())).collect::<String>();
    let terms: String = TERMS.iter().map(|(word, about)| row(word, about)).collect();
    text.replace("{LAYERS}", &names(false))
        .replace("{ASKED}", &names(true))
        .replace("    {LAYER ROWS}\n", &rows(false))
        .replace("    {ASKED ROWS}\n", &(rows(true) + &terms))
}

fn row(name: &str, about: &str) -> String {
    format!("    {name:<10}{about}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_is_filled() {
        for (name, text) in topics().chain([("short", filters_short())]) {
            assert!(
                !text.contains(" ROWS}") && !text.contains("LAYERS}") && !text.contains("ASKED}"),
                "{name}: {text}"
            );
        }
        let (_, filters) = topics().next().unwrap();
        for word in filter_words() {
            assert!(filters.contains(&format!("\n    {word} ")), "{word}");
            assert!(filter_word(word).unwrap().contains(&format!("-e {word}")), "{word}");
        }
    }
}
