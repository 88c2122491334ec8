// Who calls what: the paths of all calls as an icicle, by time or by count, from the program down, from each function
// up, or around one function.

import {Chart} from "./chart.js";
import {ofName} from "./colours.js";
import {el, put, short} from "./dom.js";
import {change, state} from "./state.js";
import {child, strips} from "./strips.js";
import {count, share, time} from "./units.js";

const LINE = 19;

function node(label) {
    return {label, calls: 0, errors: 0, own: 0, total: 0, below: new Map()};
}

// A tree of labels from paths; `walk` says which labels of a path, and whether its time is its own.
function tree(paths, walk) {
    const root = node(-1);
    for (const [labels, calls, errors, total, own] of paths) {
        for (const way of walk(labels)) {
            let at = root;
            way.forEach(label => { at = child(at, label, node); });
            at.calls += calls;
            at.errors += errors;
            at.own += own;
            at.total += total;
        }
    }
    return root;
}

// How wide a node is: what it has itself and what is below it.
function measure(of, byCount) {
    let below = 0;
    of.below.forEach(inner => { below += measure(inner, byCount); });
    const own = byCount ? of.calls : of.own;
    of.size = own + below;
    return of.size;
}

const MODES = {down: "from the program", up: "from each function", around: "around one function"};

export function icicle({tables}) {
    const {labels, paths, left_out: leftOut} = tables.paths;
    const aside = el("aside");
    const found = el("span", {class: "quiet"});
    const stage = el("div", {class: "split"});
    const modes = el("span");
    const input = el("input", {
        type: "search", placeholder: "search: /", "aria-label": "search functions",
            oninput: () => change({q: input.value}),
    });
    let chart = null;
    let key = "";

    function build({mode, by, f}) {
        const byCount = by === "count";
        const focus = labels.findIndex(label => label[0] === f);
        const look = {height: LINE, labels, colour: of => ofName(...labels[of.label])};
        let parts;
        if (mode === "around" && focus >= 0) {
            // What follows the first call of the function on a path.
            const after = labels => labels.includes(focus) ? [labels.slice(labels.indexOf(focus) + 1)] : [];
            const before = labels => labels[labels.length - 1] === focus ? [labels.slice(0, -1).reverse()] : [];
            const down = {...tree(paths, after), title: f};
            // Callers share the time of the function with all that is inside it.
            const up = {...callers(paths, focus, before), title: `callers of ${f}`};
            [down, up].forEach(root => measure(root, byCount));
            const above = strips(up, {...look, top: 0, upward: true});
            parts = [...above, ...strips(down, {...look, top: above.length * LINE + 4})];
            parts.size = Math.max(down.size, up.size);
        } else {
            const walk = mode === "up" ? labels => [[...labels].reverse()] : labels => [labels];
            const root = {...tree(paths, walk), title: byCount ? "all calls" : "time in all calls"};
            measure(root, byCount);
            parts = strips(root, {...look, top: 0});
            parts.size = root.size;
        }
        return parts;
    }

    function tip(strip, n) {
        const of = strip.nodes[n];
        const text = state().by === "count" ? count : time;
        return [el("b", null, short(strip.text(n), 200)), el("div", null,
            `${text(of.size)} (${share(of.size, chart.length)})`),
            el("div", null, `${count(of.calls)} calls here`), of.errors > 0 && el("div", {class: "error"},
                `${count(of.errors)} failed`)];
    }

    function show(target) {
        chart.select(target);
        if (!target || target.strip.nodes[target.n].label < 0) {
            put(aside, el("h2", null, "Who calls what"),
                el("p", {class: "hint"},
                    "The width of a box is the time in a function and in what it calls. Click a box for ",
                    "its numbers, double click to fit it."),
                leftOut > 0 && el("p", {class: "hint"}, `${count(leftOut)} paths with little time are left out.`));
            return;
        }
        const of = target.strip.nodes[target.n];
        const [name, layer, library, runtime] = labels[of.label];
        const own = paths.filter(path => path[0][path[0].length - 1] === of.label);
        const sum = place => own.reduce((all, path) => all + path[place], 0);
        put(aside, el("h2", {class: "mono"}, short(name, 600)),
            el("dl", null, el("dt", null, "layer"), el("dd", null, layer, ` \u00b7 ${library} ${runtime || ""}`),
                el("dt", null, "here"), el("dd", null, `${count(of.calls)} calls, ${time(of.own)} in itself`),
                el("dt", null, "in all"), el("dd", null,
                    `${count(sum(1))} calls, ${time(sum(3))}, ${time(sum(4))} in itself`),
                el("dt", null, "failed"), el("dd", null, count(sum(2)))),
            el("div", {class: "tools"},
                el("button", {onclick: () => change({mode: "around", f: name})}, "callers and callees"),
                el("button", {onclick: () => change({page: "timeline", q: name, s: "", t: ""})}, "in the timeline")));
    }

    function follow(now) {
        const mode = MODES[now.mode] ? now.mode : now.f ? "around" : "down";
        const next = [mode, now.by, now.f].join("\n");
        if (next !== key) {
            key = next;
            const parts = build({...now, mode});
            chart = new Chart({
                strips: parts, length: Math.max(parts.size, 1), height: parts.length * LINE + 24,
                    label: "icicle of calls", tip,
                onselect: show, least: Math.max(parts.size / 1e6, 1e-3),
                ruler: (at, step) => now.by === "count" ? count(at) : time(at),
            });
            put(stage, chart.element, aside);
            show(null);
        }
        const pick = (mode, title) => el("button", {
            "aria-pressed": String(mode === (MODES[now.mode] ? now.mode : now.f ? "around" : "down")),
            onclick: () => change({mode, f: mode === "around" ? now.f || labels[longest()][0] : ""}),
        }, title);
        put(modes, Object.entries(MODES).map(([mode, title]) => [pick(mode, title), " "]),
            el("button", {"aria-pressed": String(now.by === "count"), onclick: () => change({by: now.by === "count"
                ? "" : "count"})},
                "by count"));
        if (input.value !== (now.q || "")) input.value = now.q || "";
        search(now.q);
    }

    function longest() {
        const best = paths.reduce((a, b) => b[4] > a[4] ? b : a);
        return best[0][best[0].length - 1];
    }

    function search(query) {
        const text = (query || "").toLowerCase();
        const names = new Set(labels.map((_, n) => n).filter(n => labels[n][0].toLowerCase().includes(text)));
        chart.dimmed = text ? names : null;
        if (!text) {
            put(found, "");
        } else {
            const hits = paths.filter(path => names.has(path[0][path[0].length - 1]));
            const own = list => list.reduce((sum, path) => sum + path[4], 0);
            put(found, `${count(hits.reduce((sum, path) => sum + path[1], 0))} calls, ${time(own(hits))} `,
                `(${share(own(hits), own(paths))} of the time in calls)`);
        }
        chart.redraw();
    }

    const bar = el("div", {class: "chartbar"}, input, found, el("span", {class: "grow"}), modes);
    return {
        elements: [bar, stage], follow, search: () => input.focus(), key: name => chart.key(name), next() {},
        get chart() { return chart; }, escape: () => change({q: "", f: "", mode: ""}),
    };
}

// The callers of a function, with the time of its calls; a call inside another of the same function counts once.
function callers(paths, focus, before) {
    const root = node(-1);
    for (const [labels, calls, errors, total] of paths) {
        for (const way of labels.slice(0, -1).includes(focus) ? [] : before(labels)) {
            let at = root;
            way.forEach(label => { at = child(at, label, node); });
            at.calls += calls;
            at.errors += errors;
            at.own += total;
        }
    }
    return root;
}
