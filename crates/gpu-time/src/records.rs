//! From the bytes of an activity record to a row. Zero or reversed times are passed on unchanged.

use cutap_calls::generated::gpu_time::{copy, driver_call, kernel, kind, set};
use cutap_wire::rows::{Copied, GraphPlace, Kernel, Row, RowContent, RowPlace};

/// Reads the fields that kernels, copies and sets have in common.
macro_rules! common {
    ($module:ident, $record:ident) => {
        (
            RowPlace {
                start: $module::START.get($record),
                end: $module::END.get($record),
                device: $module::DEVICE.get($record) as u32,
                context: $module::CONTEXT.get($record) as u32,
                stream: $module::STREAM.get($record) as u32,
                correlation: $module::CORRELATION.get($record) as u32,
            },
            GraphPlace { graph: $module::GRAPH.get($record) as u32, node: $module::GRAPH_NODE.get($record) },
        )
    };
}

/// The row of a record. `record` begins with the record and may be longer. `name_id` gets the address of the name of a
/// kernel. None for a record of another kind.
pub fn row(record: &[u8], name_id: impl FnOnce(u64) -> u32) -> Option<Row> {
    let of = u32::from_le_bytes(*record.first_chunk()?);
    let (place, content) = match of {
        kind::KERNEL => {
            let (place, node) = common!(kernel, record);
            let number = |field: cutap_calls::gpu_time::Field| field.get(record) as u32;
            let content = Kernel {
                name: name_id(kernel::NAME.get(record)),
                grid: [kernel::GRID_X, kernel::GRID_Y, kernel::GRID_Z].map(number),
                block: [kernel::BLOCK_X, kernel::BLOCK_Y, kernel::BLOCK_Z].map(number),
                registers: number(kernel::REGISTERS),
                static_shared: number(kernel::STATIC_SHARED),
                dynamic_shared: number(kernel::DYNAMIC_SHARED),
                node,
            };
            (place, RowContent::Kernel(content))
        }
        kind::COPY => {
            let (place, node) = common!(copy, record);
            let content = Copied {
                bytes: copy::BYTES.get(record),
                kind: copy::KIND.get(record) as u8,
                memory_kinds: [copy::SOURCE_KIND, copy::DESTINATION_KIND].map(|field| field.get(record) as u8),
                flags: copy::FLAGS.get(record) as u8,
                node,
            };
            (place, RowContent::Copy(content))
        }
        kind::SET => {
            let (place, node) = common!(set, record);
            (place, RowContent::Set { bytes: set::BYTES.get(record), value: set::VALUE.get(record) as u32, node })
        }
        kind::DRIVER_CALL => {
            let place = RowPlace {
                start: driver_call::START.get(record),
                end: driver_call::END.get(record),
                correlation: driver_call::CORRELATION.get(record) as u32,
                ..RowPlace::default()
            };
            let (thread, function) = (driver_call::THREAD.get(record), driver_call::FUNCTION.get(record));
            (place, RowContent::DriverCall { thread: thread as u32, function: function as u32 })
        }
        _ => return None,
    };
    Some(Row { place, content })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_calls::generated::gpu_time::VERSIONS;

    #[test]
    fn a_kernel_in_all_versions() {
        for version in VERSIONS {
            let mut bytes = [0; 256];
            let record = &mut bytes[..version.kernel];
            record[0] = 10;
            kernel::START.put(record, 9);
            kernel::END.put(record, 4);
            kernel::GRID_Y.put(record, 5);
            kernel::NAME.put(record, 0x1000);
            kernel::GRAPH.put(record, 3);
            kernel::GRAPH_NODE.put(record, 3 << 32 | 1);
            let row = row(record, |address| address as u32 + 1).unwrap();
            let node = GraphPlace { graph: 3, node: 3 << 32 | 1 };
            let kernel = Kernel { name: 0x1001, grid: [0, 5, 0], node, ..Kernel::default() };
            assert_eq!((row.place.start, row.place.end, row.content), (9, 4, RowContent::Kernel(kernel)));
        }
    }

    #[test]
    fn other_records_have_no_row() {
        let none = |_| 0;
        assert_eq!((row(&[5, 0, 0, 0], none), row(&[], none)), (None, None));
    }
}
