// Calls that failed, and calls that wait.

import {flag} from "./boxes.js";
import {el, short} from "./dom.js";
import {pathLines} from "./paths.js";
import {change} from "./state.js";
import {table} from "./table.js";
import {count, moment, share, time} from "./units.js";

const path = {title: "call, and the calls around it", value: row => row.path.join(" "),
    text: (_, row) => pathLines(row.path, row.stack)};
const ERRORS = [
    {title: "calls", number: true, value: row => row.calls, text: count},
    {title: "error", value: row => row.status, text: value => el("span", {class: "error"}, value)},
    {title: "handled", value: row => row.handled ? "by the caller, or at the end" : ""}, path,
    {title: "after", value: row => row.causes.map(of => `${of.path[of.path.length - 1]} = ${of.status}`).join(", ")},
];
const WAITS = [
    {title: "total", number: true, value: row => row.total_ns, text: time, bar: row => row.share},
    {title: "share", number: true, value: row => row.share, text: n => share(n, 1)},
    {title: "calls", number: true, value: row => row.calls, text: count},
    {title: "longest", number: true, value: row => row.max_ns, text: time},
    {title: "never returned", number: true, value: row => row.unfinished, text: n => n ? count(n) : ""},
    {title: "why", value: row => row.why}, path,
];

// The single calls of a kind, each with a way to the timeline.
function calls(model, mask, title) {
    const rows = [];
    for (let n = 0; n < model.boxes.flags.length && rows.length < 5000; n++) {
        if (model.boxes.flags[n] & mask && !(model.boxes.flags[n] & flag.GPU)) {
            rows.push(n);
        }
    }
    if (!rows.length) {
        return null;
    }
    const columns = [
        {title: "took", number: true, value: n => model.boxes.took[n], text: time},
        {title: "at", number: true, value: n => model.boxes.start[n], text: ns => moment(ns, model.length / 1e4)},
        {title: "call", value: n => model.text(n)},
        {title: "lane", value: n => short(model.laneText(model.laneOf(n)), 60)},
    ];
    const pick = n => change({page: "timeline", s: n, t: model.around(n).map(Math.round).join(",")});
    return el("details", null, el("summary", null, `${title}: ${count(rows.length)}`),
        table(rows, columns, {onrow: pick, sort: 1}));
}

export function hasProblems(tables) {
    return Boolean(tables.errors || tables.waits);
}

export function problems({tables}, model) {
    const errors = tables.errors || [];
    const waits = tables.waits || [];
    return el("div", null,
        el("h2", null, "Errors"),
        errors.length ? table(errors, ERRORS, {sort: -1}) : el("p", {class: "hint"}, "No call failed."),
        calls(model, flag.ERROR, "each failed call"), calls(model, flag.OPEN, "calls that never returned"),
        el("h2", null, "Waits"),
        waits.length ? table(waits, WAITS) : el("p", {class: "hint"}, "No call waited for the device."),
        calls(model, flag.WAIT, "each call that waits"));
}
