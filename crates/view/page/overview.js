// What ran, where the time went, what the rules of explain found, and what was not seen.

import {bars} from "./bars.js";
import {ofLayer} from "./colours.js";
import {el, short} from "./dom.js";
import {pathLines} from "./paths.js";
import {change} from "./state.js";
import {count, share, time} from "./units.js";

const ACTIVITIES = {
    waits: "waiting for the device", modules: "loading modules", start_up: "starting and ending CUDA",
    copies: "copying and filling", launches: "launching", allocation: "allocating and freeing", other: "other calls",
    outside: "outside of CUDA",
};

function fact(name, values) {
    const list = [values].flat().filter(value => value !== null && value !== undefined && value !== "");
    return list.length ? [el("dt", null, name), el("dd", null, list.map(value => el("div", null, value)))] : [];
}

function ran(tables) {
    const {run} = tables;
    const calls = (tables.layers || []).reduce((sum, row) => sum + row.calls, 0);
    const errors = (tables.layers || []).reduce((sum, row) => sum + row.errors, 0);
    const devices = run.devices.map(device => `GPU ${device}`).join(", ");
    const started = run.processes.length ? new Date(run.processes[0].started).toISOString().replace("T", " ") : "";
    const programs = run.processes.slice(0, 12).map(of => {
        const words = of.arguments.length ? of.arguments.join(" ") : of.exe;
        return `${of.run ? of.run + " " : ""}${of.pid}: ${short(words, 240)}`;
    });
    const rest = run.processes.length > 12 ? `and ${run.processes.length - 12} more processes` : "";
    return el("dl", null,
        fact("recording", run.runs), fact("program", [...programs, rest]), fact("ended", run.program_ends),
        fact("began", started && started.replace("Z", " UTC")), fact("took", time(run.length_ns)),
        fact("host", [...run.hosts, ...run.hosted]), fact("devices", devices), fact("runtimes", run.runtimes),
        fact("calls", `${count(calls)}, of which ${count(errors)} returned an error`),
        fact("filter", run.filter), fact("window", run.window && run.window.map(ns => ns === null
            ? "end" : time(ns)).join(" to ")),
        fact("cutap", run.version));
}

function finding(of) {
    return el("div", {class: "finding"},
        el("p", {class: "title"}, of.title, of.cost_ns ? ` (${time(of.cost_ns)})` : ""),
        of.evidence.map(line => el("p", null, line)),
        pathLines(of.path, of.stack),
        el("p", null, "\u2192 ", of.advice));
}

const MOST = 10;

function findings(list) {
    const all = list.filter(line => line.type === "finding");
    if (!all.length) {
        return el("p", {class: "hint"}, "No rule of cutap explain found a problem.");
    }
    const rest = all.slice(MOST);
    return [
        all.slice(0, MOST).map(finding),
        rest.length > 0 && el("details", null, el("summary", null, `${rest.length} smaller findings`),
            rest.map(finding)),
    ];
}

function spent(list) {
    const rows = list.filter(line => line.type === "time").map(line => [ACTIVITIES[line.activity] || line.activity,
        line.ns]);
    return rows.length > 0 && card("Time of the run", bars(rows));
}

// What could not be read stands before all else.
function damage(tables) {
    const {damage} = tables.run;
    return damage.length > 0 && el("section", {class: "card damage"}, el("h2", null, "Not all could be read"),
        damage.map(line => el("p", null, line)));
}

function card(title, ...children) {
    return el("section", {class: "card"}, el("h2", null, title), children);
}

export function overview({tables}) {
    const layers = (tables.layers || []).map(row => [row.name, row.self_ns, ofLayer(row.name)]);
    const libraries = (tables.libraries || []).slice(0, 12).map(row => [row.name, row.self_ns]);
    const kernels = (tables.gpu_kernels || []).slice(0, 8).map(row => [row.kernel, row.total_ns, ofLayer("gpu")]);
    const gpus = (tables.gaps || []).filter(row => row.type === "gpu_device");
    const busy = gpus.map(row => [`GPU ${row.device}, of ${time(row.whole_ns)}`, row.busy_ns, ofLayer("gpu"),
        share(row.busy_share, 1), row.busy_share]);
    const {notes} = tables.run;
    if (!layers.length) {
        return el("div", {class: "cards"}, damage(tables), card("What ran", ran(tables)),
            card("No call was recorded", notesList(notes)));
    }
    const whole = layers.reduce((sum, row) => sum + row[1], 0);
    const outside = tables.run.length_ns > whole ? ` of ${time(tables.run.length_ns)}` : "";
    return el("div", {class: "cards"},
        damage(tables),
        card("What ran", ran(tables)),
        card("What cutap explain found", findings(tables.findings || [])),
        spent(tables.findings || []),
        card(`Time in calls by layer: ${time(whole)}${outside}`, bars(layers)),
        card("Time in calls by library", bars(libraries)),
        busy.length > 0 && card("GPU busy", bars(busy)),
        kernels.length > 0 && card("Kernels on the GPU", bars(kernels)),
        card("Longest functions", bars(tables.functions.slice(0, 8).map(row => [row.name, row.self_ns,
            ofLayer(row.layer)])),
            el("p", null, el("a", {href: "#functions", onclick: open("functions")}, "all functions"))),
        (tables.ranks || []).length > 1 && card("Time in calls by rank", bars(tables.ranks.map(row => [row.name,
            row.self_ns]))),
        card("Notes on what was seen, and what was not", notesList(notes)));
}

function open(page) {
    return event => { event.preventDefault(); change({page}); };
}

// Lines that begin with spaces belong to the note before them.
function notesList(notes) {
    if (!notes.length) {
        return el("p", {class: "hint"}, "Nothing is known to be missing.");
    }
    const all = [];
    notes.flatMap(note => note.split("\n")).forEach(line => {
        if (line.startsWith("  ") && all.length) {
            all[all.length - 1].push(line.trim());
        } else {
            all.push([line]);
        }
    });
    return el("ul", null, all.map(([note, ...more]) => el("li", null, note,
        more.length > 0 && el("div", {class: "quiet mono"}, more.join(", ")))));
}

export {card};
