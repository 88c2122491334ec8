//! A call of the layer `kernel` as a line of a trace of all layers.

use super::convert::kernel_call;
use cutap_kernel::decode::Decoder;
use cutap_kernel::show::text::{Style, Text};
use cutap_kernel::{Head, Run};
use cutap_trace::Exit;

/// What the call asked and got, without its time and thread. None where it belongs to another layer.
pub fn kernel_line(exit: &Exit, decoder: &mut Option<Decoder>) -> Option<String> {
    let call = kernel_call(exit, 0)?;
    if decoder.is_none() {
        let head = Head { driver: exit.call.pieces().driver, ..Head::default() };
        *decoder = Decoder::new(None, &Run { head, ..Run::default() }).ok();
    }
    let plain = cutap_kernel::KernelCall { time_ns: None, duration_ns: None, stack: Vec::new(), ..call };
    let line = Text::new(decoder.as_ref()?, Style::default()).line(&plain);
    Some(line.trim_end().to_owned())
}
