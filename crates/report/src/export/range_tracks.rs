//! The tracks of ranges of NVTX that may end in another thread: those of a domain, and more where ranges overlap. They
//! are around no call.

use crate::call::range::id;
use cutap_trace::{Call, DEFAULT_DOMAIN, printable};
use std::collections::HashMap;
use std::sync::Arc;

/// A process and a domain.
type DomainKey = (u32, Arc<str>);

/// The tracks so far.
#[derive(Debug, Default)]
pub struct RangeTracks {
    /// Of each domain: the number of each track, and whether a range is open on it.
    tracks: HashMap<DomainKey, Vec<(u32, bool)>>,
    /// Open ranges by process and id.
    open: HashMap<(u32, u64), OpenRange>,
    tracks_made: u32,
    ranges_made: u64,
}

/// A range that began.
#[derive(Debug, Clone)]
pub struct OpenRange {
    /// The number of its track, from 1.
    pub track: u32,
    /// The number of the range, from 1.
    pub number: u64,
    /// The call that began it.
    pub start: Call,
}

impl RangeTracks {
    /// A range begins. Also the name of its track, if that is new.
    pub fn begin(&mut self, call: &Call) -> (OpenRange, Option<String>) {
        let process = call.thread.process.key;
        let domain = call.function.library.clone();
        let named =
            if &*domain == DEFAULT_DOMAIN { "ranges".to_owned() } else { format!("ranges of {}", printable(&domain)) };
        let tracks = self.tracks.entry((process, domain)).or_default();
        let (track, new_track) = match tracks.iter_mut().find(|(_, is_used)| !is_used) {
            Some((track, is_used)) => {
                *is_used = true;
                (*track, None)
            }
            None => {
                self.tracks_made += 1;
                tracks.push((self.tracks_made, true));
                let more = if tracks.len() > 1 { format!(" ({})", tracks.len()) } else { String::new() };
                (self.tracks_made, Some(format!("{named}{more}")))
            }
        };
        self.ranges_made += 1;
        let range = OpenRange { track, number: self.ranges_made, start: call.clone() };
        if let Some(id) = id(call) {
            self.open.insert((process, id), range.clone());
        }
        (range, new_track)
    }

    /// A range ends; none if its beginning is not known.
    pub fn end(&mut self, call: &Call) -> Option<OpenRange> {
        let process = call.thread.process.key;
        let range = self.open.remove(&(process, id(call)?))?;
        let tracks = self.tracks.get_mut(&(process, range.start.function.library.clone()))?;
        tracks.iter_mut().filter(|(track, _)| *track == range.track).for_each(|(_, is_used)| *is_used = false);
        Some(range)
    }
}
