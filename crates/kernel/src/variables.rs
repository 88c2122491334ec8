//! What is known of variables of the environment that CUDA's libraries read.
//! libcuda also reads a name that is no text: bytes that are no UTF-8 are shown as `�`.

use crate::generated::variables::MEANINGS;

/// What a variable means, in one phrase: from public documentation, or that its name is a hash. None where nothing is
/// known.
#[must_use]
pub fn meaning(name: &str) -> Option<&'static str> {
    let index = MEANINGS.binary_search_by(|(own, _)| (*own).cmp(name)).ok();
    let text = index.and_then(|at| MEANINGS.get(at)).map(|(_, text)| *text);
    text.or_else(|| is_hashed(name).then_some("a hashed name; NVIDIA does not publish its meaning"))
}

/// Whether the name is a hash, such as `CUDA_03b69110`.
#[must_use]
pub fn is_hashed(name: &str) -> bool {
    let digits = name.strip_prefix("CUDA_").unwrap_or_default();
    digits.len() >= 8 && is_hash(digits)
}

/// Lower-case hexadecimal digits.
pub(crate) fn is_hash(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings() {
        assert!(MEANINGS.is_sorted());
        assert_eq!(meaning("CUDA_VISIBLE_DEVICES"), Some("which GPUs the process sees, and in which order"));
        assert!(meaning("CUDA_03b69110").is_some_and(|text| text.starts_with("a hashed name")));
        assert_eq!((meaning("CUDA_FORCE_BT"), meaning("CUDA_CAFE"), meaning("CUDA_cafe")), (None, None, None));
        assert!(is_hashed("CUDA_30a705585") && is_hashed("CUDA_cfc6091ab7"));
    }
}
