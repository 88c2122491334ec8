// The differences of two runs: an icicle of the paths of both, and a table of the functions that differ. A box is as
// wide as the larger of the two; its colour says which run has more.

import {Chart} from "./chart.js";
import {isDark} from "./colours.js";
import {el, put, short} from "./dom.js";
import {change} from "./state.js";
import {child, strips} from "./strips.js";
import {table} from "./table.js";
import {count, share, time} from "./units.js";

const LINE = 19;
const [CALLS, ERRORS, TOTAL, OWN] = [0, 1, 2, 3];

function node(label) {
    return {label, a: [0, 0, 0, 0], b: [0, 0, 0, 0], below: new Map()};
}

function tree(paths) {
    const root = node(-1);
    for (const [labels, a, b] of paths) {
        let at = root;
        labels.forEach(label => { at = child(at, label, node); });
        at.a.forEach((_, n) => { at.a[n] += a[n]; at.b[n] += b[n]; });
    }
    return root;
}

// What a node has with all below it, in each run, and how wide it is.
function measure(of, place) {
    [of.inA, of.inB] = [of.a[place], of.b[place]];
    let size = Math.max(of.inA, of.inB);
    of.below.forEach(inner => {
        size += measure(inner, place);
        of.inA += inner.inA;
        of.inB += inner.inB;
    });
    of.size = size;
    return size;
}

// Red where B has more, blue where A has; the stronger, the larger the part that differs.
function tone(of) {
    const part = (of.inB - of.inA) / Math.max(of.inA, of.inB, 1);
    const strength = Math.min(1, Math.abs(part));
    const hue = part > 0 ? 4 : 212;
    const light = isDark() ? 30 + 14 * strength : 88 - 26 * strength;
    return `hsl(${hue} ${Math.round(8 + 62 * strength)}% ${Math.round(light)}%)`;
}

function changed(a, b, text) {
    const sign = b > a ? "+" : b < a ? "\u2212" : "";
    const part = a > 0 && b !== a ? ` (${sign}${share(Math.abs(b - a), a)})` : "";
    return sign + text(Math.abs(b - a)) + part;
}

export function hasDifference(tables) {
    return Boolean(tables.difference);
}

export function differenceIcicle({tables}) {
    const {labels, paths, left_out: leftOut} = tables.difference.paths;
    const [nameA, nameB] = tables.run.runs;
    const aside = el("aside");
    const stage = el("div", {class: "split"});
    const found = el("span", {class: "quiet"});
    const modes = el("span");
    const input = el("input", {
        type: "search", placeholder: "search: /", "aria-label": "search functions",
        oninput: () => change({q: input.value}),
    });
    let chart = null;
    let key = null;
    let text = time;

    function lines(of) {
        const line = (name, value) => [el("dt", null, name), el("dd", null, value)];
        return el("dl", null, line("A", text(of.inA)), line("B", text(of.inB)),
            line("B \u2212 A", changed(of.inA, of.inB, text)));
    }

    function show(target) {
        chart.select(target);
        const of = target && target.strip.nodes[target.n];
        if (!of || of.label < 0) {
            put(aside, el("h2", null, "Difference"),
                el("dl", null, el("dt", null, "A"), el("dd", {class: "mono"}, nameA), el("dt", null, "B"),
                    el("dd", {class: "mono"}, nameB)),
                el("p", {class: "hint"}, "A box is as wide as the larger of both runs. ",
                    "Red boxes have more in B, blue ones more in A."),
                leftOut > 0 && el("p", {class: "hint"},
                    `${count(leftOut)} paths with little time are left out.`));
            return;
        }
        const [name, layer, library] = labels[of.label];
        const row = (title, place, as) => [el("dt", null, title), el("dd", null,
            `${as(of.a[place])} \u2192 ${as(of.b[place])}`)];
        put(aside, el("h2", {class: "mono"}, short(name, 600)),
            el("p", {class: "quiet"}, `${layer} \u00b7 ${library}`),
            lines(of), el("dl", null, row("calls here", CALLS, count), row("failed", ERRORS, count),
                row("time", TOTAL, time), row("in itself", OWN, time)));
    }

    function tip(strip, n) {
        const of = strip.nodes[n];
        return [el("b", null, short(strip.text(n), 200)),
            el("div", null, `${text(of.inA)} \u2192 ${text(of.inB)}: ${changed(of.inA, of.inB, text)}`)];
    }

    function follow(now) {
        if (now.by !== key) {
            key = now.by;
            const byCount = key === "count";
            text = byCount ? count : time;
            const root = {...tree(paths), title: byCount ? "all calls" : "time in all calls"};
            measure(root, byCount ? CALLS : OWN);
            const parts = strips(root, {top: 0, height: LINE, labels, colour: tone});
            chart = new Chart({
                strips: parts, length: Math.max(root.size, 1), height: parts.length * LINE + 24,
                label: "icicle of differences", tip, onselect: show, least: Math.max(root.size / 1e6, 1e-3),
                ruler: at => text(at),
            });
            put(stage, chart.element, aside);
            show(null);
        }
        put(modes, el("button", {
            "aria-pressed": String(now.by === "count"),
            onclick: () => change({by: now.by === "count" ? "" : "count"}),
        }, "by count"));
        if (input.value !== (now.q || "")) input.value = now.q || "";
        const query = (now.q || "").toLowerCase();
        const names = new Set(labels.map((_, n) => n).filter(n => labels[n][0].toLowerCase().includes(query)));
        chart.dimmed = query ? names : null;
        const hits = paths.filter(([way]) => names.has(way[way.length - 1]));
        const own = side => hits.reduce((sum, path) => sum + path[side][OWN], 0);
        put(found, query ? `${time(own(1))} \u2192 ${time(own(2))}` : "");
        chart.redraw();
    }

    const bar = el("div", {class: "chartbar"}, input, found, el("span", {class: "grow"}), modes);
    return {
        elements: [bar, stage], follow, search: () => input.focus(), key: name => chart.key(name), next() {},
        get chart() { return chart; }, escape: () => change({q: ""}),
    };
}

// Columns of both runs and of what is between them.
function columns() {
    const of = (row, side, key) => row[side]?.[key] ?? 0;
    const pair = (title, key, text) => [
        {title: `${title} A`, number: true, value: row => of(row, "a", key), text},
        {title: `${title} B`, number: true, value: row => of(row, "b", key), text},
        {title: "B \u2212 A", number: true, value: row => Math.abs(of(row, "b", key) - of(row, "a", key)),
            text: (_, row) => changed(of(row, "a", key), of(row, "b", key), text)},
    ];
    const only = (row, side) => (row[side]?.only || []).slice(0, 3)
        .map(one => `${one.calls > 1 ? one.calls + " \u00d7 " : ""}${one.arguments}`).join("  ");
    return [
        {title: "function", value: row => row.name}, {title: "library", value: row => row.library},
        ...pair("time", "total_ns", time), ...pair("calls", "calls", count), ...pair("errors", "errors", count),
        {title: "only in A", value: row => only(row, "a")}, {title: "only in B", value: row => only(row, "b")},
    ];
}

export function differenceTable({tables}) {
    const {rows} = tables.difference;
    const [nameA, nameB] = tables.run.runs;
    const ends = rows.find(row => row.type === "program_ends");
    const functions = rows.filter(row => row.type === "diff");
    return el("div", null, el("h2", null, "Functions that differ"),
        el("p", {class: "quiet"}, "A is ", el("span", {class: "mono"}, nameA), ", B is ", el("span", {class: "mono"},
            nameB), ". Times that differ by less than 20 % or 1 ms are no difference."),
        ends && el("p", {class: "error"}, "The programs ended in different ways."),
        functions.length > 0 ? table(functions, columns(), {sort: 4}) : el("p", null, "No function differs."));
}
