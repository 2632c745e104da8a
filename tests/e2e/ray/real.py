"""Real Ray in the tests' namespace: clusters small enough for two cores, and its dashboard's jobs."""

import http.client
import itertools
import json
import os

from cluster import RUN, eventually, mobula

RAY = os.environ["RAY_VERSION"]
IMAGE = f"localhost/ray:{RAY}"
START_S = 300  # a process tree of Ray takes seconds of a core to start, and several start at once
PATIENT = [{"name": "RAY_agent_register_timeout_ms", "value": "300000"}]  # Ray gives its own up after 30 s, and ends


def template(memory="2Gi", image=IMAGE):
    """A pod of Ray: it asks the node for little, so that several have room, and says to Ray what the test wants."""
    return {"spec": {
        "terminationGracePeriodSeconds": 5,
        "containers": [{"name": "ray", "image": image, "imagePullPolicy": "Never", "env": PATIENT,
                        "resources": {"requests": {"cpu": "50m", "memory": "300Mi"}, "limits": {"memory": memory}},
                        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}}


def params(cpus, **more):
    return {"num-cpus": str(cpus), "object-store-memory": "100000000", "disable-usage-stats": "true", **more}


# Tasks of one CPU each.
TASKS = 'import ray, time; ray.init(); ray.get([ray.remote(num_cpus=1)(lambda: time.sleep({seconds})).remote() for _ in range({count})])'


def raycluster(name, workers=1, head_cpus=0, cpus=1, resources=None, **group):
    """A ray.io/v1 RayCluster of real Ray with one worker group, "small"; group's words go into it."""
    own = {"resources": f"'{json.dumps(resources)}'"} if resources else {}
    small = {"groupName": "small", "replicas": workers, "minReplicas": 0, "maxReplicas": 4, "rayStartParams": params(cpus, **own),
             "template": template(), **group}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
            "spec": {"rayVersion": RAY, "headGroupSpec": {"rayStartParams": params(head_cpus), "template": template("3Gi")},
                     "workerGroupSpecs": [small]}}


def scaled(name, idle_s=20, least=0, most=3):
    """A cluster without CPUs on its head, whose workers have one each."""
    c = raycluster(name, workers=least, minReplicas=least, maxReplicas=most)
    c["spec"]["enableInTreeAutoscaling"] = True
    c["spec"]["autoscalerOptions"] = {"idleTimeoutSeconds": idle_s}
    return c


def head(space, cluster):
    found = [p for p in space.pods(cluster) if p["metadata"]["labels"]["ray.io/node-type"] == "head"]
    return found[0] if found else None


def dashboard(space, cluster, method, path, body=None):
    """(status, answer) of the head's dashboard, at the pod's own address: this process stands in the node's network."""
    pod = head(space, cluster)
    assert pod and pod["status"].get("podIP"), "there is no head"
    link = http.client.HTTPConnection(pod["status"]["podIP"], 8265, timeout=60)
    try:
        link.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = link.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException) as e:  # it comes seconds after the GCS, and goes with its head
        raise AssertionError(f"the dashboard does not answer: {e!r}") from e
    return answer.status, json.loads(text) if text.startswith(("{", "[")) else text


def explained(space, cluster):
    """What `mobula explain cluster` says to an admin."""
    out = mobula("explain", "cluster", cluster, "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
    assert out.returncode == 0, out.stderr
    return out.stdout


def workers(space, cluster):
    return [p for p in space.pods(cluster) if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]


def drained(space, cluster, least=0):
    eventually(lambda: len(workers(space, cluster)) == least, START_S, 0.5)


def submit(space, cluster, name, code):
    """Submits Python to the cluster as a job."""
    job = {"submission_id": name, "entrypoint": f"python -c '{code}'"}

    def sent():
        status, answer = dashboard(space, cluster, "POST", "/api/jobs/", job)
        assert status == 200 or "already exists" in answer, answer  # the agent that is to run it comes seconds after the dashboard
        return True

    eventually(sent, START_S, 0.5)


class Forgotten(Exception):
    """The head has begun anew since the job was submitted: a starved Ray ends when it has not come up in a minute."""


def ended(space, cluster, name, seconds=START_S):
    """Waits for the job's end; its record, with the log in it."""
    def look():
        status, job = dashboard(space, cluster, "GET", f"/api/jobs/{name}")
        if status == 404:
            raise Forgotten(job)
        return status == 200 and job["status"] in ("SUCCEEDED", "FAILED", "STOPPED") and job

    job = eventually(look, seconds, 0.5)
    return job | {"logs": dashboard(space, cluster, "GET", f"/api/jobs/{name}/logs")[1]["logs"]}


def last_line(log):
    """That the program printed. Ray's remarks on the cluster's resources may come after it: they are in colour."""
    return [line for line in log.strip().splitlines() if not line.startswith("\x1b[36m(autoscaler ")][-1]


def ran(space, cluster, name, code):
    """Runs Python as a job and returns the last line that it printed."""
    for attempt in itertools.count(1):
        try:
            submit(space, cluster, f"{name}-{attempt}", code)
            job = ended(space, cluster, f"{name}-{attempt}")
            break
        except Forgotten:
            if attempt == 3:
                raise
    assert job["status"] == "SUCCEEDED", job["logs"][-2000:]
    return last_line(job["logs"])
