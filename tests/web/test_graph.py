#!/usr/bin/python3
"""test_graph.py PROBE_UT DATA OUT [NAME ...]

The graph page in a real browser: what is on the screen, what clicks and keys do, and that nothing of a dump
runs. Leaves its pictures in OUT. Pages are made by the program from the dumps in DATA.
"""
import base64
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import browser, faults, open_page, wait

PROGRAM, DATA, OUT = sys.argv[1:4]
EVIL = ["<img src=x onerror=window.evil=1>", "</script><script>window.evil=1</script>", "__proto__", "constructor", "a\"b'c&d"]


def tensor(value):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": value, "Min": -value, "Mean": 0.0, "Norm": value,
            "requires_grad": True}


def write_rank(folder, names, parent, value):
    """A rank folder of calls below one module."""
    os.makedirs(folder, exist_ok=True)
    data = {name: {"input_args": [tensor(1.0)], "input_kwargs": {}, "output": [tensor(value(i))]} for i, name in enumerate(names)}
    files = {"dump.json": {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None, "data": data},
             "construct.json": {parent: None} | {name: parent for name in names},
             "stack.json": {name: [f"File {name}, line 1, in forward, \n {name}"] for name in names}}
    for name, content in files.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.chmod(path, 0o640)


class Pages:
    """The pages of the tests, made once."""

    def __init__(self):
        self.place = tempfile.mkdtemp(prefix="probe-graph-")
        self.pages = {}

    def path(self, name):
        return os.path.join(self.place, name)

    def graph(self, name, *words):
        if name not in self.pages:
            done = subprocess.run([PROGRAM, "graph", "--format", "html", "-o", self.path(name), *words], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            self.pages[name] = glob.glob(self.path(f"{name}/*.html"))[0]
        return self.pages[name]

    def compared(self):
        return self.graph("compared", "-tp", f"{DATA}/graph/npu", "-gp", f"{DATA}/graph/bench", "-oc")

    def built(self):
        return self.graph("built", "-tp", f"{DATA}/graph/bench")

    def ranks(self):
        for side, factor in (("a", 1.0), ("b", 2.0)):
            for rank in range(3):
                write_rank(self.path(f"{side}/rank{rank}"), [f"Functional.linear.{i}.forward" for i in range(4)], "Module.m.M.forward.0",
                           lambda i, f=factor, r=rank: f if r == 2 and i == 1 else 1.0)
        return self.graph("ranks", "-tp", self.path("a"), "-gp", self.path("b"))

    def communication(self):
        group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1, 2], "group_id": "tp"}
        for side in ("ca", "cb"):
            for rank in range(3):
                write_rank(self.path(f"{side}/rank{rank}"), ["Functional.linear.0.forward", "Distributed.all_reduce.0.forward", "Distributed.broadcast.0.forward"],
                           "Module.m.M.forward.0", lambda i, s=side, r=rank: 2.0 if s == "ca" and r == 1 and i == 1 else 4.0)
                path = self.path(f"{side}/rank{rank}/dump.json")
                with open(path, encoding="utf-8") as file:
                    dump = json.load(file)
                for name, entry in dump["data"].items():
                    if name.startswith("Distributed"):
                        entry["input_kwargs"]["group"] = group
                dump["data"]["Distributed.broadcast.0.forward"]["input_args"].append({"type": "int", "value": 2})
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(dump, file)
        return self.graph("communication", "-tp", self.path("ca"), "-gp", self.path("cb"))

    def unmatched(self):
        for side, name in (("ua", "Functional.gelu.0.forward"), ("ub", "Functional.fast_gelu.0.forward")):
            write_rank(self.path(side), ["Functional.linear.0.forward", name], "Module.m.M.forward.0", lambda i, s=side: 3.0 if s == "ua" and i == 1 else 4.0)
        return self.graph("unmatched", "-tp", self.path("ua"), "-gp", self.path("ub"))

    def renamed(self):
        """A module has another name on the other side, and so all below it is unmatched; two ranks of that."""
        for side, module in (("na", "Module.m.M.forward.0"), ("nb", "Module.n.N.forward.0")):
            for rank in range(2):
                write_rank(self.path(f"{side}/rank{rank}"), ["Functional.linear.0.forward", "Torch.add.0.forward", "Torch.add.1.forward"], module,
                           lambda i, s=side, r=rank: 3.0 if s == "na" and i == 2 and r == 1 else 4.0)
        return self.graph("renamed", "-tp", self.path("na"), "-gp", self.path("nb"))

    def structure(self):
        """Two sides without numbers, one of which lacks a call."""
        for side, count in (("sa", 6), ("sb", 5)):
            write_rank(self.path(side), [f"Functional.linear.{i}.forward" for i in range(count)], "Module.m.M.forward.0", lambda i: 1.0)
            path = self.path(f"{side}/dump.json")
            with open(path, encoding="utf-8") as file:
                dump = json.load(file)
            dump["task"] = "structure"
            for entry in dump["data"].values():
                for row in entry["input_args"] + entry["output"]:
                    for statistic in ("Max", "Min", "Mean", "Norm"):
                        del row[statistic]
            with open(path, "w", encoding="utf-8") as file:
                json.dump(dump, file)
        return self.graph("structure", "-tp", self.path("sa"), "-gp", self.path("sb"))

    def merged(self):
        """Two ranks that share the weights of a linear layer, as one model."""
        for side in ("ma", "mb"):
            for rank in range(2):
                write_rank(self.path(f"{side}/rank{rank}"), ["Functional.linear.0.forward", "Torch.add.0.forward"], "Module.m.ColumnParallelLinear.forward.0", lambda i, r=rank: 2.0 + r)
        layout = {"rank_size": 2, "tp": 2, "pp": 1}
        with open(self.path("merge.json"), "w", encoding="utf-8") as file:
            json.dump({"npu_path": self.path("ma"), "bench_path": self.path("mb"), "parallel_merge": {"npu": layout, "bench": layout}}, file)
        os.chmod(self.path("merge.json"), 0o640)
        return self.graph("merged", "-i", self.path("merge.json"))

    def hostile(self):
        names = [f"Functional.{evil}.{i}.forward" for i, evil in enumerate(EVIL)]
        for side in ("ha", "hb"):
            write_rank(self.path(side), names, "Module.<b>m</b>.M.forward.0", lambda i: 1.0)
        return self.graph("hostile", "-tp", self.path("ha"), "-gp", self.path("hb"))


class GraphPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(OUT, exist_ok=True)
        cls.pages = Pages()
        cls.context = browser()
        cls.driver = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def tearDown(self):
        self.driver.execute_script("localStorage.clear()")
        self.assertEqual(faults(self.driver), [])

    def open(self, page, fragment=""):
        open_page(self.driver, page, fragment)

    def wait(self, condition, what="the page"):
        return wait(self.driver, condition, what=what)

    def click(self, selector):
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def set(self, selector, value, event="change"):
        """What typing into a field or choosing from a list does, in one go."""
        self.driver.execute_script("const field = document.querySelector(arguments[0]); field.value = arguments[1]; field.dispatchEvent(new Event(arguments[2]))",
                                   selector, value, event)

    def unfold(self, how):
        self.set("#unfold", how)

    def at_box(self, side, what="click"):
        """Click, or act otherwise, in the middle of a pane of boxes."""
        canvas = self.driver.find_element(By.CSS_SELECTOR, f"[data-side='{side}'] .box-canvas")
        chain = ActionChains(self.driver).move_to_element(canvas)
        getattr(chain, what)().perform()

    def choose(self, side, name):
        """Click a node. Rows are drawn anew now and then, so it is looked for and clicked in one go."""
        self.wait(f"(() => {{ const cell = [...document.querySelectorAll('[data-side=\"{side}\"] .cell')].find((cell) => cell.title === {json.dumps(name)}); "
                  "cell?.click(); return Boolean(cell); })()", f"the node {name}")

    def picture(self, name, width=1400, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.wait("document.fonts.status === 'loaded'")
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 200))")
        self.driver.save_screenshot(os.path.join(OUT, f"graph_{name}.png"))
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def selected(self, side="npu"):
        return f"document.querySelector('[data-side=\"{side}\"] .row[aria-selected=\"true\"] .cell')?.title"

    def test_the_first_suspicious_node_and_its_partner(self):
        self.open(self.pages.compared())
        self.assertRegex(self.driver.find_element(By.CSS_SELECTOR, ".summary").text, r"nodes, .*suspicious, .*graph/npu against .*graph/bench")
        self.click("#first-suspicious")
        self.wait(f"{self.selected()} === 'Functional.layer_norm.2.forward'")
        self.wait(f"{self.selected('bench')} === 'Functional.layer_norm.2.forward'")
        self.wait("document.querySelector('.detail h2')?.textContent.includes('Functional.layer_norm.2.forward')")
        detail = self.driver.find_element(By.CSS_SELECTOR, ".detail").text
        self.assertIn("6.997486", detail)  # the weight that was multiplied by 1.01: its norm on both sides
        self.assertIn("6.928203", detail)
        self.assertIn("models.py, line", detail)
        crumbs = "return [...document.querySelectorAll('.crumb')].map((crumb) => crumb.textContent)"
        self.assertEqual(self.driver.execute_script(crumbs), ["DefaultModel", "h.1", "ln_1", "layer_norm"])  # which layer, not of what class
        self.picture("compared")

    def test_folding_shows_the_worst_below(self):
        self.open(self.pages.compared())
        self.wait("[...document.querySelectorAll('[data-side=\"npu\"] .row')].some((row) => row.querySelector('.count-bad'))")
        rows = self.driver.execute_script("return document.querySelectorAll('[data-side=\"npu\"] .row').length")
        self.click("[data-side='npu'] .row:nth-child(3) .twisty")
        self.wait(f"document.querySelectorAll('[data-side=\"npu\"] .row').length === {rows + 1}")

    def test_a_name_of_another_kind_is_offered(self):
        self.open(self.pages.compared())  # the list is of suspicious nodes at first
        self.driver.find_element(By.ID, "search").send_keys("arange")
        self.wait("document.querySelector('.found').textContent === 'none suspicious, 1 of any kind'")
        self.click("#find-any")
        self.wait("document.querySelector('.found').textContent.includes('of 1')")
        self.assertEqual(self.driver.execute_script("return document.querySelector('#find-kind').value"), "any")

    def test_keys_of_tabs_are_those_in_sight(self):
        self.open(self.pages.compared())
        body = self.driver.find_element(By.TAG_NAME, "body")
        body.send_keys("2")
        self.wait("document.querySelector('#tab-differences').getAttribute('aria-selected') === 'true'")
        body.send_keys("1")
        self.wait("document.querySelector('#tab-graph').getAttribute('aria-selected') === 'true'")

    def test_search_by_expression(self):
        self.open(self.pages.compared())
        self.set("#find-kind", "any")
        box = self.driver.find_element(By.ID, "search")
        box.send_keys("/mlp.*Linear\\.forward/")
        self.wait("document.querySelector('.found').textContent.includes('of 4')")
        box.send_keys(Keys.ENTER)
        self.wait(f"{self.selected()} === 'Module.h.0.mlp.c_fc.Linear.forward.0'")
        box.send_keys(Keys.ENTER)
        self.wait(f"{self.selected()} === 'Module.h.0.mlp.c_proj.Linear.forward.0'")
        box.clear()
        box.send_keys("/(/")
        self.wait("document.querySelector('#search').classList.contains('bad')")

    def test_keys_walk_through_the_tree(self):
        self.open(self.pages.compared(), "#view=graph&side=npu&node=Module.h.0.GPTBlock.forward.0")
        self.wait(f"{self.selected()} === 'Module.h.0.GPTBlock.forward.0'")
        table = self.driver.find_element(By.CSS_SELECTOR, "[data-side='npu']")
        table.send_keys(Keys.ARROW_RIGHT)
        table.send_keys(Keys.ARROW_RIGHT)
        self.wait(f"{self.selected()} === 'Module.h.0.ln_1.LayerNorm.forward.0'")
        table.send_keys(Keys.ARROW_DOWN)
        self.wait(f"{self.selected()} === 'Module.h.0.attn.GPTAttn.forward.0'")
        table.send_keys(Keys.ARROW_LEFT)
        self.wait(f"{self.selected()} === 'Module.h.0.GPTBlock.forward.0'")
        self.assertIn("Module.h.0.GPTBlock.forward.0", self.driver.execute_script("return decodeURIComponent(location.hash)"))

    def test_language_theme_and_palette(self):
        self.open(self.pages.compared(), "#view=graph&side=npu&node=Functional.softmax.1.forward")
        self.driver.find_element(By.TAG_NAME, "body").send_keys("l")
        self.wait("document.documentElement.lang === 'zh' && document.body.textContent.includes('第一个可疑节点')")
        self.driver.find_element(By.TAG_NAME, "body").send_keys("t")
        self.wait("document.documentElement.dataset.theme === 'dark'")
        self.wait("document.querySelector('.detail h2')?.textContent.includes('Functional.softmax.1.forward')")
        self.wait(f"{self.selected()} === 'Functional.softmax.1.forward'", "the node of the address is in sight")
        self.picture("dark_zh")
        self.driver.find_element(By.TAG_NAME, "body").send_keys("l")
        self.driver.find_element(By.TAG_NAME, "body").send_keys("t")
        self.wait("document.documentElement.lang === 'en'")
        self.click(".legend summary")
        self.driver.find_element(By.ID, "palette").send_keys("of msprobe")
        self.wait("[...document.querySelectorAll('.chip.index')].some((chip) => chip.style.backgroundColor === 'rgb(255, 112, 77)')")

    def test_ranks_and_steps(self):
        self.open(self.pages.ranks())
        self.click("#tab-ranks")
        self.wait("document.querySelectorAll('.matrix-cell .worst').length === 3")
        self.assertEqual(self.driver.execute_script("return [...document.querySelectorAll('.matrix-cell .worst')].map((cell) => cell.textContent)"),
                         ["0", "0", "0.50"])
        self.picture("ranks")
        self.click("tbody tr:nth-child(3) .matrix-cell")
        self.wait(f"{self.selected()} === 'Functional.linear.1.forward'")
        self.driver.find_element(By.ID, "choose-rank").send_keys("0")
        self.wait("document.querySelector('#choose-rank').value === '0' && location.hash.includes('rank=0')")

    def test_communication_leads_to_other_ranks(self):
        self.open(self.pages.communication(), "#view=graph&rank=0&side=npu&node=Distributed.all_reduce.0.forward")
        self.wait("document.querySelectorAll('.partners li').length === 2")
        self.assertEqual(self.driver.execute_script("return [...document.querySelectorAll('.partners li')].map((item) => item.textContent)"),
                         ["⇄ Rank 1Distributed.all_reduce.0.forward0.5", "⇄ Rank 2Distributed.all_reduce.0.forward0"])
        self.assertEqual(self.driver.execute_script("return [...document.querySelectorAll('[data-side=\"npu\"] .communicates')].map((mark) => mark.textContent)"),
                         ["⇄", "←"])
        self.picture("communication")
        self.click(".partners li:nth-child(1) .link")
        self.wait(f"document.querySelector('#choose-rank').value === '1' && {self.selected()} === 'Distributed.all_reduce.0.forward'")
        self.assertIn("rank=1", self.driver.execute_script("return location.hash"))
        self.open(self.pages.communication(), "#view=graph&rank=2&side=bench&node=Distributed.broadcast.0.forward")
        self.wait("document.querySelectorAll('.partners li').length === 2")
        self.assertTrue(self.driver.execute_script("return [...document.querySelectorAll('.partners .fact')].every((mark) => mark.textContent.startsWith('→'))"))

    def test_merged_ranks_say_how(self):
        page = self.pages.merged()
        with open(page, encoding="utf-8") as file:
            whole = file.read()
        blocks = {number: zlib.decompress(base64.b64decode(text)) for number, text in re.findall(r'id="block-(\w+)">([^<]*)', whole)}
        side = json.loads(blocks["meta"])["graphs"][0]["npu"]
        names = blocks[str(side["names"])].decode().split("\0")
        number, remarks = next(iter(json.loads(blocks[str(side["merges"])]).items()))
        self.open(page, f"#view=graph&side=npu&node={names[int(number)]}")
        self.wait("document.querySelectorAll('.merges li').length > 0")
        self.assertEqual(self.driver.execute_script("return [...document.querySelectorAll('.merges li')].map((item) => item.textContent)"), remarks)
        self.picture("merged")

    def test_matching_by_hand(self):
        self.open(self.pages.unmatched(), "#view=graph&side=npu&node=Functional.gelu.0.forward")
        self.unfold("all")
        self.wait("document.querySelector('#match')")
        self.click("#match")
        self.wait("document.querySelector('.notice').textContent.includes('Functional.gelu.0.forward')")
        self.choose("bench", "Functional.linear.0.forward")
        self.wait("document.querySelector('.notice').textContent.includes('has a partner already')")
        self.choose("bench", "Functional.fast_gelu.0.forward")
        self.wait("document.querySelector('.detail .facts')?.textContent.includes('precision index 0.25')")
        self.wait("document.querySelector('.notice').hidden")
        self.assertIn("25%", self.driver.find_element(By.CSS_SELECTOR, ".detail").text)
        self.picture("by_hand")
        self.click("#tab-differences")
        self.wait("document.querySelectorAll('.by-hand li').length === 1")
        self.picture("by_hand_list")
        exported = self.exported("downloads")
        self.assertTrue(os.path.basename(exported).startswith("compare_"), exported)
        with open(exported, encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"Functional.gelu.0.forward": "Functional.fast_gelu.0.forward"})
        os.chmod(exported, 0o640)
        # the program takes the same file
        page = self.pages.graph("rematched", "-tp", self.pages.path("ua"), "-gp", self.pages.path("ub"), "--match", exported)
        self.open(page, "#view=graph&side=npu&node=Functional.gelu.0.forward")
        self.wait("document.querySelector('#unmatch') && document.querySelector('.detail .facts').textContent.includes('fast_gelu')")
        self.click("#unmatch")
        self.wait("document.querySelector('#match')")
        # and so does another page
        self.open(self.pages.unmatched(), "#view=differences")
        self.driver.find_element(By.ID, "import-matches").send_keys(exported)
        self.wait("document.querySelectorAll('.by-hand li').length === 1")

    def exported(self, folder):
        """The file that the browser saves for #export-matches, when all of it is there."""
        place = self.pages.path(folder)
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": place})
        self.click("#export-matches")
        for _ in range(600):
            saved = [path for path in glob.glob(f"{place}/*.vis.config") if os.path.getsize(path)]
            if saved and not glob.glob(f"{place}/*.crdownload"):
                return saved[0]
            time.sleep(0.03)
        self.fail(f"nothing was saved in {place}")

    def test_notes_stay_and_go_out(self):
        self.open(self.pages.built(), "#view=graph&side=npu&node=Functional.softmax.1.forward")
        self.wait("document.querySelector('#add-note')")
        self.click("#add-note")
        self.driver.switch_to.active_element.send_keys("look <b>here</b>", Keys.TAB)
        self.wait("[...document.querySelectorAll('.note-mark')].some((mark) => mark.title === 'look <b>here</b>')")
        self.open(self.pages.built(), "#view=differences")
        self.wait("document.querySelector('.note-text')?.textContent === 'look <b>here</b>'")
        self.picture("notes")
        exported = self.exported("notes_downloads")
        with open(exported, encoding="utf-8") as file:
            self.assertEqual(json.loads(json.load(file)["probe-ut notes and colours"])["notes"]["npu"], {"Functional.softmax.1.forward": "look <b>here</b>"})
        # The program takes the file, and passes over the name that no node has.
        os.chmod(exported, 0o640)
        done = subprocess.run([PROGRAM, "graph", "--format", "html", "-o", self.pages.path("noted"), "-tp", f"{DATA}/graph/npu", "-gp", f"{DATA}/graph/bench", "--match", exported],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_matching_with_all_below(self):
        self.open(self.pages.renamed(), "#view=ranks")
        self.wait("document.querySelectorAll('.matrix-cell .worst').length === 0 && document.querySelectorAll('.matrix-cell b').length === 2")
        self.open(self.pages.renamed(), "#view=graph&rank=1&side=npu&node=Module.m.M.forward.0")
        self.wait("document.querySelector('#match')")
        self.click("#match")
        self.wait("document.querySelector('#match-below').checked")
        self.picture("match_below")
        self.choose("bench", "Module.n.N.forward.0")
        self.wait("document.querySelector('.detail .facts').textContent.includes('Module.n.N.forward.0')")
        self.choose("npu", "Torch.add.1.forward")
        self.wait("document.querySelector('.detail .facts')?.textContent.includes('precision index 0.25')")
        # the other rank has the same names
        self.click("#tab-ranks")
        self.wait("document.querySelectorAll('.matrix-cell .worst').length === 2")
        self.assertEqual(self.driver.execute_script("return [...document.querySelectorAll('.matrix-cell .worst')].map((cell) => cell.textContent)"), ["0", "0.25"])
        self.click("#tab-differences")
        self.wait("document.querySelectorAll('.by-hand li').length === 4")
        self.click("#tab-graph")
        self.choose("npu", "Module.m.M.forward.0")
        self.wait("document.querySelector('#unmatch-below')")
        self.click("#unmatch-below")
        self.wait("document.querySelectorAll('[data-side=\"npu\"] .is-unmatched').length === 4")

    def test_boxes_within_boxes(self):
        self.open(self.pages.compared(), "#form=boxes")
        self.wait("document.querySelector('[data-side=\"bench\"] .box-canvas').dataset.drawn > 5")
        self.click("#first-suspicious")
        self.wait("document.querySelector('.detail h2')?.textContent.startsWith('Functional.layer_norm.2.forward')")
        self.assertIn("form=boxes", self.driver.execute_script("return location.hash"))
        self.wait("document.querySelector('[data-side=\"npu\"] .box-canvas').dataset.drawn > 5")
        self.picture("boxes")
        self.picture("readme", 1200, 780)
        self.driver.find_element(By.TAG_NAME, "body").send_keys("l")
        self.picture("readme_zh", 1200, 780)
        self.driver.find_element(By.TAG_NAME, "body").send_keys("l")
        self.wait("document.querySelector('[data-side=\"bench\"] .box-canvas').dataset.drawn > 5")
        self.open(self.pages.compared(), self.driver.execute_script("return location.hash"))
        self.wait("document.querySelector('.detail h2') && document.querySelector('[data-side=\"bench\"] .box-canvas').dataset.drawn > 5")
        # The node is in the middle of both panes: a click on the other side finds its partner there.
        self.at_box("bench")
        self.wait("new URLSearchParams(location.hash.slice(1)).get('side') === 'bench' && document.querySelector('.detail h2').textContent.startsWith('Functional.layer_norm.2.forward')")
        # Left: to the module around it; left again folds it, and its partner.
        boxes = "Number(document.querySelector('[data-side=\"npu\"] .box-canvas').dataset.boxes)"
        before = self.wait(boxes)
        canvas = self.driver.find_element(By.CSS_SELECTOR, "[data-side='bench'] .box-canvas")
        canvas.send_keys(Keys.ARROW_LEFT)
        self.wait("document.querySelector('.detail h2').textContent.startsWith('Module.h.1.ln_1.LayerNorm.forward.0')")
        canvas.send_keys(Keys.ARROW_LEFT)
        self.wait(f"{boxes} < {before}", "the partner is folded, too")
        canvas.send_keys(Keys.ARROW_RIGHT)
        canvas.send_keys(Keys.ARROW_RIGHT)
        self.wait("document.querySelector('.detail h2').textContent.startsWith('Functional.layer_norm.2.forward')")
        self.unfold("all")
        self.driver.find_element(By.TAG_NAME, "body").send_keys("0")
        self.wait(f"document.querySelector('[data-side=\"npu\"] .box-canvas').dataset.drawn === '132'", "all is in sight")
        self.driver.find_element(By.TAG_NAME, "body").send_keys("t")
        self.picture("boxes_dark")
        self.driver.find_element(By.TAG_NAME, "body").send_keys("t")
        # The mini map leads anywhere.
        self.driver.find_element(By.TAG_NAME, "body").send_keys("wwwwwww")
        self.wait("Number(document.querySelector('[data-side=\"npu\"] .box-canvas').dataset.drawn) < 60")
        map_canvas = self.driver.find_element(By.CSS_SELECTOR, "[data-side='npu'] .box-map")
        title = "document.querySelector('[data-side=\"npu\"] .box-canvas').title"
        ActionChains(self.driver).move_to_element_with_offset(map_canvas, 0, -map_canvas.size["height"] // 2 + 8).click().perform()
        self.at_box("npu", "click")
        first = self.driver.execute_script(f"return {title}")
        ActionChains(self.driver).move_to_element_with_offset(map_canvas, 0, map_canvas.size["height"] // 2 - 8).click().perform()
        self.at_box("npu", "click")
        self.wait(f"{title} !== {json.dumps(first)}", "another part of the model")
        self.driver.find_element(By.TAG_NAME, "body").send_keys("b")
        self.wait("document.querySelector('[data-side=\"npu\"].table') && !document.querySelector('.boxes')")

    def test_double_clicks_unfold_boxes_with_their_partners(self):
        self.open(self.pages.compared(), "#form=boxes&side=npu&node=Module.h.1.GPTBlock.forward.0")
        self.wait("document.querySelector('[data-side=\"npu\"] .box-canvas').dataset.drawn > 5")
        boxes = "Number(document.querySelector('[data-side=\"bench\"] .box-canvas').dataset.boxes)"
        before = self.wait(f"{boxes} || 0")
        place = self.driver.execute_script("const c = document.querySelector('[data-side=\"npu\"] .box-canvas'); return [c.clientWidth, c.clientHeight]")
        self.assertGreater(min(place), 50)
        canvas = self.driver.find_element(By.CSS_SELECTOR, "[data-side='npu'] .box-canvas")
        # look for the box below the pointer from the top down
        for y in range(6, place[1], 8):
            ActionChains(self.driver).move_to_element_with_offset(canvas, 40, y - place[1] // 2).perform()
            if self.driver.execute_script("return arguments[0].title", canvas) == "Module.h.1.GPTBlock.forward.0":
                break
        # Two clicks may come too far apart on a machine that is busy.
        self.driver.execute_script("const box = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent(new MouseEvent('dblclick', "
                                   "{clientX: box.left + box.width / 2 + 40, clientY: box.top + box.height / 2 + arguments[1]}))", canvas, y - place[1] // 2)
        self.wait(f"{boxes} > {before}", "the partner unfolds too")

    def test_the_list_of_what_was_found(self):
        self.open(self.pages.compared())
        self.click("#list")
        self.wait("document.querySelectorAll('.found-list .row').length > 10")
        self.driver.execute_script("document.querySelectorAll('.found-list .row')[2].click()")
        self.wait("document.querySelector('.found').textContent.startsWith('3 of 33')")
        self.click("#filters")
        self.set("#find-kind", "calls")
        self.set("#find-type", "Functional.layer_norm")
        self.wait("document.querySelector('.found').textContent.endsWith('of 10')")
        self.set("#find-from", "0.9", "input")
        self.wait("/of [1-9]$/.test(document.querySelector('.found').textContent)")
        self.picture("filters")
        self.picture("list", 1200, 780)
        self.click("#clear")
        self.set("#find-shape", "[2,24,48]", "input")
        self.wait("/of \\d+$/.test(document.querySelector('.found').textContent)")
        with_shape = self.driver.execute_script("return Number(document.querySelector('.found').textContent.split(' ').at(-1))")
        with open(f"{DATA}/graph/npu/dump.json", encoding="utf-8") as file:
            dump = json.load(file)["data"]
        wanted = sum("[2, 24, 48]" in json.dumps(entry) for entry in dump.values())
        self.assertEqual(with_shape, wanted)
        self.click("#clear")
        self.wait("document.querySelector('#find-metric option[value=\"MeanRelativeErr\"]')")
        self.set("#find-metric", "MeanRelativeErr")
        self.set("#find-from", "50", "input")
        self.wait("/of \\d+$/.test(document.querySelector('.found').textContent)")
        self.click("#find-next")
        self.wait("[...document.querySelectorAll('.rows td')].some((cell) => Number.parseFloat(cell.textContent) >= 50 && cell.textContent.endsWith('%'))")
        self.click("#clear")
        self.set("#find-kind", "critical")
        self.wait("/of [1-9]/.test(document.querySelector('.found').textContent)")

    def test_which_errors_count(self):
        self.open(self.pages.compared(), "#view=graph&side=npu&node=Functional.layer_norm.2.forward")
        self.wait("document.querySelector('.detail .facts')?.textContent.includes('precision index 1')")
        self.click(".legend summary")
        self.picture("legend")
        for name in ("Max", "Min", "Mean"):
            self.driver.execute_script("[...document.querySelectorAll('.errors label')].find((label) => label.textContent === arguments[0]).querySelector('input').click()", name)
            self.wait("document.documentElement.dataset.ready")
            time.sleep(0.3)
        self.wait("document.querySelector('.detail .facts')?.textContent.includes('precision index 0.0')")

    def test_values_along_the_execution(self):
        self.open(self.pages.compared(), "#view=graph&side=npu&node=Functional.layer_norm.2.forward")
        self.wait("document.querySelector('.values summary')")
        self.driver.execute_script("document.querySelector('.values').open = true")
        self.wait("document.querySelector('.values canvas')?.getAttribute('aria-label').startsWith('Max')")
        self.driver.find_element(By.ID, "statistic").send_keys("Norm")
        self.wait("document.querySelector('.values canvas')?.getAttribute('aria-label').startsWith('Norm')")
        self.wait("globalThis.Chart?.getChart(document.querySelector('.values canvas'))?.data.datasets.length === 2", "both sides are drawn")
        self.set("#tensor", "input.2")
        self.wait("globalThis.Chart?.getChart(document.querySelector('.values canvas'))?.data.datasets[0].numbers.some((value) => Math.abs(value - 6.997486) < 1e-5)", "the norm of the weight")
        self.driver.execute_script("document.querySelector('.values').scrollIntoView()")
        self.picture("values")

    def test_dumps_of_structure(self):
        self.open(self.pages.structure())
        self.assertIn("1 unmatched", self.driver.find_element(By.CSS_SELECTOR, ".summary").text)
        self.assertEqual(self.driver.execute_script("return document.querySelectorAll('#first-suspicious, .legend').length"), 0)
        self.click("#find-next")
        self.wait(f"{self.selected()} === 'Functional.linear.5.forward'")
        self.picture("structure")
        self.open(self.pages.structure(), "#view=differences")
        self.wait("[...document.querySelectorAll('.difference-list .link')].map((link) => link.textContent).join() === 'Functional.linear.5.forward'")

    def test_structure(self):
        self.open(self.pages.compared(), "#view=differences")
        self.wait("document.body.textContent.includes('Both sides have the same structure.')")

    def test_a_built_graph_has_one_pane(self):
        self.open(self.pages.built())
        self.assertEqual(self.driver.execute_script("return document.querySelectorAll('.panes [data-side]').length"), 1)
        self.unfold("all")
        self.wait("document.querySelectorAll('.row').length > 10")
        self.picture("built")

    def test_a_narrow_window(self):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 560, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        try:
            self.open(self.pages.compared())
            self.click("#first-suspicious")
            self.wait("document.querySelector('.detail h2')")
            self.wait("(() => { const row = document.querySelector('[data-side=\"npu\"] .row[aria-selected=\"true\"]')?.getBoundingClientRect(), "
                      "pane = document.querySelector('[data-side=\"npu\"]').getBoundingClientRect(); "
                      "return row && row.top >= pane.top && row.bottom <= pane.bottom; })()", "the selection is in sight")
            self.assertTrue(self.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"))
            self.picture("narrow", 560)
        finally:
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def test_a_menu_at_the_pointer(self):
        self.open(self.pages.communication(), "#view=graph&rank=0&side=npu&node=Distributed.all_reduce.0.forward")
        self.wait("document.querySelectorAll('.partners li').length === 2")
        row = self.driver.find_element(By.CSS_SELECTOR, "[data-side='npu'] .row[aria-selected='true'] .cell")
        ActionChains(self.driver).context_click(row).perform()
        self.wait("document.querySelectorAll('.node-menu [role=menuitem]').length >= 5")
        self.assertEqual(self.driver.execute_script("return document.activeElement.textContent"), "Go to the partner")
        self.picture("menu")
        self.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        self.assertEqual(self.driver.execute_script("return document.activeElement.textContent"), "Go to rank 1: Distributed.all_reduce.0.forward")
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.wait(f"document.querySelector('#choose-rank').value === '1' && {self.selected()} === 'Distributed.all_reduce.0.forward'")
        self.assertTrue(self.driver.execute_script("return document.querySelector('.node-menu').hidden"))

    def test_the_line_between_panes_and_detail_moves(self):
        self.open(self.pages.compared(), "#view=graph&side=npu&node=Functional.layer_norm.2.forward")
        self.wait("document.querySelector('.detail h2')")
        height = "return document.querySelector('.detail').offsetHeight"
        before = self.driver.execute_script(height)
        self.driver.find_element(By.CSS_SELECTOR, ".splitter").send_keys(Keys.ARROW_UP)
        self.assertGreater(self.driver.execute_script(height), before)
        ActionChains(self.driver).drag_and_drop_by_offset(self.driver.find_element(By.CSS_SELECTOR, ".splitter"), 0, 150).perform()
        self.assertLess(self.driver.execute_script(height), before)
        self.wait("(() => { const row = document.querySelector('[data-side=\"npu\"] .row[aria-selected=\"true\"]')?.getBoundingClientRect(), "
                  "pane = document.querySelector('[data-side=\"npu\"]').getBoundingClientRect(); return row && row.top >= pane.top && row.bottom <= pane.bottom; })()")

    def test_columns_can_be_chosen(self):
        self.open(self.pages.compared(), "#view=graph&side=npu&node=Functional.layer_norm.2.forward")
        self.wait("document.querySelector('.rows th.metric')")
        self.click(".columns-menu summary")
        heads = "[...document.querySelectorAll('.rows th')].map((head) => head.textContent)"
        self.assertIn("Max diff", self.driver.execute_script(f"return {heads}"))
        self.driver.execute_script("[...document.querySelectorAll('.columns-menu label')].find((label) => label.textContent === 'Max diff').querySelector('input').click()")
        self.wait(f"!{heads}.includes('Max diff') && document.querySelector('.columns-menu').open")
        self.picture("columns")
        self.open(self.pages.compared(), "#view=graph&side=npu&node=Functional.gelu.0.forward")
        self.wait("document.querySelector('.rows th.metric')")
        self.assertNotIn("Max diff", self.driver.execute_script(f"return {heads}"))

    def test_a_page_that_was_cut_short(self):
        with open(self.pages.compared(), encoding="utf-8") as file:
            whole = file.read()
        rows = json.loads(zlib.decompress(base64.b64decode(re.search(r'id="block-meta">([^<]*)', whole)[1])))["graphs"][0]["npu"]["rows"][0]
        damaged = self.pages.path("damaged.html")
        with open(damaged, "w", encoding="utf-8") as file:
            file.write(whole.replace(f'id="block-{rows}"', 'id="gone"'))
        self.open(damaged)
        self.click("#first-suspicious")
        self.wait("document.querySelector('.detail-fault')?.textContent.includes(`block ${" + str(rows) + "} is missing`)")
        with open(damaged, "w", encoding="utf-8") as file:
            file.write(whole[:len(whole) // 3])
        self.driver.get(f"file://{damaged}")
        time.sleep(0.3)
        self.assertEqual([fault for fault in faults(self.driver) if "Content Security" in fault], [])

    def test_names_with_markup_are_texts(self):
        self.open(self.pages.hostile())
        self.unfold("all")
        self.wait("document.querySelectorAll('[data-side=\"npu\"] .row').length >= 7")
        for i, evil in enumerate(EVIL):
            name = f"Functional.{evil}.{i}.forward"
            self.choose("npu", name)
            self.wait(f"document.querySelector('.detail h2')?.textContent.startsWith({json.dumps(name)})")
            self.assertEqual(self.driver.execute_script("return document.title"), "Model graph")
        self.click("#form-boxes")
        self.wait("document.querySelector('[data-side=\"npu\"] .box-canvas').dataset.drawn === '7'")
        self.picture("hostile")
        self.click("#list")
        self.set("#find-kind", "any")
        self.set("#search", "script", "input")
        self.wait("document.querySelectorAll('.found-list .row').length === 1")
        self.assertIsNone(self.driver.execute_script("return window.evil ?? null"))
        self.assertEqual(self.driver.execute_script("return document.querySelectorAll('#page img, #page b + script').length"), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
