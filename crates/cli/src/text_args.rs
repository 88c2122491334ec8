//! How lines of text are written: times, colours, width, and how much is left out on a terminal.

use crate::heading;
use clap::{ArgAction, Args, ValueEnum};
use cutap_collect::{ColourChoice, TextOptions};
use cutap_report::TimeColumn;

/// Flags of trace and show for lines of text.
#[derive(Debug, Args)]
pub struct TextArgs {
    /// All calls: none is folded, or left out by the filter of the run
    #[arg(short = 'a', long)]
    all: bool,
    /// Everything: all calls, whole structs and lines, all notes at the end
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Cut lines at N columns (0: never); default: the width of the terminal
    #[arg(long, value_name = "N", help_heading = heading::LINES)]
    width: Option<u16>,
    /// Cut quoted texts at BYTES; cutap keeps at most 256 of each
    #[arg(short = 's', value_name = "BYTES", help_heading = heading::LINES)]
    texts: Option<usize>,
    /// Colours: auto, always, never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = heading::LINES
    )]
    color: When,
    /// Begin each line with the time of day; -tt: microseconds, -ttt: since 1970
    #[arg(short = 't', action = ArgAction::Count, conflicts_with = "relative", help_heading = heading::LINES)]
    time: u8,
    /// Begin each line with the time since the line before
    #[arg(short = 'r', help_heading = heading::LINES)]
    relative: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl TextArgs {
    pub fn options(&self) -> TextOptions {
        TextOptions {
            all: self.all,
            verbose: self.verbose,
            silent: false,
            is_past: false,
            width: self.width,
            texts: self.texts,
            colour: match self.color {
                When::Auto => ColourChoice::Auto,
                When::Always => ColourChoice::Always,
                When::Never => ColourChoice::Never,
            },
            time: match (self.relative, self.time) {
                (true, _) => TimeColumn::Relative,
                (_, 0) => TimeColumn::None,
                (_, 1) => TimeColumn::Day,
                (_, 2) => TimeColumn::DayMicros,
                _ => TimeColumn::Epoch,
            },
        }
    }
}
