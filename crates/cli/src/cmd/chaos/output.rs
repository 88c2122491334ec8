//! What chaos prints, line by line as runs end, and its JUnit file.

use super::name_of;
use super::plan::Plan;
use super::verdict::{Finding, Verdict};
use crate::cmd::check::{Answer, State, junit_of};
use crate::stdout::print;
use cutap_collect::{CallSite, Result};

/// How many of a list are printed.
const LISTED: usize = 10;

pub fn print_plan(plan: &Plan) -> Result<()> {
    let number = |list: usize, one: &str| if list == 1 { format!("1 {one}") } else { format!("{list} {one}s") };
    let mut text = format!("3 clean runs: {} to test\n", number(plan.sites.len(), "call site"));
    if plan.output.is_none() {
        text += "their outputs differ, so another output is no finding\n";
    }
    for (list, why) in
        [(&plan.unstable, "not the same in each run"), (&plan.without_error, "its function has no known error")]
    {
        for site in list.iter().take(LISTED) {
            text += &format!("not tested: {}: {why}\n", name_of(site));
        }
        if list.len() > LISTED {
            text += &format!("not tested: {} more: {why}\n", list.len() - LISTED);
        }
    }
    print(&text)
}

pub fn print_finding(finding: &Finding, repeat: &str) -> Result<()> {
    let (word, site, error) = (finding.verdict.word(), name_of(&finding.site), &finding.error);
    let mut text = format!("{word:<8} {site}: {error}: {}\n", finding.sentence());
    if finding.verdict.is_problem() || finding.verdict == Verdict::Ignored {
        text += &format!("         {repeat}\n");
    }
    print(&text)
}

pub fn print_end(plan: &Plan, findings: &[(Finding, String)], untested: &[CallSite]) -> Result<()> {
    let of = |word: &str| findings.iter().filter(|(finding, _)| finding.verdict.word() == word).count();
    let words = ["handled", "ignored", "crash", "hang", "output", "leak", "missed"];
    let counts: Vec<String> = words
        .iter()
        .map(|word| (word, of(word)))
        .filter(|(_, n)| *n > 0)
        .map(|(word, n)| format!("{n} {word}"))
        .collect();
    let tested = findings.len();
    let mut text = format!("{tested} of {} call sites tested", plan.sites.len());
    if !counts.is_empty() {
        text += &format!(": {}", counts.join(", "));
    }
    text.push('\n');
    if !untested.is_empty() {
        text += &format!("{} not tested: --budget or --sites was used up\n", untested.len());
    }
    print(&text)
}

/// A test for each call site.
pub fn junit(plan: &Plan, findings: &[(Finding, String)], untested: &[CallSite]) -> String {
    let of = |(finding, repeat): &(Finding, String)| Answer {
        name: format!("{} fails with {}", name_of(&finding.site), finding.error),
        state: match finding.verdict {
            verdict if verdict.is_problem() => State::Violated(1),
            Verdict::NotReached => State::NotKnown,
            _ => State::Holds,
        },
        sentence: format!("{}: {}", finding.verdict.word(), finding.sentence()),
        body: repeat.clone(),
    };
    let not_known = |sites: &[CallSite], why: &str| -> Vec<Answer> {
        let answer = |site: &CallSite| {
            let (name, sentence) = (name_of(site), format!("it was not tested: {why}"));
            Answer { name, state: State::NotKnown, sentence, body: String::new() }
        };
        sites.iter().map(answer).collect()
    };
    let mut answers: Vec<Answer> = findings.iter().map(of).collect();
    answers.extend(not_known(untested, "--budget or --sites was used up"));
    answers.extend(not_known(&plan.unstable, "it is not the same in each clean run"));
    junit_of("cutap chaos", &answers)
}
