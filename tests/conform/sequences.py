"""Sequences of requests, each made from one seed and nothing else. A step is a dictionary:

    do       "ask", "watch" (open one; its events are read at the end), "settle" (wait until nobody acts any more; paths: of lists) or
             "compact" (both servers forget what was before; such a sequence shares them only with others that wait for the same)
    method, path, type, accept, body or raw; from: body is a merge patch of that object as it was last seen
    stale    the real server may answer with an older state for a moment
    sentinel of a watch: it will see the object that is made last
"""

import json
import random
from urllib.parse import quote, urlencode

from vocabulary import KINDS, MANAGERS, NAMES, metadata, mostly, some

TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
JSON = "application/json"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
NAMESPACE = "/api/v1/namespaces/@ns()"
POLICIES = ("Background", "Foreground", "Orphan")


def query(**words):
    """Encoded, with @references left as they are."""
    return "?" + urlencode(words, safe="@()/") if words else ""


def named(kind, body):
    """For a Service with a name that is none the real server (1.34) tries each of a million addresses before it looks at the name: such a
    Service asks for no address."""
    meta = body["metadata"]
    good = meta.get("name") in NAMES or str(meta.get("generateName", "")).startswith("gen-")
    if kind.kind == "Service" and not good:
        body.setdefault("spec", {}).update(clusterIP="None", type="ClusterIP")
    return body


class Sequence:
    """Grows one request at a time; keeps in mind what probably exists."""

    def __init__(self, seed, length=None):
        self.rng = random.Random(f"conform {seed}")
        self.steps, self.there, self.generated = [], {}, 0
        kinds = self.rng.sample(KINDS, self.rng.randint(2, 4))  # few kinds, so that requests meet
        self.kinds = kinds
        self.begin()
        length = length or self.rng.randint(20, 40)
        compact = self.rng.randrange(length) if self.rng.random() < 0.03 else -1
        for i in range(length):
            if i == compact:
                self.compact()
            weights = {self.create: 9, self.update: 6, self.patch: 9, self.apply: 7, self.status: 4, self.delete: 5, self.get: 4,
                       self.list: 5, self.watch: 2, self.delete_collection: 1, self.odd: 2, self.owned: 3, self.expired: 0.3,
                       self.ahead: 0.1}
            self.rng.choices(list(weights), weights.values())[0]()
        if self.rng.random() < 0.03:
            self.end_namespace()
        self.settle()
        for kind in self.kinds:
            self.ask(kind, "GET", kind.path())

    def begin(self):
        """Watches from the start, as an informer opens them."""
        for kind in self.kinds:
            self.ask(kind, "GET", kind.path())
            self.open(kind, {"resourceVersion": f"@listrv({kind.key})"}, True)

    # ---- pieces ----

    def ask(self, kind, method, path, body=None, content_type=JSON, **more):
        step = {"do": "ask", "method": method, "path": path, **more}
        if body is not None:
            step["body"] = body
        if "raw" in step or body is not None:
            step["type"] = content_type
        self.steps.append(step)

    def settle(self, *more):
        self.steps.append({"do": "settle", "paths": sorted({k.path() for k in [*self.kinds, *more]})})

    def kind(self):
        return self.rng.choices(self.kinds, [k.weight for k in self.kinds])[0]

    def name(self, kind, present=0.8):
        """Mostly one that is there, or (present low) one that is not."""
        there = self.there.get(kind.key, set())
        if there and self.rng.random() < present:
            return self.rng.choice(sorted(there))
        return self.rng.choice(NAMES)

    def write_words(self):
        words = {}
        if self.rng.random() < 0.3:
            words["fieldManager"] = self.rng.choice(MANAGERS)
        if self.rng.random() < 0.1:
            words["dryRun"] = mostly(self.rng, "All", "Some")
        if self.rng.random() < 0.15:
            words["fieldValidation"] = mostly(self.rng, self.rng.choice(["Strict", "Warn", "Ignore"]), "Loose")
        return words

    # ---- creates ----

    def create(self, owners=None, kind=None):
        rng, kind = self.rng, kind or self.kind()
        name, words = self.name(kind, 0.2), self.write_words()
        body = kind.typed({"metadata": metadata(rng, name, owners), **kind.make(rng)})
        if rng.random() < 0.1:
            self.generated += 1
            body["metadata"].pop("name", None)
            body["metadata"]["generateName"] = mostly(rng, f"gen-{self.generated}-", "Gen_", "g" * 60)
        elif "dryRun" not in words:
            self.there.setdefault(kind.key, set()).add(name)
        named(kind, body)
        self.ask(kind, "POST", kind.path() + query(**words), body)

    def owned(self):
        """An object that belongs to another one."""
        owners = [k for k in self.kinds if self.there.get(k.key)]
        if not owners:
            return
        owner, kind = self.rng.choice(owners), self.kind()
        name = self.name(owner, 0.9)
        reference = {"apiVersion": owner.version, "kind": owner.kind, "name": name, "uid": f"@uid({owner.key}/{name})"}
        elsewhere = {"apiVersion": "v1", "kind": "ConfigMap", "name": "elsewhere", "uid": "@elsewhere()"}
        references = self.rng.choice([[elsewhere], [reference, elsewhere], [{**reference, "name": "other"}], *[[reference]] * 6])
        if any(k.kind == "Event" for k in self.kinds):
            references = [reference]  # of an owner elsewhere the real server tells in an event
        if self.rng.random() < 0.5:
            reference["controller"] = True
        if self.rng.random() < 0.5:
            reference["blockOwnerDeletion"] = True
        self.create(references, kind)
        self.settle()  # it goes when the owner is not there

    # ---- changes ----

    def touch(self, kind, patch):
        """Metadata that changes beside everything else."""
        rng, meta = self.rng, {}
        if rng.random() < 0.4:
            meta["labels"] = {rng.choice(["app", "new"]): rng.choice(["x", "z", None])}
        if rng.random() < 0.15:
            meta["annotations"] = {"conform.test/note": rng.choice(["3", None])}
        if rng.random() < 0.15:
            meta["finalizers"] = rng.choice([None, [], ["conform.test/hold"], ["conform.test/more", "conform.test/hold"], ["bad"]])
        if rng.random() < 0.03:
            meta["ownerReferences"] = None
        return {**patch, "metadata": meta} if meta else patch

    def precondition(self, kind, name, patch):
        roll = self.rng.random()
        which = {"resourceVersion": f"@rv({kind.key}/{name})"}
        if roll < 0.1:
            which = {"resourceVersion": f"@old({kind.key}/{name})"}
        elif roll < 0.15:
            which = {"uid": f"@uid({kind.key}/{name})"}
        elif roll < 0.18:
            which = {"uid": "00000000-0000-0000-0000-000000000001"}
        elif roll < 0.2:
            which = {"name": "other"}
        elif roll > 0.4:
            return patch
        return {**patch, "metadata": {**patch.get("metadata", {}), **which}}

    def update(self):
        """PUT: of what was read, changed; sometimes of something new."""
        rng, kind = self.rng, self.kind()
        name = self.name(kind)
        path = kind.path(name) + query(**self.write_words())
        if rng.random() < 0.75:
            patch = self.touch(kind, kind.change(rng) if rng.random() < 0.8 else {})
            if rng.random() < 0.15:
                patch.setdefault("metadata", {})["resourceVersion"] = rng.choice([None, f"@old({kind.key}/{name})"])
            self.ask(kind, "PUT", path, {**kind.typed({}), **patch}, **{"from": f"{kind.version} {kind.key}/{name}"})
        else:
            body = kind.typed({"metadata": metadata(rng, name), **kind.make(rng)})
            if rng.random() < 0.7:
                body["metadata"]["resourceVersion"] = f"@rv({kind.key}/{name})"
            self.ask(kind, "PUT", path, named(kind, body))
        self.after_finalizers()

    def after_finalizers(self):
        """A change may have let an owner go."""
        if self.rng.random() < 0.3:
            self.settle()

    def patch(self):
        rng, kind = self.rng, self.kind()
        name, words = self.name(kind), self.write_words()
        path = kind.path(name) + query(**words)
        how = rng.choice(["merge", "merge", "json"] + ([] if kind.custom and rng.random() < 0.9 else ["strategic"]))
        if how == "json":
            self.ask(kind, "PATCH", path, self.json_patch(kind, name), TYPES[how])
        else:
            change = kind.change(rng) if rng.random() < 0.7 else {}
            self.ask(kind, "PATCH", path, self.precondition(kind, name, self.touch(kind, change)), TYPES[how])
        self.after_finalizers()

    def json_patch(self, kind, name):
        rng = self.rng
        ops = [
            {"op": "add", "path": "/metadata/labels/app", "value": rng.choice(["x", "z"])},
            {"op": "add", "path": "/metadata/labels", "value": {"app": "new"}},
            {"op": "remove", "path": "/metadata/labels/app"},
            {"op": "replace", "path": "/metadata/annotations", "value": {"conform.test/note": "9"}},
            {"op": "test", "path": "/metadata/resourceVersion", "value": f"@rv({kind.key}/{name})"},
            {"op": "test", "path": "/metadata/resourceVersion", "value": f"@old({kind.key}/{name})"},
            {"op": "test", "path": "/metadata/uid", "value": f"@uid({kind.key}/{name})"},
            {"op": "remove", "path": "/metadata/finalizers"},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "conform.test/more"},
            {"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/copied"},
            {"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/moved"},
            {"op": "replace", "path": "/metadata/name", "value": "other"},
            {"op": "nonsense", "path": "/metadata"},
            {"op": "add", "path": "/not/there/at/all", "value": 1},
        ]
        return rng.sample(ops, rng.choice([1, 1, 1, 2]))

    def apply(self):
        rng, kind = self.rng, self.kind()
        name = self.name(kind, 0.7)
        words = {"fieldManager": rng.choice(MANAGERS), **{k: v for k, v in self.write_words().items() if k != "fieldManager"}}
        if rng.random() < 0.3:
            words["force"] = "true"
        if rng.random() < 0.04:
            del words["fieldManager"]
        server = ("resourceVersion", "deletionTimestamp", "creationTimestamp", "generation")  # what is applied of these is kept by accident
        meta = {k: v for k, v in metadata(rng, name).items() if k not in server}
        body = kind.typed({"metadata": meta, **(kind.make(rng) if rng.random() < 0.8 else {})})
        if rng.random() < 0.1:
            body["metadata"].update(rng.choice([{"uid": f"@uid({kind.key}/{name})"}, {"resourceVersion": f"@old({kind.key}/{name})"},
                                                {"managedFields": [{}]}, {"managedFields": []}, {"name": "other"}]))
        if rng.random() < 0.04:
            body.pop(rng.choice(["apiVersion", "kind"]))
        if "dryRun" not in words:
            self.there.setdefault(kind.key, set()).add(name)
        self.ask(kind, "PATCH", kind.path(name) + query(**words), named(kind, body), TYPES["apply"])

    def status(self):
        rng, kind = self.rng, self.kind()
        make = kind.status or (lambda _: {"status": {"x": 1}})
        name, how = self.name(kind), rng.choice(["merge", "merge", "put", "apply", "json", "get"])
        path, body = kind.path(name, "status"), make(rng)
        words = self.write_words()
        if how == "get":
            self.ask(kind, "GET", path)
        elif how == "put":
            last = {"from": f"{kind.version} {kind.key}/{name}"}
            self.ask(kind, "PUT", path + query(**words), {**kind.typed({}), **self.touch(kind, body)}, **last)
        elif how == "json":
            self.ask(kind, "PATCH", path + query(**words), [{"op": "add", "path": "/status", "value": body["status"]}], TYPES["json"])
        elif how == "apply":
            words["fieldManager"] = rng.choice(MANAGERS)
            body = kind.typed({"metadata": {"name": name}, **body})
            self.ask(kind, "PATCH", path + query(**words, **({"force": "true"} if rng.random() < 0.5 else {})), body, TYPES["apply"])
        else:
            self.ask(kind, "PATCH", path + query(**words), self.touch(kind, body), TYPES[how])

    # ---- deletions ----

    def delete(self):
        rng, kind = self.rng, self.kind()
        name, options = self.name(kind, 0.9), {}
        if rng.random() < 0.5:
            options["propagationPolicy"] = mostly(rng, rng.choice(POLICIES), "Nonsense")
        if rng.random() < 0.4:
            good = rng.random() < 0.7
            options["preconditions"] = rng.choice([
                {"uid": f"@uid({kind.key}/{name})" if good else "00000000-0000-0000-0000-000000000001"},
                {"resourceVersion": f"@rv({kind.key}/{name})" if good else f"@old({kind.key}/{name})"}])
        if rng.random() < 0.2:
            options["gracePeriodSeconds"] = mostly(rng, rng.choice([0, 1, 10]), -1)
        if rng.random() < 0.1:
            options["dryRun"] = ["All"]
        else:
            self.there.get(kind.key, set()).discard(name)
        words = {}
        if rng.random() < 0.2 and "propagationPolicy" in options:
            words["propagationPolicy"] = options.pop("propagationPolicy")
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
        self.ask(kind, "DELETE", kind.path(name) + query(**words), body)
        self.settle()

    def delete_collection(self):
        kind, words = self.kind(), {"labelSelector": self.rng.choice(["app=x", "app", "app in (x,y)"])}
        self.ask(kind, "DELETE", kind.path() + query(**words))
        self.settle()

    # ---- reads ----

    def get(self):
        rng, kind = self.rng, self.kind()
        more = {"accept": METADATA} if rng.random() < 0.1 else {"accept": TABLE} if rng.random() < 0.1 else {}
        name = self.name(kind)
        if rng.random() < 0.2:
            self.ask(kind, "GET", kind.path(name) + query(resourceVersion="0"), stale=True, **more)
        else:
            self.ask(kind, "GET", kind.path(name), **more)

    def selectors(self, kind):
        rng, words = self.rng, {}
        if rng.random() < 0.35:
            right = ["app=x", "app==y", "app!=x", "app", "!app", "app in (x,y)", "app notin (x)", "app=x,ray.io/cluster", "app="]
            words["labelSelector"] = mostly(rng, rng.choice(right), "a b", "app in x", "=x", "app=x,,", "a/b/c=x")
        if rng.random() < 0.2:
            words["fieldSelector"] = mostly(rng, rng.choice(["metadata.name=a", "metadata.name!=a", "metadata.namespace=@ns()"]),
                                            "spec.x=1", "metadata.name")
            if kind.kind == "Pod":
                right = ["status.phase=Pending", "status.phase!=Running", "spec.nodeName=gone", "spec.nodeName="]
                words["fieldSelector"] = rng.choice(right)
        return words

    def list(self):
        rng, kind = self.rng, self.kind()
        words, more = self.selectors(kind), {}
        roll = rng.random()
        if roll < 0.3:
            words["limit"] = mostly(rng, rng.choice([1, 2]), -1, "many")
        elif roll < 0.4:
            words["resourceVersion"] = "0"
            more["stale"] = True
        elif roll < 0.5:
            words.update(resourceVersion=f"@rv({kind.key}/{self.name(kind)})", resourceVersionMatch="Exact")
        elif roll < 0.55:
            words.update(resourceVersion=f"@listrv({kind.key})", resourceVersionMatch="NotOlderThan")
            more["stale"] = True
        elif roll < 0.6:
            words.update(rng.choice([{"resourceVersionMatch": "Exact"}, {"resourceVersion": "x"}, {"continue": "nonsense"},
                                     {"resourceVersion": "0", "resourceVersionMatch": "Exact"}, {"resourceVersion": "-1"},
                                     {"resourceVersion": "1", "resourceVersionMatch": "Newer"}]))
        if rng.random() < 0.15:
            more["accept"] = rng.choice([TABLE, METADATA_LIST])
        self.ask(kind, "GET", kind.path() + query(**words), **more)
        if "limit" in words:
            for _ in range(rng.randint(1, 2)):
                if rng.random() < 0.3:
                    self.create(kind=kind)
                self.ask(kind, "GET", kind.path() + query(**{**words, "continue": f"@continue({kind.key})"}))

    def open(self, kind, words, sentinel):
        self.steps.append({"do": "watch", "kind": kind.key, "path": kind.path() + query(watch="true", timeoutSeconds="600", **words),
                           "sentinel": sentinel})

    def watch(self):
        rng, kind = self.rng, self.kind()
        words = self.selectors(kind)
        # how far back the history of a built-in kind goes depends on when the real server was started
        how = rng.choice(["now", "rv", "old", "initial", "initial", "expired" if kind.custom else "initial", "odd"])
        if how == "rv":
            words["resourceVersion"] = f"@listrv({kind.key})"
        elif how == "old":
            words["resourceVersion"] = f"@rv({kind.key}/{self.name(kind)})"
        elif how == "initial":
            words.update(sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true")
        elif how == "expired":
            words["resourceVersion"] = "1"
        elif how == "odd":
            words.update(rng.choice([{"sendInitialEvents": "true"}, {"resourceVersion": "x"}, {"resourceVersionMatch": "Exact"},
                                     {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
                                     {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}]))
        self.open(kind, words, False)

    # ---- versions that are gone or not there yet, and a namespace that goes ----

    def expired(self):
        """Version 2 is from before all that is known; a page from then has a token that goes on with what is there now."""
        kind = self.kind()
        how = self.rng.choice(["list", "watch", "page", "page"])
        if how == "list":
            self.ask(kind, "GET", kind.path() + query(resourceVersion="2", resourceVersionMatch="Exact"))
        elif how == "watch":
            self.open(kind, {"resourceVersion": "2"}, False)
        else:
            self.ask(kind, "GET", kind.path() + query(limit=1, **{"continue": "@expired()"}))
            self.ask(kind, "GET", kind.path() + query(limit=1, **{"continue": "@continue(Status)"}))

    def compact(self):
        """In the middle of everything: half of each list was read before, and is gone on with."""
        for kind in self.kinds:
            for name in self.rng.sample(NAMES, 2):
                self.ask(kind, "POST", kind.path(), kind.typed({"metadata": {"name": name}, **kind.make(self.rng)}))
                self.there.setdefault(kind.key, set()).add(name)
            self.ask(kind, "GET", kind.path() + query(limit=1))
        self.steps.append({"do": "compact"})
        for kind in self.kinds:
            name = self.name(kind)
            old, last = f"@old({kind.key}/{name})", f"@listrv({kind.key})"
            self.ask(kind, "GET", kind.path() + query(resourceVersion=old, resourceVersionMatch="Exact"))
            self.ask(kind, "GET", kind.path() + query(resourceVersion=last, resourceVersionMatch="Exact"))
            self.ask(kind, "GET", kind.path() + query(resourceVersion=last, resourceVersionMatch="NotOlderThan"), stale=True)
            self.ask(kind, "GET", kind.path(name) + query(resourceVersion=old), stale=True)
            self.open(kind, {"resourceVersion": last}, False)  # the cache that watches are served from has forgotten nothing
            for limit in (1, 5):
                self.ask(kind, "GET", kind.path() + query(limit=limit, **{"continue": f"@continue({kind.key})"}))
                self.ask(kind, "GET", kind.path() + query(limit=limit, **{"continue": "@continue(Status)"}))

    def ahead(self):
        kind = self.kind()
        words = self.rng.choice([{}, {"resourceVersionMatch": "NotOlderThan"}, {"resourceVersionMatch": "Exact"}])
        name = self.name(kind) if not words else ""
        self.ask(kind, "GET", kind.path(name) + query(resourceVersion="@ahead()", **words))

    def end_namespace(self):
        """One object has a finalizer, so that the namespace stays and can be looked at."""
        holder = {"metadata": {"name": "holder", "finalizers": ["conform.test/hold"]}}
        first = KINDS[0]
        self.ask(first, "POST", first.path(), first.typed(holder))
        self.ask(first, "DELETE", NAMESPACE)
        self.settle(first)
        for _ in range(self.rng.randint(3, 8)):
            self.rng.choice([self.create, self.get, self.list, self.patch, self.apply, self.update])()
        self.ask(first, "PATCH", first.path("holder"), {"metadata": {"finalizers": None}}, TYPES["merge"])  # and lets it go

    # ---- what no good client sends ----

    def odd(self):
        rng, kind = self.rng, self.kind()
        name = self.name(kind)
        body = named(kind, kind.typed({"metadata": metadata(rng, name), **kind.make(rng)}))
        rng.choice([
            lambda: self.ask(kind, "POST", kind.path(), raw="{\"metadata\":", content_type=JSON),
            lambda: self.ask(kind, "POST", kind.path(), raw="", content_type=JSON),
            lambda: self.ask(kind, "POST", kind.path(), raw="[]", content_type=JSON),
            lambda: self.ask(kind, "POST", kind.path(), raw="[1]" if kind.kind == "Service" else "null", content_type=JSON),
            lambda: self.ask(kind, "POST", kind.path(), body, "text/plain"),
            lambda: self.ask(kind, "PATCH", kind.path(name), body, rng.choice([JSON, "text/plain", "application/nonsense"])),
            lambda: self.ask(kind, "PATCH", kind.path(name), raw="{", content_type=rng.choice(list(TYPES.values()))),
            lambda: self.ask(kind, "PATCH", kind.path(name), raw="[]", content_type=TYPES["merge"]),
            lambda: self.ask(kind, "PATCH", kind.path(name), raw="{}", content_type=TYPES["json"]),
            lambda: self.ask(kind, "POST", kind.path(), {**body, "kind": "Nonsense"}),
            lambda: self.ask(kind, "POST", kind.path(), {**body, "apiVersion": "v9"}),
            lambda: self.ask(kind, "POST", kind.path(), {k: v for k, v in body.items() if k != rng.choice(["kind", "apiVersion"])}),
            lambda: self.ask(kind, "POST", kind.path(name), body),
            lambda: self.ask(kind, "PUT", kind.path(), body),
            lambda: self.ask(kind, "GET", kind.path(name, "nonsense")),
            lambda: self.ask(kind, "GET", f"{kind.base}/namespaces/@ns()/nonsense"),
            lambda: self.ask(kind, "GET", f"{kind.base.rpartition('/')[0]}/v7/namespaces/@ns()/{kind.plural}"),
            lambda: self.ask(kind, "PUT", kind.path(name), raw=json.dumps(body)[:-1], content_type=JSON),
            lambda: self.ask(kind, "DELETE", kind.path(name), raw="{", content_type=JSON),
            lambda: self.ask(kind, "POST", kind.path().replace("@ns()", "not-there"), body),
            lambda: self.ask(kind, "GET", kind.path(quote("a b"))),
        ])()


def sequence(seed):
    return Sequence(seed).steps
