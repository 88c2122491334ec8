//! Makes the calls of a program on the model, and keeps each as cutap's capture would.

use crate::memory::{Memory, Pieces};
use crate::model::Model;
use cutap_kernel::{Action, Head, Ioctl, KernelCall, Parent, Piece, Run};
use cutap_rm::{Tables, escape_of};

/// A process on the model.
#[derive(Debug)]
pub struct Recorder {
    /// The driver.
    pub model: Model,
    /// The memory of the process.
    pub memory: Pieces,
    /// What it did.
    pub run: Run,
    /// The CUDA call in which it is.
    pub inside: Option<&'static str>,
    tables: Tables,
}

impl Recorder {
    /// A new process on a new model.
    pub fn new(tables: Tables) -> Self {
        let head = Head { driver: Some(tables.release().to_owned()), source: Some("model".into()), ..Head::default() };
        let run = Run { head, ..Run::default() };
        Self { model: Model::new(tables), memory: Pieces::default(), run, inside: None, tables }
    }

    fn keep(&mut self, action: Action, result: i64) -> i64 {
        let parent = self.inside.map(|name| Parent { name: name.to_owned(), id: None });
        let time = 1000 * (self.run.calls.len() as u64 + 1);
        let call = KernelCall {
            pid: 100,
            tid: 100,
            time_ns: Some(time),
            duration_ns: Some(500),
            result: Some(result),
            parent,
            ..KernelCall::new(action)
        };
        self.run.calls.push(call);
        result
    }

    /// Opens a node.
    pub fn open(&mut self, path: &str) -> i32 {
        let fd = self.model.open(path);
        self.keep(Action::Open { path: path.to_owned(), flags: 0x8_0002, stream: String::new() }, fd);
        i32::try_from(fd).unwrap_or(-1)
    }

    pub fn close(&mut self, fd: i32) -> i64 {
        let path = self.model.path(fd).to_owned();
        let done = self.model.close(fd);
        self.keep(Action::Close { fd, path }, done)
    }

    /// Maps what was prepared for it.
    pub fn mmap(&mut self, fd: i32, length: u64) -> i64 {
        let path = self.model.path(fd).to_owned();
        let at = self.model.mmap(fd, length);
        self.keep(Action::Mmap { fd, path, address: 0, length, protection: 3, flags: 1, offset: 0 }, at)
    }

    /// Makes a request; the argument comes back as the driver left it. `inside`: addresses and bytes that the
    /// argument leads to.
    pub fn ioctl(&mut self, fd: i32, request: u32, argument: &mut [u8], inside: &[(u64, usize)]) -> i64 {
        let path = self.model.path(fd).to_owned();
        let at = self.memory.place(argument);
        let read = |memory: &Pieces, (at, len): &(u64, usize)| memory.read(*at, *len).unwrap_or_default();
        let before: Vec<Vec<u8>> = inside.iter().map(|piece| read(&self.memory, piece)).collect();
        let result = self.model.ioctl(fd, request, at, &mut self.memory);
        let after = read(&self.memory, &(at, argument.len()));
        let piece = |(of, before): (&(u64, usize), Vec<u8>)| {
            let after = Some(read(&self.memory, of)).filter(|after| *after != before);
            Piece { address: of.0, before, after }
        };
        let ioctl = Ioctl {
            fd,
            path,
            request: request.into(),
            argument: at,
            before: Some(argument.to_vec()),
            after: Some(after.clone()).filter(|after| after != argument),
            memory: inside.iter().zip(before).map(piece).collect(),
            partial: false,
        };
        assert_eq!(escape_of(request).1, argument.len());
        argument.copy_from_slice(&after);
        self.keep(Action::Ioctl(ioctl), result)
    }

    /// The tables of the driver.
    pub fn tables(&self) -> Tables {
        self.tables
    }
}
