//! Where this code is, for the floors below: `slots::code`.

use super::callback_tables::{cutap_callbacks, cutap_flags, cutap_hooked_callbacks, cutap_stacked_callbacks};
use super::{call_stack_frame, hook_frame, kernel_function, own_calls_frame, thunks};
use crate::arch::frames;
use crate::slots::code::Code;

pub static CODE: Code = Code {
    thunks: thunks::cutap_thunks,
    prologue: thunks::PROLOGUE,
    gate: thunks::cutap_gate,
    frame: thunks::cutap_frame,
    frame_called: thunks::cutap_frame_called,
    cxx_note: thunks::cutap_note,
    resolve: thunks::cutap_resolve,
    call_stack: call_stack_frame::cutap_stacked,
    own_calls: own_calls_frame::cutap_self_induced,
    hooked: hook_frame::cutap_hooked,
    fast: frames::entry,
    chatter: frames::chatter,
    kernel_function: kernel_function::instead_of,
    call_through: thunks::call_through,
    callbacks: cutap_callbacks,
    hooked_callbacks: cutap_hooked_callbacks,
    stacked_callbacks: cutap_stacked_callbacks,
    flags: cutap_flags,
};
