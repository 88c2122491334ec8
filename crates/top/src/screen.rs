//! A snapshot on a terminal.

use crate::snapshot::{Snapshot, SumsRow};
use crate::text::{head_lines, heading, open_lines, row_text};
use crate::view::{Grouping, Key, SortColumn, View};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};
use std::io;
use std::time::Duration;

/// A screen so wide has the total time too.
const WIDE: u16 = 100;
/// Open calls that are listed.
const OPEN_LINES: usize = 6;

/// The terminal, which is restored at the end.
pub struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It is none, or cannot be switched.
    pub fn open() -> io::Result<Screen> {
        Ok(Screen { terminal: ratatui::try_init()? })
    }

    /// Draws a snapshot. `status` says what becomes of the program.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub fn draw(&mut self, snapshot: &Snapshot, view: &mut View, status: &str) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, snapshot, view, status)).map(|_| ())
    }

    /// Waits for a key, for so long at most.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn key(&mut self, most: Duration) -> io::Result<Option<Key>> {
        if !event::poll(most)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => key_of(key),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn key_of(key: KeyEvent) -> Option<Key> {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Interrupt),
        KeyCode::Char(letter) => Some(Key::Letter(letter)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        _ => None,
    }
}

fn draw(frame: &mut Frame<'_>, snapshot: &Snapshot, view: &mut View, status: &str) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let head = head_lines(snapshot);
    let mut open = open_lines(snapshot);
    if let rest @ 1.. = open.len().saturating_sub(OPEN_LINES) {
        open.truncate(OPEN_LINES);
        open.push(format!("{rest} more threads are in calls"));
    }
    let heights = [head.len() as u16, 1, 1, 0, open.len() as u16, 1];
    let rows_at = 3;
    let constraints = heights.iter().enumerate().map(|(n, height)| match n == rows_at {
        true => Constraint::Min(1),
        false => Constraint::Length(*height),
    });
    let areas = Layout::vertical(constraints).split(frame.area());
    let lines = |lines: &[String]| Paragraph::new(lines.iter().map(|line| Line::raw(line.clone())).collect::<Vec<_>>());
    frame.render_widget(lines(&head).style(bold), areas[0]);
    let has_total_time = frame.area().width >= WIDE;
    let title = heading(view.grouping, has_total_time);
    frame.render_widget(Line::styled(title, Style::new().add_modifier(Modifier::REVERSED)), areas[2]);
    draw_rows(frame, areas[rows_at], snapshot, view, has_total_time);
    frame.render_widget(lines(&open), areas[4]);
    frame.render_widget(Line::styled(key_line(view, status), Style::new().add_modifier(Modifier::DIM)), areas[5]);
}

fn draw_rows(frame: &mut Frame<'_>, area: Rect, snapshot: &Snapshot, view: &mut View, has_total_time: bool) {
    let rows = view.rows(snapshot);
    let count = rows.len();
    let first = view.first.min(count.saturating_sub(usize::from(area.height)));
    let active = |calls: u64, time_ns: u64| calls > 0 || time_ns > 0;
    let line = |row: &&SumsRow| {
        let idle = Style::new().add_modifier(Modifier::DIM);
        let style = if active(row.calls, row.time_ns) { Style::new() } else { idle };
        Line::styled(row_text(snapshot, row, has_total_time), style)
    };
    let lines: Vec<Line<'_>> = rows.iter().skip(first).take(area.height.into()).map(line).collect();
    frame.render_widget(Paragraph::new(lines), area);
    view.first = first;
}

/// What keys do, and what is set.
fn key_line(view: &View, status: &str) -> String {
    if view.is_typing {
        return format!("/{}_  Enter: done, Esc: no filter", view.filter);
    }
    let sort = SortColumn::ALL.iter().find(|(.., column)| *column == view.sort).map_or("", |(name, ..)| *name);
    let paused = if view.is_paused { "paused, " } else { "" };
    let filter = if view.filter.is_empty() { String::new() } else { format!("filter {}, ", view.filter) };
    let by = match view.grouping {
        Grouping::Functions => "l libraries",
        Grouping::Libraries => "l functions",
    };
    format!("{status}{paused}{filter}by {sort}  q quit  p pause  / filter  {by}  c t s e n sort")
}
