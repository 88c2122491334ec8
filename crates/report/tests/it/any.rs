//! Any bytes as a recording with the layers `syscall` and `submit`, through each output that decodes them. The fuzz
//! target and a test call it.

use cutap_report::{Chrome, Json, KernelLines, KernelStyle, Output, Perfetto, Text};
use cutap_trace::synthetic::any::follow;

/// No output may fail, and lines are lines.
pub(crate) fn recording(bytes: &[u8]) {
    let style = KernelStyle { verbose: true, hex: true, ..KernelStyle::default() };
    let (mut lines, mut variables) = (Vec::new(), Vec::new());
    let (mut json, mut objects, mut text) = (Vec::new(), Vec::new(), Vec::new());
    let (mut chrome, mut perfetto) = (Vec::new(), Vec::new());
    {
        let mut outputs: [Box<dyn Output + '_>; 7] = [
            Box::new(KernelLines::new(&mut lines, style.clone())),
            Box::new(KernelLines::new(&mut json, KernelStyle { json: true, ..style.clone() })),
            Box::new(KernelLines::new(&mut variables, KernelStyle { environment: true, ..style })),
            Box::new(Json::new(&mut objects)),
            Box::new(Text::new(&mut text, false)),
            Box::new(Chrome::new(&mut chrome)),
            Box::new(Perfetto::new(&mut perfetto)),
        ];
        let end = follow(bytes, &mut |event| outputs.iter_mut().for_each(|output| output.event(event).unwrap()));
        if let Some(end) = end {
            outputs.iter_mut().for_each(|output| output.end(&end).unwrap());
        }
    }
    for written in [&json, &objects] {
        let written = std::str::from_utf8(written).unwrap();
        assert!(written.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{written}");
    }
    for written in [&lines, &variables, &text] {
        assert!(!std::str::from_utf8(written).unwrap().contains('\u{1b}'));
    }
}
