//! The answers as text, as JSON lines, as annotations of GitHub, and as a JUnit file.

use super::answer::{Answer, State};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The variable by which GitHub's runners are known.
const GITHUB: &str = "GITHUB_ACTIONS";

/// Writes all answers.
pub fn write(answers: &[Answer], is_json: bool, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    if is_json {
        return answers.iter().try_for_each(|answer| writeln!(out, "{}", json_of(answer)));
    }
    for answer in answers {
        let (word, code) = match answer.state {
            State::Holds => ("ok     ", "32"),
            State::Violated(_) => ("FAIL   ", "31"),
            State::NotKnown => ("unknown", "33"),
        };
        let word = if colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() };
        writeln!(out, "{word} {}: {}", answer.name, answer.sentence)?;
        answer.body.lines().try_for_each(|line| writeln!(out, "        {line}"))?;
    }
    if std::env::var_os(GITHUB).is_some_and(|value| value == "true") {
        answers.iter().filter(|answer| answer.state != State::Holds).try_for_each(|answer| annotation(answer, out))?;
    }
    let of = |state: fn(&State) -> bool| answers.iter().filter(|answer| state(&answer.state)).count();
    let (held_rules, unknown) = (of(|state| *state == State::Holds), of(|state| *state == State::NotKnown));
    let all = answers.len();
    match unknown {
        0 if held_rules == all => writeln!(out, "all rules hold ({all})"),
        0 => writeln!(out, "{held_rules} of {all} rules hold"),
        _ => writeln!(out, "{held_rules} of {all} rules hold, and of {unknown} it is not known"),
    }
}

fn json_of(answer: &Answer) -> Value {
    let (is_kept, found_number) = match answer.state {
        State::Holds => (Some(true), Some(0)),
        State::Violated(number) => (Some(false), Some(number)),
        State::NotKnown => (None, None),
    };
    let lines: Vec<&str> = answer.body.lines().collect();
    json!({
        "type": "check", "rule": answer.name, "holds": is_kept, "found": found_number, "sentence": answer.sentence,
        "lines": lines,
    })
}

/// A workflow command of GitHub, which marks the job.
fn annotation(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    let level = if answer.state == State::NotKnown { "warning" } else { "error" };
    let property = |text: &str| of_command(text).replace(':', "%3A").replace(',', "%2C");
    let message = format!("{}\n{}", answer.sentence, answer.body);
    let title = property(&format!("cutap: {}", answer.name));
    writeln!(out, "::{level} title={title}::{}", of_command(message.trim_end()))
}

fn of_command(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A JUnit file with a test for each answer of this suite.
pub fn junit(suite: &str, answers: &[Answer]) -> String {
    let of = |is_meant: fn(&State) -> bool| answers.iter().filter(|answer| is_meant(&answer.state)).count();
    let (failures, errors) = (of(|state| matches!(state, State::Violated(_))), of(|state| *state == State::NotKnown));
    let tests = answers.len();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{suite}\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\">\n"
    );
    for answer in answers {
        let (name, message, body) = (xml(&answer.name), xml(&answer.sentence), xml(&answer.body));
        text += &format!("<testcase classname=\"cutap\" name=\"{name}\"");
        text += &match answer.state {
            State::Holds => "/>\n".to_owned(),
            State::Violated(_) => format!("><failure message=\"{message}\">{body}</failure></testcase>\n"),
            State::NotKnown => format!("><error message=\"{message}\">{body}</error></testcase>\n"),
        };
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// Text in XML, which has no control characters.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            _ if character.is_control() => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> Vec<Answer> {
        let answer = |name: &str, state, sentence: &str, body: &str| {
            let [name, sentence, body] = [name, sentence, body].map(str::to_owned);
            Answer { name, state, sentence, body }
        };
        vec![
            answer("a <= 1", State::Holds, "1 call", ""),
            answer("no \"leaks\"", State::Violated(2), "2 things were left", "one\n& \u{1b}two"),
            answer("like b", State::NotKnown, "it lacks calls", ""),
        ]
    }

    #[test]
    fn a_junit_file() {
        let text = junit("cutap check", &answers());
        assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"1\""), "{text}");
        assert!(text.contains("<testcase classname=\"cutap\" name=\"a &lt;= 1\"/>"), "{text}");
        assert!(text.contains("<failure message=\"2 things were left\">one\n&amp; \u{fffd}two</failure>"), "{text}");
    }

    #[test]
    fn an_annotation() {
        let mut out = Vec::new();
        annotation(&answers()[1], &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        assert!(text.starts_with("::error title=cutap%3A no \"leaks\"::2 things were left%0Aone%0A& "), "{text}");
    }
}
