//! Sums of functions: of the interval, and since the reader began.

use crate::snapshot::SumsRow;
use cutap_printable::printable;
use cutap_report::Label;
use cutap_trace::Call;
use foldhash::HashMap;

/// All functions. One of several processes, or of a library that was loaded twice, has one row.
#[derive(Debug, Default)]
pub struct FunctionSums {
    rows: Vec<SumsRow>,
    by_label: HashMap<Label, usize>,
    /// By the key of the function and the number of the runtime's instance.
    by_key: HashMap<(u32, Option<u64>), usize>,
}

impl FunctionSums {
    /// The number of the function that is called.
    pub fn of(&mut self, call: &Call) -> usize {
        let instance = call.instance();
        let key = (call.function.key, instance.map(|of| of.id));
        if let Some(number) = self.by_key.get(&key) {
            return *number;
        }
        let label = Label::new(&call.function, instance.map(|of| &**of));
        let number = self.by_label.get(&label).copied().unwrap_or_else(|| {
            let name = format!("{}{}", printable(&label.name), printable(&label.short_tag()));
            self.rows.push(SumsRow { name, library: library_name(&label), ..SumsRow::default() });
            self.by_label.insert(label, self.rows.len() - 1);
            self.rows.len() - 1
        });
        self.by_key.insert(key, number);
        number
    }

    /// The sums of a function.
    pub fn row(&mut self, number: usize) -> &mut SumsRow {
        &mut self.rows[number]
    }

    /// All functions that were called, in the order of their first call.
    pub fn functions(&self) -> Vec<SumsRow> {
        self.rows.iter().filter(|row| row.is_used()).cloned().collect()
    }

    /// Sums of libraries: their time is that of their functions without the calls inside.
    pub fn libraries(&self) -> Vec<SumsRow> {
        let mut rows: Vec<SumsRow> = Vec::new();
        for function in self.rows.iter().filter(|row| row.is_used()) {
            let name = function.library.clone();
            let place = rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
                rows.push(SumsRow { name, ..SumsRow::default() });
                rows.len() - 1
            });
            rows[place].add(function);
        }
        rows
    }

    /// The next interval begins.
    pub fn begin_interval(&mut self) {
        for row in &mut self.rows {
            (row.calls, row.errors, row.time_ns, row.self_ns) = (0, 0, 0, 0);
        }
    }
}

impl SumsRow {
    fn is_used(&self) -> bool {
        self.total_calls > 0 || self.time_ns > 0
    }

    fn add(&mut self, of: &SumsRow) {
        self.calls += of.calls;
        self.errors += of.errors;
        self.time_ns += of.self_ns;
        self.self_ns += of.self_ns;
        self.total_calls += of.total_calls;
        self.total_ns += of.total_ns;
    }
}

/// The library, with the version of its runtime.
fn library_name(label: &Label) -> String {
    let library = printable(&label.library);
    match &label.runtime {
        Some(version) => format!("{library} {}", printable(version)),
        None => library.into_owned(),
    }
}
