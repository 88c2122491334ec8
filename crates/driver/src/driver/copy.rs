//! Rules of copies and sets: which memory a description means, and whether all of it exists. It must not touch the
//! memory: it returns an operation of the engine.

use crate::abi::{Answer, Fault};
use crate::engine::{self, Op};
use crate::host::rows::{Extent, Rows};
use crate::state::{Copy3D, DriverState, Handle, Plane3D, PlaneKind, Set, Side, lookup};

/// One end of a copy.
struct End {
    side: Side,
    rows: Rows,
}

impl End {
    fn require(&self, state: &DriverState, extent: Extent) -> Answer {
        let Rows { start, pitch, plane } = self.rows;
        let last = plane
            .checked_mul(extent.depth - 1)
            .and_then(|p| p.checked_add(pitch.checked_mul(extent.height - 1)?)?.checked_add(extent.width))
            .ok_or(Fault::INVALID_VALUE)?;
        let rows_overlap = extent.height > 1 && pitch < extent.width;
        if start == 0 || start.checked_add(last).is_none() || rows_overlap {
            return Err(Fault::INVALID_VALUE);
        }
        match self.side {
            Side::Device => state.memory.require(start, last),
            Side::Any if state.memory.find(start).is_some() => state.memory.require(start, last),
            Side::Any | Side::Host => Ok(()),
        }
    }

    /// Whether it is memory that the driver does not know. Such copies complete before their call returns.
    fn is_pageable(&self, state: &DriverState) -> bool {
        self.side != Side::Device && state.memory.find(self.rows.start).is_none()
    }
}

fn end(state: &DriverState, place: &Plane3D, extent: Extent) -> Answer<End> {
    let (side, base, pitch, rows) = match place.kind {
        PlaneKind::HOST => (Side::Host, place.host, place.pitch, place.rows),
        PlaneKind::DEVICE => (Side::Device, place.device, place.pitch, place.rows),
        PlaneKind::ARRAY => {
            if place.array == Handle::NULL {
                return Err(Fault::INVALID_VALUE);
            }
            let array = lookup(&state.array.arrays, place.array)?;
            (Side::Device, array.address, array.width * array.texel, array.height)
        }
        PlaneKind::ANY => (Side::Any, place.device, place.pitch, place.rows),
        _ => return Err(Fault::INVALID_VALUE),
    };
    let [x, y, z] = place.at;
    let pitch = if pitch == 0 { x.saturating_add(extent.width) } else { pitch };
    let rows = if rows == 0 { y.saturating_add(extent.height) } else { rows };
    let plane = pitch.checked_mul(rows).ok_or(Fault::INVALID_VALUE)?;
    let steps = [Some(x), y.checked_mul(pitch), z.checked_mul(plane)];
    let start = steps.into_iter().try_fold(base, |sum, step| sum.checked_add(step?)).ok_or(Fault::INVALID_VALUE)?;
    Ok(End { side, rows: Rows { start, pitch, plane } })
}

/// Destination and source.
fn both_ends(state: &DriverState, copy: &Copy3D) -> Answer<(End, End)> {
    Ok((end(state, &copy.to, copy.extent())?, end(state, &copy.from, copy.extent())?))
}

/// Checks the kinds, arrays and addresses of a copy, but not its extent.
pub fn check_ends(state: &DriverState, copy: &Copy3D) -> Answer {
    both_ends(state, copy).map(drop)
}

/// The kind of a place, where `ANY` is resolved by the address.
fn resolved_kind(state: &DriverState, place: &Plane3D) -> PlaneKind {
    match place.kind {
        PlaneKind::ANY if state.memory.find(place.device).is_some_and(|(_, a)| a.on_device()) => PlaneKind::DEVICE,
        PlaneKind::ANY => PlaneKind::HOST,
        kind => kind,
    }
}

/// The direction of a copy as graph dumps name it, such as `HtoD`.
pub fn direction(state: &DriverState, copy: &Copy3D) -> String {
    let [from, to] = [&copy.from, &copy.to].map(|place| match resolved_kind(state, place) {
        PlaneKind::ARRAY => 'A',
        PlaneKind::HOST => 'H',
        _ => 'D',
    });
    format!("{from}to{to}")
}

/// One side of a copy as graph dumps list it.
pub struct ListedSide {
    pub kind: &'static str,
    pub resolved_kind: &'static str,
    /// Array, host address, device address.
    pub places: [u64; 3],
    /// x, y, z, pitch, rows, level.
    pub numbers: [u64; 6],
}

/// Source and destination.
pub fn listed_sides(state: &DriverState, copy: &Copy3D) -> [ListedSide; 2] {
    [&copy.from, &copy.to].map(|place| {
        let [x, y, z] = place.at;
        ListedSide {
            kind: place.kind.name(),
            resolved_kind: resolved_kind(state, place).name(),
            places: [place.array.0, place.host, place.device],
            numbers: [x, y, z, place.pitch, place.rows, place.level],
        }
    })
}

/// Whether a copy must complete before its call returns.
pub fn has_to_wait(state: &DriverState, copy: &Copy3D) -> bool {
    both_ends(state, copy).is_ok_and(|(to, from)| to.is_pageable(state) || from.is_pageable(state))
}

/// Checks a copy. An empty copy has nothing to run.
pub fn copy(state: &DriverState, copy: &Copy3D) -> Answer<Option<Op>> {
    let extent = copy.extent();
    if extent.is_empty() {
        return Ok(None);
    }
    let (to, from) = both_ends(state, copy)?;
    to.require(state, extent)?;
    from.require(state, extent)?;
    // Both ends were checked against the allocations, or are memory of the program, which promised that the bytes
    // exist. A program that frees them before the copy completes breaks the rules of the API.
    let side = |end: &End| engine::Side { rows: end.rows, is_pageable: end.is_pageable(state) };
    Ok(Some(Op::Copy { to: side(&to), from: side(&from), extent }))
}

/// Checks a set of rows. An empty set has nothing to run.
pub fn set(state: &DriverState, set: &Set) -> Answer<Option<Op>> {
    let Set { to, pitch, value, element, width, height } = *set;
    if !matches!(element, 1 | 2 | 4) {
        return Err(Fault::INVALID_VALUE);
    }
    let bytes = u64::from(element);
    let extent = Extent { width, height, depth: 1 };
    if extent.is_empty() {
        return Ok(None);
    }
    if !to.is_multiple_of(bytes) || (height > 1 && !pitch.is_multiple_of(bytes)) {
        return Err(Fault::INVALID_VALUE);
    }
    let end = End { side: Side::Device, rows: Rows { start: to, pitch, plane: 0 } };
    let in_bytes = Extent { width: width.checked_mul(bytes).ok_or(Fault::INVALID_VALUE)?, ..extent };
    end.require(state, in_bytes)?;
    Ok(Some(Op::Fill { to: end.rows, extent, element, value }))
}
