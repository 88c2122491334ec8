//! Which driver the program gets.

/// A library that the program finds as libcuda.so.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DriverChoice {
    /// The one of this machine.
    #[default]
    Installed,
    /// The simulated one.
    Simulated,
    /// The one of cutap that drives GPUs.
    Cudest,
}

impl DriverChoice {
    /// Whether it comes with cutap.
    pub fn is_unpacked(self) -> bool {
        self != Self::Installed
    }
}
