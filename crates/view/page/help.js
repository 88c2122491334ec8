// The keys of the page.

import {el} from "./dom.js";

const KEYS = [
    ["W S", "zoom in and out"], ["A D, \u2190 \u2192", "earlier, later"], ["\u2191 \u2193", "other lanes"], ["0",
        "the whole run"],
    ["wheel", "zoom at the pointer; with Shift earlier and later, with Alt other lanes"],
    ["drag", "move"], ["double click", "fit a box, or all"], ["click", "select: arguments, result, calls around it"],
    ["/", "search; Enter goes to the next, Shift+Enter to the one before"], ["n N",
        "next and previous of the search"],
    ["Esc", "clear selection and search"], ["1 to 9", "pages"], ["?", "this help"],
];

export function help() {
    const dialog = el("dialog", null, el("h2", null, "Keys"),
        el("table", null, KEYS.map(([key, what]) => el("tr", null, el("td", null, el("kbd", null, key)), el("td",
            null, what)))),
        el("p", {class: "hint"}, "The address of the page keeps what is shown: copy it to show the same to others."),
        el("form", {method: "dialog"}, el("button", null, "close")));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
}
