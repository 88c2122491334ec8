//! Colours, all of them or none.

use anstyle::{AnsiColor, Style};

/// A style for each part of a line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Styles {
    /// Process and thread ids.
    pub ids: Style,
    /// The library and runtime in brackets.
    pub tag: Style,
    /// Names of functions.
    pub name: Style,
    /// Kernels.
    pub kernel: Style,
    /// Results that are errors, and calls that never returned.
    pub error: Style,
    /// Times.
    pub time: Style,
    /// Our own words.
    pub own: Style,
}

impl Styles {
    /// Colours, or none of them.
    pub fn new(colour: bool) -> Styles {
        if !colour {
            return Styles::default();
        }
        let style = |colour: AnsiColor| colour.on_default();
        Styles {
            ids: Style::new().dimmed(),
            tag: style(AnsiColor::Cyan),
            name: Style::new().bold(),
            kernel: style(AnsiColor::Green),
            error: style(AnsiColor::Red).bold(),
            time: Style::new().dimmed(),
            own: style(AnsiColor::Yellow),
        }
    }
}
