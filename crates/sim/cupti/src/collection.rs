//! What is collected: which kinds are enabled, and the records that no buffer holds yet. Submissions are counted here,
//! which gives the correlation ids.

use crate::records::{self, Times};
use crate::settings::settings;
use cutap_calls::generated::gpu_time::{kind, thread_id};
use cutap_machine::{PROFILER_SYMBOL, PerProcess, Profiler, SubmittedCall, SubmittedWork};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{CStr, CString};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More records than this are dropped and counted.
const MOST_RECORDS: usize = 1 << 20;
/// Invented nanoseconds of work that is no node of a graph, and of a node.
const WORK_TIME: u64 = 24;
const NODE_TIME: u64 = 3;
/// Each record of work with such a number is the subject of a planted fault.
const FAULTY: u64 = 100;
const LOST: u64 = 1000;
/// Nanoseconds by which planted times are wrong.
const WRONG_BY: i64 = 1_000_000_000;

#[derive(Default)]
pub struct Collection {
    pub kinds: BTreeSet<u32>,
    /// Callback ids of driver functions.
    pub functions: BTreeSet<u32>,
    /// Which id of a thread records have.
    pub thread_ids: u32,
    pub attributes: BTreeMap<u32, Vec<u8>>,
    pub dropped: u64,
    records: VecDeque<Vec<u8>>,
    /// Records that were there at the last flush.
    count_at_flush: usize,
    submissions: u32,
    /// Records of work that were made, for the planted faults.
    work_count: u64,
    last_time: u64,
    /// The end of the last work of each stream.
    stream_ends: BTreeMap<u32, u64>,
    /// Names of kernels. They are never freed, because records have their addresses.
    names: BTreeMap<CString, u64>,
}

/// A forked child has a collection of its parent no more: it cannot use the driver.
static COLLECTION: PerProcess<Mutex<Collection>> = PerProcess::empty();

pub fn collection() -> MutexGuard<'static, Collection> {
    COLLECTION.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// CUPTI's clock: nanoseconds of CLOCK_REALTIME.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the time is there.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Asks the driver to report submissions. Without the simulated driver there are none.
pub fn listen() {
    // SAFETY: the driver is loaded while its symbol is used, and by its name the symbol is a Profiler. The driver is
    // never unloaded after that, because it is not closed here.
    unsafe {
        let driver = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if let Some(driver) = std::ptr::NonNull::new(driver)
            && let Some(profiler) = libc::dlsym(driver.as_ptr(), PROFILER_SYMBOL.as_ptr()).cast::<Profiler>().as_ref()
        {
            profiler.register(on_submission);
        }
    }
}

extern "C" fn on_submission(call: &SubmittedCall) {
    // SAFETY: the driver gives so many works, for the time of this call.
    let works = unsafe { if call.count == 0 { &[] } else { std::slice::from_raw_parts(call.works, call.count) } };
    collection().submit(call.function, works, now());
}

impl Collection {
    fn submit(&mut self, function: u32, works: &[SubmittedWork], now: u64) {
        let version = settings().version;
        self.submissions = self.submissions.wrapping_add(1);
        let correlation = self.submissions;
        let begin = now.max(self.last_time + 1);
        self.last_time = begin;
        for work in works {
            let times = self.times(work, begin);
            if self.kinds.contains(&records::kind_of(work)) {
                let name = self.name(work);
                self.add_work(|faulty| {
                    records::of_work(version, work, name, correlation, if faulty { [0, 0] } else { times })
                });
            }
        }
        if self.kinds.contains(&kind::DRIVER_CALL) || self.functions.contains(&function) {
            let thread = self.thread();
            let record = records::of_driver_call(version, function, thread, correlation, [begin, begin + 1]);
            self.add(self.records.len(), record);
        }
    }

    fn thread(&self) -> u32 {
        // SAFETY: plain calls without arguments.
        unsafe {
            if self.thread_ids == thread_id::SYSTEM {
                libc::syscall(libc::SYS_gettid) as u32
            } else {
                libc::pthread_self() as u32
            }
        }
    }

    /// Work begins when it was submitted, but not before the end of the work before it.
    fn times(&mut self, work: &SubmittedWork, begin: u64) -> Times {
        let end_of_last = self.stream_ends.entry(work.stream).or_default();
        let start = begin.max(*end_of_last + 1);
        let end = start + if work.graph == 0 { WORK_TIME } else { NODE_TIME };
        *end_of_last = end;
        [start, end]
    }

    /// The address of the kernel's name.
    fn name(&mut self, work: &SubmittedWork) -> u64 {
        if work.name.is_null() {
            return 0;
        }
        // SAFETY: not NULL, so it is a text that lives as long as the call.
        let name = unsafe { CStr::from_ptr(work.name) };
        if let Some(address) = self.names.get(name) {
            return *address;
        }
        let name_text: &'static CStr = Box::leak(name.to_owned().into_boxed_c_str());
        self.names.insert(name.to_owned(), name_text.as_ptr() as u64);
        name_text.as_ptr() as u64
    }

    /// Adds a record of work. The argument of `make` says whether its times are planted as 0.
    fn add_work(&mut self, make: impl FnOnce(bool) -> Vec<u8>) {
        let faults = &settings().faults;
        self.work_count += 1;
        let is_each = |n: u64| self.work_count.is_multiple_of(n);
        if faults.lost && is_each(LOST) {
            return;
        }
        let is_faulty = is_each(FAULTY);
        let mut record = make(faults.zero && is_faulty);
        let is_work = |record: &Vec<u8>| !record.starts_with(&kind::DRIVER_CALL.to_le_bytes());
        let last_work = if is_faulty { self.records.iter().rposition(is_work) } else { None };
        if faults.mixed
            && let Some(other) = last_work.and_then(|place| self.records.get_mut(place))
        {
            records::exchange_ids(&mut record, other);
        }
        if is_faulty && faults.early {
            records::move_times(&mut record, -WRONG_BY, 0);
        }
        if is_faulty && faults.overdue {
            records::move_times(&mut record, 0, WRONG_BY);
        }
        let place = last_work.filter(|_| faults.swapped);
        self.add(place.unwrap_or(self.records.len()), record);
    }

    fn add(&mut self, place: usize, record: Vec<u8>) {
        if self.records.len() >= MOST_RECORDS {
            self.dropped += 1;
        } else {
            self.records.insert(place, record);
        }
    }

    /// Takes out the records that a flush hands out.
    pub fn take(&mut self, forced: bool) -> VecDeque<Vec<u8>> {
        let is_late = settings().faults.late && !forced;
        let count = if is_late { self.count_at_flush } else { self.records.len() };
        let rest = self.records.split_off(count.min(self.records.len()));
        self.count_at_flush = rest.len();
        std::mem::replace(&mut self.records, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_calls::generated::gpu_time::{function, kernel};

    #[test]
    fn ids_count_submissions_and_times_follow_the_stream() {
        let mut all = Collection { kinds: BTreeSet::from([kind::KERNEL]), ..Collection::default() };
        let work = |stream, graph| SubmittedWork { stream, graph, name: c"k".as_ptr(), ..SubmittedWork::default() };
        all.submit(function::cuLaunchKernel, &[work(1, 0)], 1000);
        all.submit(function::cuLaunchKernel, &[work(2, 0)], 1000);
        all.submit(function::cuGraphLaunch, &[work(1, 5), work(1, 5)], 1002);
        let fields = [kernel::CORRELATION, kernel::STREAM, kernel::START, kernel::END, kernel::GRAPH];
        let rows: Vec<_> = all.take(false).iter().map(|record| fields.map(|field| field.get(record))).collect();
        assert_eq!(rows, [[1, 1, 1000, 1024, 0], [2, 2, 1001, 1025, 0], [3, 1, 1025, 1028, 5], [3, 1, 1029, 1032, 5]]);
        assert_eq!((all.names.len(), all.take(true).len()), (1, 0));
    }

    #[test]
    fn driver_calls_are_written_for_enabled_functions() {
        let mut all = Collection { functions: BTreeSet::from([function::cuLaunchKernel]), ..Collection::default() };
        all.submit(function::cuLaunchKernel, &[SubmittedWork::default()], 10);
        all.submit(function::cuGraphLaunch, &[SubmittedWork::default()], 10);
        assert_eq!(all.take(false).len(), 1);
    }
}
