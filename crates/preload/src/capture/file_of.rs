//! The path of the file that a descriptor leads to, at the moment of a call.
//!
//! Thousands of ioctls go to a few device nodes, and the kernel makes a path from its parts each time. So the paths of
//! device nodes are kept by the node's numbers. Each call asks which node its descriptor is. A signal handler, or a
//! forked child, that finds a place in use asks the kernel for the path.

use crate::process::path::Path;
use crate::sys;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering::*};

/// Bytes of a path.
pub const PATH: usize = 256;
const PLACES: usize = 16;

struct Place {
    in_use: AtomicBool,
    node: UnsafeCell<Node>,
}

struct Node {
    numbers: [u64; 3],
    length: usize,
    path: [u8; PATH],
}

// SAFETY: only the call that set `in_use` touches `node`, until it clears `in_use`.
unsafe impl Sync for Place {}

static NODES: [Place; PLACES] = [const {
    let node = Node { numbers: [0; 3], length: 0, path: [0; PATH] };
    Place { in_use: AtomicBool::new(false), node: UnsafeCell::new(node) }
}; PLACES];

/// Where a descriptor leads to; empty if it is none.
pub fn file_of(fd: i32, to: &mut [u8; PATH]) -> &[u8] {
    let length = match sys::device_node(fd) {
        Some(numbers) => path_of(numbers, fd, to),
        None => read(fd, to),
    };
    to.get(..length).unwrap_or(&[])
}

fn path_of(numbers: [u64; 3], fd: i32, to: &mut [u8; PATH]) -> usize {
    let [_, inode, _] = numbers;
    let Some(place) = NODES.get(inode as usize % PLACES).filter(|place| !place.in_use.swap(true, Acquire)) else {
        return read(fd, to);
    };
    // SAFETY: `in_use` was clear, and is set by this call alone.
    let node = unsafe { &mut *place.node.get() };
    if node.numbers == numbers {
        *to = node.path;
    } else {
        node.length = read(fd, to);
        node.path = *to;
        // The number may lead elsewhere by now.
        node.numbers = if sys::device_node(fd) == Some(numbers) { numbers } else { [0; 3] };
    }
    let length = node.length;
    place.in_use.store(false, Release);
    length
}

fn read(fd: i32, to: &mut [u8; PATH]) -> usize {
    let mut path = Path::empty();
    path.push(b"/proc/self/fd/").number(fd as u64);
    sys::read_link(path.bytes(), to)
}
