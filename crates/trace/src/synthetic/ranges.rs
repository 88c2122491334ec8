//! Ranges and marks of NVTX, as the preload records them: names stand in the records, and no call has one as parent.

use super::{Process, Thread, pieces};
use cutap_calls::Layer;
use cutap_wire::names::{kind, route, shape};

/// The slots of a domain.
#[derive(Debug, Clone, Copy)]
pub struct Domain {
    first: u32,
}

impl Process {
    /// A domain as this object, with four slots from `slot` on.
    pub fn domain(&mut self, object: u64, name: &str, slot: u32) -> Domain {
        self.name(kind::OBJECT, object, object, u64::from(Layer::NVTX.number()), name, "");
        let shapes = [
            (route::NVTX_RANGE, 3, false),
            (route::NVTX_MARK, 3, true),
            (route::NVTX_START, 4, true),
            (route::NVTX_END, 1, true),
        ];
        for (n, (route, words, is_moment)) in (0..).zip(shapes) {
            let origin = object | u64::from(route) << 32 | u64::from(is_moment) << 40 | shape(words, 0, 0) << 44;
            self.name(kind::SLOT, u64::from(slot) + n, origin, 0, "range", "");
        }
        Domain { first: slot }
    }
}

impl Thread {
    /// A range begins. The number by which it is popped.
    pub fn push(&mut self, domain: Domain, name: &str) -> u32 {
        self.moment(domain.first, &[0; 3], name)
    }

    /// It is popped.
    pub fn pop(&mut self, number: u32) {
        self.exit_of(number, 0);
    }

    /// A mark.
    pub fn mark(&mut self, domain: Domain, name: &str) {
        self.moment(domain.first + 1, &[0; 3], name);
    }

    /// A range begins that may end in another thread.
    pub fn start(&mut self, domain: Domain, name: &str, id: u64) {
        self.moment(domain.first + 2, &[0, 0, 0, id], name);
    }

    /// It ends.
    pub fn end_range(&mut self, domain: Domain, id: u64) {
        self.moment(domain.first + 3, &[id], "");
    }

    fn moment(&mut self, slot: u32, words: &[u64], name: &str) -> u32 {
        let words: Vec<u64> = words.iter().copied().chain(pieces(&[(0x1000, name.as_bytes())])).collect();
        let parent = self.open.last().copied();
        let number = self.enter_below(slot, parent, &words);
        self.open.retain(|open| *open != number);
        number
    }
}
