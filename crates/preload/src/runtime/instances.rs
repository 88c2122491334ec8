//! The copies of the runtime's callback table a094798c: one for each runtime instance, with our flags
//! and our function in it (`callbacks`). The rest of the table stays the driver's, and so does the count
//! of flags, which takes part in an old runtime's keyed check.

pub use super::function::Function;
use crate::loader::announce;
use crate::loader::objects::Object;
use crate::process::{armed, own, page, run, switch};
use crate::slots::code::{CALLBACK_BYTES, code};
use crate::slots::hooks;
use crate::sys::{self, Opened, Table};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering::*};
use cutap_calls::Layer;
use cutap_wire::diagnostic;
use cutap_wire::flags::{ALWAYS, ARMED, CALLBACKS, FOLLOWS, INSTANCE_BYTES, INSTANCES, NEVER, QUIET};

const TABLE_WORDS: usize = 16;

/// One copy of the runtime.
pub struct Instance {
    /// Number of the load it lives in; 0: free.
    pub object: AtomicU32,
    /// Where its code lies.
    text: (AtomicUsize, AtomicUsize),
    table: [AtomicUsize; TABLE_WORDS],
    /// The driver's own table.
    pub driver: AtomicUsize,
    /// The driver's own flags: a profiler switches them.
    pub driver_flags: AtomicPtr<u32>,
    /// Number of the driver's flags.
    pub count: AtomicUsize,
    /// Ours, in a file of the process folder: a function whose flag is 0 does not call us. Null: `own` is in use.
    shared: AtomicPtr<u8>,
    /// The same, where there is no such file; nobody outside can switch them.
    own: ([AtomicU32; CALLBACKS], [AtomicU8; CALLBACKS]),
    /// It is linked into something, so no binding leads to its functions.
    pub linked: AtomicBool,
    /// By callback id.
    pub functions: [Function; CALLBACKS],
    /// 0 unknown, 1 being asked, 2 known.
    pub introduced: AtomicU32,
    /// As CUDA writes it, 12090; 0 while it is not known.
    pub version: AtomicU32,
    /// Its own list of names.
    pub list: AtomicPtr<ListedName>,
    /// Length of that list.
    pub listed: AtomicU32,
    /// Where it asks for a kernel's function only because we watch, as far as `own_calls` has found out: return
    /// addresses.
    pub self_induced_callers: [AtomicUsize; 4],
}

impl Instance {
    /// True when `address` lies in its code.
    pub fn contains_code(&self, address: usize) -> bool {
        address >= self.text.0.load(Relaxed) && address < self.text.1.load(Relaxed)
    }
    /// Where its code begins, and its length.
    pub fn text(&self) -> (usize, usize) {
        let first = self.text.0.load(Relaxed);
        (first, self.text.1.load(Relaxed).wrapping_sub(first))
    }
    fn flags(&self) -> *const AtomicU32 {
        let shared = self.shared.load(Relaxed);
        if shared.is_null() { self.own.0.as_ptr() } else { shared.cast() }
    }
    /// A function's flag, and whether it may be on.
    #[inline(always)]
    fn flag(&self, id: usize) -> Option<(&AtomicU32, &AtomicU8)> {
        let shared = self.shared.load(Relaxed);
        if shared.is_null() {
            return Some((self.own.0.get(id)?, self.own.1.get(id)?));
        }
        // SAFETY: the mapping has room for all callbacks.
        (id < CALLBACKS)
            .then(|| unsafe { (&*shared.cast::<AtomicU32>().add(id), &*shared.add(ARMED + id).cast::<AtomicU8>()) })
    }
    /// Where it is said whether the runtime reports a function.
    pub fn flag_at(&self, id: usize) -> usize {
        self.flag(id).map_or(0, |f| core::ptr::from_ref(f.0) as usize)
    }
    /// True when the runtime reports a function now.
    #[inline(always)]
    pub fn is_on(&self, id: usize) -> bool {
        self.flag(id).is_some_and(|f| f.0.load(Relaxed) != 0)
    }
    /// Says whether a function is reported: one of `wire::flags`.
    pub fn arm(&self, id: usize, armed: u8) {
        let Some(flag) = self.flag(id) else { return };
        flag.1.store(armed, Relaxed);
        flag.0.store((armed == ALWAYS || armed == FOLLOWS && switch::listening()).into(), Relaxed);
    }
    /// Nobody wants a function.
    pub fn forget(&self, id: usize) {
        if self.flag(id).is_some_and(|f| f.1.load(Relaxed) != ALWAYS) {
            self.arm(id, NEVER);
        }
    }
    /// A function need not be reported, unless somebody else listens.
    pub fn stop_reports(&self, id: usize) {
        if self.flag(id).is_some_and(|f| matches!(f.1.load(Relaxed), FOLLOWS | QUIET)) {
            self.arm(id, QUIET);
        }
    }
    /// It is reported again.
    pub fn resume_reports(&self, id: usize) {
        if self.flag(id).is_some_and(|f| f.1.load(Relaxed) == QUIET) {
            self.arm(id, FOLLOWS);
        }
    }
    /// Whether a function is wanted is found out at its next call.
    pub fn ask_again_of(&self, id: usize) {
        if let Some(f) = self.functions.get(id) {
            f.set_slot(0);
        }
        if self.flag(id).is_some_and(|f| f.1.load(Relaxed) == NEVER) {
            self.arm(id, FOLLOWS);
        }
    }
    /// All flags as recording is now.
    fn follow(&self) {
        for id in 0..CALLBACKS {
            if let Some(flag) = self.flag(id) {
                self.arm(id, flag.1.load(Relaxed));
            }
        }
    }
    /// Puts the flags where somebody outside can switch them.
    fn share(&self, n: usize) -> Option<()> {
        self.shared.store(own::flags(n)?, Relaxed);
        Some(())
    }
    /// The flags of a forked child are its own, at the place that the runtime knows.
    fn share_anew(&self, n: usize) -> Option<()> {
        let shared = self.shared.load(Relaxed);
        if shared.is_null() {
            return None;
        }
        let own = own::flags(n)?;
        // SAFETY: both are mappings of so many bytes; the parent's stays where the parent has it.
        unsafe {
            core::ptr::copy_nonoverlapping(shared, own, INSTANCE_BYTES);
            sys::move_over(own, shared, INSTANCE_BYTES);
        }
        self.follow();
        Some(())
    }
}

/// Entry of table ff5530a2.
#[repr(C)]
pub struct ListedName {
    /// The function's name.
    pub name: *const u8,
    _zero: u64,
    _since: u64,
}

/// The instances, in the order in which they asked.
#[unsafe(link_section = ".bss.cutap_tables")]
pub static ALL: Table<Instance, INSTANCES> = Table(
    [const {
        Instance {
            object: AtomicU32::new(0),
            text: (AtomicUsize::new(0), AtomicUsize::new(0)),
            table: [const { AtomicUsize::new(0) }; TABLE_WORDS],
            driver: AtomicUsize::new(0),
            driver_flags: AtomicPtr::new(core::ptr::null_mut()),
            count: AtomicUsize::new(0),
            shared: AtomicPtr::new(core::ptr::null_mut()),
            own: ([const { AtomicU32::new(0) }; CALLBACKS], [const { AtomicU8::new(0) }; CALLBACKS]),
            linked: AtomicBool::new(false),
            functions: [const { Function::new() }; CALLBACKS],
            version: AtomicU32::new(0),
            introduced: AtomicU32::new(0),
            list: AtomicPtr::new(core::ptr::null_mut()),
            listed: AtomicU32::new(0),
            self_induced_callers: [const { AtomicUsize::new(0) }; 4],
        }
    }; INSTANCES],
);
static OPENED: Opened = Opened::all();

/// At start: there is no instance.
pub fn close() {
    OPENED.close(&ALL);
}

/// The instance in whose code `address` lies. Most that ask do so of the same one again.
pub fn containing(address: usize) -> Option<&'static Instance> {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    if let Some(i) = ALL.get(LAST.load(Relaxed)).filter(|i| i.contains_code(address)) {
        return Some(i);
    }
    let n = ALL.iter().take_while(|i| i.object.load(Acquire) != 0).position(|i| i.contains_code(address))?;
    LAST.store(n, Relaxed);
    ALL.get(n)
}

/// A profiler asked the driver for a table.
pub static PROFILER: AtomicBool = AtomicBool::new(false);

/// Word of the table that is called at enter and exit.
pub const ISSUE: usize = cutap_calls::slot::DELIVER_CALLBACK as usize;
const FLAGS: usize = cutap_calls::slot::CALLBACK_FLAGS as usize;

/// A profiler is here: from now on every function calls us, recorded or not, so that what it switches on later in the
/// driver's flags reaches it.
pub fn profiler_came() {
    if PROFILER.swap(true, AcqRel) {
        return;
    }
    for i in ALL.iter().take_while(|i| i.object.load(Acquire) != 0) {
        (0..CALLBACKS).for_each(|id| i.arm(id, ALWAYS));
    }
}

/// Recording was switched by this process itself.
pub fn follow() {
    ALL.iter().take_while(|i| i.object.load(Acquire) != 0).for_each(Instance::follow);
}

/// The rules have changed: each function is looked at again when it is called.
pub fn ask_again() {
    for i in ALL.iter().take_while(|i| i.object.load(Acquire) != 0) {
        (0..CALLBACKS).for_each(|id| i.ask_again_of(id));
    }
}

/// A forked child has separate switches.
pub fn share_anew() {
    for (n, i) in ALL.iter().enumerate().take_while(|i| i.1.object.load(Relaxed) != 0) {
        let _ = i.share_anew(n);
    }
}

/// A child that forked while an instance was being asked asks again.
pub fn forked() {
    for i in ALL.iter().take_while(|i| i.object.load(Relaxed) != 0) {
        let _ = i.introduced.compare_exchange(1, 0, AcqRel, Relaxed);
    }
}

/// The table for the runtime that lives in `object`; `None`: the driver's own.
pub fn table_for(object: &Object, driver: usize) -> Option<usize> {
    if !armed::holds_layer(Layer::RUNTIME.number()) && !hooked() && !asked_whether_it_starts() {
        return None;
    }
    for (n, i) in ALL.iter().enumerate() {
        let mut is = i.object.load(Acquire);
        if is == 0 {
            if !OPENED.reach(&ALL, n) {
                break;
            }
            match i.object.compare_exchange(0, object.id, AcqRel, Acquire) {
                Ok(_) => {
                    fill(n, i, object, driver)?;
                    return Some((&raw const i.table) as usize);
                }
                Err(other) => is = other,
            }
        }
        if is == object.id {
            let ready = i.table.first().is_some_and(|w| w.load(Acquire) != 0);
            return ready.then_some((&raw const i.table) as usize);
        }
    }
    page::count(diagnostic::NO_INSTANCE_LEFT, 1);
    None
}

/// True for the code of a runtime that has its table and has not made its first call yet.
pub fn starting(caller: usize) -> bool {
    let instances = ALL.iter().take_while(|i| i.object.load(Acquire) != 0);
    let mut waiting = instances.filter(|i| i.introduced.load(Acquire) != 2);
    waiting.any(|i| i.contains_code(caller))
}

/// True for the code of a runtime, or of what it is linked into.
pub fn is_around(address: usize) -> bool {
    ALL.iter().take_while(|i| i.object.load(Acquire) != 0).any(|i| i.contains_code(address))
}

/// Hooks of the driver's functions ask whether a runtime is starting, which ends with the first call that it reports.
fn asked_whether_it_starts() -> bool {
    hooks::any(cutap_hook::contract::DRIVER)
}

/// An instance has made its first call. What was reported for no other reason is not any more.
pub fn started(i: &Instance) {
    if asked_whether_it_starts() && !hooked() && !PROFILER.load(Relaxed) {
        (0..CALLBACKS).for_each(|id| i.arm(id, FOLLOWS));
    }
}

/// Hooks want runtime functions.
fn hooked() -> bool {
    hooks::any(cutap_hook::contract::RUNTIME)
}

fn fill(n: usize, i: &Instance, object: &Object, driver: usize) -> Option<()> {
    let (mut flags, mut entries) = (core::ptr::null_mut::<u32>(), 0usize);
    // SAFETY: the driver's table: its size in bytes, then functions; slot 2 is a getter.
    unsafe {
        let words = (driver as *const usize).read() / 8;
        let get = (driver as *const usize).add(FLAGS).read();
        if !(3..=TABLE_WORDS).contains(&words) || get == 0 {
            return None;
        }
        core::mem::transmute::<usize, unsafe extern "C" fn(*mut *mut u32, *mut usize)>(get)(&mut flags, &mut entries);
        if flags.is_null() || entries > CALLBACKS {
            return None;
        }
        for (k, to) in i.table.iter().enumerate().take(words).skip(1) {
            to.store((driver as *const usize).add(k).read(), Relaxed);
        }
        let code = code()?;
        let entries_at = match run::stack_bytes() {
            _ if hooked() => code.hooked_callbacks,
            0 => code.callbacks,
            _ => code.stacked_callbacks,
        };
        i.table.get(ISSUE)?.store(entries_at as usize + n * CALLBACK_BYTES, Relaxed);
        i.table.get(FLAGS)?.store(code.flags as usize + n * CALLBACK_BYTES, Relaxed);
        i.driver.store(driver, Relaxed);
        i.driver_flags.store(flags, Relaxed);
        i.count.store(entries, Relaxed);
        i.linked.store(object.layer != Layer::RUNTIME.number(), Relaxed);
        i.text.0.store(object.text.0, Relaxed);
        i.text.1.store(object.text.1, Relaxed);
        announce::announce(object);
        let _ = i.share(n);
        // A hook looks at each function when it is called.
        let always = PROFILER.load(Relaxed) || hooked() || asked_whether_it_starts();
        let armed = if always { ALWAYS } else { FOLLOWS };
        (0..CALLBACKS).for_each(|id| i.arm(id, armed));
        // Somebody may have switched in between.
        i.follow();
        i.table.first()?.store(words * 8, Release);
    }
    Some(())
}

/// Slot 2 of a copy: our flags, the driver's count, which takes part in an old runtime's check.
///
/// # Safety
/// The runtime's variables.
pub unsafe fn flags(to: *mut *const c_void, entries: *mut usize, n: u32) {
    if let Some(i) = ALL.get(n as usize) {
        // SAFETY: the caller's promise.
        unsafe {
            *to = i.flags().cast();
            *entries = i.count.load(Relaxed);
        }
    }
}
