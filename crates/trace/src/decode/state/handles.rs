//! Handles by kind, numbered in order of appearance, and their state. "Not seen created" is reported only if every call
//! that could have made the handle is recorded.

use super::fast_hash_map::FastHashMap;
use super::handle_coverage::HandleCoverage;
use crate::event::value::Standing;
use cutap_calls::known;
use std::collections::VecDeque;
use std::sync::Arc;

/// Handles beyond this many are not followed.
const MOST: usize = 1 << 20;
/// Destroyed ones that are remembered; the oldest are forgotten.
const MOST_DESTROYED: usize = 1 << 14;
/// Below it lies no object: such values are numbers.
const LOWEST_OBJECT: u64 = 1 << 16;

/// The handles of a process.
#[derive(Debug, Default)]
pub struct Handles {
    by_key: FastHashMap<Key, HandleState>,
    last: FastHashMap<&'static str, u32>,
    /// What a handle's description says of a type.
    carried: FastHashMap<Key, i64>,
    /// Where a handle says that scalars are; not 0.
    modes: FastHashMap<Key, i64>,
    destroyed: VecDeque<Key>,
    /// What ends with a handle.
    owned: FastHashMap<Key, Vec<Key>>,
    /// Of which kinds all calls are recorded that make and end them; none: of no kind.
    pub coverage: Option<Arc<HandleCoverage>>,
    /// Some that were destroyed are forgotten, so that no handle is called unseen any more.
    forgotten: bool,
}

/// A handle: its kind's word and its bits.
pub type Key = (&'static str, u64);

#[derive(Debug, Clone, Copy)]
struct HandleState {
    kind: &'static known::Handle,
    number: u32,
    standing: Standing,
    /// Since when.
    since: u64,
    /// A call wrote it; else it was only ever given.
    was_created: bool,
    /// It is another kind's handle, given in place of this kind's.
    is_alias: bool,
    /// How often it was handed out by calls that count, less how often it was ended.
    references: u32,
    /// What it ends with.
    owner: Option<Key>,
}

impl Handles {
    /// A handle that a call was given: its kind, which may be another than the one that was asked for, its
    /// number, and what is known of it. Number 0 for one too many.
    pub fn resolve_argument(
        &mut self,
        kind: &'static known::Handle,
        value: u64,
        now: u64,
    ) -> (&'static known::Handle, u32, Standing) {
        let key = (kind.short, value);
        match self.by_key.get(&key).copied() {
            Some(HandleState { is_alias: true, kind: as_kind, .. }) => {
                let aliased = self.by_key.get(&(as_kind.short, value));
                aliased.map_or((kind, 0, Standing::Live), |k| (k.kind, k.number, k.standing))
            }
            // Where a call may be missing that has handed it out anew, only its number is said: that is nearly always
            // right.
            Some(handle) if handle.standing == Standing::Destroyed && !self.end_is_followed(kind) => {
                (kind, handle.number, Standing::Live)
            }
            Some(handle) => (kind, handle.number, handle.standing),
            None => match self.of_other_kind(value) {
                Some(other) => {
                    self.by_key.insert(key, HandleState { is_alias: true, ..other });
                    (other.kind, other.number, other.standing)
                }
                None => {
                    let unseen = self.is_followed(kind) && !self.forgotten;
                    let standing = if unseen { Standing::Unseen } else { Standing::Live };
                    self.new_one(kind, value, standing, now)
                }
            },
        }
    }

    /// What is known of a handle that has been seen.
    pub fn get(&self, kind: &'static known::Handle, value: u64) -> Option<(u32, Standing)> {
        self.by_key.get(&(kind.short, value)).filter(|k| !k.is_alias).map(|k| (k.number, k.standing))
    }

    /// Since when a handle is there, and what it ends with.
    pub fn live(&self, key: Key) -> Option<(u64, Option<Key>)> {
        let handle = self.by_key.get(&key).filter(|k| !k.is_alias && k.standing != Standing::Destroyed)?;
        Some((handle.since, handle.owner))
    }

    /// A live kernel or function of this value, by its kind and number.
    pub fn kernel(&self, value: u64) -> Option<(&'static known::Handle, u32)> {
        let of = |short| self.by_key.get(&(short, value));
        let live = |k: &&HandleState| k.was_created && !k.is_alias && k.standing == Standing::Live && k.number > 0;
        ["kernel", "function"].into_iter().filter_map(of).find(live).map(|k| (k.kind, k.number))
    }

    /// A handle that a call wrote: it is there.
    pub fn written(&mut self, kind: &'static known::Handle, value: u64, now: u64) -> u32 {
        match self.by_key.get_mut(&(kind.short, value)) {
            Some(handle) if !handle.is_alias && handle.standing != Standing::Destroyed => {
                (handle.standing, handle.was_created) = (Standing::Live, true);
                handle.number
            }
            _ => {
                let number = self.new_one(kind, value, Standing::Live, now).1;
                if let Some(handle) = self.by_key.get_mut(&(kind.short, value)) {
                    handle.was_created = true;
                }
                number
            }
        }
    }

    fn new_one(
        &mut self,
        kind: &'static known::Handle,
        value: u64,
        standing: Standing,
        since: u64,
    ) -> (&'static known::Handle, u32, Standing) {
        if self.by_key.len() >= MOST {
            return (kind, 0, Standing::Live);
        }
        let last = self.last.entry(kind.short).or_default();
        *last += 1;
        self.by_key.insert(
            (kind.short, value),
            HandleState {
                kind,
                number: *last,
                standing,
                since,
                was_created: false,
                is_alias: false,
                references: 0,
                owner: None,
            },
        );
        (kind, *last, standing)
    }

    /// A live handle of this value that is of another kind: a kernel where a function is expected.
    fn of_other_kind(&self, value: u64) -> Option<HandleState> {
        let mut of = self.last.keys().filter_map(|short| self.by_key.get(&(*short, value)));
        of.find(|k| k.was_created && !k.is_alias && k.standing == Standing::Live && value >= LOWEST_OBJECT).copied()
    }

    /// Whether the trace has all that makes and ends handles of this kind.
    fn is_followed(&self, kind: &known::Handle) -> bool {
        self.coverage.as_ref().is_some_and(|coverage| coverage.has(kind))
    }

    /// Whether the trace has all that ends handles of this kind, and nearly all that makes them.
    fn end_is_followed(&self, kind: &known::Handle) -> bool {
        self.coverage.as_ref().is_some_and(|coverage| coverage.follows_end(kind))
    }

    /// A call has handed out the handle once more: it must be ended as often.
    pub fn count_reference(&mut self, kind: &known::Handle, value: u64) {
        if let Some(handle) = self.by_key.get_mut(&(kind.short, value)) {
            handle.references = handle.references.saturating_add(1);
        }
    }

    /// The handle carries a number from now on.
    pub fn set_carried(&mut self, kind: &known::Handle, value: u64, number: i64) {
        if self.carried.len() < MOST {
            self.carried.insert((kind.short, value), number);
        }
    }

    /// The handle says from now on where scalars are.
    pub fn set_scalar_mode(&mut self, kind: &known::Handle, value: u64, mode: i64) {
        let key = (kind.short, value);
        if mode == 0 {
            self.modes.remove(&key);
        } else if self.modes.len() < MOST {
            self.modes.insert(key, mode);
        }
    }

    /// Where a handle says that scalars are; 0: on the host.
    pub fn mode(&self, kind: &known::Handle, value: u64) -> i64 {
        self.modes.get(&(kind.short, value)).copied().unwrap_or(0)
    }

    /// The number that a handle carries.
    pub fn carried(&self, kind: &known::Handle, value: u64) -> Option<i64> {
        self.carried.get(&(kind.short, value)).copied()
    }

    /// The handle ends with another one, unless it is known to end with something already.
    pub fn set_owner(&mut self, kind: &known::Handle, value: u64, owner: Key) {
        let key = (kind.short, value);
        // A node reports the graph that it is in as well as the one in it.
        let is_inside_owner = self.by_key.get(&owner).is_some_and(|k| k.owner == Some(key));
        if let Some(handle) = self.by_key.get_mut(&key)
            && handle.owner.is_none()
            && !handle.is_alias
            && !is_inside_owner
            && key != owner
        {
            handle.owner = Some(owner);
            self.owned.entry(owner).or_default().push(key);
        }
    }

    /// A call that began at `since` has ended the handle: its address may come again, as another one. One
    /// that was made meanwhile by another thread is not the one that was meant. All that has ended is added.
    pub fn destroy(&mut self, kind: &known::Handle, value: u64, since: u64, destroyed: &mut Vec<Key>) {
        let key = (kind.short, value);
        let Some(handle) = self.by_key.get_mut(&key) else {
            self.carried.remove(&key);
            self.modes.remove(&key);
            return;
        };
        if handle.is_alias || handle.since > since {
            return;
        }
        handle.references = handle.references.saturating_sub(1);
        if handle.references == 0 {
            self.end(key, since, destroyed);
        }
    }

    /// What ends with this ends now, and what ends with that.
    pub fn end_owned(&mut self, owner: Key, since: u64, destroyed: &mut Vec<Key>) {
        for key in self.owned.remove(&owner).unwrap_or_default() {
            match self.by_key.get(&key) {
                // Made meanwhile: it is not meant, and ends with the next one.
                Some(handle) if handle.owner == Some(owner) && handle.since > since => {
                    self.owned.entry(owner).or_default().push(key);
                }
                Some(handle) if handle.owner == Some(owner) => self.end(key, since, destroyed),
                _ => {}
            }
        }
    }

    /// It has ended, however often it was handed out.
    pub fn end(&mut self, key: Key, since: u64, destroyed: &mut Vec<Key>) {
        let Some(handle) = self.by_key.get_mut(&key) else { return };
        handle.references = 0;
        if handle.standing != Standing::Destroyed {
            handle.standing = Standing::Destroyed;
            self.destroyed.push_back(key);
            destroyed.push(key);
            self.end_owned(key, since, destroyed);
        }
        self.carried.remove(&key);
        self.modes.remove(&key);
        while self.destroyed.len() > MOST_DESTROYED {
            let Some(oldest) = self.destroyed.pop_front() else { break };
            if self.by_key.get(&oldest).is_some_and(|k| k.standing == Standing::Destroyed) {
                self.by_key.remove(&oldest);
                self.forgotten = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static STREAM: known::Handle = known::Handle {
        name: "CUstream",
        short: "stream",
        number: false,
        bytes: 8,
        special: &[],
        elsewhere: false,
        made_elsewhere: false,
        of: &[],
    };
    static EVENT: known::Handle = known::Handle { name: "CUevent", short: "event", ..STREAM_LIKE };
    const STREAM_LIKE: known::Handle = known::Handle {
        name: "",
        short: "",
        number: false,
        bytes: 8,
        special: &[],
        elsewhere: false,
        made_elsewhere: false,
        of: &[],
    };

    fn given(
        handles: &mut Handles,
        kind: &'static known::Handle,
        value: u64,
        now: u64,
    ) -> (&'static str, u32, Standing) {
        let (kind, number, standing) = handles.resolve_argument(kind, value, now);
        (kind.short, number, standing)
    }

    fn all() -> Handles {
        Handles { coverage: Some(Arc::new(HandleCoverage::of(&["stream", "event"]))), ..Handles::default() }
    }

    #[test]
    fn a_handle_comes_and_goes_and_comes_again() {
        let mut handles = all();
        assert_eq!(handles.written(&STREAM, 0x50000, 10), 1);
        handles.destroy(&STREAM, 0x50000, 20, &mut Vec::new());
        assert_eq!(given(&mut handles, &STREAM, 0x50000, 30), ("stream", 1, Standing::Destroyed));
        assert_eq!(handles.written(&STREAM, 0x50000, 40), 2);
        assert_eq!(given(&mut handles, &STREAM, 0x50000, 50), ("stream", 2, Standing::Live));
        // The runtime's call returns after another thread was given the address again.
        handles.destroy(&STREAM, 0x50000, 35, &mut Vec::new());
        assert_eq!(given(&mut handles, &STREAM, 0x50000, 60), ("stream", 2, Standing::Live));
    }

    #[test]
    fn a_handle_that_nobody_handed_out() {
        let mut handles = all();
        assert_eq!(given(&mut handles, &STREAM, 0x70000, 1), ("stream", 1, Standing::Unseen));
        assert_eq!(handles.written(&STREAM, 0x70000, 2), 1);
        assert_eq!(given(&mut handles, &STREAM, 0x70000, 3), ("stream", 1, Standing::Live));
        // Where calls are missing nothing is said but its number.
        let mut some = Handles::default();
        assert_eq!(given(&mut some, &STREAM, 0x70000, 1), ("stream", 1, Standing::Live));
        assert_eq!(given(&mut some, &EVENT, 0x70000, 1), ("event", 1, Standing::Live));
        some.destroy(&STREAM, 0x70000, 2, &mut Vec::new());
        assert_eq!(given(&mut some, &STREAM, 0x70000, 3), ("stream", 1, Standing::Live));
        assert_eq!(some.written(&STREAM, 0x70000, 4), 2);
    }

    #[test]
    fn a_handle_that_is_counted_ends_with_its_last() {
        let mut handles = all();
        for n in 1..=2 {
            handles.written(&STREAM, 0x50000, n);
            handles.count_reference(&STREAM, 0x50000);
        }
        handles.destroy(&STREAM, 0x50000, 10, &mut Vec::new());
        assert_eq!(given(&mut handles, &STREAM, 0x50000, 11), ("stream", 1, Standing::Live));
        handles.destroy(&STREAM, 0x50000, 20, &mut Vec::new());
        assert_eq!(given(&mut handles, &STREAM, 0x50000, 21), ("stream", 1, Standing::Destroyed));
        assert_eq!(handles.written(&STREAM, 0x50000, 30), 2);
    }

    #[test]
    fn what_ends_with_its_owner() {
        let mut handles = all();
        let module = ("module", 0x90000);
        let mut ended = Vec::new();
        handles.written(&STREAM, 0x50000, 10);
        handles.set_owner(&STREAM, 0x50000, module);
        handles.written(&EVENT, 0x60000, 11);
        handles.set_owner(&EVENT, 0x60000, ("stream", 0x50000));
        handles.set_owner(&EVENT, 0x60000, ("context", 1));
        handles.written(&STREAM, 0x70000, 30);
        handles.set_owner(&STREAM, 0x70000, module);
        handles.end_owned(("context", 1), 40, &mut ended);
        assert!(ended.is_empty(), "the first owner stays");
        handles.end_owned(module, 20, &mut ended);
        assert_eq!(ended, [("stream", 0x50000), ("event", 0x60000)]);
        assert_eq!(given(&mut handles, &EVENT, 0x60000, 50).2, Standing::Destroyed);
        assert_eq!(given(&mut handles, &STREAM, 0x70000, 50).2, Standing::Live, "made meanwhile");
        // Its address came again, and is nobody's.
        handles.written(&STREAM, 0x50000, 60);
        handles.end_owned(module, 70, &mut ended);
        assert_eq!(given(&mut handles, &STREAM, 0x50000, 80).2, Standing::Live);
        assert_eq!(given(&mut handles, &STREAM, 0x70000, 80).2, Standing::Destroyed);
    }

    #[test]
    fn another_kind_keeps_its_name() {
        let mut handles = all();
        handles.written(&STREAM, 0x50000, 1);
        assert_eq!(given(&mut handles, &EVENT, 0x50000, 2), ("stream", 1, Standing::Live));
        handles.destroy(&STREAM, 0x50000, 3, &mut Vec::new());
        assert_eq!(given(&mut handles, &EVENT, 0x50000, 4), ("stream", 1, Standing::Destroyed));
        assert_eq!(handles.written(&EVENT, 0x50000, 5), 1);
        assert_eq!(given(&mut handles, &EVENT, 0x50000, 6), ("event", 1, Standing::Live));
    }

    #[test]
    fn the_oldest_that_were_destroyed_are_forgotten() {
        let mut handles = all();
        for n in 0..2 * MOST_DESTROYED as u64 {
            handles.written(&STREAM, 0x50000 + n, n);
            handles.destroy(&STREAM, 0x50000 + n, n, &mut Vec::new());
        }
        assert!(handles.by_key.len() <= MOST_DESTROYED && handles.destroyed.len() <= MOST_DESTROYED);
        assert_eq!(given(&mut handles, &STREAM, 0x50000, 1 << 40).2, Standing::Live);
    }
}
