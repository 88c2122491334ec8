//! Any bytes with any tables: the interpreter does not panic, ends, and makes a bounded number of values from the given
//! bytes.

use super::state::process_state::ProcessState;
use super::values::memory::Memory;
use super::values::parameter_types::ParametersByKernel;
use super::values::row::Row;
use super::values::walk::{Side, VALUES, Walk};
use crate::event::Layer;
use crate::event::described::{WordSource, find};
use crate::event::value::Value;
use crate::kernels::names::Kernels;
use crate::synthetic::pieces;
use crate::synthetic::tables::TABLES;
use cutap_calls::known::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

/// Addresses that tables, words and memory share, so that pointers lead somewhere.
const ADDRESSES: [u64; 6] = [0, 1, 0x10, 0x20, 0x30, u64::MAX];

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![prop::sample::select(&ADDRESSES[..]), 0..100u64, any::<u64>()]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(word(), 0..30).prop_map(|w| w.iter().flat_map(|w| w.to_le_bytes()).collect()),
        vec(any::<u8>(), 0..300),
    ]
}

/// Memory as a record has it: pieces at known addresses, or any bytes at all.
fn memory() -> impl Strategy<Value = Vec<u8>> {
    let good = vec((prop::sample::select(&ADDRESSES[..]), bytes()), 0..6).prop_map(|all| {
        let all: Vec<(u64, &[u8])> = all.iter().map(|(at, bytes)| (*at, bytes.as_slice())).collect();
        pieces(&all).iter().flat_map(|w| w.to_le_bytes()).collect()
    });
    prop_oneof![good, vec(any::<u8>(), 0..500)]
}

/// A sibling, or none.
fn few() -> impl Strategy<Value = u8> {
    prop_oneof![4 => 0..6u8, 1 => Just(255)]
}

fn count() -> impl Strategy<Value = Count> {
    prop_oneof![
        Just(Count::Unknown),
        Just(Count::ZeroEnded),
        any::<u32>().prop_map(Count::Fixed),
        (0..6u8).prop_map(Count::Of),
        (0..6u8).prop_map(Count::At),
        (0..6u8, 0..6u8).prop_map(|(a, b)| Count::Least(a, b)),
        (0..6u8, 0..6u8).prop_map(|(a, b)| Count::Product(a, b)),
        (0..6u8, 0..6u8).prop_map(|(a, b)| Count::AtTimes(a, b)),
        (0..6u8, 0..6u8).prop_map(|(a, b)| Count::Volume(a, b)),
        (0..6u8).prop_map(Count::OneMore),
        (0..6u8, any::<u8>()).prop_map(|(n, times)| Count::Times(n, times)),
        (0..6u8, 0..6u8).prop_map(|(n, field)| Count::FieldAt(n, field)),
        (0..6u8, 0..6u8, any::<u8>(), 0..6u8).prop_map(|(pitch, width, element, height)| Count::Rows {
            pitch,
            width,
            element,
            height
        }),
        (0..6u8, 0..6u8, 0..6u8, 0..6u8).prop_map(|(pitch, width, element, height)| Count::RowsBy {
            pitch,
            width,
            element,
            height
        }),
        (0..4u8).prop_map(Count::Copied),
        (few(), 0..4u16, 0..6u8, few()).prop_map(|(count, tags, by, times)| Count::Typed { count, tags, by, times }),
        (prop_oneof![0..4u16, Just(NO_TAGS)], 0..6u8).prop_map(|(tags, by)| Count::Plane(tags, by)),
        (0..4u16, 0..6u8).prop_map(|(tags, by)| Count::Tensor(tags, by)),
        (0..6u8, 0..7u8).prop_map(|(n, written)| Count::Sized(n, written)),
        (0..6u8, any::<u8>()).prop_map(|(a, b)| Count::Less(a, b)),
        (0..6u8, 0..6u8).prop_map(|(a, b)| Count::Carried(a, b)),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        4 => Just(Rule::One),
        1 => prop_oneof![Just(Rule::Text), Just(Rule::Opaque), Just(Rule::Extra)],
        2 => count().prop_map(Rule::Array),
        1 => count().prop_map(Rule::TextOf),
        1 => count().prop_map(Rule::Memory),
        1 => count().prop_map(Rule::Host),
        1 => (count(), 0..6u8).prop_map(|(c, k)| Rule::From(c, k)),
        1 => (count(), 0..6u8).prop_map(|(c, k)| Rule::To(c, k)),
        1 => count().prop_map(Rule::Texts),
        1 => count().prop_map(Rule::Behind),
        1 => (count(), 0..6u8).prop_map(|(c, s)| Rule::Addresses(c, s)),
        1 => (0..4u16, 0..6u8, count()).prop_map(|(t, s, c)| Rule::Tagged(t, s, c)),
        1 => (0..6u8, 0..6u8).prop_map(|(f, or)| Rule::KernelParams(f, or)),
        1 => (0..6u8, count()).prop_map(|(k, c)| Rule::OptionValues(k, c)),
        1 => (0..4u16, 0..6u8).prop_map(|(t, s)| Rule::Scalar(t, s)),
        1 => (0..4u16, 0..6u8).prop_map(|(t, s)| Rule::Word(t, s)),
        1 => (0..4u16, 0..6u8, 0..4u16, 0..6u8).prop_map(|(t, s, u, o)| Rule::ScalarOr(t, s, u, o)),
    ]
}

fn ty() -> impl Strategy<Value = Type> {
    let id = || 0..24u16;
    prop_oneof![
        1 => prop_oneof![Just(Type::Void), Just(Type::Char), Just(Type::Code), Just(Type::Uuid), Just(Type::BFloat16)],
        1 => Just(Type::DevicePointer),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(bytes, signed)| Type::Int { bytes, signed }),
        1 => any::<u8>().prop_map(Type::Bool),
        1 => any::<u8>().prop_map(Type::Float),
        1 => (0..4u16).prop_map(Type::Enum),
        1 => (0..4u16, any::<u8>()).prop_map(|(e, n)| Type::Flags(e, n)),
        1 => (0..4u16).prop_map(Type::Status),
        1 => (0..4u16).prop_map(Type::Handle),
        3 => (0..6u16).prop_map(Type::Struct),
        1 => (0..6u16).prop_map(Type::Union),
        4 => (id(), any::<bool>()).prop_map(|(t, c)| Type::Pointer(t, c)),
        1 => (id(), any::<u32>()).prop_map(|(t, n)| Type::Array(t, n)),
        1 => (id(), 0..9u32).prop_map(|(t, n)| Type::Array(t, n)),
    ]
}

fn param() -> impl Strategy<Value = Param> {
    let dir = prop_oneof![Just(Dir::In), Just(Dir::Out), Just(Dir::InOut)];
    let unit = prop_oneof![
        Just(Unit::None),
        Just(Unit::Bytes),
        Just(Unit::Hex),
        Just(Unit::Version),
        Just(Unit::Release),
        Just(Unit::LongRelease),
        Just(Unit::Zero),
        Just(Unit::ByMode)
    ];
    let written = prop_oneof![Just(Writes::Done), Just(Writes::Always), Just(Writes::Failed)];
    (0..24u16, 0..12u8, any::<u8>(), 0..80u16, dir, rule(), unit, written).prop_map(
        |(ty, word, second, offset, dir, rule, unit, written)| Param {
            name: "p",
            ty,
            word,
            second,
            offset,
            dir,
            rule,
            unit,
            written,
        },
    )
}

/// Tables whose numbers may lead anywhere. They stay in memory, as tables do.
fn tables() -> impl Strategy<Value = &'static Tables> {
    let one = (0..200u32, vec(param(), 0..7), prop_oneof![0..9u8, OWN..OWN + 9], 0..4u16);
    let structs = vec(one, 1..5).prop_map(|all| -> Vec<Struct> {
        let one = |(size, fields, tag, tags): (u32, Vec<Param>, u8, u16)| Struct {
            name: "s",
            since: 0,
            until: u32::MAX,
            size,
            fields: fields.leak(),
            tag,
            tags,
        };
        all.into_iter().map(one).collect()
    });
    let tags = vec(vec((0..9i64, 0..24u16), 0..6), 0..4);
    let handles = vec((any::<bool>(), any::<u8>()), 0..4);
    (vec(ty(), 1..24), structs, tags, handles).prop_map(|(types, structs, tags, handles)| {
        let tag = |mut rows: Vec<(i64, TypeId)>| {
            rows.sort();
            Tag { name: "CUresult", rows: rows.leak() }
        };
        let handle = |(number, bytes)| Handle {
            name: "h",
            short: "h",
            number,
            bytes,
            special: &[(1, "ONE")],
            elsewhere: false,
            made_elsewhere: false,
            of: &["text"],
        };
        &*Box::leak(Box::new(Tables {
            families: &[],
            types: types.leak(),
            enums: TABLES.enums,
            structs: structs.leak(),
            handles: handles.into_iter().map(handle).collect::<Vec<_>>().leak(),
            tags: tags.into_iter().map(tag).collect::<Vec<_>>().leak(),
        }))
    })
}

/// Values in a tree.
fn values(value: &Value) -> u32 {
    1 + match value {
        Value::Pointee(_, to) => values(to),
        Value::Struct(fields) => fields.values.iter().map(|(_, v)| values(v)).sum(),
        Value::Array(items) => items.values.iter().map(values).sum(),
        Value::List(list) => list.values.iter().map(values).sum(),
        _ => 0,
    }
}

fn walk(tables: &'static Tables, params: &'static [Param], words: &[u8], memory: &[u8], before: &[u8]) -> u32 {
    let (mut state, mut kernels) = (ProcessState::default(), Kernels::default());
    kernels.parameters(0x10, 0, words);
    kernels.entry(b".entry _Z1kiPfPFviE(.param .u32 n, .param .u64 .ptr a, .param .b8 f[8])");
    kernels.entry(memory);
    let shape = Shape { ints: 6, vectors: 2, stack: 4 };
    let kernel: Arc<str> = "k(int, float*, void (*)(int))".into();
    let mut parameters_by_kernel = ParametersByKernel::default();
    let mut most = 0;
    for (side, recorded) in [(Side::Before, WordSource::Frame(shape)), (Side::After, WordSource::Block)] {
        let row = Row::call(params, shape, recorded, words);
        let mut walk = Walk::new(tables, 12090, Memory::new(memory), side);
        walk.before = Memory::new(before);
        walk.state = Some(&mut state);
        walk.kernels = Some(&kernels);
        walk.parameters_by_kernel = Some(&mut parameters_by_kernel);
        walk.kernel = Some(&kernel);
        most = most.max((0..params.len()).map(|n| values(&walk.param(&row, n))).sum());
    }
    most
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_tables(
        tables in tables(), params in vec(param(), 0..7), words in bytes(), memory in memory(), before in memory(),
    ) {
        let value_count = walk(tables, params.leak(), &words, &memory, &before);
        // A pointer and its target, or a struct's place and the struct, share one that was taken.
        prop_assert!(value_count <= 4 * VALUES, "{value_count} values");
    }

    #[test]
    fn any_bytes(words in bytes(), memory in memory(), before in memory()) {
        for function in TABLES.families.iter().flat_map(|f| f.functions) {
            let value_count = walk(&TABLES, function.params, &words, &memory, &before);
            prop_assert!(value_count <= 4 * VALUES, "{value_count} values of {}", function.name);
        }
    }

    #[test]
    fn any_name(name in "[a-zA-Z_0-9.]{0,30}", library in "[a-z.0-9-]{0,20}", version in any::<Option<u32>>()) {
        for layer in [Layer::DRIVER, Layer::RUNTIME, Layer::LIBRARY] {
            find(&TABLES, layer, &library, &name, version);
        }
    }
}
