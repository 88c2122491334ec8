//! Objects of the model by client and handle.

use std::collections::BTreeMap;

/// Clients are numbered from here.
const FIRST_CLIENT: u32 = 0xc1d0_0001;

/// Handles that the driver chooses are numbered from here.
const FIRST_CHOSEN: u32 = 0xcaf0_0000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    pub(crate) parent: u32,
    pub(crate) class: u32,
    /// Bytes of memory, or of a range of addresses.
    pub(crate) size: u64,
    /// The channel is scheduled.
    pub(crate) scheduled: bool,
}

/// All objects.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    clients: BTreeMap<u32, BTreeMap<u32, Object>>,
    made: u32,
}

impl Objects {
    /// A new client, which is an object of itself.
    pub(crate) fn client(&mut self, wanted: u32) -> u32 {
        let handle = if wanted == 0 { FIRST_CLIENT + self.made } else { wanted };
        self.made += 1;
        let root = Object { class: 0x41, ..Object::default() };
        self.clients.insert(handle, BTreeMap::from([(handle, root)]));
        handle
    }

    pub(crate) fn get(&self, client: u32, handle: u32) -> Option<&Object> {
        self.clients.get(&client)?.get(&handle)
    }

    pub(crate) fn get_mut(&mut self, client: u32, handle: u32) -> Option<&mut Object> {
        self.clients.get_mut(&client)?.get_mut(&handle)
    }

    /// A handle that the driver chooses.
    pub(crate) fn free_handle(&self, client: u32) -> u32 {
        let own = self.clients.get(&client).map_or(0, BTreeMap::len);
        let free = |handle: &u32| self.get(client, *handle).is_none();
        (FIRST_CHOSEN..).skip(own).find(free).expect("a free handle")
    }

    /// False: the handle is in use, or there is no such client.
    pub(crate) fn add(&mut self, client: u32, handle: u32, object: Object) -> bool {
        let Some(own) = self.clients.get_mut(&client) else { return false };
        !own.contains_key(&handle) && own.insert(handle, object).is_none()
    }

    /// An object and all below it; false where there is none.
    pub(crate) fn free(&mut self, client: u32, handle: u32) -> bool {
        if client == handle {
            return self.clients.remove(&client).is_some();
        }
        let Some(own) = self.clients.get_mut(&client) else { return false };
        if own.remove(&handle).is_none() {
            return false;
        }
        let below: Vec<u32> = own.iter().filter(|(_, o)| o.parent == handle).map(|(child, _)| *child).collect();
        // Each of them is there.
        below.into_iter().all(|child| self.free(client, child))
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.clients.values().map(BTreeMap::len).sum()
    }
}
