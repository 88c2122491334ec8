// The page: reads its data, offers the pages that have some, and follows the address and the keys.

import {Model} from "./boxes.js";
import {readTheme} from "./colours.js";
import {load} from "./data.js";
import {differenceIcicle, differenceTable, hasDifference} from "./difference.js";
import {el, put, short} from "./dom.js";
import {functionLists, functions} from "./functions.js";
import {help} from "./help.js";
import {icicle} from "./icicle.js";
import {hasMemory, memory} from "./memory.js";
import {overview} from "./overview.js";
import {hasProblems, problems} from "./problems.js";
import {hasRanks, ranks} from "./ranks.js";
import {change, state, whenChanged} from "./state.js";
import {timeline} from "./timeline.js";

// The pages that have data.
function pagesOf(data, model) {
    const {tables} = data;
    const static_ = (name, title, build) => ({name, title, build: () => ({elements: [build()]}), full: false});
    if (hasDifference(tables)) {
        return [
            static_("functions", "Functions that differ", () => differenceTable(data)),
            tables.difference.paths.paths.length > 0 && {
                name: "calls", title: "Calls", build: () => differenceIcicle(data), full: true,
            },
        ].filter(Boolean);
    }
    return [
        static_("overview", "Overview", () => overview(data)),
        model.hasBoxes && {name: "timeline", title: "Timeline", build: () => timeline(data, model), full: true},
        tables.paths.paths.length > 0 && {name: "calls", title: "Calls", build: () => icicle(data), full: true},
        functionLists(tables).length > 0 && {
            name: "functions", title: "Functions", build: () => {
                const holder = el("div");
                return {elements: [holder], follow: () => put(holder, functions(data, model.hasBoxes))};
            },
        },
        hasMemory(tables) && static_("memory", "Memory", () => memory(data)),
        hasRanks(tables) && static_("ranks", "Ranks", () => ranks(data)),
        hasProblems(tables) && static_("problems", "Errors and waits", () => problems(data, model)),
    ].filter(Boolean);
}

// The names of the runs without their folders.
function title(runs) {
    const names = runs.map(run => run.replace(/\/+$/, "").split("/").pop());
    return names.length > 2 ? `${names.length} runs: ${short(names[0], 40)} ...` : short(names.join(" "), 120);
}

function theme() {
    const root = document.documentElement;
    const isDark = readTheme().dark;
    root.dataset.theme = isDark ? "light" : "dark";
    readTheme();
    current?.chart?.redraw();
}

let current = null;

async function start() {
    const main = document.getElementById("page");
    const data = await load();
    const model = data.boxes ? new Model(data) : null;
    readTheme();
    const pages = pagesOf(data, model);
    const nav = el("nav", {"aria-label": "pages"});
    put(document.getElementById("top"),
        el("span", {class: "run"}, title(data.tables.run.runs)), nav,
        el("button", {onclick: theme, "aria-label": "light or dark"}, "\u25d0"), el("button", {onclick: help,
            "aria-label": "help"}, "?"));
    let shown = null;

    function follow() {
        const now = state();
        const page = pages.find(page => page.name === now.page) || pages[0];
        if (page !== shown) {
            shown = page;
            current = page.build();
            main.className = page.full ? "full" : "";
            put(main, current.elements);
            main.scrollTop = 0;
            put(nav, pages.map(of => el("a", {
                href: "#" + of.name, "aria-current": of === page ? "page" : undefined,
                onclick: event => { event.preventDefault(); go(of); },
            }, of.title)));
        }
        current.follow?.(now);
    }

    function go(page) {
        change({page: page.name, q: "", s: "", t: "", y: "", f: "", mode: "", by: "", list: ""});
    }

    addEventListener("keydown", event => {
        const typing = event.target instanceof HTMLInputElement;
        if (event.key === "Escape") {
            if (typing) event.target.blur();
            current.escape?.();
        } else if (typing || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        } else if (event.key === "/") {
            event.preventDefault();
            current.search ? current.search() : main.querySelector("input[type=search]")?.focus();
        } else if (event.key === "?") {
            help();
        } else if (event.key === "n" || event.key === "N") {
            current.next?.(event.key === "n" ? 1 : -1);
        } else if (/^[1-9]$/.test(event.key) && pages[event.key - 1]) {
            go(pages[event.key - 1]);
        } else if (current.key?.(event.key)) {
            event.preventDefault();
        }
    });
    whenChanged(follow);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current?.chart?.redraw());
    follow();
    document.documentElement.dataset.ready = "1";
}

start().catch(error => {
    put(document.getElementById("page"), el("p", {class: "error"}, `The page cannot read its data: ${error.message}`),
        el("p", {class: "hint"}, "It needs a browser of 2023 or later. Write the file again with cutap view."));
});
