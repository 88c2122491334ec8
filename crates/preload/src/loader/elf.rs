//! ELF as it lies in memory: the structures needed, and symbol look-up by the object's own hash
//! table (GNU or SysV). Reads only what the loader has mapped; bounds come from the object's segments.

/// Tags of the dynamic section that are read here.
mod dt {
    pub const NEEDED: i64 = 1;
    pub const PLTRELSZ: i64 = 2;
    pub const HASH: i64 = 4;
    pub const STRTAB: i64 = 5;
    pub const SYMTAB: i64 = 6;
    pub const RELA: i64 = 7;
    pub const RELASZ: i64 = 8;
    pub const SONAME: i64 = 14;
    pub const JMPREL: i64 = 23;
    pub const GNU_HASH: i64 = 0x6fff_fef5;
    pub const VERSYM: i64 = 0x6fff_fff0;
    pub const RELACOUNT: i64 = 0x6fff_fff9;
    pub const VERNEED: i64 = 0x6fff_fffe;
    pub const INIT_ARRAY: i64 = 25;
    pub const FINI_ARRAY: i64 = 26;
    pub const INIT_ARRAYSZ: i64 = 27;
    pub const FINI_ARRAYSZ: i64 = 28;
    pub const FLAGS_1: i64 = 0x6fff_fffb;
}

/// Entry of the dynamic section.
#[repr(C)]
pub struct Dyn {
    /// `DT_*`
    pub tag: i64,
    /// Value or address.
    pub value: usize,
}

/// Relocation with addend.
#[repr(C)]
pub struct Rela {
    /// Address of the word before relocation.
    pub offset: usize,
    /// Symbol and type.
    pub info: u64,
    pub addend: i64,
}
/// The type of words for calls.
pub const JUMP_SLOT: u32 = 7;

impl Rela {
    /// A word for calls, which may be bound at the first one.
    pub fn is_jump_slot(&self) -> bool {
        self.kind() == JUMP_SLOT
    }
    /// `R_X86_64_*`
    pub fn kind(&self) -> u32 {
        self.info as u32
    }
    /// Index of the symbol.
    pub fn symbol(&self) -> usize {
        (self.info >> 32) as usize
    }
}

/// Symbol.
#[repr(C)]
pub struct Sym {
    /// Offset of the name.
    pub name: u32,
    /// Type and binding.
    pub info: u8,
    /// Visibility.
    pub visibility: u8,
    /// Section, 0 if undefined.
    pub section: u16,
    /// Address before relocation.
    pub value: usize,
    /// Bytes.
    pub size: u64,
}
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;

/// Where an object's tables are. All zero: it has none that can be used.
#[derive(Clone, Copy)]
pub struct Tables {
    /// DT_SYMTAB
    pub symbols: *const Sym,
    /// DT_STRTAB
    pub strings: *const u8,
    gnu_hash: *const u32,
    sysv_hash: *const u32,
    versym: *const u16,
    verneed: *const u8,
    /// DT_JMPREL
    pub jmprel: *const Rela,
    /// Number of its entries.
    pub jmprel_count: usize,
    /// DT_RELA
    pub rela: *const Rela,
    /// Number of its entries.
    pub rela_count: usize,
    /// The first entries of DT_RELA that need no symbol.
    pub relative_count: usize,
    soname: usize,
    needed: *const Dyn,
    /// DF_1_INITFIRST: its constructors run before all others'.
    pub initfirst: bool,
    /// DT_INIT_ARRAY: its constructors, in the order in which they run, and their number.
    pub constructors: (*mut usize, usize),
    /// DT_FINI_ARRAY: its destructors, of which the last runs first, and their number.
    pub destructors: (*mut usize, usize),
}

impl Tables {
    /// None.
    pub const EMPTY: Tables = Tables {
        symbols: core::ptr::null(),
        strings: core::ptr::null(),
        gnu_hash: core::ptr::null(),
        sysv_hash: core::ptr::null(),
        versym: core::ptr::null(),
        verneed: core::ptr::null(),
        jmprel: core::ptr::null(),
        jmprel_count: 0,
        rela: core::ptr::null(),
        rela_count: 0,
        relative_count: 0,
        soname: 0,
        needed: core::ptr::null(),
        initfirst: false,
        constructors: (core::ptr::null_mut(), 0),
        destructors: (core::ptr::null_mut(), 0),
    };

    /// Reads the dynamic section of an object loaded at `base`.
    ///
    /// # Safety
    /// `dynamic` is null or the object's dynamic section, mapped.
    pub unsafe fn read(dynamic: *const Dyn, base: usize) -> Tables {
        let mut t = Tables::EMPTY;
        let mut d = dynamic;
        if d.is_null() {
            return t;
        }
        t.needed = dynamic;
        // glibc relocates these addresses in place; musl and the vdso leave them as they were linked.
        let at = |v: usize| if v < base { base.wrapping_add(v) } else { v };
        // SAFETY: the section ends with a zero tag.
        while let Dyn { tag, value } = unsafe { &*d }
            && *tag != 0
        {
            match *tag {
                dt::HASH => t.sysv_hash = at(*value) as _,
                dt::STRTAB => t.strings = at(*value) as _,
                dt::SYMTAB => t.symbols = at(*value) as _,
                dt::RELA => t.rela = at(*value) as _,
                dt::RELASZ => t.rela_count = *value / size_of::<Rela>(),
                dt::SONAME => t.soname = *value,
                dt::JMPREL => t.jmprel = at(*value) as _,
                dt::PLTRELSZ => t.jmprel_count = *value / size_of::<Rela>(),
                dt::GNU_HASH => t.gnu_hash = at(*value) as _,
                dt::VERSYM => t.versym = at(*value) as _,
                dt::VERNEED => t.verneed = at(*value) as _,
                dt::FLAGS_1 => t.initfirst = *value & 0x20 != 0,
                dt::INIT_ARRAY => t.constructors.0 = at(*value) as _,
                dt::INIT_ARRAYSZ => t.constructors.1 = *value / size_of::<usize>(),
                dt::FINI_ARRAY => t.destructors.0 = at(*value) as _,
                dt::FINI_ARRAYSZ => t.destructors.1 = *value / size_of::<usize>(),
                dt::RELACOUNT => t.relative_count = *value,
                _ => {}
            }
            // SAFETY: as above.
            d = unsafe { d.add(1) };
        }
        if t.symbols.is_null() || t.strings.is_null() { Tables::EMPTY } else { t }
    }

    /// A string of the string table.
    ///
    /// # Safety
    /// The object is mapped and `offset` comes from its tables.
    pub unsafe fn string<'a>(&self, offset: usize) -> &'a [u8] {
        // SAFETY: the caller's promise.
        unsafe { crate::sys::text(self.strings.wrapping_add(offset), 4096) }
    }
    /// DT_SONAME, or empty.
    ///
    /// # Safety
    /// The object is mapped.
    pub unsafe fn soname<'a>(&self) -> &'a [u8] {
        // SAFETY: the caller's promise.
        if self.soname == 0 || self.strings.is_null() { &[] } else { unsafe { self.string(self.soname) } }
    }

    /// Calls `f` with each DT_NEEDED name until it says true.
    ///
    /// # Safety
    /// The object is mapped.
    pub unsafe fn any_needed(&self, mut f: impl FnMut(&[u8]) -> bool) -> bool {
        let mut d = self.needed;
        if d.is_null() || self.strings.is_null() {
            return false;
        }
        // SAFETY: the section ends with a zero tag.
        unsafe {
            while (*d).tag != 0 {
                if (*d).tag == dt::NEEDED && f(self.string((*d).value)) {
                    return true;
                }
                d = d.add(1);
            }
        }
        false
    }

    /// Calls `f` with each symbol by which the object refers to a function of this name in another, until it says true.
    ///
    /// # Safety
    /// The object is mapped.
    pub unsafe fn any_reference(&self, name: &[u8], f: impl Fn(usize) -> bool) -> bool {
        // SAFETY: as in `find`. The text ends at its zero, if it is not that name before.
        unsafe {
            let is_it = |s: &Sym| {
                let text = self.strings.wrapping_add(s.name as usize);
                s.section == 0 && name.iter().chain(b"\0").enumerate().all(|(n, byte)| *text.add(n) == *byte)
            };
            (1..self.symbol_count()).any(|i| is_it(&*self.symbols.add(i)) && f(i))
        }
    }

    /// Calls `f` for each defined symbol of this name (versions make several) until it says true.
    ///
    /// # Safety
    /// The object is mapped.
    pub unsafe fn find(&self, name: &[u8], mut f: impl FnMut(&Sym, usize) -> bool) -> bool {
        let mut check = |i: usize| {
            // SAFETY: the index comes from the object's hash table.
            let s = unsafe { &*self.symbols.add(i) };
            // SAFETY: the name's offset comes from the symbol.
            s.section != 0 && unsafe { self.string(s.name as usize) } == name && f(s, i)
        };
        // SAFETY: the tables are as the loader itself reads them.
        unsafe {
            if !self.gnu_hash.is_null() {
                let g = self.gnu_hash;
                let (buckets, first, bloom) = (*g, *g.add(1), *g.add(2));
                if buckets == 0 {
                    return false;
                }
                let hash = gnu_hash(name);
                if bloom != 0 {
                    let word = *g.add(4).cast::<u64>().add(((hash / 64) % bloom) as usize);
                    let mask = 1u64 << (hash % 64) | 1u64 << ((hash >> (*g.add(3) & 31)) % 64);
                    if word & mask != mask {
                        return false;
                    }
                }
                let bucket = g.add(4 + 2 * bloom as usize);
                let chain = bucket.add(buckets as usize);
                let mut i = *bucket.add((hash % buckets) as usize);
                if i < first {
                    return false;
                }
                loop {
                    let h = *chain.add((i - first) as usize);
                    if h | 1 == hash | 1 && check(i as usize) {
                        return true;
                    }
                    if h & 1 != 0 {
                        return false;
                    }
                    i += 1;
                }
            }
            if !self.sysv_hash.is_null() {
                let h = self.sysv_hash;
                let (buckets, chains) = (*h, *h.add(1));
                if buckets == 0 {
                    return false;
                }
                let mut i = *h.add(2 + (sysv_hash(name) % buckets) as usize);
                let mut steps = 0;
                while i != 0 && i < chains && steps < chains {
                    if check(i as usize) {
                        return true;
                    }
                    i = *h.add(2 + buckets as usize + i as usize);
                    steps += 1;
                }
            }
        }
        false
    }

    /// Number of symbols, by the hash table.
    ///
    /// # Safety
    /// The object is mapped.
    pub unsafe fn symbol_count(&self) -> usize {
        // SAFETY: as in `find`.
        unsafe {
            if !self.sysv_hash.is_null() {
                return *self.sysv_hash.add(1) as usize;
            }
            if self.gnu_hash.is_null() {
                return 0;
            }
            let g = self.gnu_hash;
            let (buckets, first, bloom) = (*g, *g.add(1), *g.add(2));
            let bucket = g.add(4 + 2 * bloom as usize);
            let chain = bucket.add(buckets as usize);
            let mut last = 0;
            for b in 0..buckets as usize {
                last = last.max(*bucket.add(b));
            }
            if last < first {
                return first as usize;
            }
            while *chain.add((last - first) as usize) & 1 == 0 {
                last += 1;
            }
            last as usize + 1
        }
    }
    /// True for the version of a symbol that a new reference gets.
    ///
    /// # Safety
    /// The object is mapped, and the index is one of its symbols.
    pub unsafe fn is_default(&self, i: usize) -> bool {
        // SAFETY: the caller's promise.
        self.versym.is_null() || unsafe { *self.versym.add(i) } & 0x8000 == 0
    }

    /// True when the definition at symbol `i` has no version: a reference with any version takes it.
    ///
    /// # Safety
    /// The object is mapped.
    pub unsafe fn is_unversioned(&self, i: usize) -> bool {
        // SAFETY: one entry a symbol.
        self.versym.is_null() || unsafe { *self.versym.add(i) } & 0x7fff < 2
    }

    /// What the reference at symbol `i` says of the version it wants: an empty name if none.
    ///
    /// # Safety
    /// The object is mapped.
    pub unsafe fn needed_version<'a>(&self, i: usize) -> &'a [u8] {
        if self.versym.is_null() || self.verneed.is_null() {
            return &[];
        }
        // SAFETY: the verneed chain as the loader itself reads it.
        unsafe {
            let want = *self.versym.add(i) & 0x7fff;
            if want < 2 {
                return &[];
            }
            let mut need = self.verneed;
            loop {
                let mut aux = need.add(*need.add(8).cast::<u32>() as usize);
                loop {
                    if *aux.add(6).cast::<u16>() == want {
                        return self.string(*aux.add(8).cast::<u32>() as usize);
                    }
                    match *aux.add(12).cast::<u32>() {
                        0 => break,
                        next => aux = aux.add(next as usize),
                    }
                }
                match *need.add(12).cast::<u32>() {
                    0 => return &[],
                    next => need = need.add(next as usize),
                }
            }
        }
    }
}

/// True for a function as the *defining* object's table tells it: the referring symbol has no type in
/// a library built without its dependency. An IFUNC's value is its resolver, so `address` cannot match.
pub fn is_function(symbol: &Sym, base: usize, address: usize) -> bool {
    match symbol.info & 0xf {
        STT_FUNC => base.wrapping_add(symbol.value) == address,
        STT_GNU_IFUNC => true,
        _ => false,
    }
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381u32, |h, &c| h.wrapping_mul(33).wrapping_add(u32::from(c)))
}

fn sysv_hash(name: &[u8]) -> u32 {
    name.iter().fold(0u32, |h, &c| {
        let h = (h << 4).wrapping_add(u32::from(c));
        let top = h & 0xf000_0000;
        (h ^ (top >> 24)) & !top
    })
}
