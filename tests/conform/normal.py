"""Answers without what two servers cannot have in common: uids, times, resourceVersions, addresses, made-up names, tokens."""

import re

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"20(?:2[5-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")  # what requests say lies in 2021
MADE = re.compile(r"\b(gen-\d+-|kube-api-access-|Gen_|g{58})[bcdfghjklmnpqrstvwxz2456789]{5}\b")
ADDRESS = re.compile(r"\b10\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+\b")
NODE_PORTS = re.compile(r"\b(\d+):3\d{4}/")  # in the cell of a table
AGE = re.compile(r"(\d+[smhdy])+|<unknown>|<invalid>")
VERSIONS = [
    re.compile(r"(ResourceVersion in (?:the precondition|record) )\(\d+\)"),
    re.compile(r"(too old resource version: )\d+ \(\d+\)"),
    re.compile(r"(Too large resource version: )\d+, current: \d+"),
    re.compile(r"(ResourceVersion: )[1-9]\d*"),
]
HEADERS = ("Content-Type", "Retry-After", "Warning")


class Normal:
    """The names that one server's things have in the transcript of one sequence, in the order in which they were first seen."""

    def __init__(self, namespace):
        self.namespace, self.uids, self.addresses, self.versions = namespace, {}, {}, {}

    def copy(self):
        other = Normal(self.namespace)
        other.uids, other.addresses = dict(self.uids), dict(self.addresses)
        other.versions = {k: dict(v) for k, v in self.versions.items()}
        return other

    def numbered(self, known, what, value):
        return f"<{what}{known.setdefault(value, len(known) + 1)}>"

    def text(self, text):
        text = UID.sub(lambda m: m[0] if m[0].startswith("00000000") else self.numbered(self.uids, "uid", m[0]), text)
        text = TIME.sub(lambda m: "<microtime>" if m[1] else "<time>", text)
        text = MADE.sub(r"\1<random>", text)
        text = ADDRESS.sub(lambda m: self.numbered(self.addresses, "ip", m[0]), text)
        for version in VERSIONS:
            text = version.sub(r"\1<rv>", text)
        return text.replace(self.namespace, "<ns>")

    def metadata(self, meta):
        """A resourceVersion becomes its place among those of its object; of a list there is nothing to compare it with."""
        meta = dict(meta)
        if "resourceVersion" in meta:
            of = self.versions.setdefault(meta.get("uid"), {})
            meta["resourceVersion"] = self.numbered(of, "rv", meta["resourceVersion"]) if "uid" in meta else "<rv>"
        if meta.get("continue"):
            meta["continue"] = "<token>"
        if "managedFields" in meta:  # sorted by time, which two servers do not share
            order = ("operation", "manager", "apiVersion", "subresource")
            meta["managedFields"] = sorted(meta["managedFields"], key=lambda f: [f.get(k, "") for k in order])
        return meta

    def value(self, value, key=""):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(v) for v in value]
        if isinstance(value, dict):
            if key == "metadata":
                value = self.metadata(value)
            return {self.text(k): self.value(value[k], k) for k in sorted(value)}
        return "<port>" if key == "nodePort" and isinstance(value, int) and value >= 30000 else value

    def object(self, obj):
        obj = self.value(obj)
        if isinstance(obj, dict) and obj.get("kind") == "Status":
            unordered(obj)
        if isinstance(obj, dict) and obj.get("kind") == "Table":
            for row in obj.get("rows") or []:
                row["cells"] = [cell(c) for c in row["cells"]]
        return obj

    def answer(self, answer, dry=False):
        """What a dry run allocates is not kept: no address of its answer is another one's."""
        if dry:
            known, self.addresses = self.addresses, {}
            normal = self.answer(answer)
            self.addresses = known
            return normal
        headers = {h: answer.headers.get(h) for h in HEADERS if answer.headers.get(h)}
        return {"status": answer.status, "headers": {k: self.text(v) for k, v in headers.items()}, "body": self.object(answer.body)}

    def events(self, events):
        return [{"type": e["type"], "object": self.object(e["object"])} for e in events]


def cell(value):
    if not isinstance(value, str):
        return value
    return "<age>" if AGE.fullmatch(value) else NODE_PORTS.sub(r"\1:<port>/", value)


def unordered(status):
    """Several causes come in any order, some of them twice; the message names them all again."""
    causes = (status.get("details") or {}).get("causes") or []
    causes[:] = sorted({(c.get("field", ""), c["reason"], c["message"]) for c in causes})
    if len(causes) > 1:
        status["message"] = re.sub(r" is invalid: \[.*\]$| conflicts?: .*$", " …", status.get("message", ""), flags=re.DOTALL)


MISSING = "<nothing>"


def differences(model, real, path=""):
    """(path, model's value, real one's) of every leaf that differs."""
    if isinstance(model, dict) and isinstance(real, dict):
        for key in sorted({*model, *real}):
            yield from differences(model.get(key, MISSING), real.get(key, MISSING), f"{path}.{key}" if path else key)
    elif isinstance(model, list) and isinstance(real, list):
        for i in range(max(len(model), len(real))):
            yield from differences(model[i] if i < len(model) else MISSING, real[i] if i < len(real) else MISSING, f"{path}[{i}]")
    elif model != real or type(model) is not type(real):
        yield path, model, real
