"""What the proxy does to requests, answers and watch events. A Rule names which requests, an EventRule which events, and an action.

An action is a function of (connection, exchange); those of events get the event's line too. They are made by the functions below:
    Rule(kill("committed", ctx.kill), verb="create", resource="pods", nth=2)
    Rule(say(429, "TooManyRequests", retry_after=1), verb="patch", resource="rayclusters", sub="status", times=3)
    EventRule(drop(), "pods", "DELETED")
"""

import gzip
import json
import re
import threading
import time

from wire import Answer, Closed, chunk

ALWAYS = 1 << 30
JSON = ("Content-Type", "application/json")


class Hits:
    """Counts what matches, and says which of it is meant: from the nth on, so many times. helper: what it does is no fault, or is counted
    elsewhere."""

    def __init__(self, nth, times, helper=False):
        self.nth, self.times, self.seen, self.helper = nth, times, 0, helper
        self.hit, self.over, self.lifted = threading.Event(), threading.Event(), threading.Event()

    def count(self):
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times and not self.lifted.is_set()

    @property
    def hits(self):
        return max(0, min(self.seen - self.nth + 1, self.times))

    @property
    def faults(self):
        """What is always so is one fault."""
        return 0 if self.helper else min(self.hits, 1) if self.times == ALWAYS else self.hits

    def lift(self):
        self.lifted.set()


class Rule(Hits):
    """For requests. What is None is not looked at; verb and resource may be tuples; sub "" means none; name is a regular expression;
    where is a predicate of the Exchange. A dry run's verb is "try"."""

    def __init__(self, action, verb=None, resource=None, sub=None, group=None, name=None, nth=1, times=1, where=None, title="",
                 helper=False):
        super().__init__(nth, times, helper or getattr(action, "counted", False))
        self.action, self.group, self.sub, self.where = action, group, sub, where
        self.verbs = (verb,) if isinstance(verb, str) else verb
        self.resources = (resource,) if isinstance(resource, str) else resource
        self.pattern = re.compile(name) if name is not None else None
        self.name = title or getattr(action, "title", "rule")

    def wants(self, x):
        verb = "try" if x.dry_run else x.verb
        return ((self.verbs is None or verb in self.verbs) and (self.resources is None or x.resource in self.resources)
                and (self.sub is None or x.sub == self.sub) and (self.group is None or x.group == self.group)
                and (self.pattern is None or self.pattern.search(x.name)) and (self.where is None or self.where(x)))

    def takes(self, x):
        return bool(self.wants(x)) and self.count()

    def carry_out(self, connection, x):
        self.hit.set()
        self.action(connection, x, self)

    def finished(self, _x):
        if self.hits == self.times:
            self.over.set()


class EventRule(Hits):
    """For events of watches. type None: any; where is a predicate of the event's object (the parsed line)."""

    def __init__(self, action, resource, type=None, group=None, nth=1, times=1, where=None, title="", helper=False):
        super().__init__(nth, times, helper)
        self.action, self.resource, self.type, self.group, self.where = action, resource, type, group, where
        self.name = title or getattr(action, "title", "event rule")

    def takes(self, x, line):
        if x.resource != self.resource or (self.group is not None and x.group != self.group):
            return False
        if self.type and not line.startswith(b'{"type":"%b"' % self.type.encode()):
            return False
        if self.where and not self.where(json.loads(line)):
            return False
        return self.count()

    def carry_out(self, connection, x, line):
        self.hit.set()
        x.fault = x.fault or self.name
        self.action(connection, x, line, self)
        if self.hits == self.times:
            self.over.set()


def named(title):
    def wrap(f):
        f.title = title
        return f
    return wrap


# ---- kill points ----

def kill(when, killer):
    """killer() ends the operator: "before" the server sees the request, "committed" when it has answered and the operator does not know,
    "after" the operator has been told."""

    @named(f"kill {when}")
    def act(c, x, _rule):
        if when == "before":
            killer()
            raise Closed
        if x.verb == "watch":
            raise ValueError("a watch has no answer to kill after")
        answer = c.ask(x)
        if when == "after":
            c.tell(x, answer)
        killer()
        raise Closed
    act.counted = True  # by who kills
    return act


def call(function):
    """Calls function(exchange) before the request goes on."""

    @named("call")
    def act(c, x, _rule):
        function(x)
        c.plain(x)
    return act


# ---- answers ----

def status_object(code, reason, message="injected by the fault proxy", details=None):
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}
    return {**body, "details": details} if details else body


def status(code, reason, message="injected by the fault proxy", retry_after=None, causes=None):
    """An Answer with a Status object."""
    details = {"causes": causes or []}
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    headers = [JSON] + ([("Retry-After", str(retry_after))] if retry_after is not None else [])
    return Answer(code, headers, json.dumps(status_object(code, reason, message, details)).encode(), reason)


def say(code, reason="", message="injected by the fault proxy", retry_after=None, causes=None, forward=False):
    """A Status in place of the server's answer; forward: the server has carried the request out all the same."""

    @named(f"{code} {reason}")
    def act(c, x, _rule):
        if forward:
            c.ask(x)
        c.tell(x, status(code, reason, message, retry_after, causes))
    return act


def say_bytes(code, body, headers=(JSON,), forward=False, title=""):
    """Any body in place of the server's."""

    @named(title or f"{code} with {len(body)} bytes")
    def act(c, x, _rule):
        if forward:
            c.ask(x)
        c.tell(x, Answer(code, headers, body))
    return act


def change(function, title="changed answer"):
    """function(Answer) -> Answer, of what the server said."""

    @named(title)
    def act(c, x, _rule):
        c.tell(x, function(c.ask(x)))
    return act


def broken_json():
    def spoil(a):
        middle = len(a.body) // 2
        return Answer(a.status, a.headers, a.body[:middle] + b"\x00}" + a.body[middle + 2:])
    return change(spoil, "broken JSON")


def content_type(text):
    return change(lambda a: Answer(a.status, a.headers.without("content-type") + [("Content-Type", text)], a.body), f"content type {text}")


def gzipped():
    def pack(a):
        return Answer(a.status, a.headers.without("content-encoding") + [("Content-Encoding", "gzip")], gzip.compress(a.body))
    return change(pack, "gzip that nobody asked for")


def huge(size):
    """An answer of so many bytes of valid JSON."""
    return change(lambda a: Answer(a.status, a.headers, b'{"kind":"Status","message":"' + b"x" * size + b'"}'), f"{size} bytes")


def truncated(keep=None):
    """The connection ends in the middle of the body (after so many bytes of it)."""

    @named("truncated")
    def act(c, x, _rule):
        answer = c.ask(x)
        body = len(answer.body) // 2 if keep is None else keep
        head_and_some = answer.bytes()
        c.near.send(head_and_some[:len(head_and_some) - len(answer.body) + body])
        raise Closed
    return act


def reset(forward=False):
    """RST before the answer's first byte; forward: the request was carried out."""

    @named("reset, committed" if forward else "reset")
    def act(c, x, _rule):
        if forward:
            c.ask(x)
        c.reset()
    return act


def hang(seconds=None, forward=False):
    """No answer, and the connection stays, until the operator closes it or the rule is lifted."""

    @named("hang, committed" if forward else "hang")
    def act(c, x, rule):
        if forward:
            c.ask(x)
        end = time.monotonic() + (seconds or 3600)
        c.near.sock.settimeout(0.2)
        while time.monotonic() < end and not rule.lifted.is_set() and not c.proxy.closing.is_set():
            try:
                if not c.near.sock.recv(1):
                    break
            except TimeoutError:
                continue
            except (OSError, ValueError):
                break
        raise Closed
    return act


def delay(seconds, when="after"):
    """Waits "before" the server is asked or "after" it has answered."""

    @named(f"{seconds} s late")
    def act(c, x, rule):
        if when == "before":
            rule.lifted.wait(seconds)
            c.plain(x)
            return
        answer = c.ask(x)
        rule.lifted.wait(seconds)
        c.tell(x, answer)
    return act


def trickle(size=64, pause=0.01):
    """The answer in small pieces."""

    @named("trickle")
    def act(c, x, rule):
        answer = c.ask(x)
        x.told, data = answer.status, answer.bytes()
        for i in range(0, len(data), size):
            c.near.send(data[i:i + size])
            rule.lifted.wait(pause)
    return act


# ---- watches as a whole ----

def stream(*lines, then="close"):
    """A watch that hands out these lines (bytes, or objects to write as JSON) and then does "close" or "hang"."""

    @named("a stream of our own")
    def act(c, x, rule):
        c.tell_stream(x)
        for line in lines:
            c.event(x, line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        if then == "hang":
            hang()(c, x, rule)
        c.near.send(chunk(b""))
        raise Closed
    return act


def error_event(code, reason, message="injected by the fault proxy"):
    return {"type": "ERROR", "object": status_object(code, reason, message)}


# ---- single events ----

def drop():
    """As if it had never been."""

    @named("dropped event")
    def act(_c, _x, _line, _rule):
        pass
    return act


def late(seconds):
    """It, and all behind it, come later."""

    @named(f"event {seconds} s late")
    def act(c, x, line, rule):
        rule.lifted.wait(seconds)
        c.event(x, line)
    return act


def twice():
    @named("event twice")
    def act(c, x, line, _rule):
        c.event(x, line)
        c.event(x, line)
    return act


def edit(function, title="edited event"):
    """function(event object) -> event object."""

    @named(title)
    def act(c, x, line, _rule):
        c.event(x, json.dumps(function(json.loads(line))).encode() + b"\n")
    return act


def inject(*lines, before=True, title="injected event"):
    """Other lines (bytes or objects) before it or behind it."""
    raw = [i if isinstance(i, bytes) else json.dumps(i).encode() + b"\n" for i in lines]

    @named(title)
    def act(c, x, line, _rule):
        for i in ([*raw, line] if before else [line, *raw]):
            c.event(x, i)
    return act


def close(tell=False):
    """The stream ends well, without it or behind it."""

    @named("stream closed")
    def act(c, x, line, _rule):
        if tell:
            c.event(x, line)
        c.near.send(chunk(b""))
        raise Closed
    return act


def cut(at=20):
    """The connection ends in the middle of it."""

    @named("cut in the middle of an event")
    def act(c, _x, line, _rule):
        c.near.send(chunk(line)[:at])
        raise Closed
    return act


def black_hole():
    """From here on nothing is read or written, and the connection stays until the rule is lifted."""

    @named("black hole")
    def act(c, _x, _line, rule):
        while not rule.lifted.wait(0.2) and not c.proxy.closing.is_set():
            pass
        raise Closed
    return act


def split(n, pause=0.0):
    """In TLS records and chunks of n bytes."""

    @named(f"split at every {n}th byte")
    def act(c, x, line, rule):
        x.events += 1
        for i in range(0, len(line), n):
            c.near.send(chunk(line[i:i + n]))
            if pause:
                rule.lifted.wait(pause)
    return act
