#!/usr/bin/env python3
"""Opens pages of `cutap view` in a browser and uses them: tests/browser/view.py CUTAP PROGRAM [FOLDER].

CUTAP is the program, PROGRAM is gpu_work of tests/programs. Screenshots go to FOLDER, for people to look at. Without
chromium and chromedriver it says so and ends with 0.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from driver import Browser

PAGES = ["Overview", "Timeline", "Calls", "Functions", "Memory", "Errors and waits"]


def cutap(program, *words, code=0):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == code, (words, done)


def recordings(program, work, folder):
    """Files to draw, and the pages that each must have."""
    torch = os.path.join(folder, "torch.cutap")
    cutap(program, "demo", "--recording", torch)
    gpu = os.path.join(folder, "gpu.cutap")
    cutap(program, "record", "-q", "--sim", "--gpu-time", "-o", gpu, work)
    none = os.path.join(folder, "none.cutap")
    cutap(program, "record", "-q", "--sim", "-o", none, "/bin/true")
    cut = os.path.join(folder, "cut.cutap")
    with open(gpu, "rb") as whole, open(cut, "wb") as part:
        part.write(whole.read()[:-3000])
    name = os.path.join(folder, "<img src=x onerror=document.title='run'>\u202e<b>")
    shutil.copy(work, name)
    hostile = os.path.join(folder, "<svg onload=document.title='run'>.cutap")
    words = [program, "record", "-q", "--sim", "-o", hostile, name, "</script>", "x" * 10000]
    environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(work)}
    subprocess.run(words, capture_output=True, check=False, env=environment)
    ranks = [gpu, torch]
    ranks_pages = PAGES[:5] + ["Ranks"] + PAGES[5:]
    return [("torch", [torch], PAGES, 0), ("gpu", [gpu], PAGES[:5], 0), ("none", [none], PAGES[:1], 0),
            ("cut", [cut], PAGES[:2], 125), ("hostile", [hostile], PAGES[:3], 0), ("ranks", ranks, ranks_pages, 0)]


def has_all_pages(browser, name, pages, shots):
    links = browser.run("return [...document.querySelectorAll('nav a')].map(a => a.textContent)")
    assert all(page in links for page in pages), (name, links)
    for page in links:
        browser.click("nav a", page)
        browser.wait(f"return document.querySelector('nav a[aria-current]').textContent === '{page}'")
        assert len(browser.text("main")) > 20, (name, page)
        browser.wait("return new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true), 50)))")
        browser.shot(os.path.join(shots, f"{name}-{page.split()[0].lower()}.png"))
    assert browser.run("return performance.getEntriesByType('resource').length") == 0, "a request"


def timeline(browser, file, shots):
    """Zoom, search, select, links: the answers are seen in the address and in the panel."""
    browser.open(file, "#timeline")
    assert "in this window" in browser.text("aside")
    browser.keys("w", "w", "d")
    browser.wait("return location.hash.includes('t=')")
    zoomed = browser.place()
    browser.wheel(500, 300, -300)
    browser.wait(f"return location.hash !== '{zoomed}'")
    browser.drag(600, 400, 400, 400)
    browser.keys("0")
    browser.wait("return !location.hash.includes('t=')")
    browser.keys("/")
    browser.type("cuLaunchKernel")
    browser.wait("return document.querySelector('.chartbar .quiet').textContent.includes(' of ')")
    found = browser.text(".chartbar .quiet")
    assert "% of the run" in found, found
    browser.keys("Enter")
    browser.wait("return location.hash.includes('s=')")
    browser.wait("return document.querySelector('aside').innerText.includes('arguments')")
    panel = browser.text("aside")
    assert "cuLaunchKernel" in panel and "CUDA_SUCCESS" in panel and "gridDimX=" in panel, panel
    browser.wait("return new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true), 400)))")
    place = browser.place()
    browser.shot(os.path.join(shots, "selected.png"))
    # The address alone leads to the same view.
    browser.open(file, place)
    browser.wait("return document.querySelector('aside').innerText.includes('gridDimX=')")
    assert browser.place() == place
    assert browser.text("aside") == panel
    browser.click("aside button", "later")
    browser.wait(f"return location.hash !== {place!r}")
    browser.keys("Escape")
    browser.wait("return !location.hash.includes('s=') && !location.hash.includes('q=')")
    browser.keys("?")
    browser.wait("return document.querySelector('dialog')?.open === true")
    browser.shot(os.path.join(shots, "help.png"))
    browser.keys("Escape")
    browser.wait("return document.querySelector('dialog') === null")


def long_boxes_are_drawn(browser, file):
    """A long call that begins in the same pixel as short ones has its colour, at each zoom."""
    browser.open(file, "#timeline&q=cublasCreate_v2")
    browser.click("input")
    browser.keys("Enter")
    browser.wait("return location.hash.includes('s=')")
    middle, step = browser.run("return location.hash.match(/t=(\\d+)%2C(\\d+)/).slice(1).map(Number)"), 1.0
    middle, half = (middle[0] + middle[1]) / 2, (middle[1] - middle[0]) / 2
    for step in range(1, 12):
        browser.open(file, f"#timeline&t={round(middle - half * step)}%2C{round(middle + half * step)}")
        browser.wait("return new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true), 60)))")
        colours = browser.run("""
            const canvas = document.querySelector('canvas');
            const ratio = canvas.width / canvas.clientWidth;
            const at = y => [...canvas.getContext('2d').getImageData(canvas.width / 2, y * ratio, 1, 1).data].join(' ');
            return [at(22 + 20 + 8), at(canvas.clientHeight - 4)];""")
        assert colours[0] != colours[1], f"no box at zoom {step}: {colours}"


def click_selects(browser, file):
    """The first box of the first lane begins a bit behind the left edge: a click on it selects it."""
    browser.open(file, "#timeline")
    for x in range(4, 400, 4):
        browser.point(x, 87 + 22 + 20 + 8)
        if "s=" in browser.place():
            break
    browser.wait("return document.querySelector('aside').innerText.includes('took')")
    browser.point(4, 700)
    browser.wait("return !location.hash.includes('s=')")


def calls(browser, file, shots):
    browser.open(file, "#calls")
    browser.point(300, 87 + 22 + 28)
    browser.wait("return document.querySelector('aside').innerText.includes('in itself')")
    browser.click("aside button", "callers and callees")
    browser.wait("return location.hash.includes('mode=around')")
    browser.shot(os.path.join(shots, "around.png"))
    browser.click("button", "from each function")
    browser.wait("return location.hash.includes('mode=up')")
    browser.click("button", "by count")
    browser.wait("return location.hash.includes('by=count')")


def difference(browser, program, folder, shots):
    """Two runs in one page: the table, the icicle, a selected box, and the search."""
    before, after = os.path.join(folder, "torch.cutap"), os.path.join(folder, "gpu.cutap")
    file = os.path.join(folder, "difference.html")
    cutap(program, "diff", "--html", file, before, after, code=1)
    browser.open(file)
    links = browser.run("return [...document.querySelectorAll('nav a')].map(a => a.textContent)")
    assert links == ["Functions that differ", "Calls"], links
    browser.click("th", "calls B")
    browser.wait("return document.querySelector('th[aria-sort=descending]').textContent.startsWith('calls B')")
    assert "cuLaunchKernel" in browser.text("tbody"), browser.text("tbody")[:400]
    browser.shot(os.path.join(shots, "difference-table.png"))
    browser.click("nav a", "Calls")
    browser.wait("return document.querySelector('canvas') !== null")
    browser.point(300, 87 + 22 + 28)
    browser.wait("return document.querySelector('aside').innerText.includes('calls here')")
    browser.keys("/")
    browser.type("cuLaunchKernel")
    browser.wait("return document.querySelector('.chartbar .quiet').textContent.includes('\u2192')")
    browser.shot(os.path.join(shots, "difference-calls.png"))
    browser.keys("Escape")
    browser.click("button", "by count")
    browser.wait("return location.hash.includes('by=count')")


def windows(browser, program, file, run):
    """The panel of a window says what a report of that time says."""
    browser.open(file, "#timeline")
    browser.keys("w", "w", "w")
    browser.wait("return location.hash.includes('t=')")
    for keys in ("d", "w", "w", "a", "w"):
        browser.keys(keys)
        browser.wait("return new Promise(done => setTimeout(() => done(true), 400))")
        start, end = browser.run("return location.hash.match(/t=(\\d+)%2C(\\d+)/).slice(1).map(Number)")
        rows = browser.run("return [...document.querySelectorAll('aside table tr')]"
                           ".map(row => [...row.children].map(cell => cell.textContent))")
        words = ["report", "--json", "--by", "function", "--from", f"{start}ns", "--to", f"{end}ns", run]
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        wanted = {line["name"]: line["calls"] for line in lines if line["type"] != "end"}
        shown = {row[-1]: int("".join(c for c in row[1] if c.isdigit())) for row in rows if row[-1] in wanted}
        assert shown and all(wanted[name] == calls for name, calls in shown.items()), (start, end, shown, wanted)


def functions(browser, file):
    browser.open(file, "#functions")
    browser.click("th", "calls")
    browser.wait("return document.querySelector('th[aria-sort=descending]').textContent.startsWith('calls')")
    counts = browser.run("return [...document.querySelectorAll('tbody tr')].slice(0, 30)"
                         ".map(row => Number(row.children[3].textContent.replace(/\\D/g, '')))")
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1], counts
    browser.keys("/")
    browser.type("memalloc")
    browser.wait("return document.querySelector('.tools .quiet').textContent.includes(' of ')")
    browser.click("tbody tr")
    browser.wait("return document.querySelector('.histogram') !== null")
    browser.click("button", "find in the timeline")
    browser.wait("return location.hash.startsWith('#timeline') && location.hash.includes('q=')")


def memory(browser, file):
    browser.open(file, "#memory")
    box = browser.run("const b = document.querySelector('.curve').getBoundingClientRect();"
                      "return [b.left, b.top, b.width, b.height]")
    browser.point(box[0] + 3, box[1] + 50)
    early = browser.text(".card")
    browser.point(box[0] + box[2] - 3, box[1] + 50)
    late = browser.text(".card")
    assert early != late and "cudaMalloc" in late, (early, late)


def main():
    program, work = sys.argv[1:3]
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("skipped: pages of cutap view: no chromium and chromedriver here")
        return
    with tempfile.TemporaryDirectory(prefix="cutap-view-") as folder:
        shots = sys.argv[3] if len(sys.argv) > 3 else folder
        os.makedirs(shots, exist_ok=True)
        browser = Browser()
        try:
            for name, runs, pages, code in recordings(program, work, folder):
                file = os.path.join(folder, name + ".html")
                cutap(program, "view", "--no-open", "-o", file, *runs, code=code)
                seconds = browser.open(file)
                title = browser.run("return document.title")
                has_all_pages(browser, name, pages, shots)
                assert browser.run("return document.title") == title != "run", name
                assert browser.run("return document.querySelectorAll('img, iframe, object, b svg').length") == 0
                print(f"{name}: {os.path.getsize(file)} bytes, drawn after {seconds:.2f} s")
            torch, gpu = os.path.join(folder, "torch.html"), os.path.join(folder, "gpu.html")
            timeline(browser, torch, shots)
            timeline(browser, gpu, shots)
            long_boxes_are_drawn(browser, torch)
            click_selects(browser, gpu)
            calls(browser, torch, shots)
            functions(browser, torch)
            memory(browser, torch)
            difference(browser, program, folder, shots)
            windows(browser, program, gpu, os.path.join(folder, "gpu.cutap"))
            browser.click("header button", "\u25d0")
            browser.shot(os.path.join(shots, "dark.png"))
            complaints = browser.complaints()
            assert not complaints, complaints
        finally:
            browser.close()
    print("pages of cutap view: passed")


main()
