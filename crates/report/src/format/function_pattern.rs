//! The pattern of a function that a person wrote, and names.

use cutap_calls::hidden::is_slot_name;

/// Whether a name is meant: with * in it, or any versioned form of a plain name. A function of a hidden table is meant
/// by its slot, by its known name, and by both: `c693336e[2]:storage_get`.
pub(crate) fn is_meant(function: &str, name: &str) -> bool {
    let (slot, known) = name.split_once(':').unwrap_or((name, name));
    if is_slot_name(slot.as_bytes()) {
        let function = function.strip_prefix("hidden:").unwrap_or(function);
        return [name, slot, known].iter().any(|name| cutap_calls::glob(function.as_bytes(), name.as_bytes()));
    }
    let versioned = |rest: &str| rest.is_empty() || rest.starts_with('_');
    cutap_calls::glob(function.as_bytes(), name.as_bytes()) || name.strip_prefix(function).is_some_and(versioned)
}

#[cfg(test)]
mod tests {
    use super::is_meant;

    #[test]
    fn hidden_functions_by_slot_and_by_name() {
        let name = "c693336e[2]:storage_get";
        for meant in [name, "c693336e[2]", "hidden:c693336e[2]", "storage_get", "c693336e[*]", "c693336e*", "storage_*"]
        {
            assert!(is_meant(meant, name), "{meant}");
        }
        for other in ["c693336e[1]", "c693336e", "c693336e[2", "storage", "get"] {
            assert!(!is_meant(other, name), "{other}");
        }
        assert!(is_meant("c693336e[7]", "c693336e[7]") && !is_meant("c693336e[7]", "c693336e[71]"));
    }

    #[test]
    fn versions_of_a_plain_name() {
        assert!(is_meant("cuMemAlloc", "cuMemAlloc_v2") && !is_meant("cuMemAlloc", "cuMemAllocHost_v2"));
        assert!(!is_meant("ns", "ns::run(int)") && is_meant("ns*", "ns::run(int)"));
    }
}
