"""A headless Chromium, driven through pipes by its DevTools protocol: one page, to type at and look into."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
_OPTIONS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", "about:blank",
]  # fmt: skip


class Browser:
    """``with Browser() as browser``: its methods wait at most ``seconds`` for what they ask."""

    def __init__(self, seconds=60.0):
        self.seconds, self.number, self.rest = seconds, 0, b""
        self.folder = tempfile.mkdtemp(prefix="chromium")
        (child_reads, self.to), (self.answers, child_writes) = os.pipe(), os.pipe()
        reads, writes = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (child_reads, child_writes))
        actions = [(os.POSIX_SPAWN_DUP2, reads, 3), (os.POSIX_SPAWN_DUP2, writes, 4)]
        actions += [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
        command = [CHROMIUM, f"--user-data-dir={self.folder}", *_OPTIONS]
        self.pid = os.posix_spawn(CHROMIUM, command, os.environ, file_actions=actions, setpgroup=0)
        for fd in (child_reads, child_writes, reads, writes):
            os.close(fd)

    def __enter__(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        return self

    def __exit__(self, *_):
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for fd in (self.to, self.answers):
            os.close(fd)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.seconds
        while True:
            while b"\0" not in self.rest:
                if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                    raise TimeoutError(method)
                self.rest += os.read(self.answers, 1 << 20)
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def size(self, width, height, dark=False):
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **shape)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def go(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description"))
        return result["result"].get("value")

    def wait(self, condition):
        end = time.monotonic() + self.seconds
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, whole=True):
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        Path(path).write_bytes(base64.b64decode(picture))
