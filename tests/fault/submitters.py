"""Stands in for what runs in a RayJob's submitter pods: it submits to the case's dashboard, stays until the job is over, and ends as that
did. Some may be told to end before they have submitted anything."""

import threading
import time

from cluster import Api, Refused, container_end
from oracles import is_live, submission, submits

FIRST_WORDS_S = 0.3  # from Running to the submission: a status that says so has been seen by everybody
LAST_WORDS_S = 1.0  # from the job's end to the pod's: the rest of its log is read
RETRY_S = 0.2  # a busy server's no
CRASHED = 2  # the exit code of one that submits nothing


class Submitters:
    """Of a case's namespace, from start() to stop(). crashes: so many of the first pods submit nothing."""

    def __init__(self, witness, jobs, crashes=0):
        self.witness, self.jobs, self.crashes, self.seen = witness, jobs, crashes, 0
        self.present, self.due, self.codes = {}, {}, {}  # by uid: the pod; when it has something to do; how it ends
        self.known, self.submitted, self.again = set(), {}, []  # uids that have begun; the id of each that has submitted; refused ones
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.done.set()
        self.thread.join(5)

    def _run(self):
        api = Api()
        while not self.done.wait(0.05):
            self._read()
            for uid in [uid for uid, at in self.due.items() if at <= time.monotonic()]:
                self._act(api, uid)

    def _read(self):
        """What the witness has seen since: pods that run begin, those that go are forgotten, as a kubelet kills them."""
        while self.seen < len(self.witness.events):
            kind, pod = self.witness.events[self.seen]
            self.seen += 1
            uid = pod["metadata"]["uid"]
            if kind == "DELETED" or not is_live(pod):
                self.present.pop(uid, None)
                self.due.pop(uid, None)
            elif submits(pod) and pod["status"]["phase"] == "Running" and uid not in self.known:
                self.known.add(uid)
                self.present[uid], self.due[uid] = pod, time.monotonic() + FIRST_WORDS_S
                if len(self.known) <= self.crashes:
                    self.codes[uid] = CRASHED

    def _act(self, api, uid):
        pod, job = self.present[uid], self.jobs.jobs.get(self.submitted.get(uid), {})
        if uid in self.codes:
            self._end(api, pod, self.codes[uid])
        elif uid not in self.submitted:
            self.submit(pod)
        elif job["status"] != "RUNNING":
            self.codes[uid] = 0 if job["status"] == "SUCCEEDED" else 1
            self.due[uid] = time.monotonic() + LAST_WORDS_S

    def submit(self, pod):
        """As the program does it: a job that Ray knows by this id is followed."""
        name, words = submission(pod), pod["spec"]["containers"][0].get("args", [])
        job = {"submission_id": name, "entrypoint": words[-1] if words else "of the user's own", "start_time": int(time.time() * 1000)}
        code, _ = self.jobs.submit(job)
        if code != 200:
            self.again.append(f"{pod['metadata']['name']} submitted {name}, which was submitted before")
        self.submitted[pod["metadata"]["uid"]] = name

    def _end(self, api, pod, code):
        meta = pod["metadata"]
        conditions = [{**c, "status": "False" if c["type"] in ("Ready", "ContainersReady") else c["status"]}
                      for c in pod["status"]["conditions"]]
        status = {"phase": "Failed" if code else "Succeeded", "conditions": conditions,
                  "containerStatuses": [container_end(c, code) for c in pod["spec"]["containers"]]}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        try:
            api.patch(path, {"metadata": {"uid": meta["uid"]}, "status": status})
        except Refused as e:
            if e.status not in (404, 409, 422):  # it is gone, or another of its name is there
                self.due[meta["uid"]] += RETRY_S
                return
        self.due.pop(meta["uid"])
