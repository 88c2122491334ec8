//! Requests that a program builds, and requests inside others.

use cutap_rm::{
    Device, Error, Fragments, Moment, Params, Remark, Request, Status, StatusPlace, Subject, Tables, escape_request,
};

fn tables() -> Tables {
    Tables::select("580.142").unwrap().tables
}

#[test]
fn what_is_built_decodes() {
    let t = tables();
    let control = t.control_named("NV2080_CTRL_CMD_GPU_GET_GID_INFO").unwrap();
    let mut gid = Params::of(control.params().unwrap());
    gid.set("flags", 2).unwrap();
    let mut request = Params::new(t, "NVOS54_PARAMETERS").unwrap();
    request.set("hClient", 0xc1d0_0001).unwrap().set("cmd", control.number().into()).unwrap();
    request.set("params", 0x7000_0000).unwrap().set("paramsSize", control.size() as u64).unwrap();
    let before = request.bytes().to_vec();
    let mut answer = gid.clone();
    answer.set("length", 16).unwrap().set_bytes("data", b"0123456789abcdef").unwrap();
    request.set("status", 0x56).unwrap();
    let mut memory = Fragments { all: vec![(0x7000_0000, gid.bytes().to_vec(), Some(answer.bytes().to_vec()))] };
    let seen = Request {
        device: Device::Control,
        request: escape_request(0x2a, before.len()),
        before: &before,
        after: Some(request.bytes()),
        result: Some(0),
    };
    let call = t.decode(seen, &mut memory);
    assert_eq!(call.subject_name(), "NV2080_CTRL_CMD_GPU_GET_GID_INFO");
    assert_eq!(call.argument.get("params.*.length").and_then(|n| n.number(Moment::After)), Some(16));
    assert!(call.remarks.is_empty());
    let ioctl = Status { place: StatusPlace::Ioctl, field: "", code: 0, name: None };
    let own = Status { place: StatusPlace::Struct, field: "status", code: 0x56, name: Some("NV_ERR_NOT_SUPPORTED") };
    assert_eq!(call.statuses, [ioctl, own]);
}

#[test]
fn the_status_is_in_three_places() {
    let t = tables();
    let mut uvm = Params::new(t, "UVM_VALIDATE_VA_RANGE_PARAMS").unwrap();
    let before = uvm.bytes().to_vec();
    uvm.set("rmStatus", 0x1e).unwrap();
    let number = t.uvm_named("UVM_VALIDATE_VA_RANGE").unwrap().number();
    assert_eq!(t.argument_size(Device::Uvm, number), Some(24));
    let seen =
        Request { device: Device::Uvm, request: number, before: &before, after: Some(uvm.bytes()), result: Some(-22) };
    let call = t.decode(seen, &mut Fragments::default());
    let of = |place: StatusPlace| call.statuses.iter().find(|s| s.place == place).map(|s| (s.code, s.name));
    assert_eq!(of(StatusPlace::Ioctl), Some((-22, None)));
    assert_eq!(of(StatusPlace::Uvm), Some((0x1e, Some("NV_ERR_INVALID_ADDRESS"))));
    // Before the call there is none.
    let call = t.decode(Request { after: None, result: None, ..seen }, &mut Fragments::default());
    assert!(call.statuses.is_empty());
}

#[test]
fn a_request_inside_another_is_unwrapped() {
    let t = tables();
    let mut inner = Params::new(t, "NVOS00_PARAMETERS").unwrap();
    inner.set("hObjectOld", 0x5c00_0001).unwrap();
    let before = inner.bytes().to_vec();
    inner.set("status", 0x57).unwrap();
    let mut outer = Params::new(t, "nv_ioctl_xfer_t").unwrap();
    outer.set("cmd", 0x29).unwrap().set("size", 16).unwrap().set("ptr", 0x1000).unwrap();
    let mut memory = Fragments { all: vec![(0x1000, before, Some(inner.bytes().to_vec()))] };
    let seen = Request {
        device: Device::Gpu,
        request: escape_request(211, 16),
        before: outer.bytes(),
        after: Some(outer.bytes()),
        result: Some(0),
    };
    let call = t.decode(seen, &mut memory);
    assert_eq!((call.name, call.number, call.wrapped), ("NV_ESC_RM_FREE", 0x29, true));
    assert_eq!(call.status().map(|s| s.code), Some(0x57));
    assert_eq!(call.argument.get("ptr.*.hObjectOld").and_then(|n| n.number(Moment::Before)), Some(0x5c00_0001));
    assert_eq!(call.buffers(Moment::After), [(0x1000, inner.bytes().to_vec())]);
}

#[test]
fn what_no_table_has_is_remarked() {
    let t = tables();
    let mut request = Params::new(t, "NVOS54_PARAMETERS").unwrap();
    request.set("cmd", 0x2080_8159).unwrap().set("params", 8).unwrap().set("paramsSize", 332).unwrap();
    let unknown = request.clone();
    let seen = Request {
        device: Device::Control,
        request: escape_request(0x2a, 32),
        before: unknown.bytes(),
        after: None,
        result: None,
    };
    let call = t.decode(seen, &mut Fragments::default());
    assert_eq!(call.remarks, [Remark::UnknownControl(0x2080_8159)]);
    assert!(matches!(call.subject, Subject::Control(0x2080_8159, None)));
    // A size that the driver will refuse.
    request.set("cmd", 0x2080_014a).unwrap();
    let call = t.decode(Request { before: request.bytes(), ..seen }, &mut Fragments::default());
    assert_eq!(call.remarks, [Remark::Size { expected: 268, sent: 332 }]);
    let call = t.decode(Request { request: escape_request(0x10, 32), ..seen }, &mut Fragments::default());
    assert_eq!((call.name, &call.remarks[..]), ("", &[Remark::UnknownRequest(0x10)][..]));
}

#[test]
fn wrong_fields_are_errors() {
    let t = tables();
    assert_eq!(Params::new(t, "NOTHING").err(), Some(Error::NoRecord));
    let mut channel = Params::new(t, "NV_CHANNEL_ALLOC_PARAMS").unwrap();
    let mut set = |path: &str, value: u64| channel.set(path, value).err();
    assert_eq!(set("hUserdMemory[7]", 1), None);
    assert_eq!(set("hUserdMemory[8]", 1), Some(Error::Index));
    assert_eq!(set("hUserdMemory", 1), Some(Error::NotANumber));
    assert_eq!(set("hUserdMemory[x]", 1), Some(Error::NoField));
    assert_eq!(set("nothing", 1), Some(Error::NoField));
    assert_eq!(set("hVASpace", 1 << 32), Some(Error::TooLarge));
    assert_eq!(set("", 1), Some(Error::NoField));
    assert_eq!(channel.set_bytes("hUserdMemory", &[0; 33]).err(), Some(Error::TooLarge));
    let place = t.place("NVOS54_PARAMETERS", "status").unwrap();
    assert_eq!((place.put(&mut [0; 31], 1), place.take(&[0; 31])), (Err(Error::Short), None));
}
