//! What names of parameters and fields say about one another: `numNodes` counts `nodes`, `len` is the
//! length of the text beside it, `userData` is nobody's business.

use super::known::{Count, Type};
use super::tables::{Sibling, Tables};

/// An address that only its owner understands.
pub(crate) fn is_cookie(name: &str) -> bool {
    let lower = plain(name);
    let words = ["userdata", "userptr", "cookie", "usrdata", "callbackdata", "userargs", "clientdata", "userargument"];
    words.iter().any(|w| lower.contains(w)) || lower == "user"
}

/// `devInfo`, `d_work`: memory of a device.
pub(crate) fn is_on_device(name: &str) -> bool {
    let camel = |prefix: &str| {
        let rest = name.strip_prefix(prefix);
        rest.and_then(|r| r.chars().next()).is_some_and(|c| c.is_ascii_uppercase() || c == '_')
    };
    camel("dev") || camel("d") || name == "info" || name == "ipiv"
}

/// `srcHost`, `hostPtr`, `h_csrValA`: memory of the host.
pub(crate) fn is_on_host(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.starts_with("h_") || lower.contains("host") && !lower.contains("dev")
}

/// The number of elements that a sibling tells; with `loose`, also by a name that names nothing.
pub(crate) fn count_of(tables: &Tables, siblings: &[Sibling], n: usize, loose: bool) -> Option<Count> {
    let name = plain(&siblings[n].name);
    let stems = stems(&name);
    let counts = |word: &str| {
        stems.iter().any(|stem| {
            let remainder = word.strip_prefix(stem.as_str()).or_else(|| word.strip_suffix(stem.as_str()));
            remainder.is_some_and(|rest| ["num", "n", "nb", "count", "counts", "numberof", "no", "cnt"].contains(&rest))
        })
    };
    let number = |k: usize| k != n && (is_number(tables, &siblings[k]) || is_number_at(tables, &siblings[k]));
    let by_name = (0..siblings.len()).find(|k| number(*k) && counts(&plain(&siblings[*k].name)));
    let any = || {
        let words = ["count", "num", "length", "numentries", "numelements", "arraycount", "arraysize"];
        let plural = name.ends_with('s') || name.ends_with("array") || name.ends_with("list");
        let mut k = 0..siblings.len();
        k.find(|k| loose && plural && number(*k) && words.contains(&plain(&siblings[*k].name).as_str()))
    };
    let position = by_name.or_else(any)?;
    let index = u8::try_from(position).ok()?;
    Some(if is_number(tables, &siblings[position]) { Count::Of(index) } else { Count::At(index) })
}

/// A number that counts the bytes of what a call is about, and not those of a row or of shared memory.
pub(crate) fn is_length(name: &str) -> bool {
    let word = plain(name);
    ["bytecount", "bytesize", "count", "size", "bytes", "sizeinbytes", "length", "nbytes"].contains(&word.as_str())
}

/// The bytes of a buffer that a sibling tells.
pub(crate) fn length_of(tables: &Tables, siblings: &[Sibling], n: usize) -> Option<Count> {
    let name = plain(&siblings[n].name);
    let is_size = |k: &usize| {
        let word = plain(&siblings[*k].name);
        let of_it = word.strip_prefix(&name).or_else(|| word.strip_suffix(&name));
        let rest = of_it.unwrap_or(if k.abs_diff(n) == 1 { &word } else { "" });
        ["len", "length", "size", "maxlen", "maxlength", "buffersize", "bytes", "sizeinbytes", "count", "bytecount"]
            .contains(&rest)
    };
    // What stands behind the buffer is its length more often than what stands before it.
    let order = [n + 1, n.wrapping_sub(1)].into_iter().chain(0..siblings.len());
    let position = order
        .filter(|k| *k < siblings.len() && *k != n)
        .find(|k| (is_number(tables, &siblings[*k]) || is_number_at(tables, &siblings[*k])) && is_size(k))?;
    let index = u8::try_from(position).ok()?;
    Some(if is_number(tables, &siblings[position]) { Count::Of(index) } else { Count::At(index) })
}

fn is_number(tables: &Tables, sibling: &Sibling) -> bool {
    matches!(tables.get(sibling.ty), Type::Int { bytes: 4.., .. })
}

fn is_number_at(tables: &Tables, sibling: &Sibling) -> bool {
    matches!(tables.get(sibling.ty), Type::Pointer(to, false) if matches!(tables.get(to), Type::Int { bytes: 4.., .. }))
}

/// Small letters without `_` and the hints of old C style.
fn plain(name: &str) -> String {
    let lower: String = name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
    let hungarian = name.strip_prefix('p').and_then(|r| r.chars().next()).is_some_and(|c| c.is_ascii_uppercase());
    if hungarian { lower.trim_start_matches('p').to_owned() } else { lower }
}

/// What the name of a count may be made of: `node` and `nodes` for `nodes`, `param` for `paramsArray`.
fn stems(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    for suffix in ["array", "list", "out", "in", "ptr", "s", "arr"] {
        for k in 0..all.len() {
            if let Some(stem) = all[k].strip_suffix(suffix).filter(|s| s.len() > 1) {
                let stem = stem.to_owned();
                if !all.contains(&stem) {
                    all.push(stem);
                }
            }
        }
    }
    all.extend(all.clone().into_iter().map(|stem| format!("{stem}s")));
    if let Some(stem) = name.strip_suffix("ies") {
        all.push(format!("{stem}y"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(plain("pNumNodes"), "numnodes");
        assert_eq!(plain("num_entries"), "numentries");
        assert_eq!(plain("pci"), "pci");
        assert!(stems("paramsarray").contains(&"param".to_owned()));
        assert!(stems("dependencies").contains(&"dependency".to_owned()));
        assert!(is_cookie("userData") && is_cookie("user_data") && !is_cookie("data"));
        assert!(is_on_device("devIpiv") && is_on_device("d_work") && !is_on_device("dims") && !is_on_device("device"));
    }
}
