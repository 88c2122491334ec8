//! Statuses other than 0 that are answers. The call did what it was asked to do, so it has not failed.

use cutap_calls::{Role, has_role};

/// Whether a status of this name is an answer of this function. Such answers are that there is no such table or
/// function, that the work is not done yet, and the error of an earlier call.
pub(super) fn is_answer(function: &str, status: Option<&str>) -> bool {
    let has = |role| has_role(function.as_bytes(), role);
    let is = |end| status.is_some_and(|status| status.ends_with(end));
    // A runtime asks newer functions and tables of an older driver, and does without them.
    has(Role::ExportTable)
        || has(Role::ProcAddress) && is("NOT_FOUND")
        || has(Role::AsksLastError)
        || is("NotReady")
        || is("NOT_READY")
}

#[cfg(test)]
mod tests {
    use super::is_answer;

    #[test]
    fn answers_and_failures() {
        assert!(is_answer("cuGetExportTable", Some("CUDA_ERROR_INVALID_VALUE")));
        assert!(is_answer("cuGetProcAddress_v2", Some("CUDA_ERROR_NOT_FOUND")));
        assert!(!is_answer("cuGetProcAddress_v2", Some("CUDA_ERROR_INVALID_VALUE")));
        assert!(is_answer("cudaPeekAtLastError", Some("cudaErrorMemoryAllocation")));
        assert!(is_answer("cudaEventQuery", Some("cudaErrorNotReady")));
        assert!(is_answer("cuStreamQuery", Some("CUDA_ERROR_NOT_READY")));
        assert!(!is_answer("cuModuleGetFunction", Some("CUDA_ERROR_NOT_FOUND")));
        assert!(!is_answer("ncclCommInitRank", None));
    }
}
