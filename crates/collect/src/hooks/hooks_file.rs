//! Writes the file `hooks` of a run: the libraries, and the name, kind and place of each parameter of the known
//! functions. It is a few hundred KiB, and only a run with hooks has it.

use super::Hooks;
use cutap_calls::capture::hash;
use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Dir, Effect, Function, Param, Rule, Type};
use cutap_hook::contract::kind;
use cutap_wire::PAGE;
use cutap_wire::hooks::{HEAD, Head, PARAMETER, Parameter, ROW, Row, SELECTOR_BYTES, returns};
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;

/// The file's bytes.
pub fn file(hooks: &Hooks) -> Vec<u8> {
    let mut functions: Vec<_> = TABLES.families.iter().flat_map(|f| f.functions).collect();
    functions.sort_by_cached_key(|f| (hash(f.name.as_bytes()), f.since));
    let count: usize = functions.iter().map(|f| f.params.len()).sum();
    let parameters_at = HEAD + functions.len() * ROW;
    let mut strings = Strings { base: parameters_at + count * PARAMETER, bytes: Vec::new(), offsets: HashMap::new() };
    let (mut rows, mut parameters) = (Vec::new(), Vec::new());
    for f in &functions {
        let first = (parameters.len() / PARAMETER) as u32;
        let (count, ints, vectors) = (f.params.len().min(255) as u8, f.shape.ints, f.shape.vectors);
        let (hash, returns) = (hash(f.name.as_bytes()), returned(TABLES.types.get(usize::from(f.returns))));
        let row = Row { hash, since: f.since, until: f.until, first, count, ints, vectors, returns };
        rows.extend_from_slice(&row.to_bytes());
        for (n, p) in f.params.iter().enumerate().take(255) {
            let row = Parameter { input: is_input(f, n, p).into(), ..parameter(p, strings.place(p.name)) };
            parameters.extend_from_slice(&row.to_bytes());
        }
    }
    parameters.resize(count * PARAMETER, 0);
    let paths = strings.base + strings.bytes.len();
    for path in &hooks.0 {
        strings.bytes.extend(path.as_os_str().as_bytes());
        strings.bytes.push(0);
    }
    let head = Head {
        version: cutap_wire::VERSION,
        bytes: (strings.base + strings.bytes.len()) as u32,
        libraries: hooks.0.len() as u32,
        paths: paths as u32,
        rows: functions.len() as u32,
        parameters: parameters_at as u32,
        // They are mapped: from the beginning of a page.
        selectors: (strings.base + strings.bytes.len()).next_multiple_of(PAGE) as u32,
    };
    let mut file = [&head.to_bytes()[..], &rows, &parameters, &strings.bytes].concat();
    // Written, so that the room is there.
    file.resize(head.selectors as usize + SELECTOR_BYTES, 0);
    file
}

/// Strings, each once.
struct Strings {
    base: usize,
    bytes: Vec<u8>,
    offsets: HashMap<&'static str, u32>,
}

impl Strings {
    fn place(&mut self, text: &'static str) -> u32 {
        let next = (self.base + self.bytes.len()) as u32;
        *self.offsets.entry(text).or_insert_with(|| {
            self.bytes.extend(text.as_bytes());
            self.bytes.push(0);
            next
        })
    }
}

fn parameter(p: &Param, name: u32) -> Parameter {
    let (kind, bytes) = kind_and_size(TABLES.types.get(usize::from(p.ty)));
    Parameter { name, bytes, offset: p.offset, word: p.word, second: p.second, kind, input: 0 }
}

/// Whether a parameter is surely no output: a handle, code, what the call only reads, frees or keeps, or an address on
/// a device. Without a stated direction a pointer to data that is not constant may be an output, whatever is
/// guessed.
fn is_input(f: &Function, n: usize, p: &Param) -> bool {
    let ends_lifetime = |e: &Effect| matches!(*e, Effect::Frees(of) | Effect::Destroys(of) if usize::from(of) == n);
    match TABLES.types.get(usize::from(p.ty)) {
        Some(Type::Pointer(_, constant)) => {
            let is_retained = matches!(p.rule, Rule::Opaque | Rule::KernelParams(..) | Rule::Extra);
            p.dir == Dir::In && (*constant || is_retained || f.effects.iter().any(ends_lifetime))
        }
        // Of a copy between any two sides it may be the host's: the driver calls a device's own `dstDevice`.
        Some(Type::DevicePointer) => p.name != "dst",
        Some(Type::Handle(_) | Type::Code) => true,
        _ => false,
    }
}

/// What a function of this type returns, as its frame has it.
fn returned(ty: Option<&Type>) -> u8 {
    match ty {
        Some(Type::Float(_) | Type::BFloat16) => returns::FLOAT,
        Some(Type::Struct(_) | Type::Union(_) | Type::Uuid | Type::Array(..)) => returns::STRUCT,
        Some(Type::Void) => returns::NOTHING,
        Some(_) => returns::WORD,
        None => returns::NOT_KNOWN,
    }
}

/// Kind and bytes of a type.
fn kind_and_size(ty: Option<&Type>) -> (u8, u16) {
    match ty.copied() {
        Some(Type::Int { bytes, signed }) => (if signed { kind::SIGNED } else { kind::UNSIGNED }, bytes.into()),
        Some(Type::Char) => (kind::SIGNED, 1),
        Some(Type::Bool(bytes) | Type::Flags(_, bytes)) => (kind::UNSIGNED, bytes.into()),
        Some(Type::Float(bytes @ (4 | 8))) => (kind::FLOAT, bytes.into()),
        Some(Type::Float(bytes)) => (kind::OTHER, bytes.into()),
        Some(Type::BFloat16) => (kind::OTHER, 2),
        Some(Type::Enum(of)) => (kind::SIGNED, TABLES.enums.get(usize::from(of)).map_or(4, |e| e.bytes.into())),
        Some(Type::Status(_)) => (kind::SIGNED, 4),
        Some(Type::Handle(of)) => match TABLES.handles.get(usize::from(of)) {
            Some(h) if h.number => (kind::SIGNED, h.bytes.into()),
            _ => (kind::POINTER, 8),
        },
        Some(Type::Struct(of) | Type::Union(of)) => {
            (kind::OTHER, TABLES.structs.get(usize::from(of)).map_or(8, |s| s.size as u16))
        }
        Some(Type::Uuid) => (kind::OTHER, 16),
        Some(Type::DevicePointer | Type::Pointer(..) | Type::Array(..) | Type::Code) => (kind::POINTER, 8),
        Some(Type::Void) | None => (kind::OTHER, 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::hooks::{find, text};

    fn parameters(name: &str, version: u32) -> Vec<(String, u8, u16, u8, u16)> {
        let file = file(&Hooks(vec!["/a/libmine.so".into()]));
        let head = Head::read(&file).unwrap();
        assert_eq!(head.selectors as usize, (head.bytes as usize).next_multiple_of(PAGE));
        assert_eq!(file.len() - SELECTOR_BYTES, head.selectors as usize);
        assert_eq!(text(&file, head.paths as usize), Some(&b"/a/libmine.so"[..]));
        let row = find(&file, &head, hash(name.as_bytes()), version).unwrap();
        (0..u32::from(row.count))
            .map(|n| {
                let p = Parameter::read(&file, &head, row.first + n).unwrap();
                let name = String::from_utf8(text(&file, p.name as usize).unwrap().to_vec()).unwrap();
                (name, p.kind, p.bytes, p.word, p.offset)
            })
            .collect()
    }

    #[test]
    fn names_kinds_and_places() {
        assert_eq!(
            parameters("cuMemAlloc_v2", u32::MAX),
            [("dptr".to_owned(), kind::POINTER, 8, 0, 0), ("bytesize".to_owned(), kind::UNSIGNED, 8, 1, 8)]
        );
        let launch = parameters("cuLaunchKernel", u32::MAX);
        assert_eq!((launch.len(), launch[1].0.as_str(), launch[1].2), (11, "gridDimX", 4));
        let runtime = parameters("cudaLaunchKernel", 12090);
        assert_eq!((runtime[1].0.as_str(), runtime[1].1, runtime[1].2, runtime[1].4), ("gridDim", kind::OTHER, 12, 8));
    }

    #[test]
    fn what_is_surely_no_output() {
        let inputs = |name: &str| -> Vec<&str> {
            let function = TABLES.families.iter().flat_map(|f| f.functions).find(|f| f.name == name).unwrap();
            let params = function.params.iter().enumerate();
            let inputs = params.filter(|(n, p)| parameter(p, 0).kind == kind::POINTER && is_input(function, *n, p));
            inputs.map(|(_, p)| p.name).collect()
        };
        for (name, are) in [
            ("cuMemcpyHtoD_v2", &["dstDevice", "srcHost"][..]),
            ("cuMemcpyDtoH_v2", &["srcDevice"]),
            ("cuMemcpy", &["src"]),
            ("cuMemAlloc_v2", &[]),
            ("cuLaunchKernel", &["f", "hStream", "kernelParams", "extra"]),
            ("cuLaunchHostFunc", &["hStream", "fn", "userData"]),
            ("cudaMemcpy", &["src"]),
            ("cudaFreeHost", &["ptr"]),
            ("cudaPointerGetAttributes", &["ptr"]),
            // Nobody has said which they write.
            ("cublasGetVector", &["x"]),
            ("cublasSdot_v2", &["handle", "x", "y"]),
        ] {
            assert_eq!(inputs(name), are, "{name}");
        }
    }

    #[test]
    fn what_functions_return() {
        let file = file(&Hooks::default());
        let head = Head::read(&file).unwrap();
        for (name, is) in [
            ("cuMemAlloc_v2", returns::WORD),
            ("cudaGetErrorString", returns::WORD),
            ("cublasSdot", returns::FLOAT),
            ("cublasDdot", returns::FLOAT),
            ("cublasCdotu", returns::STRUCT),
            ("cudaCreateChannelDesc", returns::STRUCT),
            ("cublasSscal", returns::NOTHING),
        ] {
            assert_eq!(find(&file, &head, hash(name.as_bytes()), 12090).unwrap().returns, is, "{name}");
        }
    }

    #[test]
    fn no_two_functions_share_a_hash() {
        let mut all = HashMap::new();
        for f in TABLES.families.iter().flat_map(|f| f.functions) {
            assert_eq!(*all.entry(hash(f.name.as_bytes())).or_insert(f.name), f.name);
        }
    }
}
