"""Reduces recorded launches of libcuda to their constant bank 0 and descriptor, for `launches.txt`.

Usage: launches.py FILE... > launches.txt. It takes the first twelve launches of a file. Each file is the output of `cutap show --json`, or of
`cutap trace -e driver,submit --json`.
"""
import itertools
import json
import sys

HEADER = 0x210


def sides(text):
    return "x".join(str(side) for side in text)


def attributes(config):
    """Sides of a cluster, and whether the launch is a cooperative one."""
    cluster, cooperative = None, 0
    listed = config["attrs"]
    for attribute in listed["to"]["items"] if listed else []:
        fields = attribute["fields"]
        number = fields["id"]["number"]
        if number == 4:
            inner = fields["value"]["fields"]["clusterDim"]["fields"]
            cluster = [inner[side] for side in "xyz"]
        elif number == 2:
            cooperative = 1
    return cluster, cooperative


def launches(path):
    writes, grid = {}, None
    for line in open(path):
        record = json.loads(line)
        if record.get("name") == "submit":
            for step in record["submission"]["steps"]:
                if step["do"] == "write" and "bytes" in step:
                    writes[step["to"]] = step["bytes"]
                elif step["do"] == "launch" and step["is_grid"]:
                    grid = step
        elif record.get("name") == "cuLaunchKernelEx" and grid:
            yield record, grid, writes
            grid = None


def main():
    for path in sys.argv[1:]:
        for record, grid, writes in itertools.islice(launches(path), 12):
            banks = {bank["n"]: bank for bank in grid["constants"]}
            bank = writes[banks[0]["address"]]
            config = next(a for a in record["arguments"] if a["name"] == "config")["value"]["to"]["fields"]
            cluster, cooperative = attributes(config)
            blocks = [config["gridDim" + side] for side in "XYZ"]
            print(f"launch {record['kernel']} grid {sides(blocks)} block {sides(grid['block'])} cluster {sides(cluster) if cluster else 'none'}"
                  f" cooperative {cooperative} dynamic {config['sharedMemBytes']} registers {grid['registers']}"
                  f" descriptor {grid['descriptor']} program {grid['program']}"
                  + "".join(f" bank{n} {bank['address']} bytes{n} {bank['bytes']:#x}" for n, bank in banks.items()))
            print("header", bank[:HEADER * 2])
            print("descriptor", writes[grid["descriptor"]])


main()
