//! Differences for people.

use super::key::versioned;
use super::profile::{Profile, Sums};
use super::{Diff, Row, changed_times, only_in};
use crate::format::units::{bytes, time};
use std::collections::BTreeSet;
use std::io;

/// Arguments of a function that are printed for each run.
const PRINTED: usize = 3;

impl Diff<'_> {
    /// Writes the differences for people. `names` are those of the runs.
    pub fn write_text(&self, names: [&str; 2], out: &mut dyn io::Write) -> io::Result<()> {
        if self.has_rows() {
            for (letter, name, run) in [("A", names[0], self.a), ("B", names[1], self.b)] {
                writeln!(out, "{letter} is {name}: {} of {}", calls(run.calls()), functions(run.functions.len()))?;
            }
        }
        self.write_versions(out)?;
        if self.has_rows() {
            writeln!(out, "- only in A   + only in B   ~ in both, A -> B\n")?;
        }
        for row in &self.rows {
            match (row.a, row.b) {
                (Some(a), None) => self.write_only("-", "A", row, a, out)?,
                (None, Some(b)) => self.write_only("+", "B", row, b, out)?,
                (Some(a), Some(b)) => self.write_changed(row, a, b, out)?,
                (None, None) => {}
            }
        }
        match self.left_out {
            0 => {}
            n => writeln!(out, "and {} more, which a larger --top lists", functions(n))?,
        }
        if self.has_rows() {
            writeln!(out, "in all: {}", totals(self.a, self.b))?;
        }
        let count = self.rows.len() + self.left_out;
        let verb = if count == 1 { "s" } else { "" };
        let hint = if self.options.times { "" } else { "; --times compares times too" };
        match (count, self.options.new_errors) {
            (0, true) => writeln!(out, "no new error in the calls of {}", functions(self.b.functions.len())),
            (n, true) => writeln!(out, "{} fail{verb} more often in B", functions(n)),
            (0, false) => {
                let compared = if self.options.times { "calls, errors, arguments" } else { "calls, errors" };
                let last = if self.options.times { "times (by more than 20 % and 1 ms)" } else { "arguments" };
                writeln!(out, "no difference in the {compared} and {last} of {}", functions(self.a.functions.len()))
            }
            (n, false) => writeln!(out, "{} differ{verb}{hint}", functions(n)),
        }?;
        if let Some([a, b]) = self.program_ends {
            writeln!(out, "the programs ended in different ways: that of {} {a}, that of {} {b}", names[0], names[1])?;
        }
        Ok(())
    }

    /// One line on libraries that the runs have in other versions.
    fn write_versions(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let joined = |versions: &BTreeSet<String>| versions.iter().cloned().collect::<Vec<_>>().join(" and ");
        let of_both =
            self.a.versions.iter().filter_map(|(library, a)| Some((library, a, self.b.versions.get(library)?)));
        let differing = of_both
            .filter(|(_, a, b)| a != b)
            .map(|((layer, library), a, b)| format!("{}{} -> {}", versioned(*layer, library), joined(a), joined(b)));
        match differing.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => Ok(()),
            all => writeln!(out, "other versions, A -> B: {all}"),
        }
    }

    /// A function of one run.
    fn write_only(&self, sign: &str, letter: &str, row: &Row, sums: &Sums, out: &mut dyn io::Write) -> io::Result<()> {
        let mut parts = vec![calls(sums.calls)];
        if sums.errors > 0 {
            let word = if sums.errors == 1 { "error" } else { "errors" };
            let one = sums.statuses.len() == 1;
            let status = |(name, count): (&String, &u64)| if one { name.clone() } else { format!("{count} {name}") };
            let statuses: Vec<String> = sums.statuses.iter().map(status).collect();
            parts.push(format!("{} {word} ({})", sums.errors, statuses.join(", ")));
        }
        parts.extend((sums.bytes > 0).then(|| bytes(sums.bytes)));
        parts.extend((self.options.times && sums.own_ns() > 0).then(|| time(sums.own_ns())));
        writeln!(out, "{sign} {}: {}, only in {letter}", row.key.text(), parts.join(", "))?;
        for text in sums.failed.iter().take(PRINTED) {
            let count = sums.arguments.get(text).copied().unwrap_or(0);
            writeln!(out, "    {sign} {}: ({text})", calls(count))?;
        }
        if sums.failed.len() > PRINTED {
            writeln!(out, "    {sign} and {} other lists of arguments that failed", sums.failed.len() - PRINTED)?;
        }
        Ok(())
    }

    /// A function of both runs.
    fn write_changed(&self, row: &Row, a: &Sums, b: &Sums, out: &mut dyn io::Write) -> io::Result<()> {
        let mut parts = Vec::new();
        parts.extend(number("calls", a.calls, b.calls));
        if (a.errors, &a.statuses) != (b.errors, &b.statuses) {
            let change = changed_statuses(a, b).join(", ");
            parts.push(format!("errors {} -> {} ({change})", a.errors, b.errors));
        }
        parts.extend(number("unfinished", a.open, b.open));
        let same_bytes = (a.bytes > 0 && a.calls != b.calls).then(|| format!("bytes {}", bytes(a.bytes)));
        parts.extend(amount("bytes", a.bytes, b.bytes, bytes).or(same_bytes));
        if let Some((from, to)) = changed_times(a, b).filter(|_| self.options.times) {
            parts.extend(amount("time", from, to, time));
            parts.push(format!("mean {} -> {}", time(a.mean_ns()), time(b.mean_ns())));
        }
        if parts.is_empty() {
            parts.push(format!("{}, with other arguments", calls(a.calls)));
        }
        writeln!(out, "~ {}: {}", row.key.text(), parts.join(", "))?;
        for (sign, letter, only) in [("-", "A", only_in(a, Some(b))), ("+", "B", only_in(b, Some(a)))] {
            // A line that counts one list takes as much room as the list.
            let shown_count = if only.len() == PRINTED + 1 { only.len() } else { PRINTED };
            for (arguments, count) in only.iter().take(shown_count) {
                writeln!(out, "    {sign} {} more in {letter}: ({arguments})", calls(*count))?;
            }
            if only.len() > shown_count {
                writeln!(out, "    {sign} and {} other lists of arguments", only.len() - shown_count)?;
            }
        }
        Ok(())
    }
}

/// `+1 cudaErrorInvalidValue`: how the number of each status changed.
fn changed_statuses(a: &Sums, b: &Sums) -> Vec<String> {
    let names: BTreeSet<&String> = a.statuses.keys().chain(b.statuses.keys()).collect();
    let count = |of: &Sums, name: &str| of.statuses.get(name).map_or(0, |count| i128::from(*count));
    let change = |name: &String| (count(b, name) - count(a, name), name.clone());
    names.into_iter().map(change).filter(|(by, _)| *by != 0).map(|(by, name)| format!("{by:+} {name}")).collect()
}

/// All calls of both runs.
fn totals(a: &Profile, b: &Profile) -> String {
    let same = |what: &str, text: String| format!("{what} {text}");
    let [a_errors, b_errors] = [a, b].map(|run| run.largest_layer(|sums| sums.errors));
    let [a_bytes, b_bytes] = [a, b].map(|run| run.largest_layer(|sums| sums.bytes));
    [
        number("calls", a.calls(), b.calls()).unwrap_or_else(|| same("calls", a.calls().to_string())),
        number("errors", a_errors, b_errors).unwrap_or_else(|| same("errors", a_errors.to_string())),
        amount("bytes", a_bytes, b_bytes, bytes).unwrap_or_else(|| same("bytes", bytes(a_bytes))),
    ]
    .join(", ")
}

/// `calls 1 -> 3 (+2)`; none if it is the same.
fn number(what: &str, a: u64, b: u64) -> Option<String> {
    (a != b).then(|| format!("{what} {a} -> {b} ({:+})", i128::from(b) - i128::from(a)))
}

/// `bytes 1 MiB -> 3 MiB (+2 MiB)`; none if it is the same.
fn amount(what: &str, a: u64, b: u64, text: fn(u64) -> String) -> Option<String> {
    let sign = if b > a { '+' } else { '-' };
    (a != b).then(|| format!("{what} {} -> {} ({sign}{})", text(a), text(b), text(a.abs_diff(b))))
}

fn calls(n: u64) -> String {
    if n == 1 { "1 call".to_owned() } else { format!("{n} calls") }
}

fn functions(n: usize) -> String {
    if n == 1 { "1 function".to_owned() } else { format!("{n} functions") }
}
