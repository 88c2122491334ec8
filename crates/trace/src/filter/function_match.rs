//! Whether a function of this name can exist, for plain lists of names (of a hook library). The tables of filters
//! decide.

use super::library;
use super::refusal::nearest;
use cutap_calls::is_of_cuda;

/// What is known of a name, or of a pattern with `*` and `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionMatch {
    /// There are such functions, in these layers (a `cutap_calls::Layer`).
    Known(Vec<u8>),
    /// It may be one of a library of which nobody has a list.
    Perhaps,
    /// Nobody knows one; these may have been meant.
    Unknown(Vec<&'static str>),
}

/// Looks a name up.
pub fn find_function(name: &str) -> FunctionMatch {
    if name.contains('[') {
        return FunctionMatch::Perhaps;
    }
    let mut layers = library::layers_of(name);
    layers.sort_unstable();
    layers.dedup();
    if !layers.is_empty() {
        return FunctionMatch::Known(layers);
    }
    let functions = cutap_calls::FUNCTIONS;
    let begins = name.split(['*', '?']).next().unwrap_or(name);
    if begins.len() < name.len() {
        let some = functions.iter().any(|k| cutap_calls::glob(name.as_bytes(), k.as_bytes()));
        // A few letters may begin the name of anybody's function.
        return match !some && (is_of_cuda(begins) || library::listed(begins).is_some()) {
            true => FunctionMatch::Unknown(nearest(begins, functions)),
            false => FunctionMatch::Perhaps,
        };
    }
    let mut near = nearest(name, functions);
    let slip = functions.iter().any(|k| k.eq_ignore_ascii_case(name));
    match library::listed(name) {
        Some(family) => near.extend(library::near_functions(family, name)),
        None if !slip && !is_of_cuda(name) && cutap_calls::in_family(name.as_bytes()) => return FunctionMatch::Perhaps,
        None => {}
    }
    near.dedup();
    FunctionMatch::Unknown(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_calls::Layer;

    #[test]
    fn what_can_be_wanted() {
        for (name, layers) in [
            ("cuMemAlloc", &[Layer::DRIVER.number()][..]),
            ("cuMemAlloc_v2", &[Layer::DRIVER.number()]),
            ("cudaMalloc", &[Layer::RUNTIME.number()]),
            ("cu*StreamSynchronize*", &[Layer::RUNTIME.number(), Layer::DRIVER.number()]),
            ("cublasSgemm", &[Layer::LIBRARY.number()]),
            ("*", &[Layer::LIBRARY, Layer::RUNTIME, Layer::DRIVER].map(Layer::number)),
        ] {
            assert_eq!(find_function(name), FunctionMatch::Known(layers.to_vec()), "{name}");
        }
        for name in ["nvtxRangePushedAway", "nvtx*Nothing", "*NotThere"] {
            assert_eq!(find_function(name), FunctionMatch::Perhaps, "{name}");
        }
        assert_eq!(find_function("cuMemAllok"), FunctionMatch::Unknown(vec!["cuMemAlloc"]));
        assert_eq!(find_function("cudamalloc"), FunctionMatch::Unknown(vec!["cudaMalloc", "cuMemAlloc"]));
        for name in ["cuMemAllok*", "malloc", "cublasSgemn", "driver", "cuNone", ""] {
            assert!(matches!(find_function(name), FunctionMatch::Unknown(_)), "{name}: {:?}", find_function(name));
        }
    }
}
