//! The tables: what is known of the interface from elsewhere, and what must hold in every release.

use cutap_rm::{Fit, Form, Kind, Need, Pointee, Privilege, Record, Tables, cuda_version};

fn tables(version: &str) -> Tables {
    let found = Tables::select(version).unwrap();
    assert_eq!(found.tables.release(), version);
    found.tables
}

#[test]
fn the_nearest_release_and_its_fit() {
    let select = |version: &str| Tables::select(version).map(|s| (s.tables.release(), s.fit));
    assert_eq!(select("580.142"), Some(("580.142", Fit::Exact)));
    assert_eq!(select("580.65.06"), Some(("580.142", Fit::SameBranch)));
    assert_eq!(select("535.129.03"), Some(("535.288.01", Fit::SameBranch)));
    assert_eq!(select("545.23.08"), Some(("550.163.01", Fit::OtherBranch)));
    assert_eq!(select("610.43.02"), Some(("595.45.04", Fit::OtherBranch)));
    for old in ["195.36.24", "256.35", "295.40"] {
        let fit = if old == "256.35" { Fit::Exact } else { Fit::OtherBranch };
        assert_eq!(select(old), Some(("256.35", fit)), "{old}");
    }
    assert_eq!(select("390.157"), Some(("535.288.01", Fit::OtherBranch)));
    assert_eq!(select("580"), Some(("580.142", Fit::SameBranch)));
    for wrong in ["", "x", "580.x", "-1", "99999999999"] {
        assert_eq!(select(wrong), None, "{wrong}");
    }
}

#[test]
fn cuda_versions() {
    assert_eq!(cuda_version("535.288.01"), Some((12, 2)));
    assert_eq!(cuda_version("595.45.04"), Some((13, 2)));
    assert_eq!(cuda_version("418.40"), None);
}

/// Sizes and offsets that were measured by other means: the research page's compiled ones, and calls on a GPU.
#[test]
fn layouts_that_were_measured() {
    let t = tables("580.142");
    for (record, size, fields) in [
        ("NVOS54_PARAMETERS", 32, &[("hClient", 0), ("hObject", 4), ("cmd", 8), ("params", 16), ("status", 28)][..]),
        ("NVOS64_PARAMETERS", 48, &[("hClass", 12), ("pRightsRequested", 24), ("paramsSize", 32), ("status", 40)]),
        ("NVOS21_PARAMETERS", 32, &[("paramsSize", 24), ("status", 28)]),
        ("NVOS46_PARAMETERS", 64, &[("kindOverride", 40), ("dmaOffset", 48), ("status", 56)]),
        ("NVOS47_PARAMETERS", 48, &[("dmaOffset", 24), ("size", 32), ("status", 40)]),
        ("nv_ioctl_nvos02_parameters_with_fd", 56, &[("params.pMemory", 24), ("params.status", 40), ("fd", 48)]),
        ("nv_ioctl_nvos33_parameters_with_fd", 56, &[("params.pLinearAddress", 32), ("fd", 48)]),
        ("nv_ioctl_card_info_t", 72, &[("gpu_id", 16), ("fb_size", 48), ("minor_number", 56), ("dev_name", 60)]),
        ("NV_MEMORY_ALLOCATION_PARAMS", 128, &[("attr2", 28), ("alignment", 72), ("hVASpace", 108), ("numaNode", 120)]),
        ("NV_CHANNEL_ALLOC_PARAMS", 368, &[("hUserdMemory[1]", 36), ("userdOffset", 64), ("tpcConfigID", 360)]),
        ("UVM_REGISTER_GPU_PARAMS", 40, &[("rmCtrlFd", 24), ("hClient", 28), ("rmStatus", 36)]),
        (
            "UVM_MAP_EXTERNAL_ALLOCATION_PARAMS",
            9264,
            &[("perGpuAttributes", 24), ("perGpuAttributes[1]", 60), ("gpuAttributesCount", 9240), ("rmStatus", 9260)],
        ),
    ] {
        assert_eq!(t.record(record).map(Record::size), Some(size), "{record}");
        for (field, offset) in fields {
            assert_eq!(t.place(record, field).map(|p| p.offset), Ok(*offset), "{record}.{field}");
        }
    }
}

/// Sizes that changed between branches.
#[test]
fn what_changed_between_branches() {
    let size = |version: &str, record: &str| tables(version).record(record).map(Record::size);
    for (record, old, before, new, after) in [
        ("NV_MEMORY_ALLOCATION_PARAMS", "535.288.01", 120, "550.163.01", 128),
        ("NVOS47_PARAMETERS", "535.288.01", 40, "550.163.01", 48),
        ("NVOS46_PARAMETERS", "575.64.05", 56, "580.142", 64),
        ("NV_CHANNEL_ALLOC_PARAMS", "565.77", 360, "570.211.01", 368),
        ("UVM_MAP_EXTERNAL_ALLOCATION_PARAMS", "535.288.01", 1200, "550.163.01", 9264),
        ("NV503B_ALLOC_PARAMETERS", "580.142", 72, "590.48.01", 88),
        ("UVM_FREE_PARAMS", "580.142", 24, "590.48.01", 16),
    ] {
        assert_eq!((size(old, record), size(new, record)), (Some(before), Some(after)), "{record}");
    }
    assert!(tables("590.48.01").escape(0x32).is_some() && tables("595.45.04").escape(0x32).is_none());
    assert_eq!(tables("575.64.05").uvm(80).map(|u| u.name()), None);
    assert_eq!(tables("580.142").uvm(80).map(|u| u.name()), Some("UVM_DISCARD"));
}

/// A macro of an unused command has the same value as another command: only messages and registered ids name one.
#[test]
fn names_are_not_those_of_other_macros() {
    let t = tables("580.142");
    for (id, name) in [
        (0x205, "NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2"),
        (0x201, "NV0000_CTRL_CMD_GPU_GET_ATTACHED_IDS"),
        (0x202, "NV0000_CTRL_CMD_GPU_GET_ID_INFO"),
        (0x906f_0101, "NV906F_CTRL_GET_CLASS_ENGINEID"),
        (0x2080_0145, "subdeviceCtrlCmdGpuAcquireComputeModeReservation"),
    ] {
        assert_eq!(t.control(id).map(|c| c.name()), Some(name));
    }
    assert!(t.control(0x2080_0145).is_some_and(|c| c.is_handler_name()));
    assert_eq!(t.class(0).map(|c| c.name()), Some("NV01_ROOT"));
}

#[test]
fn privilege_and_route() {
    // The bits of the flags are others in 535: the words must not be.
    for version in ["535.288.01", "580.142"] {
        let control = |name: &str| tables(version).control_named(name).unwrap();
        let ecc = control("NV2080_CTRL_CMD_GPU_QUERY_ECC_STATUS");
        assert_eq!((ecc.privilege(), ecc.goes_to_gsp()), (Privilege::Any, true));
        let info = control("NV2080_CTRL_CMD_GR_GET_INFO");
        assert_eq!((info.privilege(), info.goes_to_gsp()), (Privilege::Any, false));
        // This one's route changed.
        let name = control("NV2080_CTRL_CMD_GPU_GET_NAME_STRING");
        assert_eq!((name.privilege(), name.goes_to_gsp()), (Privilege::Any, version == "535.288.01"));
        assert_eq!(control("NV2080_CTRL_CMD_GR_GET_CTX_BUFFER_INFO").privilege(), Privilege::Kernel);
    }
    let channel = tables("580.142").class(0xc86f).unwrap();
    assert_eq!((channel.need(), channel.privilege(), channel.size()), (Need::Required, Privilege::Any, 368));
}

#[test]
fn every_release_is_whole() {
    assert_eq!(Tables::all().count(), 11);
    for t in Tables::all().filter(|t| t.release() != "256.35") {
        let release = t.release();
        assert!(t.controls().filter(|c| c.is_registered()).count() > 1100, "{release}");
        assert!(t.statuses().count() > 130 && t.classes().count() > 140 && t.escapes().count() > 36, "{release}");
        for control in t.controls() {
            assert_eq!(control.params().map_or(0, Record::size), control.size(), "{release} {control:?}");
            assert_eq!(t.control(control.number()).map(|c| c.name()), Some(control.name()), "{release}");
        }
        for class in t.classes() {
            assert_eq!(class.params().map_or(0, Record::size), class.size(), "{release} {class:?}");
        }
        for uvm in t.uvm_commands() {
            assert_eq!(uvm.params().map_or(0, Record::size), uvm.size(), "{release} {uvm:?}");
            let status = uvm.params().and_then(|p| p.field("rmStatus"));
            assert!(status.is_none_or(|(field, _)| field.kind() == Kind::Status), "{release} {uvm:?}");
        }
        for (name, record) in t.records() {
            assert_eq!(t.record(name), Some(record), "{release} {name}");
            whole(release, record);
        }
        for escape in t.escapes() {
            let known = escape.params(0).is_some();
            let gone = ["CONFIG_", "ADD_VBLANK", "EXPORT_OBJECT", "IMPORT_OBJECT"];
            assert!(known || gone.iter().any(|g| escape.name().contains(g)), "{release} {escape:?} has no struct");
        }
    }
}

/// Its sources have no more. libcudest's own ioctls are known with their sizes, but for the one of 48 bytes a card.
#[test]
fn the_interface_of_2010() {
    let t = tables("256.35");
    for (number, size) in [
        (0x22, 12),
        (0x2a, 32),
        (0x2b, 32),
        (0x2d, 20),
        (0x32, 20),
        (0x37, 32),
        (0x4d, 72),
        (0x4e, 48),
        (0xca, 4),
        (0xd2, 72),
    ] {
        let escape = t.escape(number).unwrap();
        assert_eq!(escape.params(size).map(Record::size), Some(size), "{escape:?}");
    }
    assert_eq!(
        t.control(0x2080_0110).map(|c| (c.name(), c.size())),
        Some(("NV2080_CTRL_CMD_GPU_GET_NAME_STRING", 132))
    );
    assert_eq!(t.status(0x29), Some("NVRM_STATUS_MTHD_CLASS_MISMATCH"));
    assert_eq!(tables("580.142").status(0x29), Some("NV_ERR_INVALID_FLAGS"));
    for control in t.controls() {
        assert!(control.params().is_none_or(|p| p.size() == control.size()), "{control:?}");
    }
    for (name, record) in t.records() {
        assert_eq!(t.record(name), Some(record), "{name}");
        whole("256.35", record);
    }
    assert!(t.escapes().all(|escape| escape.params(0).is_some()));
}

/// Fields are inside, siblings that count exist, and only those of a union lie over each other.
fn whole(release: &str, record: Record) {
    let mut end = 0;
    for field in record.fields() {
        let what = format!("{release} {} {field:?}", record.name());
        assert!(field.offset() + field.size() <= record.size(), "{what}");
        if record.is_union() {
            assert_eq!(field.offset(), 0, "{what}");
        } else if field.bits().is_none() {
            assert!(field.offset() >= end, "{what}");
            end = field.offset() + field.size();
        }
        if let Some(pointer) = field.pointer() {
            let selector = match pointer.pointee() {
                Pointee::Control(by) | Pointee::Class(by) | Pointee::Escape(by) => Some(by),
                _ => None,
            };
            assert!(
                pointer.counted_by().chain(selector).all(|name| record.field(name).is_some()),
                "{what} {pointer:?}"
            );
            assert_eq!(field.form(), Form::Pointer, "{what}");
        }
    }
}
