//! The number of bytes that a call has allocated, from the effects in its description and its arguments.

use cutap_calls::known::{Count, Effect};
use cutap_trace::Exit;
use cutap_trace::decode::Value;

/// Bytes; `None` if the arguments do not have the size.
pub(crate) fn allocation_size(exit: &Exit) -> Option<u64> {
    let described = exit.call.function.described?;
    let value = |n: u8| exit.output(n.into()).or_else(|| exit.call.effective_args().get(usize::from(n)));
    described.function.effects.iter().find_map(|effect| match effect {
        Effect::Allocates { bytes, .. } => count(*bytes, &value),
        _ => None,
    })
}

fn count<'a>(of: Count, value: &dyn Fn(u8) -> Option<&'a Value>) -> Option<u64> {
    let number = |n: u8| whole(value(n)?);
    let field = |n: u8, name: &str| match value(n)?.target() {
        Value::Struct(fields) => fields.named().into_iter().find(|(n, _)| *n == name).and_then(|(_, v)| whole(v)),
        _ => None,
    };
    match of {
        Count::Fixed(n) => Some(n.into()),
        Count::Of(n) | Count::At(n) => number(n),
        Count::Least(a, b) => Some(number(a)?.min(number(b)?)),
        Count::Times(n, times) => number(n)?.checked_mul(times.into()),
        Count::FieldAt(n, at) => match value(n)?.target() {
            Value::Struct(fields) => fields.values.iter().find(|(n, _)| *n == at).and_then(|(_, v)| whole(v)),
            _ => None,
        },
        Count::Product(a, b) | Count::AtTimes(a, b) => number(a)?.checked_mul(number(b)?),
        Count::OneMore(n) => number(n)?.checked_add(1),
        Count::Less(n, less) => number(n)?.checked_sub(less.into()),
        Count::Volume(pitched, extent) => {
            field(pitched, "pitch")?.checked_mul(field(extent, "height")?)?.checked_mul(field(extent, "depth")?)
        }
        Count::Rows { .. } | Count::RowsBy { .. } | Count::Copied(_) | Count::Typed { .. } | Count::Sized(..) => None,
        Count::Plane(..) | Count::Tensor(..) | Count::Carried(..) | Count::Unknown | Count::ZeroEnded => None,
    }
}

fn whole(value: &Value) -> Option<u64> {
    value.number().filter(|n| (0.0..1e18).contains(n)).map(|n| n as u64)
}
