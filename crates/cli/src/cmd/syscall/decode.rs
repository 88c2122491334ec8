//! `cutap syscall decode`: decodes a log of kernel calls.

use super::args::{DriverArgs, SelectArgs, StyleArgs};
use super::input::{self, Input};
use super::own;
use crate::args::JsonArgs;
use crate::stdout::written;
use cutap_collect::{Result, print_notice};
use cutap_kernel::decode::Decoder;
use cutap_kernel::show::printer::{CallPrinter, Form};
use cutap_kernel::show::text::Style;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Decode {
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    select: SelectArgs,
    /// A recording, cutap's JSON, output of strace -e trace=ioctl -X raw, or a log of libcudest's shim
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Decode {
    pub fn run(self) -> Result<()> {
        let select = self.select.select()?;
        let Input { run, whole } = input::read(&self.file, None)?;
        let decoder = Decoder::new(self.driver.driver.as_deref(), &run).map_err(own)?;
        print_notice(&decoder.description());
        let threads = run.calls.iter().any(|call| (call.pid, call.tid) != (0, 0));
        let form = match self.json.json {
            true => Form::Decoded,
            false => Form::Text(Style { threads, parents: true, ..self.style.style() }),
        };
        let mut printer = CallPrinter::new(decoder, select, form);
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut printed_calls = 0_usize;
        let mut write = || {
            printer.head(&run.head, &mut out)?;
            for call in &run.calls {
                printed_calls += usize::from(printer.call(call, &mut out)?);
            }
            out.flush()
        };
        written(write())?;
        if printed_calls == 0 {
            print_notice("no call matches --command, --class, --object and --status");
        }
        whole
    }
}
