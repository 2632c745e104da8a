"""The fault proxy: TLS on both sides, between the operator and the API server. It logs every request and does to it, to its answer or to
the events of a watch what the first rule that matches says (rules.py). Without a rule it changes nothing."""

import hashlib
import json
import re
import socket
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import wire
from cluster import RUN
from wire import Answer, Closed, Wire

PATH = re.compile(r"^/(?:api/(?P<core>[^/]+)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
                  r"(?:/namespaces/(?P<ns>[^/]+))?/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
                  r"(?:(?<=/proxy)/.*)?$")  # what is asked of whoever the API server passes it on to
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
WRITES = tuple(VERBS.values()) + ("deletecollection",)


@dataclass
class Exchange:
    """One request and what became of it."""

    seq: int
    at: float
    generation: int  # of the operator's process: 0, 1 after its first restart …
    method: str
    target: str
    headers: wire.Headers
    body: bytes
    verb: str = ""
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    sub: str = ""
    query: dict = field(default_factory=dict)
    object: dict = field(default_factory=dict)  # the body when it is JSON
    uid: str = ""  # the precondition of a DELETE
    version_wanted: str = ""  # its resourceVersion
    forwarded: bool = False
    status: int = 0  # what the API server said; 0: it was not asked, or its answer did not come
    told: int = 0  # what the operator was told; 0: nothing
    version: str = ""  # of the object in the answer
    fault: str = ""
    events: int = 0  # of a watch
    done_at: float = 0.0

    @property
    def dry_run(self):
        return "dryRun" in self.query

    @property
    def is_write(self):
        return self.verb in WRITES

    def what(self):
        """"create pods", "patch rayclusters/status", "try pods" for a dry run."""
        verb = "try" if self.dry_run else self.verb
        group = f".{self.group}" if self.resource == "rayclusters" else ""
        return f"{verb} {self.resource}{group}" + (f"/{self.sub}" if self.sub else "")

    def __str__(self):
        digest = hashlib.sha256(self.body).hexdigest()[:8] if self.body else "-"
        uid = f" uid={self.uid}" if self.uid else ""
        fault = f"  <- {self.fault}" if self.fault else ""
        status = f"{self.status or '-'}" + ("" if self.told == self.status else f" told {self.told or 'nothing'}")
        return (f"{self.seq:5} {self.at:9.3f} g{self.generation} {self.what()} {self.namespace}/{self.name} body={digest}{uid} "
                f"-> {status} rv={self.version or '-'}{fault}")


def parse(seq, at, generation, first, headers, body):
    method, target, _ = first.split(" ", 2)
    x = Exchange(seq, at, generation, method, target, headers, body)
    parts = urlsplit(target)
    x.query = dict(parse_qsl(parts.query, keep_blank_values=True))
    m = PATH.match(parts.path)
    if m:
        x.group, x.namespace = m["group"] or "", m["ns"] or ""
        x.resource, x.name, x.sub = m["resource"], m["name"] or "", m["sub"] or ""
    reading = "watch" if x.query.get("watch") in ("1", "true") else "get" if x.name else "list"
    x.verb = VERBS.get(method, reading)
    if x.verb == "delete" and not x.name:
        x.verb = "deletecollection"
    if body and body[:1] == b"{":
        try:
            x.object = json.loads(body)
        except ValueError:
            x.object = {}
    if x.verb == "create" and not x.name:
        x.name = x.object.get("metadata", {}).get("name", "")
    preconditions = x.object.get("preconditions", {}) if x.verb == "delete" else {}
    x.uid, x.version_wanted = preconditions.get("uid", ""), preconditions.get("resourceVersion", "")
    return x


def call_of(target):
    """What a dashboard is asked: "version", "jobs" (to take one), "job" (how it is), "stop" or "logs"."""
    last = target.rstrip("/").rpartition("/")[2]
    return last if last in ("version", "jobs", "stop", "logs") else "job"


def version_of(body):
    """resourceVersion of the object in an answer. Written early in it, so most of it need not be looked at."""
    m = re.search(rb'"resourceVersion":"(\d+)"', body)
    return m[1].decode() if m else ""


class Certificates:
    """The proxy's own CA and a server certificate for 127.0.0.1, made once in a folder."""

    def __init__(self, folder):
        self.ca, self.crt, self.key = folder / "fault-ca.crt", folder / "fault.crt", folder / "fault.key"
        if self.crt.exists():
            return
        ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650"]
        ca_key = folder / "fault-ca.key"
        self._openssl("req", "-x509", *ec, "-subj", "/CN=fault-ca", "-keyout", ca_key, "-out", self.ca,
                      "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self._openssl("req", "-x509", *ec, "-subj", "/CN=fault-proxy", "-keyout", self.key, "-out", self.crt, "-CA", self.ca,
                      "-CAkey", ca_key, "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "keyUsage=critical,digitalSignature",
                      "-addext", "extendedKeyUsage=serverAuth", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")

    @staticmethod
    def _openssl(*args):
        out = subprocess.run(["openssl", *args], capture_output=True, text=True, timeout=60, check=False)
        if out.returncode:
            raise RuntimeError(f"openssl {args[0]}: {out.stderr}")

    def server(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.crt, self.key)
        return context


class Proxy:
    """Listens on a port of its own until close(). rules are tried in their order; log has every Exchange in the order they came."""

    def __init__(self, certificates, context=None, upstream=None):
        self.certificates = certificates
        self.context = context or certificates.server()
        self.upstream = upstream or int((RUN / "port").read_text())
        self.upstream_tls = ssl.create_default_context(cafile=RUN / "pki" / "ca.crt")
        self.rules, self.event_rules, self.every_rule, self.log, self.lock = [], [], [], [], threading.Lock()
        self.generation, self.began = 0, time.monotonic()
        self.closing = threading.Event()
        self.connections = set()
        self.stale = None  # a stale.Past that answers lists and watches instead of the server
        self.recorder = None  # a stale.Recorder that is shown what the server says
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.doors = []  # listeners of dashboards
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def front(self, jobs, address):
        """A port at this address where these jobs (dashboards.Jobs) answer as a head's dashboard does: in the same log, under the same
        rules, as resource "dashboard"."""
        door = socket.create_server((address, 0), backlog=128)
        self.doors.append(door)
        threading.Thread(target=self._accept, args=(door, jobs), daemon=True).start()
        return door.getsockname()[1]

    def shut(self):
        """Refuses new connections and ends those there are: the server is away. The port stays ours, though nobody listens on it."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it does not listen any more
        self.listener.close()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.cut()

    def open(self):
        """Takes connections again, on the same port."""
        self.listener.listen(128)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def cut(self):
        """Ends every connection with a RST."""
        with self.lock:
            open_ones = list(self.connections)
        for c in open_ones:
            c.cut()

    def close(self):
        self.closing.set()
        self.lift()
        for listener in (self.listener, *self.doors):
            try:
                listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            listener.close()
        self.cut()

    def now(self):
        return time.monotonic() - self.began

    def add(self, rule):
        """A Rule or an EventRule."""
        with self.lock:
            (self.event_rules if hasattr(rule, "type") else self.rules).append(rule)
            self.every_rule.append(rule)
        return rule

    def lift(self, *rules):
        """Takes these rules away (all of them when none is named); what hangs in one goes on."""
        with self.lock:
            gone = list(rules or self.rules + self.event_rules)
            self.rules = [r for r in self.rules if r not in gone]
            self.event_rules = [r for r in self.event_rules if r not in gone]
        for r in gone:
            r.lift()

    def writes(self, since=0):
        """Requests that change something, leases and dry runs left out, from this place of the log on."""
        return [x for x in self.log[since:] if x.is_write and x.resource != "leases" and not x.dry_run]

    def watches(self):
        """Which are open, and which have ever been."""
        told = [x for x in list(self.log) if x.verb == "watch" and x.told == 200]
        open_ones = [x for x in told if not x.done_at]
        return tuple({(x.namespace, x.group, x.resource) for x in found} for found in (open_ones, told))

    def match(self, x):
        with self.lock:
            for rule in self.rules:
                if rule.takes(x):
                    return rule
        return None

    def match_event(self, x, line):
        if not self.event_rules:
            return None
        with self.lock:
            return next((r for r in self.event_rules if r.takes(x, line)), None)

    def register(self, first, headers, body, jobs):
        with self.lock:
            x = parse(len(self.log), self.now(), self.generation, first, headers, body)
            if jobs:
                x.resource, x.verb = "dashboard", "create" if x.method == "POST" else "get"
                x.group, x.namespace, x.name, x.sub = "", "", x.object.get("submission_id", ""), call_of(x.target)
            self.log.append(x)
        return x

    def _accept(self, listener, jobs=None):
        while True:
            try:
                sock = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock, jobs), daemon=True).start()

    def _serve(self, raw, jobs):
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.settimeout(30)
            sock = raw if jobs else self.context.wrap_socket(raw, server_side=True)
            sock.settimeout(None)
        except (OSError, ssl.SSLError, ValueError):
            raw.close()
            return
        connection = Connection(self, Wire(sock), jobs)
        with self.lock:
            self.connections.add(connection)
        try:
            while not self.closing.is_set():
                connection.turn()
        except Closed:
            pass
        finally:
            connection.close()
            with self.lock:
                self.connections.discard(connection)


class Connection:
    """One connection of the operator, and the one to the server that belongs to it. jobs: they answer in the server's place."""

    def __init__(self, proxy, near, jobs=None):
        self.proxy, self.near, self.far, self.jobs = proxy, near, None, jobs

    def cut(self):
        for w in (self.near, self.far):
            if w:
                try:
                    w.sock.shutdown(socket.SHUT_RDWR)
                except (OSError, ValueError):
                    pass  # it has ended by itself

    def close(self):
        self.near.close()
        if self.far:
            self.far.close()

    def reset(self):
        self.near.reset()
        raise Closed

    def turn(self):
        """One request and its answer."""
        first, headers = wire.read_head(self.near)
        body = self.near.exactly(int(headers.value("content-length", "0")))
        x = self.proxy.register(first, headers, body, self.jobs)
        rule = self.proxy.match(x)
        try:
            if rule:
                x.fault = rule.name
                rule.carry_out(self, x)
            else:
                self.plain(x)
        finally:
            x.done_at = self.proxy.now()
            if rule:
                rule.finished(x)

    def plain(self, x):
        """As without a rule."""
        past = self.proxy.stale
        if past and past.answers(x):
            past.serve(self, x)
        elif x.verb == "watch":
            self.watch(x)
        else:
            self.tell(x, self.ask(x))

    def forward(self, x):
        """Sends the request on."""
        if not self.far:
            self.far = wire.dial(self.proxy.upstream, self.proxy.upstream_tls)
        x.forwarded = True
        self.far.send(f"{x.method} {x.target} HTTP/1.1\r\n".encode("latin-1") + x.headers.text() + wire.CRLF + x.body)

    def ask(self, x):
        """The server's whole answer."""
        if self.jobs:
            shown = [x.headers.value(name, None) for name in ("authorization", "x-ray-authorization")]
            x.status, body = self.jobs.reply(x.method, x.target, shown, x.body)
            return Answer(x.status, [("Content-Type", "application/json")], body)
        self.forward(x)
        status, reason, headers = wire.read_answer_head(self.far)
        body = wire.read_body(self.far, status, headers, x.method)
        x.status, x.version = status, version_of(body)
        if self.proxy.recorder:
            self.proxy.recorder.answered(x, body)
        return Answer(status, headers, body, reason)

    def tell(self, x, answer):
        x.told = answer.status
        self.near.send(answer.bytes())

    def watch(self, x):
        """A watch: its answer's head, then its events one by one, each past the rules for events."""
        self.forward(x)
        status, reason, headers = wire.read_answer_head(self.far)
        x.status = status
        if status != 200 or headers.value("transfer-encoding").lower() != "chunked":
            self.tell(x, Answer(status, headers, wire.read_body(self.far, status, headers), reason))
            return
        self.tell_stream(x, reason, headers)
        for line in self.events(x):
            if self.proxy.recorder:
                self.proxy.recorder.event(x, line)
            rule = self.proxy.match_event(x, line)
            if rule:
                rule.carry_out(self, x, line)
            else:
                self.event(x, line)
        self.near.send(wire.chunk(b""))

    def tell_stream(self, x, reason="OK", headers=(("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"))):
        x.told = x.told or 200
        self.near.send(f"HTTP/1.1 200 {reason}\r\n".encode("latin-1") + wire.Headers(headers).text() + wire.CRLF)

    def event(self, x, line):
        x.events += 1
        self.near.send(wire.chunk(line))

    def events(self, x):
        """The server's events, each with its newline, until it ends the stream. An operator that goes ends it too."""
        left = b""
        while True:
            ready = wire.wait_readable((self.near, self.far), 1.0)
            if self.near in ready and not self.near.left and not self.near.fill():
                raise Closed
            if self.far not in ready:
                if self.proxy.closing.is_set():
                    raise Closed
                continue
            data = wire.read_chunk(self.far)
            if not data:
                return
            *lines, left = (left + data).split(b"\n")
            for line in lines:
                yield line + b"\n"
