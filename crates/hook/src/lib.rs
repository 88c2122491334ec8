//! Hook libraries: what they and cutap agree on ([`contract`], `include/cutap_hook.h`), and a safe
//! wrapper for authors who write theirs in Rust.
//!
//! ```no_run
//! use cutap_hook::{Call, DRIVER, Handler, Refused, Wants, hook};
//!
//! static REFUSE: Handler = Handler::before(refuse);
//!
//! fn refuse(call: &mut Call) {
//!     if call.unsigned("bytesize") > 1 << 30 {
//!         // Every call of the driver can be answered.
//!         let _ = call.answer(2);
//!     }
//! }
//!
//! fn wants(wants: &Wants) -> Result<(), Refused> {
//!     wants.function(DRIVER, c"cuMemAlloc_v2", &REFUSE)
//! }
//! hook!(wants);
//! ```
//!
//! The functions of a hook run on the program's own threads, in the middle of its calls. A panic in one
//! ends the program.
#![no_std]
#![warn(missing_docs)]

mod call;
pub mod contract;

pub use call::{Call, Function};
pub use contract::{ALL, CAN_ANSWER, CAN_ARGUMENTS, CAN_RESULT, DRIVER, LIBRARY, RUNTIME};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicPtr, Ordering};

static HOST: AtomicPtr<contract::Host> = AtomicPtr::new(core::ptr::null_mut());

/// What cutap gave at the start.
fn host() -> Option<&'static contract::Host> {
    // SAFETY: null, or what cutap gave, which stays.
    unsafe { HOST.load(Ordering::Relaxed).as_ref() }
}

/// What is done with the calls of a function. It must be a `static`.
pub struct Handler {
    /// Before the call.
    pub before: Option<fn(&mut Call)>,
    /// After it.
    pub after: Option<fn(&mut Call)>,
    /// Once for each function, when it is met for the first time.
    pub met: Option<fn(&Function)>,
}

impl Handler {
    /// Only before.
    pub const fn before(before: fn(&mut Call)) -> Handler {
        Handler { before: Some(before), after: None, met: None }
    }
    /// Only after.
    pub const fn after(after: fn(&mut Call)) -> Handler {
        Handler { before: None, after: Some(after), met: None }
    }
    /// Before and after.
    pub const fn both(before: fn(&mut Call), after: fn(&mut Call)) -> Handler {
        Handler { before: Some(before), after: Some(after), met: None }
    }
}

/// Why something was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no such parameter, or nothing is known of the function's parameters.
    NoSuch,
    /// It cannot be done with this call: [`Function::why`]. Of a want: it has bits that are no layers, or a name or library that is
    /// empty or too long.
    Cannot,
    /// More than there is room for.
    TooMany,
    /// Only while cutap asks what is wanted.
    TooLate,
}

fn done(code: c_int) -> Result<(), Refused> {
    Err(match code {
        contract::OK => return Ok(()),
        contract::NO_SUCH => Refused::NoSuch,
        contract::TOO_MANY => Refused::TooMany,
        contract::TOO_LATE => Refused::TooLate,
        _ => Refused::Cannot,
    })
}

/// Says what is wanted. It runs before the constructors of all libraries: nothing else should be done.
pub struct Wants(());

impl Wants {
    /// Wants the calls of functions of these layers whose name matches the pattern. A plain name is of each version of the
    /// function too (`cuMemAlloc` of `cuMemAlloc_v2`); of one library's plain names the nearest is taken.
    pub fn function(&self, layers: u32, name: &CStr, handler: &'static Handler) -> Result<(), Refused> {
        self.function_of(layers, None, name, handler)
    }
    /// The same of libraries whose SONAME matches.
    pub fn function_of(
        &self,
        layers: u32,
        library: Option<&CStr>,
        name: &CStr,
        handler: &'static Handler,
    ) -> Result<(), Refused> {
        let want = contract::Want {
            size: size_of::<contract::Want>() as u32,
            layers,
            library: library.map_or(core::ptr::null(), CStr::as_ptr),
            name: name.as_ptr(),
            before: handler.before.map(|_| call::before as contract::OfACall),
            after: handler.after.map(|_| call::after as contract::OfACall),
            met: handler.met.map(|_| call::met as unsafe extern "C" fn(_, _)),
            user: core::ptr::from_ref(handler).cast_mut().cast(),
        };
        // SAFETY: the host's function, with a want that it copies.
        host().map_or(Err(Refused::TooLate), |h| done(unsafe { (h.want)(&want) }))
    }
    /// A variable of the environment; libc does not have it yet.
    pub fn environment(&self, name: &CStr) -> Option<&'static CStr> {
        // SAFETY: the host's function gives null or a string that stays.
        unsafe {
            let text: *const c_char = (host()?.environment)(name.as_ptr());
            (!text.is_null()).then(|| CStr::from_ptr(text))
        }
    }
}

/// A function of a loaded watched library, past all hooks and unrecorded; `library` is a pattern for its
/// SONAME. To be looked up once and kept.
pub fn original(library: Option<&CStr>, name: &CStr) -> Option<*mut core::ffi::c_void> {
    // SAFETY: the host's function, with strings.
    let found = unsafe { (host()?.original)(library.map_or(core::ptr::null(), CStr::as_ptr), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// What the function that says what is wanted may return.
pub trait Answer {
    /// 0, or another number: this library wants nothing after all.
    fn code(self) -> c_int;
}

impl Answer for () {
    fn code(self) -> c_int {
        0
    }
}

impl<E> Answer for Result<(), E> {
    fn code(self) -> c_int {
        self.is_err().into()
    }
}

/// What `hook!` puts behind the entry point.
///
/// # Safety
/// `host` is what cutap gave.
#[doc(hidden)]
pub unsafe fn start<A: Answer>(host: *const contract::Host, wants: fn(&Wants) -> A) -> c_int {
    HOST.store(host.cast_mut(), Ordering::Relaxed);
    wants(&Wants(())).code()
}

/// Makes the library's entry point of a function `fn(&Wants)`, or of one that returns a `Result<(), E>`: with an error the library
/// wants nothing after all, which is said at the end.
#[macro_export]
macro_rules! hook {
    ($wants:path) => {
        #[unsafe(no_mangle)]
        #[used]
        #[allow(non_upper_case_globals, missing_docs)]
        pub static cutap_hook_version: u32 = $crate::contract::VERSION;

        #[unsafe(no_mangle)]
        #[allow(missing_docs)]
        pub unsafe extern "C" fn cutap_hook_init(host: *const $crate::contract::Host) -> core::ffi::c_int {
            // SAFETY: cutap calls it, with its host.
            unsafe { $crate::start(host, $wants) }
        }
    };
}
