//! Copies that a struct describes: how many bytes are meant from the address to the last byte that is copied. The
//! structs of driver and runtime have their numbers under names that tell, so that they are found by name.

use super::row::Row;
use super::walk::Walk;
use cutap_calls::known::Type;

/// What the names of a side's fields begin with.
const SIDES: [&str; 3] = ["src", "dst", "pitchedDev"];
/// Memory types of a side that is an array: nothing is known of its rows.
const ARRAY: u64 = 3;

/// A box within rows of a pitch, in bytes, rows and planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Box3 {
    pitch: u64,
    /// Rows from one plane to the next; 0: as many as are copied.
    rows: u64,
    at: [u64; 3],
    size: [u64; 3],
}

impl Walk<'_> {
    /// Bytes from the address of a side to the last one that is copied.
    pub fn copied(&self, row: &Row<'_>, side: u8) -> Option<u64> {
        let side = *SIDES.get(usize::from(side))?;
        let of = |name: &str| self.named(row, &[side, name].concat(), None);
        if of("MemoryType") == Some(ARRAY) {
            return None;
        }
        let whole = match self.named(row, "WidthInBytes", None) {
            Some(width) => Box3 {
                pitch: of("Pitch")?,
                rows: of("Height").unwrap_or(0),
                at: [of("XInBytes")?, of("Y")?, of("Z").unwrap_or(0)],
                size: [width, self.named(row, "Height", None)?, self.named(row, "Depth", None).unwrap_or(1)],
            },
            None => {
                // With an array on one side widths are counted in its elements.
                let array = ["srcArray", "dstArray"].iter().any(|n| self.named(row, n, None).is_some_and(|at| at != 0));
                let ptr = |name| self.named(row, &[side, "Ptr"].concat(), Some(name));
                let at = |name| self.named(row, &[side, "Pos"].concat(), Some(name)).unwrap_or(0);
                let size = |name| self.named(row, "extent", Some(name));
                Box3 {
                    pitch: ptr("pitch").filter(|_| !array)?,
                    rows: ptr("ysize")?,
                    at: [at("x"), at("y"), at("z")],
                    size: [size("width")?, size("height")?, size("depth")?],
                }
            }
        };
        whole.bytes()
    }

    /// A number among the fields, or in a struct there.
    fn named(&self, row: &Row<'_>, name: &str, inner: Option<&str>) -> Option<u64> {
        let n = row.params.iter().position(|p| p.name == name)?;
        let ty = row.params.get(n)?.ty;
        let cell = row.cell(n, self.size_of(ty))?;
        match inner {
            Some(inner) => self.field(ty, cell.bytes(), inner),
            None if matches!(self.ty(ty), Type::Struct(_)) => None,
            None => self.whole(ty, cell.bytes()),
        }
    }
}

impl Box3 {
    fn bytes(self) -> Option<u64> {
        let ([x, y, z], [width, height, depth]) = (self.at, self.size);
        let last = |from: u64, count: u64| from.checked_add(count)?.checked_sub(1);
        if self.size.contains(&0) {
            return Some(0);
        }
        let end = x.checked_add(width)?;
        // One row needs no pitch, one plane no height.
        let rows = if self.rows == 0 { y.checked_add(height)? } else { self.rows };
        let rows_before = rows.checked_mul(last(z, depth)?)?.checked_add(last(y, height)?)?;
        let pitch = if self.pitch == 0 { end } else { self.pitch };
        pitch.checked_mul(rows_before)?.checked_add(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes() {
        let plane = Box3 { pitch: 256, rows: 0, at: [0; 3], size: [100, 4, 1] };
        assert_eq!(plane.bytes(), Some(3 * 256 + 100));
        assert_eq!(Box3 { at: [16, 2, 0], ..plane }.bytes(), Some(5 * 256 + 116));
        assert_eq!(Box3 { rows: 8, size: [100, 4, 3], ..plane }.bytes(), Some((2 * 8 + 3) * 256 + 100));
        assert_eq!(Box3 { pitch: 0, size: [100, 1, 1], ..plane }.bytes(), Some(100));
        assert_eq!(Box3 { size: [100, 0, 1], ..plane }.bytes(), Some(0));
        assert_eq!(Box3 { size: [u64::MAX, 2, 2], ..plane }.bytes(), None);
    }
}
