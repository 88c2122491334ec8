//! The line of a call that launches a kernel: `cudaLaunchKernel saxpy(int) <<<16, 256>>> stream 0 (args={...})`. What
//! runs, and how much of it, stands before everything else, so a terminal never cuts it.

use crate::call::columns::CallView;
use crate::call::values::{write_launched, write_value};
use crate::call_text::shape::Marks;
use crate::format::units::{decimal, write_exactly};
use anstyle::Style;
use cutap_calls::known::Param;
use cutap_trace::Call;
use cutap_trace::decode::Value;
use std::fmt::Write as _;

/// The configuration of a launch, from the parameters of the call or from the struct that one of them points to.
#[derive(Debug, Default)]
pub(crate) struct Launch<'a> {
    /// The handle or the address that says which kernel it is.
    handle: Option<&'a Value>,
    grid: Sizes<'a>,
    block: Sizes<'a>,
    shared: Option<&'a Value>,
    stream: Option<&'a Value>,
    /// All parameters, in their order.
    parameters: Vec<(&'static str, &'a Value)>,
}

/// The arguments that say a size: one that is a struct, or one for each direction.
#[derive(Debug, Default)]
struct Sizes<'a>([Option<&'a Value>; 3]);

impl<'a> Sizes<'a> {
    fn push(&mut self, value: &'a Value) {
        self.0.iter_mut().find(|place| place.is_none()).into_iter().for_each(|place| *place = Some(value));
    }

    fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// The numbers, and how many there are.
    fn numbers(&self) -> ([u64; 3], usize) {
        let (mut numbers, mut count) = ([1; 3], 0);
        let mut push = |number: f64| {
            if let Some(place) = numbers.get_mut(count) {
                (*place, count) = (number as u64, count + 1);
            }
        };
        for value in self.0.iter().flatten() {
            match value.target() {
                Value::Struct(fields) => fields.values.iter().filter_map(|(_, v)| v.number()).for_each(&mut push),
                value => value.number().into_iter().for_each(&mut push),
            }
        }
        (numbers, count)
    }
}

/// The blocks of a launch as `x,y,z` in `to`; none of another call.
pub(crate) fn grid<'t>(call: &Call, to: &'t mut String) -> Option<&'t str> {
    let launch = Launch::of(call)?;
    to.clear();
    for (sign, size) in ["", ",", ","].into_iter().zip(launch.grid.numbers().0) {
        to.push_str(sign);
        decimal(size, to);
    }
    Some(to)
}

/// Whether calls with these parameters may be launches of a kernel: a few comparisons, for each call.
pub(crate) fn may_launch(params: &[Param]) -> bool {
    params.iter().take(3).any(|param| matches!(param.name, "gridDim" | "gridDimX" | "config"))
}

impl<'a> Launch<'a> {
    /// The launch that a call makes; none if it makes none, or its configuration is not known.
    pub fn of(call: &'a Call) -> Option<Launch<'a>> {
        let params = call.function.params();
        if !may_launch(params) || call.inputs().len() < params.len() {
            return None;
        }
        let mut launch = Launch { parameters: Vec::with_capacity(4), ..Launch::default() };
        for (param, value) in params.iter().zip(call.inputs()) {
            match (param.name, value.target()) {
                ("func" | "kernel" | "f", _) => launch.handle = Some(value),
                ("config", Value::Struct(fields)) if !fields.cut && fields.more == 0 => {
                    fields.named().into_iter().for_each(|(name, value)| launch.take(name, value));
                }
                (name, _) => launch.take(name, value),
            }
        }
        (launch.handle.is_some() && !launch.grid.is_empty() && !launch.block.is_empty()).then_some(launch)
    }

    fn take(&mut self, name: &'static str, value: &'a Value) {
        match name {
            _ if name.starts_with("gridDim") => self.grid.push(value),
            _ if name.starts_with("blockDim") => self.block.push(value),
            "sharedMem" | "sharedMemBytes" | "dynamicSmemBytes" => self.shared = Some(value),
            "stream" | "hStream" => self.stream = Some(value),
            // Said by the list of attributes, or there is none.
            "numAttrs" => {}
            "attrs" | "extra" if matches!(value, Value::Null) => {}
            _ => self.parameters.push((name, value)),
        }
    }

    /// The launch behind the function's name, also with its handle; gives where its parts are.
    pub fn write(&self, view: CallView<'_>, has_handle: bool, style: Style, to: &mut String) -> Marks {
        to.push(' ');
        if !style.is_plain() {
            let _ = write!(to, "{}", style.render());
        }
        let from = to.len();
        self.write_kernel(view, to);
        let kernel = Some((from, to.len()));
        if !style.is_plain() {
            let _ = write!(to, "{}", style.render_reset());
        }
        self.write_configuration(to);
        let parameters = Some(to.len());
        self.write_parameters(view.call, has_handle, to);
        Marks { kernel, parameters, ..Marks::default() }
    }

    /// The kernel, or its handle if nothing is known of its name.
    fn write_kernel(&self, view: CallView<'_>, to: &mut String) {
        match (view.kernel(), self.handle) {
            (Some(kernel), _) => to.push_str(kernel),
            (None, Some(handle)) => write_value(handle, to),
            (None, None) => to.push('?'),
        }
    }

    /// ` <<<16, 256, 48 KiB>>> stream 0`.
    fn write_configuration(&self, to: &mut String) {
        to.push_str(" <<<");
        write_size(&self.grid, to);
        to.push_str(", ");
        write_size(&self.block, to);
        if let Some(bytes) = self.shared.and_then(Value::number).filter(|bytes| *bytes > 0.0) {
            to.push_str(", ");
            write_exactly(bytes as u64, to);
        }
        to.push_str(">>>");
        let Some(stream) = self.stream else { return };
        to.push(' ');
        let before = to.len();
        write_value(stream, to);
        // `stream#1` says what it is.
        if !to.get(before..).is_some_and(|text| text.starts_with("stream#")) {
            to.insert_str(before, "stream ");
        }
    }

    /// ` (args={1, 2})`: what the configuration does not say. `handle`: with the handle of the kernel.
    fn write_parameters(&self, call: &Call, handle: bool, to: &mut String) {
        let func = call.function.params().iter().find(|param| matches!(param.name, "func" | "kernel" | "f"));
        let handle = func.zip(self.handle).filter(|_| handle).map(|(param, value)| (param.name, value));
        let mut sign = " (";
        for (name, value) in handle.into_iter().chain(self.parameters.iter().copied()) {
            to.push_str(sign);
            to.push_str(name);
            to.push('=');
            write_launched(value, call.driver_args(), to);
            sign = ", ";
        }
        if sign == ", " {
            to.push(')');
        }
    }
}

/// `16`, `(16,2)` or `(16,2,1)`: trailing ones are left out.
fn write_size(of: &Sizes<'_>, to: &mut String) {
    let (sizes, mut count) = of.numbers();
    while count > 1 && sizes[count - 1] == 1 {
        count -= 1;
    }
    match &sizes[..count] {
        [] => to.push('?'),
        [one] => decimal(*one, to),
        many => {
            for (n, size) in many.iter().enumerate() {
                to.push(if n == 0 { '(' } else { ',' });
                decimal(*size, to);
            }
            to.push(')');
        }
    }
}
