//! Rows of GPU time: work of the GPU that CUPTI reported. They are EXTENDED records of `crate::record` and belong to
//! no thread. Both sides use this file: a library in the target packs rows into words, and the reader unpacks them.
//!
//! The words of a row begin behind the record's first word:
//!
//! | row | words |
//! | --- | --- |
//! | all | start, end, device and context, stream and correlation id (the second of a pair is in the upper half) |
//! | kernel | name and grid x, [grid y, grid z, block x, block y], [block z, registers] and static shared memory, |
//! | | dynamic shared memory and graph, node |
//! | copy | bytes, [kind, source, destination, flags: 8 bits each] and graph, node |
//! | set | bytes, value and graph, node |
//! | driver call | thread and callback id |
//! | clock | CUPTI's clock |
//! | state | CUPTI's version and reason, dropped records, records of unknown kinds |
//!
//! The word of the node of a graph is left out where there is no graph. Times are nanoseconds of CUPTI's clock. Only a
//! clock row has CLOCK_MONOTONIC as its start and end, before and after CUPTI's clock was read. Times are kept
//! unchanged, also if they are 0 or reversed. The parts in brackets have 16 bits. A larger number is written as 65535.

/// The first sub-kind of an EXTENDED record that is a row.
pub const ROWS: u8 = 128;
/// Words of a row's record before those of its kind.
pub const ROW_WORDS: u32 = 5;

/// A kernel that ran.
pub const KERNEL: u8 = ROWS;
/// A copy.
pub const COPY: u8 = ROWS + 1;
/// A set of memory.
pub const SET: u8 = ROWS + 2;
/// A call of a driver function that submitted work.
pub const DRIVER_CALL: u8 = ROWS + 3;
/// A reading of CUPTI's clock between two of CLOCK_MONOTONIC.
pub const CLOCK: u8 = ROWS + 4;
/// How the collection is: the version of CUPTI, why it does not work, what is missing.
pub const STATE: u8 = ROWS + 5;

/// As the device of a state row: the driver is the simulated one, and times are invented.
pub const SIMULATED: u32 = 1;

/// The file of the injection, beside that of the preload.
pub const INJECTION_FILE: &[u8] = b"libcutap_gpu_time.so";

/// Words that every row begins with.
const COMMON: usize = ROW_WORDS as usize - 1;
/// Most words of a row.
pub const MAX_WORDS: usize = COMMON + 5;

/// Why rows are missing.
pub mod reason {
    /// They are not.
    pub const NONE: u32 = 0;
    /// No libcupti was found.
    pub const NO_CUPTI: u32 = 1;
    /// libcupti could not be loaded.
    pub const NOT_LOADED: u32 = 2;
    /// libcupti has not the functions that are needed.
    pub const NO_FUNCTIONS: u32 = 3;
    /// The records of this version are not known.
    pub const UNKNOWN_VERSION: u32 = 4;
    /// The host does not permit profiling.
    pub const NOT_PERMITTED: u32 = 5;
    /// Another tool has CUPTI.
    pub const TAKEN: u32 = 6;
    /// CUPTI refused for another reason.
    pub const REFUSED: u32 = 7;
    /// The thread that asks for rows could not be started.
    pub const NO_THREAD: u32 = 8;
    /// They were there until the program began to profile.
    pub const TAKEN_LATER: u32 = 9;
    /// They were there until `cutap ctl` switched them off.
    pub const SWITCHED_OFF: u32 = 10;
}

/// Whether rows are wanted now: what the preload answers to the injection.
pub mod wanted {
    /// They are.
    pub const YES: u32 = 0;
    /// `cutap ctl` switched them off.
    pub const NO: u32 = 1;
    /// The program profiles itself, so CUPTI is its own.
    pub const BY_PROGRAM: u32 = 2;
}

/// What every row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowPlace {
    /// See the top of the file.
    pub start: u64,
    /// See the top of the file.
    pub end: u64,
    /// Number of the device.
    pub device: u32,
    /// CUPTI's number of the context.
    pub context: u32,
    /// CUPTI's number of the stream.
    pub stream: u32,
    /// The correlation id: the number of the submission.
    pub correlation: u32,
}

/// The node of a graph that work belonged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GraphPlace {
    /// Id of the executable graph; 0: no graph.
    pub graph: u32,
    /// Id of its node; 0: no graph.
    pub node: u64,
}

/// What a row has beside its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowContent {
    /// A kernel.
    Kernel(Kernel),
    /// A copy.
    Copy(Copied),
    /// A set.
    Set {
        /// Bytes.
        bytes: u64,
        /// The value of an element.
        value: u32,
        /// The node.
        node: GraphPlace,
    },
    /// A call of a driver function.
    DriverCall {
        /// The thread that called.
        thread: u32,
        /// Callback id of the function.
        function: u32,
    },
    /// A reading of CUPTI's clock.
    Clock {
        /// What it said.
        time: u64,
    },
    /// How the collection is.
    State(State),
}

/// A kernel that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kernel {
    /// Id of its name, as the names stream has it.
    pub name: u32,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory of a block in bytes.
    pub static_shared: u32,
    /// Dynamic shared memory of a block in bytes.
    pub dynamic_shared: u32,
    /// The node.
    pub node: GraphPlace,
}

/// A copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// Bytes.
    pub bytes: u64,
    /// CUpti_ActivityMemcpyKind.
    pub kind: u8,
    /// CUpti_ActivityMemoryKind of source and destination.
    pub memory_kinds: [u8; 2],
    /// CUpti_ActivityFlag.
    pub flags: u8,
    /// The node.
    pub node: GraphPlace,
}

/// How the collection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// What cuptiGetVersion returned, 0 without CUPTI.
    pub version: u32,
    /// Why there are no rows ([`reason`]).
    pub reason: u32,
    /// Records that CUPTI dropped since it started.
    pub dropped: u64,
    /// Records of kinds that were not asked for.
    pub unknown: u64,
}

/// The words of a row, for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedRow {
    /// What kind of row it is: [`KERNEL`] and so on.
    pub sub_kind: u8,
    words: [u64; MAX_WORDS],
    count: usize,
}

impl PackedRow {
    /// Its words.
    pub fn words(&self) -> &[u64] {
        self.words.get(..self.count).unwrap_or(&[])
    }
}

/// A row of GPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// What all rows have.
    pub place: RowPlace,
    /// What this kind of row has.
    pub content: RowContent,
}

const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

const fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// The lower half of four numbers of 16 bits, and so on.
fn quarters(numbers: [u32; 4]) -> u64 {
    let clamped = |number: u32| u64::from(number.min(u32::from(u16::MAX)));
    numbers.iter().rev().fold(0, |word, number| word << 16 | clamped(*number))
}

const fn of_quarters(word: u64) -> [u32; 4] {
    [word as u16 as u32, (word >> 16) as u16 as u32, (word >> 32) as u16 as u32, (word >> 48) as u32]
}

impl Row {
    /// Whether it is a kernel, a copy or a set, and nothing on the collection.
    pub fn is_work(&self) -> bool {
        matches!(self.content, RowContent::Kernel(_) | RowContent::Copy(_) | RowContent::Set { .. })
    }

    /// The node of a graph that it is; of graph 0 if it is none.
    pub fn graph_node(&self) -> GraphPlace {
        match self.content {
            RowContent::Kernel(kernel) => kernel.node,
            RowContent::Copy(copied) => copied.node,
            RowContent::Set { node, .. } => node,
            RowContent::DriverCall { .. } | RowContent::Clock { .. } | RowContent::State(_) => GraphPlace::default(),
        }
    }

    /// As a record has it.
    pub fn pack(&self) -> PackedRow {
        let place = &self.place;
        let (sub_kind, own, node) = match self.content {
            RowContent::Kernel(Kernel { name, grid, block, registers, static_shared, dynamic_shared, node }) => {
                let own = [
                    pair(name, grid[0]),
                    quarters([grid[1], grid[2], block[0], block[1]]),
                    quarters([block[2], registers, 0, 0]) | pair(0, static_shared),
                    pair(dynamic_shared, node.graph),
                ];
                (KERNEL, (own, 4), node)
            }
            RowContent::Copy(Copied { bytes, kind, memory_kinds: [source, destination], flags, node }) => {
                let kinds = u32::from_le_bytes([kind, source, destination, flags]);
                (COPY, ([bytes, pair(kinds, node.graph), 0, 0], 2), node)
            }
            RowContent::Set { bytes, value, node } => (SET, ([bytes, pair(value, node.graph), 0, 0], 2), node),
            RowContent::DriverCall { thread, function } => {
                (DRIVER_CALL, ([pair(thread, function), 0, 0, 0], 1), GraphPlace::default())
            }
            RowContent::Clock { time } => (CLOCK, ([time, 0, 0, 0], 1), GraphPlace::default()),
            RowContent::State(State { version, reason, dropped, unknown }) => {
                (STATE, ([pair(version, reason), dropped, unknown, 0], 3), GraphPlace::default())
            }
        };
        let common = [place.start, place.end, pair(place.device, place.context), pair(place.stream, place.correlation)];
        let (own, own_count) = own;
        let has_node = node != GraphPlace::default();
        let all = common.into_iter().chain(own.into_iter().take(own_count)).chain(has_node.then_some(node.node));
        let mut packed = PackedRow { sub_kind, words: [0; MAX_WORDS], count: 0 };
        for (to, word) in packed.words.iter_mut().zip(all) {
            *to = word;
            packed.count += 1;
        }
        packed
    }

    /// From the words of a record. None for a kind of row that is not known here, and for too few words.
    pub fn unpack(sub_kind: u8, words: &[u64]) -> Option<Row> {
        let (common, own) = words.split_first_chunk::<COMMON>()?;
        let [start, end, unit, order] = *common;
        let ([device, context], [stream, correlation]) = (halves(unit), halves(order));
        let place = RowPlace { start, end, device, context, stream, correlation };
        let at = |n: usize| own.get(n).copied();
        let node_behind = |n: usize, graph: u32| GraphPlace { graph, node: at(n).unwrap_or(0) };
        let content = match sub_kind {
            KERNEL => {
                let ([name, grid_x], [grid_y, grid_z, block_x, block_y]) = (halves(at(0)?), of_quarters(at(1)?));
                let ([block_z, registers, ..], [_, static_shared]) = (of_quarters(at(2)?), halves(at(2)?));
                let [dynamic_shared, graph] = halves(at(3)?);
                let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
                let node = node_behind(4, graph);
                RowContent::Kernel(Kernel { name, grid, block, registers, static_shared, dynamic_shared, node })
            }
            COPY => {
                let (bytes, [kinds, graph]) = (at(0)?, halves(at(1)?));
                let [kind, source, destination, flags] = kinds.to_le_bytes();
                let memory_kinds = [source, destination];
                RowContent::Copy(Copied { bytes, kind, memory_kinds, flags, node: node_behind(2, graph) })
            }
            SET => {
                let (bytes, [value, graph]) = (at(0)?, halves(at(1)?));
                RowContent::Set { bytes, value, node: node_behind(2, graph) }
            }
            DRIVER_CALL => {
                let [thread, function] = halves(at(0)?);
                RowContent::DriverCall { thread, function }
            }
            CLOCK => RowContent::Clock { time: at(0)? },
            STATE => {
                let [version, reason] = halves(at(0)?);
                RowContent::State(State { version, reason, dropped: at(1)?, unknown: at(2)? })
            }
            _ => return None,
        };
        Some(Row { place, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: RowPlace =
        RowPlace { start: 1 << 60, end: 3, device: 1, context: 2, stream: 7, correlation: u32::MAX };
    const NODE: GraphPlace = GraphPlace { graph: 9, node: 9 << 32 | 4 };

    fn kernel(node: GraphPlace) -> Kernel {
        Kernel {
            name: 12,
            grid: [u32::MAX >> 1, 65535, 3],
            block: [1024, 5, 64],
            registers: 255,
            static_shared: 49152,
            dynamic_shared: 232_448,
            node,
        }
    }

    #[test]
    fn rows_are_read_back() {
        let copied = Copied { bytes: 1 << 40, kind: 10, memory_kinds: [3, 2], flags: 1, node: NODE };
        let none = GraphPlace::default();
        for (content, sub_kind, count) in [
            (RowContent::Kernel(kernel(NODE)), KERNEL, 9),
            (RowContent::Kernel(kernel(none)), KERNEL, 8),
            (RowContent::Copy(copied), COPY, 7),
            (RowContent::Copy(Copied { node: none, ..copied }), COPY, 6),
            (RowContent::Set { bytes: 5, value: u32::MAX, node: NODE }, SET, 7),
            (RowContent::Set { bytes: 5, value: 0, node: none }, SET, 6),
            (RowContent::DriverCall { thread: 70_000, function: 307 }, DRIVER_CALL, 5),
            (RowContent::Clock { time: 1 << 61 }, CLOCK, 5),
            (RowContent::State(State { version: 130_001, reason: 5, dropped: 6, unknown: 7 }), STATE, 7),
        ] {
            let row = Row { place: PLACE, content };
            let packed = row.pack();
            assert_eq!((packed.sub_kind, packed.words().len()), (sub_kind, count));
            assert_eq!(Row::unpack(packed.sub_kind, packed.words()), Some(row));
            let without_node = count - usize::from(matches!(count, 7 | 9) && sub_kind != STATE);
            for short in 0..without_node {
                assert_eq!(Row::unpack(sub_kind, &packed.words()[..short]), None, "{sub_kind} {short}");
            }
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_the_largest_ones() {
        let wide = Kernel { grid: [1, 70_000, 1], ..Kernel::default() };
        let packed = Row { place: PLACE, content: RowContent::Kernel(wide) }.pack();
        let Some(Row { content: RowContent::Kernel(read), .. }) = Row::unpack(KERNEL, packed.words()) else { panic!() };
        assert_eq!(read.grid, [1, 65535, 1]);
    }

    #[test]
    fn rows_of_other_kinds() {
        assert_eq!((Row::unpack(255, &[0; 9]), Row::unpack(KERNEL, &[])), (None, None));
    }
}
