//! Activity records of CUPTI: their sizes by version, and reads of their fields.

use crate::generated::gpu_time::{AMOUNTS, COPY_KINDS, DRIVER_FUNCTIONS, OWN_SUBSCRIBER, PREFIX, QUERIES, VERSIONS};
use crate::glob;

/// A version of CUPTI, and the bytes of its records.
#[derive(Debug, PartialEq, Eq)]
pub struct Version {
    /// As its wheels are called: `13.0`.
    pub name: &'static str,
    /// What cuptiGetVersion returns. Two versions have the same number, and differ in the size of a kernel's record.
    pub number: u32,
    /// Bytes of a kernel's record.
    pub kernel: usize,
    /// Bytes of a copy's record.
    pub copy: usize,
    /// Bytes of a set's record.
    pub set: usize,
    /// It has cuptiActivityEnableDriverApi.
    pub driver_filter: bool,
}

/// A driver function that submits work.
#[derive(Debug)]
pub struct DriverFunction {
    /// CUpti_driver_api_trace_cbid.
    pub id: u32,
    /// The exported name.
    pub name: &'static str,
    /// The number of the first version that has the id.
    pub since: u32,
}

/// How many bytes the rows of a call have together.
#[derive(Debug)]
pub struct Amount {
    /// The function's name, with `*`.
    pub function: &'static str,
    /// Bytes of an element.
    pub unit: u64,
    /// Parameters, or fields of a structure among them, whose product is the number of elements.
    pub factors: &'static [&'static str],
}

/// A field of a record.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its place in bytes.
    pub offset: usize,
    /// 1, 2, 4 or 8.
    pub bytes: usize,
}

impl Field {
    /// The field of a record; 0 if the record ends before it.
    pub fn get(self, record: &[u8]) -> u64 {
        let field = self.offset.checked_add(self.bytes).and_then(|end| record.get(self.offset..end)).unwrap_or(&[]);
        field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    /// Writes the field. What is beyond the end of the record is left out.
    pub fn put(self, record: &mut [u8], value: u64) {
        for (to, byte) in record.iter_mut().skip(self.offset).take(self.bytes).zip(value.to_le_bytes()) {
            *to = byte;
        }
    }
}

/// The direction of a copy, by CUpti_ActivityMemcpyKind.
pub fn copy_kind(kind: u8) -> &'static str {
    COPY_KINDS.get(usize::from(kind)).copied().unwrap_or("unknown")
}

/// The version that is called so.
pub fn version_named(name: &str) -> Option<&'static Version> {
    VERSIONS.iter().find(|version| version.name == name)
}

/// Whether the records of a version are known, by its number. Releases between two known versions have the records of
/// one of them. Those after the newest version count only if they are updates of it.
pub fn is_known(number: u32) -> bool {
    const UPDATES: u32 = 100;
    let of = |version: Option<&Version>| version.map_or(0, |version| version.number);
    let newest_minor = of(VERSIONS.last()) / UPDATES;
    number >= of(VERSIONS.first()) && number / UPDATES <= newest_minor
}

/// How many bytes the rows of a call of this driver function have together; none where that is not known.
pub fn amount(function: &str) -> Option<&'static Amount> {
    AMOUNTS.iter().find(|amount| glob(amount.function.as_bytes(), function.as_bytes()))
}

/// Driver functions that submit work, as a version knows them.
pub fn driver_functions(number: u32) -> impl Iterator<Item = &'static DriverFunction> {
    DRIVER_FUNCTIONS.iter().filter(move |function| function.since <= number)
}

/// Whether a call of this function of libcupti begins to profile.
pub fn begins_to_profile(name: &[u8]) -> bool {
    name.starts_with(PREFIX.as_bytes()) && !QUERIES.iter().any(|query| query.as_bytes() == name)
}

/// Whether CUPTI refuses this function where its global family was used.
pub fn needs_own_subscriber(name: &[u8]) -> bool {
    OWN_SUBSCRIBER.iter().any(|function| function.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::gpu_time::kernel;

    #[test]
    fn fields_are_read_where_they_were_written() {
        let mut record = [0; 176];
        kernel::REGISTERS.put(&mut record, 0x1_ffff);
        kernel::GRAPH_NODE.put(&mut record, 7 << 32 | 3);
        assert_eq!(kernel::REGISTERS.get(&record), 0xffff);
        assert_eq!(kernel::GRAPH_NODE.get(&record), 7 << 32 | 3);
        assert_eq!((record[8], kernel::GRAPH_NODE.get(&record[..150])), (0, 0));
        kernel::GRAPH_NODE.put(&mut record[..10], 1);
    }

    #[test]
    fn numbers_of_known_versions() {
        let of = |numbers: [u32; 8]| numbers.map(is_known);
        let expected = [false, true, true, true, true, true, false, false];
        assert_eq!(of([16, 17, 18, 28, 130_001, 130_502, 130_600, 140_000]), expected);
        assert_eq!(version_named("13.0").map(|version| version.kernel), Some(216));
        assert_eq!(version_named("9.9"), None);
    }

    #[test]
    fn calls_of_a_profiler() {
        let names = ["cuptiActivityRegisterCallbacks", "cuptiSubscribe_v2", "cuptiGetVersion", "cuLaunchKernel"];
        assert_eq!(names.map(|name| begins_to_profile(name.as_bytes())), [true, true, false, false]);
        assert_eq!(names.map(|name| needs_own_subscriber(name.as_bytes())), [false, true, false, false]);
    }

    #[test]
    fn functions_of_a_version() {
        assert_eq!(crate::generated::gpu_time::function::cuGraphLaunch, 514);
        assert!(driver_functions(28).all(|function| function.name != "cuMemcpyBatchAsync_v2"));
        assert!(driver_functions(130_001).any(|function| function.name == "cuMemcpyBatchAsync_v2"));
    }
}
