// Colours: those of the style sheet for canvases, and one for each name within the hue of its layer.

const HUES = {nvtx: 285, library: 28, runtime: 205, driver: 150, hidden: 175, syscall: 0, submit: 330, gpu: 95};

let theme = {};

// Reads the colours of the style sheet; again after a change between light and dark.
export function readTheme() {
    const style = getComputedStyle(document.documentElement);
    const names = ["ink", "quiet", "line", "ground", "raised", "error", "wait", "accent"];
    theme = Object.fromEntries(names.map(name => [name, style.getPropertyValue("--" + name).trim()]));
    theme.dark = style.getPropertyValue("--dark").trim() === "1";
    return theme;
}

export function colour(name) {
    return theme[name];
}

export function isDark() {
    return theme.dark;
}

function hash(text) {
    let value = 2166136261;
    for (let n = 0; n < text.length; n++) {
        value = Math.imul(value ^ text.charCodeAt(n), 16777619);
    }
    return value >>> 0;
}

// The colour of a name: the layer chooses the hue, the name the shade.
export function ofName(text, layer) {
    const value = hash(text);
    const hue = (HUES[layer] ?? 220) + value % 31 - 15;
    const [saturation, light] = theme.dark ? [38 + value % 17, 34 + (value >> 8) % 14] : [52 + value % 22,
        68 + (value >> 8) % 14];
    return `hsl(${hue} ${saturation}% ${light}%)`;
}

export function ofLayer(layer) {
    return `hsl(${HUES[layer] ?? 220} ${theme.dark ? "45% 50%" : "55% 55%"})`;
}
