//! `cutap devices`: what the kernel driver says of the GPUs, without libcuda. `cutap_cudest::Survey` asks.

use crate::args::JsonArgs;
use crate::stdout::print;
use cutap_collect::{Error, Result};
use cutap_cudest::{Card, Facts, Survey};
use cutap_printable::printable;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Devices {
    #[command(flatten)]
    json: JsonArgs,
}

impl Devices {
    pub fn run(self) -> Result<()> {
        let survey = Survey::new().map_err(|error| Error::own(error.to_string()))?;
        print(&if self.json.json { format!("{}\n", to_json(&survey)) } else { to_text(&survey) })
    }
}

fn to_text(survey: &Survey) -> String {
    let driver = &survey.driver;
    let mut out = format!("driver  {} (tables of {})\n", printable(&driver.version), driver.tables);
    for (card, facts) in &survey.gpus {
        out += &match facts {
            Ok(facts) => gpu_text(facts),
            Err(_) => format!("\n{}  /dev/nvidia{}\n", card.pci_address(), card.minor),
        };
    }
    if !survey.missing.is_empty() {
        out += "\n";
    }
    for missing in &survey.missing {
        out += &format!("missing: {}\n", printable(missing));
    }
    out
}

fn gpu_text(facts: &Facts) -> String {
    let card = &facts.card;
    let mut out = format!(
        "\n{}  /dev/nvidia{}  {}  {}\n",
        card.pci_address(),
        card.minor,
        printable(&facts.name),
        facts.uuid_text()
    );
    let mut line = |name: &str, text: String| out += &format!("  {name:<12} {text}\n");
    if let Some((total, free)) = facts.memory {
        line("memory", format!("{}, {} free", size(total), size(free)));
    }
    if let Some(on) = facts.ecc {
        line("ECC", if on { "on" } else { "off" }.to_owned());
    }
    if let Some((sm, memory)) = facts.clocks {
        line("clocks", format!("SMs to {} MHz, memory to {} MHz", sm / 1000, memory / 1000));
    }
    if let (Some(bits), Some(l2)) = (facts.bus_width, facts.l2) {
        line("memory bus", format!("{bits} bits; L2 cache {}", size(l2)));
    }
    let tpcs: Vec<String> = facts.tpcs.iter().map(u32::to_string).collect();
    line("SMs", format!("{}; TPCs of each GPC: {}", facts.sms(), tpcs.join(" ")));
    if let Some((architecture, implementation, revision)) = facts.chip {
        line("chip", format!("{architecture:#x}, implementation {implementation:#x}, revision {revision:#x}"));
    }
    let (vendor, device) = card.pci_id;
    line("PCI id", format!("{vendor:04x}:{device:04x}"));
    line("BARs", facts.bars.iter().filter(|bar| **bar != 0).map(|bar| size(*bar)).collect::<Vec<_>>().join(", "));
    let engines = facts.copy_engines.iter();
    let engines = engines.map(|(n, graphics)| if *graphics { format!("{n} (graphics)") } else { n.to_string() });
    line("copy engines", engines.collect::<Vec<_>>().join(", "));
    if let Some(links) = &facts.nvlinks {
        let rate = links.first().map(|(_, rate)| format!(", {rate} Mbit/s a lane"));
        line("NVLinks", format!("{} on{}", links.len(), rate.unwrap_or_default()));
    }
    line("classes", facts.classes.iter().map(|class| format!("{class:x}")).collect::<Vec<_>>().join(" "));
    line("cudest", if facts.is_supported() { "can run kernels on it" } else { "has no encoders for it" }.to_owned());
    out
}

fn size(bytes: u64) -> String {
    match bytes {
        0x4000_0000.. => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        _ => format!("{} MiB", bytes >> 20),
    }
}

fn card_json(card: &Card) -> Value {
    json!({
        "gpu_id": card.id,
        "node": format!("/dev/nvidia{}", card.minor),
        "pci_address": card.pci_address(),
        "pci_vendor": card.pci_id.0,
        "pci_device": card.pci_id.1,
    })
}

fn gpu_json(card: &Card, facts: &cutap_cudest::Result<Facts>) -> Value {
    let mut out = card_json(card);
    let more = match facts {
        Err(error) => json!({ "error": error.to_string() }),
        Ok(facts) => json!({
            "name": facts.name,
            "uuid": facts.uuid_text(),
            "memory_bytes": facts.memory.map(|memory| memory.0),
            "memory_free_bytes": facts.memory.map(|memory| memory.1),
            "ecc": facts.ecc,
            "sms": facts.sms(),
            "tpcs_of_gpcs": facts.tpcs,
            "chip": facts.chip.map(|(architecture, implementation, revision)| {
                json!({ "architecture": architecture, "implementation": implementation, "revision": revision })
            }),
            "bar_bytes": facts.bars,
            "copy_engines": facts.copy_engines.iter()
                .map(|(engine, graphics)| json!({ "engine": engine, "graphics": graphics })).collect::<Vec<_>>(),
            "nvlinks": facts.nvlinks.as_ref().map(|links| links.iter()
                .map(|(link, rate)| json!({ "link": link, "mbit_s_lane": rate })).collect::<Vec<_>>()),
            "clock_khz": facts.clocks.map(|(sm, memory)| json!({ "sm": sm, "memory": memory })),
            "memory_bus_bits": facts.bus_width,
            "l2_bytes": facts.l2,
            "classes": facts.classes,
            "cudest": facts.is_supported(),
        }),
    };
    if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
        out.extend(more);
    }
    out
}

fn to_json(survey: &Survey) -> Value {
    json!({
        "driver": survey.driver.version,
        "tables": survey.driver.tables,
        "gpus": survey.gpus.iter().map(|(card, facts)| gpu_json(card, facts)).collect::<Vec<_>>(),
        "missing": survey.missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_cudest::{Driver, Fit};

    fn survey() -> Survey {
        let card = |minor: u32| Card {
            id: 6,
            minor,
            pci: (0, 6 + minor as u8, 0, 0),
            pci_id: (0x10de, 0x2335),
            bars: (16 << 20, 256 << 30),
        };
        let facts = Facts {
            card: card(0),
            name: "NVIDIA H200".to_owned(),
            uuid: *b"0123456789abcdef",
            memory: Some((150_754_820_096, 150_000_000_000)),
            tpcs: vec![8, 9],
            floor_plan: vec![(0, 0); 34],
            chip: Some((0x180, 0, 0xa1)),
            ecc: Some(true),
            bars: vec![16 << 20, 256 << 30, 0],
            classes: vec![0xcbc0, 0xc86f, 0xc8b5],
            copy_engines: vec![(0, true), (2, false)],
            nvlinks: Some(vec![(0, 26_562)]),
            clocks: Some((1_980_000, 3_201_000)),
            bus_width: Some(6016),
            l2: Some(60 << 20),
            subsystem: None,
            fixed_facts: Default::default(),
        };
        let cards = vec![card(0), card(1)];
        let driver = Driver { version: "580.159.04".to_owned(), tables: "580.142", fit: Fit::SameBranch, cards };
        let refused = cutap_cudest::Error::NoPermission("/dev/nvidia1".into());
        let missing = vec!["0000:07:00.0: no permission".to_owned()];
        Survey { driver, gpus: vec![(card(0), Ok(facts)), (card(1), Err(refused))], missing }
    }

    #[test]
    fn text() {
        let wanted = "\
driver  580.159.04 (tables of 580.142)

0000:06:00.0  /dev/nvidia0  NVIDIA H200  GPU-30313233-3435-3637-3839-616263646566
  memory       140.4 GiB, 139.7 GiB free
  ECC          on
  clocks       SMs to 1980 MHz, memory to 3201 MHz
  memory bus   6016 bits; L2 cache 60 MiB
  SMs          34; TPCs of each GPC: 8 9
  chip         0x180, implementation 0x0, revision 0xa1
  PCI id       10de:2335
  BARs         16 MiB, 256.0 GiB
  copy engines 0 (graphics), 2
  NVLinks      1 on, 26562 Mbit/s a lane
  classes      cbc0 c86f c8b5
  cudest       can run kernels on it

0000:07:00.0  /dev/nvidia1

missing: 0000:07:00.0: no permission
";
        assert_eq!(to_text(&survey()), wanted);
    }

    #[test]
    fn json() {
        let found = to_json(&survey());
        assert_eq!(found["gpus"][0]["sms"], 34);
        assert_eq!(found["gpus"][0]["copy_engines"][1], json!({ "engine": 2, "graphics": false }));
        assert_eq!(found["gpus"][1]["pci_address"], "0000:07:00.0");
        assert!(found["gpus"][1]["error"].as_str().is_some_and(|text| text.starts_with("no permission for")));
    }
}
