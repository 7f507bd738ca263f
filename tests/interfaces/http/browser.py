"""A real browser, driven over a pipe: Chromium without a window, and pages in it that a test types and looks into.

    with chromium(folder) as browser:
        page = browser.page(base + "/")
        page.key("Tab"); page.type("Hello"); page.until("document.querySelector('.turn')")

Nothing but the standard library: Chromium speaks its protocol on two pipes, a line of JSON ending with a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 120.0
#: The key codes that a page may ask for.
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowDown": 40, "ArrowUp": 38, "Home": 36, "End": 35}
_SHIFT = 8


def found() -> str | None:
    """Where Chromium is; None where there is none."""
    return next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)


class Browser:
    """Chromium, running."""

    def __init__(self, out: int, into: int) -> None:
        self._out, self._into = out, into
        self._number = 0
        self._held = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._pages: dict[str, Page] = {}
        self._empty: list[Page] = []

    def page(
        self, address: str, *, width: int = 1000, height: int = 800, language: str = "en", dark: bool = False
    ) -> Page:
        """A page that shares nothing with others: a new one, or one that was emptied, which costs a fifth."""
        page = self._empty.pop() if self._empty else self._new_page()
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 640
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Network.setExtraHTTPHeaders", headers={"Accept-Language": language})
        page.go(address)
        return page

    def _new_page(self) -> Page:
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, context)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        return page

    def empty_pages(self) -> None:
        """Leave every page and what it stored; close one that cannot be left."""
        for page in [one for one in self._pages.values() if one not in self._empty]:
            try:
                page.js("sessionStorage.clear(), localStorage.clear()")
                page.call("Network.clearBrowserCookies")
                page.call("Page.navigate", url="about:blank")
                page.until("location.href === 'about:blank'")
            except AssertionError:  # its script hangs
                del self._pages[page.session]
                self.call("Target.disposeBrowserContext", browserContextId=page.context)
                continue
            page.console.clear()
            page.asked.clear()
            self._empty.append(page)

    def call(self, method: str, session: str = "", **given: Any) -> dict[str, Any]:
        """Ask Chromium for something."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": given} | ({"sessionId": session} if session else {})
        os.write(self._into, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while number not in self._answers:
            assert time.monotonic() < end, f"no answer to {method}"
            self._read(end - time.monotonic())
        answer = self._answers.pop(number)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self, seconds: float) -> None:
        if not select.select([self._out], [], [], max(0.0, seconds))[0]:
            return
        part = os.read(self._out, 1 << 20)
        assert part, "Chromium has ended"
        *whole, self._held = (self._held + part).split(b"\0")
        for message in map(json.loads, whole):
            if "id" in message:
                self._answers[message["id"]] = message
            elif page := self._pages.get(message.get("sessionId", "")):
                page.hear(message["method"], message["params"])


@dataclass(eq=False)
class Page:
    """One page. ``console`` is whatever it complained of, ``asked`` is where it fetched something."""

    browser: Browser
    session: str
    context: str
    console: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **given)

    def hear(self, method: str, told: dict[str, Any]) -> None:
        if method == "Log.entryAdded":
            self.console.append(f"{told['entry']['source']}: {told['entry']['text']}")
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])

    def go(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.until("document.body && document.body.dataset.ready")

    def js(self, expression: str) -> Any:
        """What an expression comes to in the page."""
        told = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def until(self, expression: str) -> Any:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not (value := self.js(f"Boolean({expression})")):
            assert time.monotonic() < end, (expression, self.console, self.js("document.body.innerText"))
            time.sleep(0.02)
        return value

    def key(self, key: str, *, shift: bool = False, times: int = 1) -> None:
        """Press a key, as somebody who has no mouse."""
        given: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
        given["modifiers"] = _SHIFT if shift else 0
        text = {"Enter": "\r", " ": " "}.get(key)
        for _ in range(times):
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **down, **given)
            self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def tab_to(self, selector: str, most: int = 80) -> None:
        """Press Tab until this has the focus."""
        for _ in range(most):
            if self.js(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            self.key("Tab")
        raise AssertionError((selector, self.js("document.activeElement.outerHTML")))

    def text(self, selector: str = "body") -> str:
        return str(self.js(f"document.querySelector({json.dumps(selector)}).innerText"))

    def close(self) -> None:
        """Close it, so that it costs nothing any more."""
        self.call("Page.close")

    def picture(self, file: Path) -> None:
        """What somebody sees, for whoever writes the page."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Start Chromium and end it, with all that it started."""
    program = found()
    assert program
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    options = (
        "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions "
        "--disable-background-networking --disable-component-update --disable-sync --no-proxy-server "
        f"--remote-debugging-pipe --user-data-dir={folder}"
    )
    line = f'exec "$0" {options} 3<&{their_in} 4>&{their_out}'
    process = subprocess.Popen(
        ["bash", "-c", line, program], pass_fds=(their_in, their_out), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(their_in)
    os.close(their_out)
    try:
        yield Browser(our_in, our_out)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(our_in)
        os.close(our_out)
