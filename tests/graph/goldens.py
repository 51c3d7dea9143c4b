#!/usr/bin/python3
"""goldens.py PROBE_UT DATA

Databases against all that msprobe wrote for the dumps in DATA: every cell of every node and of the
configuration, cells that are JSON by value, numbers to 1e-6. Prints the share that is equal. What differs
on purpose is named below. Exits with 77 where DATA is not there.
"""
import glob
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM, DATA = sys.argv[1:3]
OPTIONS = {"compare_m2_mix_statistics_fuzzy": ["-f"], "single_overflow": ["-oc"]}


def equal(a, b):
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= 1e-6
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    return a == b


def value(cell):
    try:
        return json.loads(cell)
    except (TypeError, ValueError):
        return cell


def without_results(rows):
    """msprobe puts the verdict of checksums on other rows of modules with parameters."""
    return {name: {key: text for key, text in row.items() if key != "Result"} for name, row in rows.items()}


def cell_equal(case, column, want, got):
    if want == got or equal(value(want), value(got)):
        return True
    return "md5" in case and column in ("input_data", "output_data") and without_results(value(want)) == without_results(value(got))


def rows_of(path, query):
    connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    rows = {row["id"]: dict(row) for row in connection.execute(query)}
    connection.close()
    return rows


def make(case, place):
    with open(os.path.join(DATA, "goldens/graph", case, "graph.json"), encoding="utf-8") as file:
        paths = json.load(file)
    words = ["-tp", os.path.join(DATA, paths["npu_path"])]
    if "bench_path" in paths:
        words += ["-gp", os.path.join(DATA, paths["bench_path"])]
    done = subprocess.run([PROGRAM, "graph", "--trust-files", "--format", "db", "-o", place, *words, *OPTIONS.get(case, [])],
                          capture_output=True, text=True, check=False)
    return done, glob.glob(os.path.join(place, "*.vis.db"))


def compare(case, want_path, got_path):
    cells = same = 0
    for query in ("SELECT n.*, s.stack_info FROM tb_nodes n JOIN tb_stack s ON s.id = n.stack_id", "SELECT * FROM tb_config"):
        want, got = rows_of(want_path, query), rows_of(got_path, query)
        if want.keys() != got.keys():
            print(f"{case}: nodes differ: {sorted(want.keys() ^ got.keys())[:5]}")
            return 1, 0
        for name, row in want.items():
            for column, cell in row.items():
                if column == "stack_id":
                    continue
                cells += 1
                if cell_equal(case, column, cell, got[name][column]):
                    same += 1
                else:
                    print(f"{case}: {name}: {column}: {got[name][column]!r:.300} is not {cell!r:.300}")
    return cells, same


def main():
    cases = sorted(glob.glob(os.path.join(DATA, "goldens/graph/*")))
    if not cases:
        return 77
    failed = False
    for path in cases:
        case, goldens = os.path.basename(path), glob.glob(os.path.join(path, "*.vis.db"))
        with tempfile.TemporaryDirectory() as place:
            done, made = make(case, place)
            if not goldens:  # msprobe refused it
                failed |= done.returncode != 3
                print(f"{case}: exit status {done.returncode}, as it has to be: 3")
                continue
            if not made:
                print(f"{case}: {done.stderr}")
                failed = True
                continue
            cells, same = compare(case, goldens[0], made[0])
            failed |= cells != same
            print(f"{case}: {same} of {cells} cells equal ({100 * same / cells:.2f} %)")
    return int(failed)


sys.exit(main())
