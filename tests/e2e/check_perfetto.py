#!/usr/bin/env python3
"""check_perfetto.py [--cut | --late] TRACE CALLS: a trace of `cutap export --perfetto`, read with Perfetto's own message definitions, tells the same as
CALLS, the lines of `cutap show --json`: each call as a slice on its thread's track, nested as it was, with its name,
arguments, result and what hooks did; with a third file, the lines of `cutap report --allocations --json`, counters of memory with their peaks and ends; a flow from each launch, to the launches inside it and the ends of all calls around it. With --cut, TRACE may end anywhere: what is whole is
read, and must be some of CALLS. With --late, calls were told at their end, and CALLS do not say how deep they are: it is the times that do. Prints how many slices and flows there were."""

import json
import re
import sys
from collections import defaultdict

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb


def packets(data):
    """The whole packets, one by one."""
    at = 0
    while at < len(data):
        assert data[at] == 0x0A, f"no packet at byte {at}"
        size, shift, at = 0, 0, at + 1
        while True:
            if at >= len(data):
                return
            size |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if not data[at - 1] & 0x80:
                break
        if at + size > len(data):
            return
        yield pb.TracePacket.FromString(data[at : at + size])
        at += size


def hooked(did):
    """What is told of a call's hooks, with numbers as numbers."""
    if did["action"] == "answer":
        return f"answered by {did['hook']}"
    if did["action"] == "result":
        return f"{did['hook']}: result was {int(did['original_result'], 0)}"
    return f"{did['hook']}: {did['argument']}={did.get('text') or int(did['value'], 0)}"


def plain(line):
    """The same of a line that was told."""
    head, number = re.fullmatch(r"(.*?)(0x[0-9a-f]+)?", line).groups()
    return head + (str(int(number, 0)) if number else "")


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    cut, late = "--cut" in sys.argv, "--late" in sys.argv
    data = open(words[0], "rb").read()
    lines = [json.loads(line) for line in open(words[1])]
    calls = [line for line in lines if line["type"] == "call"]

    if not cut:
        pb.Trace.FromString(data)  # as a whole too
    names, arguments, texts = {}, {}, {}
    threads, processes = {}, {}
    open_, slices, flows = defaultdict(list), [], defaultdict(list)
    cleared, events, counters = False, [], {}
    beside, work, arrows = {}, [], defaultdict(list)
    for packet in packets(data):
        cleared = cleared or packet.sequence_flags & 1 == 1
        assert packet.trusted_packet_sequence_id == 1 and cleared
        interned = packet.interned_data
        for table, new in ((names, interned.event_names), (arguments, interned.debug_annotation_names)):
            for entry in new:
                assert entry.iid not in table, "told twice"
                table[entry.iid] = entry.name
        for entry in interned.debug_annotation_string_values:
            texts[entry.iid] = entry.str.decode()
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.HasField("process"):
                processes[track.uuid] = track.process.pid
            elif track.HasField("counter"):
                # Memory of a process, or the clock of a GPU.
                assert track.uuid not in counters and (track.parent_uuid in processes or not track.parent_uuid)
                if track.parent_uuid:
                    assert track.counter.unit == pb.CounterDescriptor.UNIT_SIZE_BYTES, track
                counters[track.uuid] = (processes.get(track.parent_uuid), track.name, [])
            elif track.HasField("name"):
                # Work of a GPU, or ranges.
                assert track.parent_uuid in processes
                beside[track.uuid] = track.name
            else:
                assert processes[track.parent_uuid] == track.thread.pid
                threads[track.uuid] = (track.thread.pid, track.thread.tid)
        if packet.HasField("track_event"):
            if packet.track_event.type == pb.TrackEvent.TYPE_COUNTER:
                values = counters[packet.track_event.track_uuid][2]
                values.append((packet.timestamp, packet.track_event.counter_value))
            else:
                events.append(packet)

    # Names are told in the order of the file, slices begin and end in that of time, as Perfetto itself has it; the sort is stable.
    for packet in sorted(events, key=lambda packet: packet.timestamp):
        event = packet.track_event
        stack = open_[event.track_uuid]
        told = {}
        for flow in [flow for flow in event.flow_ids if flow >> 63]:
            arrows[flow].append(event.track_uuid)
        if event.track_uuid in beside:
            if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
                stack.append(packet.timestamp)
            elif event.type == pb.TrackEvent.TYPE_SLICE_END:
                work.append((beside[event.track_uuid], stack.pop(), packet.timestamp))
                assert not stack or not beside[event.track_uuid].startswith("GPU "), "work overlaps on a track"
            continue
        for note in event.debug_annotations:
            kind = note.WhichOneof("value")
            value = getattr(note, kind)
            told[arguments[note.name_iid]] = texts[value] if kind == "string_value_iid" else value
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            if stack:
                assert packet.timestamp >= stack[-1]["start"], "nested before its parent"
            one = {"thread": threads[event.track_uuid], "name": names[event.name_iid], "start": packet.timestamp,
                   "depth": len(stack), "told": told, "end": None}
            stack.append(one)
            slices.append(one)
            one["around"] = stack[:-1]
        elif event.type == pb.TrackEvent.TYPE_SLICE_END:
            one = stack.pop()
            assert packet.timestamp >= one["start"], "ends before it begins"
            one["end"], one["told"] = packet.timestamp, one["told"] | told
        if event.flow_ids or event.terminating_flow_ids:
            kind = "begin" if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN else "end"
            for flow in [flow for flow in event.flow_ids if not flow >> 63]:
                flows[flow].append((kind, one))

    of_thread = defaultdict(list)
    for call in sorted((c for c in calls if c["state"] != "entry_only"), key=lambda c: (c["start_ns"], c["depth"])):
        of_thread[call["pid"], call["tid"]].append(call)
    if late:
        for told in of_thread.values():
            for call in told:
                around = [c for c in told if c["start_ns"] < call["start_ns"]]
                call["depth"] = sum(c["duration_ns"] is None or call["start_ns"] < c["start_ns"] + c["duration_ns"] for c in around)
    pairs = []
    for thread, told in of_thread.items():
        found = [s for s in slices if s["thread"] == thread]
        assert len(found) == len(told) or cut and len(found) < len(told), f"{len(found)} slices of {len(told)} calls"
        pairs += zip(found, told)
    assert len(pairs) == len(slices), "a slice on another thread"
    for one, call in pairs:
        wanted = call.get("demangled") or call["name"]
        assert one["name"] == wanted and one["start"] == call["start_ns"], f"{one} for {call}"
        if one["end"] and call["duration_ns"] is not None:
            took = one["end"] - one["start"]
            # A thread that changed cores in the call may have found an earlier time there; a slice ends behind those inside it all the same.
            assert 0 <= took - call["duration_ns"] < 1000, f"{took} ns for {call['duration_ns']}: {wanted}"
        assert one["depth"] == call["depth"] and one["told"]["cutap.library"] == call["library"]
        for argument in call.get("arguments") or []:
            assert argument["value"] is None or argument["name"] in one["told"], f"{argument} of {one}"
            number = argument["value"]
            if isinstance(number, int) and argument["name"] + " after" not in one["told"]:
                shown = one["told"][argument["name"]]
                assert shown in (number, str(number), hex(number)) or str(shown).startswith(f"{number} ["), f"{argument} of {one}"
        if cut:
            continue
        lines = one["told"].get("cutap.hooks")
        told = [plain(line) for line in lines.split("\n")] if lines else []
        assert told == [hooked(did) for did in call.get("hooks") or []], f"{one} {call}"
        assert (one["end"] is None) == (call["state"] == "unfinished"), f"{one} {call}"
        if call.get("result_name"):
            assert one["told"]["cutap.result"] == call["result_name"], f"{one} {call}"
        assert one["told"].get("cutap.kernel") == call["kernel"], f"{one} {call}"
    if not cut and not late:
        rows = sum(call.get("gpu_rows") or 0 for call in calls if call["layer"] == "driver")
        of_gpu = [end - start for name, start, end in work if name.startswith("GPU ")]
        assert len(of_gpu) == rows and all(ns >= 0 for ns in of_gpu), f"{len(of_gpu)} pieces of work of {rows}"
        # An arrow begins in one call. Work of a replayed graph has none but for its first node.
        for ends in arrows.values():
            assert sum(track in threads for track in ends) == 1, ends
        assert bool(rows) == any(track in beside for ends in arrows.values() for track in ends)
    if not cut:
        memory = [json.loads(line) for line in open(words[2])] if len(words) > 2 else None
        if memory is not None:
            # The report counts a call with the calls inside it; a moment between the two has no peak of its own.
            wanted = {(row["pid"], row["kind"]): (row["peak_bytes"], row["end_bytes"])
                      for row in memory if row["type"] == "allocated" and row["peak_bytes"]}
            of_process = [of for of in counters.values() if of[0] is not None]
            told = {(pid, kind): (max(value for _, value in values), values[-1][1]) for pid, kind, values in of_process}
            assert told == wanted, f"memory: {told} for {wanted}"
        launches = [s for s in slices if s["told"].get("cutap.kernel") and s["name"].startswith(("cuLaunch", "cudaLaunch"))]
        known = {id(s) for s in launches}
        outer = [s for s in launches if not any(id(p) in known for p in s["around"])]
        assert [id(flow[0][1]) for flow in flows.values()] == [id(s) for s in outer], "a flow from each launch"
        for number, flow in flows.items():
            first = flow[0][1]
            inner = [s for s in launches if any(p is first for p in s["around"])]
            around = [s for s in reversed(first["around"]) if s["end"]]
            wanted = [("begin", s) for s in (first, *inner)] + [("end", s) for s in around]
            assert [(k, id(s)) for k, s in flow] == [(k, id(s)) for k, s in wanted], f"flow {number}: {flow} for {wanted}"
    print(f"{len(slices)} slices, {sum(len(f) > 1 for f in flows.values())} flows")


main()
