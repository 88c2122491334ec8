// The lists of functions, kernels, copies and others: search, sort, and the durations of the chosen row.

import {histogram} from "./bars.js";
import {el, put} from "./dom.js";
import {change, state} from "./state.js";
import {table} from "./table.js";
import {bytes, count, share, time} from "./units.js";

export const number = (title, key, text = count) => ({title, number: true, value: row => row[key],
    text: value => text(value)});
export const times = [
    {...number("self", "self_ns", time), bar: row => row.share},
    {title: "share", number: true, value: row => row.share, text: value => share(value, 1)},
    number("total", "total_ns", time), number("calls", "calls"),
    {...number("errors", "errors"), text: n => n ? el("span", {class: "error"}, count(n)) : ""},
    number("mean", "mean_ns", time), number("p50", "p50_ns", time), number("p95", "p95_ns", time),
    number("max", "max_ns", time),
];
export const word = (title, key) => ({title, value: row => row[key]});
export const gpu = {...number("GPU", "gpu_ns", time), text: ns => ns ? time(ns) : ""};
const shape = of => of.grid ? `<<<${of.grid.join("x")}, ${of.block.join("x")}>>> ${count(of.calls)}` : "";
const shapes = row => [...row.shapes].sort((a, b) => b.calls - a.calls).slice(0, 3).map(shape).join("  ");
const of_gpu = [
    {...number("total", "total_ns", time), bar: row => row.share ?? 0}, number("calls", "calls"),
    number("mean", "mean_ns", time), number("p95", "p95_ns", time),
];

const nodeText = row => row.nodes.map(node => node.work).join(" ");

// The lists: name of the data, title, columns.
const LISTS = [
    ["functions", "Functions", [...times, gpu, word("function", "name"), word("layer", "layer"), word("library",
        "library"),
        word("runtime", "runtime")]],
    ["gpu_kernels", "Kernels on the GPU", [...of_gpu, number("max", "max_ns", time), word("kernel", "kernel"),
        {title: "grid, block", value: row => shapes(row)}]],
    ["kernels", "Launches by kernel", [...times, word("kernel", "name")]],
    ["copies", "Copies and sets", [...of_gpu, number("bytes", "bytes", bytes),
        {...number("bandwidth", "bytes_per_second"), text: n => bytes(n) + "/s"}, word("what", "what")]],
    ["streams", "Streams", [...times, word("stream", "name")]],
    ["threads", "Threads", [...times, gpu, word("thread", "name")]],
    ["instances", "Runtimes", [...times, word("runtime", "name")]],
    ["ranges", "Ranges", null],
    ["gaps", "Idle GPU", [
        {...number("idle", "total_ns", time), bar: row => row.share}, {title: "share", number: true,
            value: row => row.share, text: n => share(n, 1)},
        number("gaps", "count"), number("longest", "max_ns", time), word("why", "why"), word("GPU", "device")]],
    ["graphs", "Graphs", [
        number("total", "total_ns", time), number("launches", "launches"), number("p50", "replay_p50_ns", time),
        number("p95", "replay_p95_ns", time), {title: "nodes", number: true, value: row => row.nodes.length,
            text: count},
        word("executable", "executable"), {title: "work, and the calls that made it", value: nodeText, text: (_,
            row) =>
            el("div", null, row.nodes.slice(0, 40).map(node => el("div", null, `${node.work} `,
                el("span", {class: "quiet"}, `${time(node.total_ns)}, ${(node.path || []).join(" > ")}`))))}]],
];

// Columns of rows whose names say what they are.
function guessed(rows) {
    const keys = [];
    rows.forEach(row => Object.keys(row).forEach(key => {
        if (!keys.includes(key) && key !== "type" && keys.length < 14) keys.push(key);
    }));
    return keys.map(key => {
        const title = key.replace(/_ns$/, "").replaceAll("_", " ");
        const isNumber = rows.some(row => typeof row[key] === "number");
        const text = key.endsWith("_ns") ? time : key.endsWith("bytes") ? bytes : key === "share" ? n => share(n,
            1) : null;
        const plain = value => typeof value === "object" && value !== null ? JSON.stringify(value) : value;
        if (!isNumber) {
            return {title, value: row => plain(row[key])};
        }
        return {title, number: true, value: row => row[key], text: value => value === undefined
            ? "" : (text || count)(value)};
    });
}

// The rows of a list. The times of whole GPUs stand on the first page.
function rowsOf(tables, name) {
    return (tables[name] || []).filter(row => row.type !== "gpu_device");
}

export function functionLists(tables) {
    return LISTS.filter(([name]) => rowsOf(tables, name).length > 0);
}

export function functions({tables}, timeline) {
    const lists = functionLists(tables);
    const [name, title, columns] = lists.find(([name]) => name === state().list) || lists[0];
    const chosen = el("div");
    const rows = rowsOf(tables, name);
    const tabs = el("div", {class: "tools"}, lists.map(([list, title]) => el("button", {
        "aria-pressed": String(list === name), onclick: () => change({list}),
    }, title)));
    function pick(row) {
        const durations = name === "functions" && tables.durations[rows.indexOf(row)];
        const of = row.name || row.kernel || row.what || "";
        put(chosen, el("section", {class: "card"},
            el("h2", {class: "mono"}, of),
            durations && [el("p", {class: "quiet"}, "Calls by duration"), histogram(durations)],
            el("div", {class: "tools"}, timeline && el("button", {
                onclick: () => change({page: "timeline", q: of, s: "", t: ""}),
            }, "find in the timeline"))));
        chosen.scrollIntoView({block: "nearest"});
    }
    const shown = name === "functions" && !rows.some(row => row.gpu_ns) ? columns.filter(c => c !== gpu) : columns;
    return el("div", null, tabs, el("h2", null, title), chosen, table(rows, shown || guessed(rows), {onrow: pick}));
}
