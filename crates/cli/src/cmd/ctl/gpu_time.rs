//! `cutap ctl PID gpu-time on` and `off`: a word in the pages of switches. The injection of the program reads it once a
//! second. Only a run that was started with `--gpu-time` has the injection.

use super::switch::Switching;
use super::target::Target;
use clap::ValueEnum;
use cutap_collect::{Error, Page, Result, each_page};
use cutap_wire::control::{GPU_TIME, GPU_TIME_OFF, GPU_TIME_TAKEN};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GpuTimeState {
    On,
    Off,
}

/// Whether the rows of a process, or of all of a run, are taken now; none if they never are.
pub fn state_of(run: &Page, own: Option<&Page>) -> Option<&'static str> {
    let flags = own.unwrap_or(run).flags();
    let is = |flag: u64| flags & flag != 0;
    (run.flags() & GPU_TIME != 0).then_some(match () {
        () if is(GPU_TIME_TAKEN) => "ended: a profiler of the program has CUPTI",
        () if is(GPU_TIME_OFF) => "off",
        () => "on",
    })
}

/// Switches the rows of the target; returns what to print about it.
pub fn switch(target: &Target, who: &str, all: bool, to: GpuTimeState) -> Result<String> {
    let page = &target.page;
    if page.flags() & GPU_TIME == 0 {
        return Err(Error::own(format!(
            "{who} was started without --gpu-time, so its GPU times cannot be taken; start it with \
             cutap record --gpu-time"
        )));
    }
    let Switching { shown_as, command_text, pages, .. } = Switching::of(target, who, all)?;
    if to == GpuTimeState::On && target.pid.is_some() && pages.iter().any(|own| own.flags() & GPU_TIME_TAKEN != 0) {
        return Err(Error::own(format!(
            "a profiler of the program has CUPTI in {shown_as}, so GPU times cannot be taken; leave the profiler out"
        )));
    }
    for one in each_page(pages, target.pid, page) {
        one.put_flag(GPU_TIME_OFF, to == GpuTimeState::Off);
    }
    Ok(match to {
        GpuTimeState::On => format!("GPU times are on in {shown_as} within a second\n"),
        GpuTimeState::Off => {
            format!(
                "GPU times are off in {shown_as} within a second; {command_text} gpu-time on switches them on again\n"
            )
        }
    })
}
