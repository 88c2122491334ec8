//! The stacks of one process: unwound, and each frame named. An address means the same each time that it is met, until
//! something is loaded; so what is known of one is looked up once, and stacks that lead through the same places are one
//! list of frames.

use crate::files::Files;
use crate::map::{Era, Map};
use crate::memory::Raw;
use crate::perf_map::PerfMap;
use crate::unwind::{State, Stop};
use std::collections::HashMap;
use std::sync::Arc;

/// Frames of a recursion that are followed.
const MOST: usize = 1024;
/// Frames that are kept, of places and of stacks; beyond it all are looked up again.
const KEPT: usize = 1 << 18;
/// Our own library, whose frames stand around calls that another call makes.
const OURS: &str = "libcutap_preload.so";

/// The frame between a signal handler and what it interrupted, as debuggers call it.
const SIGNAL: &str = "<signal handler called>";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Where it continues: behind its call.
    pub address: u64,
    /// SONAME or file name of the object that the address lies in.
    pub object: Option<Arc<str>>,
    /// The address in that object's file.
    pub offset: u64,
    /// The function, and how far into it the address is; that is not known of an inlined one.
    pub function: Option<(Arc<str>, Option<u64>)>,
    /// It stands inside the next one.
    pub inlined: bool,
    /// A frame of Python: the offset is one in its code, and there is no address.
    pub is_python: bool,
    /// File and line.
    pub source: Option<(Arc<str>, u32)>,
    /// No function that is running: it made a node of PyTorch's autograd, of this type, which a backward pass runs.
    pub node: Option<Arc<str>>,
}

/// Why there is no frame behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// It was the first of the thread.
    Outermost,
    /// What comes next was not copied.
    NotCopied,
    /// Nobody knows where its caller is.
    Unknown,
}

/// The frames of a call, the caller first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    pub frames: Arc<[Frame]>,
    /// Why there are no more.
    pub end: End,
}

/// What is known of one process's code.
#[derive(Debug, Default)]
pub struct Stacks {
    /// What it had loaded.
    pub map: Map,
    /// Places that were met: the address at which it continues, and whether a signal came there.
    places: HashMap<(Era, u64, bool), u32>,
    continuations: Vec<Continuation>,
    /// Stacks that were met, by their places.
    stacks: HashMap<Box<[u32]>, Arc<[Frame]>>,
    /// Frames in both.
    frame_count: usize,
    /// See [`Era::changes`].
    changes: usize,
    perf: Option<PerfMap>,
}

/// A process, for code that it made at run time.
#[derive(Debug, Clone, Copy)]
pub struct Of {
    /// Its id.
    pub pid: u32,
    /// When it began, nanoseconds since 1970.
    pub start_unix_ns: u64,
}

impl Stacks {
    /// Unwinds a stack that was copied at `ticks`. Of a call that a runtime reports the first frame is the function
    /// itself (`inside`).
    pub fn unwind(&mut self, files: &mut Files, raw: &Raw, ticks: u64, of: Of, inside: bool) -> Stack {
        let mut state = State::new(&raw.registers);
        let era = self.era(ticks);
        let (mut places, mut interrupted) = (Vec::new(), false);
        let mut end = End::Unknown;
        for n in 0..MOST {
            let place = self.place(files, era, (state.address(), interrupted), ticks, of);
            if n > 0 || !inside {
                places.push(place);
            }
            let unwind_row = self.continuations[place as usize].unwind_row.clone();
            let next = match &unwind_row {
                Found::Row(row) => state.step(row, raw),
                Found::None => self.by_rbp(&state, raw, ticks, of),
                Found::Absent => break,
            };
            state = match next {
                Ok(next) => next,
                Err(stop) => {
                    end = match stop {
                        Stop::Outermost => End::Outermost,
                        Stop::NotCopied => End::NotCopied,
                        Stop::Broken => End::Unknown,
                    };
                    break;
                }
            };
            interrupted = matches!(&unwind_row, Found::Row(row) if row.signal);
        }
        Stack { frames: self.frames(&places), end }
    }

    /// Forgets what may mean something else by now, or has become too much.
    fn era(&mut self, ticks: u64) -> Era {
        let era = self.map.era(ticks);
        if era.changes != self.changes || self.frame_count > KEPT {
            (self.changes, self.frame_count) = (era.changes, 0);
            self.places.clear();
            self.continuations.clear();
            self.stacks.clear();
        }
        era
    }

    /// What is known of the place where a frame continues.
    fn place(&mut self, files: &mut Files, era: Era, (address, interrupted): (u64, bool), ticks: u64, of: Of) -> u32 {
        let key = (era, address, interrupted);
        if let Some(known) = self.places.get(&key) {
            return *known;
        }
        // A call may be the last thing in its function, and what lies behind it another one.
        let at = address.wrapping_sub(u64::from(!interrupted));
        let load = self.map.find(at, ticks);
        let unwind_row = self.row(files, load, at);
        let mut frames = self.name(files, load, at, address, of);
        // It has no name in the file: the kernel made it return here.
        if let (Some(frame), Found::Row(row)) = (frames.last_mut(), &unwind_row)
            && row.signal
        {
            frame.function = Some((SIGNAL.into(), None));
        }
        let number = self.continuations.len() as u32;
        self.frame_count += 1 + frames.len();
        self.continuations.push(Continuation { unwind_row, frames: frames.into() });
        self.places.insert(key, number);
        number
    }

    /// The frames at these places.
    fn frames(&mut self, places: &[u32]) -> Arc<[Frame]> {
        if let Some(known) = self.stacks.get(places) {
            return known.clone();
        }
        let frames =
            places.iter().filter_map(|n| self.continuations.get(*n as usize)).flat_map(|p| p.frames.iter().cloned());
        let frames: Arc<[Frame]> = frames.collect();
        self.frame_count += places.len() + frames.len();
        self.stacks.insert(places.into(), frames.clone());
        frames
    }

    /// By the frame pointer, as far as that leads to code.
    fn by_rbp(&mut self, state: &State, raw: &Raw, ticks: u64, of: Of) -> Result<State, Stop> {
        let next = state.step_by_rbp(raw)?;
        let at = next.address().wrapping_sub(1);
        let is_code = self.map.find(at, ticks).is_some() || self.perf(of).at(at).is_some();
        if is_code { Ok(next) } else { Err(Stop::Broken) }
    }

    fn row(&mut self, files: &mut Files, load: Option<usize>, at: u64) -> Found {
        let Some((load, object)) = load.and_then(|n| self.map.get(n)) else { return Found::None };
        let Some(file) = files.find(load, object).and_then(|n| files.get(n)) else { return Found::Absent };
        match file.row(at.wrapping_sub(load.bias)) {
            Some(row) => Found::Row(row),
            None => Found::None,
        }
    }

    fn perf(&mut self, of: Of) -> &PerfMap {
        self.perf.get_or_insert_with(|| PerfMap::read(of.pid, of.start_unix_ns))
    }

    /// The frames at an address: the function, and those that are inlined there. `address` is where it continues.
    fn name(&mut self, files: &mut Files, load: Option<usize>, at: u64, address: u64, of: Of) -> Vec<Frame> {
        let Some((load, object)) = load.and_then(|n| self.map.get(n)) else {
            let function = self.perf(of).at(at).map(|(name, into)| (name, Some(into + address - at)));
            return vec![Frame {
                address,
                object: None,
                offset: address,
                function,
                inlined: false,
                is_python: false,
                source: None,
                node: None,
            }];
        };
        if &*object.name == OURS {
            return Vec::new();
        }
        let offset = address.wrapping_sub(load.bias);
        let plain = Frame {
            address,
            object: Some(object.name.clone()),
            offset,
            function: None,
            inlined: false,
            is_python: false,
            source: None,
            node: None,
        };
        let Some(file) = files.find(load, object).and_then(|n| files.get(n)) else { return vec![plain] };
        let at_in_file = at.wrapping_sub(load.bias);
        let symbol = file.function(at_in_file).map(|(name, into)| (name, Some(into + address - at)));
        let places = file.places(at_in_file);
        let Some(outer) = places.len().checked_sub(1) else { return vec![Frame { function: symbol, ..plain }] };
        let frames = places.into_iter().enumerate().map(|(n, place)| {
            let named = place.function.map(|name| (name, None));
            let function = if n == outer { symbol.clone().or(named) } else { named };
            Frame { function, inlined: n != outer, source: place.source, ..plain.clone() }
        });
        frames.collect()
    }
}

/// A place where a frame continues.
#[derive(Debug)]
struct Continuation {
    unwind_row: Found,
    frames: Box<[Frame]>,
}

/// What is known of how to continue.
#[derive(Debug, Clone)]
enum Found {
    Row(Arc<crate::rows::Row>),
    /// Code without tables.
    None,
    /// The file is of no use.
    Absent,
}
