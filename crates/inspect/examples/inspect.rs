//! `cargo run -p cutap-inspect --example inspect FILE...`: the report of each file, without the rest of
//! cutap.

fn main() {
    for path in std::env::args_os().skip(1) {
        let start = std::time::Instant::now();
        match cutap_inspect::inspect(path.as_ref()) {
            Ok(report) => print!("{report}"),
            Err(error) => eprintln!("{error}"),
        }
        let whole = start.elapsed();
        let start = std::time::Instant::now();
        let toolkits = cutap_inspect::static_toolkits(path.as_ref());
        eprintln!("  {whole:.1?}; toolkits alone {toolkits:?} {:.1?}", start.elapsed());
    }
}
