//! `--rules FILE.toml`: the rules of `--inject` as a list with comments. A table has either the whole text of a rule,
//! or its parts by the same words. Each mistake is named with file, line, what was expected and the nearest names.

use super::faultinj;
use super::rule_text::{InjectRule, WORDS};
use crate::base::error::{Error, Result, cannot};
use cutap_trace::did_you_mean;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Spanned, Value};

type Table = BTreeMap<Spanned<String>, Spanned<Value>>;

/// Keys of a rule beside the words of actions.
const KEYS: [&str; 3] = ["name", "inject", "calls"];

/// The rules of a file. Files of faultinj, which are JSON, are read too.
pub fn rules_of_file(file: &Path) -> Result<Vec<InjectRule>> {
    let text = std::fs::read_to_string(file).map_err(|e| cannot("read", file, &e, "give a TOML file of rules"))?;
    let path = file.display().to_string();
    if text.trim_start().starts_with('{') {
        return faultinj::rules(&path, &text).map_err(|why| Error::own(format!("{path}: {why}")));
    }
    parsed(&path, &text).map_err(Error::own)
}

/// The line that a place of the text is in.
fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1
}

fn parsed(file: &str, text: &str) -> std::result::Result<Vec<InjectRule>, String> {
    let all: Table = toml::from_str(text).map_err(|e| {
        let line = line_of(text, e.span().map_or(0, |span| span.start));
        format!("{file}:{line}: {}", e.message().trim_end().replace('\n', " "))
    })?;
    let mut rules = Vec::new();
    for (key, value) in all {
        let line = line_of(text, key.span().start);
        if key.get_ref() != "rule" {
            let near = did_you_mean(key.get_ref(), ["rule"]);
            let near = if near.is_empty() { "each rule begins with [[rule]]" } else { "did you mean [[rule]]?" };
            return Err(format!("{file}:{line}: {} is no part of a file of rules; {near}", key.get_ref()));
        }
        // Spans are lost in values, so the tables are read again.
        drop(value);
    }
    #[derive(serde::Deserialize)]
    struct Rules {
        #[serde(default)]
        rule: Vec<Spanned<Table>>,
    }
    let tables: Rules = toml::from_str(text).map_err(|e| {
        let line = line_of(text, e.span().map_or(0, |span| span.start));
        format!("{file}:{line}: rule is no list of tables; begin each rule with [[rule]]")
    })?;
    for table in tables.rule {
        let line = line_of(text, table.span().start);
        rules.push(rule_of(file, text, line, table.into_inner())?);
    }
    if rules.is_empty() {
        return Err(format!("{file}:1: there is no rule; begin each with [[rule]]"));
    }
    Ok(rules)
}

fn rule_of(file: &str, text: &str, line: usize, table: Table) -> std::result::Result<InjectRule, String> {
    let (mut name, mut whole, mut calls, mut actions) = (None, None, None, Vec::new());
    for (key, value) in table {
        let line = line_of(text, key.span().start);
        let word = key.get_ref().replace('-', "_");
        let value = text_of(value.get_ref()).map_err(|why| format!("{file}:{line}: {word}: {why}"))?;
        match word.as_str() {
            "name" => name = Some(value),
            "inject" => whole = Some((value, line)),
            "calls" => calls = Some((value, line)),
            word if WORDS.contains(&word) => actions.push((word.to_owned(), value, line)),
            word => {
                let all: Vec<&str> = KEYS.into_iter().chain(WORDS).collect();
                let near = did_you_mean(word, all.iter().copied());
                let advice = match near.is_empty() {
                    true => format!("a rule has {}", all.join(", ")),
                    false => format!("did you mean {}?", near.join(", ")),
                };
                return Err(format!("{file}:{line}: a rule has no {word}; {advice}"));
            }
        }
    }
    let origin = name.map_or_else(|| format!("{file}:{line}"), |name| format!("{file}:{line} ({name})"));
    match (whole, calls) {
        (Some((whole, line)), None) if actions.is_empty() => {
            InjectRule::parse_from(&origin, &whole).map_err(|why| format!("{file}:{line}: {why}"))
        }
        (None, Some((calls, line))) => {
            // `when` and `after` mean the same wherever they stand; the text has the order of the words.
            actions.sort_by_key(|(word, ..)| WORDS.iter().position(|of| of == word));
            let words: Vec<String> = actions
                .iter()
                .map(|(word, value, _)| if word == "after" { word.clone() } else { format!("{word}={value}") })
                .collect();
            let text = [vec![calls.clone()], words].concat().join(":");
            let rule = InjectRule::of_calls(&origin, &text, &calls).map_err(|why| format!("{file}:{line}: {why}"));
            let mut rule = rule?;
            for (word, value, line) in actions {
                rule.apply(&word, Some(&value)).map_err(|why| format!("{file}:{line}: {why}"))?;
            }
            rule.check().map_err(|why| format!("{file}:{line}: {why}"))?;
            Ok(rule)
        }
        (Some(_), _) => Err(format!("{file}:{line}: inject is the whole rule; leave calls and actions out")),
        (None, None) => Err(format!(
            "{file}:{line}: the rule names no calls; give calls = \"cudaMalloc\" and actions, or the whole as inject"
        )),
    }
}

/// A value as `--inject` has it.
fn text_of(value: &Value) -> std::result::Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(true) => Ok("true".to_owned()),
        Value::Boolean(false) => Err("false asks nothing; leave it out".to_owned()),
        other => Err(format!("it is a {}; expected text, a number or true", other.type_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        let text = "# a comment\n[[rule]]\nname = \"third\"\ncalls = \"cudaMalloc[size>1MiB]\"\nwhen = 3\nerror = \
                    \"cudaErrorMemoryAllocation\"\n\n[[rule]]\ninject = \"cuMemAlloc:error=2:after\"\n";
        let rules = parsed("r.toml", text).expect("rules");
        assert_eq!(
            rules[0].to_string(),
            "r.toml:2 (third) 'cudaMalloc[size>1MiB]:error=cudaErrorMemoryAllocation:when=3'"
        );
        assert_eq!((rules[0].result, rules[0].when), (Some(2), (3, 3, 1)));
        assert_eq!(rules[1].to_string(), "r.toml:8 'cuMemAlloc:error=2:after'");
        assert!(rules[1].is_after);
    }

    #[test]
    fn mistakes_have_a_line_and_near_names() {
        for (text, expected) in [
            ("", "r.toml:1: there is no rule"),
            ("[[rul]]\n", "r.toml:1: rul is no part of a file of rules; did you mean [[rule]]?"),
            ("\nrule = 3\n", "r.toml:2: rule is no list of tables"),
            ("[[rule]]\ncalls = \"cudaMalloc\"\neror = 2\n", "r.toml:3: a rule has no eror; did you mean error?"),
            ("[[rule]]\ncalls = \"cudaMaloc\"\nerror = 2\n", "r.toml:2: no function cudaMaloc is known; did you mean"),
            ("[[rule]]\ncalls = \"cudaMalloc\"\n\nerror = \"cudaErrorMemory\"\n", "r.toml:4: cudaError_t has no"),
            ("[[rule]]\ncalls = \"cudaMalloc\"\nerror = [2]\n", "r.toml:3: error: it is a array; expected text"),
            ("[[rule]]\ncalls = \"cudaMalloc\"\n", "r.toml:2: it says not what to do"),
            ("[[rule]]\nerror = 2\n", "r.toml:1: the rule names no calls"),
            ("[[rule]]\ninject = \"cuInit:error=2\"\ncalls = \"cuInit\"\n", "r.toml:1: inject is the whole rule"),
            ("[[rule]]\ncalls = cudaMalloc\n", "r.toml:2: "),
        ] {
            let why = parsed("r.toml", text).expect_err(text);
            assert!(why.starts_with(expected), "{text}: {why}");
        }
    }
}
