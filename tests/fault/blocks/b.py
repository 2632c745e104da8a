"""B: each kind of request that the operator sends meets each kind of answer, twice in a row; then the server is well again."""

from case import LIMIT, Case
from oracles import submits
from proxy import call_of
from rules import (ALWAYS, Rule, broken_json, hang, reset, say, stream, truncated)
from wire import Closed, chunk
from workloads import WORKLOADS

BLOCK = "B"
TITLE = "37 kinds of request x 20 answers, 7 to dashboards x 11"
TIMES = 2
HANG_SECONDS = 60
ABSENT_SECONDS = 30  # until a kind that is not there is looked for again
HOLE_SECONDS = 60  # until a list is taken again whose item could not be read, twice in turn
TRY_SECONDS = 60  # until a template that the server refused is tried again
LISTS = ("list", "watch")


def finalizers(x):
    return x.object.get("metadata", {}).get("finalizers")


def runs(x):
    """A RayJob's status as its submitter is made, and until it is over."""
    return x.object.get("status", {}).get("jobDeploymentStatus") == "Running"


def is_submitter(x):
    return submits(x.object)


PAIRS = {  # name: workload, flags, which requests
    "list-v1": ("W1", (), {"verb": "list", "resource": "rayclusters", "group": "ray.io"}),
    "list-legacy": ("W11", (), {"verb": "list", "resource": "rayclusters", "group": "cluster.ray.io"}),
    "list-pods": ("W1", (), {"verb": "list", "resource": "pods"}),
    "list-services": ("W1", (), {"verb": "list", "resource": "services"}),
    "watch-v1": ("W1", (), {"verb": "watch", "resource": "rayclusters", "group": "ray.io"}),
    "watch-legacy": ("W11", (), {"verb": "watch", "resource": "rayclusters", "group": "cluster.ray.io"}),
    "watch-pods": ("W1", (), {"verb": "watch", "resource": "pods"}),
    "watch-services": ("W1", (), {"verb": "watch", "resource": "services"}),
    "create-head": ("W1", (), {"verb": "create", "resource": "pods", "name": "head"}),
    "create-worker": ("W2", (), {"verb": "create", "resource": "pods", "name": "worker"}),
    "try-pod": ("W8", (), {"verb": "try", "resource": "pods"}),
    "delete-pod": ("W3", (), {"verb": "delete", "resource": "pods"}),
    "look-pod": ("W1", (), {"verb": "list", "resource": "pods", "where": lambda x: "fieldSelector" in x.query}),
    "apply-head-service": ("W1", (), {"verb": "patch", "resource": "services", "name": "head"}),
    "apply-headless-service": ("W22", (), {"verb": "patch", "resource": "services", "name": "headless"}),
    "status-v1": ("W1", (), {"verb": "patch", "resource": "rayclusters", "group": "ray.io", "sub": "status"}),
    "status-legacy": ("W11", (), {"verb": "patch", "resource": "rayclusters", "group": "cluster.ray.io", "sub": "status"}),
    "create-event": ("W1", (), {"verb": "create", "resource": "events"}),
    "get-lease": ("W1", ("--leader-elect",), {"verb": "get", "resource": "leases"}),
    "create-lease": ("W1", ("--leader-elect",), {"verb": "create", "resource": "leases"}),
    "update-lease": ("W1", ("--leader-elect",), {"verb": "update", "resource": "leases"}),
    "apply-configmap": ("W23", (), {"verb": "patch", "resource": "configmaps"}),
    "list-jobs": ("W24", (), {"verb": "list", "resource": "rayjobs"}),
    "watch-jobs": ("W24", (), {"verb": "watch", "resource": "rayjobs"}),
    "status-job": ("W24", (), {"verb": "patch", "resource": "rayjobs", "sub": "status"}),
    "create-cluster": ("W24", (), {"verb": "create", "resource": "rayclusters"}),
    "delete-cluster": ("W24", (), {"verb": "delete", "resource": "rayclusters"}),
    "add-finalizer": ("W26", (), {"verb": "patch", "resource": "rayjobs", "sub": "", "where": finalizers}),
    "remove-finalizer": ("W26", (), {"verb": "patch", "resource": "rayjobs", "sub": "", "where": lambda x: not finalizers(x)}),
    "create-account": ("W27", (), {"verb": "create", "resource": "serviceaccounts"}),
    "create-role": ("W27", (), {"verb": "create", "resource": "roles"}),
    "create-binding": ("W27", (), {"verb": "create", "resource": "rolebindings"}),
    "create-secret": ("W27", (), {"verb": "create", "resource": "secrets"}),
    "get-secret": ("W27", (), {"verb": "get", "resource": "secrets"}),
    "status-submitting": ("W29", (), {"verb": "patch", "resource": "rayjobs", "sub": "status", "where": runs}),
    "create-submitter": ("W29", (), {"verb": "create", "resource": "pods", "where": is_submitter}),
    "delete-submitter": ("W29", (), {"verb": "delete", "resource": "pods"}),
}
DASHBOARD = {
    "head-session": ("W24", (), {"verb": "get", "resource": "dashboard", "sub": "version"}),
    "head-submit": ("W24", (), {"verb": "create", "resource": "dashboard", "sub": "jobs"}),
    "head-look": ("W24", (), {"verb": "get", "resource": "dashboard", "sub": "job"}),
    "head-log": ("W25", (), {"verb": "get", "resource": "dashboard", "sub": "logs"}),
    "head-stop": ("W26", (), {"verb": "create", "resource": "dashboard", "sub": "stop"}),
    "proxy-submit": ("W28", (), {"verb": "create", "resource": "services", "sub": "proxy"}),
    "proxy-look": ("W28", (), {"verb": "get", "resource": "services", "sub": "proxy", "where": lambda x: call_of(x.target) == "job"}),
}
PASSING = ("401", "403", "429-after", "429", "500", "503-after", "504", "broken-json", "truncated", "reset", "hang")  # others end a job

TOO_LARGE = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
ANSWERS = {
    "400": lambda: say(400, "BadRequest"),
    "401": lambda: say(401, "Unauthorized"),
    "403": lambda: say(403, "Forbidden"),
    "404": lambda: say(404, "NotFound"),
    "409-conflict": lambda: say(409, "Conflict"),
    "409-exists": lambda: say(409, "AlreadyExists"),
    "410": lambda: say(410, "Expired"),
    "413": lambda: say(413, "RequestEntityTooLarge"),
    "415": lambda: say(415, "UnsupportedMediaType"),
    "422": lambda: say(422, "Invalid"),
    "429-after": lambda: say(429, "TooManyRequests", retry_after=1),
    "429": lambda: say(429, "TooManyRequests"),
    "500": lambda: say(500, "InternalError"),
    "503-after": lambda: say(503, "ServiceUnavailable", retry_after=1),
    "504": lambda: say(504, "Timeout"),
    "504-version": lambda: say(504, "Timeout", causes=TOO_LARGE, retry_after=1),
    "broken-json": broken_json,
    "truncated": truncated,
    "reset": reset,
    "hang": lambda: hang(HANG_SECONDS),
}


KINDS = PAIRS | DASHBOARD
ROWS = [(pair, answer) for pair in PAIRS for answer in ANSWERS] + [(pair, answer) for pair in DASHBOARD for answer in PASSING]


def half_a_stream(c, x, _rule):
    c.tell_stream(x)
    c.near.send(chunk(b'{"type":"ADDED","object":{"kind":"Po'))
    raise Closed


def action_of(answer, verb):
    """A watch's answer has no end to wait for: what is done to the others' bodies is done to its first event."""
    if verb == "watch" and answer == "broken-json":
        return stream(b'{"type":"ADDED","object":{"metadata":{"name":"x"\x00}}}\n')
    if verb == "watch" and answer == "truncated":
        return half_a_stream
    return ANSWERS[answer]()


def answered(pair, answer, reference):
    name, flags, which = KINDS[pair]
    workload = WORKLOADS[name]

    def run(ctx):
        verb, looks = which["verb"], pair == "look-pod"
        rule = Rule(action_of(answer, verb), times=1 if answer == "hang" else TIMES, title=answer, **which)
        if verb == "list" and not looks:  # only who is refused a streaming list asks for pages
            ctx.proxy.add(Rule(say(400, "BadRequest", "sendInitialEvents is forbidden"), verb="watch", times=ALWAYS,
                               where=lambda x: "sendInitialEvents" in x.query, helper=True))
        if looks:  # only what follows a lost answer
            ctx.proxy.add(Rule(reset(forward=True), verb="create", resource="pods", name="head", times=2))
        if (verb in LISTS and not looks) or which["resource"] == "leases":  # of the start
            ctx.proxy.add(rule)
            ctx.operator(*flags)
            ctx.act(workload)
        else:
            ctx.begin(workload)
            ctx.proxy.add(rule)
            ctx.act(workload)
        assert rule.hit.wait(60), "no such request was sent"
        own = HANG_SECONDS if answer == "hang" else TIMES * TRY_SECONDS if pair == "try-pod" else 0
        own += TIMES * ABSENT_SECONDS if answer == "404" and verb in LISTS and not looks else 0
        own += HOLE_SECONDS if answer == "broken-json" and verb == "list" and not looks else 0
        ctx.check(reference, limit=LIMIT + own)
    return run


def cases(learned):
    return [Case(f"B/{pair}/{answer}", answered(pair, answer, learned[KINDS[pair][0]]), slow=answer == "hang",
                 plain=WORKLOADS[KINDS[pair][0]].tools == "configmap")  # no ConfigMap holds the program with sanitizers
            for pair, answer in ROWS]
