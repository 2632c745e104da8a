"""Headless Chromium: one page as HTML, or a browser that a test drives through its debugging pipe."""

import itertools
import json
import os
import select
import subprocess
import time

from cluster import eventually


def command(folder, hosts, *words):
    """hosts: the rules by which the browser resolves names. folder: its profile."""
    return ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            f"--host-resolver-rules={hosts}", f"--user-data-dir={folder}", *words]


def environment(folder):
    return {**os.environ, "HOME": str(folder)}


def shown(url, folder, host="127.0.0.1"):
    """The HTML that it shows. It contacts no other host."""
    out = subprocess.run(command(folder, f"MAP * ~NOTFOUND, EXCLUDE {host}", "--dump-dom", url), capture_output=True, text=True,
                         timeout=180, check=False, env=environment(folder))
    assert out.returncode == 0, out.stderr
    return out.stdout


class Browser:
    """One page. hosts: the host resolver rules of the browser; no other name resolves. Certificates are not verified."""

    def __init__(self, folder, hosts):
        (theirs, self.out), (self.came, mine) = os.pipe(), os.pipe()
        words = command(folder, f"{hosts}, MAP * ~NOTFOUND", "--ignore-certificate-errors", "--remote-debugging-pipe", "about:blank")
        piped = ["bash", "-c", f'exec "$0" "$@" 3<&{theirs} 4>&{mine} {theirs}<&- {mine}>&-', *words]
        with (folder.parent / "chromium.log").open("wb") as log:
            self.process = subprocess.Popen(piped, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(theirs, mine),
                                            env=environment(folder))
        os.close(theirs)
        os.close(mine)
        self.numbers, self.text, self.session = itertools.count(1), b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def message(self, end):
        while b"\0" not in self.text:
            assert select.select([self.came], [], [], max(0, end - time.monotonic()))[0], "the browser does not answer"
            piece = os.read(self.came, 1 << 20)
            assert piece, "the browser has ended"
            self.text += piece
        one, _, self.text = self.text.partition(b"\0")
        return json.loads(one)

    def call(self, method, seconds=120, **params):
        """Calls a method of the DevTools protocol."""
        number, end = next(self.numbers), time.monotonic() + seconds
        request = {"id": number, "method": method, "params": params} | ({"sessionId": self.session} if self.session else {})
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while (answer := self.message(end)).get("id") != number:
            continue
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def open(self, url):
        said = self.call("Page.navigate", url=url).get("errorText")
        assert not said, said

    def run(self, script):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def shows(self, *words, title=""):
        """Waits until the page's text contains these words, and its title contains `title`."""
        def look():
            text, named = self.run("document.body ? document.body.innerText : ''"), self.run("document.title")
            assert all(word in text for word in words) and title in named, f"{named}: {text}"
            return text

        return eventually(look, step=0.2)

    def login(self, token):
        """Fills in the login page of an edge."""
        self.run(f"document.querySelector('#token').value = {json.dumps(token)}; document.forms[0].requestSubmit()")

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        os.close(self.out)
        os.close(self.came)
