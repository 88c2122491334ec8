//! Where fields stand that the target reads of some requests: `-e submit` follows memory and channels in the process.

use super::is_of_2010;
use super::resolve::NONE;
use super::rows::{LISTS, Tables};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Fields of a request at most.
const FIELDS: usize = 5;

/// A request: its name for the target, its list, a part of its name in the tables, its fields.
type Tracked = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// What is followed. A name with `*` at its end stands for all that contain it.
const TRACKED: [Tracked; 6] = [
    ("Alloc", "escapes", "NV_ESC_RM_ALLOC", &["hRoot", "hObjectNew", "hClass", "pAllocParms"]),
    ("Free", "escapes", "NV_ESC_RM_FREE", &["hRoot", "hObjectOld"]),
    ("MapMemory", "escapes", "NV_ESC_RM_MAP_MEMORY", &["hClient", "hMemory", "offset", "length", "fd"]),
    ("MapDma", "escapes", "NV_ESC_RM_MAP_MEMORY_DMA", &["hClient", "hMemory", "offset", "length", "dmaOffset"]),
    ("MapExternal", "uvm", "UVM_MAP_EXTERNAL_ALLOCATION", &["base", "length", "offset", "hClient", "hMemory"]),
    (
        "Channel",
        "classes",
        "_CHANNEL_GPFIFO*",
        &["gpFifoOffset", "gpFifoEntries", "hUserdMemory", "userdOffset", "engineType"],
    ),
];

/// The part of `crates/calls/src/generated/kernel.rs`.
pub(super) fn text(tables: &Tables) -> String {
    let mut rows: BTreeMap<(usize, u32, u32), Vec<u32>> = BTreeMap::new();
    // Newest first: an older layout adds only sizes that it alone has.
    for release in tables.releases.iter().rev().filter(|release| !is_of_2010(&release.version)) {
        for (at, (_, list, name, fields)) in TRACKED.iter().enumerate() {
            let list = LISTS.iter().position(|l| l == list).and_then(|n| release.lists.get(n));
            for row in list.into_iter().flatten().filter_map(|at| tables.rows.all.get(*at as usize)) {
                let is = match name.strip_suffix('*') {
                    Some(part) => row.name.contains(part),
                    None => row.name == *name,
                };
                for record in [row.record, row.alternative].into_iter().filter(|_| is) {
                    let Some(of) = tables.shared.structs.all.get(record as usize) else { continue };
                    // Allocation parameters have no size in the request of libcuda.
                    let size = if *name == "_CHANNEL_GPFIFO*" { 0 } else { of.size };
                    let places = fields.iter().map(|f| place(tables, record, f, 3).unwrap_or(NONE)).collect();
                    rows.entry((at, row.number, size)).or_insert(places);
                }
            }
        }
    }
    let mut out = String::from(
        "\n/// Where fields of [`Tracked`] requests stand: number of request or class, bytes of the struct (0: any), \
         places.\npub static PLACES: &[(Tracked, u32, u32, [u32; 5])] = &[\n",
    );
    for ((at, number, size), mut places) in rows {
        let name = TRACKED.get(at).map_or("", |t| t.0);
        places.resize(FIELDS, NONE);
        let places: Vec<String> = places.iter().map(|p| if *p == NONE { "NO".into() } else { p.to_string() }).collect();
        writeln!(out, "(Tracked::{name}, {number:#x}, {size}, [{}]),", places.join(", ")).unwrap();
    }
    out.push_str("];\n");
    out
}

/// Where a field of a record stands, or of a record in it.
fn place(tables: &Tables, record: u32, name: &str, depth: u32) -> Option<u32> {
    let of = tables.shared.structs.all.get(record as usize).filter(|_| depth > 0)?;
    let own = of.fields.iter().find(|f| f.name == name).map(|f| f.offset);
    own.or_else(|| {
        let inner = of.fields.iter().filter(|f| f.record != NONE);
        inner.filter_map(|f| Some(f.offset + place(tables, f.record, name, depth - 1)?)).next()
    })
}
