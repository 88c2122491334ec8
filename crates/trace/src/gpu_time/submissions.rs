//! Calls of the driver that submitted work, thread by thread.

use crate::event::{Call, Exit, Layer};
use cutap_calls::generated::gpu_time::DRIVER_FUNCTIONS;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A call that submitted work.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Which of the calls of its ring it is.
    pub number: u32,
    /// CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// See `start_ns`.
    pub end_ns: u64,
    /// Its place in the list of functions that submit work.
    pub function: usize,
    /// The blocks of its launch, if that is a plain one.
    pub grid: Option<[u32; 3]>,
    /// The calls around it, of the same ring, the outermost first.
    pub outer_calls: Vec<u32>,
}

/// Open calls of a thread.
#[derive(Debug, Default)]
struct OpenNumbers(Vec<u32>);

/// The calls of one process that submitted work, in the order of time for each thread.
#[derive(Debug, Default)]
pub struct Submissions {
    /// By thread id.
    threads: HashMap<u32, Vec<Submission>>,
    open: HashMap<u32, OpenNumbers>,
}

/// The place of a driver function among those that submit work.
fn submitting_function(call: &Call) -> Option<usize> {
    static PLACES: LazyLock<HashMap<&str, usize>> =
        LazyLock::new(|| DRIVER_FUNCTIONS.iter().enumerate().map(|(n, function)| (function.name, n)).collect());
    let is_driver = call.function.layer == Layer::DRIVER;
    PLACES.get(&*call.function.name).copied().filter(|_| is_driver)
}

impl Submissions {
    /// A call begins.
    pub fn enter(&mut self, call: &Call) {
        if !call.function.entry_only {
            self.open.entry(call.thread.tid).or_default().0.push(call.number);
        }
    }

    /// A call has ended.
    pub fn exit(&mut self, exit: &Exit) {
        let call = &exit.call;
        let open = self.open.entry(call.thread.tid).or_default();
        if let Some(place) = open.0.iter().rposition(|number| *number == call.number) {
            open.0.truncate(place);
        }
        let Some(function) = submitting_function(call) else { return };
        let outer_calls = open.0.clone();
        let submission = Submission {
            number: call.number,
            start_ns: call.start_ns,
            end_ns: exit.end_ns,
            function,
            grid: grid(call),
            outer_calls,
        };
        self.threads.entry(call.thread.tid).or_default().push(submission);
    }

    /// To be called when all calls were taken.
    pub fn sort(&mut self) {
        self.threads.values_mut().for_each(|calls| calls.sort_by_key(|call| call.start_ns));
    }

    /// Those of a thread, by their beginnings.
    pub fn of_thread(&self, tid: u32) -> &[Submission] {
        self.threads.get(&tid).map_or(&[], Vec::as_slice)
    }
}

/// The blocks of `cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, ...)`.
fn grid(call: &Call) -> Option<[u32; 3]> {
    let is_plain =
        call.function.name.starts_with("cuLaunchKernel") && !call.function.name.starts_with("cuLaunchKernelEx");
    let [_, x, y, z, ..] = call.args.words() else { return None };
    is_plain.then_some([*x as u32, *y as u32, *z as u32])
}
