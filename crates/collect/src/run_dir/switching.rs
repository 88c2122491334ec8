//! Switches recording on and off in the pages of a run. `cutap ctl` does it on demand, `--delay` and `--duration` by
//! time.

use crate::base::error::{Result, cannot};
use crate::run_dir::control::Page;
use cutap_wire::control::{RECORDING_COUNT, RECORDING_OFF, RECORDING_ON};
use cutap_wire::flags::{ALWAYS, ARMED, CALLBACKS, FIRST, FOLLOWS, INSTANCE_BYTES, INSTANCES, NEVER};
use std::os::unix::fs::FileExt;

/// The pages one after the other; of a whole run (`pid` is none) also those that are made while the first ones are
/// written.
pub fn each_page<'a>(pages: Vec<Page>, pid: Option<u32>, run: &'a Page) -> impl Iterator<Item = Page> + 'a {
    let there = pages.len();
    let late = move || match pid {
        None => run.own_pages().into_iter().skip(there.saturating_sub(1)).collect(),
        Some(_) => Vec::new(),
    };
    pages.into_iter().chain(std::iter::once_with(late).flatten())
}

/// Switches these pages to a state; broken ones are left alone. `own` is the process that readers are told of.
pub fn put_state(pages: impl Iterator<Item = Page>, state: u32, run: &Page, own: (u32, i64)) -> Result<()> {
    let mut is_recorded = false;
    for page in pages {
        let before = page.recording();
        if !matches!(before, RECORDING_OFF | RECORDING_ON | RECORDING_COUNT) {
            continue;
        }
        if before != state && !is_recorded {
            run.record_switch(state, own);
            is_recorded = true;
        }
        page.put_recording(state);
        switch_flags(&page, state != RECORDING_OFF, false)?;
    }
    Ok(())
}

/// Sets the flags that a process's runtimes look at themselves; with `rearm_filtered`, also of functions that a filter
/// left out, so that they are looked at again.
pub fn switch_flags(own: &Page, on: bool, rearm_filtered: bool) -> Result<()> {
    let file = own.file();
    let mut armed = [0; CALLBACKS];
    for at in (0..INSTANCES).map(|n| (FIRST + n * INSTANCE_BYTES) as u64) {
        if file.read_exact_at(&mut armed, at + ARMED as u64).is_err() {
            break;
        }
        if rearm_filtered {
            armed.iter_mut().filter(|a| **a == NEVER).for_each(|a| *a = FOLLOWS);
            // An instance that is not there yet writes its own.
            let _ = file.write_all_at(&armed, at + ARMED as u64);
        }
        let flag = |armed: &u8| u32::from(*armed == ALWAYS || *armed == FOLLOWS && on).to_le_bytes();
        let words: Vec<u8> = armed.iter().flat_map(flag).collect();
        file.write_all_at(&words, at).map_err(|e| cannot("switch runtimes in", &own.path(), &e, "try again"))?;
    }
    Ok(())
}
