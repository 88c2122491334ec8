//! The words of `cutap report`. One question at a time; without any, the table by function.

use clap::Args;
use cutap_collect::{Ask, Error, ReportOptions};
use std::path::PathBuf;

/// `cutap report`.
#[derive(Debug, Args)]
pub struct Report {
    /// The table by function (default), layer, library, instance, kernel, thread or stream
    #[arg(long, value_name = "WORD", group = "question")]
    by: Option<String>,
    /// The call tree, calls with the same path merged
    #[arg(long, group = "question")]
    tree: bool,
    /// Who calls FUNCTION (* allowed), and how much of its time each caller causes
    #[arg(long, value_name = "FUNCTION", group = "question")]
    callers: Option<String>,
    /// Calls that failed, with the calls around them
    #[arg(long, group = "question")]
    errors: bool,
    /// Calls that may block the host, with the calls around them
    #[arg(long, group = "question")]
    sync: bool,
    /// What was made and never freed, with the calls that made it
    #[arg(long, group = "question")]
    leaks: bool,
    /// Which arguments were shown raw, and of which functions nothing is known, with counts
    #[arg(long, group = "question")]
    raw: bool,
    /// Calls (or nanoseconds, =time) of each stack that --stack kept, in the form that flame graphs are drawn from
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "calls", group = "question")]
    folded: Option<String>,
    /// Only these calls: names with *, layers, libraries, ! for not; as in trace
    #[arg(short = 'e', value_name = "FILTER")]
    filter: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// The run directory, or a recording
    #[arg(value_name = "FILE")]
    run: PathBuf,
}

impl TryFrom<Report> for ReportOptions {
    type Error = Error;

    fn try_from(words: Report) -> Result<ReportOptions, Error> {
        let ask = match (words.by, words.callers, words.folded) {
            (Some(word), ..) => Ask::by(&word)?,
            (_, Some(function), _) => Ask::Callers(function),
            (.., Some(word)) => Ask::folded(&word)?,
            _ if words.tree => Ask::Tree,
            _ if words.errors => Ask::Errors,
            _ if words.sync => Ask::Sync,
            _ if words.leaks => Ask::Leaks,
            _ if words.raw => Ask::Raw,
            _ => Ask::by("function")?,
        };
        Ok(ReportOptions { run: words.run, filter: words.filter, json: words.json, ask })
    }
}
