// The ranks of a job: what each did, the collectives that they called together, and how far apart they came.

import {el} from "./dom.js";
import {gpu, number, times, word} from "./functions.js";
import {table} from "./table.js";
import {count, share, time} from "./units.js";

export function hasRanks(tables) {
    return (tables.ranks || []).length > 1 || (tables.collectives || []).length > 0;
}

// How different the time of a function is in the runs that are read together.
function spread(tables) {
    const several = (tables.functions || []).filter(row => (row.runs || []).length > 1);
    return several.map(row => {
        const runs = [...row.runs].sort((a, b) => a.total_ns - b.total_ns);
        const [least, most] = [runs[0], runs[runs.length - 1]];
        const named = run => run.rank === null || run.rank === undefined ? run.run : `rank ${run.rank}`;
        return {
            name: row.name, library: row.library, most: most.total_ns, least: least.total_ns, mostIn: named(most),
            leastIn: named(least), difference: most.total_ns - least.total_ns,
        };
    });
}

// How different functions are in the runs.
const SPREAD = [
    {...number("difference", "difference", time)}, number("longest", "most", time), word("in", "mostIn"),
    number("shortest", "least", time), word("in", "leastIn"), word("function", "name"), word("library", "library"),
];

// The ranks of a communicator: how many collectives each has called, and how many of them are complete.
function members(of) {
    const most = Math.max(1, ...of.members.map(member => member.called));
    const late = member => member.called < most ? el("span", {class: "error"}, count(member.called))
        : count(member.called);
    return table(of.members, [
        word("rank", "rank"),
        {title: "called", number: true, value: member => member.called, text: (_, member) => late(member)},
        {...number("enqueued", "enqueued"), bar: member => member.enqueued / most},
        {...number("complete", "complete"), bar: member => member.complete / most},
        word("end", "communicator_end"), number("pid", "pid", String), word("run", "run"),
    ], {search: false, sort: -1});
}

// Who came last, most often first.
function last(row) {
    const all = Object.values(row.last).reduce((sum, n) => sum + n, 0);
    const named = Object.entries(row.last).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
    return named.slice(0, 3).map(([rank, n]) => `${rank} ${share(n, all)}`).join(", ");
}

const CALLS = [
    {...number("spread", "spread_ns", ns => ns === null || ns === undefined ? "" : time(ns))},
    {...number("largest", "max_spread_ns", ns => ns === null || ns === undefined ? "" : time(ns))},
    number("calls", "count"), {title: "came last", value: last}, word("collective", "call"),
];

function communicator(of, calls) {
    const unknown = (of.unknown_ranks || []).length;
    return el("section", {class: "card"},
        el("h3", null, of.name || of.communicator),
        el("p", {class: "quiet"}, `${of.ranks ?? "?"} ranks, ${of.made_by || "its making was not recorded"}; `,
            `${count(of.agreed)} collectives that all have`, unknown > 0 && `; ${unknown} ranks are in no recording`),
        members(of), calls.length > 0 && table(calls, CALLS, {search: calls.length > 8}));
}

export function ranks({tables}) {
    const lines = tables.collectives || [];
    const of = type => lines.filter(line => line.type === type);
    const findings = of("collective_finding");
    const differing = spread(tables);
    const hasGpu = (tables.ranks || []).some(row => row.gpu_ns);
    return el("div", null,
        findings.map(finding => el("p", {class: "error finding"}, finding.text)),
        (tables.ranks || []).length > 1 && [el("h2", null, "Ranks"),
            table(tables.ranks, [...times, hasGpu && gpu, word("rank", "name")].filter(Boolean))],
        of("communicator").map(one => communicator(one, of("collective")
            .filter(row => row.communicator === one.communicator))),
        lines.length === 0 && el("p", {class: "hint"}, "No collective of NCCL was recorded."),
        differing.length > 0 && [el("h2", null, "Spread over ranks"), table(differing, SPREAD)]);
}
