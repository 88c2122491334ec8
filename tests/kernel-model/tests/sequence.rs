//! A scheduled channel on the model of the kernel driver, as `cutap syscall` shows it, and what the model refuses.

use cutap_kernel::decode::Decoder;
use cutap_kernel::nvproxy::Nvproxy;
use cutap_kernel::objects::Objects;
use cutap_kernel::show::text::{Style, Text};
use cutap_kernel::{Action, Run, census::Census, json, maps, tree};
use cutap_kernel_model::{Model, Recorder, client};
use cutap_rm::{Params, Tables, escape_request};

fn tables() -> Tables {
    Tables::select("580.142").unwrap().tables
}

fn recorded() -> (Recorder, client::Channel) {
    let mut recorder = Recorder::new(tables());
    recorder.inside = Some("cuInit");
    let channel = client::channel(&mut recorder).unwrap();
    (recorder, channel)
}

fn golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, wanted, "{name}: UPDATE_GOLDEN=1 rewrites it; read what it wrote");
}

fn decoder(run: &Run) -> Decoder {
    Decoder::new(None, run).unwrap()
}

#[test]
fn seventeen_requests_make_a_scheduled_channel() {
    let (recorder, channel) = recorded();
    let requests = recorder.run.calls.iter().filter(|call| matches!(call.action, Action::Ioctl(_)));
    assert_eq!(requests.count(), 17);
    assert!(recorder.model.is_scheduled(channel.client, channel.handle));
    assert_eq!((channel.token, channel.gpu_address), (4, 0x1_2000_0000));
    assert!(channel.doorbell > 0);
}

#[test]
fn as_text() {
    let (mut recorder, channel) = recorded();
    client::free(&mut recorder, channel).unwrap();
    assert_eq!(recorder.model.objects(), 0);
    let decoder = decoder(&recorder.run);
    let mut lines = Text::new(Style { parents: true, ..Style::default() });
    let text: String = recorder.run.calls.iter().map(|call| lines.line(call, &decoder)).collect();
    golden("sequence.txt", &text);
}

#[test]
fn the_tree_the_mappings_and_the_census() {
    let (recorder, _) = recorded();
    let decoder = decoder(&recorder.run);
    let objects = Objects::of(&recorder.run, &decoder);
    golden("tree.txt", &tree::text(&objects));
    golden("maps.txt", &maps::text(&objects));
    let mut census = Census::default();
    census.add(&recorder.run, &decoder);
    assert!(census.unknown.is_empty() && census.sizes.is_empty(), "{:?}", census.unknown);
    golden("census.txt", &census.text());
    golden("allow_list.txt", &census.allow_list(Nvproxy::of(decoder.driver())));
}

#[test]
fn what_was_freed_says_so() {
    let (mut recorder, channel) = recorded();
    client::free(&mut recorder, channel).unwrap();
    let objects = Objects::of(&recorder.run, &decoder(&recorder.run));
    assert!(objects.all.iter().all(|object| object.life.1.is_some()));
    assert_eq!(tree::text(&objects).matches("freed").count(), 10);
}

#[test]
fn the_run_survives_its_json() {
    let (recorder, _) = recorded();
    let mut out = Vec::new();
    json::write_head(&recorder.run.head, &mut out).unwrap();
    recorder.run.calls.iter().for_each(|call| json::write_call(call, &mut out).unwrap());
    let read = json::read(&String::from_utf8(out).unwrap()).unwrap();
    assert_eq!(read.calls, recorder.run.calls);
}

/// The status of an allocation with these fields.
fn allocated(recorder: &mut Recorder, client: u32, parent: u32, class: u32, fields: &[(&str, u64)]) -> u64 {
    let mut given = Params::of(tables().class(class).unwrap().params().unwrap());
    for (field, value) in fields {
        given.set(field, *value).unwrap();
    }
    let at = recorder.memory.place(given.bytes());
    let mut params = Params::new(tables(), "NVOS64_PARAMETERS").unwrap();
    for (field, value) in
        [("hRoot", client), ("hObjectParent", parent), ("hObjectNew", 0x5c00_0000 + class), ("hClass", class)]
    {
        params.set(field, value.into()).unwrap();
    }
    params.set("pAllocParms", at).unwrap();
    let mut bytes = params.bytes().to_vec();
    assert_eq!(recorder.ioctl(3, escape_request(0x2b, 48), &mut bytes, &[]), 0);
    params.bytes_mut().copy_from_slice(&bytes);
    params.get("status").unwrap()
}

#[test]
fn what_an_h200_refused_is_refused() {
    let (mut recorder, channel) = recorded();
    let (client, device, group) = (channel.client, 0xcafe_0001, 0xcafe_0007);
    let mut status = |parent, class, fields: &[(&str, u64)]| allocated(&mut recorder, client, parent, class, fields);
    assert_eq!(status(device, 0xa06c, &[]), 0x1f, "a group needs an engine");
    assert_eq!(status(group, 0xc86f, &[("gpFifoEntries", 1000)]), 0x1f, "entries are a power of two");
    assert_eq!(status(group, 0xc86f, &[("gpFifoEntries", 1024), ("hVASpace", 1)]), 0x1f, "the group has the space");
    assert_eq!(status(0xcafe_0002, 0xc661, &[("bPriv", 1)]), 0x1b, "privileged");
    assert_eq!(status(0xcafe_0008, 0xcdc0, &[]), 0x56, "Blackwell's compute class");
    assert_eq!(status(0x1234, 0x2080, &[]), 0x57, "no such parent");
    assert_eq!(status(device, 0x3e, &[("size", 400 << 30)]), 0x51, "400 GiB");
}

#[test]
fn sizes_are_checked() {
    let (mut recorder, _) = recorded();
    assert_eq!(recorder.ioctl(3, escape_request(0x57, 56), &mut [0; 56], &[]), -22, "the struct of 575");
    assert_eq!(recorder.ioctl(4, escape_request(0x4e, 56), &mut [0; 56], &[]), -22, "MAP_MEMORY on the device");
    assert_eq!(recorder.ioctl(77, escape_request(0x29, 16), &mut [0; 16], &[]), -9, "no such descriptor");
    let mut model = Model::new(tables());
    assert!(model.open("/dev/null") < 0 && model.mmap(9, 1) < 0 && model.close(9) < 0);
}

#[test]
fn the_device_must_be_open() {
    let mut recorder = Recorder::new(tables());
    recorder.open("/dev/nvidiactl");
    let mut bytes = [0; 48];
    recorder.ioctl(3, escape_request(0x2b, 48), &mut bytes, &[]);
    let client = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
    assert_eq!(allocated(&mut recorder, client, client, 0x80, &[]), 0x1b);
}
