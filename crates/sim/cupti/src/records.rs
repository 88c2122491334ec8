//! The bytes of activity records, in the layout of a version.

use cutap_calls::generated::gpu_time::{
    COPY_KINDS, DRIVER_CALL_BYTES, copy, driver_call, kernel, kind, memory_kind, set,
};
use cutap_calls::gpu_time::{Field, Version};
use cutap_machine::{SubmittedWork, WorkKind};

/// Start and end in nanoseconds.
pub type Times = [u64; 2];

/// The bytes of a record by its kind. None for a kind that is not written.
pub fn size(version: &Version, of: u32) -> Option<usize> {
    match of {
        kind::KERNEL => Some(version.kernel),
        kind::COPY => Some(version.copy),
        kind::SET => Some(version.set),
        kind::DRIVER_CALL => Some(DRIVER_CALL_BYTES),
        _ => None,
    }
}

/// The kind of the record of some work.
pub fn kind_of(work: &SubmittedWork) -> u32 {
    match work.kind {
        WorkKind::Kernel => kind::KERNEL,
        WorkKind::Copy => kind::COPY,
        WorkKind::Set => kind::SET,
    }
}

/// An empty record.
fn begin(version: &Version, of: u32) -> Vec<u8> {
    let mut record = vec![0; size(version, of).unwrap_or(0)];
    for (to, byte) in record.iter_mut().zip(of.to_le_bytes()) {
        *to = byte;
    }
    record
}

/// The record of some work. `name` is the address of the kernel's name, which must stay there.
pub fn of_work(version: &Version, work: &SubmittedWork, name: u64, correlation: u32, times: Times) -> Vec<u8> {
    let mut record = begin(version, kind_of(work));
    let [start, end] = times;
    macro_rules! common {
        ($module:ident) => {
            $module::START.put(&mut record, start);
            $module::END.put(&mut record, end);
            $module::DEVICE.put(&mut record, work.device.into());
            $module::CONTEXT.put(&mut record, work.context.into());
            $module::STREAM.put(&mut record, work.stream.into());
            $module::CORRELATION.put(&mut record, correlation.into());
            $module::GRAPH.put(&mut record, work.graph.into());
            $module::GRAPH_NODE.put(&mut record, work.graph_node);
        };
    }
    match work.kind {
        WorkKind::Kernel => {
            common!(kernel);
            let fields =
                [kernel::GRID_X, kernel::GRID_Y, kernel::GRID_Z, kernel::BLOCK_X, kernel::BLOCK_Y, kernel::BLOCK_Z];
            for (field, side) in fields.into_iter().zip(work.grid.into_iter().chain(work.block)) {
                field.put(&mut record, side.into());
            }
            kernel::REGISTERS.put(&mut record, work.registers.into());
            kernel::STATIC_SHARED.put(&mut record, work.static_shared.into());
            kernel::DYNAMIC_SHARED.put(&mut record, work.dynamic_shared.into());
            kernel::NAME.put(&mut record, name);
        }
        WorkKind::Copy => {
            common!(copy);
            let kind = COPY_KINDS.iter().position(|name| name.as_bytes() == work.direction);
            copy::KIND.put(&mut record, kind.unwrap_or(0) as u64);
            let [from, _, _, to] = work.direction;
            copy::SOURCE_KIND.put(&mut record, memory_kind_of(from));
            copy::DESTINATION_KIND.put(&mut record, memory_kind_of(to));
            copy::BYTES.put(&mut record, work.bytes);
        }
        WorkKind::Set => {
            common!(set);
            set::BYTES.put(&mut record, work.bytes);
            set::VALUE.put(&mut record, work.value.into());
        }
    }
    record
}

/// The correlation id of a record of work.
fn correlation_of(record: &[u8]) -> Field {
    if record.starts_with(&kind::KERNEL.to_le_bytes()) { kernel::CORRELATION } else { copy::CORRELATION }
}

/// Two records of work get each other's correlation id.
pub fn exchange_ids(one: &mut [u8], other: &mut [u8]) {
    let (of_one, of_other) = (correlation_of(one), correlation_of(other));
    let (id, other_id) = (of_one.get(one), of_other.get(other));
    of_one.put(one, other_id);
    of_other.put(other, id);
}

/// Changes the times of a record of work, which are at the same place for all kinds.
pub fn move_times(record: &mut [u8], start_by: i64, end_by: i64) {
    for (field, by) in [(kernel::START, start_by), (kernel::END, end_by)] {
        let time = field.get(record);
        field.put(record, time.saturating_add_signed(by));
    }
}

/// The kind of memory by its letter in the direction of a copy.
fn memory_kind_of(letter: u8) -> u64 {
    let kind = match letter {
        b'H' => memory_kind::PAGEABLE,
        b'D' => memory_kind::DEVICE,
        b'A' => memory_kind::ARRAY,
        _ => memory_kind::UNKNOWN,
    };
    kind.into()
}

/// The record of a driver call.
pub fn of_driver_call(version: &Version, function: u32, thread: u32, correlation: u32, times: Times) -> Vec<u8> {
    let mut record = begin(version, kind::DRIVER_CALL);
    driver_call::FUNCTION.put(&mut record, function.into());
    driver_call::START.put(&mut record, times[0]);
    driver_call::END.put(&mut record, times[1]);
    driver_call::PROCESS.put(&mut record, std::process::id().into());
    driver_call::THREAD.put(&mut record, thread.into());
    driver_call::CORRELATION.put(&mut record, correlation.into());
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_calls::generated::gpu_time::VERSIONS;

    #[test]
    fn a_copy_in_all_versions() {
        let work = SubmittedWork { kind: WorkKind::Copy, bytes: 64, direction: *b"HtoD", ..SubmittedWork::default() };
        for version in VERSIONS {
            let record = of_work(version, &work, 0, 7, [3, 4]);
            assert_eq!((record.len(), &record[..4]), (version.copy, &[1, 0, 0, 0][..]));
            let got = [copy::BYTES, copy::START, copy::END, copy::CORRELATION].map(|field| field.get(&record));
            assert_eq!(got, [64, 3, 4, 7]);
            assert_eq!([copy::KIND, copy::SOURCE_KIND, copy::DESTINATION_KIND].map(|f| f.get(&record)), [1, 1, 3]);
        }
    }

    #[test]
    fn planted_faults() {
        let work = |kind| SubmittedWork { kind, direction: *b"HtoD", ..SubmittedWork::default() };
        let version = &VERSIONS[0];
        let [mut kernel, mut set] =
            [(WorkKind::Kernel, 7), (WorkKind::Set, 8)].map(|(of, id)| of_work(version, &work(of), 0, id, [30, 40]));
        exchange_ids(&mut kernel, &mut set);
        assert_eq!((kernel::CORRELATION.get(&kernel), set::CORRELATION.get(&set)), (8, 7));
        move_times(&mut kernel, -10, 5);
        move_times(&mut set, 1, 0);
        assert_eq!((kernel::START.get(&kernel), kernel::END.get(&kernel)), (20, 45));
        assert_eq!((set::START.get(&set), set::END.get(&set)), (31, 40));
    }
}
