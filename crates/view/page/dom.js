// Elements, and text that is nothing but text. No other module writes into the document, and none reads HTML.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu;
const MOST = 20000;

// Text of a recorded program: what is invisible, or moves other text, becomes an escape.
export function shown(text) {
    const cut = String(text).slice(0, MOST);
    return cut.replace(UNSEEN, c => c === "\n" || c === "\t" ? " " : `\\u{${c.codePointAt(0).toString(16)}}`);
}

// The same, with at most so many characters.
export function short(text, most) {
    const all = shown(text);
    return all.length > most ? all.slice(0, most - 1) + "\u2026" : all;
}

// el("div", {class: "x", onclick: f}, child, "text"): children are elements or text.
export function el(tag, attributes, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value === undefined || value === null || value === false) {
            continue;
        }
        if (name.startsWith("on")) {
            element.addEventListener(name.slice(2), value);
        } else if (name === "style") {
            Object.assign(element.style, value);
        } else {
            element.setAttribute(name, value === true ? "" : value);
        }
    }
    add(element, children);
    return element;
}

export function add(element, children) {
    for (const child of [children].flat(Infinity)) {
        if (child !== null && child !== undefined && child !== false) {
            element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
        }
    }
    return element;
}

// Replaces what an element has.
export function put(element, ...children) {
    element.replaceChildren();
    return add(element, children);
}
