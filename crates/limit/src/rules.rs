//! Which rule a call gets: what cutap calls before and after a call.

use crate::account::Mark;
use crate::hook::Hooked;
use crate::ledger::Space;
use crate::{arrays, code, contexts, graphs, linear, physical, pools, settle, tells, tells_use};
use cutap_hook::contract::Call;
use cutap_wire::limited::{Kind, Row};

unsafe fn rule(call: *mut Call) -> Option<(Hooked, &'static Row, Kind)> {
    // SAFETY: the caller's promise: the row is of the mapped file, which stays.
    let (hooked, row) = unsafe { (Hooked::new(call)?, (*call).user.cast::<Row>().as_ref()?) };
    Some((hooked, row, Kind::of_number(row.kind)?))
}

/// What cutap calls before a call.
///
/// # Safety
/// A call of a function that the row in `user` is of.
pub unsafe extern "C" fn before(call: *mut Call) {
    // SAFETY: the caller's promise.
    let Some((hooked, row, kind)) = (unsafe { rule(call) }) else { return };
    let (hooked, argument) = (&hooked, |index| hooked.argument(index));
    match kind {
        Kind::Linear => linear::before_allocation(hooked, row, argument(1)),
        Kind::Lines => linear::before_lines(hooked, row),
        Kind::Array => arrays::before_flat(hooked, row),
        Kind::Array3D => arrays::before_levels(hooked, row, 1),
        Kind::Mipmaps => arrays::before_levels(hooked, row, argument(2) as u32),
        Kind::Physical => physical::before_allocation(hooked, row),
        Kind::Pooled => pools::before_allocation(hooked, row, None, argument(2)),
        Kind::FromPool => pools::before_allocation(hooked, row, Some(argument(2)), argument(3)),
        Kind::Gives => linear::before_free(hooked, Space::Address),
        Kind::GivesPooled => pools::before_free(hooked),
        Kind::GivesPhysical => physical::before_free(hooked),
        Kind::EndsPool => linear::before_free(hooked, Space::Pool),
        Kind::EndsGraph => graphs::before_end(hooked),
        Kind::RunsGraph => graphs::before_run(hooked, row),
        Kind::LoadsCode => code::before_load(hooked),
        Kind::UnloadsCode => linear::before_free(hooked, Space::Code),
        Kind::EndsPrimary => contexts::ends_primary(hooked),
        Kind::TellsProcesses1 | Kind::TellsProcesses => tells_use::processes_before(hooked),
        _ => {}
    }
}

/// What cutap calls after a call.
///
/// # Safety
/// As `before`.
pub unsafe extern "C" fn after(call: *mut Call) {
    // SAFETY: as above.
    let Some((hooked, _, kind)) = (unsafe { rule(call) }) else { return };
    let (hooked, argument) = (&hooked, |index| hooked.argument(index));
    match kind {
        Kind::Linear | Kind::Lines | Kind::Array | Kind::Array3D | Kind::Mipmaps => linear::after_allocation(hooked),
        Kind::Physical => physical::after_allocation(hooked),
        Kind::Pooled => pools::after_allocation(hooked, argument(2)),
        Kind::FromPool => pools::after_allocation(hooked, argument(3)),
        Kind::Gives => linear::after_free(hooked, Space::Address),
        Kind::GivesPooled => pools::after_free(hooked),
        Kind::GivesPhysical => physical::after_free(hooked),
        Kind::Retains => physical::retained(hooked),
        Kind::Maps => physical::mapped(hooked),
        Kind::Unmaps => physical::unmapped(hooked),
        Kind::ShrinksPool => settle::settle_all(),
        Kind::EndsPool => linear::after_free(hooked, Space::Pool),
        Kind::Waits => settle::after_wait(),
        Kind::AddsNode => graphs::added(hooked),
        Kind::AddsAnyNode => graphs::added_any(hooked),
        Kind::Clones => graphs::copied(hooked, Space::Graph),
        Kind::Instantiates => graphs::copied(hooked, Space::Executable),
        Kind::RunsGraph => Mark::of_word(hooked.mark()).iter().for_each(|mark| graphs::settle(mark.device)),
        Kind::TrimsGraphs => graphs::settle(argument(0)),
        Kind::LoadsCode => code::after_load(hooked),
        Kind::UnloadsCode => linear::after_free(hooked, Space::Code),
        Kind::EndsContext => contexts::after_end(hooked),
        Kind::EndsPrimary => contexts::ended_primary(hooked),
        Kind::TellsFree => tells::free_and_all(hooked),
        Kind::TellsTotal => tells::all(hooked, 0),
        Kind::TellsProperties => tells::properties(hooked),
        Kind::TellsUse => tells_use::memory(hooked),
        Kind::TellsUse2 => tells_use::memory2(hooked),
        Kind::TellsProcesses1 => tells_use::processes(hooked, true),
        Kind::TellsProcesses => tells_use::processes(hooked, false),
        Kind::EndsGraph => {}
    }
}
