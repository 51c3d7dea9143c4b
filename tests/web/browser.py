"""A headless Chromium for the tests of pages: Debian's chromium and chromium-driver through
python3-selenium. Nothing reaches a network: pages are opened from disk, with a fresh profile each."""
import contextlib
import os
import shutil
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1"]


@contextlib.contextmanager
def browser(width=1400, height=900, language="en-US"):
    profile = tempfile.mkdtemp(prefix="probe-browser-")
    options = Options()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS + [f"--user-data-dir={profile}", f"--window-size={width},{height}", f"--lang={language}"]:
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"intl.accept_languages": language})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    try:
        # The window's size counts its frame; the page's size is what is meant.
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        yield driver
    finally:
        driver.quit()
        shutil.rmtree(profile, ignore_errors=True)


def wait(driver, condition, seconds=30, what="the page"):
    """Poll a JavaScript expression until it is true; its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = driver.execute_script(f"return {condition}")
        if value:
            return value
        time.sleep(0.03)
    raise AssertionError(f"{what}: '{condition}' stayed false for {seconds} s")


def open_page(driver, path, fragment="", seconds=60):
    """Open a page and wait until it is ready; the seconds that took."""
    since = time.monotonic()
    driver.get("about:blank")
    driver.get(f"file://{os.path.abspath(path)}{fragment}")
    state = wait(driver, "document.documentElement.dataset.ready", seconds)
    assert state == "true", driver.find_element("css selector", "#page").text
    return time.monotonic() - since


def faults(driver):
    """Messages of the console that say something is wrong."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
