//! Columns of numbers as bytes: those of one column behind each other, little-endian, so that the page can lay typed
//! arrays over them. Columns of 8 bytes come first, so each begins at a multiple of its size.

/// Bytes that are written column by column.
#[derive(Debug, Default)]
pub struct Columns(Vec<u8>);

impl Columns {
    /// Numbers of 8 bytes. A page reads them as floating-point numbers, which are exact for 104 days of nanoseconds.
    pub fn doubles(&mut self, values: impl Iterator<Item = u64>) {
        values.for_each(|value| self.0.extend((value as f64).to_le_bytes()));
    }

    /// Numbers of 4 bytes.
    pub fn words(&mut self, values: impl Iterator<Item = u32>) {
        values.for_each(|value| self.0.extend(value.to_le_bytes()));
    }

    /// Numbers of 1 byte.
    pub fn bytes(&mut self, values: impl Iterator<Item = u8>) {
        self.0.extend(values);
    }

    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}
