// The path of a call as lines: the call first, then those around it, then the frames of its stack.

import {el} from "./dom.js";

export function pathLines(path, stack) {
    const [last, ...around] = [...(path || [])].reverse();
    return el("div", {class: "path"},
        last && el("div", null, last),
        around.map(call => el("div", {class: "in"}, "in ", call)),
        stack && stack.length > 0 && el("div", {class: "stack"}, stack.map(frame => el("div", null, frame))));
}
