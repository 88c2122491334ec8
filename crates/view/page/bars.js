// Bars with a name and a number each, and the histogram of durations.

import {el, short, shown, svg} from "./dom.js";
import {count, share, time} from "./units.js";

// rows: [name, value, colour, text, part of the whole width]
export function bars(rows, text = time) {
    const whole = rows.reduce((sum, row) => sum + row[1], 0);
    const most = Math.max(...rows.map(row => row[1]), 1);
    return el("div", {class: "bars"}, rows.map(([name, value, colour, more, part]) => [
        el("span", {class: "name", title: shown(name)}, short(name, 60)),
        el("span", {class: "track"}, el("span", {
            class: "value", style: {width: Math.max(0.3, 100 * (part ?? value / most)) + "%",
                background: colour || "var(--accent)"},
        })),
        el("span", {class: "number"}, `${text(value)}  ${more ?? share(value, whole)}`),
    ]));
}

// How often durations of each power of two nanoseconds were seen.
export function histogram(octaves) {
    const first = octaves.findIndex(n => n > 0);
    const list = octaves.slice(Math.max(0, first));
    if (first < 0) {
        return el("p", {class: "hint"}, "No duration is known.");
    }
    const [width, height, below] = [Math.max(24 * list.length, 96), 90, 28];
    const most = Math.max(...list);
    const step = width / list.length;
    const every = Math.ceil(54 / step);
    const part = (n, place) => {
        const size = n > 0 ? Math.max(1.5, height * n / most) : 0;
        const range = `${time(2 ** (first + place))} to ${time(2 ** (first + place + 1))}: ${count(n)}`;
        return svg("g", null,
            svg("rect", {class: "column", x: place * step + 1, y: height - size, width: step - 2, height: size}),
            svg("rect", {class: "ghost", x: place * step, y: 0, width: step, height}, svg("title", null, range)),
            place % every === 0 && svg("text", {x: place * step, y: height + 14}, time(2 ** (first + place))));
    };
    return svg("svg", {
        class: "histogram", viewBox: `0 -4 ${width} ${height + below}`, role: "img",
            "aria-label": "histogram of durations",
        style: {width: Math.min(width, 720) + "px"},
    }, list.map(part), svg("line", {class: "axis", x1: 0, x2: width, y1: height, y2: height}));
}
