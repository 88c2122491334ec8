//! Folds lines that come again in the same order, for a terminal: the steps of a training, the turns of a loop. Lines
//! are the same if they are about the same call with the same numbers and kernel. Addresses, handles and times may
//! differ. A line about an error is never the same as another.

use crate::call_text::repetition::{About, Active, FEW, Waiting};
use crate::format::style::push_styled;
use anstyle::Style;
use std::collections::VecDeque;
use std::io;

/// The longest sequence that is found again, in lines.
const LONGEST: usize = 2048;
/// A line is printed at the latest so long after it was written.
const LONGEST_NS: u64 = 1_000_000_000;

/// Looks for repeated lines, and writes all others.
#[derive(Debug)]
pub(crate) struct Repeats {
    style: Style,
    /// Columns of a line; none: any number.
    width: Option<usize>,
    /// Signatures of the last lines.
    lines: Vec<u32>,
    /// How many lines had been written before each of them; none of a line that is not written.
    written_before: Vec<Option<u64>>,
    written: u64,
    /// How many of the last lines were the same as those so many lines before.
    runs: Vec<u16>,
    /// Lines that may be a repetition.
    waiting: VecDeque<Waiting>,
    /// How many lines these are on a terminal.
    waiting_line_count: u64,
    active: Option<Active>,
}

impl Repeats {
    /// Lines about repetitions are in this style.
    pub fn new(style: Style, width: Option<usize>) -> Repeats {
        Repeats {
            style,
            width,
            lines: Vec::new(),
            written_before: Vec::new(),
            written: 0,
            runs: vec![0; LONGEST + 1],
            waiting: VecDeque::new(),
            waiting_line_count: 0,
            active: None,
        }
    }

    /// Takes a line with its newline. Lines of a stack may follow in the text.
    pub fn line(&mut self, text: &str, about: About, out: &mut impl io::Write) -> io::Result<()> {
        if about.signature == 0 {
            // What comes behind it has nothing to do with what was before.
            self.flush(out)?;
            self.lines.clear();
            self.written_before.clear();
            self.runs.fill(0);
            return self.write(text, out);
        }
        let best = usize::from(self.take_signature(about.signature));
        if self.active.as_ref().is_some_and(|active| self.runs.get(active.period).is_none_or(|run| *run == 0)) {
            self.flush(out)?;
        }
        if best == 0 {
            self.write_first(self.waiting.len(), out)?;
        }
        self.lines.push(about.signature);
        self.written_before.push(Some(self.written + self.waiting_line_count));
        if best == 0 {
            return self.write(text, out);
        }
        self.waiting_line_count += line_count(text);
        self.waiting.push_back(Waiting { text: text.to_owned(), about });
        if let Some(active) = &mut self.active {
            if self.waiting.len() == active.period {
                self.absorb();
            }
            return Ok(());
        }
        self.write_first(self.waiting.len().saturating_sub(best.min(LONGEST)), out)?;
        let period = self.waiting.len();
        if self.runs.get(period).is_some_and(|run| usize::from(*run) >= period) {
            let from = self.lines.len().saturating_sub(2 * period);
            match self.written_before.get(from).copied().flatten() {
                Some(before) => {
                    self.active = Some(Active::new(period, self.written.saturating_sub(before)));
                    self.absorb();
                }
                // The first line of the sequence is not on the terminal: it begins one line later.
                None => self.write_first(1, out)?,
            }
        }
        Ok(())
    }

    /// Compares a line with those before. Gives the length of the longest run of same lines that it ends.
    fn take_signature(&mut self, signature: u32) -> u16 {
        if self.lines.len() >= 2 * LONGEST + 2 {
            let old = self.lines.len() - LONGEST;
            self.lines.drain(..old);
            self.written_before.drain(..old);
        }
        let mut best = 0;
        for (run, line) in self.runs.iter_mut().skip(1).zip(self.lines.iter().rev()) {
            *run = if *line == signature { run.saturating_add(1) } else { 0 };
            best = best.max(*run);
        }
        best
    }

    /// The lines that wait are one more repetition.
    fn absorb(&mut self) {
        let Some(active) = &mut self.active else { return };
        active.absorb(&mut self.waiting);
        self.waiting_line_count = 0;
        if active.kept_lines.is_empty() {
            // Those before are marked already.
            let repeated = active.times as usize * active.period;
            self.written_before
                .iter_mut()
                .rev()
                .take(repeated.min(active.period + FEW))
                .for_each(|before| *before = None);
        }
    }

    fn write(&mut self, text: &str, out: &mut impl io::Write) -> io::Result<()> {
        self.written += line_count(text);
        out.write_all(text.as_bytes())
    }

    /// Writes what is known of a repetition, and the lines that wait.
    pub fn flush(&mut self, out: &mut impl io::Write) -> io::Result<()> {
        if let Some(active) = self.active.take() {
            self.write_active(&active, out)?;
        }
        self.write_first(self.waiting.len(), out)
    }

    /// Writes the first lines that wait: they repeat nothing, unless themselves.
    fn write_first(&mut self, count: usize, out: &mut impl io::Write) -> io::Result<()> {
        let at = self.lines.len().saturating_sub(self.waiting.len());
        let mut lines: VecDeque<Waiting> = self.waiting.drain(..count).collect();
        self.waiting_line_count -= lines.iter().map(|line| line_count(&line.text)).sum::<u64>();
        self.release_lines(&mut lines, at, out)
    }

    /// The same; `at` is the place of the first of them in what is known of lines.
    fn release_lines(
        &mut self,
        lines: &mut VecDeque<Waiting>,
        mut at: usize,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        while !lines.is_empty() {
            let (period, times) = repetition(lines);
            if times == 0 {
                if let Some(line) = lines.pop_front() {
                    self.place(at, Some(self.written));
                    self.write(&line.text, out)?;
                }
                at += 1;
                continue;
            }
            let before = self.written;
            let mut first: VecDeque<Waiting> = lines.drain(..period).collect();
            self.release_lines(&mut first, at, out)?;
            let mut active = Active::new(period, self.written - before);
            (0..times).for_each(|_| active.absorb(&mut lines.drain(..period).collect()));
            (at + period..at + period * (times + 1)).for_each(|at| self.place(at, None));
            at += period * (times + 1);
            self.write_active(&active, out)?;
        }
        Ok(())
    }

    fn place(&mut self, at: usize, before: Option<u64>) {
        self.written_before.iter_mut().skip(at).take(1).for_each(|place| *place = before);
    }

    fn write_active(&mut self, active: &Active, out: &mut impl io::Write) -> io::Result<()> {
        if !active.kept_lines.is_empty() {
            return active.kept_lines.iter().try_for_each(|text| self.write(text, out));
        }
        let mut line = if active.period == 1 { active.start.clone() } else { String::new() };
        push_styled(self.style, &active.fitting(self.width), &mut line);
        line.push('\n');
        self.write(&line, out)
    }

    /// Writes what has waited for too long at `now`.
    pub fn tick(&mut self, now: u64, out: &mut impl io::Write) -> io::Result<()> {
        let first = self.waiting.front().map(|line| line.about.start_ns);
        let since = first.or(self.active.as_ref().map(|active| active.end_ns));
        match since {
            Some(since) if since.saturating_add(LONGEST_NS) < now => self.flush(out),
            _ => Ok(()),
        }
    }
}

/// How many lines a text is on a terminal.
fn line_count(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// The shortest sequence at the beginning of the lines that comes again, and how often; 0 times if that saves nothing.
fn repetition(lines: &VecDeque<Waiting>) -> (usize, usize) {
    let signature = |n: usize| lines.get(n).map(|line| line.about.signature);
    let first = signature(0);
    for period in (1..=lines.len() / 2).filter(|period| signature(*period) == first) {
        let same = (period..lines.len()).take_while(|n| signature(*n) == signature(n - period)).count();
        if same / period * period > FEW {
            return (period, same / period);
        }
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter is a line; `!` is an error.
    fn folded(lines: &str) -> String {
        let (mut repeats, mut out) = (Repeats::new(Style::new(), None), Vec::new());
        for (n, c) in lines.chars().enumerate() {
            let mut about = About { start_ns: n as u64 * 1000, end_ns: n as u64 * 1000 + 500, ..About::default() };
            if c != '!' {
                about.add(u64::from(c));
                about.name = Some(c.to_string().into());
            }
            repeats.line(&format!("{c}\n"), about, &mut out).unwrap();
        }
        repeats.flush(&mut out).unwrap();
        String::from_utf8(out).unwrap().trim_end().replace('\n', " ")
    }

    #[test]
    fn a_line_and_a_sequence() {
        assert_eq!(folded("aab"), "a a b");
        assert_eq!(folded("aaaab"), "a a a a b");
        assert_eq!(folded("aaaaab"), "a … the line above 4 more times, 3.5us (-a shows them) b");
        assert_eq!(
            folded("xabcabcabcy"),
            "x a b c … the 3 lines above 2 more times: a ×2, b ×2, c ×2, 5.5us (-a shows them) y"
        );
        assert_eq!(folded("abab"), "a b a b");
    }

    /// The lines of a stack stay with that of their call, and are counted.
    #[test]
    fn stacks_are_repeated_with_their_calls() {
        let (mut repeats, mut out) = (Repeats::new(Style::new(), None), Vec::new());
        for n in 0..9u64 {
            let mut about = About { start_ns: n, end_ns: n, name: Some("f".into()), ..About::default() };
            about.add(1);
            repeats.line("f\n  at g\n  at main\n", about, &mut out).unwrap();
        }
        repeats.flush(&mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[..3], ["f", "  at g", "  at main"], "{shown}");
        assert!(lines[3].starts_with("… the 3 lines above 8 more times: f ×8, "), "{shown}");
        assert_eq!(lines.len(), 4, "{shown}");
    }

    #[test]
    fn what_only_begins_again_is_printed() {
        assert_eq!(folded("abcdeabcx"), "a b c d e a b c x");
        assert!(folded("abcdeabcdeabx").ends_with("(-a shows them) a b x"));
        assert_eq!(folded("abacabad"), "a b a c a b a d");
    }

    #[test]
    fn a_loop_inside_a_step() {
        let shown = folded("saaaaaaaeSaaaaaaaeSaaaaaaaeSaaaaaaae");
        assert!(shown.starts_with("s a … the line above 6 more times, 5.5us (-a shows them) e S …"), "{shown}");
        let last = "a … the line above 6 more times, 5.5us (-a shows them) e";
        let steps = "… the 4 lines above 2 more times: a ×14, S ×2, e ×2, 17.5us (-a shows them)";
        assert!(shown.ends_with(&format!("{steps} {last}")), "{shown}");
    }

    /// Another line between two loops does not hide the second one.
    #[test]
    fn a_loop_goes_on_behind_another_line() {
        let shown = folded(&format!("{0}x{0}y{0}", "abcd".repeat(9)));
        assert_eq!(shown.matches("… the 4 lines above 8 more times").count(), 3, "{shown}");
        assert_eq!(shown.matches(" d ").count(), 3, "{shown}");
        let shown = folded(&format!("{0}!{0}", "abcd".repeat(9)));
        assert_eq!(shown.matches("… the 4 lines above 8 more times").count(), 2, "{shown}");
    }

    #[test]
    fn no_error_is_folded() {
        assert_eq!(folded("!!!!!!!!").matches('!').count(), 8);
        assert_eq!(folded("ab!ab!ab!ab!").matches('!').count(), 4);
    }

    /// Each line is printed, or counted by a line about a repetition.
    #[test]
    fn no_line_is_lost() {
        let mut seed = 7u64;
        for _ in 0..3000 {
            let mut text = String::new();
            for _ in 0..40 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push(char::from(b'A' + (seed >> 40) as u8 % 3));
            }
            let shown = folded(&text);
            let (mut lines, mut plain) = (0u64, String::new());
            for part in shown.split("(-a shows them)") {
                let (before, fold) = part.split_once('…').unwrap_or((part, ""));
                lines += before.split_whitespace().count() as u64;
                plain += before;
                let times = fold.split(" above ").nth(1).and_then(|rest| match rest.split(' ').next() {
                    Some("once") => Some(1),
                    Some(times) => times.parse().ok(),
                    None => None,
                });
                match fold.split_once(": ") {
                    Some((_, named)) => {
                        let counts = named.split(" ×").skip(1).map(|n| n.split([',', ' ']).next().unwrap());
                        lines += counts.map(|n| n.parse::<u64>().unwrap()).sum::<u64>();
                    }
                    None => lines += times.unwrap_or(0),
                }
            }
            assert_eq!(lines, 40, "{text}: {shown}");
        }
    }
}
