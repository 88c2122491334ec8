// A table that is sorted by a click on a heading, and searched. A long one shows its first rows, and more on demand.

import {el, put, short, shown} from "./dom.js";

const FIRST = 200;

// columns: {title, value(row), text(value, row), number, bar(row), wide}; options: {search, onrow, sort, empty, key}
export function table(rows, columns, options = {}) {
    let sorted = options.sort ?? columns.findIndex(column => column.number);
    let down = true;
    let most = FIRST;
    let query = "";
    let chosen = -1;
    const body = el("tbody");
    const head = el("tr");
    const info = el("span", {class: "quiet"});
    const input = el("input", {
        type: "search", placeholder: "search", "aria-label": "search this table",
        oninput: () => { query = input.value.toLowerCase(); most = FIRST; draw(); },
    });
    const texts = rows.map(row => columns.map(column => String(column.value(row) ?? "")).join(" ").toLowerCase());

    function order() {
        const list = rows.map((_, n) => n).filter(n => !query || texts[n].includes(query));
        const column = columns[sorted];
        if (column) {
            const sign = down === Boolean(column.number) ? -1 : 1;
            list.sort((a, b) => sign * compare(column.value(rows[a]), column.value(rows[b])) || a - b);
        }
        return list;
    }

    function heading(column, n) {
        const mark = n === sorted ? (down ? " \u25be" : " \u25b4") : "";
        const sort = () => { down = n === sorted ? !down : true; sorted = n; draw(); };
        return el("th", {
            class: column.number ? "number" : "", tabindex: "0", scope: "col", onclick: sort,
            "aria-sort": n === sorted ? (down ? "descending" : "ascending") : "none",
            onkeydown: event => { if (event.key === "Enter") sort(); },
        }, column.title + mark);
    }

    function cell(column, row) {
        const value = column.value(row);
        const text = column.text ? column.text(value, row) : value ?? "";
        if (text instanceof Node) {
            return el("td", {class: column.number ? "number" : "wide"}, text);
        }
        const bar = column.bar && el("span", {class: "bar", style: {width: Math.max(0, Math.min(100,
            100 * column.bar(row))) + "%"}});
        const title = !column.number && String(text).length > 90 ? shown(text) : undefined;
        return el("td", {class: column.number ? "number" : "wide", title}, bar, short(text, 120));
    }

    function line(n) {
        const row = rows[n];
        const pick = () => { chosen = n; options.onrow(row); draw(); };
        return el("tr", options.onrow && {
            class: n === chosen ? "chosen" : "pick", tabindex: "0", onclick: pick,
            onkeydown: event => { if (event.key === "Enter") pick(); },
        }, columns.map(column => cell(column, row)));
    }

    function draw() {
        const list = order();
        put(head, columns.map(heading));
        put(body, list.slice(0, most).map(line));
        if (list.length > most) {
            const more = el("button", {onclick: () => { most *= 5; draw(); }}, `show more of ${list.length} rows`);
            body.append(el("tr", null, el("td", {colspan: String(columns.length)}, more)));
        }
        put(info, list.length === rows.length ? "" : `${list.length} of ${rows.length}`);
    }

    draw();
    const tools = options.search === false ? null : el("div", {class: "tools"}, input, info);
    return el("div", {class: "table"}, tools, el("table", null, el("thead", null, head), body));
}

function compare(a, b) {
    if (typeof a === "number" || typeof b === "number") {
        return (a ?? -1) - (b ?? -1);
    }
    return String(a ?? "").localeCompare(String(b ?? ""));
}
