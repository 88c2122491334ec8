//! Colours of text output: all of them or none.

use anstyle::{AnsiColor, Style};
use std::fmt::Write as _;

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
    /// Error results, and calls that never returned.
    pub error: Style,
    /// Times.
    pub time: Style,
    /// Messages of cutap.
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

/// Adds a text in a style.
pub fn push_styled(style: Style, text: &str, to: &mut String) {
    if style.is_plain() {
        return to.push_str(text);
    }
    let _ = write!(to, "{}{text}{}", style.render(), style.render_reset());
}
