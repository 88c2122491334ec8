//! `cutap kernel decode`: decodes a log of kernel calls.

use super::own;
use crate::args::JsonArgs;
use crate::stdout::written;
use cutap_collect::{Result, say};
use cutap_kernel::decode::Decoder;
use cutap_kernel::show::text::{Style, Text, footer};
use cutap_kernel::{formats, show};
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
    /// cutap's JSON, output of strace -e trace=ioctl -X raw, or a log of libcudest's shim
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// How calls are printed.
#[derive(Debug, clap::Args)]
pub struct StyleArgs {
    /// All fields, also those that are 0
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Also the bytes of the argument and of embedded pointers, before and after
    #[arg(short = 'x', long)]
    hex: bool,
}

impl StyleArgs {
    pub fn style(&self) -> Style {
        Style { verbose: self.verbose, hex: self.hex, ..Style::default() }
    }
}

/// The driver whose tables are used.
#[derive(Debug, clap::Args)]
pub struct DriverArgs {
    /// Decode by the tables of this driver version, such as 580.159.04
    #[arg(long, value_name = "VERSION")]
    pub driver: Option<String>,
}

impl Decode {
    pub fn run(self) -> Result<()> {
        let run = formats::read_file(&self.file).map_err(own)?;
        let decoder = Decoder::new(self.driver.driver.as_deref(), &run).map_err(own)?;
        say(&decoder.description());
        let threads = run.calls.iter().any(|call| (call.pid, call.tid) != (0, 0));
        let mut text = Text::new(&decoder, Style { threads, parents: true, ..self.style.style() });
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut write = || {
            if self.json.json {
                cutap_kernel::json::write_head(&run.head, &mut out)?;
            }
            for call in &run.calls {
                match self.json.json {
                    true => writeln!(out, "{}", show::json::line(call, &decoder))?,
                    false => out.write_all(text.line(call).as_bytes())?,
                }
            }
            out.flush()
        };
        written(write())?;
        for line in footer(&run).lines() {
            say(line);
        }
        Ok(())
    }
}
