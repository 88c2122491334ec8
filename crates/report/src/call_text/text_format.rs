//! How lines of text are written: with which times, how long, and how much of what repeats. The caller decides it
//! from its flags and from what it writes to; nothing here asks a terminal.

use serde::{Deserialize, Serialize};

/// A column of times at the beginning of each line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeColumn {
    /// None.
    #[default]
    None,
    /// `14:03:59`.
    Day,
    /// `14:03:59.123456`.
    DayMicros,
    /// Seconds since 1970.
    Epoch,
    /// Seconds since the line before.
    Relative,
}

/// How lines are written. The default writes everything, as to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextFormat {
    /// Longest line, in columns; none: any.
    pub width: Option<usize>,
    /// Structs of more than six fields are abbreviated.
    pub abbreviate: bool,
    /// Longest text in quotes, in bytes; none: as it was kept.
    pub texts: Option<usize>,
    /// Start-up and repeated cheap calls are one line each.
    pub fold: bool,
    /// Libraries and threads have short names.
    pub brief: bool,
    /// The end explains the short names.
    pub legend: bool,
    /// The run has ended: a call is one line, however long it took.
    pub is_past: bool,
    /// Times at the beginning of lines.
    pub time: TimeColumn,
    /// Seconds by which local time is ahead of UTC.
    pub utc_offset: i64,
    /// Notes at the end; none: all.
    pub notes: Option<usize>,
}

/// Where the column is: the line before, for relative times.
#[derive(Debug, Default)]
pub struct TimeState {
    before: Option<u64>,
}

impl TimeColumn {
    /// Writes the column of a line at `ns` (CLOCK_MONOTONIC), which is `realtime_ns` since 1970.
    pub fn write(self, state: &mut TimeState, ns: u64, realtime_ns: u64, utc_offset: i64, to: &mut String) {
        use std::fmt::Write;
        let (seconds, micros) = (realtime_ns / 1_000_000_000, realtime_ns / 1000 % 1_000_000);
        // Writing to a string does not fail.
        let _ = match self {
            TimeColumn::None => Ok(()),
            TimeColumn::Epoch => write!(to, "{seconds}.{micros:06} "),
            TimeColumn::Relative => {
                let since = ns.saturating_sub(state.before.unwrap_or(ns));
                state.before = Some(ns);
                write!(to, "{:>10.6} ", since as f64 / 1e9)
            }
            TimeColumn::Day | TimeColumn::DayMicros => {
                let day = (seconds as i64 + utc_offset).rem_euclid(86_400);
                let (h, m, s) = (day / 3600, day / 60 % 60, day % 60);
                match self {
                    TimeColumn::Day => write!(to, "{h:02}:{m:02}:{s:02} "),
                    _ => write!(to, "{h:02}:{m:02}:{s:02}.{micros:06} "),
                }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(of: TimeColumn, times: &[u64]) -> String {
        let (mut state, mut text) = (TimeState::default(), String::new());
        times.iter().for_each(|ns| of.write(&mut state, *ns, 1_700_000_000_000_000_000 + ns, 3600, &mut text));
        text
    }

    #[test]
    fn columns() {
        assert_eq!(column(TimeColumn::None, &[1]), "");
        assert_eq!(column(TimeColumn::Day, &[1000]), "23:13:20 ");
        assert_eq!(column(TimeColumn::DayMicros, &[1000]), "23:13:20.000001 ");
        assert_eq!(column(TimeColumn::Epoch, &[2000]), "1700000000.000002 ");
        assert_eq!(column(TimeColumn::Relative, &[5_000, 1_505_000]), "  0.000000   0.001500 ");
    }
}
