"""Every row of a graph has the call that was captured or that added its node, and the kernel of that call is the row's.

Then graphs with destroyed nodes, updates, child graphs and conditional nodes: which node numbers and origins they have.
"""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import tools
from tools import build, python, result, say

MAKERS = "cuLaunchKernel*,cuLaunchCooperativeKernel*,cuGraphAdd*"


def graphs_of(name):
    return [
        line
        for line in tools.lines_of("report", "--graphs", "--json", tools.file_of(name), having=('"type":"gpu_graph"',))
    ]


def kernels_of_nodes(name):
    """The name of the kernel of each node that is one, and the calls that may have made nodes by their beginning."""
    kernels, calls = {}, {}
    wanted = ('"type":"row","', '"type":"call","')
    for line in tools.lines_of("show", "--json", "-e", MAKERS, tools.file_of(name), having=wanted):
        if line["type"] == "call":
            calls[line["start_ns"]] = line
        elif "node" in line and line["work"] == "kernel":
            kernels.setdefault((line["graph"], line["node"]), line["kernel"])
    return kernels, calls


def check(name, command, variables):
    """Counts rows of graphs with and without origin, and origins with another kernel."""
    limit = 240 if name == "reduce_overhead" else 150
    done = tools.record(name, command, limit, **variables)
    if done.code != 0:
        return False, "graphs " + name, f"exit {done.code}: {done.last_error()}"
    kernels, calls = kernels_of_nodes(name)
    with_origin = without = compared = 0
    different, lost = [], []
    graphs = graphs_of(name)
    for graph in graphs:
        for node in graph["nodes"]:
            if node["path"] is None:
                without += node["replays"]
                lost.append(f"node {node['node']} {node['work']} of executable {graph['executable']}")
                continue
            with_origin += node["replays"]
            kernel, call = kernels.get((graph["graph"], node["node"])), calls.get(node["captured_ns"])
            if kernel and call and call["kernel"]:
                compared += 1
                if kernel != call["kernel"]:
                    different.append(f"{kernel[:40]} from {call['kernel'][:40]}")
    nodes = sum(len(graph["nodes"]) for graph in graphs)
    text = (
        f"{len(graphs)} graphs, {nodes} nodes, rows with origin {with_origin}, without {without}; kernel of the call "
    )
    text += f"compared for {compared} nodes, different {len(different)}; {tools.rows(name).text()}"
    first = (different + lost)[:1]
    good = bool(graphs) and without == 0 and not different and compared > 0
    return good, "graphs " + name, text + (f"; first: {first[0]}" if first else "")


def handles(call):
    """What names the kernel of a call that adds a node: handles, which are the same for the same kernel."""
    text = json.dumps(call["arguments"])
    return tuple(re.findall(r'"(func|kern)": \{"handle": "([^"]*)"', text))


def where_the_rule_ends(name):
    """The program's graphs, a line each: NODE:KERNEL, then how the call that cutap names differs."""
    built = build("conditional", "gpu_time_conditional.cu")
    if not built:
        return None, name, "not built"
    done = tools.record("conditional", [built])
    expected = dict(re.findall(r"^executable (\d+): (.*)$", done.out, re.MULTILINE))
    for line in done.out.splitlines():
        if not line.startswith("executable"):
            say("  the program says: " + line)
    kernels, calls = kernels_of_nodes("conditional")
    # The first graph is a chain, so its six calls give the kernels of the handles.
    added = [call for _, call in sorted(calls.items()) if call["name"].startswith("cuGraphAddKernelNode")]
    names = {handles(call): f"k{number}" for number, call in enumerate(added[:6])}
    wrong, unknown, seen = [], [], set()
    for graph in sorted(graphs_of("conditional"), key=lambda graph: (graph["executable"] is None, graph["executable"])):
        shown = []
        number = str(graph["executable"])
        seen.add(number)
        for node in sorted(graph["nodes"], key=lambda node: node["node"]):
            kernel = (kernels.get((graph["graph"], node["node"])) or node["work"]).split("(")[0]
            call = calls.get(node["captured_ns"])
            if node["path"] is None:
                unknown.append(number)
                origin = " has no call"
            else:
                origin = ((call or {}).get("kernel") or names.get(handles(call) if call else (), "?")).split("(")[0]
                is_wrong = origin != kernel and (origin != "?" or kernel in names.values())
                wrong += [number] if is_wrong else []
                origin = f" FROM {origin}" if is_wrong else ""
            shown.append(f"{node['node']}:{kernel}{origin} x{node['replays']}")
        say(f"  executable {number} ({expected.get(number, 'not known').split(';')[0]}): {', '.join(shown)}")
    missing = sorted(set(expected) - seen)
    text = f"executables with a wrong origin: {sorted(set(wrong)) or 'none'}, "
    text += f"with nodes without origin: {sorted(set(unknown)) or 'none'}"
    text += f", without rows: {missing or 'none'}; {tools.rows('conditional').text()}"
    return done.code == 0 and not wrong and not missing, name, text


def main():
    inductor = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(tools.WORK, "inductor"), "TORCHINDUCTOR_COMPILE_THREADS": 1}
    programs = [
        ("reduce_overhead", python("gpu_time_reduce_overhead.py"), inductor),
        ("decode", python("gpu_time_decode.py"), {}),
        ("torch_graph", python("torch_graph.py"), {}),
        ("two_graphs", python("gpu_time_graph.py"), {}),
    ]
    if tools.ENGINE:
        programs = []
    with ThreadPoolExecutor(tools.number("JOBS", 4)) as pool:
        checks = [pool.submit(tools.tried, check, *program) for program in programs]
        result(*tools.tried(where_the_rule_ends, "graphs conditional"))
        for done in checks:
            result(*done.result())


main()
