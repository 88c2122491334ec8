//! Copies that a struct describes: the bytes from the address to the last copied byte. The structs of driver and
//! runtime are matched by the names of their fields.

use super::row::Row;
use super::walk::Walk;
use cutap_calls::known::Type;

/// What the names of a side's fields begin with.
const SIDES: [&str; 3] = ["src", "dst", "pitchedDev"];
/// Memory types of a side that is an array: nothing is known of its rows.
const ARRAY: u64 = 3;
/// The type of an operand of a batch that is a pointer.
const OPERAND_POINTER: u64 = 1;

/// A box within rows of a pitch, in bytes, rows and planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PitchedBox {
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
        let at = |path: &[&str]| self.named(row, path);
        let of = |name: &str| at(&[&[side, name].concat()]);
        let size = |name| at(&["extent", name]);
        if of("MemoryType") == Some(ARRAY) {
            return None;
        }
        // With an array on one side widths are counted in its elements.
        let arrays = || ["srcArray", "dstArray"].iter().any(|name| at(&[name]).is_some_and(|array| array != 0));
        let whole = if let Some(width) = at(&["WidthInBytes"]) {
            PitchedBox {
                pitch: of("Pitch")?,
                rows: of("Height").unwrap_or(0),
                at: [of("XInBytes")?, of("Y")?, of("Z").unwrap_or(0)],
                size: [width, at(&["Height"])?, at(&["Depth"]).unwrap_or(1)],
            }
        } else if let Some(pitch) = at(&[side, "op", "ptr", "rowLength"]) {
            let pointers = ["src", "dst"].iter().all(|side| at(&[side, "type"]) == Some(OPERAND_POINTER));
            PitchedBox {
                pitch: Some(pitch).filter(|_| pointers)?,
                rows: at(&[side, "op", "ptr", "layerHeight"])?,
                at: [0; 3],
                size: [size("width")?, size("height")?, size("depth")?],
            }
        } else {
            let ptr = |name| at(&[&[side, "Ptr"].concat(), name]);
            let pos = |name| at(&[&[side, "Pos"].concat(), name]).unwrap_or(0);
            PitchedBox {
                pitch: ptr("pitch").filter(|_| !arrays())?,
                rows: ptr("ysize")?,
                at: [pos("x"), pos("y"), pos("z")],
                size: [size("width")?, size("height")?, size("depth")?],
            }
        };
        whole.bytes()
    }

    /// A number among the fields, or in structs there.
    pub(super) fn named(&self, row: &Row<'_>, path: &[&str]) -> Option<u64> {
        let (name, inner) = path.split_first()?;
        let n = row.params.iter().position(|p| p.name == *name)?;
        let ty = row.params.get(n)?.ty;
        let cell = row.cell(n, self.size_of(ty))?;
        match self.ty(ty) {
            Type::Struct(first) | Type::Union(first) => {
                self.named(&Row::fields(self.struct_of(first)?, cell.bytes()), inner)
            }
            _ if inner.is_empty() => self.whole_number(ty, cell.bytes()),
            _ => None,
        }
    }
}

impl PitchedBox {
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
        let plane = PitchedBox { pitch: 256, rows: 0, at: [0; 3], size: [100, 4, 1] };
        assert_eq!(plane.bytes(), Some(3 * 256 + 100));
        assert_eq!(PitchedBox { at: [16, 2, 0], ..plane }.bytes(), Some(5 * 256 + 116));
        assert_eq!(PitchedBox { rows: 8, size: [100, 4, 3], ..plane }.bytes(), Some((2 * 8 + 3) * 256 + 100));
        assert_eq!(PitchedBox { pitch: 0, size: [100, 1, 1], ..plane }.bytes(), Some(100));
        assert_eq!(PitchedBox { size: [100, 0, 1], ..plane }.bytes(), Some(0));
        assert_eq!(PitchedBox { size: [u64::MAX, 2, 2], ..plane }.bytes(), None);
    }
}
