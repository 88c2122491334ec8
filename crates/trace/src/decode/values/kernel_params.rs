//! Parameters of a kernel: sizes from the driver, types from the C++ name of the kernel or from loaded PTX, which has
//! names too. Without either a parameter is a number of its size.

use super::parameter_types::{KnownParameters, ParameterType};
use super::row::Row;
use super::scalar::{half, signed};
use super::walk::{ELEMENTS, Walk, word};
use crate::decode::state::allocations::Fallback;
use crate::event::value::{List, Value};
use crate::kernels::names::Parameters;
use cutap_calls::capture;
use cutap_calls::known::Rule;
use std::sync::Arc;

/// CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE.
const BUFFER: u64 = 1;
const BUFFER_SIZE: u64 = 2;

/// Words of a struct that are kept.
const WORDS: usize = 16;
impl Walk<'_> {
    /// Parameters that were kept one behind the other, without the gaps between them.
    pub fn kernel_params(&mut self, row: &Row<'_>, address: u64, function: u8, or: u8) -> Option<Value> {
        let handle = self.kernel_of(row, function, or)?;
        let table = self.kernels?.parameters_of(handle, self.ticks)?.clone();
        let mut rest = match self.memory.at(address) {
            Some(fragment) => fragment.bytes,
            // Of a kernel without parameters nothing is kept.
            None if table.is_empty() => &[],
            None => return None,
        };
        let sizes = table.iter().map(|(_, size)| *size as usize);
        let cut = capture::cut_of(sizes.clone(), rest.len());
        let mut cells = Vec::with_capacity(table.len());
        for size in sizes {
            let (cell, more) = rest.split_at(size.min(cut).min(rest.len()));
            if cell.is_empty() && size > 0 {
                break;
            }
            cells.push(cell);
            rest = more;
        }
        let list = self.parameters(handle, &cells, &table);
        Some(Value::Pointee(address, Box::new(list)))
    }

    /// The function, or the kernel where that is NULL. A driver that is asked for a node's kernel names both: the one
    /// whose parameters are known is meant.
    fn kernel_of(&self, row: &Row<'_>, function: u8, or: u8) -> Option<u64> {
        let both = [function, or].map(|n| self.sibling(row, n).filter(|handle| *handle != 0));
        let has_parameters =
            |handle: &u64| self.kernels.is_some_and(|k| k.parameters_of(*handle, self.ticks).is_some());
        both.into_iter().flatten().find(has_parameters).or(both[0]).or(both[1])
    }

    /// The buffer of an `extra` list, split like the parameters of the row's kernel.
    pub fn extra(&mut self, row: &Row<'_>, address: u64) -> Option<Value> {
        let list = self.memory.at(address)?.bytes.as_chunks::<8>().0;
        let (mut buffer, mut size) = (0, None);
        for [key, value] in list.as_chunks::<2>().0 {
            match (u64::from_le_bytes(*key), u64::from_le_bytes(*value)) {
                (BUFFER, at) => buffer = at,
                (BUFFER_SIZE, at) => size = self.memory.at(at).map(|f| word(f.bytes)),
                _ => break,
            }
        }
        let bytes = self.memory.at(buffer)?.bytes;
        let bytes = size.and_then(|s| bytes.get(..usize::try_from(s).ok()?)).unwrap_or(bytes);
        let function = row.params.iter().find_map(|p| match p.rule {
            Rule::KernelParams(function, or) => Some((function, or)),
            _ => None,
        });
        let handle = function.and_then(|(f, or)| self.kernel_of(row, f, or)).unwrap_or(0);
        let Some(table) = self.kernels.and_then(|k| k.parameters_of(handle, self.ticks)).cloned() else {
            return Some(Value::Pointee(address, Box::new(Value::Bytes(bytes.get(..64).unwrap_or(bytes).into()))));
        };
        // Of one that continues behind what was kept its beginning is shown.
        let cell = |&(offset, size): &(u32, u32)| {
            let rest = bytes.get(offset as usize..).filter(|rest| !rest.is_empty())?;
            rest.get(..rest.len().min(size as usize))
        };
        let cells: Vec<&[u8]> = table.iter().map_while(cell).collect();
        let list = self.parameters(handle, &cells, &table);
        Some(Value::Pointee(address, Box::new(list)))
    }

    /// What name and PTX say of the parameters of a kernel, looked up once as long as nothing new is known.
    fn known_parameters(&mut self, handle: u64, table: &Parameters) -> Option<Arc<KnownParameters>> {
        let kernels = self.kernels?;
        let name = self.kernel.or_else(|| kernels.newest(handle))?;
        let find = || KnownParameters::find(name, table, kernels);
        let Some(rows) = &mut self.parameters_by_kernel else { return Some(Arc::new(find())) };
        Some(rows.get(name, table, kernels.entries_read, find))
    }

    fn parameters(&mut self, handle: u64, cells: &[&[u8]], table: &Parameters) -> Value {
        let by_kernel = self.known_parameters(handle, table);
        let mut values = Vec::with_capacity(cells.len());
        for (n, cell) in cells.iter().take(ELEMENTS).enumerate() {
            if !self.take() {
                break;
            }
            let kind = by_kernel.as_ref().map_or(ParameterType::Unknown, |known| known.kind(n));
            values.push(match table.get(n) {
                Some((_, size)) if *size as usize > cell.len() => self.beginning(cell, *size as usize),
                _ => self.parameter(kind, cell),
            });
        }
        let names = by_kernel.and_then(|known| Some(known.entry.as_ref()?.names.clone()));
        Value::List(Box::new(List { values, total: table.len() as u64, names, more: 0 }))
    }

    /// The beginning of a parameter of so many bytes.
    fn beginning(&mut self, bytes: &[u8], size: usize) -> Value {
        let words = bytes.as_chunks::<8>().0.iter().take(WORDS);
        let values: Vec<Value> = words.map(|word| self.parameter(ParameterType::Unknown, word)).collect();
        let (total, more) = (values.len() as u64, (size - 8 * values.len().min(size / 8)) as u64);
        Value::List(Box::new(List { values, total, names: None, more }))
    }

    fn parameter(&mut self, kind: ParameterType, bytes: &[u8]) -> Value {
        let all = word(bytes);
        match (kind, bytes.len()) {
            (ParameterType::Pointer, 8) => self.address_or(all, None, Fallback::ByRange),
            (ParameterType::Bool, 1) => Value::Bool(all != 0),
            (ParameterType::Float, 4) => Value::Single(f32::from_bits(all as u32)),
            (ParameterType::Float, 8) => Value::Double(f64::from_bits(all)),
            (ParameterType::Half, 2) => Value::Single(half(all as u16)),
            (ParameterType::BFloat16, 2) => Value::Single(f32::from_bits((all as u32) << 16)),
            (ParameterType::Signed, n @ 1..=8) => Value::Int(signed(all, n)),
            (_, 8) if kind == ParameterType::Unknown => match self.address(all, None) {
                place @ Value::Address(_, Some(_)) => place,
                _ if all >> 32 != 0 => Value::Hex(all),
                _ => Value::Uint(all),
            },
            (_, 1..=8) => Value::Uint(all),
            // A separate struct; what lies in it is often addresses.
            (ParameterType::Unknown, n) if n.is_multiple_of(8) => {
                let words = bytes.chunks_exact(8).take(WORDS);
                let values = words.map(|word| self.parameter(ParameterType::Unknown, word)).collect();
                Value::List(Box::new(List { values, total: n as u64 / 8, names: None, more: 0 }))
            }
            _ => Value::Bytes(bytes.get(..64).unwrap_or(bytes).into()),
        }
    }
}
