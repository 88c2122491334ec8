//! The device that each thread uses. Functions are known by name here: the device of a context follows from the call
//! that made it, and no type says so.

use super::call_handles::{handle, handle_in, number_in};
use super::fast_hash_map::FastHashMap;
use crate::event::{Call, Exit};
use cutap_calls::{Role, roles};

/// Contexts and devices beyond this many are not followed.
const MOST: usize = 1 << 16;

/// Devices of contexts, contexts of threads.
#[derive(Debug, Default)]
pub struct Devices {
    of_context: FastHashMap<u64, u32>,
    /// Contexts of each thread, the current one last.
    current: FastHashMap<u32, Vec<u64>>,
    /// The device that a thread set in its runtime, for traces without the driver's calls.
    runtime_device: FastHashMap<u32, u32>,
    /// The primary context of each device.
    primary: FastHashMap<u32, u64>,
    /// How often the primary context of a device was retained, less how often it was released.
    retained: FastHashMap<u32, u32>,
    /// A runtime is in the process. Older ones retain primary contexts where no call shows it.
    pub runtime: bool,
}

/// The role of a function that changes which device a thread works with.
pub fn device_role(function: &str) -> Option<Role> {
    let changes_device = |role| {
        use Role::*;
        matches!(
            role,
            CreatesContext
                | DestroysContext
                | PushesContext
                | PopsContext
                | CurrentContext
                | DeviceOfContext
                | RetainsPrimaryContext
                | ReleasesPrimaryContext
                | SetsDevice
        )
    };
    roles(function).map(|(role, _)| role).find(|role| changes_device(*role))
}

impl Devices {
    /// Follows a call that has succeeded, of a function with this role.
    pub fn follow(&mut self, role: Role, exit: &Exit) {
        let call = &exit.call;
        let context = handle(exit, "context").or_else(|| handle_in(call, "context"));
        let device = handle_in(call, "device").or_else(|| handle(exit, "device")).or_else(|| number_in(call, "device"));
        let device = device.and_then(|d| u32::try_from(d).ok());
        self.called(role, call.thread.key, context, device);
    }

    /// The context that a thread works with, if a call has shown it.
    pub fn context(&self, thread: u32) -> Option<u64> {
        self.current.get(&thread).and_then(|stack| stack.last()).copied()
    }

    /// The primary context that ends with this call, which has succeeded: it was released as often as retained.
    pub fn released(&mut self, call: &Call) -> Option<u64> {
        if call.function.by_name.device != Some(Role::ReleasesPrimaryContext) {
            return None;
        }
        let device = u32::try_from(handle_in(call, "device")?).ok()?;
        let count = self.retained.get_mut(&device).filter(|count| **count > 0)?;
        *count -= 1;
        let last = *count == 0;
        self.primary_context(device).filter(|_| last && !self.runtime)
    }

    /// The primary context of a device.
    pub fn primary_context(&self, device: u32) -> Option<u64> {
        self.primary.get(&device).copied()
    }

    /// A call of a function with this role succeeded, with this context and this device, if it has them.
    pub fn called(&mut self, role: Role, thread: u32, context: Option<u64>, device: Option<u32>) {
        let context = match role {
            // Without a context the current one is meant.
            Role::DeviceOfContext => context.filter(|c| *c != 0).or_else(|| self.current.get(&thread)?.last().copied()),
            _ => context,
        };
        if let (Some(context), Some(device)) = (context, device)
            && matches!(role, Role::CreatesContext | Role::RetainsPrimaryContext | Role::DeviceOfContext)
            && self.of_context.len() < MOST
        {
            self.of_context.insert(context, device);
        }
        if let (Role::RetainsPrimaryContext, Some(context), Some(device)) = (role, context, device)
            && self.primary.len() < MOST
        {
            self.primary.insert(device, context);
            *self.retained.entry(device).or_default() += 1;
        }
        if self.current.len() >= MOST {
            return;
        }
        let stack = self.current.entry(thread).or_default();
        match role {
            Role::SetsDevice => {
                self.runtime_device.extend(device.map(|device| (thread, device)));
            }
            Role::PopsContext => {
                stack.pop();
            }
            Role::DestroysContext => stack.truncate(stack.len() - usize::from(stack.last().copied() == context)),
            Role::CurrentContext => {
                stack.pop();
                stack.extend(context.filter(|c| *c != 0));
            }
            Role::CreatesContext | Role::PushesContext if stack.len() < MOST => stack.extend(context),
            _ => {}
        }
    }

    /// The device that a thread works with.
    pub fn current(&self, thread: u32) -> Option<u32> {
        let context = self.current.get(&thread).and_then(|stack| stack.last());
        let device = context.and_then(|context| self.of_context.get(context));
        device.or_else(|| self.runtime_device.get(&thread)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_come_and_go() {
        let mut devices = Devices::default();
        let of = |function| device_role(function).unwrap();
        let (thread, other) = (1, 2);
        devices.called(of("cuDevicePrimaryCtxRetain"), thread, Some(0xa), Some(0));
        assert_eq!(devices.current(thread), None, "it is not current yet");
        devices.called(of("cuCtxSetCurrent"), thread, Some(0xa), None);
        devices.called(of("cuCtxCreate_v2"), thread, Some(0xb), Some(1));
        assert_eq!((devices.current(thread), devices.current(other)), (Some(1), None));
        devices.called(of("cuCtxPopCurrent_v2"), thread, Some(0xb), None);
        devices.called(of("cuCtxPushCurrent_v2"), other, Some(0xb), None);
        assert_eq!((devices.current(thread), devices.current(other)), (Some(0), Some(1)));
        devices.called(of("cuCtxSetCurrent"), thread, Some(0), None);
        assert_eq!(devices.current(thread), None);
        devices.called(of("cudaSetDevice"), thread, None, Some(3));
        assert_eq!(devices.current(thread), Some(3));
        // A context that somebody else made: the call says which device it is on.
        devices.called(of("cuCtxGetCurrent"), thread, Some(0xc), None);
        devices.called(of("cuCtxGetDevice"), thread, None, Some(2));
        assert_eq!(devices.current(thread), Some(2));
        assert_eq!(
            (devices.context(thread), devices.primary_context(0), devices.primary_context(1)),
            (Some(0xc), Some(0xa), None)
        );
        devices.called(of("cuCtxDestroy_v2"), thread, Some(0xb), None);
        assert_eq!(devices.context(thread), Some(0xc), "it was not the current one");
        devices.called(of("cuCtxDestroy_v2"), thread, Some(0xc), None);
        assert_eq!(devices.context(thread), None);
        assert_eq!(device_role("cuMemAlloc_v2"), None);
    }
}
