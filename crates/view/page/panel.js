// What is known of one box: arguments, result, stack, the calls around it, and other calls of the same function.

import {NONE, flag} from "./boxes.js";
import {loadDetails} from "./data.js";
import {el, put, short} from "./dom.js";
import {change} from "./state.js";
import {count, moment, share, time} from "./units.js";

// Splits "a=1, b={c=2, d=3}" at the commas between arguments.
export function argumentsOf(text) {
    const list = [];
    let [depth, from, quoted] = [0, 0, false];
    for (let n = 0; n < text.length; n++) {
        const c = text[n];
        if (c === '"' && text[n - 1] !== "\\") quoted = !quoted;
        if (quoted) continue;
        if ("([{".includes(c)) depth++;
        if (")]}".includes(c)) depth--;
        if (c === "," && depth === 0 && text[n + 1] === " ") {
            list.push(text.slice(from, n));
            from = n + 2;
        }
    }
    return text ? [...list, text.slice(from)] : list;
}

function argument(text) {
    const at = text.search(/[=]/);
    return el("div", {class: "argument mono"}, at > 0 ? [el("span", {class: "key"}, text.slice(0, at + 1)),
        text.slice(at + 1)] : text);
}

export async function callPanel(aside, model, n, go) {
    const {boxes} = model;
    const [flags, same] = [boxes.flags[n], model.same(n)];
    const place = same.indexOf(n);
    const detailed = el("div");
    const [text, layer, library] = model.names[boxes.name[n]];
    const link = m => el("a", {href: "#", onclick: event => { event.preventDefault(); go(m); }}, short(model.text(m),
        80));
    const list = (title, boxes, most = 12) => boxes.length > 0 && [el("h3", null, title), boxes.slice(0,
        most).map(m =>
        el("div", null, link(m), el("span", {class: "quiet"}, ` ${time(model.boxes.took[m])}`))),
    boxes.length > most && el("div", {class: "quiet"}, `and ${boxes.length - most} more`)];
    const total = same.reduce((sum, m) => sum + boxes.took[m], 0);
    put(aside, el("div", {class: "tools"},
        el("button", {disabled: place <= 0, onclick: () => go(same[place - 1])}, "\u2190 earlier"),
        el("button", {disabled: place >= same.length - 1, onclick: () => go(same[place + 1])}, "later \u2192"),
        el("button", {onclick: () => change({s: ""}), "aria-label": "close"}, "\u2715")),
    el("h2", {class: "mono"}, short(text, 600)),
    el("dl", null,
        el("dt", null, "took"), el("dd", null, time(boxes.took[n]),
            ` (${share(boxes.took[n], model.length)} of the run)`),
        el("dt", null, "at"), el("dd", null, moment(boxes.start[n], 1000)),
        el("dt", null, "layer"), el("dd", null, layer, library ? ` \u00b7 ${library}` : ""),
        el("dt", null, "lane"), el("dd", null, model.laneText(model.laneOf(n))),
        el("dt", null, "same"), el("dd", null,
            `${count(place + 1)} of ${count(same.length)}, together ${time(total)}`)),
    flags & flag.OPEN ? el("p", {class: "error"}, "It never returned.") : null, detailed,
    list("submitted by", boxes.caller[n] !== NONE ? [boxes.caller[n]] : []), list("work of the GPU", model.work(n)),
    list("inside", model.parents(n)), list("calls inside", model.children(n)),
    el("div", {class: "tools"}, el("button", {onclick: () => change({q: text})}, "search this name"),
        el("button", {onclick: () => change({page: "calls", f: text, s: "", t: "", q: ""})}, "who calls it")));
    const details = await loadDetails();
    if (aside.dataset.box !== String(n)) return;
    const detail = details && details.calls[n];
    if (!details && !(flags & (flag.GPU | flag.RANGE))) {
        put(detailed, el("p", {class: "hint"}, "Arguments did not fit into the file; cutap show has them."));
    } else if (detail) {
        const [words, result, kernel, stack] = detail;
        put(detailed, result && [el("h3", null, "result"), el("div", {class: flags & flag.ERROR
            ? "mono error" : "mono"}, result)],
            kernel && [el("h3", null, "kernel"), el("div", {class: "mono argument"}, short(kernel, 1000))],
            words && [el("h3", null, "arguments"), argumentsOf(words).slice(0, 60).map(argument)],
            stack !== null && [el("h3", null, "stack"), el("div", {class: "stack"},
                details.stacks[stack].map(line => el("div", null, line)))]);
    }
}
