//! What RM knows of a fault, asked after the error notifier has reported one: each answer is optional.

use crate::base::error::{Fault, SmError};
use crate::kernel_driver::client::{Client, Handle};
use crate::kernel_driver::controls;

const DEBUGGER: u32 = 0x83de;

/// A channel, and its compute object if it has one.
pub(crate) type ChannelObjects = (Handle, Option<Handle>);

/// The fault of the first channel that has one.
pub(crate) fn memory_fault(client: &Client, channels: &[ChannelObjects]) -> Option<Fault> {
    channels.iter().find_map(|(channel, compute)| {
        let info = client.query(*channel, controls::MMU_FAULT, &[]).ok()?;
        let get = |field: &str| client.field(&info, field).ok();
        let address = get("addrHi")? << 32 | get("addrLo")?;
        let place = info.record().place("faultString").ok()?;
        let text = info.bytes().get(place.offset..place.offset + place.size)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let kind = String::from_utf8_lossy(text).into_owned();
        let code = get("faultType")? as u32;
        let engine = if compute.is_some() { "compute" } else { "copy" };
        (address != 0 || !kind.is_empty()).then_some(Fault { address, code, kind, engine })
    })
}

/// The first SM that stopped a kernel.
pub(crate) fn sm_error(client: &Client, device: Handle, sms: u32, channels: &[ChannelObjects]) -> Option<SmError> {
    /// SMs of one answer.
    const PART: u32 = 100;
    let (channel, compute) = channels.iter().find_map(|(channel, compute)| Some((*channel, (*compute)?)))?;
    let fields = [("hAppClient", client.root.into()), ("hClass3dObject", compute.into())];
    let mut params = client.filled("NV83DE_ALLOC_PARAMETERS", &fields).ok()?;
    let debugger = client.create(device, DEBUGGER, Some(&mut params), "a debugger").ok()?;
    let sm_error = (0..sms).step_by(PART as usize).find_map(|first| {
        let count = PART.min(sms - first);
        let fields = [("hTargetChannel", channel.into()), ("numSMsToRead", count.into()), ("startingSM", first.into())];
        let states = client.query(debugger, controls::SM_ERRORS, &fields).ok()?;
        (0..count).find_map(|n| {
            let get = |field: &str| client.field(&states, &format!("smErrorStateArray[{n}].{field}")).ok();
            let error = get("hwwWarpEsr").filter(|error| *error != 0)? as u32;
            Some(SmError { sm: first + n, error, instruction: get("hwwWarpEsrPc64")? })
        })
    });
    let _ = client.free(device, debugger);
    sm_error
}
