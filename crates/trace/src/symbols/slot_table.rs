//! A table by the numbers of slots. Few of the numbers are used, in a few places far apart: functions of runtime
//! instances begin where thunks end.

const PAGE: usize = 256;

/// A value for each slot that has one.
#[derive(Debug)]
pub struct SlotTable<T> {
    pages: Vec<Option<Box<[Option<T>; PAGE]>>>,
}

impl<T> Default for SlotTable<T> {
    fn default() -> SlotTable<T> {
        SlotTable { pages: Vec::new() }
    }
}

impl<T> SlotTable<T> {
    #[inline(always)]
    pub fn get(&self, slot: u32) -> Option<&T> {
        let n = slot as usize;
        self.pages.get(n / PAGE)?.as_ref()?[n % PAGE].as_ref()
    }

    pub fn set(&mut self, slot: u32, value: Option<T>) {
        let n = slot as usize;
        if n / PAGE >= self.pages.len() {
            self.pages.resize_with(n / PAGE + 1, || None);
        }
        let page = self.pages[n / PAGE].get_or_insert_with(|| Box::new([const { None }; PAGE]));
        page[n % PAGE] = value;
    }

    /// Takes away the value of a slot.
    pub fn remove(&mut self, slot: u32) {
        if self.get(slot).is_some() {
            self.set(slot, None);
        }
    }

    /// All values, by the numbers of their slots.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten().flat_map(|page| page.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_apart() {
        let mut table = SlotTable::default();
        assert_eq!(table.get(7), None);
        table.set(70_000, Some('b'));
        table.set(7, Some('a'));
        assert_eq!((table.get(7), table.get(8), table.get(70_000)), (Some(&'a'), None, Some(&'b')));
        assert_eq!(table.values().collect::<String>(), "ab");
        table.remove(7);
        table.remove(1 << 18);
        assert_eq!(table.values().collect::<String>(), "b");
    }
}
