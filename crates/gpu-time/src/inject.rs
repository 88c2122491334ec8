//! What the shared library exports.

/// libcuda calls it in cuInit. Its result is 1: the driver starts, whether there will be rows or not.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> core::ffi::c_int {
    crate::start();
    1
}

/// Never reached, because nothing here panics. It must not end the program.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        crate::thread::sleep_one_second();
    }
}
