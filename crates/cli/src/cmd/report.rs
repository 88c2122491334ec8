//! `cutap report`: adds up the calls of a run directory or a recording. It answers one question at a time; without a
//! question, the table by function. The questions and their flags are the list `cutap_report::REPORTS`. It only reads.

use crate::args::{
    BaselineArgs, ExitCodeArgs, FilterArgs, InputArgs, JsonArgs, baseline_notice, check_baseline, number, why_no_stacks,
};
use crate::cmd::ctl;
use crate::input::readable;
use crate::inputs::{
    all_whole, filter_lines_of_runs, say_counted, say_filter_of_run, say_notes, say_without_times, some_call_in_window,
};
use crate::pager::Pager;
use crate::report_input::{read, select};
use crate::stdout::written;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, FromArgMatches};
use cutap_collect::{Error, Result, TextOptions, colour, filter as parse_filter, print_notice, scan_executables};
use cutap_report::{
    Baseline, REPORTS, ReportKind, Rows, Takes, all_sort_columns, clocks_line, end_line, end_lines, gpu_kernels,
    host_line, missing_calls, notes_of_runs, write_csv,
};
use cutap_trace::{End, Filter, FinishedRun, Runs};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Report {
    #[command(flatten)]
    question: Question,
    #[command(flatten)]
    filter: FilterArgs,
    /// Sort rows by this column, the largest first
    #[arg(long, value_name = "COLUMN", value_parser = PossibleValuesParser::new(all_sort_columns()))]
    sort: Option<String>,
    /// Only the first N rows; in a tree the first N below each call
    #[arg(long, value_name = "N", value_parser = number)]
    top: Option<usize>,
    /// Only N levels of a tree
    #[arg(long, value_name = "N", value_parser = number)]
    depth: Option<usize>,
    /// Also calls that the filter of the run leaves out, and start-up
    #[arg(short, long)]
    all: bool,
    /// Comma-separated values instead of text
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// The notes on what the run lacks, all of them, instead of a table
    #[arg(long, conflicts_with_all = ["csv", "json", GROUP])]
    notes: bool,
    #[command(flatten)]
    exit_code: ExitCodeArgs,
    #[command(flatten)]
    baseline: BaselineArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    input: InputArgs,
}

/// The report that was asked for, and the value of its flag.
struct Question {
    report: &'static ReportKind,
    value: String,
}

impl Debug for Question {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "--{} {}", self.report.flag, self.value)
    }
}

/// The flag of a report.
fn arg(kind: &'static ReportKind) -> Arg {
    let arg = Arg::new(kind.flag).long(kind.flag).help(kind.help).group(GROUP);
    match kind.value {
        Takes::Nothing => arg.action(ArgAction::SetTrue),
        Takes::Text(name) => arg.value_name(name).value_parser(NonEmptyStringValueParser::new()),
        Takes::OneOf(name, words) => arg.value_name(name).value_parser(PossibleValuesParser::new(words)),
        Takes::Optional(name, words) => {
            let first = words.first().copied().unwrap_or_default();
            let arg = arg.value_name(name).num_args(0..=1).require_equals(true).default_missing_value(first);
            arg.value_parser(PossibleValuesParser::new(words))
        }
    }
}

const GROUP: &str = "question";

impl clap::Args for Question {
    fn augment_args(command: Command) -> Command {
        command.group(ArgGroup::new(GROUP).multiple(false)).args(REPORTS.iter().map(|kind| arg(kind)))
    }
    fn augment_args_for_update(command: Command) -> Command {
        Question::augment_args(command)
    }
}

impl FromArgMatches for Question {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Question, clap::Error> {
        let value = |kind: &'static ReportKind| match kind.value {
            Takes::Nothing => matches.get_flag(kind.flag).then(String::new),
            _ => matches.get_one::<String>(kind.flag).cloned(),
        };
        let mut questions = REPORTS.iter().filter_map(|kind| Some(Question { report: kind, value: value(kind)? }));
        let first = || REPORTS.first().map(|report| Question { report, value: String::new() });
        questions.next().or_else(first).ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Question::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Report {
    /// Answers on standard output.
    pub fn run(self) -> Result<()> {
        let Report { question, filter: wanted, sort, top, depth, all, csv, notes, exit_code, baseline, json, input } =
            self;
        let (json, flag) = (json.json, question.report.flag);
        // Before the report is made: with GPU time, a kernel has other columns.
        let by_gpu = flag == "by" && question.value == "kernel" && input.has_gpu_time();
        let mut report = if by_gpu { gpu_kernels() } else { (question.report.new)(&question.value) };
        let window = input.window()?;
        // A report that follows calls reads all of them, and lists by the filter.
        let listed = wanted.of_runs(&input)?;
        let listed = listed.filter(|filter| report.filtered(filter).is_some());
        let filter = match &listed {
            Some(_) => parse_filter(None)?.during(window.filter(|_| !report.reads_all())),
            // They list work of the GPU, and ask what the host did meanwhile: all calls are read.
            None if report.needs_gpu_times() => {
                if wanted.text().is_some() {
                    print_notice("the filter chooses calls, and this report lists all work of the GPU");
                }
                parse_filter(None)?.during(window)
            }
            None => wanted.of_reader(all || report.reads_all(), &input)?.during(window.filter(|_| !report.reads_all())),
        };
        // As --leaks: `!cudaMalloc` leaves out what the driver failed to do inside it.
        let filter = if flag == "errors" { filter.excluding_inside() } else { filter };
        let columns = report.sort_columns();
        let column = |word: String| columns.iter().copied().find(|column| *column == word).ok_or(word);
        let sort = sort.map(column).transpose().map_err(|word| no_column(&named_flag(&question), &word, &columns))?;
        let rows = Rows { sort, top, depth };
        if !rows.is_default() && !report.rows(rows) {
            return Err(Error::own(match depth {
                Some(_) => format!("--depth is for --tree and --callers; leave it out with --{flag}"),
                None => format!("--{flag} is no list; leave --top out"),
            }));
        }
        for (name, is_given) in [("--exit-code", exit_code.is_wanted()), ("--baseline", baseline.baseline.is_some())] {
            if is_given && (notes || report.problems().is_none()) {
                return Err(Error::own(format!(
                    "{name} is about problems: it is for report --errors, report --leaks and explain"
                )));
            }
        }
        if all {
            report.all();
        }
        refuse_slips(&input.runs, question.report, &mut *report)?;
        let runs = input.open()?;
        if let Some(window) = window.filter(|_| report.reads_all()) {
            report.during(runs.window(window)?);
        }
        let selecting = listed.as_ref().unwrap_or(&filter).clone();
        let mut run_ends = read(&mut *report, &runs, filter.clone(), window)?;
        let listed_ends = select(&mut *report, &runs, listed.as_ref())?;
        if let Some(old) = &baseline.baseline {
            let (known_problems, old_end) = problems_of(old, &question, &filter, listed.as_ref())?;
            let without = why_no_stacks(old, &old_end, &runs, &run_ends)?.filter(|_| flag != "errors");
            print_notice(&baseline_notice(old, without.as_deref()));
            report.leave_out(if without.is_some() { known_problems.without_stacks() } else { known_problems });
        }
        // A pager takes the terminal's place on standard output.
        report.lines(TextOptions::default().format());
        let pager = (!json && !csv).then(Pager::start);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
        if notes {
            run_ends.iter_mut().for_each(|of| scan_executables(&mut of.end));
            let end_refs: Vec<&End> = run_ends.iter().map(|of| &of.end).collect();
            let mut lines = notes_of_runs(&end_refs, &end_lines);
            lines.extend(filter_lines_of_runs(&run_ends));
            lines.extend(notes_of_runs(&end_refs, &|end| host_line(end).into_iter().collect()));
            let none = lines.is_empty().then_some("nothing is known to be missing");
            let mut lines = lines.iter().map(String::as_str).chain(none);
            written(lines.try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush()))?;
        } else if csv {
            let mut lines = Vec::new();
            written(
                report.write_json(&mut lines).and_then(|()| write_csv(&lines, &mut out)).and_then(|()| out.flush()),
            )?;
        } else if json {
            written(write_json(&*report, &run_ends, &mut out).and_then(|()| out.flush()))?;
        } else {
            written(write(&*report, &runs, &run_ends, &mut out).and_then(|()| out.flush()))?;
        }
        drop((out, pager));
        // What lists problems has a line for each, and no line on the run.
        if (json || csv) && report.problems().is_some() {
            say_notes(&runs, &run_ends);
        }
        if !notes {
            say_filter_of_run(&run_ends);
        }
        all_whole(&run_ends)?;
        if exit_code.is_wanted() {
            some_call_in_window(&runs, input.window()?)?;
        }
        exit_code.some_call_is_selected(&selecting, listed_ends.as_deref().unwrap_or(&run_ends))?;
        let problems = report.problems().unwrap_or(0);
        match question.report.flag {
            "leaks" => exit_code.end_of_leaks(problems, report.has_calls(), &run_ends),
            _ => exit_code.end(problems, report.has_calls(), &run_ends),
        }
    }
}

/// The flag with its word, where reports of a flag have different columns.
fn named_flag(question: &Question) -> String {
    let Question { report, value } = question;
    if report.flag == "by" { format!("by {value}") } else { report.flag.to_owned() }
}

fn no_column(flag: &str, word: &str, columns: &[&str]) -> Error {
    Error::own(match columns {
        [] => format!("--{flag} is no list; leave --sort out"),
        columns => format!("--{flag} has no column {word}; sort it by {}", columns.join(", ")),
    })
}

/// A word in the place of a run that is no file: a report without its dashes, or the value of a flag that has none.
fn refuse_slips(runs: &[PathBuf], kind: &ReportKind, report: &mut dyn cutap_report::Report) -> Result<()> {
    let missing = runs.iter().filter(|run| !run.exists()).filter_map(|run| run.to_str());
    for word in missing {
        if REPORTS.iter().any(|kind| kind.flag == word) {
            return Err(Error::own(format!("there is no file {word}; did you mean cutap report --{word}?")));
        }
        let mut takes_top = || report.rows(Rows { top: Some(1), ..Rows::default() });
        if word.parse::<u32>().is_ok() && matches!(kind.value, Takes::Nothing) && ctl::run_of(word).is_err() {
            let flag = kind.flag;
            let top =
                if takes_top() { format!("; write --{flag} --top {word} for so many rows") } else { String::new() };
            return Err(Error::own(format!(
                "--{flag} takes no number, and {word} is no file and no process under cutap{top}"
            )));
        }
    }
    Ok(())
}

/// The problems of an older run, by the same question.
fn problems_of(old: &Path, question: &Question, filter: &Filter, listed: Option<&Filter>) -> Result<(Baseline, End)> {
    readable(old)?;
    let runs = Runs::open(&[old.to_owned()])?;
    let mut report = (question.report.new)(&question.value);
    // What lists problems looks at no GPU times.
    let run_ends = read(&mut *report, &runs, filter.clone(), None)?;
    select(&mut *report, &runs, listed)?;
    all_whole(&run_ends)?;
    for of in &run_ends {
        check_baseline(old, report.has_calls(), &of.end, question.report.flag == "leaks")?;
    }
    let end = run_ends.into_iter().next().map(|of| of.end).unwrap_or_default();
    Ok((Baseline::new(report.problem_keys()), end))
}

/// What may be the reason for an empty answer; a filter without a match has a note.
fn why_nothing(end: &End, names_filter: bool) -> String {
    match &end.filtered {
        Some(filtered) if !filtered.is_kept && filtered.shown_calls > 0 => {
            format!("; only calls of the filter {} were read", filtered.text)
        }
        Some(filtered) if !filtered.is_kept => String::new(),
        _ if names_filter && end.coverage.filter.is_some() => {
            "; the filter of record -e left out other calls of the program".to_owned()
        }
        _ => String::new(),
    }
}

/// Writes the answer as JSON. A report of problems has no other lines.
fn write_json(report: &dyn cutap_report::Report, run_ends: &[FinishedRun], out: &mut dyn Write) -> io::Result<()> {
    report.write_json(out)?;
    if report.problems().is_some() {
        return Ok(());
    }
    run_ends.iter().try_for_each(|of| {
        let mut end = of.end.clone();
        scan_executables(&mut end);
        end_line(&end, out)
    })
}

/// Writes the answer, and what is missing from it.
fn write(
    report: &dyn cutap_report::Report,
    runs: &Runs,
    run_ends: &[FinishedRun],
    out: &mut dyn Write,
) -> io::Result<()> {
    let all_ends: Vec<End> = run_ends.iter().map(|of| of.end.clone()).collect();
    let end = End::joined(&all_ends);
    let nothing = report.nothing();
    let end_refs: Vec<&End> = run_ends.iter().map(|of| &of.end).collect();
    let missing = missing_calls(&end_refs)
        .filter(|_| report.problems() == Some(0))
        .map(|missing| format!("the recording lacks calls ({missing}), so whether there is a problem cannot be known"));
    let why = why_nothing(&end, missing.is_none());
    let has_none = !report.has_calls() && end.filtered.is_none();
    match &nothing {
        Some(sentence) if has_none && missing.is_none() => writeln!(out, "{sentence}: no call was recorded")?,
        Some(sentence) => match &missing {
            Some(missing) => writeln!(out, "{sentence} in what was recorded{}; {missing}", why)?,
            None => writeln!(out, "{sentence}{}", why)?,
        },
        None => {
            report.write_text(&end, colour(), out)?;
            missing.iter().try_for_each(|missing| writeln!(out, "{missing}"))?;
        }
    }
    if nothing.is_none() && report.has_gpu_speed() {
        clocks_line(&end_refs).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    if nothing.is_none() && report.has_times() {
        let has_gpu = run_ends.iter().any(|of| of.end.gpu_time.is_some());
        let but_gpu = if has_gpu { ", but for gpu" } else { "" };
        writeln!(out, "times are host times{but_gpu}: a launch returns before its kernel has run")?;
    }
    out.flush()?;
    if report.has_notes() {
        say_notes(runs, run_ends);
        match report.has_counted() {
            true => say_without_times(run_ends),
            false => say_counted(runs, run_ends),
        }
    }
    Ok(())
}
