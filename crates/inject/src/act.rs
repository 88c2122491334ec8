//! What rules do with a call.

use crate::conditions::{argument, is_fulfilled};
use crate::table::{File, file};
use crate::wait::{delay, sleep, with_errno};
use crate::{context, faults, functions, sites};
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering::*};
use cutap_hook::contract::{Call, DRIVER, Function, Host, OK};
use cutap_hook::own::{CallSite, MODULE, OwnHost};
use cutap_wire::injected::{Armed, Counter, ROWS, Row, action, class, text};

static HOST: AtomicPtr<OwnHost> = AtomicPtr::new(core::ptr::null_mut());

/// In a call's word: the rows that act on it, one bit each, and above them the lowest bits of their generation.
const BITS: u32 = ROWS as u32;
const _: () = assert!(ROWS <= 48);
/// Times that rules are read again because they were replaced meanwhile.
const TRIES: usize = 4;

/// Keeps what cutap gives.
pub fn set_host(host: &'static OwnHost) {
    HOST.store(core::ptr::from_ref(host).cast_mut(), Release);
}

fn host() -> Option<&'static OwnHost> {
    // SAFETY: null, or cutap's host, which stays.
    unsafe { HOST.load(Acquire).as_ref() }
}

/// A call, and what is known of it.
struct Acted {
    host: &'static OwnHost,
    file: File,
    call: *mut Call,
    function: &'static Function,
    class: u64,
}

impl Acted {
    /// None: another pattern has the calls of this function.
    ///
    /// # Safety
    /// A call of a function that the pattern in `user` is of.
    unsafe fn new(call: *mut Call) -> Option<Acted> {
        let (host, file) = (host()?, file()?);
        // SAFETY: the caller's promise: the pattern is of the mapped file, which stays, and so does the function.
        let (armed, function) = unsafe { ((*call).user.cast::<Armed>().as_ref()?, (*call).function.as_ref()?) };
        let class = functions::class_of(&file, function, armed)?;
        Some(Acted { host, file, call, function, class })
    }

    fn contract(&self) -> &'static Host {
        &self.host.host
    }

    fn has(&self, bit: u64) -> bool {
        self.class & bit != 0
    }

    fn site(&self) -> Option<CallSite> {
        let mut site = CallSite { module: [0; MODULE], offset: 0, is_nested: 0, reserved: 0 };
        // SAFETY: the host's function with its own call.
        (unsafe { (self.host.site)(self.call, &mut site) } == OK).then_some(site)
    }

    fn answer(&self, result: u64) -> c_int {
        // SAFETY: the host's function with its own call.
        unsafe { (self.contract().answer)(self.call, result) }
    }

    /// The record says which rule made the fault that this call reports.
    fn note_fault(&self, context: usize) {
        // SAFETY: the host's function with its own call, and no text.
        unsafe { (self.host.rule)(self.call, faults::rule(context), core::ptr::null(), 0) };
    }

    /// Whether a row is of this call, whatever its number.
    fn fits(&self, row: &Row) -> bool {
        if row.actions & action::STATUS_ONLY != 0 && !self.has(class::STATUS) {
            return false;
        }
        if row.actions & action::SITE != 0 {
            let is_there = |site: CallSite| site.offset == row.offset && text(&site.module) == text(&row.module);
            if !self.site().is_some_and(is_there) {
                return false;
            }
        }
        // SAFETY: the host's own call.
        row.conditions.iter().all(|condition| unsafe { is_fulfilled(self.contract(), self.call, condition) })
    }

    /// What a row does before the call. True: the call is answered.
    fn act_before(&self, row: &Row, counter: &Counter, generation: u64, n: usize) -> bool {
        let text = self.file.text(generation, n);
        // SAFETY: the host's function with its own call, and a text of the mapped file.
        unsafe { (self.host.rule)(self.call, row.counter, text.as_ptr().cast(), text.len()) };
        let by_bytes = self.delay_by_bytes(row);
        with_errno(|| {
            if row.delay_enter > 0 {
                delay(&self.file, generation, row.delay_enter);
            }
            if by_bytes > 0 && row.actions & action::BYTES_AFTER == 0 {
                sleep(by_bytes);
            }
            if row.signal != 0 {
                // SAFETY: a signal for this thread, as the user asked for.
                unsafe { libc::raise(row.signal as c_int) };
            }
        });
        if row.actions & action::SET != 0 {
            // SAFETY: the host's functions with its own call.
            let refused = unsafe {
                let index = (self.contract().index)(self.function, row.changed.as_ptr().cast());
                (self.contract().write)(self.call, index, (&raw const row.value).cast(), size_of::<u64>())
            };
            count_refusal(counter, refused);
        }
        if !self.is_answered_by(row) {
            return false;
        }
        let answered = self.answer(row.result);
        count_refusal(counter, answered);
        if answered != OK {
            return false;
        }
        self.put_fault(row, counter, true);
        self.delay_after(row, generation);
        true
    }

    /// The call is not made. A fault comes from work, which an asynchronous call starts.
    fn is_answered_by(&self, row: &Row) -> bool {
        row.actions & (action::RESULT | action::AFTER) == action::RESULT && !self.is_later_fault(row)
    }

    fn is_later_fault(&self, row: &Row) -> bool {
        row.actions & action::FAULT != 0 && self.has(class::ASYNCHRONOUS)
    }

    fn put_fault(&self, row: &Row, counter: &Counter, is_reported: bool) {
        if row.actions & action::FAULT != 0 {
            let current = context::current(self.contract(), &self.file);
            let device = context::device(self.contract(), &self.file);
            let is_put = faults::put((current, device), row.counter, row.result as u32, is_reported);
            // Before the first context there is nothing that could stay.
            count_refusal(counter, if is_put || current == 0 && is_reported { OK } else { -1 });
        }
    }

    fn delay_by_bytes(&self, row: &Row) -> u64 {
        if row.bytes_a_second == 0 {
            return 0;
        }
        // SAFETY: the host's own call.
        let bytes = unsafe { argument(self.contract(), self.call, row.delaying.as_ptr().cast()) }.unwrap_or(0).max(0);
        let nanoseconds = (bytes as u128 * 1_000_000_000) / u128::from(row.bytes_a_second);
        u64::try_from(nanoseconds).unwrap_or(u64::MAX - 1)
    }

    fn delay_after(&self, row: &Row, generation: u64) {
        let by_bytes = if row.actions & action::BYTES_AFTER != 0 { self.delay_by_bytes(row) } else { 0 };
        with_errno(|| {
            if row.delay_exit > 0 {
                delay(&self.file, generation, row.delay_exit);
            }
            if by_bytes > 0 {
                sleep(by_bytes);
            }
        });
    }

    /// What a row does after a call that was made.
    fn act_after(&self, row: &Row, counter: &Counter, generation: u64) {
        self.delay_after(row, generation);
        if row.actions & action::RESULT == 0 {
            return;
        }
        if self.is_later_fault(row) {
            self.put_fault(row, counter, false);
        } else if row.actions & action::AFTER != 0 {
            // SAFETY: the host's function with its own call.
            count_refusal(counter, unsafe { (self.contract().set_result)(self.call, row.result) });
            self.put_fault(row, counter, true);
        }
    }
}

fn count_refusal(counter: &Counter, answer: c_int) {
    if answer != OK {
        counter.refused.fetch_add(1, Relaxed);
    }
}

/// What cutap calls before a call.
///
/// # Safety
/// A call of a function that the pattern in `user` is of.
pub unsafe extern "C" fn before(call: *mut Call) {
    // SAFETY: the caller's promise.
    let Some(acted) = (unsafe { Acted::new(call) }) else { return };
    if !acted.file.sites().is_empty()
        && acted.has(class::STATUS)
        && let Some(site) = acted.site().filter(|site| site.is_nested == 0)
    {
        sites::count(&acted.file, &site, functions::name(acted.function), acted.function.layer);
    }
    if faults::any() && acted.has(class::FAILS_AFTER_FAULT) {
        let current = context::current(acted.contract(), &acted.file);
        let error = faults::reported(current);
        if error != 0 {
            acted.note_fault(current);
            acted.answer(error.into());
            return;
        }
    }
    for _ in 0..TRIES {
        let generation = acted.file.generation();
        if let Some(rows) = act_on(&acted, generation) {
            // SAFETY: the host's own call.
            unsafe { (*call).user_data = rows };
            return;
        }
    }
}

/// Lets all rules of a generation act. None: they were replaced before one did.
fn act_on(acted: &Acted, generation: u64) -> Option<u64> {
    let (mut rows, mut ruled, mut has_acted, mut has_result) = (0_u64, None, false, false);
    for n in 0..acted.file.count(generation) {
        let (name, layers) = acted.file.name(generation, n);
        if layers & acted.function.layer == 0 || !functions::is_meant(name, functions::name(acted.function)) {
            continue;
        }
        let Some(row) = acted.file.row(generation, n) else {
            // What has been done stays; the others are no rules any more.
            return if has_acted { Some(rows | generation << BITS) } else { None };
        };
        // Another name of a rule that has seen this call.
        if ruled == Some(row.counter) || !acted.fits(&row) {
            continue;
        }
        ruled = Some(row.counter);
        let Some(counter) = acted.file.counter(&row) else { continue };
        let number = counter.matched.fetch_add(1, Relaxed) + 1;
        has_acted = true;
        let gives_result = row.actions & action::RESULT != 0;
        // Of several results the first one counts.
        if !row.is_meant(number) || !row.has_chance(acted.file.seed(), number) || gives_result && has_result {
            continue;
        }
        has_result |= gives_result;
        counter.acted.fetch_add(1, Relaxed);
        if acted.act_before(&row, counter, generation, n) {
            break;
        }
        rows |= 1 << n;
    }
    Some(if rows == 0 { 0 } else { rows | generation << BITS })
}

/// What cutap calls after a call.
///
/// # Safety
/// As `before`.
pub unsafe extern "C" fn after(call: *mut Call) {
    // SAFETY: as above.
    let rows = unsafe { (*call).user_data };
    if rows == 0 && !faults::any() {
        return;
    }
    // SAFETY: as above.
    let Some(acted) = (unsafe { Acted::new(call) }) else { return };
    if rows != 0 {
        let now = acted.file.generation();
        // The newest generation with these lowest bits: rules are never replaced so often in one call.
        let age = now.wrapping_sub(rows >> BITS) & (u64::MAX >> BITS);
        let generation = now.wrapping_sub(age);
        for n in (0..ROWS).filter(|n| rows >> n & 1 == 1) {
            let Some(row) = acted.file.row(generation, n) else { break };
            let Some(counter) = acted.file.counter(&row) else { continue };
            acted.act_after(&row, counter, generation);
        }
    }
    if faults::any() {
        with_faults(&acted);
    }
}

/// A call that reports errors of earlier work, or that ends a context with a fault.
fn with_faults(acted: &Acted) {
    // SAFETY: the host's functions with its own call.
    let (result, word) = unsafe {
        let mut word = 0_u64;
        let has_word = (acted.contract().raw_arg)(acted.call, 0, &mut word) == OK;
        ((acted.contract().result)(acted.call) as u32, has_word.then_some(word))
    };
    if acted.has(class::RESETS) && acted.function.layer == DRIVER && result == 0 {
        match (word, acted.has(class::ENDS_CONTEXT)) {
            (Some(context), true) => faults::end(Some(context as usize), None),
            (Some(device), false) => faults::end(None, Some(device as i32)),
            (None, _) => {}
        }
        return;
    }
    if acted.has(class::REPORTS) && acted.function.layer == DRIVER {
        let current = context::current(acted.contract(), &acted.file);
        if faults::is_pending(current) {
            let error = faults::report(current);
            acted.note_fault(current);
            // SAFETY: as above.
            unsafe { (acted.contract().set_result)(acted.call, error.into()) };
        }
    }
}
