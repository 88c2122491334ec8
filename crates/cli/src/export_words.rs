//! The words of `cutap export`: one format and its file.

use clap::Args;
use cutap_collect::{ExportOptions, Format};
use std::path::PathBuf;

/// `cutap export`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("format").required(true))]
pub struct Export {
    /// Write what ui.perfetto.dev opens: tracks, nested slices, arguments, flows of launches
    #[arg(long, value_name = "OUT", group = "format")]
    perfetto: Option<PathBuf>,
    /// Write Chrome's JSON of events
    #[arg(long, value_name = "OUT", group = "format")]
    chrome: Option<PathBuf>,
    /// Write one JSON object a line, as show --json
    #[arg(long, value_name = "OUT", group = "format")]
    json: Option<PathBuf>,
    /// Only these calls: names with *, layers, libraries, ! for not; as in trace
    #[arg(short = 'e', value_name = "FILTER")]
    filter: Option<String>,
    /// The run directory, or a recording
    #[arg(value_name = "FILE")]
    run: PathBuf,
}

impl From<Export> for ExportOptions {
    fn from(words: Export) -> ExportOptions {
        let perfetto = words.perfetto.map(|out| (Format::Perfetto, out));
        let chosen = perfetto.or(words.chrome.map(|out| (Format::Chrome, out)));
        let (format, output) = chosen.unwrap_or((Format::Json, words.json.unwrap_or_default()));
        ExportOptions { run: words.run, filter: words.filter, format, output }
    }
}
