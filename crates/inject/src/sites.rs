//! Counts calls by the place that they come from: a survey, for `cutap chaos`.

use crate::table::File;
use core::sync::atomic::{AtomicU8, Ordering::*};
use cutap_hook::own::CallSite;
use cutap_wire::injected::{SITES, name_hash, text};

/// How many places are looked at.
const TRIES: usize = 256;

/// Counts a call. Its number from then on, for `failed`; None: there is no place.
pub fn count(file: &File, site: &CallSite, function: &[u8], layer: u32) -> Option<usize> {
    let sites = file.sites();
    let key =
        (name_hash(function) ^ name_hash(text(&site.module)).rotate_left(21) ^ site.offset.rotate_left(42)).max(1);
    let mut at = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 7;
    for _ in 0..TRIES {
        let n = at % SITES;
        let place = sites.get(n)?;
        match place.key.compare_exchange(0, key, AcqRel, Acquire) {
            Ok(_) => {
                let put =
                    |to: &[AtomicU8], from: &[u8]| to.iter().zip(from).for_each(|(to, from)| to.store(*from, Relaxed));
                put(&place.module, text(&site.module));
                put(place.function.get(..place.function.len() - 1)?, function);
                place.offset.store(site.offset, Relaxed);
                place.layer.store(layer, Relaxed);
                place.is_written.store(1, Release);
            }
            Err(other) if other == key => {}
            Err(_) => {
                at = at.wrapping_add(1);
                continue;
            }
        }
        place.calls.fetch_add(1, Relaxed);
        return Some(n);
    }
    None
}
