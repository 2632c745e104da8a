"""RayJobs that a pod submits: this binary, in Ray's image, on a real kubelet."""

import json

from cluster import RUN, eventually, kubectl, mobula
from real import START_S, raycluster

# What the shell in the head makes of it: a number, an environment variable of the runtime environment, and a word as it was written.
ENTRYPOINT = 'echo "pid $$ says $WORD and \\$(WORD)"; exit $CODE'


def rayjob(name, code, **more):
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name},
            "spec": {"entrypoint": ENTRYPOINT, "runtimeEnvYAML": f'env_vars: {{WORD: "a b", CODE: "{code}"}}',
                     "submitterConfig": {"backoffLimit": 0}, "rayClusterSpec": raycluster("c", workers=0)["spec"], **more}}


def submitter(space, name):
    pods = [p for p in space.api.get(space.path("pods"))["items"]
            if p["metadata"]["labels"].get("ray.io/originated-from-cr-name") == name
            and p["metadata"]["ownerReferences"][0]["kind"] == "RayJob"]
    assert len(pods) == 1, [p["metadata"]["name"] for p in pods]
    return pods[0]


def status(space, name):
    return space.api.get(f"/apis/ray.io/v1/namespaces/{space.name}/rayjobs/{name}").get("status", {})


def test_a_pod_submits_and_shows_the_log(space, operators):
    """One job that succeeds and one that fails: each is submitted once, by its pod, whose log is the job's and whose end is its end."""
    operators("--submitter=pod")
    for name, code, phase in (("well", 0, "Complete"), ("badly", 3, "Failed")):
        kubectl("-n", space.name, "apply", "-f", "-", stdin=json.dumps(rayjob(name, code)))
        eventually(lambda job=name, end=phase: status(space, job).get("jobDeploymentStatus") == end, 2 * START_S, 1)
        pod = submitter(space, name)
        log = kubectl("-n", space.name, "logs", pod["metadata"]["name"]).stdout
        said = [line for line in log.splitlines() if line.startswith("pid ")]
        assert len(said) == 1 and said[0].endswith(" says a b and $(WORD)") and said[0].split()[1].isdigit(), log
        shown = mobula("logs", "rayjob", name, "-n", space.name, f"--kubeconfig={RUN / 'admin.kubeconfig'}")
        assert shown.returncode == 0 and said[0] in shown.stdout.splitlines(), shown.stderr
        # The RayJob is over as soon as the container is: the phase follows.
        eventually(lambda job=name, end=code: submitter(space, job)["status"]["phase"] == ("Failed" if end else "Succeeded"), 60)
        assert status(space, name)["jobStatus"] == ("SUCCEEDED" if code == 0 else "FAILED")
        if code:
            assert status(space, name)["reason"] == "AppFailed" and "exit code 3" in status(space, name)["message"]
        kubectl("-n", space.name, "delete", "rayjob", name)
        eventually(lambda: not space.pods(), 120)
