//! What real programs sent, decoded by the tables.

use crate::transcript;
use cutap_rm::*;

#[test]
fn look() {
    let tables = Tables::select("580.159.04").unwrap().tables;
    for name in ["vecadd", "more", "pytorch"] {
        let mut n = 0;
        let mut said = std::collections::BTreeMap::new();
        for mut e in transcript::read(name) {
            n += 1;
            let mut memory = std::mem::take(&mut e.memory);
            let call = tables.decode(e.request(), &mut memory);
            if n < 60 { println!("{call}"); }
            for r in &call.remarks { *said.entry(format!("{} {}: {r}", call.name, call.subject_name())).or_insert(0) += 1; }
        }
        println!("{name} {n} {said:#?}");
    }
}
