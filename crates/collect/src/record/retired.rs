//! Processes that have ended and are in the recording to their end. Their numbers are kept, and nothing else: a run may
//! have any number of them.

use super::ring::Ring;
use cutap_trace::Damage;

/// Sums over them.
#[derive(Debug, Default)]
pub(super) struct Retired {
    pub processes: usize,
    pub rings: usize,
    /// Bytes of chunks that were added, and chunks that are missing.
    pub added: u64,
    pub missing: u64,
    pub damage: Damage,
    /// Chunks that another collector had read before.
    pub before: u64,
}

impl Retired {
    /// Adds a process, by its rings and their pages as the recording has them.
    pub fn add<'a>(&mut self, rings: impl Iterator<Item = &'a mut (Ring, Vec<u8>)>) {
        self.processes += 1;
        for (ring, page) in rings {
            let (missing, damaged) = (ring.missing(), ring.damaged(false));
            self.rings += usize::from(!page.is_empty());
            self.added += ring.added;
            self.missing += missing;
            self.damage = Damage { parts: self.damage.parts + damaged.0, lost: self.damage.lost.plus(damaged.1) };
            self.before += missing.saturating_sub(damaged.0);
        }
    }
}
