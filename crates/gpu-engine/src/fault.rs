//! Errors of cudest as results of CUDA.

use cutap_cudest::{Error, Loss};
use cutap_driver::abi::Fault;
use cutap_driver::engine::refused;

/// The result of CUDA for an error. `subject` is what could not be done, for the list of refused calls.
pub fn of(error: &Error, subject: &str) -> Fault {
    match error {
        Error::NoMemory { .. } => Fault::OUT_OF_MEMORY,
        Error::Lost(loss) => of_loss(loss),
        Error::Forked => Fault::NOT_INITIALIZED,
        Error::Ptx { .. } => listed(error, subject, Fault::INVALID_PTX),
        Error::NoPtxCompiler => listed(error, subject, Fault::JIT_COMPILER_NOT_FOUND),
        Error::NotElf | Error::NotCubin(_) | Error::BadCubin(_) | Error::BadFatbin(_) => Fault::INVALID_IMAGE,
        Error::WrongArchitecture { .. } | Error::NoCode { .. } => Fault::NO_BINARY_FOR_GPU,
        Error::NoSymbol { .. } => Fault::NOT_FOUND,
        Error::Launch { .. } => listed(error, subject, Fault::LAUNCH_OUT_OF_RESOURCES),
        Error::Parameters { .. } | Error::Range(_) => listed(error, subject, Fault::INVALID_VALUE),
        Error::Unsupported(_) => listed(error, subject, Fault::NOT_SUPPORTED),
        _ => listed(error, subject, Fault::UNKNOWN),
    }
}

fn listed(error: &Error, subject: &str, fault: Fault) -> Fault {
    refused::count(subject, &error.to_string(), None);
    fault
}

/// The result of CUDA for the fault that ended a context. The warp's error register says what an SM refused.
pub fn of_loss(loss: &Loss) -> Fault {
    const ERROR: u32 = 0xff;
    if loss.called.as_deref() == Some("__assertfail") {
        return Fault::ASSERT;
    }
    if loss.trapped {
        return Fault::LAUNCH_FAILED;
    }
    match (loss.xid, loss.sm.map(|sm| sm.error & ERROR)) {
        (31, _) | (13, Some(0x0e)) => Fault::ILLEGAL_ADDRESS,
        (13, Some(0x0f)) => Fault::MISALIGNED_ADDRESS,
        (13, Some(0x09 | 0x0b | 0x11)) => Fault::ILLEGAL_INSTRUCTION,
        (13, Some(0x10)) => Fault::INVALID_ADDRESS_SPACE,
        (13, Some(0x04..=0x06)) => Fault::INVALID_PC,
        (13, Some(0x01..=0x03)) => Fault::HARDWARE_STACK_ERROR,
        (8 | 109, _) => Fault::LAUNCH_TIMEOUT,
        (48 | 63 | 64 | 94 | 95, _) => Fault::ECC_UNCORRECTABLE,
        _ => Fault::LAUNCH_FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_cudest::SmError;

    fn loss(xid: u32, error: Option<u32>) -> Loss {
        let sm = error.map(|error| SmError { sm: 0, error, instruction: 0 });
        Loss { xid, time: 0, fault: None, sm, detail: String::new(), kernel: None, called: None, trapped: false }
    }

    #[test]
    fn results_of_faults() {
        for (xid, error, result) in [
            (31, None, 700),
            (31, Some(0x0f), 700),
            (13, Some(0x0e), 700),
            (13, Some(0x0f), 716),
            // As an H200 wrote it for a box of a tensor map that is not aligned: other bits say more.
            (13, Some(0x2_000b), 715),
            (13, Some(0x09), 715),
            (13, Some(0x11), 715),
            (13, Some(0x10), 717),
            (13, Some(0x04), 718),
            (13, Some(0x05), 718),
            (13, Some(0x06), 718),
            (13, Some(0x01), 714),
            (13, Some(0x03), 714),
            (13, Some(0x0c), 719),
            (13, Some(0x20), 719),
            (13, None, 719),
            (43, None, 719),
            (109, None, 702),
            (48, None, 214),
        ] {
            assert_eq!(of_loss(&loss(xid, error)).0, result, "{xid} {error:?}");
        }
        let called = Some("__assertfail".to_owned());
        let asserts = Loss { called, trapped: true, ..loss(13, Some(0x09)) };
        assert_eq!(of_loss(&asserts).0, 710);
        // A trap of the program, whatever the register says of it.
        for error in [0x09, 0x0b, 0x05] {
            assert_eq!(of_loss(&Loss { trapped: true, ..loss(13, Some(error)) }).0, 719);
        }
    }
}
