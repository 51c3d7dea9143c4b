#!/usr/bin/python3
"""report_page.py PROBE_UT RESULTS ROWS

What a reader of a large page feels: seconds to write it, its size, seconds until it is open, until the
table stands, a sort, a search. RESULTS is the directory of a real run, whose rows are repeated.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../web"))
from browser import browser, open_page, wait  # noqa: E402

ROWS_DRAWN = "document.querySelectorAll('.table .row').length > 5"


def main():
    program, results, rows = sys.argv[1:4]
    place = tempfile.mkdtemp(prefix="probe-perf-")
    page = os.path.join(place, "page.html")
    try:
        large = os.path.join(os.path.dirname(os.path.abspath(__file__)), "large_results.py")
        subprocess.run([large, rows, f"{place}/results", results], check=True)
        before = os.times()
        since = time.monotonic()
        subprocess.run([program, "report", f"{place}/results", "-o", page], check=True, capture_output=True)
        used = os.times()
        print(f"{rows} rows: written in {time.monotonic() - since:.2f} s "
              f"({used.children_user + used.children_system - before.children_user - before.children_system:.2f} s of processor time), "
              f"{os.path.getsize(page) / 1e6:.1f} MB")
        with browser() as driver:
            print(f"  open and ready    {open_page(driver, page, seconds=300):.2f} s")

            def timed(what, script, condition):
                start = time.monotonic()
                driver.execute_script(script)
                wait(driver, condition, 300, what)
                print(f"  {what:16}  {time.monotonic() - start:.2f} s")

            timed("rows", "document.getElementById('tab-rows').click()", ROWS_DRAWN)
            timed("sort by share", "[...document.querySelectorAll('[role=columnheader] button')].find((head) => head.textContent.includes('used of')).click()",
                  f"document.querySelector('[aria-sort=descending]') && {ROWS_DRAWN}")
            # A name that no row has: every name is looked at.
            timed("search all names", "const box = document.querySelector('.search'); box.value = 'no such name'; box.dispatchEvent(new Event('input'))",
                  "document.querySelector('.table').getAttribute('aria-rowcount') === '1'")
            heap = driver.execute_script("return performance.memory.usedJSHeapSize")
            print(f"  script memory     {heap / 1e6:.0f} MB")
        print(f"  {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
