//! A graph as text for graphviz, in the form that driver 580 wrote on an H100. The flags for everything, for launches
//! of kernels and for copies change the text. Other flags do not.

use crate::abi::{Answer, Fault, Text, answer};
use crate::driver::copy::{self, ListedSide};
use crate::state::{Copy3D, DriverState, Handle, Launch, Node, Task, driver_state};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

const EVERYTHING: u32 = 1;
const LAUNCHES: u32 = 4;
const COPIES: u32 = 8;

/// Names by kind of node. Kernels and child graphs show their own names.
const KINDS: [&str; 14] = [
    "KERNEL",
    "MEMCPY",
    "MEMSET",
    "HOST",
    "GRAPH",
    "EMPTY",
    "EVENT_WAIT",
    "EVENT_RECORD",
    "EXT_SEMAS_SIGNAL",
    "EXT_SEMAS_WAIT",
    "MEM_ALLOC",
    "MEM_FREE",
    "BATCH_MEM_OP",
    "CONDITIONAL",
];

fn kernel<'w>(state: &'w DriverState, launch: &Launch) -> std::borrow::Cow<'w, str> {
    state.code.functions.get(&launch.function).map_or("".into(), |f| f.kernel().name.to_string_lossy())
}

/// One number, or the sides in braces if the second or the third is above 1.
fn size([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (y, 1) => format!("\\{{{x},{y}\\}}"),
        (y, z) => format!("\\{{{x},{y},{z}\\}}"),
    }
}

fn launched(l: &Launch) -> String {
    format!("\\<\\<\\<{},{},{}\\>\\>\\>", size(l.grid), size(l.block), l.shared)
}

fn child_name(state: &DriverState, graph: Handle) -> String {
    format!("graph_{}", state.graph.graphs.get(&graph).map_or(0, |g| g.id))
}

fn short(state: &DriverState, node: &Node, flags: u32) -> String {
    let number = node.number;
    match &node.task {
        Task::Kernel(launch) => {
            let launch_size = if flags & LAUNCHES != 0 { launched(launch) } else { String::new() };
            let name = kernel(state, launch);
            format!("[style=\"bold\" shape=\"octagon\" label=\"{number}\n{name}\n{launch_size}\"];")
        }
        Task::Copy(copy) if flags & COPIES != 0 => long_copy(state, copy, &format!("ID}} | {{{number}")),
        Task::Copy(copy) => {
            let (way, bytes) = (copy::direction(state, copy), copy.bytes());
            format!("[style=\"solid\" shape=\"trapezium\"label=\"{number}\nMEMCPY\n({way},{bytes})\n\"];")
        }
        Task::Set(set) => {
            let (value, width) = (set.value, set.width);
            format!("[style=\"solid\" shape=\"invtrapezium\"label=\"{number}\nMEMSET\n({value},{width})\n\"];")
        }
        task => format!("[style=\"solid\" shape=\"rectangle\" label=\"{number}\n{}\n\"];", name(state, task)),
    }
}

fn name(state: &DriverState, task: &Task) -> String {
    match task {
        Task::Child(graph, _) => child_name(state, *graph),
        task => KINDS.get(task.kind() as usize).copied().unwrap_or_default().to_owned(),
    }
}

/// An address or a handle, with leading zeros.
fn word(value: u64) -> String {
    format!("0x{value:016X}")
}

/// CUlaunchAttributeID
const COOPERATIVE: u32 = 2;
const PRIORITY: u32 = 8;

fn long_kernel(state: &DriverState, launch: &Launch, id: &str, handle: &str) -> String {
    let attribute = |id: u32| launch.attributes.get(&id).map_or(0, |value| value[0] as i32);
    format!(
        "[style=\"bold\" shape=\"record\" label=\"{{KERNEL\n| {{ID | {id} | {}{}}}\n\
         | {{{{node handle | func handle}} | {{{handle} | {}}}}}\n| {{cooperative | {}}}\n| {{priority | {}}}\n}}\"];",
        kernel(state, launch),
        launched(launch),
        word(launch.function.0),
        attribute(COOPERATIVE),
        attribute(PRIORITY)
    )
}

fn long_copy(state: &DriverState, copy: &Copy3D, ids: &str) -> String {
    const FIELDS: &str = "MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD";
    let [from, to] = copy::listed_sides(state, copy).map(|ListedSide { kind, resolved_kind, places, numbers }| {
        let (places, numbers) = (places.map(word).join(" | "), numbers.map(|n| n.to_string()).join(" | "));
        format!("{kind} ({resolved_kind}) | {places} | {numbers}")
    });
    let extent = copy.extent();
    format!(
        "[style=\"solid\" shape=\"record\" label=\"{{\nMEMCPY\n| {{{{{ids}}}}}\n\
         | {{{{src | dst}} | {{ {FIELDS} | {FIELDS}}} | {{{from} | {to}}}}}\n\
         | {{Extent | {{WidthInBytes | Height | Depth}} | {{{} | {} | {}}}}}\n}}\"];",
        extent.width, extent.height, extent.depth
    )
}

fn long(state: &DriverState, handle: Handle, node: &Node, place: u32) -> String {
    let (id, handle) = (format!("{} (topoId: {place})", node.number), word(handle.0));
    let ids = format!("ID | node handle}} | {{{id} | {handle}");
    let more = match &node.task {
        Task::Kernel(launch) => return long_kernel(state, launch, &id, &handle),
        Task::Copy(copy) => return long_copy(state, copy, &ids),
        Task::Set(s) => {
            let (to, pitch, value, element, width, height) =
                (word(s.to), s.pitch, s.value, s.element, s.width, s.height);
            return format!(
                "[style=\"solid\" style=\"solid\" shape=\"record\" label=\"{{MEMSET\n\
                 | {{{{ID | node handle | dptr | pitch | value | elementSize | width | height}} \
                 | {{{id} | {handle} | {to} | {pitch} | {value} | {element} | {width} | {height}}}}}}}\"];"
            );
        }
        Task::Host(function, data) => {
            format!("fn: {}\nuserData: {}\n", word(*function as usize as u64), word(data.0 as u64))
        }
        Task::Record(event) | Task::Wait(event) => format!("event: {}\n", word(event.0)),
        Task::Allocate(address, size) => {
            let device = state.memory.allocations.get(address).map_or(0, |a| a.device);
            return format!(
                "[style=\"solid\" shape=\"record\" label=\"{{\nMEM_ALLOC\n| {{{{{ids}}}}}\n\
                 | {{{{{{poolProps | {{allocType | handleTypes | {{location | {{type | id}}}}}} \
                 | {{PINNED | NONE | DEVICE | {device}}}}}}}}}\n\
                 | {{{{bytesize | dptr}} | {{{size} | {}}}}}\n}}\"];",
                word(*address)
            );
        }
        Task::Free(address) => {
            let address = word(*address);
            return format!(
                "[style=\"solid\" shape=\"record\" label=\"{{\nMEM_FREE\n| {{{{{ids}}}}}\n\
                 | {{{{dptr}} | {{{address}}}}}\n}}\"];"
            );
        }
        Task::Values(operations) => format!("count: {}\n", operations.len()),
        Task::Child(..) | Task::Empty | Task::Conditional(..) => String::new(),
    };
    let name = name(state, &node.task);
    format!("[style=\"solid\" shape=\"rectangle\" label=\"{id}\n{name}\nnode handle: {handle}\n{more}\"];")
}

/// The position of each node in an order that starts with the last nodes, the newest first.
fn places(state: &DriverState, nodes: &[Handle]) -> BTreeMap<Handle, u32> {
    let before = |node: Handle| state.graph.nodes.get(&node).into_iter().flat_map(|n| n.after.iter().map(|e| e.from));
    let mut followers: BTreeMap<Handle, usize> = nodes.iter().map(|n| (*n, 0)).collect();
    nodes.iter().flat_map(|n| before(*n)).for_each(|n| *followers.entry(n).or_default() += 1);
    let mut next: VecDeque<Handle> = nodes.iter().rev().filter(|n| followers.get(n) == Some(&0)).copied().collect();
    let mut places = BTreeMap::new();
    while let Some(node) = next.pop_front() {
        places.insert(node, places.len() as u32);
        for earlier in before(node) {
            if let Some(unplaced) = followers.get_mut(&earlier) {
                *unplaced -= 1;
                next.extend((*unplaced == 0).then_some(earlier));
            }
        }
    }
    places
}

/// A graph, then the graphs of its nodes.
fn cluster(state: &DriverState, handle: Handle, flags: u32, text: &mut String) -> Answer {
    let graph = state.graph.lookup_graph(handle)?;
    let id = graph.id;
    let _ = write!(text, "subgraph cluster_{id} {{\nlabel=\"graph_{id}\" graph[style=\"dashed\"];\n");
    let places = places(state, &graph.nodes);
    let nodes = || graph.nodes.iter().filter_map(|handle| Some((*handle, state.graph.nodes.get(handle)?)));
    for (handle, node) in nodes() {
        let attributes = match flags & EVERYTHING {
            0 => short(state, node, flags),
            _ => long(state, handle, node, places.get(&handle).copied().unwrap_or(0)),
        };
        let _ = write!(text, "\"graph_{id}_node_{}\"{attributes}\n\n", node.number);
    }
    for (_, node) in nodes() {
        for edge in &node.after {
            let from = state.graph.nodes.get(&edge.from).map_or(0, |n| n.number);
            let port = if flags & EVERYTHING != 0 { format!(" [headlabel={}]", edge.data[1]) } else { String::new() };
            let _ = writeln!(text, "\"graph_{id}_node_{from}\" -> \"graph_{id}_node_{}\"{port};", node.number);
        }
    }
    text.push_str("}\n");
    for (_, node) in nodes() {
        match &node.task {
            Task::Child(graph, _) => cluster(state, *graph, flags, text)?,
            Task::Conditional(bodies) => bodies.iter().try_for_each(|body| cluster(state, *body, flags, text))?,
            _ => {}
        }
    }
    Ok(())
}

pub extern "C" fn cuGraphDebugDotPrint(handle: Handle, path: Text, flags: u32) -> u32 {
    answer(|| {
        let path = path.str()?;
        let mut text = "digraph dot {\n".to_owned();
        cluster(&driver_state(), handle, flags, &mut text)?;
        text.push_str("}\n");
        std::fs::write(path, text).map_err(|_| Fault(304)) // OPERATING_SYSTEM
    })
}
