"""Stands in for the kubelets of the fake nodes: scheduled pods whose ConfigMaps are there become Running and Ready, deleted ones go. kwok
does that too, but it asks for no ConfigMap, and deletes by name alone, late on a busy machine: it would take the successor that has the
name by then. A real kubelet names the uid, as this does."""

import http.client
import json
import os
import queue
import signal
import sys
import threading
import time
from datetime import datetime, timezone

from cluster import Api, Refused

THREADS = 6
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
ADDRESS = "example.com/address"  # an annotation of pods that have a certain one
MOUNT_SECONDS = 0.5  # until it looks for a ConfigMap again
PODS = "/api/v1/pods?fieldSelector=spec.nodeName!="


def stamp():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def running_status(pod, address):
    """What a kubelet says when all containers run."""
    now = stamp()
    conditions = [{"type": t, "status": "True", "lastTransitionTime": now} for t in ("Initialized", "Ready", "ContainersReady")]
    containers = [{"name": c["name"], "image": c["image"], "imageID": "", "ready": True, "restartCount": 0, "started": True,
                   "state": {"running": {"startedAt": now}}} for c in pod["spec"]["containers"]]
    return {"phase": "Running", "startTime": now, "conditions": conditions, "containerStatuses": containers, "hostIP": "10.0.0.1",
            "podIP": address, "podIPs": [{"ip": address}]}


class Kubelet:
    def __init__(self):
        self.work, self.addresses = [queue.Queue() for _ in range(THREADS)], 0

    def run(self, parent):
        for q in self.work:
            threading.Thread(target=self._serve, args=(q,), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()
        while os.getppid() == parent:
            time.sleep(0.5)

    def _watch(self):
        api = Api()
        while True:
            try:
                first = api.get(PODS)
                for pod in first["items"]:
                    self._take(pod)
                self._follow(api, first["metadata"]["resourceVersion"])
            except Exception as e:  # the API server is away or the version too old: listed anew
                print(f"kubelet: {e!r}", file=sys.stderr, flush=True)
                time.sleep(0.2)

    def _follow(self, api, version):
        link = http.client.HTTPSConnection("127.0.0.1", api.port, context=api.tls, timeout=600)
        link.request("GET", f"{PODS}&watch=1&timeoutSeconds=580&resourceVersion={version}")
        answer = link.getresponse()
        while line := answer.readline():
            event = json.loads(line)
            if event["type"] == "ERROR":
                return
            if event["type"] != "DELETED":
                self._take(event["object"])

    def _take(self, pod):
        """The same pod always goes to the same thread, so that its events stay in their order."""
        if pod["metadata"].get("deletionTimestamp") or pod.get("status", {}).get("phase") == "Pending":
            self._again(pod)

    def _again(self, pod):
        self.work[hash(pod["metadata"]["uid"]) % THREADS].put(pod)

    def _serve(self, work):
        api = Api()
        while True:
            pod = work.get()
            try:
                self._act(api, pod)
            except Refused as e:
                if e.status not in (404, 409, 422):  # it is gone, or another of its name is there
                    self._later(work, pod, e)
            except Exception as e:  # whatever it is: without this thread a share of the pods would stay as they are
                self._later(work, pod, e)

    @staticmethod
    def _later(work, pod, why):
        print(f"kubelet: {pod['metadata']['name']}: {why!r}", file=sys.stderr, flush=True)
        time.sleep(0.2)
        work.put(pod)

    @staticmethod
    def _mounts(api, pod):
        """Whether its ConfigMaps are there: until then its containers are not created. Refused with 404 when the pod itself is gone."""
        space = f"/api/v1/namespaces/{pod['metadata']['namespace']}"
        for volume in pod["spec"].get("volumes", []):
            source = volume.get("configMap", {"optional": True})
            try:
                if not source.get("optional"):
                    api.call("GET", f"{space}/configmaps/{source['name']}", accept=METADATA)
            except Refused as e:
                if e.status != 404:
                    raise
                api.get(f"{space}/pods/{pod['metadata']['name']}")
                return False
        return True

    def _act(self, api, pod):
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if meta.get("deletionTimestamp"):
            guard = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
            api.call("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", **guard})
            return
        if not self._mounts(api, pod):
            threading.Timer(MOUNT_SECONDS, self._again, (pod,)).start()
            return
        self.addresses += 1
        address = meta.get("annotations", {}).get(ADDRESS)
        address = address or f"10.{self.addresses >> 16 & 255}.{self.addresses >> 8 & 255}.{self.addresses & 255}"
        api.patch(path + "/status", {"metadata": {"uid": meta["uid"]}, "status": running_status(pod, address)})


def start():
    """In a process of its own, which ends with this one. Its pid."""
    parent = os.getpid()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        Kubelet().run(parent)
    finally:
        os._exit(0)
