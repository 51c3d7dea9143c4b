#!/usr/bin/python3
"""test_live.py LIVE_SERVER OUT [NAME ...]

The live page in a real browser, over HTTP: what it shows of a made-up run, that it follows the run, what it says
when the server is gone, and that no text of the run becomes markup. Leaves its pictures in OUT.
"""
import http.client
import os
import subprocess
import sys
import unittest
from urllib.parse import urlsplit

from selenium.webdriver.common.by import By

from browser import browser, faults, wait

SERVER, OUT = sys.argv[1:3]


class Run:
    """A live view; the commands of live_server.c are its methods' argument."""

    def __init__(self, *words):
        self.process = subprocess.Popen([SERVER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def ask(self, path="/", method="GET", host=None, **headers):
        """Status, headers and body of a request."""
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=10)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or place.netloc)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), body.decode()


def picture(driver, name):
    os.makedirs(OUT, exist_ok=True)
    driver.save_screenshot(os.path.join(OUT, f"live-{name}.png"))


def answers(driver):
    return int(driver.execute_script("return document.documentElement.dataset.answers ?? 0"))


def open_live(driver, run):
    driver.get(run.url)
    wait(driver, "document.documentElement.dataset.answers")


def after_next_answer(driver):
    wait(driver, f"Number(document.documentElement.dataset.answers) > {answers(driver) + 1}")


def text(driver, selector):
    return texts(driver, selector)[0]


def texts(driver, selector, what="innerText"):
    """Of every element, in one question: the page may draw itself anew between two."""
    script = "return [...document.querySelectorAll(arguments[0])].map(element => element[arguments[1]].trim())"
    return driver.execute_script(script, selector, what)


class Requests(unittest.TestCase):
    """What stands behind the page."""

    def test_headers_of_every_answer(self):
        with Run() as run:
            for path in ("/", "/live.json", "/report", "/nowhere"):
                status, headers, _ = run.ask(path)
                self.assertEqual(status, 404 if path == "/nowhere" else 200)
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                self.assertEqual(headers["Cache-Control"], "no-store")
                self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])

    def test_only_reading(self):
        with Run() as run:
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                self.assertEqual(run.ask("/", method)[0], 405, method)
            self.assertEqual(run.ask("/", "HEAD")[2], "")

    def test_other_names_are_refused(self):
        """A page of a stranger whose name leads to this host (DNS rebinding) reads nothing."""
        with Run() as run:
            for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""):
                self.assertEqual(run.ask("/live.json", host=host or " ")[0], 403, host)
            port = urlsplit(run.url).port
            for host in ("127.0.0.1", f"localhost:{port}", f"[::1]:{port}"):
                self.assertEqual(run.ask("/live.json", host=host)[0], 200, host)

    def test_token(self):
        with Run("s3cret-token") as run:
            self.assertEqual(run.ask("/live.json")[0], 401)
            self.assertEqual(run.ask("/?token=s3cret-toke")[0], 401)
            status, headers, _ = run.ask("/?token=s3cret-token")
            self.assertEqual((status, headers["Location"]), (303, "/"))
            self.assertIn("HttpOnly", headers["Set-Cookie"])
            self.assertIn("SameSite=Strict", headers["Set-Cookie"])
            cookie = headers["Set-Cookie"].split(";")[0]
            self.assertEqual(run.ask("/live.json", Cookie=cookie)[0], 200)
            self.assertEqual(run.ask("/live.json", Cookie="probe_token=x")[0], 401)


class Page(unittest.TestCase):
    def test_a_good_run(self):
        with Run() as run, browser() as driver:
            open_live(driver, run)
            self.assertEqual(text(driver, ".state"), "running")
            self.assertEqual(text(driver, "[data-verdict=error] .tile-count"), "0")
            self.assertEqual(text(driver, "[data-verdict=SKIP] .tile-count").replace("\u202f", ""), str(8 * 40 * 17))
            self.assertIn("Nothing is wrong", text(driver, ".bad-calls"))
            self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".grid tbody tr")), 8)
            self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".grid .step")), 24)
            self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".clients tbody tr")), 8)
            for _ in range(4):
                after_next_answer(driver)
            picture(driver, "good")
            self.assertEqual(faults(driver), [])

    def test_errors_come_while_it_is_open(self):
        with Run() as run, browser() as driver:
            open_live(driver, run)
            run.tell("bad")
            wait(driver, "document.querySelector('.call-name')")
            self.assertIn("layer_norm", text(driver, ".call-name"))
            self.assertIn("rank 3, step 5", text(driver, ".call-head"))
            self.assertEqual(text(driver, "[data-gauge=dropped] .gauge-value"), "421")
            squares = texts(driver, "[data-rank='3'] .square.error")
            self.assertGreater(len(squares), 10)
            self.assertEqual(squares[0], "2")
            self.assertIn("rank 3, step 5: 2 error", texts(driver, "[data-rank='3'] .square.error", "title")[0])
            # steps 5, 7, 8, .. of long ago are there besides the last ones
            steps = texts(driver, ".grid .step")
            self.assertIn("5", steps)
            self.assertNotIn("6", steps)
            self.assertIn("39", steps)
            after_next_answer(driver)
            picture(driver, "errors")
            self.assertEqual(faults(driver), [])

    def test_steps_follow_the_newest(self):
        end = "const box = document.querySelector('.grid-box'); return box.scrollWidth - box.clientWidth - box.scrollLeft"
        with Run() as run, browser(width=600) as driver:
            open_live(driver, run)
            self.assertLessEqual(driver.execute_script(end), 1)
            self.assertGreater(driver.execute_script("return document.querySelector('.grid-box').scrollLeft"), 20)
            self.assertEqual(driver.execute_script("return document.querySelector('.clients').scrollLeft"), 0)
            after_next_answer(driver)
            self.assertLessEqual(driver.execute_script(end), 1)
            driver.execute_script("document.querySelector('.grid-box').scrollLeft = 7")
            after_next_answer(driver)
            self.assertEqual(driver.execute_script("return document.querySelector('.grid-box').scrollLeft"), 7)
            picture(driver, "narrow")
            driver.find_element(By.TAG_NAME, "body").send_keys("t")
            after_next_answer(driver)
            picture(driver, "narrow-other-theme")
            self.assertEqual(faults(driver), [])

    def test_boxes_stay_where_they_were_scrolled_to(self):
        boxes = (".grid-box", ".clients")
        top = "return document.querySelector(arguments[0]).scrollTop"
        with Run() as run, browser() as driver:
            run.tell("many")
            open_live(driver, run)
            wait(driver, "document.querySelectorAll('.grid tbody tr').length === 64")
            for box in boxes:
                self.assertEqual(driver.execute_script(top, box), 0)
                driver.execute_script("document.querySelector(arguments[0]).scrollTop = 90", box)
            after_next_answer(driver)
            for box in boxes:
                self.assertEqual(driver.execute_script(top, box), 90)
            picture(driver, "many")
            self.assertEqual(faults(driver), [])

    def test_texts_stay_texts(self):
        with Run() as run, browser() as driver:
            run.tell("bad")
            open_live(driver, run)
            wait(driver, "document.querySelectorAll('.call-name').length === 2")
            self.assertIn("<script>alert(2)</script>", texts(driver, ".call-name")[1])
            self.assertIn("<img src=x", text(driver, ".call .why"))
            self.assertEqual(driver.execute_script("return document.querySelectorAll('main script, main img, main b').length"), 0)
            self.assertEqual(faults(driver), [])

    def test_trouble_and_the_end(self):
        with Run() as run, browser() as driver:
            open_live(driver, run)
            run.tell("trouble")
            wait(driver, "document.querySelector('.notice')")
            self.assertIn("No space left", text(driver, ".notice"))
            self.assertEqual(text(driver, ".state"), "waiting")
            run.tell("over")
            wait(driver, "document.querySelector('.state.over')")
            self.assertEqual(driver.find_elements(By.CSS_SELECTOR, ".notice"), [])
            self.assertIn("over", driver.title)
            self.assertIn("done", text(driver, ".clients"))

    def test_a_server_that_is_gone(self):
        with browser() as driver:
            with Run() as run:
                open_live(driver, run)
            wait(driver, "document.querySelector('.state.lost')")
            self.assertIn("has not answered", text(driver, ".notice"))
            self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".grid tbody tr")), 8)

    def test_chinese_dark_and_narrow(self):
        with Run() as run, browser(width=420, height=900, language="zh-CN") as driver:
            run.tell("bad")
            open_live(driver, run)
            wait(driver, "document.querySelector('.call-name')")
            self.assertEqual(text(driver, ".state"), "运行中")
            driver.find_element(By.TAG_NAME, "body").send_keys("t")
            theme = driver.execute_script("return document.documentElement.dataset.theme")
            after_next_answer(driver)
            self.assertLessEqual(driver.execute_script("return document.documentElement.scrollWidth"), 420)
            picture(driver, f"narrow-{theme}")
            driver.find_element(By.TAG_NAME, "body").send_keys("l")
            self.assertEqual(text(driver, ".state"), "running")
        with Run() as run, browser(language="zh-CN") as driver:
            run.tell("bad")
            open_live(driver, run)
            wait(driver, "document.querySelector('.call-name')")
            driver.find_element(By.TAG_NAME, "body").send_keys("t")
            for _ in range(3):
                after_next_answer(driver)
            picture(driver, "chinese-dark")

    def test_report(self):
        with Run() as run, browser() as driver:
            driver.get(run.url + "report")
            self.assertIn("the rows so far", driver.page_source)

    def test_token_leads_to_the_page(self):
        with Run("s3cret-token") as run, browser() as driver:
            driver.get(run.url + "?token=s3cret-token")
            wait(driver, "document.documentElement.dataset.answers")
            self.assertNotIn("s3cret", driver.current_url)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
