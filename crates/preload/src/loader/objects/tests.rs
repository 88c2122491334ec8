//! Snapshots of lists that no loader has made: headers and names of the tests' own.

extern crate std;
use super::*;
use std::vec::Vec;

static HEADER: Phdr =
    Phdr { kind: PT_LOAD, flags: 5, offset: 0, vaddr: 0, paddr: 0, filesz: 0x100, memsz: 0x100, align: 0x1000 };

fn object_info(addr: usize, name: &[u8], (adds, subs): (u64, u64)) -> PhdrInfo {
    // SAFETY: numbers and pointers, of which zero is one.
    let mut info: PhdrInfo = unsafe { core::mem::zeroed() };
    (info.adds, info.subs) = (adds, subs);
    (info.addr, info.name, info.phdr, info.phnum) = (addr, name.as_ptr(), &raw const HEADER, 1);
    info
}

fn snapshot(object_info: &[PhdrInfo], before: Option<&Snapshot>) -> &'static mut Snapshot {
    // SAFETY: fresh, and never given back here; the objects have no dynamic section, and their names are the tests'.
    unsafe {
        let s = &mut *Snapshot::new(100);
        object_info.iter().for_each(|info| s.add(info, before));
        s
    }
}

#[test]
fn the_watched_object_that_holds_an_address() {
    let watched: Vec<usize> = [7, 3, 9, 1, 5, 8].iter().map(|n| n * 0x1000).collect();
    let mut all: Vec<PhdrInfo> =
        watched.iter().map(|at| object_info(*at, b"/usr/lib/libcublas.so.13\0", (0, 0))).collect();
    all.insert(2, object_info(0x4000, b"/usr/lib/libc.so.6\0", (0, 0)));
    let s = snapshot(&all, None);
    let owner = |address: usize| s.owner(address).map(|o| o.base);
    for at in watched {
        assert_eq!((owner(at), owner(at + 0xff)), (Some(at), Some(at)), "{at:x}");
        assert_eq!((owner(at - 1), owner(at + 0x100)), (None, None), "{at:x}");
    }
    assert_eq!((owner(0), owner(0x4000), owner(usize::MAX)), (None, None, None));
}

#[test]
fn more_watched_objects_than_there_is_room_for() {
    let all: Vec<PhdrInfo> = (1..=80).rev().map(|n| object_info(n * 0x1000, b"libcublas.so.13\0", (0, 0))).collect();
    let s = snapshot(&all, None);
    assert!((1..=80).all(|n| s.owner(n * 0x1000).is_some_and(|o| o.base == n * 0x1000)));
}

#[test]
fn what_stands_where_something_was_unloaded_is_looked_at_anew() {
    let mut name = *b"libcublas.so.13\0";
    let list = |name: &[u8], counts| [object_info(0x1000, b"libc.so.6\0", counts), object_info(0x2000, name, counts)];
    let before = snapshot(&list(&name, (5, 3)), None);
    before.objects_mut().iter_mut().for_each(|o| (o.id, o.live) = (7, true));
    name[3..9].copy_from_slice(b"xxxxxx");
    let layers = |s: &Snapshot| s.objects().iter().map(|o| (o.layer, o.id, o.live)).collect::<Vec<_>>();
    assert_eq!(
        layers(snapshot(&list(&name, (5, 3)), Some(before))),
        [(0, 7, false), (1, 7, false)],
        "the same, not looked at again"
    );
    assert_eq!(layers(snapshot(&list(&name, (6, 4)), Some(before))), [(0, 0, false), (0, 0, false)], "perhaps another");
    // In other namespaces something is loaded: then nothing tells what was unloaded here.
    let before = snapshot(&list(b"libcublas.so.13\0", (6, 3)), None);
    before.objects_mut().iter_mut().for_each(|o| o.id = 7);
    assert_eq!(layers(snapshot(&list(&name, (6, 3)), Some(before))), [(0, 0, false), (0, 0, false)], "perhaps another");
}

#[test]
fn an_object_is_found_wherever_it_stands_in_the_list() {
    let all =
        [object_info(0x1000, b"a\0", (0, 0)), object_info(0x2000, b"b\0", (0, 0)), object_info(0x3000, b"c\0", (0, 0))];
    let s = snapshot(&all, None);
    for (place, info) in all.iter().enumerate() {
        for from in 0..4 {
            assert_eq!(s.place_of(info, from), Some(place));
        }
    }
    assert_eq!(s.place_of(&object_info(0x1000, b"d\0", (0, 0)), 0), None);
}
