#!/usr/bin/python3
"""large_results.py ROWS DIR RESULTS [--message BYTES]

Writes the result files of a run with ROWS details rows into DIR, made of the rows of a real run in
RESULTS (details, evidence, timings), repeated with other call numbers. --message gives one row a
message of so many bytes.
"""
import argparse
import csv
import glob
import io
import os
import re


def only(pattern):
    found = sorted(glob.glob(pattern))
    assert found, f"no {pattern}"
    return found[-1]


def renumbered(name, turn):
    """Torch.mul.3.forward.output.0 in its turn-th copy; copies have numbers apart from each other."""
    return re.sub(r"\.(\d+)(?=(\.(forward|backward)\.|$))", lambda m: f".{int(m[1]) + 1000 * turn}", name, count=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int)
    parser.add_argument("directory")
    parser.add_argument("results")
    parser.add_argument("--message", type=int, default=0)
    options = parser.parse_args()
    with open(only(f"{options.results}/accuracy_checking_details_*.csv"), encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    with open(only(f"{options.results}/accuracy_checking_evidence_*.jsonl"), encoding="utf-8") as file:
        evidence = file.read().splitlines()
    seconds = {}
    for path in glob.glob(f"{options.results}/timings.csv"):
        with open(path, encoding="utf-8") as file:
            seconds = dict(line.split(",", 1) for line in file.read().splitlines()[1:])
    assert len(rows) == len(evidence)

    os.makedirs(options.directory, exist_ok=True)
    stamp = "20260101000000"
    call_of = lambda name: re.sub(r"\.(forward|backward)\..*", "", name)
    text = io.StringIO()
    made = 0
    with open(f"{options.directory}/accuracy_checking_details_{stamp}.csv", "w", encoding="utf-8", newline="") as details, \
            open(f"{options.directory}/accuracy_checking_evidence_{stamp}.jsonl", "w", encoding="utf-8") as lines, \
            open(f"{options.directory}/timings.csv", "w", encoding="utf-8") as timings:
        details.write("\ufeff")
        csv.writer(details).writerow(header)
        timings.write("API name,reference s,device s,comparison s\n")
        turn = 0
        while made < options.rows:
            last = None
            for row, line in zip(rows, evidence):
                if made == options.rows:
                    break
                name = renumbered(row[0], turn)
                message = "x" * options.message if options.message and made == options.rows // 2 else row[-1]
                csv.writer(text).writerow([name, *row[1:-1], message])
                lines.write(line.replace(f'"name":"{row[0]}"', f'"name":"{name}"', 1) + "\n")
                if call_of(row[0]) != last:
                    last = call_of(row[0])
                    if last in seconds:
                        timings.write(f"{call_of(name)},{seconds[last]}\n")
                made += 1
            details.write(text.getvalue())
            text.seek(0)
            text.truncate()
            turn += 1
    for path in glob.glob(f"{options.directory}/*"):
        os.chmod(path, 0o640)


if __name__ == "__main__":
    main()
