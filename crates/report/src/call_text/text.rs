//! The tree of calls as text. A call is one line if it has no traced call inside and ends within 50 ms. Any other
//! call has an opening and a closing line. The text depends on the events and their times only, so live output and
//! `cutap show` are equal.

mod line;

use crate::Output;
use crate::call::arguments::outputs;
use crate::call::columns::{CallView, Part};
use crate::call::kernel::kernel_line;
use crate::call::submission;
use crate::call_text::repeats::Repeats;
use crate::call_text::repetition::About;
use crate::call_text::shape::Marks;
use crate::call_text::text_format::{TextFormat, TimeState};
use crate::call_text::text_parts::lookup_text;
use crate::format::style::Styles;
use crate::format::units::write_time;
use crate::nesting::stacks;
use crate::notes::gpu_totals::GpuTotals;
use cutap_kernel::decode::Decoder;
use cutap_trace::{Answer, Call, End, Event, EventVisitor, Exit, GpuRow, Lookup, Process, State, Thread};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

/// A call that takes longer gets an opening line.
const PATIENCE_NS: u64 = 50_000_000;

/// The tree of calls as text.
#[derive(Debug)]
pub struct Text<W> {
    out: W,
    styles: Styles,
    /// Open calls of each thread, by its key.
    threads: Vec<Vec<Open>>,
    first: Option<Arc<Thread>>,
    /// A line of a call was written.
    calls_written: bool,
    /// More than one thread or process was seen.
    several: bool,
    /// A message before the next line, which is the first one with ids: whose lines came before.
    to_say: Option<String>,
    processes: usize,
    /// No call has to be opened before this time.
    next_opening: u64,
    line: String,
    stacks: stacks::Lines,
    format: TextFormat,
    time: TimeState,
    /// Where the parts of `line` are.
    marks: Marks,
    /// What `line` is about.
    about: About,
    /// Looks for lines that come again.
    repeats: Option<Repeats>,
    /// Reads calls of the layer `syscall`.
    decoder: Option<Decoder>,
    /// The lines of these events are there.
    muted: bool,
    gpu: GpuTotals,
}

#[derive(Debug)]
struct Open {
    call: Call,
    opened: bool,
    /// Its opening line had the parameters of the kernel, or there is none yet.
    has_kernel_parameters: bool,
    /// Its stack is below its opening line.
    stacked: bool,
}

impl<W: io::Write> Text<W> {
    /// Writes to `out`, coloured if `colour`.
    pub fn new(out: W, colour: bool) -> Text<W> {
        Text {
            out,
            styles: Styles::new(colour),
            threads: Vec::new(),
            first: None,
            several: false,
            to_say: None,
            calls_written: false,
            processes: 0,
            next_opening: u64::MAX,
            line: String::new(),
            stacks: stacks::Lines::default(),
            format: TextFormat::default(),
            time: TimeState::default(),
            marks: Marks::default(),
            about: About::default(),
            repeats: None,
            decoder: None,
            muted: false,
            gpu: GpuTotals::default(),
        }
    }

    /// Writes lines of this form.
    pub fn with_format(self, format: TextFormat) -> Text<W> {
        let repeats = format.fold.then(|| Repeats::new(self.styles.ids, format.width));
        Text { format, repeats, ..self }
    }

    /// Continues the output of another process. Its threads are unknown here, so each line has ids.
    pub fn go_on(self) -> Text<W> {
        let to_say = Some("cutap: from here on each line has its own PID/TID\n".to_owned());
        Text { several: true, to_say, ..self }
    }

    /// A call of the layer `syscall`: its line has the result.
    fn kernel(&mut self, exit: &Exit, line: &str, stacked: bool) -> io::Result<()> {
        self.start(&exit.call.thread, exit.call.depth, exit.call.start_ns);
        self.styled(self.styles.tag, "[syscall]");
        self.line.push(' ');
        self.line.push_str(line);
        let took = self.styles.time;
        self.line.push(' ');
        self.begin_style(took);
        self.line.push('<');
        write_time(exit.duration_ns.unwrap_or(0), &mut self.line);
        self.line.push('>');
        self.end_style(took);
        self.flush_with_stack((!stacked).then_some(&exit.call))
    }

    /// A call of the layer `submit`: a line for the channel, and one for each thing that is done.
    fn submission(&mut self, exit: &Exit, lines: &[String]) -> io::Result<()> {
        let call = &exit.call;
        for (n, line) in lines.iter().enumerate() {
            self.start(&call.thread, call.depth + u32::from(n > 0), call.start_ns);
            if n == 0 {
                self.styled(self.styles.tag, "[submit]");
                self.line.push(' ');
            }
            self.line.push_str(line);
            self.flush_line()?;
        }
        Ok(())
    }

    /// Records a thread. Lines have ids from the second thread on.
    fn switch_to_thread(&mut self, thread: &Arc<Thread>) {
        self.several |= thread.process.run.is_some();
        match &self.first {
            None => self.first = Some(thread.clone()),
            Some(first) if first.key != thread.key => self.more(),
            Some(_) => {}
        }
    }

    /// The second thread or process: from here on lines have ids, and a message names the first thread.
    fn more(&mut self) {
        if std::mem::replace(&mut self.several, true) {
            return;
        }
        if let Some(first) = self.first.as_ref().filter(|_| self.calls_written) {
            let ids = format!("{}/{}", first.process.pid, first.tid);
            let own = if self.format.brief { "the ID of its thread in front" } else { "its own PID/TID" };
            self.to_say = Some(format!("cutap: all lines up to here are of {ids}; from here on each has {own}\n"));
        }
    }

    fn stack(&mut self, thread: &Thread) -> &mut Vec<Open> {
        let key = thread.key as usize;
        if key >= self.threads.len() {
            self.threads.resize_with(key + 1, Vec::new);
        }
        &mut self.threads[key]
    }

    /// Writes the opening lines that are due at `now`.
    fn open_until(&mut self, now: u64) -> io::Result<()> {
        self.open_others(now, None)
    }

    /// The same, but for a call that has its line now.
    fn open_others(&mut self, now: u64, but: Option<&Call>) -> io::Result<()> {
        if now <= self.next_opening {
            return Ok(());
        }
        let due = |open: &Open| open.call.start_ns.saturating_add(PATIENCE_NS);
        let waiting = |stacks: &[Vec<Open>]| -> Vec<(u64, Arc<Thread>)> {
            let is_wanted = |o: &&Open| !o.opened && !but.is_some_and(|but| but.is_same_call(&o.call));
            let tops = stacks.iter().filter_map(|s| s.last()).filter(is_wanted);
            tops.map(|o| (due(o), o.call.thread.clone())).collect()
        };
        let mut tops = waiting(&self.threads);
        tops.sort_by_key(|(due, thread)| (*due, thread.key));
        for (_, thread) in tops.into_iter().filter(|(due, _)| *due < now) {
            self.open_top(&thread)?;
        }
        self.next_opening = waiting(&self.threads).into_iter().map(|(due, _)| due).min().unwrap_or(u64::MAX);
        Ok(())
    }

    /// Writes the opening line of the innermost call of a thread, if it has none yet.
    fn open_top(&mut self, thread: &Thread) -> io::Result<()> {
        let Some(open) = self.stack(thread).last_mut().filter(|o| !o.opened) else { return Ok(()) };
        open.opened = true;
        open.has_kernel_parameters = open.call.driver_args().is_some();
        open.stacked = open.call.stack().is_some();
        let call = open.call.clone();
        self.head(CallView::enter(&call));
        self.line.push_str(" {");
        self.flush_with_stack(Some(&call))
    }
}

impl<W: io::Write> EventVisitor<io::Result<()>> for Text<W> {
    fn process(&mut self, _: &Arc<Process>) -> io::Result<()> {
        self.processes += 1;
        if self.processes > 1 {
            self.more();
        }
        Ok(())
    }

    fn enter(&mut self, call: &Call) -> io::Result<()> {
        self.switch_to_thread(&call.thread);
        self.open_until(call.start_ns)?;
        self.open_top(&call.thread)?;
        if call.function.entry_only {
            self.head(CallView::enter(call));
            return self.flush_line();
        }
        self.next_opening = self.next_opening.min(call.start_ns.saturating_add(PATIENCE_NS));
        self.stack(&call.thread).push(Open {
            call: call.clone(),
            opened: false,
            has_kernel_parameters: true,
            stacked: false,
        });
        Ok(())
    }

    /// More is known of a call: its opening line says it, if it is not written yet.
    fn update(&mut self, call: &Call) -> io::Result<()> {
        let open = self.stack(&call.thread).iter_mut().rfind(|open| open.call.is_same_call(call));
        open.into_iter().for_each(|open| open.call = call.clone());
        Ok(())
    }

    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        self.open_others(exit.end_ns, self.format.is_past.then_some(&exit.call))?;
        let call = &exit.call;
        let stack = self.stack(&call.thread);
        let place = stack.iter().rposition(|o| o.call.is_same_call(call));
        let (opened, told, stacked) = match place {
            Some(place) => {
                let (opened, told, stacked) =
                    (stack[place].opened, stack[place].has_kernel_parameters, stack[place].stacked);
                stack.truncate(place);
                (opened, told, stacked)
            }
            // A late call, which was closed before.
            None => (exit.late, true, exit.late),
        };
        if !opened && let Some(lines) = submission::lines(exit) {
            self.open_top(&call.thread)?;
            return self.submission(exit, &lines);
        }
        let kernel = if opened || exit.state != State::Returned { None } else { kernel_line(exit, &mut self.decoder) };
        if let Some(line) = kernel {
            self.open_top(&call.thread)?;
            return self.kernel(exit, &line, stacked);
        }
        if opened {
            self.start(&call.thread, call.depth, exit.end_ns);
            self.line.push_str("} ");
            let name = self.styles.name;
            self.styled(name, call.function.display_name());
            if self.repeats.is_some() {
                self.about(CallView::exit(exit));
            }
            outputs(exit, told, &mut self.line);
        } else {
            self.open_top(&call.thread)?;
            self.head(CallView::exit(exit));
        }
        self.result(exit);
        CallView::exit(exit).write_part(Part::Tail, &self.styles, &mut self.line);
        self.flush_with_stack((!stacked).then_some(call))
    }

    fn row(&mut self, row: &GpuRow) -> io::Result<()> {
        self.gpu.row(row);
        Ok(())
    }

    fn lookup(&mut self, lookup: &Lookup) -> io::Result<()> {
        self.switch_to_thread(&lookup.thread);
        self.open_until(lookup.ns)?;
        self.open_top(&lookup.thread)?;
        let depth = self.stack(&lookup.thread).last().map_or(0, |o| o.call.depth + 1);
        self.start(&lookup.thread, depth, lookup.ns);
        let by = match &lookup.caller {
            Some(object) => object.to_string(),
            None => format!("{:#x}", lookup.caller_address),
        };
        let answer = match &lookup.answer {
            Answer::Null => "NULL".to_owned(),
            Answer::Function(function) => format!("{} of {}", function.display_name(), function.library),
            Answer::Address(address) => format!("{address:#x}"),
        };
        let _ = write!(self.line, "lookup {} by {by} = {answer}", lookup_text(lookup));
        if lookup.code != 0 || lookup.symbol_status != 0 {
            let style = self.styles.error;
            let text = format!(" ! (result {}, status {})", lookup.code, lookup.symbol_status);
            self.styled(style, &text);
        }
        self.flush_line()
    }
}

impl<W> Text<W> {
    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.out
    }
}

impl<W: io::Write + Send> Output for Text<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self)
    }

    fn replay(&mut self, event: &Event) -> io::Result<()> {
        self.muted = true;
        let result = event.visit(self);
        self.muted = false;
        result
    }

    fn replayed(&mut self, now: u64) -> io::Result<()> {
        self.muted = true;
        let result = self.open_until(now);
        self.muted = false;
        result
    }

    fn tick(&mut self, now: u64) -> io::Result<()> {
        self.open_until(now)?;
        if let Some(repeats) = &mut self.repeats {
            repeats.tick(now, &mut self.out)?;
        }
        self.out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        self.unfinished(end)?;
        self.notes(end)
    }
}
