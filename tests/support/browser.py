"""A real headless Chromium for tests of pages: what the DOM is after scripts ran, and a picture of it."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


def chromium() -> str:
    """Where the browser is; the test is skipped where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium is installed")


def _run(folder: Path, *options: str, page: Path, size: tuple[int, int]) -> str:
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [
            chromium(),
            *FLAGS,
            *sandbox,
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={size[0]},{size[1]}",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def measure(page: Path, script: str, folder: Path, size: tuple[int, int] = (1200, 900)) -> Any:
    """What a script, the body of a function, returns in the page."""
    probe = folder / f"probe-{page.name}"
    code = (
        "<script>addEventListener('load',()=>{const found=(()=>{" + script + "})();"
        "const out=document.createElement('pre');out.id='probe-result';"
        "out.textContent=JSON.stringify(found);document.body.append(out)})</script>"
    )
    probe.write_text(page.read_text(encoding="utf-8") + code, encoding="utf-8")
    dom = _run(folder, "--dump-dom", page=probe, size=size)
    found = re.search(r'<pre id="probe-result">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[-2000:]
    return json.loads(html.unescape(found.group(1)))


def picture(page: Path, folder: Path, size: tuple[int, int] = (1200, 900), *, dark: bool = False) -> Path:
    """A screenshot; set COVINGTON_SCREENSHOTS to a folder to keep and look at them."""
    keep = Path(os.environ.get("COVINGTON_SCREENSHOTS", str(folder)))
    keep.mkdir(parents=True, exist_ok=True)
    target = keep / f"{page.stem}-{size[0]}{'-dark' if dark else ''}.png"
    options = ["--blink-settings=preferredColorScheme=0"] if dark else []
    _run(folder, f"--screenshot={target}", *options, page=page, size=size)
    return target
