#!/usr/bin/python3
"""graph_page.py PROBE_UT NODES [PICTURE]

What a reader of a large graph feels: seconds to compare two models of NODES nodes each and to write the page, its size,
seconds until it is open, until a node deep inside is shown, all of it is unfolded as rows and as boxes, everything is
searched, and how much memory the scripts hold.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../web"))
from browser import browser, open_page, wait  # noqa: E402

CHOOSE = "const box = document.getElementById('{}'); box.value = '{}'; box.dispatchEvent(new Event('{}'))"


def main():
    program, nodes = sys.argv[1:3]
    place = tempfile.mkdtemp(prefix="probe-perf-")
    try:
        subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "large_graph.py"), nodes, place], check=True)
        before, since = os.times(), time.monotonic()
        done = subprocess.run([program, "graph", "-tp", f"{place}/npu", "-gp", f"{place}/bench", "-o", f"{place}/out", "--format", "html"],
                              check=True, capture_output=True, text=True)
        used, page = os.times(), glob.glob(f"{place}/out/*.html")[0]
        print(f"{done.stdout.splitlines()[0]}\n  page in {time.monotonic() - since:.2f} s "
              f"({used.children_user + used.children_system - before.children_user - before.children_system:.2f} s of processor time), {os.path.getsize(page) / 1e6:.1f} MB")
        with browser() as driver:
            def memory():
                """Of the scripts, of the document and of arrays of bytes, in megabytes."""
                used = driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
                return round(sum(used.get(key, 0) for key in ("usedSize", "embedderHeapUsedSize", "backingStorageSize")) / 1e6)

            def memories():
                most = memory()
                driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
                return f"{most} MB, {memory()} MB after a collection"

            print(f"  open and ready    {open_page(driver, page, seconds=300):.2f} s, {memories()}")

            def timed(what, script, condition):
                start = time.monotonic()
                driver.execute_script(script)
                wait(driver, condition, 300, what)
                print(f"  {what:16}  {time.monotonic() - start:.2f} s")

            timed("first suspicious", "document.getElementById('first-suspicious').click()", "document.querySelector('.detail h2')")
            timed("unfold all", CHOOSE.format("unfold", "all", "change"), "document.querySelectorAll('[data-side=npu] .row').length > 5")
            timed("boxes", "document.getElementById('form-boxes').click()", "document.querySelector('[data-side=npu] canvas')?.dataset.drawn > 0")
            timed("a step in boxes", "document.getElementById('find-next').click()", "document.querySelector('.found').textContent.startsWith('2 ')")
            timed("search all names", CHOOSE.format("search", "no such name", "input"), "document.querySelector('.found').textContent === 'nothing found'")
            if len(sys.argv) > 3:
                driver.save_screenshot(sys.argv[3])
            print(f"  memory            {memories()}")
        print(f"  {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
