//! Faults that end a context. They run last.

use crate::{Answer, Setup, check, pack};
use cutap_cudest::{Error, Options, Shape};

pub fn pointer(cubin: &[u8], options: Options) -> Answer {
    let s = Setup::new(cubin, options)?;
    let kernel = s.kernel("vecadd")?;
    let bad = 0x5550_0000_0000_u64;
    // SAFETY: the wrong address is the test: it ends the context, and writes nothing.
    unsafe { s.stream.launch(&kernel, &Shape::linear(4, 256), &pack(&kernel, &[bad, bad, bad, 1000]))? };
    s.stream.synchronize().ok();
    // The unified memory driver lets the kernel end, and reports the fault some time later.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(1);
    while s.context.check().is_ok() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let Err(Error::Lost(loss)) = s.context.check() else { return Err("no loss".into()) };
    let again = s.stream.synchronize().is_err() && s.context.video(100).is_err();
    let new = Setup::new(cubin, options)?;
    let works = check::kernels(&new)?;
    drop(s);
    check::kernels(&new)?;
    Ok(format!("{loss}; sticky: {again}; a new context in this process: {works}"))
}

/// A call of a function that libcuda would supply.
pub fn trap(cubin: &[u8], options: Options) -> Answer {
    let s = Setup::new(cubin, options)?;
    let kernel = s.kernel("prints")?;
    // SAFETY: the kernel ends with a trap.
    unsafe { s.stream.launch(&kernel, &Shape::linear(1, 1), &pack(&kernel, &[1]))? };
    match s.stream.synchronize() {
        Err(Error::Lost(loss)) => Ok(loss.to_string()),
        other => Err(format!("no loss: {other:?}").into()),
    }
}

/// The child of a fork may not use the context; the parent may.
pub fn fork(s: &Setup) -> Answer {
    let work = || s.context.pinned(4096).map(drop);
    // SAFETY: the child only makes system calls and ends.
    match unsafe { libc_fork() } {
        0 => {
            let refused = matches!(work(), Err(Error::Forked));
            std::process::exit(if refused { 7 } else { 1 });
        }
        child => {
            let status = wait(child);
            work()?;
            if status == 7 << 8 {
                Ok("the child is refused, the parent works".into())
            } else {
                Err(format!("child {status:#x}").into())
            }
        }
    }
}

unsafe extern "C" {
    #[link_name = "fork"]
    fn libc_fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
}

fn wait(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the status is ours.
    unsafe { waitpid(child, &raw mut status, 0) };
    status
}
