//! Sums of calls by function and by kernel, for the tables `functions` and `kernels`.

use super::groups::{CallSums, GroupKey};
use crate::call::call_bytes::copies;
use crate::call::columns::CallView;
use foldhash::{HashMap, HashMapExt};
use std::sync::Arc;

/// A row of one of the tables.
type Sums = (GroupKey, CallSums);

#[derive(Debug)]
struct OfFunction {
    sums: Sums,
    copies: bool,
    /// By kernel: the place in `kernels`. A name stays in memory with its row, so its address stands for it.
    kernels: HashMap<usize, usize>,
}

/// The sums.
#[derive(Debug, Default)]
pub(super) struct FunctionSums {
    /// By the function's key.
    functions: Vec<Option<OfFunction>>,
    kernels: Vec<Sums>,
}

impl FunctionSums {
    /// Adds a call: whether its function copies memory.
    pub fn add(&mut self, view: CallView<'_>, self_ns: Option<u64>) -> bool {
        let call = view.call;
        let key = |kernel: Option<&Arc<str>>| GroupKey {
            pid: call.thread.process.pid,
            process: call.thread.process.key,
            layer: call.function.layer.name(),
            library: call.function.library.clone(),
            function: call.function.name.clone(),
            kernel: kernel.cloned(),
        };
        let place = call.function.key as usize;
        if place >= self.functions.len() {
            self.functions.resize_with(place + 1, || None);
        }
        let of = self.functions[place].get_or_insert_with(|| OfFunction {
            sums: (key(None), CallSums::default()),
            copies: copies(&call.function.name),
            kernels: HashMap::new(),
        });
        of.sums.1.add(view, self_ns);
        if let Some(kernel) = view.kernel() {
            let kernels = &mut self.kernels;
            let row = *of.kernels.entry(kernel.as_ptr() as usize).or_insert_with(|| {
                kernels.push((key(Some(kernel)), CallSums::default()));
                kernels.len() - 1
            });
            self.kernels[row].1.add(view, self_ns);
        }
        of.copies
    }

    /// The rows of functions and of kernels, in their order. Equal names may have lain in two places.
    pub fn into_groups(self) -> (Vec<Sums>, Vec<Sums>) {
        let mut functions: Vec<Sums> = self.functions.into_iter().flatten().map(|of| of.sums).collect();
        functions.sort_by(|a, b| a.0.cmp(&b.0));
        let mut kernels = self.kernels;
        kernels.sort_by(|a, b| a.0.cmp(&b.0));
        kernels.dedup_by(|next, row| {
            let is_same = next.0 == row.0;
            if is_same {
                row.1.join(&next.1);
            }
            is_same
        });
        (functions, kernels)
    }
}

impl CallSums {
    fn add(&mut self, view: CallView<'_>, self_ns: Option<u64>) {
        let Some(exit) = view.exit else { return self.calls += 1 };
        self.calls += u64::from(!exit.late);
        self.errors += u64::from(exit.is_error());
        if let Some(gpu) = exit.gpu {
            self.gpu_ns = self.gpu_ns.saturating_add(gpu.ns);
            self.gpu_rows += gpu.rows;
        }
        match exit.duration_ns {
            Some(took) => {
                self.total_ns = self.total_ns.saturating_add(took);
                self.self_ns = self.self_ns.saturating_add(self_ns.unwrap_or(0));
                self.least_ns = Some(self.least_ns.map_or(took, |least| least.min(took)));
                self.most_ns = self.most_ns.max(took);
                self.without_return = self.without_return.saturating_sub(u64::from(exit.late));
            }
            None => self.without_return += 1,
        }
    }

    /// Adds those of other calls.
    fn join(&mut self, other: &CallSums) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.without_return += other.without_return;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.least_ns = self.least_ns.into_iter().chain(other.least_ns).min();
        self.most_ns = self.most_ns.max(other.most_ns);
        self.gpu_ns = self.gpu_ns.saturating_add(other.gpu_ns);
        self.gpu_rows += other.gpu_rows;
    }
}
