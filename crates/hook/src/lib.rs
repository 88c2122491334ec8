//! Hook libraries: what they and cutap agree on ([`contract`], `include/cutap_hook.h`), and a safe
//! wrapper for authors who write theirs in Rust.
//!
//! ```no_run
//! use cutap_hook::{Call, DRIVER, Handler, Refused, Registrar, hook};
//!
//! static REFUSE: Handler = Handler::before(refuse);
//!
//! fn refuse(call: &mut Call) {
//!     if call.unsigned("bytesize") > 1 << 30 {
//!         // Every call of the driver can be answered.
//!         let _ = call.return_value(2);
//!     }
//! }
//!
//! fn register(registrar: &Registrar) -> Result<(), Refused> {
//!     registrar.register(DRIVER, c"cuMemAlloc_v2", &REFUSE)
//! }
//! hook!(register);
//! ```
//!
//! The functions of a hook run on the program's own threads, in the middle of its calls. A panic in one
//! ends the program.
#![no_std]
#![warn(missing_docs)]

mod call;
pub mod contract;
pub mod own;

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
    /// Once for each function, before its first call.
    pub on_resolve: Option<fn(&Function)>,
}

impl Handler {
    /// Only before.
    pub const fn before(before: fn(&mut Call)) -> Handler {
        Handler { before: Some(before), after: None, on_resolve: None }
    }
    /// Only after.
    pub const fn after(after: fn(&mut Call)) -> Handler {
        Handler { before: None, after: Some(after), on_resolve: None }
    }
    /// Before and after.
    pub const fn both(before: fn(&mut Call), after: fn(&mut Call)) -> Handler {
        Handler { before: Some(before), after: Some(after), on_resolve: None }
    }
}

/// Why something was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no such parameter, or nothing is known of the function's parameters.
    NoParam,
    /// The function does not allow this: [`Function::why`].
    NotSupported,
    /// The call is at another point, or this is not the call's own thread.
    NotNow,
    /// Of a request: unknown layers, or a name or library that is empty or too long.
    BadRequest,
    /// More than there is room for.
    TooMany,
    /// Only in the function that is given to [`hook!`].
    NotInInit,
}

fn to_result(code: c_int) -> Result<(), Refused> {
    Err(match code {
        contract::OK => return Ok(()),
        contract::NO_PARAM => Refused::NoParam,
        contract::TOO_MANY => Refused::TooMany,
        contract::NOT_IN_INIT => Refused::NotInInit,
        contract::NOT_NOW => Refused::NotNow,
        contract::BAD_REQUEST => Refused::BadRequest,
        _ => Refused::NotSupported,
    })
}

/// Says what is wanted. It runs before the constructors of all libraries: nothing else should be done.
pub struct Registrar(());

impl Registrar {
    /// Registrar the calls of functions of these layers whose name matches the pattern. A plain name is of each version
    /// of the function too (`cuMemAlloc` of `cuMemAlloc_v2`); of one library's plain names the nearest is taken.
    pub fn register(&self, layers: u32, name: &CStr, handler: &'static Handler) -> Result<(), Refused> {
        self.register_for(layers, None, name, handler)
    }
    /// The same of libraries whose SONAME matches.
    pub fn register_for(
        &self,
        layers: u32,
        library: Option<&CStr>,
        name: &CStr,
        handler: &'static Handler,
    ) -> Result<(), Refused> {
        let request = contract::Request {
            size: size_of::<contract::Request>() as u32,
            layers,
            library: library.map_or(core::ptr::null(), CStr::as_ptr),
            name: name.as_ptr(),
            before: handler.before.map(|_| call::before as contract::OfACall),
            after: handler.after.map(|_| call::after as contract::OfACall),
            on_resolve: handler.on_resolve.map(|_| call::on_resolve as unsafe extern "C" fn(_, _)),
            user: core::ptr::from_ref(handler).cast_mut().cast(),
        };
        // SAFETY: the host's function, with a request that it copies.
        host().map_or(Err(Refused::NotInInit), |h| to_result(unsafe { (h.add)(&request) }))
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
    let address = unsafe { (host()?.original)(library.map_or(core::ptr::null(), CStr::as_ptr), name.as_ptr()) };
    (!address.is_null()).then_some(address)
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
pub unsafe fn start<A: Answer>(host: *const contract::Host, wants: fn(&Registrar) -> A) -> c_int {
    HOST.store(host.cast_mut(), Ordering::Relaxed);
    wants(&Registrar(())).code()
}

/// Makes the library's entry point of a function `fn(&Registrar)`, or of one that returns a `Result<(), E>`: with an
/// error the library wants nothing after all, which is said at the end.
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
