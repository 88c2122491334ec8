// The state of the page is the hash of its address, so a link leads to the same view: #PAGE&KEY=VALUE&...

const listeners = [];
let now = read();

function read() {
    const [page, ...pairs] = location.hash.slice(1).split("&");
    const state = {page: page || ""};
    for (const pair of pairs) {
        const [key, value] = pair.split("=", 2);
        try {
            state[key] = decodeURIComponent(value || "");
        } catch {
            state[key] = "";
        }
    }
    return state;
}

export function state() {
    return now;
}

// Changes some values; "" and undefined remove one. Moving about leaves no trail in the history, a new page does.
export function change(values) {
    const before = now.page;
    now = {...now, ...values};
    const pairs = Object.entries(now).filter(([key, value]) => key !== "page" && value !== "" && value !== undefined);
    const hash = "#" + [now.page, ...pairs.map(([key, value]) => `${key}=${encodeURIComponent(value)}`)].join("&");
    if (now.page !== before) {
        history.pushState(null, "", hash);
    } else {
        history.replaceState(null, "", hash);
    }
    listeners.forEach(listener => listener(now, before));
}

export function whenChanged(listener) {
    listeners.push(listener);
}

addEventListener("popstate", () => {
    const before = now.page;
    now = read();
    listeners.forEach(listener => listener(now, before, true));
});
