// Memory over time, who holds what at the cursor, and what was never freed.

import {el, put, svg} from "./dom.js";
import {card} from "./overview.js";
import {pathLines} from "./paths.js";
import {table} from "./table.js";
import {bytes, count, moment, share, time} from "./units.js";

const [WIDTH, HEIGHT] = [1000, 220];

// Bytes after each step.
function curve(steps) {
    let held = 0;
    return steps.map(([ns, , change]) => [ns, held += change]);
}

// A path with at most two points for each column.
function area(points, length) {
    const most = Math.max(1, ...columns(points, length).map(column => column.most));
    const x = ns => ns / length * WIDTH;
    const y = held => HEIGHT - held / most * (HEIGHT - 8);
    let path = `M0 ${HEIGHT}`;
    let last = 0;
    for (const {ns, most, end} of columns(points, length)) {
        path += `L${x(ns).toFixed(2)} ${y(last).toFixed(1)}V${y(most).toFixed(1)}V${y(end).toFixed(1)}`;
        last = end;
    }
    return [path + `L${WIDTH} ${y(last).toFixed(1)}V${HEIGHT}Z`, most];
}

function columns(points, length) {
    const list = [];
    for (const [ns, held] of points) {
        const column = Math.floor(ns / length * WIDTH * 2);
        const last = list[list.length - 1];
        if (last && last.column === column) {
            last.most = Math.max(last.most, held);
            last.end = held;
        } else {
            list.push({column, ns, most: held, end: held});
        }
    }
    return list;
}

// What each place holds after the steps up to a moment.
function holders(pool, places, ns) {
    const held = new Map();
    for (const [at, place, change] of pool.steps) {
        if (at > ns) break;
        held.set(place, (held.get(place) || 0) + change);
    }
    const list = [...held].filter(([, n]) => n > 0).map(([place, n]) => ({path: places[place]?.path || [],
        bytes: n}));
    return list.sort((a, b) => b.bytes - a.bytes);
}

function pool(tables, of, peaks) {
    const length = Math.max(tables.run.length_ns, 1);
    const points = curve(of.steps);
    const [path] = area(points, length);
    const peak = points.reduce((best, point) => point[1] > best[1] ? point : best, [0, 0]);
    const cursor = svg("line", {class: "cursor", y1: 0, y2: HEIGHT});
    const list = el("div");
    const picture = svg("svg", {
        class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", height: HEIGHT, tabindex: "0",
        role: "img", "aria-label": `${of.kind} over time; arrow keys move the cursor`,
    }, svg("path", {class: "area", d: path}), cursor);
    let at = peak[0];
    function show(ns) {
        at = Math.max(0, Math.min(length, ns));
        const x = at / length * WIDTH;
        cursor.setAttribute("x1", x);
        cursor.setAttribute("x2", x);
        const rows = holders(of, tables.held.places, at);
        const whole = rows.reduce((sum, row) => sum + row.bytes, 0);
        put(list, el("p", null, el("b", null, bytes(whole)), ` at ${moment(at, length / 1000)}`),
            el("table", null, rows.slice(0, 12).map(row => el("tr", null,
                el("td", {class: "number"}, bytes(row.bytes)), el("td", {class: "number"}, share(row.bytes, whole)),
                el("td", {class: "wide"}, pathLines(row.path))))),
            rows.length > 12 && el("p", {class: "hint"}, `and ${rows.length - 12} more places`));
    }
    const move = event => {
        const box = picture.getBoundingClientRect();
        show((event.clientX - box.left) / box.width * length);
    };
    picture.addEventListener("pointermove", move);
    picture.addEventListener("pointerdown", move);
    picture.addEventListener("keydown", event => {
        const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (step) {
            show(at + step * length / 200);
            event.preventDefault();
        }
    });
    show(at);
    const process = tables.run.processes.find(process => process.process === of.process);
    const name = tables.run.processes.length > 1 && process ? `${process.run ?? ""} process ${process.pid}: ` : "";
    const known = peaks.find(line => line.kind === of.kind && (!process || line.pid === process.pid));
    const most = known ? known.peak_bytes : peak[1];
    const end = known ? known.end_bytes : points[points.length - 1][1];
    return card(`${name}${of.kind}`, el("p", {class: "quiet"},
        `${bytes(most)} at the peak, after ${time(peak[0])}; ${bytes(end)} at the end`), picture,
    el("div", {class: "bars"}, el("span", null, "0s"), el("span"), el("span", null, time(length))), list);
}

const what = {title: "what, and the calls around it", value: row => row.path.join(" "),
    text: (_, row) => el("div", null, row.kind, pathLines(row.path, row.stack))};
const ALLOCATIONS = [
    {title: "at peak", number: true, value: row => row.peak_bytes, text: bytes, bar: row => row.peak_share},
    {title: "share", number: true, value: row => row.peak_share, text: n => share(n, 1)},
    {title: "all bytes", number: true, value: row => row.bytes, text: bytes},
    {title: "largest", number: true, value: row => row.largest_bytes, text: bytes},
    {title: "count", number: true, value: row => row.count, text: count},
    {title: "at end", number: true, value: row => row.end_bytes, text: bytes}, what,
];
const LEAKS = [
    {title: "bytes", number: true, value: row => row.bytes, text: n => n ? bytes(n) : ""},
    {title: "count", number: true, value: row => row.count, text: count}, what,
];

export function hasMemory(tables) {
    return Boolean(tables.allocations || tables.leaks);
}

export function memory({tables}) {
    const all = tables.allocations || [];
    const peaks = all.filter(line => line.type === "allocated");
    const rows = all.filter(line => line.type === "allocations");
    const pools = [...tables.held.pools].sort((a, b) => b.steps.length - a.steps.length).slice(0, 12);
    const leaks = (tables.leaks || []).filter(line => line.type === "leak");
    return el("div", null,
        pools.map(of => pool(tables, of, peaks)),
        tables.held.merged && el("p", {class: "hint"}, "Steps that are close in time are drawn as one."),
        rows.length > 0 && [el("h2", null, "Who allocates"), table(rows, ALLOCATIONS)],
        el("h2", null, "Never freed"),
        leaks.length > 0 ? table(leaks, LEAKS) : el("p", {class: "hint"}, "All that was recorded was freed."));
}
