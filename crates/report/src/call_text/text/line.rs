//! The lines of the text output, part by part: what a line begins with, the call, the result.

use super::Text;
use crate::call::arguments::{inputs, words};
use crate::call::columns::{CallView, Part};
use crate::call::range;
use crate::call::values::write_value;
use crate::call_text::launch::Launch;
use crate::call_text::repetition::About;
use crate::call_text::shape::{Marks, shorten};
use crate::call_text::text_format::{TextFormat, TimeColumn};
use crate::call_text::text_parts::{brief_tag, legend, tag};
use crate::call_text::unit::Inside;
use crate::format::style::push_styled;
use crate::format::units::{decimal, word, write_time};
use crate::notes::note_limit::notes;
use anstyle::Style;
use cutap_trace::decode::Value;
use cutap_trace::{Call, End, EventVisitor, Exit, Layer, Returned, State, Thread};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

impl<W: io::Write> Text<W> {
    /// Time, ids and indentation of a line about something at `ns`.
    pub(super) fn start(&mut self, thread: &Thread, depth: u32, ns: u64) {
        self.calls_written = true;
        self.line.clear();
        let TextFormat { time, utc_offset, .. } = self.format;
        if time != TimeColumn::None {
            let process = &thread.process;
            let realtime = process.start_realtime_ns.saturating_add_signed(ns as i64 - process.start_ns as i64);
            time.write(&mut self.time, ns, realtime, utc_offset, &mut self.line);
        }
        if self.several {
            self.begin_style(self.styles.ids);
            if let Some(run) = &thread.process.run {
                let _ = write!(self.line, "{run} ");
            }
            if !self.format.brief || self.processes > 1 {
                decimal(thread.process.pid.into(), &mut self.line);
                self.line.push('/');
            }
            decimal(thread.tid.into(), &mut self.line);
            self.end_style(self.styles.ids);
            self.line.push(' ');
        }
        (0..depth).for_each(|_| self.line.push_str("  "));
        if self.repeats.is_some() {
            let start = self.line.clone();
            self.about = About { start, start_ns: ns, end_ns: ns, ..About::default() };
            self.about.add(u64::from(thread.key) << 32 | u64::from(depth));
        }
    }

    /// Writes a line up to the result. After the call, arguments have the values that it wrote.
    pub(super) fn head(&mut self, view: CallView<'_>) {
        self.head_at(view, view.call.depth);
    }

    /// The same, in the place of a call at another depth.
    pub(super) fn head_at(&mut self, view: CallView<'_>, depth: u32) {
        let CallView { call, exit, .. } = view;
        self.start(&call.thread, depth, call.start_ns);
        let styles = self.styles;
        let before = self.line.len();
        self.begin_style(styles.tag);
        let tag_at = self.line.len();
        match self.format.brief {
            true => brief_tag(call, &mut self.line),
            false if call.function.layer != Layer::DRIVER => tag(call, &mut self.line),
            false => {}
        }
        if self.line.len() > tag_at {
            self.end_style(styles.tag);
            self.line.push(' ');
        } else {
            self.line.truncate(before);
        }
        let is_range = call.function.range.is_some();
        if is_range {
            let mut text = String::new();
            range::write(call, &mut text);
            self.styled(styles.name, &text);
        } else {
            self.styled(styles.name, call.function.display_name());
        }
        if self.repeats.is_some() {
            self.about(view);
        }
        if let Some(launch) = Launch::of(call) {
            let has_handle = !self.format.brief && view.kernel().is_some();
            self.marks = launch.write(view, has_handle, styles.kernel, &mut self.line);
            let place = self.marks.kernel.zip(self.marks.parameters).filter(|_| self.repeats.is_some());
            if let Some(((from, _), to)) = place {
                self.about.add_text(self.line.get(from..to).unwrap_or(""));
            }
            return;
        }
        if is_range {
            return;
        }
        // A C++ name includes its parameter types.
        self.line.push('(');
        match view.is_described() {
            true => inputs(call, exit, &mut self.line),
            false => words(call.args.words(), &mut self.line),
        }
        self.line.push(')');
        view.write_part(Part::Head, &styles, &mut self.line);
    }

    /// What makes the line of this call the same as another: the function and the numbers that it was given.
    pub(super) fn about(&mut self, CallView { call, exit, .. }: CallView<'_>) {
        let mut about = std::mem::take(&mut self.about);
        about.add(u64::from(call.function.key) << 1 | u64::from(exit.is_some()));
        for value in call.inputs() {
            match value {
                Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Enum(..) | Value::Flags(..) => {
                    about.add(value.number().unwrap_or(0.0).to_bits());
                }
                _ => about.add(0),
            }
        }
        if let Some(exit) = exit {
            about.end_ns = exit.end_ns;
            about.name = Some(call.function.demangled.as_ref().unwrap_or(&call.function.name).clone());
            if exit.is_error() || exit.duration_ns.is_none() {
                about.signature = 0;
            }
        }
        self.about = about;
    }

    pub(super) fn result(&mut self, exit: &Exit) {
        self.marks.result = Some(self.line.len());
        let styles = self.styles;
        if exit.call.function.range.is_none() || exit.duration_ns.is_none() {
            self.line.push_str(" = ");
        }
        match (exit.returned(), exit.duration_ns) {
            (Some(returned), took) => {
                match returned {
                    Returned::Status(status) => {
                        let text = exit.status_name().map_or_else(|| status.to_string().into(), Cow::Borrowed);
                        match exit.is_error() {
                            true => self.styled(styles.error, &format!("{text} !")),
                            false => self.line.push_str(&text),
                        }
                    }
                    _ if exit.value.is_some() => {
                        exit.value.iter().for_each(|value| write_value(value, &mut self.line));
                    }
                    Returned::Number(number) => word(number, &mut self.line),
                    Returned::Word(value) => word(value, &mut self.line),
                    Returned::Nothing if exit.call.function.range.is_some() => {}
                    Returned::Nothing => self.line.push_str("void"),
                    Returned::Unreported => self.line.push_str("(not reported)"),
                }
                CallView::exit(exit).write_part(Part::Result, &styles, &mut self.line);
                self.line.push(' ');
                self.begin_style(styles.time);
                self.line.push('<');
                write_time(took.unwrap_or(0), &mut self.line);
                self.line.push('>');
                self.end_style(styles.time);
            }
            (None, _) => {
                self.styled(styles.error, if exit.state == State::Unwound { "? <unwound>" } else { "? <unfinished>" })
            }
        }
    }

    pub(super) fn styled(&mut self, style: Style, text: &str) {
        push_styled(style, text, &mut self.line);
    }

    pub(super) fn begin_style(&mut self, style: Style) {
        if !style.is_plain() {
            let _ = write!(self.line, "{}", style.render());
        }
    }

    pub(super) fn end_style(&mut self, style: Style) {
        if !style.is_plain() {
            let _ = write!(self.line, "{}", style.render_reset());
        }
    }

    pub(super) fn flush_line(&mut self) -> io::Result<()> {
        self.flush_with_stack(None)
    }

    /// The lines of a call's stack are below its own. They are written together: no repetition begins between them.
    pub(super) fn flush_with_stack(&mut self, call: Option<&Call>) -> io::Result<()> {
        let marks = std::mem::take(&mut self.marks);
        shorten(&mut self.line, marks, &self.format);
        self.line.push('\n');
        call.into_iter().for_each(|call| self.add_stack(call));
        if self.muted {
            return Ok(());
        }
        if let Some(said) = self.to_say.take() {
            self.settle()?;
            self.out.write_all(said.as_bytes())?;
        }
        match &mut self.repeats {
            Some(repeats) => repeats.line(&self.line, std::mem::take(&mut self.about), &mut self.out),
            None => self.out.write_all(self.line.as_bytes()),
        }
    }

    /// Adds the frames of a call's stack to its line.
    fn add_stack(&mut self, call: &Call) {
        let Some(frames) = call.stack().map(|stack| self.stacks.of(stack)) else { return };
        let (mut text, mut about) = (std::mem::take(&mut self.line), std::mem::take(&mut self.about));
        for frame in frames.iter() {
            self.start(&call.thread, call.depth, call.start_ns);
            self.line.push_str("    ");
            self.styled(self.styles.ids, frame);
            shorten(&mut self.line, Marks::default(), &self.format);
            text.push_str(&self.line);
            text.push('\n');
            // A line about an error is the same as none.
            if about.signature != 0 {
                about.add_text(frame);
            }
        }
        (self.line, self.about) = (text, about);
    }

    /// Writes a line in the place of calls of a thread, from `ns` on.
    pub(crate) fn folded(&mut self, thread: &Arc<Thread>, depth: u32, ns: u64, text: &str) -> io::Result<()> {
        self.switch_to_thread(thread);
        self.open_until(ns)?;
        self.open_top(thread)?;
        self.start(thread, depth, ns);
        // Its time may differ.
        self.about.add_text(text.rsplit_once(", ").map_or(text, |(calls, _)| calls));
        self.styled(self.styles.ids, text);
        self.flush_line()
    }

    /// Writes one line for a call that has ended and the calls inside it, none of which was passed in.
    pub(crate) fn unit(&mut self, outer: &Exit, depth: u32, inside: &Inside<'_>) -> io::Result<()> {
        let (call, main_exit) = (&outer.call, inside.main_exit.unwrap_or(outer));
        self.switch_to_thread(&call.thread);
        self.open_until(outer.end_ns)?;
        self.open_top(&call.thread)?;
        self.head_at(CallView::exit(main_exit), depth);
        self.result(main_exit);
        CallView::exit(main_exit).write_part(Part::Tail, &self.styles, &mut self.line);
        if !inside.text.is_empty() {
            let style = if inside.has_error { self.styles.error } else { self.styles.ids };
            let at = self.line.len();
            self.begin_style(style);
            self.line.push_str(" {");
            let kept_end = if inside.important > 0 { self.line.len() + inside.important } else { at };
            self.line.push_str(&inside.text);
            self.line.push('}');
            self.end_style(style);
            self.marks.inside = Some((at, kept_end));
        }
        if inside.has_error && self.about.signature != 0 {
            self.about.has_error = true;
            self.about.add_text(&inside.text);
        }
        self.flush_with_stack(Some(if main_exit.call.stack().is_some() { &main_exit.call } else { call }))
    }

    /// Writes the lines that wait because they may be a repetition.
    fn settle(&mut self) -> io::Result<()> {
        match &mut self.repeats {
            Some(repeats) => repeats.flush(&mut self.out),
            None => Ok(()),
        }
    }

    /// Writes a note of cutap.
    pub(crate) fn write_note(&mut self, note: &str) -> io::Result<()> {
        self.settle()?;
        let own = self.styles.own;
        writeln!(self.out, "{}cutap:{} {note}", own.render(), own.render_reset())
    }

    /// Writes the calls that have not ended.
    pub(crate) fn unfinished(&mut self, end: &End) -> io::Result<()> {
        end.unfinished.iter().try_for_each(|exit| self.exit(exit))
    }

    /// Writes the notes at the end.
    pub(crate) fn notes(&mut self, end: &End) -> io::Result<()> {
        self.settle()?;
        if end.gpu_time.is_none() {
            self.gpu.lines().iter().try_for_each(|line| self.write_note(line))?;
        }
        if self.format.legend {
            legend(end).iter().try_for_each(|line| self.write_note(line))?;
        }
        notes(end, self.format.notes).iter().try_for_each(|line| self.write_note(line))?;
        self.out.flush()
    }

    /// How its lines are written.
    pub(crate) fn format(&self) -> TextFormat {
        self.format
    }
}
