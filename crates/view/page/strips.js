// Trees of calls as strips of boxes, one for each depth, for the chart.

import {isDark} from "./colours.js";

// The node of a label below another one; `make` makes a new one.
export function child(of, label, make) {
    return of.below.get(label) || of.below.set(label, make(label)).get(label);
}

// Columns of all depths: start, took, nodes. Nodes have `label`, `size` and `below`; the root has a title.
export function strips(root, {top, height, labels, colour, upward}) {
    const levels = [];
    const visit = (of, depth, from) => {
        const level = levels[depth] ||= {start: [], took: [], nodes: []};
        level.start.push(from);
        level.took.push(of.size);
        level.nodes.push(of);
        let at = from;
        const inner = [...of.below.values()].sort((a, b) => b.size - a.size);
        inner.forEach(next => { visit(next, depth + 1, at); at += next.size; });
    };
    visit(root, 0, 0);
    return levels.map(({start, took, nodes}, depth) => {
        // A level is in order, because nodes are visited from left to right.
        const y = top + (upward ? levels.length - 1 - depth : depth) * height;
        return {
            y, height, start: Float64Array.from(start), took: Float64Array.from(took), from: 0, to: start.length,
            nodes, name: n => nodes[n].label, marks: [],
            text: n => nodes[n].label < 0 ? root.title : labels[nodes[n].label][0],
            colour: n => nodes[n].label < 0 ? `hsl(220 10% ${isDark() ? 32 : 76}%)` : colour(nodes[n]),
        };
    });
}
