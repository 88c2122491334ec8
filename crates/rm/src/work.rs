//! What commands ask the GPU to do: launches, copies, fills, writes, semaphores. Single methods: [`crate::submit`].
//!
//! ```
//! use cutap_rm::work::{Piece, Step, steps};
//! // A semaphore: SET_REPORT_SEMAPHORE_A to D of a compute class on subchannel 1.
//! let words = [0x2004_26c0, 2, 0x0460_fff0, 7, 0];
//! let mut classes = [0, 0xcbc0, 0, 0, 0, 0, 0, 0];
//! let work = steps(&mut classes, &[Piece { address: 0x2_0080_0000, words: &words }], |_| None);
//! assert_eq!(work.steps, [Step::Release { address: 0x2_0460_fff0, payload: 7, by: "SET_REPORT_SEMAPHORE" }]);
//! ```

use crate::submit::{Array, Descriptor, Method, Stream, descriptor, method_name};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Commands at an address of the GPU.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The address.
    pub address: u64,
    /// The words.
    pub words: &'a [u32],
}

/// Something that the GPU is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A launch descriptor is sent.
    Launch(Launch),
    /// Memory is copied.
    Copy {
        /// From this address.
        from: u64,
        /// To this one.
        to: u64,
        /// Bytes of a line.
        bytes: u64,
        /// Lines.
        lines: u64,
    },
    /// Memory is filled.
    Fill {
        /// At this address.
        to: u64,
        /// Elements of a line.
        count: u64,
        /// Lines.
        lines: u64,
        /// Bytes of an element.
        element: u64,
        /// The value of an element's first component.
        value: u32,
    },
    /// Words from the commands are written to memory.
    Write {
        /// At this address.
        to: u64,
        /// The bytes that are known.
        bytes: Vec<u8>,
        /// How many bytes are meant.
        length: u64,
    },
    /// A macro of the method expander runs: code that emits methods. libcuda uploads it when it makes a context.
    Macro {
        /// Its number.
        number: u32,
        /// Its parameters.
        words: Vec<u32>,
    },
    /// A semaphore gets a value.
    Release {
        /// Where.
        address: u64,
        /// The value.
        payload: u64,
        /// By which methods.
        by: &'static str,
    },
    /// The channel waits for a semaphore.
    Acquire {
        /// Where.
        address: u64,
        /// The value.
        payload: u64,
    },
}

/// A launch as its descriptor says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// The compute class.
    pub class: u32,
    /// The address of the descriptor.
    pub address: u64,
    /// Its words; none where they are not known.
    pub words: Vec<u32>,
    /// Blocks in each dimension.
    pub grid: [u64; 3],
    /// Threads of a block in each dimension.
    pub block: [u64; 3],
    /// Registers of a thread.
    pub registers: u64,
    /// Bytes of shared memory of a block; what the system uses is among them.
    pub shared: u64,
    /// Address of the program.
    pub program: u64,
    /// Constant buffers: number, address, bytes.
    pub constants: Vec<(u32, u64, u64)>,
    /// The kind, where descriptors have one: 2 is a grid.
    pub kind: Option<u64>,
}

impl Launch {
    /// Whether it starts a grid: other descriptors order grids.
    #[must_use]
    pub fn is_grid(&self) -> bool {
        !self.words.is_empty() && self.grid.iter().all(|n| *n > 0)
    }

    /// From the words of a descriptor.
    #[must_use]
    pub fn of(class: u32, address: u64, words: Vec<u32>) -> Self {
        let mut launch = Self { class, address, ..Self::default() };
        let Some(layout) = descriptor(class).filter(|_| !words.is_empty()) else { return Self { words, ..launch } };
        let get = |names: &[(&str, u32)]| {
            let found = names.iter().find_map(|(name, shift)| Some(layout.get(&words, name)? << shift));
            found.unwrap_or(0)
        };
        // Each name is that of one version of the descriptor.
        launch.grid = [
            get(&[("GRID_WIDTH", 0), ("CTA_RASTER_WIDTH", 0), ("SUB_TASK_GRID_WIDTH", 0)]),
            get(&[("GRID_HEIGHT", 0), ("CTA_RASTER_HEIGHT", 0), ("SUB_TASK_GRID_HEIGHT", 0)]),
            get(&[("GRID_DEPTH", 0), ("CTA_RASTER_DEPTH", 0), ("SUB_TASK_GRID_DEPTH", 0)]),
        ];
        launch.block = [
            get(&[("CTA_THREAD_DIMENSION0", 0), ("SUB_TASK_CTA_THREAD_DIMENSION0", 0)]),
            get(&[("CTA_THREAD_DIMENSION1", 0), ("SUB_TASK_CTA_THREAD_DIMENSION1", 0)]),
            get(&[("CTA_THREAD_DIMENSION2", 0), ("SUB_TASK_CTA_THREAD_DIMENSION2", 0)]),
        ];
        launch.registers = get(&[("REGISTER_COUNT", 0), ("REGISTER_COUNT_V", 0), ("SUB_TASK_REGISTER_COUNT", 0)]);
        launch.shared = get(&[("SHARED_MEMORY_SIZE", 0), ("SUB_TASK_SHARED_MEMORY_SIZE_SHIFTED7", 7)]);
        launch.program = get(&[("PROGRAM_ADDRESS_LOWER", 0), ("SUB_TASK_PROGRAM_ADDRESS_LOWER_SHIFTED4", 4)])
            | get(&[("PROGRAM_ADDRESS_UPPER", 32), ("SUB_TASK_PROGRAM_ADDRESS_UPPER_SHIFTED4", 36)]);
        launch.kind = layout.get(&words, "QMD_TYPE");
        launch.constants = constants(layout, &words);
        Self { words, ..launch }
    }
}

/// The constant buffers that a descriptor says are valid.
fn constants(layout: &'static Descriptor, words: &[u32]) -> Vec<(u32, u64, u64)> {
    let valid = [layout.array("SUB_TASK_CONSTANT_BUFFER_VALID"), layout.array("CONSTANT_BUFFER_VALID")];
    let parts = [
        ["SUB_TASK_CONSTANT_BUFFER_ADDR_LOWER", "SUB_TASK_CONSTANT_BUFFER_ADDR_UPPER", "SUB_TASK_CONSTANT_BUFFER_SIZE"],
        ["CONSTANT_BUFFER_ADDR_LOWER", "CONSTANT_BUFFER_ADDR_UPPER", "CONSTANT_BUFFER_SIZE"],
    ]
    .map(|names| names.map(|name| layout.array(name)));
    let one = |n: u32| {
        let is = |of: &&Array| of.get(words, n) != 0;
        let kind = valid.iter().position(|of| of.as_ref().is_some_and(|of| is(&of)))?;
        let [low, high, size] = parts.get(kind)?.each_ref().map(|of| of.as_ref().map_or(0, |of| of.get(words, n)));
        Some((n, low | high << 32, size))
    };
    (0..8).filter_map(one).collect()
}

/// What commands ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// By order.
    pub steps: Vec<Step>,
    /// Methods, and words that are no header.
    pub methods: usize,
    /// See `methods`.
    pub unknown: usize,
}

/// Kinds of classes, by the low byte of their number.
const COMPUTE: u32 = 0xc0;
const COPY: u32 = 0xb5;

/// What is known of a subchannel.
#[derive(Debug, Default, Clone)]
struct Subchannel {
    /// The newest value of each method, by name.
    values: Vec<(&'static str, u32)>,
    /// Inline data: address, meant bytes, words.
    inline: Option<(u64, u64, Vec<u32>)>,
    /// A macro's call: its number and parameters.
    call: Option<(u32, Vec<u32>)>,
}

impl Subchannel {
    fn set(&mut self, name: &'static str, value: u32) {
        match self.values.iter_mut().find(|(own, _)| *own == name) {
            Some((_, to)) => *to = value,
            None => self.values.push((name, value)),
        }
    }
    fn get(&self, name: &str) -> u64 {
        self.values.iter().find(|(own, _)| *own == name).map_or(0, |(_, value)| u64::from(*value))
    }
    fn wide(&self, high: &str, low: &str) -> u64 {
        self.get(high) << 32 | self.get(low)
    }
}

/// Reads the commands of one channel. `classes` has the class of each subchannel and is kept up to date; `memory` reads
/// launch descriptors that are not among the commands.
pub fn steps(classes: &mut [u32; 8], pieces: &[Piece<'_>], memory: impl Fn(u64) -> Option<Vec<u32>>) -> Work {
    let (subchannels, work, written) = Default::default();
    let mut reader = Reader { classes, subchannels, work, written, memory };
    for piece in pieces {
        let mut stream = Stream::new(piece.words);
        for method in stream.by_ref() {
            reader.work.methods += 1;
            reader.method(&method);
        }
        reader.work.unknown += stream.unknown();
    }
    for n in 0..8 {
        reader.end_inline(n);
        reader.end_call(n);
    }
    reader.work
}

struct Reader<'a, M> {
    classes: &'a mut [u32; 8],
    subchannels: [Subchannel; 8],
    work: Work,
    /// The newest write to each address, as a place among the steps.
    written: BTreeMap<u64, usize>,
    memory: M,
}

impl<M: Fn(u64) -> Option<Vec<u32>>> Reader<'_, M> {
    fn method(&mut self, method: &Method) {
        let Method { subchannel, address, value, .. } = *method;
        let at = usize::from(subchannel & 7);
        if address == 0 {
            if let Some(class) = self.classes.get_mut(at) {
                *class = value & 0xffff;
            }
            return;
        }
        let class = self.classes.get(at).copied().unwrap_or(0);
        let Some((name, element)) = method_name(class, address) else { return };
        if let Some(element) = element {
            return self.macro_method(at, name, element, value);
        }
        self.end_call(at);
        let Some(own) = self.subchannels.get_mut(at) else { return };
        if name == "LOAD_INLINE_DATA" {
            own.inline.iter_mut().for_each(|(_, _, words)| words.push(value));
            return;
        }
        own.set(name, value);
        match (class & 0xff, name) {
            (_, "SEM_EXECUTE") => self.semaphore(at, value),
            (COMPUTE, "LAUNCH_DMA") => {
                self.end_inline(at);
                let Some(own) = self.subchannels.get_mut(at) else { return };
                let length = own.get("LINE_LENGTH_IN") * own.get("LINE_COUNT").max(1);
                own.inline = Some((own.wide("OFFSET_OUT_UPPER", "OFFSET_OUT"), length, Vec::new()));
            }
            (COMPUTE, "SEND_PCAS_A") => self.launch(at, class, u64::from(value) << 8),
            (COMPUTE, "SET_REPORT_SEMAPHORE_D") => {
                self.end_inline(at);
                let Some(own) = self.subchannels.get(at) else { return };
                let address = own.wide("SET_REPORT_SEMAPHORE_A", "SET_REPORT_SEMAPHORE_B");
                let payload = own.get("SET_REPORT_SEMAPHORE_C");
                self.step(Step::Release { address, payload, by: "SET_REPORT_SEMAPHORE" });
            }
            (COPY, "LAUNCH_DMA") => self.copy(at, value),
            _ => {}
        }
    }

    fn step(&mut self, step: Step) {
        self.work.steps.push(step);
    }

    /// A semaphore of the host. Bits 2:0 of SEM_EXECUTE: what is done; 24: the payload has 64 bits.
    fn semaphore(&mut self, at: usize, value: u32) {
        let Some(own) = self.subchannels.get(at) else { return };
        let address = own.wide("SEM_ADDR_HI", "SEM_ADDR_LO");
        let high = if value >> 24 & 1 != 0 { own.get("SEM_PAYLOAD_HI") << 32 } else { 0 };
        let payload = own.get("SEM_PAYLOAD_LO") | high;
        match value & 7 {
            1 => self.step(Step::Release { address, payload, by: "SEM_EXECUTE" }),
            0 | 2..=5 => self.step(Step::Acquire { address, payload }),
            _ => {}
        }
    }

    fn launch(&mut self, at: usize, class: u32, address: u64) {
        self.end_inline(at);
        let step = self.written.get(&address).and_then(|at| self.work.steps.get(*at));
        let inline = step.and_then(|step| if let Step::Write { bytes, .. } = step { Some(words(bytes)) } else { None });
        let words = inline.or_else(|| (self.memory)(address)).unwrap_or_default();
        self.step(Step::Launch(Launch::of(class, address, words)));
    }

    /// Inline data are whole where the next command comes.
    fn end_inline(&mut self, at: usize) {
        let taken = self.subchannels.get_mut(at).and_then(|own| own.inline.take());
        let Some((to, length, words)) = taken else { return };
        let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        self.written.insert(to, self.work.steps.len());
        self.step(Step::Write { to, bytes, length });
    }

    /// Methods with elements have no effect here, but for the call of a macro.
    fn macro_method(&mut self, at: usize, name: &str, element: u32, value: u32) {
        if name == "CALL_MME_MACRO" {
            self.end_inline(at);
            self.end_call(at);
        }
        let Some(own) = self.subchannels.get_mut(at) else { return };
        match name {
            "CALL_MME_MACRO" => own.call = Some((element, [value].into())),
            "CALL_MME_DATA" => own.call.iter_mut().for_each(|(_, words)| words.push(value)),
            _ => {}
        }
    }

    /// A macro runs where its parameters end.
    fn end_call(&mut self, at: usize) {
        let call = self.subchannels.get_mut(at).and_then(|own| own.call.take());
        call.into_iter().for_each(|(number, words)| self.step(Step::Macro { number, words }));
    }

    /// LAUNCH_DMA of a copy class. Bits 1:0: what is transferred; 4:3: the semaphore; 9: several lines; 10: components
    /// are mapped.
    fn copy(&mut self, at: usize, value: u32) {
        let Some(own) = self.subchannels.get(at).cloned() else { return };
        if value & 3 != 0 {
            let from = own.wide("OFFSET_IN_UPPER", "OFFSET_IN_LOWER");
            let to = own.wide("OFFSET_OUT_UPPER", "OFFSET_OUT_LOWER");
            let bytes = own.get("LINE_LENGTH_IN");
            let lines = if value >> 9 & 1 != 0 { own.get("LINE_COUNT") } else { 1 };
            let components = own.get("SET_REMAP_COMPONENTS");
            // The destination takes a constant: components 4 and 5 are A and B.
            let constant = value >> 10 & 1 != 0 && matches!(components & 7, 4 | 5);
            self.step(if constant {
                let element = ((components >> 16 & 3) + 1) * ((components >> 24 & 3) + 1);
                let name = if components & 7 == 4 { "SET_REMAP_CONST_A" } else { "SET_REMAP_CONST_B" };
                Step::Fill { to, count: bytes, lines, element, value: own.get(name) as u32 }
            } else {
                Step::Copy { from, to, bytes, lines }
            });
        }
        if value >> 3 & 3 != 0 {
            let address = own.wide("SET_SEMAPHORE_A", "SET_SEMAPHORE_B");
            self.step(Step::Release { address, payload: own.get("SET_SEMAPHORE_PAYLOAD"), by: "SET_SEMAPHORE" });
        }
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}
