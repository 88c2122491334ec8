// The timeline: a lane for each thread, each track of ranges and each stream of the GPU.

import {NONE, flag} from "./boxes.js";
import {Chart} from "./chart.js";
import {colour, ofName} from "./colours.js";
import {el, put, short} from "./dom.js";
import {callPanel} from "./panel.js";
import {change, state} from "./state.js";
import {bytes, count, moment, share, time} from "./units.js";

const [LINE, HEAD, GAP, CURVE] = [18, 20, 8, 40];

// The order of lanes in a process: ranges, threads, then the GPU.
const ORDER = {ranges: 0, thread: 1, gpu: 2};

function lay(model, held) {
    const lanes = model.lanes.map((lane, n) => ({lane, n, rows: [], sums: []}));
    model.rows.forEach(row => lanes[row.lane].rows.push(row));
    model.sumRows.forEach(row => lanes[row.lane].sums.push(row));
    lanes.sort((a, b) => a.lane.process - b.lane.process || ORDER[a.lane.kind] - ORDER[b.lane.kind] || a.n - b.n);
    const layout = {heads: [], strips: [], curves: [], height: 0};
    const curves = held.pools.map(pool => curveStrip(pool, model.length));
    for (const {lane, rows, sums} of lanes) {
        const boxes = rows.reduce((sum, row) => sum + row.to - row.from, 0);
        layout.heads.push({y: layout.height, height: HEAD, text: `${model.laneText(lane)} \u00b7 ${count(boxes)}`});
        layout.height += HEAD;
        const depth = Math.max(...rows.map(row => row.depth), ...sums.map(row => row.depth), 0);
        sums.forEach(row => layout.strips.push(sumStrip(model, row, layout.height + row.depth * LINE)));
        rows.forEach(row => layout.strips.push(boxStrip(model, row, layout.height + row.depth * LINE)));
        layout.height += (depth + 1) * LINE + GAP;
        const isLast = lanes.findLast(other => other.lane.process === lane.process).lane === lane;
        for (const curve of isLast ? curves.filter(curve => curve.process === lane.process) : []) {
            layout.heads.push({y: layout.height, height: HEAD,
                text: `${curve.kind}: ${bytes(curve.most)} at the peak`});
            layout.curves.push({...curve, y: layout.height + HEAD, height: CURVE});
            layout.height += HEAD + CURVE + GAP;
        }
    }
    return layout;
}

// Bytes that are allocated, as a line.
function curveStrip({process, kind, steps}, length) {
    let held = 0;
    const values = steps.map(([, , change]) => held += change);
    const [start, value] = [[0, ...steps.map(step => step[0]), length], [0, ...values, held]];
    return {process, kind, start, value, most: Math.max(1, ...value.slice(0, 100000))};
}

function boxStrip(model, row, y) {
    const {start, took, name, flags} = model.boxes;
    const colours = colourCache(model);
    const marks = [];
    for (let n = row.from; n < row.to; n++) {
        if (flags[n] & (flag.ERROR | flag.OPEN)) marks.push(n);
    }
    return {
        row, y, height: LINE, start, took, from: row.from, to: row.to, marks, name: n => name[n],
        text: n => model.text(n), colour: n => colours(name[n]),
    };
}

function sumStrip(model, row, y) {
    const {start, took, name} = model.sums;
    const colours = colourCache(model);
    const width = new Float64Array(start.length).fill(model.binNs);
    return {
        row, y, height: LINE, start, took: width, from: row.from, to: row.to, name: n => name[n],
        text: n => model.names[name[n]][0], colour: n => colours(name[n]),
        alpha: n => Math.min(0.75, 0.12 + took[n] / model.binNs),
    };
}

const caches = {};

function colourCache(model) {
    return name => {
        const cache = caches[colour("dark")] ||= [];
        return cache[name] ||= ofName(model.names[name][0], model.names[name][1]);
    };
}

export function timeline(data, model) {
    const layout = lay(model, data.tables.held);
    const aside = el("aside");
    const found = el("span", {class: "quiet"});
    const input = el("input", {
        type: "search", placeholder: "search: /", "aria-label": "search names",
            oninput: () => change({q: input.value}),
        onkeydown: event => { if (event.key === "Enter") next(event.shiftKey ? -1 : 1); },
    });
    let later = 0;
    const chart = new Chart({
        ...layout, length: model.length, home: model.home, label: "timeline of calls", ruler: moment,
        tip: (strip, n) => [el("b", null, short(model.text(n), 200)), el("div", null, time(model.boxes.took[n]),
            ` at ${moment(model.boxes.start[n], 1000)}`), model.boxes.flags[n] & flag.ERROR
            ? el("div", {class: "error"}, "failed") : null],
        onselect: target => change({s: target ? target.n : ""}),
        links: ({n}) => links(model, n).map(pair => pair.map(box => target(box))),
        onmove: () => {
            clearTimeout(later);
            later = setTimeout(() => {
                change({t: place(), y: chart.top ? Math.round(chart.top) : ""});
                if (!state().s) showWindow();
            }, 150);
        },
    });

    // The window as the address has it.
    function place() {
        const isAll = chart.from === model.home[0] && chart.to === model.home[1];
        return isAll ? "" : [chart.from, chart.to].map(Math.round).join(",");
    }

    function target(n) {
        const strip = chart.strips.find(strip => !strip.alpha && strip.from <= n && n < strip.to);
        return {strip, n};
    }

    // Selects the next box that the search found.
    function next(step) {
        const names = chart.dimmed;
        if (!names || !names.size) return;
        const list = [];
        model.boxes.name.forEach((name, n) => { if (names.has(name)) list.push(n); });
        list.sort((a, b) => model.boxes.start[a] - model.boxes.start[b]);
        const now = list.indexOf(Number(state().s));
        const n = list[(now + step + list.length) % list.length];
        go(n);
    }

    function go(n) {
        chart.show(...model.around(n));
        chart.reveal(target(n).strip);
        change({s: n, t: place()});
    }

    function showWindow() {
        const rows = model.inWindow(chart.from, chart.to);
        const whole = rows.reduce((sum, row) => sum + row.ns, 0);
        const calls = rows.reduce((sum, row) => sum + row.count, 0);
        const [from, to] = [chart.from, chart.to].map(ns => moment(ns, (chart.to - chart.from) / 100));
        put(aside, el("h2", null, `${from} to ${to}`),
            el("p", {class: "quiet"}, `${count(calls)} in this window. Click a box for its arguments.`),
            el("table", null, rows.slice(0, 40).map(row => el("tr", {
                class: "pick", onclick: () => change({q: model.names[row.name][0]}),
            }, el("td", {class: "number"}, time(row.ns)), el("td", {class: "number"}, count(row.count)),
            el("td", {class: "wide"}, short(model.names[row.name][0], 90))))),
            model.dropped.count > 0 && el("p", {class: "hint"},
                `${count(model.dropped.count)} short calls are kept as sums: `,
                `${time(model.dropped.ns)} in bins of ${time(model.binNs)}, drawn pale.`),
            whole === 0 && el("p", {class: "hint"}, "Nothing was recorded here."));
    }

    function search(query) {
        chart.dimmed = query ? model.matches(query) : null;
        if (input.value !== (query || "")) input.value = query || "";
        if (!query) {
            put(found, "");
        } else {
            const rows = model.inWindow(0, model.length);
            const hits = rows.filter(row => chart.dimmed.has(row.name));
            const sum = (list, key) => list.reduce((all, row) => all + row[key], 0);
            put(found, `${count(sum(hits, "count"))} of ${count(sum(rows, "count"))}, ${time(sum(hits, "ns"))} `,
                `(${share(sum(hits, "ns"), model.length)} of the run)`);
        }
        chart.redraw();
    }

    function follow(now) {
        const [from, to] = (now.t || "").split(",").map(Number);
        if (to > from && (Math.round(chart.from) !== from || Math.round(chart.to) !== to)) {
            [chart.from, chart.to] = [Math.max(0, from), Math.min(model.length, to)];
        } else if (!now.t) {
            [chart.from, chart.to] = model.home;
        }
        chart.top = Number(now.y) || chart.top;
        const n = now.s === undefined || now.s === "" ? -1 : Number(now.s);
        const isBox = Number.isInteger(n) && n >= 0 && n < model.boxes.start.length;
        chart.select(isBox ? target(n) : null);
        if (isBox && aside.dataset.box !== String(n)) {
            aside.dataset.box = n;
            callPanel(aside, model, n, go);
        } else if (!isBox) {
            delete aside.dataset.box;
            showWindow();
        }
        search(now.q);
    }

    const fit = el("button", {onclick: () => chart.fit()}, "whole run");
    const root = el("div", {class: "split"}, chart.element, aside);
    const bar = el("div", {class: "chartbar"}, input, found, el("span", {class: "grow"}),
        el("span", {class: "hint"}, "drag, wheel, W A S D; double click fits a box"), fit);
    if (state().s && !state().t) {
        queueMicrotask(() => chart.selected && chart.reveal(chart.selected.strip));
    }
    return {
        elements: [bar, root], follow, search: () => input.focus(),
        key: key => chart.key(key), next, chart, escape: () => change({s: "", q: ""}),
    };
}

// The pairs of boxes that lines connect: a call and its work.
function links(model, n) {
    const caller = model.boxes.caller[n];
    return caller !== NONE ? [[caller, n]] : model.work(n).map(work => [n, work]);
}
