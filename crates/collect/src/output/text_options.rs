//! How lines of text are written, by flags and by where they go. Only a terminal gets colours, cut lines and folded
//! calls. A flag can say otherwise.

use crate::output::output_format::{columns, is_on_terminal};
use cutap_report::{TextFormat, TimeColumn};
use serde::{Deserialize, Serialize};

/// Notes at the end of a trace on a terminal.
const NOTES: usize = 5;

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColourChoice {
    /// On a terminal, and not with NO_COLOR.
    #[default]
    Auto,
    Always,
    Never,
}

/// Flags for lines of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextOptions {
    /// Fold nothing.
    pub all: bool,
    /// Print everything.
    pub verbose: bool,
    /// No notes of cutap.
    pub silent: bool,
    /// The run has ended: no reader waits for its next line.
    #[serde(default)]
    pub is_past: bool,
    /// Longest line; 0: any.
    pub width: Option<u16>,
    /// Longest quoted text, in bytes.
    pub texts: Option<usize>,
    pub colour: ColourChoice,
    pub time: TimeColumn,
}

impl TextOptions {
    /// The format of lines on standard output.
    pub fn format(self) -> TextFormat {
        let terminal = is_on_terminal();
        let width = match self.width {
            Some(0) => None,
            Some(width) => Some(width.into()),
            None => terminal.then(columns).flatten().filter(|_| !self.verbose),
        };
        TextFormat {
            width,
            texts: self.texts,
            abbreviate: terminal && !self.verbose,
            fold: terminal && !self.verbose && !self.all,
            brief: terminal && !self.verbose,
            legend: terminal && self.verbose,
            is_past: terminal && self.is_past,
            time: self.time,
            utc_offset: if self.time == TimeColumn::None { 0 } else { utc_offset() },
            notes: if self.silent { Some(0) } else { (terminal && !self.verbose).then_some(NOTES) },
        }
    }

    /// Whether lines on standard output have colours.
    pub fn is_coloured(self) -> bool {
        match self.colour {
            ColourChoice::Auto => crate::output::output_format::colour(),
            ColourChoice::Always => true,
            ColourChoice::Never => false,
        }
    }
}

/// Seconds by which local time is ahead of UTC now.
fn utc_offset() -> i64 {
    // SAFETY: reads the clock and fills a structure of our own.
    unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut local: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&now, &mut local).is_null() { 0 } else { local.tm_gmtoff }
    }
}
