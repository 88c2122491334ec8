"""A browser that is driven by WebDriver: Debian's chromium and chromium-driver, without a display."""

import base64
import json
import os
import subprocess
import time
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"]
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Right": "\ue014"}


class Browser:
    """One window. Clicks, keys and the wheel are those of a user."""

    def __init__(self, size=(1400, 900), dark=False):
        port = 20000 + os.getpid() % 20000
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        flags = FLAGS + [f"--window-size={size[0]},{size[1]}"] + (["--force-dark-mode"] if dark else [])
        options = {"args": flags, "prefs": {}}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        for _ in range(100):
            try:
                answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError("chromedriver does not answer")
        self.base += "/session/" + answer["sessionId"]

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, file, place=""):
        """Opens a file at a place, and waits until it is drawn. Returns the seconds until then."""
        self.ask("POST", "/url", {"url": "about:blank"})
        begin = time.monotonic()
        self.ask("POST", "/url", {"url": "file://" + urllib.request.pathname2url(os.path.abspath(file)) + place})
        self.wait("return document.documentElement.dataset.ready === '1'")
        return time.monotonic() - begin

    def run(self, script, *words):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(words)})

    def wait(self, script, seconds=20):
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise AssertionError(f"not true after {seconds} s: {script}; page: {self.text()[:400]}")
            time.sleep(0.03)

    def text(self, selector="body"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def place(self):
        return self.run("return location.hash")

    def actions(self, kind, name, steps, parameters=None):
        source = {"type": kind, "id": name, "actions": steps}
        if parameters:
            source["parameters"] = parameters
        self.ask("POST", "/actions", {"actions": [source]})

    def keys(self, *keys):
        for key in keys:
            value = KEYS.get(key, key)
            self.actions("key", "keyboard", [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}])

    def type(self, text):
        self.keys(*text)

    def point(self, x, y, times=1):
        move = {"type": "pointerMove", "x": int(x), "y": int(y), "duration": 0}
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.actions("pointer", "mouse", [move] + press * times, {"pointerType": "mouse"})

    def drag(self, x, y, to_x, to_y):
        self.actions("pointer", "mouse", [
            {"type": "pointerMove", "x": x, "y": y, "duration": 0}, {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": to_x, "y": to_y, "duration": 80}, {"type": "pointerUp", "button": 0},
        ], {"pointerType": "mouse"})

    def wheel(self, x, y, turn):
        self.actions("wheel", "wheel", [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": turn, "duration": 0, "origin": "viewport"}])

    def click(self, selector, text=None):
        """Clicks the middle of the first element with this text."""
        place = self.run("""
            const all = [...document.querySelectorAll(arguments[0])];
            const one = all.find(of => arguments[1] === null || of.textContent.includes(arguments[1]));
            one?.scrollIntoView({block: 'nearest'});
            const box = one?.getBoundingClientRect();
            return box && [box.left + box.width / 2, box.top + box.height / 2];""", selector, text)
        assert place, f"no {selector} with {text}"
        self.point(*place)

    def shot(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def complaints(self):
        """Lines of the console that are errors or warnings, but for those on the tests' own look at pixels."""
        lines = self.ask("POST", "/se/log", {"type": "browser"})
        lines = [line["message"] for line in lines if line["level"] in ("SEVERE", "WARNING")]
        return [line for line in lines if "getImageData" not in line]

    def close(self):
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
