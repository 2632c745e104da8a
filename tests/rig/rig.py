"""A control plane that up.sh started: where it is, requests to it as admin, its audit log. Standard library only."""

import calendar
import http.client
import json
import os
import ssl
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RIG = Path(os.environ.get("RIG_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mobula-rig")
RUN = RIG / "run" / os.environ.get("NAME", "default")
MOBULA = ROOT / os.environ.get("MOBULA", "build/mobula")
KUBECTL = RIG / "bin" / f"kubernetes-{os.environ.get('K8S_VERSION', '1.34.10')}" / "kubectl"


class Refused(Exception):
    """The API server said no."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status, self.body = status, body


def admin_tls(run=RUN):
    tls = ssl.create_default_context(cafile=run / "pki" / "ca.crt")
    tls.load_cert_chain(run / "pki" / "admin.crt", run / "pki" / "admin.key")
    return tls


def port(run=RUN):
    return int((run / "port").read_text())


def read(answer):
    """A path that is not served, or not yet, is refused in plain text."""
    data = answer.read() or b"{}"
    if answer.status >= 300 and not data.startswith(b"{"):
        return {"message": data.decode(errors="replace").strip()}
    return json.loads(data)


class Api:
    """One kept-alive connection as admin."""

    timeout = 60

    def __init__(self, run=RUN):
        self.run, self.tls, self.port, self.link = run, admin_tls(run), port(run), None

    def call(self, method, path, body=None, content_type="application/json", accept="application/json"):
        """The answer's body; raises Refused. A busy server's "not in time" is asked again, but for POST: that may have been done."""
        text = json.dumps(body) if body is not None else None
        for attempt in (0, 1, 2):
            try:
                self.link = self.link or http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=self.timeout)
                self.link.request(method, path, text, {"Accept": accept, "Content-Type": content_type})
                answer = self.link.getresponse()
                data = read(answer)
                if answer.status != 504 or method == "POST" or attempt == 2:
                    break
                time.sleep(1)
            except (http.client.HTTPException, OSError):
                self.link = None
                if attempt:  # once, for a kept connection that had ended
                    raise
        if answer.status >= 300:
            raise Refused(answer.status, data)
        return data

    def get(self, path):
        return self.call("GET", path)

    def patch(self, path, body, kind="merge-patch"):
        return self.call("PATCH", path, body, f"application/{kind}+json")


def after_last_line(path):
    """Where the next line of a file begins that a process appends to. A line that is not whole yet is not skipped."""
    with path.open("rb") as f:
        f.seek(max(0, path.stat().st_size - 1024 * 1024))
        tail = f.read()
        return f.tell() - len(tail) + tail.rfind(b"\n") + 1


class AuditLog:
    """The audit log from here on."""

    def __init__(self):
        self.path = RUN / "audit.log"
        self.at = after_last_line(self.path) if self.path.exists() else 0

    def lines(self, settle=0.3):
        time.sleep(settle)  # the server writes it a moment after its answer
        with self.path.open("rb") as f:
            f.seek(self.at)
            for line in f:
                if line.endswith(b"\n"):
                    yield json.loads(line)


def what(entry):
    """"create pods/status" of an entry of the audit log."""
    o = entry.get("objectRef") or {}
    return f'{entry["verb"]} {o.get("resource")}' + (f'/{o["subresource"]}' if o.get("subresource") else "")


def stamp(text):
    """Seconds since 1970 of an RFC 3339 time in UTC."""
    main, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(main, "%Y-%m-%dT%H:%M:%S")) + float("0." + (fraction or "0"))
