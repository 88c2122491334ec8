//! What a call says of its rows: the kernel and its grid, or the sum of bytes. Rows with another content are not of
//! the call, whatever their correlation id says.

use crate::event::call::Call;
use crate::event::value::Value;
use cutap_calls::gpu_time::amount;
use cutap_calls::{Role, has_role};
use cutap_wire::rows::RowContent;
use std::sync::Arc;

/// The numbers of a grid's row have 16 bits; greater ones are written as this.
const MOST_BLOCKS: u32 = u16::MAX as u32;
/// The parameters or fields that are the grid of a launch.
const GRID: [&str; 3] = ["gridDimX", "gridDimY", "gridDimZ"];

/// What the rows of a call, or of the node of a graph that it makes, must have. Unknown parts fit everything.
#[derive(Debug, Clone, Default)]
pub struct ExpectedRows {
    is_launch: bool,
    kernel: Option<Arc<str>>,
    grid: Option<[u32; 3]>,
    bytes: Option<u64>,
}

impl ExpectedRows {
    /// By the arguments of a call that has ended.
    pub fn of(call: &Call) -> ExpectedRows {
        let name = call.function.name.as_bytes();
        let is_launch = has_role(name, Role::LaunchesKernel);
        let grid = match call.args.words() {
            [_, x, y, z, ..] if has_role(name, Role::LaunchesGrid) => Some([*x as u32, *y as u32, *z as u32]),
            _ if is_launch => grid(call),
            _ => None,
        };
        let kernel = call.kernel().cloned();
        ExpectedRows { is_launch: is_launch || kernel.is_some(), kernel, grid, bytes: bytes(call) }
    }

    /// Whether this can be a row of the call. `name`: its kernel. `sum`: the bytes of all its copies and sets.
    pub fn fits(&self, content: RowContent, name: Option<&Arc<str>>, sum: u64) -> bool {
        match content {
            RowContent::Kernel(kernel) => {
                let is_same_grid = self.grid.is_none_or(|grid| grid.map(limited) == kernel.grid.map(limited));
                let names = self.kernel.as_ref().zip(name);
                is_same_grid && self.bytes.is_none() && names.is_none_or(|(one, two)| one == two)
            }
            RowContent::Copy(_) | RowContent::Set { .. } => {
                !self.is_launch && self.bytes.is_none_or(|bytes| bytes == sum)
            }
            _ => false,
        }
    }
}

fn limited(blocks: u32) -> u32 {
    blocks.min(MOST_BLOCKS)
}

/// The blocks of a launch that has them in a structure.
fn grid(call: &Call) -> Option<[u32; 3]> {
    let [x, y, z] = GRID.map(|name| number(call, name).and_then(|n| u32::try_from(n).ok()));
    Some([x?, y?, z?])
}

/// The bytes that a call copies or sets.
fn bytes(call: &Call) -> Option<u64> {
    let amount = amount(&call.function.name)?;
    amount.factors.iter().try_fold(amount.unit, |product, name| product.checked_mul(number(call, name)?))
}

/// The parameter of this name, or the field of a structure among the parameters.
fn number(call: &Call, name: &str) -> Option<u64> {
    let named = call.function.params().iter().zip(call.effective_args());
    named.into_iter().find_map(|(param, value)| if param.name == name { whole(value) } else { field(value, name) })
}

fn field(value: &Value, name: &str) -> Option<u64> {
    let Value::Struct(fields) = value.target() else { return None };
    fields.named().into_iter().find_map(|(of, value)| if of == name { whole(value) } else { field(value, name) })
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Uint(n) | Value::Hex(n) => Some(*n),
        Value::Int(n) => u64::try_from(*n).ok(),
        _ => None,
    }
}
