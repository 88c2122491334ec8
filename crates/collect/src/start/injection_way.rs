//! How libcuda learns of the injection that takes GPU times.

use crate::base::error::print_notice;
use crate::options::driver_choice::DriverChoice;
use crate::start::driver;
use cutap_calls::generated::gpu_time::{INJECTION_VARIABLE, VARIABLE_READERS};
use cutap_calls::{Layer, soname_of};
use std::ffi::OsStr;
use std::sync::OnceLock;

/// Chooses the way, to compare them: `answer` or `variable`. For tests on a machine with a GPU.
const CHOICE: &str = "CUTAP_GPU_TIME_BY";

/// How libcuda learns of the injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectionWay {
    /// The preload answers libcuda's question for the variable, which the program does not see.
    Answer,
    /// The variable is set.
    Variable,
}

impl InjectionWay {
    /// The way for a driver. It is found once.
    pub fn of(driver: DriverChoice) -> InjectionWay {
        static WAY: OnceLock<InjectionWay> = OnceLock::new();
        *WAY.get_or_init(|| match std::env::var(CHOICE).as_deref() {
            Ok("variable") => InjectionWay::Variable,
            Ok("answer") => InjectionWay::Answer,
            _ if driver.is_unpacked() => InjectionWay::Answer,
            _ => of_driver(),
        })
    }
}

/// A driver that is not found is one that the program finds: all that were looked at read variables in this way.
fn of_driver() -> InjectionWay {
    let Some(path) = driver::library(OsStr::new(soname_of(Layer::DRIVER))) else { return InjectionWay::Answer };
    if cutap_inspect::imports_one_of(&path, VARIABLE_READERS) != Some(false) {
        return InjectionWay::Answer;
    }
    print_notice(&format!(
        "{INJECTION_VARIABLE} is set for the program, because {} does not read it by getenv",
        path.display()
    ));
    InjectionWay::Variable
}
