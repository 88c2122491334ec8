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

fn gpu_json(card: &Card, facts: &std::result::Result<Facts, cutap_cudest::Error>) -> Value {
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
