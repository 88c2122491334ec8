//! Which functions have one of the processor's fast frames (`fast_frames`). It must never give one to a
//! function of which the registry may be wrong: each frame says what it believes.

use super::fast_frames;
use crate::loader::objects::Object;
use crate::process::clock;
use crate::slots::{plan, rows};
use cutap_calls::Layer;
use cutap_calls::generated::capture::NEWEST;
use cutap_wire::record::{first_word, kind};

/// Where the thunk of slot `n` may lead instead of the gate, and the first word of its enter records. The driver's
/// exported names keep their arguments in all versions; what a library newer than the registry may have changed is not
/// believed.
pub fn entry(n: u32, remembered: u32, owner: &Object) -> Option<(usize, u32)> {
    let Some(row) = rows::of(remembered) else {
        let first = first_word(kind::ENTER, 2 + 6, n, 0) as u32;
        return clock::is_timestamp().then(|| (fast_frames::of_unknown(), first));
    };
    if !is_believed(owner) || !clock::is_timestamp() {
        return None;
    }
    let frame = match plan::is_fast(plan::of_row(remembered)) {
        true => fast_frames::of_words(row.ints.into())?,
        false => fast_frames::of_inputs(n, row)?,
    };
    Some((frame, first_word(kind::ENTER, 2 + u32::from(row.ints), n, 0) as u32))
}

/// The same for a function whose calls are counted.
pub fn chatter(remembered: u32, owner: &Object) -> Option<usize> {
    let row = rows::of(remembered)?;
    let has_words_alone = row.vectors + row.stack == 0;
    (has_words_alone && is_believed(owner)).then(|| fast_frames::of_chatter(owner.layer == Layer::DRIVER.number()))
}

/// Whether the registry is right about the functions of a library.
fn is_believed(owner: &Object) -> bool {
    let is_supported = |(soname, newest): &(&str, u32)| {
        (1..=*newest).contains(&owner.major()) && cutap_calls::is_soname(soname, owner.name())
    };
    owner.layer == Layer::DRIVER.number() || NEWEST.iter().any(is_supported)
}
