//! A call of the layer `syscall` as a line of a trace of all layers, and its request as a field of JSON and exports.

use super::convert::kernel_call;
use cutap_kernel::decode::Decoder;
use cutap_kernel::show::json::tree;
use cutap_kernel::show::text::{Style, Text};
use cutap_kernel::{Action, Head, KernelCall, Run};
use cutap_trace::{Exit, Layer};
use serde_json::Value;

/// What the call asked and got, without its time and thread. None where it belongs to another layer.
pub fn kernel_line(exit: &Exit, decoder: &mut Option<Decoder>) -> Option<String> {
    let call = kernel_call(exit, 0)?;
    if decoder.is_none() {
        *decoder = recorded(exit);
    }
    let plain = KernelCall { time_ns: None, duration_ns: None, stack: Vec::new(), ..call };
    let line = Text::new(Style::default()).line(&plain, decoder.as_ref()?);
    Some(line.trim_end().to_owned())
}

/// The decoded request of an ioctl. None for all other calls.
pub fn request_json(exit: &Exit) -> Option<Value> {
    ioctl(exit).and_then(|call| Some(tree(&recorded(exit)?.decode_call(&call)?)))
}

/// The line of an ioctl. None for all other calls.
pub fn request_line(exit: &Exit) -> Option<String> {
    ioctl(exit).and_then(|_| kernel_line(exit, &mut None))
}

fn ioctl(exit: &Exit) -> Option<KernelCall> {
    if exit.call.function.layer != Layer::SYSCALL {
        return None;
    }
    kernel_call(exit, 0).filter(|call| matches!(call.action, Action::Ioctl(_)))
}

/// The decoder for the driver of the call's process.
fn recorded(exit: &Exit) -> Option<Decoder> {
    let head = Head { driver: exit.call.pieces().driver, ..Head::default() };
    Decoder::new(None, &Run { head, ..Run::default() }).ok()
}
