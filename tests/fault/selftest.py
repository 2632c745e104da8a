"""The oracles themselves: each must say no where there is something to say no to. Runs before the matrix, without a control plane."""

import http.client
import http.server
import json
import subprocess
import sys
import threading
import time
import types
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import case  # noqa: E402
import matrix  # noqa: E402
import oracles  # noqa: E402
from dashboards import Jobs  # noqa: E402
from proxy import Exchange  # noqa: E402
from rules import ALWAYS, Rule, kill, say  # noqa: E402
from submitters import Submitters  # noqa: E402
from watched import WATCHED  # noqa: E402
from wire import Headers  # noqa: E402
from workloads import whole  # noqa: E402

GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
BUSY = {"kind": "Status", "code": 500, "message": "etcd is away"}


def pod(version, uid="u1", name="p", deleted=False):
    of = {"ray.io/cluster": "c", "ray.io/node-type": "head"}
    meta = {"name": name, "uid": uid, "resourceVersion": str(version), "labels": of, "ownerReferences": [{"uid": "o", "controller": True}]}
    return {"kind": "Pod", "metadata": {**meta, **({"deletionTimestamp": "now"} if deleted else {})}}


def submitter(uid, name="j-1", version=1, owner="o"):
    """A pod of RayJob j that submits under this name."""
    of = {"ray.io/cluster": "j-abcde", "ray.io/originated-from-cr-name": "j"}
    meta = {"name": f"p-{uid}", "uid": uid, "resourceVersion": str(version), "labels": of, "namespace": "n",
            "ownerReferences": [{"kind": "RayJob", "uid": owner, "controller": True}]}
    env = [{"name": "RAY_JOB_SUBMISSION_ID", "value": name}]
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i", "args": ["submit", "--", "run it"], "env": env}]},
            "status": {"phase": "Running"}}


def line(kind, obj):
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


class Server:
    """Answers watches from a list of (status, body), one after the other; then none any more. Lists show `pods`."""

    def __init__(self, answers, pods=()):
        self.answers, self.pods, self.asked = list(answers), list(pods), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path.rpartition("resourceVersion=")[2])
                if not outer.answers:
                    time.sleep(0.2)
                status, body = outer.answers.pop(0) if outer.answers else (200, b"")
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.handle_error = lambda *_: None  # the witness has hung up
        self.port, self.tls = self.http.server_address[1], None
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def get(self, _path):
        return {"items": self.pods, "metadata": {"resourceVersion": "1"}}


class WitnessEnds(unittest.TestCase):
    """However its watch ends, it goes on at the last version or the case fails."""

    def setUp(self):
        self.https = http.client.HTTPSConnection
        http.client.HTTPSConnection = lambda host, port, **_: http.client.HTTPConnection(host, port)

    def tearDown(self):
        http.client.HTTPSConnection = self.https

    def witness(self, *answers, until, pods=()):
        server = Server(answers, pods)
        found = oracles.Witness(server, "n")
        end = time.monotonic() + 30
        while not until(found, server) and time.monotonic() < end:
            time.sleep(0.01)
        server.pods = [p for _, p in found.events][-1:]
        complete = found.has_all()
        found.stop()
        server.http.shutdown()
        server.http.server_close()
        return found, server, complete

    def lost(self, *answers):
        found, _, _ = self.witness(*answers, until=lambda w, _: w.lost)
        self.assertTrue(found.lost)
        self.assertIn("lost", next(found.breaches()))

    def test_version_gone(self):
        self.lost((410, json.dumps(GONE).encode()))
        self.lost((200, line("ADDED", pod(5)) + line("ERROR", GONE)))

    def test_what_cannot_be_understood(self):
        self.lost((200, b'{"kind":"Status"}\n'))
        self.lost((200, b"not JSON\n"))
        self.lost((410, b"not JSON"))

    def test_goes_on_at_the_last_version(self):
        half = line("MODIFIED", pod(7))[:40]
        found, server, complete = self.witness(
            (200, line("ADDED", pod(5)) + line("BOOKMARK", pod(6)) + half), (500, json.dumps(BUSY).encode()), (200, line("ERROR", BUSY)),
            (200, line("MODIFIED", pod(7))), until=lambda _, s: len(s.asked) > 4)
        self.assertEqual(found.lost, "")
        self.assertEqual([p["metadata"]["resourceVersion"] for _, p in found.events], ["5", "7"])
        self.assertEqual(server.asked[:5], ["1", "6", "6", "6", "7"])
        self.assertTrue(complete)

    def test_behind(self):
        server = Server([])
        found = oracles.Witness(server, "n")
        server.pods = [pod(9)]
        self.assertFalse(found.has_all())
        found.stop()
        server.http.shutdown()
        server.http.server_close()

    def test_two_heads(self):
        two = line("ADDED", pod(5)) + line("ADDED", pod(6, "u2", "q"))
        found, _, _ = self.witness((200, two), until=lambda w, _: len(w.events) > 1)
        self.assertEqual(len(list(found.breaches())), 1)
        found.strangers.add("q")
        self.assertEqual(list(found.breaches()), [])
        after = line("ADDED", pod(5)) + line("MODIFIED", pod(6, deleted=True)) + line("ADDED", pod(7, "u2", "q"))
        found, _, _ = self.witness((200, after), until=lambda w, _: len(w.events) > 2)
        self.assertEqual(list(found.breaches()), [])


    def test_two_submitters(self):
        """Of one job, whatever their attempts. One that has ended is none."""
        ended = submitter("u1", version=6) | {"status": {"phase": "Failed"}}
        first, second, over = (line("ADDED", submitter("u1", version=5)), line("ADDED", submitter("u2", "j-2", 7)), line("MODIFIED", ended))
        for events, count in (((first, second), 1), ((first, over, second), 0)):
            found, _, _ = self.witness((200, b"".join(events)), until=lambda w, _, n=len(events): len(w.events) == n)
            self.assertEqual(len(list(found.breaches())), count)
            self.assertEqual(set(found.created()), {("o", "j/submitter")})


class Counting(unittest.TestCase):
    def hits(self, rule, n):
        for _ in range(n):
            rule.takes(types.SimpleNamespace(dry_run=False, verb="create", resource="pods", sub="", group="", name="p"))
        return rule.faults

    def test_faults(self):
        self.assertEqual(self.hits(Rule(say(500)), 3), 1)
        self.assertEqual(self.hits(Rule(say(500), times=2), 3), 2)
        self.assertEqual(self.hits(Rule(say(500), times=ALWAYS), 3), 1)
        self.assertEqual(self.hits(Rule(say(500), times=2, helper=True), 3), 0)
        self.assertEqual(self.hits(Rule(kill("after", None)), 3), 0)  # whoever kills counts


def write(resource, body=b"", told=201, at=0.0, name="p", seq=0, **obj):
    return types.SimpleNamespace(resource=resource, body=body, told=told, at=at, name=name, seq=seq, object=obj)


class Bounds(unittest.TestCase):
    def test_refusals(self):
        case.Context.check_refusals([write("pods", at=t) for t in (0, 1, 3, 7, 15)])
        with self.assertRaises(AssertionError):
            case.Context.check_refusals([write("pods", at=t / 10) for t in range(5)])

    def test_refused_for_long(self):
        """A namespace that takes its time to go refuses more pods than it did without faults: each of them at the pace of the backoff."""
        def check(times, refused=4):
            said = {"resource": "pods", "verb": "create", "status": 403, "fault": "", "name": "p"}
            wrote = [types.SimpleNamespace(**said, generation=g, at=t) for g, t in times]
            ctx = mock.Mock(data={}, unheard=0, check_refusals=case.Context.check_refusals, created_before=case.collections.Counter())
            ctx.proxy.writes.return_value, ctx.fault_count.return_value = wrote, 1
            ctx.witness.created.return_value = case.collections.Counter()
            case.Context.check_writes(ctx, case.Learned("w", {}, writes=4, refused=refused))

        paced = [(0, 0.0), (0, 1.0), (1, 1.2), (1, 2.2), (1, 4.3), (1, 8.4), (1, 16.5), (1, 32.6), (2, 33.0), (2, 34.0), (2, 36.1),
                 (2, 40.2), (2, 48.3)]
        check(paced)
        with self.assertRaises(AssertionError):
            check(paced, refused=len(paced))  # as without faults: then they count as all writes do
        with self.assertRaises(AssertionError):
            check([(0, t / 10) for t in range(11)])

    def test_late(self):
        """What may be written at rest: Events of before that nobody has heard yet, and the tools when they were refused."""
        old, now = {"eventTime": "2026-01-01T00:00:00.000000Z"}, "2026-01-01T00:00:05.000000Z"
        repeated = {"series": {"count": 2, "lastObservedTime": old["eventTime"]}}
        for first, second, late in (
                (None, write("events", b"s", **repeated), True),
                (write("events", b"s", 200, **repeated), write("events", b"s", **repeated), False),
                (None, write("events", b"e", **old), True), (write("events", b"e", **old), write("events", b"e", **old), False),
                (write("events", b"e", 500, **old), write("events", b"e", **old), True),
                (None, write("events", b"e", eventTime="2026-01-01T00:00:06.000000Z"), False), (None, write("events", b"series"), False),
                (write("configmaps", b"t", 403), write("configmaps", b"t"), True), (None, write("configmaps", b"t"), False),
                (write("pods", b"p", 500), write("pods", b"p"), False)):
            log = [first] if first else []
            second.seq = len(log)
            self.assertIs(case.is_late(types.SimpleNamespace(log=log), second, now), late, (first, second))


class Replicas(unittest.TestCase):
    """A replica that was on its way when its process was killed may be made once more, and nothing else may."""

    @staticmethod
    def host(replica, host, uid):
        of = {"ray.io/cluster": "c", "ray.io/node-type": "worker", "ray.io/group": "small", "ray.io/worker-group-replica-index": replica}
        meta = {"name": uid, "uid": uid, "labels": of | ({"ray.io/replica-host-index": host} if host else {})}
        return {"metadata": meta}

    def made(self, unheard, *hosts):
        counted = case.collections.Counter(("o", oracles.place(h)) for h in hosts)
        reference = case.Learned("w", {}, writes=9, created={"c/small/*/0": 1, "c/small/*/1": 1, "c/small/0": 1})
        ctx = mock.Mock(data={}, unheard=0, unheard_replicas=case.replicas(unheard), created_before=case.collections.Counter())
        ctx.proxy.writes.return_value, ctx.fault_count.return_value, ctx.witness.created.return_value = [], 1, counted
        case.Context.check_writes(ctx, reference)

    def test_on_the_way(self):
        first, second = [self.host("2", h, f"a{h}") for h in "01"], [self.host("1", h, f"b{h}") for h in "01"]
        self.made([], *first)
        self.made(first[:1], *first, *second)
        with self.assertRaises(AssertionError):
            self.made([], *first, *second)
        with self.assertRaises(AssertionError):
            self.made(first, *first, *second, *second)
        worker = self.host("0", "", "w")
        with self.assertRaises(AssertionError):
            self.made([worker], worker, worker)

    def test_called_alike_at_any_place(self):
        """Else a case whose fault is at such a write finds its place on a slow machine only (A/W17/06)."""
        def key(*place):
            x = mock.Mock(resource="pods", verb="create", object=self.host(*place, "u"))
            x.what.return_value = "create pods"
            return case.Context.key(mock.Mock(), x)

        self.assertEqual(key("2", "0"), key("1", "0"))
        self.assertNotEqual(key("2", "0"), key("2", "1"))
        self.assertNotEqual(key("2", ""), key("1", ""))


class Failing(unittest.TestCase):
    """A case that fails is one that failed, whether it finds words or not."""

    def test_words(self):
        for text, e in (("too many", AssertionError("too many")), ("AssertionError", AssertionError()), ("KeyError", KeyError("x"))):
            self.assertIn(text, matrix.told(e))


class Namespace:
    """A cluster "a" with a head and two workers, and its head service, as the claims of workloads look at them."""

    def __init__(self):
        self.api = self
        self.status = {"state": "ready", "observedGeneration": 2}
        self.pods = [pod(1, "h", "a-head")] + [pod(1, f"w{i}", f"a-{i}") for i in (1, 2)]
        for p in self.pods:
            p["metadata"]["labels"] = {"ray.io/cluster": "a", "ray.io/node-type": "head" if p is self.pods[0] else "worker"}
            p["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.selector = {}

    def cluster(self, name, _group):
        return {"metadata": {"name": name, "uid": "o", "generation": 2}, "spec": {}, "status": self.status}

    @staticmethod
    def path(resource, *_):
        return resource

    def get(self, path):
        meta = {"name": "a-head-svc", "ownerReferences": [{"uid": "o"}]}
        service = {"metadata": meta, "spec": {"selector": self.selector}}
        pods = self.pods[:2] if path.endswith("%3Db") else self.pods  # b has one worker
        return {"items": [] if path.endswith("%3Dx") else pods if path.startswith("pods") else [service]}


class Ends(unittest.TestCase):
    """What a workload claims of its end must not hold while what act has done is still to be set right."""

    def no(self, claim, **more):
        with self.assertRaises(AssertionError):
            claim(types.SimpleNamespace(**more))

    def test_whole(self):
        self.assertTrue(whole(2, "a")(types.SimpleNamespace(space=Namespace())))
        self.no(whole(3, "a"), space=Namespace())

    def test_not_yet(self):
        for spoil in (lambda n: n.pods[1]["status"].update(phase="Failed"), lambda n: n.pods[1]["status"].update(conditions=[]),
                      lambda n: n.pods[1]["metadata"].update(deletionTimestamp="now"), lambda n: n.pods.pop(),
                      lambda n: n.status.update(observedGeneration=1), lambda n: n.status.update(state="")):
            space = Namespace()
            spoil(space)
            self.no(whole(2, "a"), space=space)
        self.no(whole(2, "a", where=lambda _: False), space=Namespace())
        headless = Namespace()
        del headless.pods[0]  # as many pods as one worker and a head
        self.no(whole(1, "a"), space=headless)

    def test_an_edited_service(self):
        services = next(w for w in WATCHED if w.id == "services")
        space = Namespace()
        ctx = types.SimpleNamespace(space=space, api=space)
        self.assertTrue(services.workload.over(ctx))
        space.selector = {"ray.io/cluster": "other"}
        self.no(services.workload.over, space=space, api=space)


class Learning(unittest.TestCase):
    """The reference: an end that the workload calls one, and on which two runs agree."""

    def learned(self, over):
        """What is learned of a state that says how often over() was asked."""
        asked = []

        def claim(_ctx):
            asked.append(0)
            return over(len(asked))

        ctx = mock.Mock(data={}, more=(), created_before=0)
        ctx.state.side_effect = lambda strict=False: {"asked": over(len(asked) + 1)}
        ctx.quiet_for.return_value = 9.0
        ctx.effective.return_value, ctx.proxy.writes.return_value, ctx.witness.created.return_value = [], [], 0
        with mock.patch.object(time, "sleep"), mock.patch.object(oracles, "orphans", return_value=[]), \
                mock.patch.object(matrix, "by_place", return_value={}):
            matrix.learn(types.SimpleNamespace(id="w", over=claim))(ctx)
        return ctx.data["learned"][0].state["asked"]

    def test_quiet_is_not_the_end(self):
        """Nothing is written and nothing changes, for as long as anybody looks; only the workload knows better."""
        self.assertTrue(self.learned(lambda asked: asked > 50))
        self.assertTrue(self.learned(lambda asked: asked == 1 or asked > 50))

    @staticmethod
    def runs(*states):
        return [(case.Learned("w", {"service": state}, writes=n), []) for n, state in enumerate(states)]

    def test_two_agree(self):
        for states, pair in (("aa", (0, 1)), ("ab", ()), ("aba", (0, 2)), ("baa", (1, 2)), ("abc", ())):
            runs = self.runs(*states)
            self.assertEqual(tuple(r.writes for r, _ in matrix.agreed(runs)), pair)
            self.assertEqual(bool(matrix.ends_of(runs)), len(set(states)) > 1)


class Submitted(unittest.TestCase):
    """Of what dashboards were asked and API servers told, in this order."""

    def untold(self, *asked):
        log = []
        for resource, sub, name, status in asked:
            x = Exchange(len(log), 0.0, 0, "", "", Headers(), b"", resource=resource, sub=sub, name=name, status=status)
            x.object = {"status": {"jobId": "j-1"}} if resource == "rayjobs" else {}
            log.append(x)
        return oracles.untold_submissions(log)

    def test_order(self):
        told, posted = ("rayjobs", "status", "j", 200), ("dashboard", "jobs", "j-1", 200)
        self.assertEqual(self.untold(told, posted), [])
        self.assertEqual(len(self.untold(posted, told)), 1)
        self.assertEqual(len(self.untold(("rayjobs", "status", "j", 409), posted)), 1)
        self.assertEqual(len(self.untold(told, ("dashboard", "jobs", "j-2", 200))), 1)

    def test_pods(self):
        """An id is a pod's when it is in a status before the pod is; another pod may have it when the first has submitted nothing."""
        log = [Exchange(n, 0.0, 0, "", "", Headers(), b"", verb="create", resource="pods", object=submitter("u1", name))
               for n, name in enumerate(("j-1", "j-2", "j-2"))]
        log.insert(1, Exchange(1, 0.0, 0, "", "", Headers(), b"", resource="rayjobs", sub="status", status=200,
                               object={"status": {"jobId": "j-2"}}))
        for n, x in enumerate(log):
            x.seq = n
        found = oracles.untold_submissions(log)
        self.assertTrue(len(found) == 1 and "j-1" in found[0], found)

    def test_by_two_pods(self):
        jobs = Jobs()
        played = Submitters(None, jobs)
        for uid, name in (("u1", "j-1"), ("u2", "j-2")):
            played.submit(submitter(uid, name))
        self.assertEqual(played.again, [])
        played.submit(submitter("u3", "j-2"))
        self.assertEqual(len(played.again), 1)
        self.assertEqual([j["entrypoint"] for j in jobs.jobs.values()], ["run it", "run it"])

    def test_orphan(self):
        """The submitter of a job that is gone."""
        found = [("rayjob", {"metadata": {"name": "j", "uid": "o"}}), ("pod", submitter("u1")), ("pod", submitter("u2", owner="gone"))]
        with mock.patch.object(oracles, "objects", lambda *_: found):
            self.assertEqual(oracles.orphans(None), ["pod p-u2"])

    def test_twice(self):
        told, posted, failed = ("rayjobs", "status", "j", 200), ("dashboard", "jobs", "j-1", 200), ("dashboard", "jobs", "j-1", 503)
        self.assertEqual(len(self.untold(told, posted, posted)), 1)
        self.assertEqual(self.untold(told, failed, posted), [])


class Said(unittest.TestCase):
    def test_secrets(self):
        secrets = {"token": "head.claims.signature-of-it", "canary": "canary-1"}
        texts = {"log": "level=warn token=…signature-of-it", "events": "PASSWORD=canary-1", "status": "head.claims"}
        self.assertEqual(oracles.secrets_told(texts, secrets), [("token", "log"), ("canary", "events")])

    def test_sanitizers(self):
        program = HERE.parents[1] / "build" / "test" / "sanitized"
        source = """
            #include <stdlib.h>
            int main(int n, char **v) { char *p = malloc(4); (void)v; return n > 1 ? p[n + 8] : 2147483647 + n; }"""
        program.parent.mkdir(parents=True, exist_ok=True)
        built = subprocess.run(["cc", "-x", "c", "-", "-fsanitize=address,undefined", "-o", program], input=source, text=True, check=False)
        self.assertEqual(built.returncode, 0)
        for words in ([], ["x", "y"]):
            out = subprocess.run([program, *words], capture_output=True, text=True, check=False)
            self.assertTrue(oracles.SANITIZER.search(out.stderr), out.stderr)


if __name__ == "__main__":
    unittest.main()
