"""Both servers under one face: requests with references to earlier answers, and watches that are read as far as they have come."""

import base64
import http.client
import json
import re
import socket
import ssl
import sys
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rig"))
import rig

TIMEOUT_S = 60
AGENT = "conform/1"
NO_UID = "00000000-0000-0000-0000-000000000000"
REFERENCE = re.compile(r"@(\w+)\(([^()]*)\)")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers = status, headers
        try:
            self.body = json.loads(body)
        except ValueError:
            self.body = body.decode(errors="replace")


class Memory:
    """What a server has said about its objects: later requests refer to it as @uid(Pod/a), @rv(Pod/a), @old(Pod/a), @listrv(Pod) and
    @continue(Pod). An object that was never seen has a uid that no server gives, and the resourceVersion of the namespace. @expired() is
    the token of a page from before anything that is still known (run.sh sees to that), @ahead() a version that never comes,
    @elsewhere() the uid of a ConfigMap of that name in another namespace."""

    def __init__(self, namespace, start, token, elsewhere):
        self.start, self.token, self.elsewhere = start, token, elsewhere
        self.namespace, self.objects, self.versions, self.lists, self.tokens = namespace, {}, {}, {}, {}

    @staticmethod
    def kind(body):
        group = body.get("apiVersion", "").rpartition("/")[0]
        return body["kind"].removesuffix("List") + (f".{group}" if group.endswith("ray.io") else "")

    def learn(self, body):
        if not isinstance(body, dict) or "kind" not in body or body["kind"] == "Table":
            return
        if body["kind"] == "Status":  # of a list whose token has expired: it has a new one
            self.tokens["Status"] = body.get("metadata", {}).get("continue")
            return
        meta, kind = body.get("metadata") or {}, self.kind(body)
        if body["kind"].endswith("List"):
            self.lists[kind], self.tokens[kind] = meta.get("resourceVersion"), meta.get("continue")
            for item in body.get("items") or []:
                self.learn_one(kind, {"apiVersion": body["apiVersion"], "kind": body["kind"].removesuffix("List"), **item})
        elif meta.get("uid"):
            self.learn_one(kind, body)

    def learn_one(self, kind, body):
        key, rv = f"{kind}/{body['metadata'].get('name')}", body["metadata"].get("resourceVersion")
        if not rv:
            return  # of a dry run
        versions = self.versions.setdefault(key, [])
        if rv not in versions:
            versions.append(rv)
        self.objects[key] = self.objects[f"{body['apiVersion']} {key}"] = body

    def value(self, match):
        what, key = match[1], match[2]
        if what == "ns":
            return self.namespace
        if what == "elsewhere":
            return self.elsewhere
        if what == "uid":
            return self.objects[key]["metadata"]["uid"] if key in self.objects else NO_UID
        if what == "name":  # of the n-th object that was made from this generateName
            found = [k for k in self.objects if k.startswith(key)]
            return found[-1].partition("/")[2] if found else "nothing"
        if what in ("rv", "old"):
            versions = [self.start, *self.versions.get(key, [])]
            return versions[-1] if what == "rv" else versions[max(len(versions) - 2, 0)]
        if what == "ahead":
            return str(int(self.start) + 10**9)
        if what == "expired":
            return urllib.parse.quote(self.token(self.namespace), safe="")
        if what == "listrv":
            return self.lists.get(key) or self.start
        return urllib.parse.quote((self.tokens.get(key) or "none"), safe="")

    def fill(self, text):
        return REFERENCE.sub(self.value, text)

    def body(self, step):
        """The bytes of a step's body: given as text, or as JSON, or as changes to the object as it was last seen."""
        if "raw" in step:
            return self.fill(step["raw"])
        if "body" not in step:
            return None
        body = step["body"]
        if "from" in step and step["from"] in self.objects:
            body = merged(json.loads(json.dumps(self.objects[step["from"]])), body)
        return self.fill(json.dumps(body))


def merged(into, patch):
    """RFC 7386."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            merged(into[key], value)
        else:
            into[key] = value
    return into


class Server:
    """One of the two; port and TLS context, None for plain HTTP; token(namespace): where a list of version 2 goes on behind an object "a".
    One connection for requests."""

    def __init__(self, name, port, tls, token):
        self.name, self.port, self.tls, self.token, self.link, self.memory = name, port, tls, token, None, None

    def connect(self):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=TIMEOUT_S)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)

    def send(self, method, target, body=None, content_type=None, accept="application/json"):
        """One request; a kept-alive connection that the server has closed meanwhile is opened again."""
        headers = {"Accept": accept, "User-Agent": AGENT}
        if content_type:
            headers["Content-Type"] = content_type
        for attempt in (0, 1):
            try:
                self.link = self.link or self.connect()
                self.link.request(method, target, body, headers)
                answer = self.link.getresponse()
                return Answer(answer.status, answer.headers, answer.read())
            except (http.client.RemoteDisconnected, ConnectionError):
                self.link = None
                if attempt:
                    raise

    def ask(self, step):
        memory = self.memory
        body = memory.body(step)
        answer = self.send(step["method"], memory.fill(step["path"]), body.encode() if body is not None else None, step.get("type"),
                           step.get("accept", "application/json"))
        memory.learn(answer.body)
        return answer

    def watch(self, step):
        return Stream(self, self.memory.fill(step["path"]))


class Stream:
    """A watch: events are taken from the socket as they come, and waiting for more does no harm to what comes later."""

    def __init__(self, server, target):
        link = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
        self.link = server.tls.wrap_socket(link, server_hostname="localhost") if server.tls else link
        head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {AGENT}\r\nAccept: application/json\r\n\r\n"
        self.link.sendall(head.encode())
        self.data, self.text, self.ended, self.events = b"", b"", False, []
        while b"\r\n\r\n" not in self.data:
            self.more(TIMEOUT_S)
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {k.strip().title(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        self.parse()

    def more(self, seconds):
        """Reads what comes within so many seconds; False when nothing did."""
        self.link.settimeout(max(seconds, 0.001))
        try:
            data = self.link.recv(65536)
        except TimeoutError:
            return False
        self.ended = self.ended or not data
        self.data += data
        return bool(data)

    def parse(self):
        """Chunks to lines to events. An answer that is no stream has a length."""
        if "Content-Length" in self.headers:
            self.text, self.data = self.text + self.data, b""
            self.ended = self.ended or len(self.text) >= int(self.headers["Content-Length"])
            return
        while b"\r\n" in self.data:
            size, _, rest = self.data.partition(b"\r\n")
            n = int(size, 16)
            if len(rest) < n + 2:
                break
            self.text, self.data = self.text + rest[:n], rest[n + 2:]
            self.ended = self.ended or n == 0
        while self.status == 200 and b"\n" in self.text:
            line, _, self.text = self.text.partition(b"\n")
            event = json.loads(line)
            if not periodic(event):
                self.events.append(event)

    def read(self, enough, seconds):
        """Reads until enough() or the end or so many seconds later."""
        end = time.monotonic() + seconds
        while not enough() and not self.ended and time.monotonic() < end:
            self.more(min(end - time.monotonic(), 1))
            self.parse()

    def drain(self):
        """Reads all that has come."""
        while not self.ended and self.more(0.005):
            self.parse()

    def refusal(self):
        """The whole answer when it was no stream."""
        self.read(lambda: self.ended, TIMEOUT_S)
        return Answer(self.status, self.headers, self.text)

    def close(self):
        self.link.close()


def periodic(event):
    """A bookmark that comes when a minute is over, on one of the two before the other; not the one that ends the initial events."""
    return event["type"] == "BOOKMARK" and not event["object"]["metadata"].get("annotations")


def compact_real(version):
    """As the API server itself does it every five minutes: the version is written down where every cache looks, and etcd forgets."""
    tls = ssl.create_default_context(cafile=rig.RUN / "pki" / "ca.crt")
    tls.load_cert_chain(rig.RUN / "pki" / "etcd-client.crt", rig.RUN / "pki" / "etcd-client.key")
    link = http.client.HTTPSConnection("127.0.0.1", rig.port() + 1, context=tls, timeout=TIMEOUT_S)
    key, value = (base64.b64encode(text.encode()).decode() for text in ("compact_rev_key", version))
    for path, body in (("kv/put", {"key": key, "value": value}), ("kv/compaction", {"revision": version, "physical": True})):
        link.request("POST", f"/v3/{path}", json.dumps(body))
        answer = link.getresponse()
        text = answer.read()
        assert answer.status == 200, text
    link.close()


def model(port):
    return Server("model", port, None, lambda namespace: f"2~{namespace}~a")


def real():
    def token(_):
        text = json.dumps({"v": "meta.k8s.io/v1", "rv": 2, "start": "a\0"})
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    return Server("real", rig.port(), rig.admin_tls(), token)
