"""What a program says of its own calls, looked for in cutap's decoded arguments.

A program that finds CUTAP_FACTS in its environment writes one line for each call worth
checking: the function's name, then `parameter=value`. A value is a number, an address
(0x...), a name (of an enum or flag), text, or several of them with commas between. A
parameter may be a field (`gridDim.x`); `result` and `kernel` are the call's own.
Each fact must be found in one call of that name, with all its parameters.
"""

import json


def read(path):
    """[(name, {parameter: value})]; empty if the program wrote none."""
    try:
        with open(path, encoding="utf-8") as f:
            words = [line.split() for line in f if line.strip()]
    except OSError:
        return []
    return [(name, dict(part.split("=", 1) for part in parts)) for name, *parts in words]


def wanted_calls(path, names):
    """The JSON lines of calls with one of these names."""
    with open(path, encoding="utf-8") as f:
        for line in f:
            item = json.loads(line)
            if item["type"] == "call" and item["name"] in names:
                yield item


def _number(text):
    try:
        return float(int(text, 0))
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return None


def _forms(value):
    """All that a decoded value can be called: itself, its number, its address, what it leads to."""
    if isinstance(value, dict):
        for key in ("number", "address", "enum", "handle"):
            if key in value and value[key] is not None:
                yield from _forms(value[key])
        yield from value.get("flags", [])
        if "to" in value:
            yield from _forms(value["to"])
    elif isinstance(value, bool):
        yield float(value)
    elif isinstance(value, (int, float)):
        yield float(value)
    elif value is None:
        yield 0.0
    else:
        yield value
        number = _number(value)
        if number is not None:
            yield number


def _equal(value, want):
    if "," in want:
        while isinstance(value, dict) and "items" not in value and "to" in value:
            value = value["to"]
        items = value.get("items", []) if isinstance(value, dict) else []
        parts = want.split(",")
        return len(items) == len(parts) and all(map(_equal, items, parts))
    forms = list(_forms(value))
    number = _number(want)
    return want in forms or (number is not None and number in forms)


def _parameter(call, path):
    """The value of `parameter.field.field`; KeyError if there is none."""
    if path == "result":
        return {"enum": call.get("result_name"), "number": call["result"]}
    name, *fields = path.split(".")
    value = {argument["name"]: argument["value"] for argument in call["arguments"]}[name]
    for field in fields:
        while "fields" not in value:
            value = value["to"]
        value = value["fields"][field]
    return value


def _shows(call, parameters):
    for path, want in parameters.items():
        if path == "kernel":
            if want not in (call["kernel"] or ""):
                return False
            continue
        try:
            if not _equal(_parameter(call, path), want):
                return False
        except (KeyError, TypeError):
            return False
    return True


def check(facts, trace):
    """(how many facts the trace shows, a sentence for each that it does not)."""
    names = {name for name, _ in facts}
    calls = list(wanted_calls(trace, names))
    missing = []
    for name, parameters in facts:
        if not any(call["name"] == name and _shows(call, parameters) for call in calls):
            said = " ".join(f"{key}={value}" for key, value in parameters.items())
            seen = [call.get("arguments") for call in calls if call["name"] == name][:3]
            missing.append(f"the program says {name} {said}, and no call in the trace shows it; e.g. {json.dumps(seen)[:900]}")
    return len(facts) - len(missing), missing
