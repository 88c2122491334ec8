//! Counts launches by kernel, and says at the program's end how many there were.

use core::cell::RefCell;
use cutap_hook::{Call, DRIVER, Handler, Registrar, hook};
use std::collections::BTreeMap;
use std::sync::Mutex;

static LAUNCH: Handler = Handler::before(count);
static COUNTS: Mutex<RefCell<BTreeMap<String, u64>>> = Mutex::new(RefCell::new(BTreeMap::new()));

fn count(call: &mut Call) {
    let name = call.kernel().map_or("a kernel without a name".into(), |k| k.to_string_lossy().into_owned());
    if let Ok(counts) = COUNTS.lock() {
        *counts.borrow_mut().entry(name).or_default() += 1;
    }
}

/// Runs when the program ends.
extern "C" fn say() {
    if let Ok(counts) = COUNTS.lock() {
        for (name, n) in &*counts.borrow() {
            eprintln!("{n} launches of {name}");
        }
    }
}

// SAFETY: the loader calls what stands in this section, with no arguments, at the end.
#[used]
#[unsafe(link_section = ".fini_array")]
static SAY: extern "C" fn() = say;

fn register(registrar: &Registrar) {
    // One want is always taken.
    let _ = registrar.register(DRIVER, c"cuLaunchKernel*", &LAUNCH);
}
hook!(register);
