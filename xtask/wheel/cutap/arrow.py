"""Tables in memory, and Arrow's C stream interface by ctypes: no library beyond Python's own.

`cutap export --columns TABLE` writes buffers in Arrow's layout. They are handed on without a copy. ctypes works in each
CPython from 3.8 on, also in free-threaded builds.
"""
import ctypes
import itertools
import json
import struct

NULLABLE = 2
# Formats of Arrow's C data interface.
FORMATS = {"int64": "l", "timestamp": "tsu:UTC", "bool": "b", "text": "u", "float64": "g"}
BUFFERS = {"int64": 2, "timestamp": 2, "bool": 2, "text": 3, "float64": 2}
ARGUMENT = [("name", "text"), ("type", "text"), ("int", "int64"), ("float", "float64"), ("text", "text")]
BUFFERS["arguments"] = 2 + sum(BUFFERS[kind] for _, kind in ARGUMENT)


class ArrowSchema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
    ]


class ArrowArray(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [
        ("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p), ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
    ]


RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

# What C code refers to, by the number in `private_data`, until it releases it.
_alive = {}
_numbers = itertools.count(1)


def _hold(*objects):
    number = next(_numbers)
    _alive[number] = objects
    return number


def _release(kind, address):
    of = kind.from_address(address)
    for n in range(of.n_children if kind is not ArrowArrayStream else 0):
        child = ctypes.c_void_p.from_address(of.children + 8 * n).value
        release = kind.from_address(child).release
        if release:
            RELEASE(release)(child)
    number, of.release, of.private_data = of.private_data, None, None
    _alive.pop(number, None)


@RELEASE
def _release_schema(address):
    _release(ArrowSchema, address)


@RELEASE
def _release_array(address):
    _release(ArrowArray, address)


@RELEASE
def _release_stream(address):
    _release(ArrowArrayStream, address)


def _address(callback):
    return ctypes.cast(callback, ctypes.c_void_p).value


def _pointers(structs):
    return (ctypes.c_void_p * max(len(structs), 1))(*[ctypes.addressof(of) for of in structs])


def _fill_schema(of, name, kind, children=()):
    """Fills a schema; `children` are its columns: names and types."""
    if kind == "arguments":
        kind, children = "+l", [("item", "argument")]
    elif kind == "argument":
        kind, children = "+s", ARGUMENT
    structs = [ArrowSchema() for _ in children]
    for struct_, (child_name, child_kind) in zip(structs, children):
        _fill_schema(struct_, child_name, child_kind)
    pointers, text, name = _pointers(structs), FORMATS.get(kind, kind).encode(), name.encode()
    of.format, of.name, of.metadata, of.flags, of.n_children = text, name, None, NULLABLE, len(structs)
    of.children, of.dictionary, of.release = ctypes.addressof(pointers), None, _address(_release_schema)
    of.private_data = _hold(structs, pointers, text, name)


def _fill_array(of, length, buffers, children=(), owner=None):
    """Fills an array. `buffers` are addresses or None; `children` fill the arrays below it."""
    structs = [ArrowArray() for _ in children]
    for struct_, fill in zip(structs, children):
        fill(struct_)
    pointers, places = _pointers(structs), (ctypes.c_void_p * max(len(buffers), 1))(*buffers)
    of.length, of.null_count, of.offset = length, (-1 if buffers and buffers[0] else 0), 0
    of.n_buffers, of.buffers = len(buffers), ctypes.addressof(places)
    of.n_children, of.children = len(structs), ctypes.addressof(pointers)
    of.dictionary, of.release = None, _address(_release_array)
    of.private_data = _hold(structs, pointers, places, owner)


class Batch:
    """Some rows: the buffers of all columns, one behind the other."""

    def __init__(self, rows, arguments, lengths, content):
        self.rows, self.arguments, self.lengths, self.content = rows, arguments or 0, lengths, content
        self.base = ctypes.addressof((ctypes.c_char * len(content)).from_buffer(content)) if content else 0
        self.offsets, at = [], 0
        for length in lengths:
            self.offsets.append(at)
            at += (length + 7) & ~7

    def addresses(self, first, count):
        return [self.base + offset for offset in self.offsets[first:first + count]]

    def column(self, first, kind):
        """A function that fills an array with a column whose buffers begin at `first`."""
        if kind != "arguments":
            count = BUFFERS[kind]
            return lambda of: _fill_array(of, self.rows, self.addresses(first, count), (), self.content)

        def arguments(of):
            below, at = [], first + 2
            for _, part in ARGUMENT:
                places = self.addresses(at, BUFFERS[part])
                below.append(lambda child, places=places: _fill_array(child, self.arguments, places, (), self.content))
                at += BUFFERS[part]
            item = lambda child: _fill_array(child, self.arguments, [None], below, self.content)
            _fill_array(of, self.rows, self.addresses(first, 2), [item], self.content)
        return arguments

    def buffer(self, n):
        return memoryview(self.content)[self.offsets[n]:self.offsets[n] + self.lengths[n]]

    def values(self, first, kind, rows=None):
        """The values of a column as Python objects."""
        rows = self.rows if rows is None else rows
        valid = self.buffer(first)
        is_there = lambda n: valid[n >> 3] >> (n & 7) & 1
        if kind in ("text", "arguments"):
            ends = struct.unpack(f"<{rows + 1}I", self.buffer(first + 1))
        if kind == "text":
            text = self.buffer(first + 2)
            return [str(text[ends[n]:ends[n + 1]], "utf-8") if is_there(n) else None for n in range(rows)]
        if kind == "arguments":
            at, parts = first + 2, []
            for _, part in ARGUMENT:
                parts.append(self.values(at, part, self.arguments))
                at += BUFFERS[part]
            names = [name for name, _ in ARGUMENT]
            all_rows = [dict(zip(names, row)) for row in zip(*parts)]
            return [all_rows[ends[n]:ends[n + 1]] if is_there(n) else None for n in range(rows)]
        data = self.buffer(first + 1)
        if kind == "bool":
            return [bool(data[n >> 3] >> (n & 7) & 1) if is_there(n) else None for n in range(rows)]
        numbers = struct.unpack(f"<{rows}{'d' if kind == 'float64' else 'q'}", data)
        return [number if is_there(n) else None for n, number in enumerate(numbers)]


class Stream:
    """What an ArrowArrayStream hands out."""

    def __init__(self, table):
        self.table, self.batches = table, iter(table._batches)

    def schema(self, _, out):
        _fill_schema(ArrowSchema.from_address(out), "", "+s", self.table._columns)
        return 0

    def next(self, _, out):
        of, batch = ArrowArray.from_address(out), next(self.batches, None)
        if batch is None:
            ctypes.memset(out, 0, ctypes.sizeof(ArrowArray))
            return 0
        columns, first = [], 0
        for _, kind in self.table._columns:
            columns.append(batch.column(first, kind))
            first += BUFFERS[kind]
        _fill_array(of, batch.rows, [None], columns)
        return 0


@ERROR
def _no_error(_):
    return None


_api = ctypes.pythonapi
_new_capsule = _api.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# The capsule has no reference when its destructor runs, so it is an address there.
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_STREAM, _SCHEMA = b"arrow_array_stream", b"arrow_schema"


def _destructor(name, kind):
    def destroy(capsule):
        address = _pointer(capsule, name)
        of = kind.from_address(address)
        if of.release:
            RELEASE(of.release)(address)
        _alive.pop(address, None)
    return DESTRUCTOR(destroy)


_destroy_stream, _destroy_schema = _destructor(_STREAM, ArrowArrayStream), _destructor(_SCHEMA, ArrowSchema)


def _capsule(of, name, destructor):
    address = ctypes.addressof(of)
    _alive[address] = of
    return _new_capsule(address, name, _address(destructor))


def stream_capsule(table):
    """A capsule with an ArrowArrayStream of the table."""
    stream, of = Stream(table), ArrowArrayStream()
    get_schema, get_next = GET(stream.schema), GET(stream.next)
    of.get_schema, of.get_next = _address(get_schema), _address(get_next)
    of.get_last_error, of.release = _address(_no_error), _address(_release_stream)
    of.private_data = _hold(stream, get_schema, get_next)
    return _capsule(of, _STREAM, _destroy_stream)


def schema_capsule(table):
    """A capsule with the ArrowSchema of the table."""
    of = ArrowSchema()
    _fill_schema(of, "", "+s", table._columns)
    return _capsule(of, _SCHEMA, _destroy_schema)


def read(file):
    """The description of a table and its batches, from the output of `cutap export --columns`."""
    head, batches, is_whole = json.loads(file.readline() or "{}"), [], False
    while True:
        line = file.readline()
        if not line:
            break
        told = json.loads(line)
        if told.get("end"):
            is_whole = True
            break
        content = bytearray(sum((length + 7) & ~7 for length in told["buffers"]))
        view, filled = memoryview(content), 0
        while filled < len(content):
            count = file.readinto(view[filled:])
            if not count:
                return head, batches, False
            filled += count
        view.release()
        batches.append(Batch(told["rows"], told["arguments"], told["buffers"], content))
    return head, batches, is_whole
