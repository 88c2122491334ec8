#!/usr/bin/env python3
"""Draws a part of an export as ui.perfetto.dev shows it: a lane for each thread, nested slices, a colour for each layer.

    cutap export --chrome OUT.json run.cutap
    timeline.py OUT.json OUT.svg TITLE FROM_US TO_US [FROM_US TO_US]

The times are those of the export. With two parts, the second one is below the first."""
import collections
import html
import json
import sys

COLOURS = {"driver": "#76b5a0", "runtime": "#6f9fd8", "library": "#d8a657"}
WIDTH, LABELS, ROW = 1000, 130, 19
LETTER = 6.1


def threads(events, begin, end):
    """The slices of each thread as (depth, slice), in the order of their first call."""
    lanes = collections.OrderedDict()
    for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["ts"], -e.get("dur", 0))):
        lane = lanes.setdefault((event["pid"], event["tid"]), ([], []))
        stack, found = lane
        while stack and stack[-1] <= event["ts"]:
            stack.pop()
        if event["ts"] < end and event["ts"] + event.get("dur", 0) > begin:
            found.append((len(stack), event))
        stack.append(event["ts"] + event.get("dur", 0))
    return {key: found for key, (_, found) in lanes.items() if found}


def label(name, width):
    room = int((width - 6) / LETTER)
    return "" if room < 4 else name if len(name) <= room else name[: room - 1] + "…"


TEXT = 'font-size="11" fill="#3c4043"'


def part(events, begin, end, y):
    """A part of the run from `y` on: (lines, height)."""
    names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    scale = (WIDTH - LABELS - 10) / (end - begin)
    top_of_all, out = y, []
    y += 16
    for (pid, tid), found in threads(events, begin, end).items():
        rows = max(depth for depth, _ in found) + 1
        name = f"{html.escape(names.get(pid, '?'))} {pid}"
        thread = "main thread" if pid == tid else f"thread {tid}"
        out.append(f'<text x="10" y="{y + 13}" {TEXT} font-weight="bold">{name}</text>')
        out.append(f'<text x="10" y="{y + 28}" {TEXT}>{thread}</text>')
        for depth, event in found:
            left = max(event["ts"], begin)
            x = LABELS + (left - begin) * scale
            width = max((min(event["ts"] + event.get("dur", 0), end) - left) * scale, 0.6)
            top = y + depth * ROW
            out.append(f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 2}" rx="2" fill="{COLOURS[event["cat"]]}"/>')
            if shown := label(event["name"], width):
                out.append(f'<text x="{x + 3:.1f}" y="{top + 12.5}" font-size="10.5" fill="#1b1b1b">{html.escape(shown)}</text>')
        y += max(rows * ROW, 36) + 8
        out.append(f'<path d="M0 {y - 4}H{WIDTH}" stroke="#dadce0"/>')
    ticks = 6
    for n in range(ticks + 1):
        x = LABELS + n * (WIDTH - LABELS - 10) / ticks
        out.append(f'<path d="M{x:.0f} {top_of_all}V{y}" stroke="#dadce0" stroke-dasharray="2 3"/>')
        anchor, aside = ("end", -2) if n == ticks else ("start", 2)
        time = f"+{begin - FIRST + n * (end - begin) / ticks:.0f} us"
        out.append(f'<text x="{x + aside:.0f}" y="{top_of_all + 10}" {TEXT} text-anchor="{anchor}">{time}</text>')
    return out, y


def head(title):
    lines = [f'<text x="10" y="18" font-size="13" font-weight="bold" fill="#3c4043">{html.escape(title)}</text>']
    for n, layer in enumerate(("library", "runtime", "driver")):
        x = WIDTH - 270 + 90 * n
        lines.append(f'<rect x="{x}" y="8" width="11" height="11" rx="2" fill="{COLOURS[layer]}"/>')
        lines.append(f'<text x="{x + 15}" y="18" {TEXT}>{layer}</text>')
    return lines


source, target, title, *times = sys.argv[1:]
times = [float(time) for time in times]
FIRST = times[0]
with open(source, encoding="utf-8") as file:
    loaded = json.load(file)
lines, y = head(title), 26
for begin, end in zip(times[::2], times[1::2]):
    more, y = part(loaded["traceEvents"] if isinstance(loaded, dict) else loaded, begin, end, y)
    lines, y = lines + more, y + 14
with open(target, "w", encoding="utf-8") as file:
    file.write(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" '
        'font-family="Roboto, Helvetica, Arial, sans-serif">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )
