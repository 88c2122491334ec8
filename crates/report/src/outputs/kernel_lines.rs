//! `cutap syscall trace`: calls to the kernel driver as lines or JSON, while the program runs. CUDA calls are headings.

use crate::Output;
use crate::call::kernel::kernel_call;
use crate::notes::footer::end_lines;
use cutap_kernel::decode::Decoder;
use cutap_kernel::select::Select;
use cutap_kernel::show::printer::{CallPrinter, Form};
use cutap_kernel::show::text::Style;
use cutap_kernel::{Action, Head, KernelCall, Run, formats};
use cutap_trace::{End, Event, EventVisitor, Exit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;

/// How calls are printed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelStyle {
    /// One JSON object a line.
    pub json: bool,
    /// All fields.
    pub verbose: bool,
    /// The bytes too.
    pub hex: bool,
    /// The driver's version, instead of the one that was recorded.
    pub driver: Option<String>,
    /// Only these.
    pub select: Select,
    /// Variables of the environment only.
    pub environment: bool,
}

/// Lines of kernel calls.
#[derive(Debug)]
pub struct KernelLines<W> {
    out: W,
    style: KernelStyle,
    /// From the first call on, which says which driver it is.
    printer: Option<CallPrinter>,
    /// Time of the first call.
    begin: Option<u64>,
    /// Addresses of the mappings that are shown.
    mapped: BTreeSet<u64>,
}

impl<W: io::Write> KernelLines<W> {
    /// Writes to `out`.
    pub fn new(out: W, style: KernelStyle) -> Self {
        Self { out, style, printer: None, begin: None, mapped: BTreeSet::new() }
    }

    /// What belongs to the driver; of mappings also their end.
    fn is_shown(&mut self, call: &KernelCall) -> bool {
        if self.style.environment {
            return matches!(call.action, Action::Getenv { .. });
        }
        match &call.action {
            Action::Ioctl(ioctl) => formats::is_of_driver(&ioctl.path),
            // A sandbox must permit opens of other files too.
            Action::Open { path, .. } => {
                let all = self.style.json || self.style.verbose;
                formats::is_of_driver(path) || all && formats::is_of_system(path)
            }
            Action::Close { path, .. } | Action::Dup { path, .. } => formats::is_of_driver(path),
            Action::Mmap { path, .. } => {
                let is_driver_file = formats::is_of_driver(path);
                let address = call.result.filter(|r| is_driver_file && *r > 0);
                self.mapped.extend(address.map(i64::cast_unsigned));
                is_driver_file
            }
            Action::Munmap { address, .. } => self.mapped.remove(address),
            Action::Getenv { .. } => false,
        }
    }
}

/// The lines before the first call, which tells which driver it is.
fn begin_lines(style: &KernelStyle, driver: Option<String>, out: &mut dyn io::Write) -> io::Result<CallPrinter> {
    let head = Head { driver, source: Some("preload".into()), ..Head::default() };
    let decoder = Decoder::new(style.driver.as_deref(), &Run { head: head.clone(), ..Run::default() });
    let decoder = decoder.map_err(|e| io::Error::other(e.0))?;
    let KernelStyle { verbose, hex, environment: meanings, .. } = *style;
    let form = match style.json {
        true => Form::Decoded,
        false => Form::Text(Style { verbose, hex, meanings, parents: true, threads: false }),
    };
    if !style.json {
        writeln!(out, "cutap: {}", decoder.description())?;
    }
    let printer = CallPrinter::new(decoder, style.select.clone(), form);
    printer.head(&head, out)?;
    Ok(printer)
}

impl<W: io::Write> EventVisitor<io::Result<()>> for KernelLines<W> {
    fn exit(&mut self, exit: &Exit) -> io::Result<()> {
        let begin = *self.begin.get_or_insert(exit.call.start_ns);
        let Some(call) = kernel_call(exit, begin).filter(|call| self.is_shown(call)) else { return Ok(()) };
        let printer = match &mut self.printer {
            Some(printer) => printer,
            none => none.insert(begin_lines(&self.style, exit.call.pieces().driver, &mut self.out)?),
        };
        printer.call(&call, &mut self.out).map(drop)
    }
}

impl<W: io::Write + Send> Output for KernelLines<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.visit(self)
    }

    fn tick(&mut self, _now: u64) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        for exit in &end.unfinished {
            self.exit(exit)?;
        }
        if !self.style.json {
            for line in end_lines(end) {
                writeln!(self.out, "cutap: {line}")?;
            }
        }
        self.out.flush()
    }
}
