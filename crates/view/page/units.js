// Numbers for people, written as cutap's reports write them.

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];

export function time(ns) {
    if (ns === null || ns === undefined) {
        return "?";
    }
    const size = Math.abs(ns);
    for (const [unit, word] of TIMES) {
        if (size >= unit) {
            return digits(ns / unit) + word;
        }
    }
    return Math.round(ns) + "ns";
}

const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

export function bytes(n) {
    for (const [unit, word] of SIZES) {
        if (Math.abs(n) >= unit) {
            return digits(n / unit) + " " + word;
        }
    }
    return n + " B";
}

function digits(number) {
    const size = Math.abs(number);
    return number.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export function count(n) {
    return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function share(part, whole) {
    return whole > 0 ? (100 * part / whole).toFixed(1) + "%" : "";
}

const MOMENTS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

// A moment since the start, as exact as the step between two marks of a ruler.
export function moment(ns, step) {
    const [unit, word] = MOMENTS.find(([unit]) => ns >= unit || step >= unit) || MOMENTS[3];
    const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / Math.max(step, 1)))));
    const text = (ns / unit).toFixed(decimals);
    return (text.includes(".") ? text.replace(/\.?0+$/, "") : text) + word;
}
