"""Counts the CUDA calls in Nsight Systems' raw file (.qdstrm), where nothing on the machine makes a report of it.

NVIDIA says nothing about the format: this is what was seen in files of 2025.3.1. Streams of LZ4 blocks, in them events of one shape; a
table gives each callback id its name. What looks otherwise is an error, never a smaller count. A report, where there is one, is better.
"""

import re
import struct
from collections import Counter

HEAD = b"NVIDIA Nsight Systems Stream "
STREAM = b"\x12\x04\x08\x01\x10\x00"
# A CUDA event (4) of a host call (1) that CUPTI's callback gave (1): id, layer, result; which fields it has.
CALL = re.compile(rb"\x04\0{7}\x01\0{7}\x01\0{7}(....)(....)....\x0f\0\0\0", re.DOTALL)
BEFORE, BEHIND = 24, 182  # bytes of an event in front of that, and of its other fields behind
# Fields of the table of names, by the layer that an event says.
LAYERS = {0: 2, 1: 3}


class Unreadable(Exception):
    """One sentence about a file that is not as expected."""


def _number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _fields(data):
    """(number, bytes or integer) of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        value, at = _number(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        elif key & 7 != 0:
            raise Unreadable("the table of names is no message of texts and numbers")
        yield key >> 3, value


def unpack(block, size):
    """One LZ4 block."""
    out, at = bytearray(), 0

    def length(first):
        nonlocal at
        more = first == 15
        while more:
            first += block[at]
            more = block[at] == 255
            at += 1
        return first

    while at < len(block):
        token = block[at]
        at += 1
        literals = length(token >> 4)
        out += block[at : at + literals]
        at += literals
        if at >= len(block):
            break
        back = block[at] | block[at + 1] << 8
        at += 2
        repeat = length(token & 15) + 4
        if not 0 < back <= len(out) or len(out) > size:
            raise ValueError("no LZ4 block")
        piece = out[-back:] if back >= repeat else out[-back:] * (repeat // back + 1)
        out += piece[:repeat]
    if len(out) != size:
        raise ValueError("no LZ4 block")
    return bytes(out)


def _blocks(data):
    """What all blocks hold. A stream ends where something comes that is no block."""
    at = 0
    while (at := data.find(STREAM, at)) >= 0:
        at += len(STREAM)
        try:
            while at < len(data):
                packed, behind = _number(data, at)
                size, behind = _number(data, behind)
                yield unpack(data[behind : behind + packed], size)
                at = behind + packed
        except (ValueError, IndexError):
            pass


def names(data, at):
    """{layer: names by callback id}: the first message of the second section behind the head."""
    try:
        for skipped in (True, False, False):
            _, at = _number(data, at)
            size, at = _number(data, at)
            at += size * skipped
        table = list(_fields(data[at : at + size]))
    except IndexError:
        raise Unreadable("the raw file has no table of names where one is expected") from None
    return {layer: [value.decode() for key, value in table if key == field] for layer, field in LAYERS.items()}


def count(path):
    """The calls by name, as `cudaMalloc_v3020`."""
    with open(path, "rb") as f:
        data = f.read()
    # A mark of eight bytes, the head with the version, and its end.
    head = data.find(HEAD, 0, 64)
    end = data.find(b"!", head, head + 100)
    if head < 0 or end < 0:
        raise Unreadable("not a raw file of Nsight Systems")
    table, found = names(data, end + 1), Counter()
    for block in _blocks(data):
        for event in CALL.finditer(block):
            number, layer = (struct.unpack("<I", word)[0] for word in event.groups())
            if event.start() < BEFORE or event.end() + BEHIND > len(block):
                raise Unreadable("an event in the raw file is cut off")
            if layer not in table or not 0 < number < len(table[layer]):
                raise Unreadable(f"an event in the raw file has the unknown id {number} of layer {layer}")
            found[table[layer][number]] += 1
    return found
