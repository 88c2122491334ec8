//! Any bytes as a log of kernel calls, and as a file with code. The fuzz targets and a test call these functions.

use cutap_kernel::decode::Decoder;
use cutap_kernel::diff::runs;
use cutap_kernel::scan::{Binary, env, sites};
use cutap_kernel::show::text::{Style, Text};
use cutap_kernel::{formats, json, show};

/// The most calls that are shown and compared.
const MOST: usize = 64;

/// A log: read, shown, written as JSON and read again, compared with itself.
pub fn log(bytes: &[u8]) {
    let Ok(mut run) = formats::read(&String::from_utf8_lossy(bytes)) else { return };
    run.calls.truncate(MOST);
    let decoder = Decoder::new(Some("580.159.04"), &run).unwrap();
    let style = Style { verbose: true, hex: true, threads: true, parents: true, meanings: true };
    let (mut long, mut short) = (Text::new(style), Text::new(Style::default()));
    let mut text = Vec::new();
    json::write_head(&run.head, &mut text).unwrap();
    for call in &run.calls {
        let line = short.line(call, &decoder) + &long.line(call, &decoder);
        assert!(line.ends_with('\n') && !line.contains('\u{1b}'), "{line}");
        text.extend((show::json::line(call, &decoder) + "\n").into_bytes());
    }
    let again = formats::read(&String::from_utf8(text).unwrap()).unwrap();
    assert_eq!(again.calls, run.calls);
    let same = runs::compare((&run, &decoder), (&run, &decoder)).unwrap();
    assert_eq!(same.differences, []);
    let _ = (runs::text(&same), show::text::footer(&run));
}

/// A file: its call sites and its variables.
pub fn file(bytes: &[u8]) {
    let Ok(binary) = Binary::parse(bytes) else { return };
    let _ = sites::text("file", &sites::find(&binary, 3));
    let _ = env::json("file", &env::variables(&binary));
}
