//! Rules in a TOML file: a list of tables `[[rule]]`, each with one question.

use super::rule::{Rule, RuleKind};
use cutap_collect::{Error, Result, cannot};
use cutap_report::Explain;
use cutap_trace::{TimeWindow, did_you_mean};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<Spanned<RuleTable>>,
}

/// `true`, or a filter.
#[derive(Deserialize)]
#[serde(untagged)]
enum Switch {
    Is(bool),
    Of(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuleTable {
    name: Option<String>,
    no_errors: Option<Switch>,
    no_leaks: Option<Switch>,
    max: Option<String>,
    min: Option<String>,
    no_sync: Option<Switch>,
    no_sync_in: Option<String>,
    explain: Option<String>,
    like: Option<PathBuf>,
    steady: Option<String>,
    /// Of `steady`: the name of the range.
    range: Option<String>,
    /// Of `steady`: as `5%`.
    within: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

/// The rules of a file. Each mistake is named with its line.
pub fn read(file: &Path) -> Result<Vec<Rule>> {
    let text = std::fs::read_to_string(file).map_err(|e| cannot("read", file, &e, "give a TOML file of rules"))?;
    let display_path = file.display();
    let parsed: RulesFile = toml::from_str(&text)
        .map_err(|e| Error::own(format!("{display_path}: {}", e.to_string().trim_end().replace('\n', "\n  "))))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let rule = |table: Spanned<RuleTable>| {
        let line = text.get(..table.span().start).map_or(0, |before| before.matches('\n').count()) + 1;
        rule_of(table.into_inner(), folder).map_err(|why| Error::own(format!("{display_path}:{line}: {why}")))
    };
    let rules = parsed.rule.into_iter().map(rule).collect::<Result<Vec<Rule>>>()?;
    if rules.is_empty() {
        return Err(Error::own(format!("{display_path} has no rule; begin each with [[rule]]")));
    }
    Ok(rules)
}

/// The rule of a table, or what is wrong with it. A path is relative to `folder`.
fn rule_of(table: RuleTable, folder: &Path) -> std::result::Result<Rule, String> {
    let RuleTable { name, no_errors, no_leaks, max, min, explain, like, steady, range, within, from, to, .. } = table;
    let filter = |switch: Switch| match switch {
        Switch::Is(true) => Ok(String::new()),
        Switch::Is(false) => Err("a rule that is false asks nothing; leave it out".to_owned()),
        Switch::Of(filter) => Ok(filter),
    };
    let count = |text: String, at_most| RuleKind::count(&text, at_most).map_err(|e| e.to_string());
    let mut kinds = Vec::new();
    kinds.extend(no_errors.map(|switch| filter(switch).map(RuleKind::NoErrors)));
    kinds.extend(no_leaks.map(|switch| filter(switch).map(RuleKind::NoLeaks)));
    kinds.extend(max.map(|text| count(text, true)));
    kinds.extend(min.map(|text| count(text, false)));
    kinds.extend(table.no_sync.map(|switch| filter(switch).map(RuleKind::NoSync)));
    kinds.extend(table.no_sync_in.map(|range| Ok(RuleKind::NoSyncIn(range))));
    kinds.extend(explain.map(known_rule));
    kinds.extend(like.map(|golden| Ok(RuleKind::Like(folder.join(golden)))));
    let is_steady = steady.is_some();
    kinds.extend(steady.map(|filter| steady_of(filter, range.clone(), within.as_deref())));
    if !is_steady && (range.is_some() || within.is_some()) {
        return Err("range and within belong to steady".to_owned());
    }
    let mut kinds = kinds.into_iter();
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) => {
            let kind = kind?;
            let rule = Rule::from(kind);
            let window = window(from.as_deref(), to.as_deref())?;
            Ok(Rule { name: name.unwrap_or(rule.name), window, ..rule })
        }
        (None, _) => {
            let all = "no-errors, no-leaks, max, min, no-sync, no-sync-in, explain, like, steady";
            Err(format!("the rule asks nothing; give one of {all}"))
        }
        _ => Err("the rule asks two things; make two rules of it".to_owned()),
    }
}

fn known_rule(name: String) -> std::result::Result<RuleKind, String> {
    let names = Explain::rule_names();
    if names.contains(&name.as_str()) {
        return Ok(RuleKind::Explain(name));
    }
    let near = did_you_mean(&name, names.iter().copied());
    let near = if near.is_empty() { names } else { near };
    Err(format!("explain has no rule {name}; it has {}", near.join(", ")))
}

fn steady_of(filter: String, range: Option<String>, within: Option<&str>) -> std::result::Result<RuleKind, String> {
    let percent = within.unwrap_or("0%").strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match (range, percent.filter(|percent| (0.0..=1000.0).contains(percent))) {
        (Some(range), Some(percent)) => Ok(RuleKind::Steady { filter, range, percent }),
        (None, _) => Err("steady needs range, the name of a range of NVTX, such as range = \"step *\"".to_owned()),
        (_, None) => Err("within is no share; write it as \"5%\"".to_owned()),
    }
}

fn window(from: Option<&str>, to: Option<&str>) -> std::result::Result<Option<TimeWindow>, String> {
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    let ns = |text: Option<&str>, without| match text {
        None => Ok(without),
        Some(text) => {
            cutap_quantity::nanoseconds(text).ok_or_else(|| format!("{text} is no time; write it as 2, 0.5 or 500ms"))
        }
    };
    let window = TimeWindow { from_ns: ns(from, 0)?, to_ns: ns(to, u64::MAX)?, origin_ns: 0 };
    if window.from_ns < window.to_ns { Ok(Some(window)) } else { Err("from is not before to".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> std::result::Result<Vec<Rule>, String> {
        let file: RulesFile = toml::from_str(text).map_err(|e| e.to_string())?;
        file.rule.into_iter().map(|table| rule_of(table.into_inner(), Path::new("golden"))).collect()
    }

    #[test]
    fn each_question() {
        let rules = parsed(
            "[[rule]]\nno-errors = true\n[[rule]]\nname = \"few\"\nmax = \"cudaMalloc<=3\"\nfrom = \"5s\"\n[[rule]]\n\
             like = \"a.cutap\"\n[[rule]]\nsteady = \"cuLaunchKernel*\"\nrange = \"step *\"\nwithin = \"5%\"\n",
        )
        .expect("rules");
        let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names, ["no errors", "few", "like golden/a.cutap", "cuLaunchKernel* in each step * within 5%"]);
        assert_eq!(rules[1].window.map(|window| window.from_ns), Some(5_000_000_000));
    }

    #[test]
    fn mistakes() {
        for (text, part) in [
            ("[[rule]]\nmaxx = \"a<=1\"", "unknown field `maxx`"),
            ("[[rule]]\nname = \"x\"", "asks nothing"),
            ("[[rule]]\nno-errors = true\nno-leaks = true", "asks two things"),
            ("[[rule]]\nno-errors = false", "asks nothing"),
            ("[[rule]]\nno-sync = false", "asks nothing"),
            ("[[rule]]\nexplain = \"ignored_eror\"", "it has ignored_error"),
            ("[[rule]]\nsteady = \"a\"", "steady needs range"),
            ("[[rule]]\nsteady = \"a\"\nrange = \"b\"\nwithin = \"5\"", "within is no share"),
            ("[[rule]]\nmax = \"a<=1\"\nfrom = \"2\"\nto = \"1\"", "from is not before to"),
            ("[[rule]]\nmax = \"a<=1\"\nrange = \"b\"", "belong to steady"),
        ] {
            let why = parsed(text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
