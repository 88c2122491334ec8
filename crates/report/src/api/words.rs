//! Rules, effects and versions of the tables, in words.

use cutap_calls::known::{
    Count, Dir, Effect, Family, Function, Memory, Param, Rule, Tables, Type, Unit, Writes, Written,
};

/// `12.9` for 12090. Other numbers of libraries stay unchanged.
pub(super) fn version(family: &Family, number: u32) -> String {
    match family.name {
        "driver" | "runtime" => format!("{}.{}", number / 1000, number % 1000 / 10),
        _ => number.to_string(),
    }
}

/// The first and last version, if headers show them.
pub(super) fn span(family: &Family, function: &Function) -> String {
    let product = if matches!(family.name, "driver" | "runtime") { "CUDA" } else { family.name };
    match (function.since, function.until) {
        (0, u32::MAX) => format!("{product}: all versions looked at"),
        (0, last) => format!("{product}: to {}", version(family, last)),
        (first, u32::MAX) => format!("{product}: since {}", version(family, first)),
        (first, last) => format!("{product}: {} to {}", version(family, first), version(family, last)),
    }
}

/// The names to which headers map a name, and those that they map to it.
pub(super) fn of_headers(family: &'static Family, name: &str) -> impl Iterator<Item = &'static Written> {
    family.written.iter().filter(move |w| w.name == name || w.export == name)
}

/// These names in words.
pub(super) fn written(family: &'static Family, name: &str) -> Vec<String> {
    let product = if matches!(family.name, "driver" | "runtime") { "CUDA" } else { family.name };
    let sentence = |w: &Written| {
        let when = match w.span {
            (0, u32::MAX) => String::new(),
            (0, last) => format!(", up to {product} {}", version(family, last)),
            (first, u32::MAX) => format!(", since {product} {}", version(family, first)),
            (first, last) => format!(", {product} {} to {}", version(family, first), version(family, last)),
        };
        match w.name == name {
            true => format!("a program that writes {name} calls {}{when}", w.export),
            false => format!("what headers make of {}{when}", w.name),
        }
    };
    of_headers(family, name).map(sentence).collect()
}

pub(super) fn direction(dir: Dir) -> &'static str {
    match dir {
        Dir::In => "in",
        Dir::Out => "out",
        Dir::InOut => "inout",
    }
}

/// The calls that write an output, if not those that succeed.
pub(super) fn writes(written: Writes) -> Option<&'static str> {
    match written {
        Writes::Done => None,
        Writes::Always => Some("written by calls that fail, too"),
        Writes::Failed => Some("written only by calls that fail"),
    }
}

/// The meaning of a number, or the memory of a pointer.
pub(super) fn unit(unit: Unit, leads: bool) -> Option<&'static str> {
    match unit {
        Unit::None => None,
        Unit::Bytes => Some("bytes"),
        Unit::Hex => Some("bits"),
        Unit::Version | Unit::Release | Unit::LongRelease => Some("version"),
        Unit::Zero => Some("must be 0"),
        Unit::ByMode => leads.then_some("on the host or on a device, as the handle says"),
    }
}

/// How the target of a pointer is read; `None` for other types.
pub(super) fn rule(tables: &Tables, params: &[Param], param: &Param) -> Option<String> {
    let pointer = matches!(tables.types.get(usize::from(param.ty)), Some(Type::Pointer(..)));
    let name = |n: u8| params.get(usize::from(n)).map_or("?", |p| p.name);
    let tags = |n: u16| tables.tags.get(usize::from(n)).map_or("?", |t| t.name);
    Some(match param.rule {
        Rule::One if !pointer => return None,
        Rule::One => "one".to_owned(),
        Rule::Text => "text".to_owned(),
        Rule::Array(n) => format!("array of {}", count(params, n)),
        Rule::Behind(n) => format!("address of an array of {}", count(params, n)),
        Rule::Addresses(n, bytes) => {
            format!("array of {} addresses of memory, {} bytes each, not read", count(params, n), name(bytes))
        }
        Rule::TextOf(n) => format!("text in a buffer of {}", count(params, n)),
        Rule::Memory(Count::Unknown) => "memory, not read".to_owned(),
        Rule::Memory(n) => format!("memory, {} bytes, not read", count(params, n)),
        Rule::Host(Count::Unknown) => "memory of the host, not read".to_owned(),
        Rule::Host(n) => format!("memory of the host, {} bytes, not read", count(params, n)),
        Rule::Either(n) => format!("memory of host or device, {} bytes, not read", count(params, n)),
        Rule::From(n, kind) | Rule::To(n, kind) => {
            format!("memory, {} bytes, not read; {} tells whether of the host", count(params, n), name(kind))
        }
        Rule::Opaque => "an address, not read".to_owned(),
        Rule::Tagged(row, by, n) => {
            format!("{} whose type {} tells ({})", many(count(params, n), "value"), name(by), tags(row))
        }
        Rule::KernelParams(f, or) if f == or => format!("parameters of the kernel {}", name(f)),
        Rule::KernelParams(f, or) => format!("parameters of the kernel {} or {}", name(f), name(or)),
        Rule::Extra => "list of CU_LAUNCH_PARAM_*".to_owned(),
        Rule::OptionValues(keys, n) => format!("{} of the options {}", many(count(params, n), "value"), name(keys)),
        Rule::Texts(n) => many(count(params, n), "text"),
        Rule::Scalar(row, by) => format!("a number whose type {} tells ({})", name(by), tags(row)),
        Rule::Word(row, by) => format!("a number, or the address of a struct, as {} tells ({})", name(by), tags(row)),
        Rule::ScalarOr(row, by, or, other) => {
            format!("a number whose type {} ({}) or {} ({}) tells", name(by), tags(row), name(other), tags(or))
        }
    })
}

/// `count` and a noun, in singular or plural.
fn many(count: String, one: &str) -> String {
    let end = if count == "1" { "" } else { "s" };
    format!("{count} {one}{end}")
}

fn count(params: &[Param], count: Count) -> String {
    let name = |n: u8| params.get(usize::from(n)).map_or("?", |p| p.name);
    match count {
        Count::Unknown => "unknown".to_owned(),
        Count::Fixed(n) => n.to_string(),
        Count::Of(n) => name(n).to_owned(),
        Count::At(n) => format!("*{}", name(n)),
        Count::Least(a, b) => format!("min({}, *{})", name(a), name(b)),
        Count::Times(n, times) => format!("{} * {times}", name(n)),
        Count::FieldAt(n, _) => format!("as many as {} says", name(n)),
        Count::Rows { pitch, width, element, height } => {
            let element = if element == 1 { String::new() } else { format!(" * {element}") };
            format!("{} * ({} - 1) + {}{element}", name(pitch), name(height), name(width))
        }
        Count::RowsBy { pitch, width, element, height } => {
            format!("{} * ({} - 1) + {} * {}", name(pitch), name(height), name(width), name(element))
        }
        Count::Copied(_) => "as the struct says".to_owned(),
        Count::AtTimes(a, b) => format!("*{} * {}", name(a), name(b)),
        Count::Volume(a, b) => format!("{0}->pitch * {1}.height * {1}.depth", name(a), name(b)),
        Count::Typed { count, by, times, .. } => {
            let count = if count == 255 { "1" } else { name(count) };
            let times = if times == 255 { String::new() } else { format!(", as often as {} has ranks", name(times)) };
            format!("{count} of {}{times}", name(by))
        }
        Count::Plane(_, by) => format!("rows of a pitch of {}", name(by)),
        Count::Tensor(_, by) => format!("a tensor of {}", name(by)),
        Count::Sized(n, _) => format!("in {} bytes", name(n)),
        Count::OneMore(n) => format!("{} + 1", name(n)),
        Count::Less(n, less) => format!("{} - {less}", name(n)),
        Count::Carried(n, handle) => format!("{}, or as many as {} has", name(n), name(handle)),
        Count::Product(a, b) => format!("{} * {}", name(a), name(b)),
        Count::ZeroEnded => "all up to a zero".to_owned(),
    }
}

fn kind(memory: Memory) -> &'static str {
    match memory {
        Memory::Device => "device memory",
        Memory::Host => "page-locked host memory",
        Memory::Managed => "managed memory",
        Memory::Reserved => "a range of addresses",
        Memory::Mapped => "mapped memory",
        Memory::Graph => "memory of a graph",
        Memory::External => "external memory",
        Memory::Unknown => "memory",
    }
}

pub(super) fn effect(params: &[Param], effect: Effect) -> String {
    let name = |n: u8| params.get(usize::from(n)).map_or("?", |p| p.name);
    match effect {
        Effect::Allocates { at, by_value, bytes, memory } => {
            let star = if by_value { "" } else { "*" };
            format!("allocates {} at {star}{}, {} bytes", kind(memory), name(at), count(params, bytes))
        }
        Effect::AllocatesInside { at, memory } => {
            format!("allocates {}, whose address is in {}", kind(memory), name(at))
        }
        Effect::Belongs(at, to) => format!("what is at {} belongs to {}", name(at), name(to)),
        Effect::Unmaps { at, bytes } => format!("unmaps {} bytes at {}", count(params, bytes), name(at)),
        Effect::Frees(n) => format!("frees the memory at {}", name(n)),
        Effect::Destroys(n) => format!("ends {}", name(n)),
        Effect::KeepsLogs { of, keys, .. } => format!("*{} writes its logs where {} say", name(of), name(keys)),
        Effect::Pool { of, at: Some(at), bytes, .. } => {
            format!("tells of a block of {of}'s pool at {}; {} negative: it is given back", name(at), name(bytes))
        }
        Effect::Pool { of, bytes, .. } => format!("tells that {of} has no block of {} bytes", name(bytes)),
        Effect::TellsLogs(n) => format!("adds to the logs of {}", name(n)),
        Effect::Creates(n) => format!("makes *{}", name(n)),
        Effect::RemembersWhen { of, value, mode: true, .. } => {
            format!("{} says by {} from now on whether scalars are on the host", name(of), name(value))
        }
        Effect::RemembersWhen { of, value, .. } | Effect::Remembers { of, value } => {
            format!("{} carries {} from now on", name(of), name(value))
        }
    }
}
