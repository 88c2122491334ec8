// The canvas of timeline and icicle. It draws strips of boxes: a strip has the columns `start` and `took`, in order
// and without overlap, and says what a box is called and how it is coloured. Of boxes that are narrower than a pixel
// one is drawn for each pixel, found by binary search. So the time of a frame hardly grows with the number of boxes.

import {colour, readTheme} from "./colours.js";
import {el, put, short} from "./dom.js";

const LETTER = 6.6;
const RULER = 22;
const STEP = 1.15;
const LEAST_WIDTH = 20;

export class Chart {
    // options: {strips, heads, height, length, ruler(ns, step), tip(strip, n), onselect(strip, n), onmove()}
    constructor(options) {
        Object.assign(this, options);
        this.from = 0;
        this.to = this.length;
        this.top = 0;
        this.selected = null;
        this.dimmed = null;
        this.canvas = el("canvas", {tabindex: "0", role: "application", "aria-label": this.label});
        this.tipBox = el("div", {class: "tip", hidden: true});
        this.element = el("div", {class: "stage"}, this.canvas, this.tipBox);
        this.listen();
        new ResizeObserver(() => this.redraw()).observe(this.element);
    }

    get width() {
        return this.canvas.clientWidth || 1;
    }

    get scale() {
        return this.width / (this.to - this.from);
    }

    // Shows this part of the x axis.
    show(from, to) {
        const size = Math.min(this.length, Math.max(to - from, this.least || LEAST_WIDTH));
        const start = Math.max(0, Math.min(from + (to - from - size) / 2, this.length - size));
        [this.from, this.to] = [start, start + size];
        this.moved();
    }

    // Shows all that is drawn.
    fit() {
        this.show(...this.home || [0, this.length]);
    }

    zoom(factor, x = this.width / 2) {
        const at = this.from + x / this.scale;
        this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }

    pan(part) {
        const size = this.to - this.from;
        const from = Math.max(0, Math.min(this.from + part * size, this.length - size));
        this.show(from, from + size);
    }

    scroll(pixels) {
        const most = Math.max(0, this.height + RULER - this.canvas.clientHeight);
        this.top = Math.max(0, Math.min(this.top + pixels, most));
        this.moved();
    }

    // Scrolls so that a strip can be seen.
    reveal(strip) {
        const view = this.canvas.clientHeight - RULER;
        if (strip.y < this.top || strip.y + strip.height > this.top + view) {
            this.top = Math.max(0, strip.y - view / 3);
            this.scroll(0);
        }
    }

    moved() {
        this.redraw();
        this.onmove?.();
    }

    redraw() {
        if (!this.waiting) {
            this.waiting = requestAnimationFrame(() => {
                this.waiting = 0;
                this.draw();
            });
        }
    }

    draw() {
        const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
        if (!width || !height) {
            return;
        }
        const ratio = devicePixelRatio || 1;
        if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
            [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
        }
        readTheme();
        const to = this.canvas.getContext("2d", {alpha: false});
        to.setTransform(ratio, 0, 0, ratio, 0, 0);
        to.font = "11.5px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
        to.textBaseline = "middle";
        to.fillStyle = colour("ground");
        to.fillRect(0, 0, width, height);
        for (const head of this.heads || []) {
            this.drawHead(to, head, width, height);
        }
        for (const strip of this.strips) {
            const y = strip.y - this.top + RULER;
            if (y + strip.height >= RULER && y <= height) {
                this.drawStrip(to, strip, y);
            }
        }
        for (const curve of this.curves || []) {
            const y = curve.y - this.top + RULER;
            if (y + curve.height >= RULER && y <= height) {
                this.drawCurve(to, curve, y);
            }
        }
        this.drawLinks(to);
        this.drawRuler(to, width);
    }

    drawHead(to, head, width, height) {
        const y = head.y - this.top + RULER;
        if (y + head.height < RULER || y > height) {
            return;
        }
        to.fillStyle = colour("raised");
        to.fillRect(0, y, width, head.height - 2);
        to.fillStyle = colour("quiet");
        to.fillText(short(head.text, Math.floor(width / LETTER)), 8, y + head.height / 2);
    }

    drawStrip(to, strip, y) {
        const {start, took, from, to: end, height} = strip;
        const scale = this.scale;
        let n = Math.max(from, lower(start, from, end, this.from) - 1);
        while (n < end && start[n] < this.to) {
            const x = (start[n] - this.from) * scale;
            const w = took[n] * scale;
            if (w >= 1.5) {
                this.drawBox(to, strip, n, x, y, w);
                n++;
                continue;
            }
            // The next pixel's first box is the next one to be drawn.
            const pixel = Math.floor(x);
            if (x + w >= 0) {
                to.globalAlpha = this.isDim(strip, n) ? 0.15 : strip.alpha ? strip.alpha(n) : 1;
                to.fillStyle = strip.colour(n);
                to.fillRect(pixel, y, 1, height - 1);
                to.globalAlpha = 1;
            }
            const next = lower(start, n + 1, end, this.from + (pixel + 1) / scale);
            // The last one that begins in this pixel may be long.
            n = next - 1 > n && took[next - 1] * scale >= 1.5 ? next - 1 : Math.max(n + 1, next);
        }
        this.drawMarks(to, strip, y);
        if (this.selected && this.selected.strip === strip) {
            const x = (start[this.selected.n] - this.from) * scale;
            to.strokeStyle = colour("ink");
            to.lineWidth = 2;
            to.strokeRect(x, y, Math.max(2, took[this.selected.n] * scale), height - 1);
        }
    }

    drawBox(to, strip, n, x, y, w) {
        const [left, right] = [Math.max(x, -2), Math.min(x + w, this.width + 2)];
        if (right <= left) {
            return;
        }
        to.globalAlpha = this.isDim(strip, n) ? 0.18 : strip.alpha ? strip.alpha(n) : 1;
        to.fillStyle = strip.colour(n);
        const gap = w > 4 && !strip.alpha ? 0.6 : 0;
        to.fillRect(left, y, right - left - gap, strip.height - 1);
        const letters = Math.floor((right - Math.max(left, 0) - 6) / LETTER);
        if (letters >= 3 && strip.height >= 12 && !strip.alpha) {
            to.fillStyle = colour("ink");
            to.fillText(short(strip.text(n), letters), Math.max(left, 0) + 4, y + strip.height / 2);
        }
        to.globalAlpha = 1;
    }

    // Failed calls are seen at any zoom.
    drawMarks(to, strip, y) {
        if (!strip.marks || !strip.marks.length) {
            return;
        }
        const {start, took, marks} = strip;
        let last = -9;
        for (let k = lowerOf(marks, start, this.from); k < marks.length && start[marks[k]] < this.to; k++) {
            const n = marks[k];
            const x = (start[n] - this.from) * this.scale;
            if (x - last >= 2) {
                to.fillStyle = colour("error");
                to.fillRect(x, y, Math.max(2, took[n] * this.scale), 3);
                last = x;
            }
        }
    }

    // A value over time: in a pixel the largest one, so a short peak is seen.
    drawCurve(to, {start, value, most, height}, y) {
        to.fillStyle = colour("accent");
        to.globalAlpha = 0.35;
        let n = Math.max(0, lower(start, 0, start.length, this.from) - 1);
        for (let x = 0; x < this.width; x++) {
            const end = this.from + (x + 1) / this.scale;
            let largest = value[n];
            while (n + 1 < start.length && start[n + 1] < end) {
                n++;
                largest = Math.max(largest, value[n]);
            }
            const size = largest / most * height;
            to.fillRect(x, y + height - size, 1, size);
        }
        to.globalAlpha = 1;
    }

    // Lines from a call to the work of the GPU.
    drawLinks(to) {
        const links = this.selected ? this.links?.(this.selected) || [] : [];
        to.strokeStyle = colour("accent");
        to.lineWidth = 1.5;
        for (const [one, other] of links.slice(0, 64)) {
            const at = ({strip, n}) => [(strip.start[n] - this.from) * this.scale, strip.y - this.top + RULER];
            const [[x, y], [u, v]] = [at(one), at(other)];
            to.beginPath();
            to.moveTo(x, y + one.strip.height / 2);
            to.bezierCurveTo(x + 30, y + 30, u - 30, v - 30, u, v + other.strip.height / 2);
            to.stroke();
        }
    }

    drawRuler(to, width) {
        to.fillStyle = colour("raised");
        to.fillRect(0, 0, width, RULER);
        if (!this.ruler) {
            return;
        }
        const step = nice((this.to - this.from) / Math.max(2, width / 110));
        to.fillStyle = colour("quiet");
        to.strokeStyle = colour("line");
        to.lineWidth = 1;
        for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
            const x = Math.round((at - this.from) * this.scale) + 0.5;
            to.beginPath();
            to.moveTo(x, RULER - 6);
            to.lineTo(x, RULER);
            to.stroke();
            to.fillText(this.ruler(at, step), x + 4, RULER / 2);
        }
    }

    isDim(strip, n) {
        return this.dimmed && !this.dimmed.has(strip.name(n));
    }

    // The box below a point of the canvas.
    at(x, y) {
        const [ns, line] = [this.from + x / this.scale, y + this.top - RULER];
        const strips = this.strips.filter(s => !s.alpha && line >= s.y && line < s.y + s.height);
        const slack = 2 / this.scale;
        for (const strip of y > RULER ? strips : []) {
            const n = lower(strip.start, strip.from, strip.to, ns + slack) - 1;
            if (n >= strip.from && strip.start[n] + strip.took[n] >= ns - slack) {
                return {strip, n};
            }
        }
        return null;
    }

    select(target) {
        this.selected = target;
        this.redraw();
    }

    listen() {
        const {canvas} = this;
        const place = event => {
            const box = canvas.getBoundingClientRect();
            return [event.clientX - box.left, event.clientY - box.top];
        };
        canvas.addEventListener("wheel", event => {
            event.preventDefault();
            const [x] = place(event);
            const turned = event.deltaY * (event.deltaMode === 1 ? 20 : 1);
            if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
                this.pan((event.deltaX || turned) / this.width);
            } else if (event.altKey) {
                this.scroll(turned);
            } else {
                this.zoom(STEP ** (turned / 50), x);
            }
        }, {passive: false});
        canvas.addEventListener("pointerdown", event => {
            this.dragged = {x: event.clientX, y: event.clientY, moved: false};
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener("pointermove", event => this.pointerMoves(event, place(event)));
        canvas.addEventListener("pointerup", event => {
            const was = this.dragged;
            this.dragged = null;
            canvas.classList.remove("dragging");
            if (was && !was.moved) {
                this.onselect(this.at(...place(event)));
            }
        });
        canvas.addEventListener("pointerleave", () => { this.tipBox.hidden = true; });
        canvas.addEventListener("dblclick", event => {
            const target = this.at(...place(event));
            const {strip, n} = target || {};
            target ? this.show(strip.start[n], strip.start[n] + strip.took[n]) : this.fit();
        });
    }

    pointerMoves(event, [x, y]) {
        const {dragged} = this;
        if (dragged) {
            const [dx, dy] = [event.clientX - dragged.x, event.clientY - dragged.y];
            if (dragged.moved || Math.abs(dx) + Math.abs(dy) > 4) {
                this.canvas.classList.add("dragging");
                this.pan(-dx / this.width);
                this.scroll(-dy);
                this.dragged = {x: event.clientX, y: event.clientY, moved: true};
            }
            return;
        }
        const target = this.at(x, y);
        this.tipBox.hidden = !target;
        if (target) {
            put(this.tipBox, this.tip(target.strip, target.n));
            const box = this.tipBox.getBoundingClientRect();
            const left = Math.max(0, Math.min(x + 14, this.width - box.width - 8));
            const below = y + 18 + box.height < this.canvas.clientHeight;
            Object.assign(this.tipBox.style, {left: left + "px", top: (below ? y + 18 : y - box.height - 10) + "px"});
        }
    }

    // W, A, S, D and the arrows, as in other viewers. True: the key was one of these.
    key(key) {
        const moves = {
            w: () => this.zoom(1 / 1.4), s: () => this.zoom(1.4), a: () => this.pan(-0.2), d: () => this.pan(0.2),
            ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), ArrowUp: () => this.scroll(-60),
            ArrowDown: () => this.scroll(60), "0": () => this.fit(),
        };
        moves[key]?.();
        return Boolean(moves[key]);
    }
}

// The first place in [from, to) whose value is not below `value`.
function lower(values, from, to, value) {
    while (from < to) {
        const middle = from + to >> 1;
        [from, to] = values[middle] < value ? [middle + 1, to] : [from, middle];
    }
    return from;
}

function lowerOf(places, values, value) {
    let [from, to] = [0, places.length];
    while (from < to) {
        const middle = from + to >> 1;
        [from, to] = values[places[middle]] < value ? [middle + 1, to] : [from, middle];
    }
    return Math.max(0, from - 1);
}

function nice(size) {
    const power = 10 ** Math.floor(Math.log10(size));
    return [1, 2, 5, 10].find(n => n * power >= size) * power;
}
