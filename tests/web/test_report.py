#!/usr/bin/python3
"""test_report.py PROBE_UT DATA OUT [NAME ...]

The report page in a real browser: what is on the screen, what clicks and keys do, and that nothing of a
result file runs. Leaves its pictures in OUT. Pages are made by the program from the dumps in DATA.
"""
import csv
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import browser, faults, open_page, wait

PROGRAM, DATA, OUT = sys.argv[1:4]
LARGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../perf/large_results.py")


def program(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.returncode} {done.stderr}"
    return done


def scale_tensor(path):
    """Multiply the float32 elements of a .pt file by 1.5, as a wrong kernel would return them."""
    with zipfile.ZipFile(path) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for info, data in entries:
            if "/data/" in info.filename:
                import numpy
                data = (numpy.frombuffer(data, "<f4") * 1.5).astype("<f4").tobytes()
            archive.writestr(info.filename, data)


class Pages:
    """The pages of the tests, made once."""

    def __init__(self):
        self.place = tempfile.mkdtemp(prefix="probe-report-")
        self.pages = {}

    def path(self, name):
        return os.path.join(self.place, name)

    def make(self, name):
        if name not in self.pages:
            getattr(self, name)()
            self.pages[name] = self.path(f"{name}.html")
        return self.pages[name]

    def run(self, name, dump, *words):
        os.makedirs(self.path(name), exist_ok=True)
        program("run_ut", "-api_info", f"{DATA}/dumps/{dump}/dump.json", "-o", self.path(name), "--timings",
                self.path(f"{name}/timings.csv"), "--no-progress", *words)

    def sweep(self):
        """A run with warnings, whose page the run itself makes."""
        self.run("sweep", "m5a/L1_statistics", "--report", self.path("sweep.html"))

    def wrong(self):
        """A run on recorded outputs, three of which were scaled."""
        shutil.copytree(f"{DATA}/dumps/m2/L1_tensor", self.path("dump"))
        for name in ("Functional.softmax.0.forward.output.0", "Functional.gelu.1.forward.output.0",
                     "Functional.layer_norm.2.forward.output.0"):
            scale_tensor(self.path(f"dump/dump_tensor_data/{name}.pt"))
        os.makedirs(self.path("wrong"))
        program("run_ut", "-api_info", self.path("dump/dump.json"), "-o", self.path("wrong"), "--backend", "recorded",
                "--timings", self.path("wrong/timings.csv"), "--no-progress", "--report", self.path("wrong.html"))

    def three_way(self):
        sides = [f"{DATA}/three_way/inputs/m5a_{side}.csv" for side in ("dev_a", "dev_b")]
        for side, name in zip(sides, ("npu", "gpu")):
            os.makedirs(self.path(f"three/{name}"))
            shutil.copy(side, self.path(f"three/{name}/accuracy_checking_details_20261120162419.csv"))
            os.chmod(self.path(f"three/{name}/accuracy_checking_details_20261120162419.csv"), 0o640)
        npu, gpu = (glob.glob(self.path(f"three/{name}/*.csv"))[0] for name in ("npu", "gpu"))
        program("api_precision_compare", "-npu", npu, "-gpu", gpu, "-o", self.path("three/verdicts"), "--report", self.path("three_way.html"))

    def dumps(self):
        """The damaged dump against the sound one, as a workbook and as CSV."""
        self.make("wrong")
        self.write("compare.json", json.dumps({"npu_path": self.path("dump/dump.json"), "bench_path": f"{DATA}/dumps/m2/L1_tensor/dump.json",
                                               "stack_path": self.path("stack.json"), "is_print_compare_log": False}))
        self.write("stack.json", json.dumps({f"Functional.{name}.forward": ["File models.py, line 7, in forward, \n y = f('a', 'b')"] for name in ("gelu.1", "layer_norm.2")}))
        program("compare", "-i", self.path("compare.json"), "-o", self.path("csv"), "--format", "csv", "--no-progress")
        program("compare", "-i", self.path("compare.json"), "-o", self.path("dumps"), "--no-progress", "-s", "--report", self.path("dumps.html"))

    def before_after(self):
        self.make("wrong")
        self.run("after", "m2/L1_tensor", "--backend", "recorded")
        program("report", self.path("wrong"), self.path("after"), "-o", self.path("before_after.html"))

    def diagnosed(self):
        """A run whose evidence says what a row looks like, and where it was called."""
        self.make("wrong")
        shutil.copytree(self.path("wrong"), self.path("diagnosed"))
        path = glob.glob(self.path("diagnosed/*evidence*"))[0]
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        for line in lines:
            if line["name"].startswith("Functional.softmax.0.forward"):
                line["diagnosis"] = [{"class": "rounded inputs", "text": "looks like: …", "mistake": "inputs rounded to 10 bits (TF32)", "explains": 0.997, "exact": 2301,
                                      "within rounding": 2304, "elements": 4608}, {"class": "wrong constant", "mistake": "scaled by 1.5", "explains": 0.6}]
                line["called from"] = "models.py:42 in attention: scores.softmax(-1)"
            elif line["name"].startswith("Functional.gelu.1.forward"):
                line["diagnosis"] = [{"class": "unknown", "text": "looks like: unknown"}]
        self.write(os.path.relpath(path, self.place), "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        program("report", self.path("diagnosed"), "-o", self.path("diagnosed.html"))

    def few(self):
        """Five rows."""
        self.make("wrong")
        os.makedirs(self.path("few"))
        for path in glob.glob(self.path("wrong/accuracy_checking_*")):
            with open(path, encoding="utf-8", newline="") as file:
                lines = file.read()
            kept = lines.split("\r\n")[:6] if path.endswith(".csv") else lines.split("\n")[:5]
            text = "\r\n".join(kept) + "\r\n" if path.endswith(".csv") else "\n".join(kept) + "\n" if path.endswith(".jsonl") else lines
            self.write(f"few/{os.path.basename(path)}", text)
        for path in glob.glob(self.path("few/*result*")):
            os.remove(path)
        program("report", self.path("few"), "-o", self.path("few.html"))

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(self.path(name), 0o640)

    def large(self):
        self.make("sweep")
        subprocess.run([LARGE, "50000", self.path("large"), self.path("sweep"), "--message", "3000000"], check=True)
        program("report", self.path("large"), "-o", self.path("large.html"))

    def million(self):
        """Verdicts of a million calls, the last of which failed."""
        head = "API name,Forward Test Success,Backward Test Success,Message\n"
        rows = "".join(f"Torch.mul.{number},pass,pass,\n" for number in range(999_999))
        self.write("million/accuracy_checking_result_20260101000000.csv", head + rows + "Torch.last.0,error,pass,why\n")
        program("report", self.path("million"), "-o", self.path("million.html"))

    def empty(self):
        self.make("sweep")
        details = glob.glob(self.path("sweep/*details*"))[0]
        with open(details, encoding="utf-8", newline="") as file:
            self.write("empty/accuracy_checking_details_20260101000000.csv", file.readline())
        program("report", self.path("empty"), "-o", self.path("empty.html"))

    def hostile(self):
        """Markup, scripts and names of members of objects wherever a text can stand."""
        self.make("sweep")
        with open(glob.glob(self.path("sweep/*details*"))[0], encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file))
        lines, rows = [], []
        for number, evil in enumerate(EVIL):
            name = f"Torch.{evil}.{number}.forward.output.0" if number % 2 else evil
            row = dict.fromkeys(header, evil)
            row.update({"API Name": name, "Status": ["error", "warning", "SKIP", evil][number % 4], "Message": evil})
            rows.append([row[key] for key in header])
            lines.append(json.dumps({"name": name, "verdict": evil, "repeat": evil, "inputs": [evil, 7, None], "diagnosis": [{"class": evil, "mistake": evil, "explains": evil}, evil, None] if number % 3 else evil,
                                     "reproducer": {evil: evil}, "called from": evil,
                                     evil: evil, "evidence": {"standard": evil, "decided by": evil, "reference": evil, evil: {evil: evil},
                                                              "limits": [{"metric": evil, "value": evil, "limit": 1, "holds": False}, evil, None],
                                                              "kinds": {f"want {evil}, got {evil}x": 3}, "where": evil, "worst relative": {"index": evil, "at": evil, "want": evil, "got": evil, "error": evil},
                                                              "ulp histogram": {evil: 1, "<= 4": 5}}}, separators=(",", ":")))
        with open(self.path("rows.csv"), "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        with open(self.path("rows.csv"), encoding="utf-8", newline="") as file:
            self.write("hostile/accuracy_checking_details_20260101000000.csv", file.read())
        self.write("hostile/accuracy_checking_evidence_20260101000000.jsonl", "\n".join(lines) + "\n")
        self.write("hostile/accuracy_checking_run_20260101000000.json", json.dumps({"dump_digest": EVIL[0], "backend": EVIL[0], "profile": EVIL[1]}))
        self.write("hostile/timings.csv", "API name,reference s,device s,comparison s\n" + f'"{EVIL[0]}",1,2,3\n')
        program("report", self.path("hostile"), "-o", self.path("hostile.html"))


EVIL = ["<img src=x onerror=window.ran=1>", "</script><script>window.ran=1</script>", "<svg onload=window.ran=1>",
        "javascript:window.ran=1", "__proto__", "constructor", "{metric}{value}", "<!--", "-->", "\u202eoverride", "%s%n", "toString",
        "]]>", "&lt;b&gt;", "<a href='javascript:window.ran=1'>click</a>", "hasOwnProperty"]


class ReportTest(unittest.TestCase):
    pages = Pages()
    driver = None

    @classmethod
    def setUpClass(cls):
        cls.holder = browser()
        cls.driver = cls.holder.__enter__()
        os.makedirs(OUT, exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        cls.holder.__exit__(None, None, None)
        shutil.rmtree(cls.pages.place, ignore_errors=True)

    def setUp(self):
        self.driver.get("about:blank")

    # ---- helpers --------------------------------------------------------------------------

    def open(self, page, fragment=""):
        took = open_page(self.driver, self.pages.make(page), fragment)
        self.driver.execute_script("try { localStorage.clear() } catch {}")
        return took

    def text(self, selector):
        return " ".join(node.text for node in self.driver.find_elements(By.CSS_SELECTOR, selector))

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def wait(self, condition, what="the page"):
        return wait(self.driver, condition, what=what)

    def rows_shown(self, count):
        """Wait until the table has so many rows."""
        self.wait(f"document.querySelector('.table').getAttribute('aria-rowcount') === '{count + 1}'", f"{count} rows")
        self.wait(f"{count} === 0 || document.querySelectorAll('.table .row').length > 0", "drawn rows")

    def names(self):
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 120))")
        return self.driver.execute_script(
            "return [...document.querySelectorAll('.table .row')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => row.children[1].textContent)")

    def press(self, *keys):
        for key in keys:
            self.one("body").send_keys(key)

    def picture(self, name, width=1400, height=900, whole=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        if whole:
            size["height"] = self.driver.execute_script("return document.querySelector('.page-body').scrollHeight + document.querySelector('.page-head').offsetHeight")
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 350))")
        self.driver.save_screenshot(os.path.join(OUT, f"{name}.png"))
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def tearDown(self):
        # A page that asks for anything, or throws, says so here.
        self.assertEqual(faults(self.driver), [])

    # ---- tests ----------------------------------------------------------------------------------

    def test_first_screen(self):
        self.open("wrong")
        self.assertIn("124 outputs of 55 calls", self.text(".lead"))
        self.assertIn("backend recorded", self.text(".facts"))
        self.assertIn("dump/dump.json", self.text(".facts"))
        self.wait("document.querySelectorAll('.worst .why').length >= 3")
        worst = self.text(".worst-list")
        for name in ("softmax.0", "gelu.1", "layer_norm.2"):
            self.assertIn(f"Functional.{name}.forward.output.0", worst)
        self.assertIn("at least 0.99", worst)
        self.assertIn("Worst element", worst)
        self.assertIn("first in execution order", worst)
        self.assertIn("PyTorch runs this call as several autograd nodes", self.text(".reasons"))
        self.assertIn("calls: reference", self.text(".panel"))
        self.wait("document.querySelectorAll('.chart canvas').length === 1")
        self.picture("overview", whole=True)
        self.picture("readme", 1200, 780)

    def test_tiles_filter_the_rows(self):
        self.open("wrong")
        self.one(".tile.error").click()
        self.wait("document.querySelector('.table .row')")
        names = self.names()
        self.assertIn("Functional.softmax.0.forward.output.0", names)
        self.assertTrue(all("error" in row.text for row in self.all(".table .row .badge")))
        self.assertEqual(self.driver.execute_script("return location.hash"), "#rows?verdicts=error")

    def test_search_filter_and_sort(self):
        self.open("sweep", "#rows")
        self.rows_shown(1477)
        self.one(".search").send_keys("matmul.2")
        self.rows_shown(3)
        self.one(".search").clear()
        self.one(".search").send_keys(r"^Torch\.(add|mul)\.\d+\.backward")
        self.rows_shown(0)
        self.assertIn("No row matches", self.text(".table-empty"))
        self.one(".toggle").click()
        self.wait("document.querySelectorAll('.table .row').length > 5")
        self.assertTrue(all(name.startswith(("Torch.add.", "Torch.mul.")) and ".backward." in name for name in self.names()))
        self.one(".search").send_keys("(")
        self.wait("!document.querySelector('.fault').hidden")
        self.assertIn("Not a regular expression", self.text(".fault"))
        self.all(".filter-line .link")[-1].click()
        self.rows_shown(1477)
        self.all(".chip")[0].click()
        self.rows_shown(64)
        # By share of the limit, the largest first.
        self.driver.find_element(By.XPATH, "//*[@role='columnheader']//*[text()='used of limit']").click()
        self.wait("document.querySelector('[aria-sort=descending]')")
        shares = self.driver.execute_script("return [...document.querySelectorAll('.table .row')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => Number(row.children[2].textContent.replace(/\\s/g, '')))")
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.picture("rows")

    def test_ranges(self):
        self.open("sweep", "#rows")
        select = self.one("select[aria-label='Condition']")
        select.find_element(By.CSS_SELECTOR, "option[value=worst_ulp]").click()
        self.all(".bound")[0].send_keys("1000")
        self.wait("document.querySelector('.table').getAttribute('aria-rowcount') < 200 && document.querySelectorAll('.table .row').length > 0")
        values = self.driver.execute_script("return [...document.querySelectorAll('.table .row')].map((row) => Number(row.children[3].textContent.replace(/\\s/g, '')))")
        self.assertTrue(values and all(value >= 1000 for value in values), values)
        self.all(".bound")[0].send_keys("x")
        self.assertTrue(self.all(".bound.bad"))

    def test_a_row_opens_its_evidence(self):
        self.open("wrong")
        self.wait("document.querySelector('.worst')")
        self.driver.find_element(By.XPATH, "//*[contains(@class,'worst')]//span[contains(.,'softmax.0')]").click()
        self.wait("document.querySelector('#detail-name')?.textContent === 'Functional.softmax.0.forward.output.0'")
        pane = self.text(".detail")
        for part in ("Limits", "Errors in ulp", "Worst elements", "How sure this is", "The reference is certified", "Repeat this call", "--name Functional.softmax.0"):
            self.assertIn(part, pane)
        self.assertTrue(self.all(".detail .chart canvas"))
        button = self.one(".command button")
        button.click()
        self.wait("['Copied', 'Not copied'].includes(document.querySelector('.command button').textContent)")
        self.assertIn("row=", self.driver.execute_script("return location.hash"))
        self.driver.execute_script("document.querySelector('.detail').scrollTop = 0")
        self.picture("detail")
        self.picture("readme-row", 1080, 640)
        self.press(Keys.ESCAPE)
        self.wait("document.querySelector('.detail').hidden")

    def test_what_a_row_looks_like(self):
        self.open("diagnosed", "#rows")
        self.rows_shown(124)
        self.one(".search").send_keys("tf32")
        self.rows_shown(1)
        self.one(".table .row").click()
        self.wait("document.querySelector('.findings')")
        findings = self.text(".findings")
        for told in ("inputs rounded to 10 bits (TF32)", "rounded inputs", "explains 99.7 % of the error", "2\u202f301 of 4\u202f608", "scaled by 1.5", "explains 60 % of the error"):
            self.assertIn(told, findings)
        self.assertIn("models.py:42", self.text(".detail"))
        self.picture("diagnosis")
        self.one(".search").clear()
        self.one(".search").send_keys("gelu.1.forward.output")
        self.wait("document.querySelector('.table .row .mono')?.title === 'Functional.gelu.1.forward.output.0'")
        self.one(".table .row").click()
        self.wait("document.querySelector('.findings')?.textContent.includes('None of the known mistakes')")

    def test_search_finds_more_than_names(self):
        self.open("wrong", "#rows")
        for text, rows in (("skipped", 18), ("share within 1/1000", 3), ("Bench output is None", 4), ("torch.bool", 2)):
            self.one(".search").clear()
            self.one(".search").send_keys(text)
            self.rows_shown(rows)

    def test_keys(self):
        self.open("wrong")
        self.press("2")
        self.rows_shown(124)
        self.press("n")
        self.wait("document.querySelector('#detail-name')")
        first = self.text("#detail-name")
        self.assertIn("error", self.text(".detail-verdict"))
        self.press("n")
        self.wait(f"document.querySelector('#detail-name').textContent !== '{first}'")
        self.press("p")
        self.wait(f"document.querySelector('#detail-name').textContent === '{first}'")
        # With a row open, moving opens the neighbour.
        self.press("j")
        self.wait(f"document.querySelector('#detail-name').textContent !== '{first}'")
        self.press("k")
        self.wait(f"document.querySelector('#detail-name').textContent === '{first}'")
        self.press(Keys.ESCAPE, "/")
        self.driver.switch_to.active_element.send_keys("dropout")
        self.wait("document.querySelector('.table').getAttribute('aria-rowcount') < 40")
        self.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.press("3")
        self.wait("document.querySelector('.multiple')")
        self.press("?")
        self.wait("document.querySelector('dialog').open")
        self.assertIn("next row that failed", self.text("dialog"))

    def test_a_link_leads_back(self):
        self.open("sweep", "#rows?verdicts=warning&api=matmul&sort=-worst_ulp&row=0")
        self.wait("document.querySelector('#detail-name')")
        self.assertEqual(self.one("select[aria-label='any API']").get_attribute("value"), "matmul")
        self.assertTrue(all("matmul" in name for name in self.names()))

    def test_language_and_theme(self):
        self.open("wrong")
        self.wait("document.querySelector('.worst')")
        light = self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        self.press("l", "t")
        self.wait("document.documentElement.lang === 'zh'")
        self.assertIn("检查内容", self.text(".panel h2"))
        self.wait("document.querySelectorAll('.worst .why').length >= 3")
        self.assertIn("要求至少", self.text(".worst-list"))
        self.assertNotEqual(self.driver.execute_script("return getComputedStyle(document.body).backgroundColor"), light)
        self.picture("overview-zh-dark", whole=True)
        self.press("t")
        self.picture("readme-zh", 1200, 780)
        self.press("t")
        self.press("2", "n")
        self.wait("document.querySelector('#detail-name')")
        self.assertIn("最差元素", self.text(".detail"))
        self.picture("rows-zh-dark")
        self.press("l", "t")
        self.wait("document.documentElement.lang === 'en'")

    def test_small_multiples(self):
        self.open("sweep", "#apis")
        self.wait("document.querySelectorAll('.multiple').length > 40")
        self.assertIn("torch.bfloat16", self.text(".multiples"))
        self.picture("apis")
        self.all(".multiple")[0].click()
        self.wait("document.querySelector('.table .row')")

    def test_three_way(self):
        self.open("three_way")
        self.assertIn("three-way comparison", self.text(".inputs"))
        self.wait("document.querySelectorAll('.chart canvas').length >= 3")
        self.assertIn("npu beside gpu", self.text(".panel h2"))
        self.picture("three-way", whole=True)
        self.wait("document.querySelector('.worst')")
        self.one(".worst").click()
        self.wait("document.querySelector('.pairs th .link')")
        head = self.driver.execute_script("return [...document.querySelectorAll('.detail .pairs th')].map((cell) => cell.textContent)")
        self.assertEqual(head[2:], ["npu", "gpu"])
        self.picture("three-way-row")

    def test_comparison_of_dumps(self):
        self.open("dumps")
        self.wait("document.querySelector('.worst .why')")
        self.assertIn("comparison of dumps", self.text(".facts"))
        self.assertRegex(self.text(".facts"), r"dump/dump.json against .*m2/L1_tensor/dump.json")
        self.assertEqual(self.all(".notes"), [])
        # A softmax that is half too large keeps its direction, which is all that the rules of a comparison ask.
        for name in ("gelu.1", "layer_norm.2"):
            self.assertIn(f"Functional.{name}.forward.output.0", self.text(".worst-list"))
        self.assertIn("First output that differs while its inputs agree: Functional.", self.driver.find_element(By.CSS_SELECTOR, "#page").text)
        self.picture("dumps", whole=True)
        self.one(".worst").click()
        self.wait("document.querySelector('#detail-name')")
        self.assertIn("cosine similarity", self.text(".detail"))
        self.assertRegex(self.text(".detail"), r"models.py, line 7, in forward\n\s*y = f\('a', 'b'\)")  # of an output; the file has it beside the first input

    def test_errors_of_a_comparison_along_the_order(self):
        self.open("dumps", "#apis")
        self.wait("document.querySelector('.multiple-bars .bin.error .fill')")
        self.assertIn("Errors along execution order, by API", self.driver.find_element(By.CSS_SELECTOR, "#page").text)
        self.picture("dumps-apis")

    def test_before_and_after(self):
        self.open("before_after")
        self.wait("document.body.textContent.includes('have another verdict than in wrong')")
        self.driver.find_element(By.XPATH, "//button[text()='Show them']").click()
        self.wait("document.querySelector('.table .row')")
        names = self.names()
        self.assertEqual(len(names) % 2, 0)
        self.assertEqual(sorted(names[: len(names) // 2]), sorted(names[len(names) // 2:]))
        self.assertIn("Functional.gelu.1.forward.output.0", names)

    def test_few_rows(self):
        self.open("few")
        self.assertIn("5 outputs", self.text(".lead"))
        self.picture("few-rows", whole=True)

    def test_no_rows(self):
        self.open("empty")
        self.assertIn("The files have no rows.", self.text(".overview"))
        self.press("2")
        self.wait("document.querySelector('.table-empty').textContent.includes('no rows')")

    def test_narrow_window(self):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.open("wrong")
        self.wait("document.querySelector('.worst')")
        wide = self.driver.execute_script("return document.querySelector('.page-body').scrollWidth")
        self.assertLessEqual(wide, 420)
        self.picture("narrow", 420, whole=True)
        self.press("n")
        self.wait("document.querySelector('#detail-name')")
        self.picture("narrow-row", 420)

    def test_large(self):
        took = self.open("large")
        size = os.path.getsize(self.pages.make("large"))
        print(f"50,000 rows: {size / 1e6:.1f} MB, open and ready after {took:.2f} s")
        self.assertLess(size, 15e6)
        self.assertIn("50", self.text(".lead"))
        self.press("2")
        self.rows_shown(50000)
        self.driver.execute_script("document.querySelector('.table').scrollTop = 1e9")
        self.wait("[...document.querySelectorAll('.table .row')].some((row) => row.ariaRowIndex === '50001')")
        self.assertLess(len(self.all(".table .row")), 100)
        self.one(".search").send_keys("matmul.5")
        self.wait("document.querySelector('.table').getAttribute('aria-rowcount') < 5000")
        # The row with the giant message is one like the others.
        self.open("large", "#rows?row=25000")
        self.wait("document.querySelector('#detail-name')")
        self.assertIn("(3000000 bytes)", self.driver.execute_script("return document.querySelector('.detail').textContent"))
        self.picture("large")

    def test_a_million_rows(self):
        took = self.open("million")
        print(f"1,000,000 calls: {os.path.getsize(self.pages.make('million')) / 1e6:.1f} MB, open and ready after {took:.2f} s")
        self.press("2")
        self.rows_shown(1_000_000)
        # Taller than an element can be: the table scrolls by shares of the way.
        self.driver.execute_script("document.querySelector('.table').scrollTop = 1e9")
        self.wait("[...document.querySelectorAll('.table .row')].some((row) => row.ariaRowIndex === '1000001')")
        self.assertEqual(self.names()[-1], "Torch.last.0")
        self.driver.execute_script("document.querySelector('.table').scrollTop = 0")
        self.wait("[...document.querySelectorAll('.table .row')].some((row) => row.ariaRowIndex === '2')")
        self.one(".table").send_keys(Keys.END)
        self.wait("document.querySelector('.table .row[aria-selected=true]')?.ariaRowIndex === '1000001'")
        box = self.driver.execute_script("const row = document.querySelector('.table .row[aria-selected=true]').getBoundingClientRect(), table = document.querySelector('.table').getBoundingClientRect(); return [row.top - table.top, table.bottom - row.bottom]")
        self.assertTrue(all(distance >= -1 for distance in box), box)
        self.press("n")
        self.wait("document.querySelector('.table .row[aria-selected=true]')")
        self.one(".search").send_keys("mul.99999")
        self.rows_shown(10)

    def test_hostile_texts_are_texts(self):
        page = self.pages.make("hostile")
        with open(page, encoding="utf-8") as file:
            html = file.read()
        for evil in EVIL[:3]:
            self.assertNotIn(evil, html)
        for fragment in ("#overview", "#rows", "#apis"):
            self.open("hostile", fragment)
            self.driver.execute_async_script("setTimeout(arguments[0], 400)")
            for _ in range(2):
                self.press("l")
        for row in range(len(EVIL)):
            self.open("hostile", f"#rows?row={row}")
            self.wait("document.querySelector('#detail-name')")
            self.assertIn(EVIL[row], self.driver.execute_script("return document.querySelector('#detail-name').textContent"))
        self.assertIsNone(self.driver.execute_script("return window.ran ?? null"))
        for tag in ("img", "svg", "a", "iframe", "b"):
            self.assertEqual(self.all(f"#page {tag}"), [], tag)
        # And if markup came in after all, the policy would keep its scripts from running.
        self.driver.execute_script("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.ran=2>')")
        self.driver.execute_async_script("setTimeout(arguments[0], 300)")
        self.assertIsNone(self.driver.execute_script("return window.ran ?? null"))
        self.driver.get_log("browser") # the refusal is what was wanted

    def test_a_page_without_charts(self):
        """As it is when Chart.js was missing at build time."""
        with open(self.pages.make("wrong"), encoding="utf-8") as file:
            html = file.read()
        at = html.index("<script>/*!")
        bare = self.pages.path("bare.html")
        with open(bare, "w", encoding="utf-8") as file:
            file.write(html[:at] + html[html.index("</script>", at) + len("</script>"):])
        open_page(self.driver, bare)
        self.wait("document.body.textContent.includes('made without charts')")
        self.press("n")
        self.wait("document.querySelector('#detail-name')")

    def test_columns_can_be_chosen(self):
        self.open("wrong", "#rows")
        self.rows_shown(124)
        self.assertNotIn("reference dtype", self.text(".table-head").lower())
        self.one(".columns-menu summary").click()
        self.driver.find_element(By.XPATH, "//label[contains(., 'Reference dtype')]").click()
        self.wait("document.querySelector('.table-head').textContent.includes('Reference dtype')")

    def test_on_paper(self):
        self.open("wrong")
        self.wait("document.querySelectorAll('.worst .why').length >= 3")
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        try:
            self.assertEqual(self.driver.execute_script("return getComputedStyle(document.querySelector('.tabs')).display"), "none")
            self.assertNotEqual(self.driver.execute_script("return getComputedStyle(document.querySelector('.page-body')).overflow"), "auto")
            self.picture("print", 800, 1100)
        finally:
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def test_a_page_that_was_cut_short(self):
        page = self.pages.make("sweep")
        with open(page, encoding="utf-8") as file:
            html = file.read()
        at = html.index('id="block-3"')
        broken = self.pages.path("cut.html")
        with open(broken, "w", encoding="utf-8") as file:
            file.write(html[:at] + 'id="block-x"' + html[at + len('id="block-3"'):])
        self.driver.get(f"file://{broken}#rows")
        self.wait("document.documentElement.dataset.ready")
        self.assertTrue(self.text("body"))
        self.driver.get_log("browser")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
