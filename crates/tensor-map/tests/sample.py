"""Reduces recorded calls of cuTensorMapEncodeTiled to `tiled.txt`. Usage: sample.py CALLS MAPS [ALL] > tiled.txt.

CALLS is the output of `cutap show --json`. MAPS are the maps of the accepted calls, in order: after 480 bytes of
arguments, 128 bytes each, compressed by gzip. With ALL there is no choice: all calls are written.
"""
import gzip
import json
import sys


def number(value):
    return value["number"] if isinstance(value, dict) else value


def items(value):
    return ",".join(str(item) for item in value["to"]["items"]) or "-"


def calls(path):
    for line in open(path):
        if "cuTensorMapEncodeTiled" not in line:
            continue
        call = json.loads(line)
        of = {argument["name"]: argument["value"] for argument in call["arguments"]}
        words = [number(of["tensorDataType"]), of["globalAddress"]["address"]]
        words += [items(of[name]) for name in ("globalDim", "globalStrides", "boxDim", "elementStrides")]
        words += [number(of[name]) for name in ("interleave", "swizzle", "l2Promotion", "oobFill")]
        yield call["result"], words


def main():
    maps = gzip.open(sys.argv[2]).read()
    is_all = len(sys.argv) > 3
    seen, made = {}, 0
    for result, words in calls(sys.argv[1]):
        text = "refused"
        if result == 0:
            at = made * 608 + 480
            text = maps[at:at + 128].hex().rstrip("0") or "0"
            made += 1
        # Of each combination of kind, number of sides and swizzle, and of refusals by kind, interleave and swizzle.
        kind = (result, words[0], words[2].count(",") if result == 0 else words[6], words[7])
        seen[kind] = seen.get(kind, 0) + 1
        if is_all or seen[kind] == 1:
            print(*words, text)


main()
