//! The GPU of the model: it runs methods of channels, and ends kernels, in any order that waits allow.

use super::{Channel, Launched, State};

impl State {
    /// One method of some channel. Whether there was one that could run.
    pub fn step(&mut self) -> bool {
        if !self.late.is_empty() && self.below(4) == 0 {
            return self.arrive();
        }
        let count = self.channels.len();
        for turn in 0..count {
            let first = self.below(count);
            let mut channel = std::mem::take(&mut self.channels[(first + turn) % count]);
            let ran = self.step_channel(&mut channel);
            self.channels[(first + turn) % count] = channel;
            if ran {
                return true;
            }
        }
        self.arrive()
    }

    fn arrive(&mut self) -> bool {
        let Some((address, value)) = self.late.pop_front() else { return false };
        self.write(address, value);
        true
    }

    fn step_channel(&mut self, channel: &mut Channel) -> bool {
        if !channel.running.is_empty() && self.below(3) == 0 {
            let kernel = self.below(channel.running.len());
            let kernel = channel.running.swap_remove(kernel);
            self.run_kernel(kernel);
            return true;
        }
        if channel.words.is_empty() {
            let userd = self.memory[&channel.userd.0].host as u64 + channel.userd.1;
            // SAFETY: USERD is inside this memory.
            let at_put = unsafe { ((userd + 0x8c) as *const u32).read_volatile() };
            if u64::from(at_put) == channel.get {
                return false;
            }
            let entry = channel.ring + channel.get * 8;
            let (low, high) = (self.read(entry), self.read(entry + 4));
            channel.get = (channel.get + 1) % channel.entries;
            let address = u64::from(low & !3) | u64::from(high & 0xff) << 32;
            let length = u64::from(high >> 10 & 0x1f_ffff);
            channel.words.extend((0..length).map(|n| self.read(address + n * 4)));
        }
        let header = channel.words[0];
        let (count, subchannel, method) = (header >> 16 & 0x1fff, header >> 13 & 7, (header & 0x1fff) << 2);
        if header >> 29 == 3 {
            self.inline(channel, count as usize, (subchannel, method));
            channel.words.drain(..=count as usize);
            return true;
        }
        assert_eq!(header >> 29, 1, "a header of increasing methods");
        for n in 0..count {
            channel.registers.insert(subchannel << 16 | (method + 4 * n), channel.words[1 + n as usize]);
        }
        if !self.trigger(channel, subchannel, method + 4 * (count - 1)) {
            return false;
        }
        channel.words.drain(..=count as usize);
        true
    }

    /// Data of one method: the words go to memory that no kernel of the channel uses.
    fn inline(&mut self, channel: &Channel, count: usize, method: (u32, u32)) {
        let get = |method: u32| channel.registers[&(1 << 16 | method)];
        let (to, bytes) = (u64::from(get(0x188)) << 32 | u64::from(get(0x18c)), get(0x180));
        assert_eq!((method, get(0x184), get(0x1b0)), ((1, 0x1b4), 1, 0x41), "one line, as libcuda writes");
        assert_eq!(bytes.div_ceil(4) as usize, count, "a word for each four bytes");
        for descriptor in &channel.running {
            for (start, length) in [(*descriptor, 384), (self.bank(*descriptor), 1024)] {
                assert!(to >= start + length || to + u64::from(bytes) <= start, "{to:#x} is in use");
            }
        }
        for (at, word) in (to..).step_by(4).zip(channel.words.range(1..=count)) {
            self.write(at, *word);
        }
        self.inline += usize::from(bytes == 384);
    }

    /// Constant bank 0 of a descriptor.
    fn bank(&self, descriptor: u64) -> u64 {
        (u64::from(self.read(descriptor + 192)) | u64::from(self.read(descriptor + 196) & 0x7ffff) << 32) << 6
    }

    fn trigger(&mut self, channel: &mut Channel, subchannel: u32, method: u32) -> bool {
        let get = |m: u32| channel.registers.get(&(subchannel << 16 | m)).copied().unwrap_or(0);
        let wide = |high: u32, low: u32| u64::from(get(high)) << 32 | u64::from(get(low));
        match (subchannel, method) {
            (0, 0x6c) => {
                let (address, payload, execute) = (wide(0x60, 0x5c), get(0x64), get(0x6c));
                if execute & 7 == 3 {
                    return self.read(address).wrapping_sub(payload) as i32 >= 0;
                }
                self.write(address, payload);
                if execute >> 25 & 1 != 0 {
                    self.log.push(format!("stamp {payload}"));
                    self.write(address + 8, self.log.len() as u32);
                }
            }
            (1, 0x110) => return channel.running.is_empty(),
            (1, 0x2c0) => {
                let descriptor = u64::from(get(0x2b4)) << 8;
                channel.running.push(descriptor);
            }
            (4, 0x300) => {
                let flags = get(0x300);
                let lines = if flags >> 9 & 1 != 0 { get(0x41c) } else { 1 };
                for line in 0..u64::from(lines) {
                    let to = wide(0x408, 0x40c) + line * u64::from(get(0x414));
                    let length = get(0x418) as usize;
                    if flags >> 10 & 1 != 0 {
                        let width = (get(0x708) >> 16 & 3) as usize + 1;
                        let value = &get(0x700).to_le_bytes()[..width];
                        self.fill(to, value, length);
                    } else {
                        let from = wide(0x400, 0x404) + line * u64::from(get(0x410));
                        self.copy(to, from, length);
                    }
                }
                if flags >> 3 & 3 == 1 {
                    self.write(wide(0x240, 0x244), get(0x248));
                }
            }
            _ => {}
        }
        true
    }

    /// Copies bytes, of which each part may be in another mapping.
    fn copy(&self, mut to: u64, mut from: u64, mut length: usize) {
        while length > 0 {
            let ((target, room), (source, there)) = (self.mapped_at(to), self.mapped_at(from));
            let part = length.min(room).min(there);
            // SAFETY: both parts are mapped.
            unsafe { std::ptr::copy(source, target, part) };
            (to, from, length) = (to + part as u64, from + part as u64, length - part);
        }
    }

    /// Writes a value so many times. No value crosses the end of a mapping.
    fn fill(&self, mut to: u64, value: &[u8], mut count: usize) {
        while count > 0 {
            let (target, room) = self.mapped_at(to);
            let part = count.min(room / value.len());
            // SAFETY: the part is mapped.
            let target = unsafe { std::slice::from_raw_parts_mut(target, part * value.len()) };
            target.chunks_mut(value.len()).for_each(|at| at.copy_from_slice(value));
            (to, count) = (to + (part * value.len()) as u64, count - part);
        }
    }

    fn run_kernel(&mut self, descriptor: u64) {
        let bank = self.bank(descriptor);
        let workspace = u64::from(self.read(bank + 0x44)) << 32 | u64::from(self.read(bank + 0x48));
        if workspace != 0 {
            let barrier = self.read(workspace + 4);
            self.cooperative.push((workspace, barrier));
        }
        self.launches.push(Launched {
            descriptor,
            qmd: (0..96).map(|n| self.read(descriptor + 4 * n)).collect(),
            bank_address: bank,
            bank: (0..0x84).map(|n| self.read(bank + 4 * n)).collect(),
        });
        let qmd = |n: u64| self.read(descriptor + 4 * n);
        let wide = |at: u64| u64::from(self.read(at)) | u64::from(self.read(at + 4)) << 32;
        if qmd(36) & 0xffff == 512 {
            // The kernel that copies; tests launch smaller blocks.
            let (to, from, loads) = (wide(bank + 0x210), wide(bank + 0x218), wide(bank + 0x220));
            for at in (0..loads * 16).step_by(4) {
                self.write(to + at, self.read(from + at));
            }
            self.log.push(format!("copy {loads}"));
            return self.release(descriptor);
        }
        let (array, k, n) = (wide(bank + 0x210), self.read(bank + 0x218), self.read(bank + 0x21c));
        for i in 0..u64::from(n) {
            self.write(array + 4 * i, self.read(array + 4 * i).wrapping_mul(3).wrapping_add(k));
        }
        self.release(descriptor);
    }

    fn release(&mut self, descriptor: u64) {
        for release in 0..2 {
            let qmd = |n: u64| self.read(descriptor + 4 * n);
            if qmd(10) >> (16 * release) & 1 == 0 {
                continue;
            }
            let at = 20 + 4 * release;
            let address = u64::from(qmd(at)) | u64::from(qmd(at + 1) & 0x1ff_ffff) << 32;
            let value = qmd(at + 2);
            // The first word is in system memory: it may arrive after the second, in order with others.
            if release == 0 {
                self.late.push_back((address, value));
            } else {
                self.write(address, value);
            }
        }
    }
}
