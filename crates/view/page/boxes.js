// The boxes of the timeline: calls, ranges and work of the GPU as columns, in rows of one lane and depth each. Boxes
// of a row do not overlap and stand in the order of time, so most questions are a binary search.

export const flag = {ERROR: 1, WAIT: 2, OPEN: 4, GPU: 8, RANGE: 16};
export const NONE = 0xffffffff;

export class Model {
    constructor({tables, boxes, sums}) {
        const head = tables.timeline;
        Object.assign(this, {boxes, sums, lanes: head.lanes, names: head.names, dropped: head.dropped});
        this.binNs = head.bin_ns;
        this.length = Math.max(head.length_ns, 1);
        this.rows = head.box_rows.map(([lane, depth, from, to]) => ({lane, depth, from, to}));
        this.sumRows = head.sum_rows.map(([lane, depth, from, to]) => ({lane, depth, from, to}));
        this.home = this.homeOf();
    }

    // The time in which there are boxes, and a bit around it: programs load for seconds before their first call.
    homeOf() {
        const {start} = this.boxes;
        const starts = [...this.rows.map(row => start[row.from]),
            ...this.sumRows.map(row => this.sums.start[row.from])];
        const first = starts.length ? Math.min(...starts) : 0;
        const margin = (this.length - first) / 100;
        return [Math.max(0, Math.round(first - margin)), this.length];
    }

    get hasBoxes() {
        return this.boxes.start.length > 0;
    }

    text(n) {
        return this.names[this.boxes.name[n]][0];
    }

    layer(n) {
        return this.names[this.boxes.name[n]][1];
    }

    end(n) {
        return this.boxes.start[n] + this.boxes.took[n];
    }

    rowOf(n) {
        let [low, high] = [0, this.rows.length - 1];
        while (low < high) {
            const middle = low + high + 1 >> 1;
            [low, high] = this.rows[middle].from <= n ? [middle, high] : [low, middle - 1];
        }
        return this.rows[low];
    }

    laneOf(n) {
        return this.lanes[this.rowOf(n).lane];
    }

    laneText(lane) {
        return `${lane.run ? lane.run + " " : ""}${lane.name}, ${lane.program} ${lane.pid}`;
    }

    // The last box of a row that begins at or before a moment; -1 if there is none.
    before(row, ns) {
        const {start} = this.boxes;
        let [low, high] = [row.from - 1, row.to - 1];
        while (low < high) {
            const middle = low + high + 1 >> 1;
            [low, high] = start[middle] <= ns ? [middle, high] : [low, middle - 1];
        }
        return low < row.from ? -1 : low;
    }

    // The boxes around a box, the nearest first.
    parents(n) {
        const own = this.rowOf(n);
        const around = this.rows.filter(row => row.lane === own.lane && row.depth < own.depth);
        return around.map(row => this.before(row, this.boxes.start[n])).filter(m => m >= 0
            && this.end(m) >= this.end(n))
            .reverse();
    }

    // The boxes directly inside a box.
    children(n) {
        const own = this.rowOf(n);
        const row = this.rows.find(row => row.lane === own.lane && row.depth === own.depth + 1);
        const list = [];
        for (let m = row ? Math.max(row.from, this.before(row, this.boxes.start[n])) : 0; row && m < row.to; m++) {
            if (this.boxes.start[m] >= this.end(n) || list.length > 500) break;
            if (this.boxes.start[m] >= this.boxes.start[n]) list.push(m);
        }
        return list;
    }

    // All boxes with the name of this one.
    same(n) {
        const {name} = this.boxes;
        const list = [];
        for (let m = 0; m < name.length; m++) {
            if (name[m] === name[n]) list.push(m);
        }
        return list.sort((a, b) => this.boxes.start[a] - this.boxes.start[b]);
    }

    // Work of the GPU that a call submitted.
    work(n) {
        if (!this.workOf) {
            this.workOf = new Map();
            const {caller} = this.boxes;
            for (let m = 0; m < caller.length; m++) {
                if (caller[m] !== NONE) {
                    this.workOf.set(caller[m], [...this.workOf.get(caller[m]) || [], m]);
                }
            }
        }
        return this.workOf.get(n) || [];
    }

    // A window in which a box and something around it can be seen.
    around(n) {
        const margin = Math.max(this.boxes.took[n], 200) * 1.5;
        return [Math.max(0, this.boxes.start[n] - margin), Math.min(this.length, this.end(n) + margin)];
    }

    // Counts and times by name of what overlaps a window: as cutap report --from --to, if no box was dropped.
    inWindow(from, to) {
        const all = new Map();
        const add = (name, count, ns) => {
            const of = all.get(name) || all.set(name, {name, count: 0, ns: 0}).get(name);
            of.count += count;
            of.ns += ns;
        };
        for (const row of this.rows) {
            for (let n = Math.max(row.from, this.before(row, from)); n < row.to && this.boxes.start[n] < to; n++) {
                if (this.end(n) >= from) add(this.boxes.name[n], 1, this.boxes.took[n]);
            }
        }
        const {sums} = this;
        for (const row of this.sumRows) {
            for (let n = row.from; n < row.to && sums.start[n] < to; n++) {
                if (sums.start[n] + this.binNs > from) add(sums.name[n], sums.count[n], sums.took[n]);
            }
        }
        return [...all.values()].sort((a, b) => b.ns - a.ns);
    }

    // The numbers of the names that have this text.
    matches(query) {
        const text = query.toLowerCase();
        return new Set(this.names.map((_, n) => n).filter(n => this.names[n][0].toLowerCase().includes(text)));
    }
}
