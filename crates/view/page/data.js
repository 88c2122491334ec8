// The data of the page: base64 of gzip in elements that are no scripts.

async function unpacked(name) {
    const element = document.getElementById("data-" + name);
    if (!element) {
        return null;
    }
    const packed = decoded(element.textContent);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
}

function decoded(text) {
    if (Uint8Array.fromBase64) {
        return Uint8Array.fromBase64(text);
    }
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const values = new Uint8Array(128);
    for (let n = 0; n < 64; n++) {
        values[letters.charCodeAt(n)] = n;
    }
    const length = text.length / 4 * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
    const bytes = new Uint8Array(length);
    for (let from = 0, to = 0; from < text.length; from += 4) {
        const letter = place => values[text.charCodeAt(from + place)];
        const word = letter(0) << 18 | letter(1) << 12 | letter(2) << 6 | letter(3);
        bytes[to++] = word >> 16;
        if (to < length) bytes[to++] = word >> 8 & 255;
        if (to < length) bytes[to++] = word & 255;
    }
    return bytes;
}

async function json(name) {
    const bytes = await unpacked(name);
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
}

// Everything but the texts of calls.
export async function load() {
    const [tables, boxes, sums] = await Promise.all([json("tables"), unpacked("boxes"), unpacked("sums")]);
    const head = tables.timeline;
    if (!head) {
        return {tables};
    }
    const {boxes: n, sums: m} = head;
    return {
        tables,
        boxes: {
            start: new Float64Array(boxes, 0, n),
            took: new Float64Array(boxes, 8 * n, n),
            name: new Uint32Array(boxes, 16 * n, n),
            caller: new Uint32Array(boxes, 20 * n, n),
            flags: new Uint8Array(boxes, 24 * n, n),
        },
        sums: {
            start: new Float64Array(sums, 0, m),
            took: new Float64Array(sums, 8 * m, m),
            name: new Uint32Array(sums, 16 * m, m),
            count: new Uint32Array(sums, 20 * m, m),
        },
    };
}

let details;

// The texts of calls, which are read when the first call is selected.
export function loadDetails() {
    details = details || json("details");
    return details;
}
