"""Restores etcd of a running fleet from a snapshot with the commands of docs/restore.md. Operator and control plane keep running."""

import contextlib
import os
import shlex
import signal
import subprocess

import pytest

from cluster import ROOT, V1, Refused, another_rig, definitions, eventually, kubectl, manifests, raycluster, workspace
from hub import GROUP, define, ended, hubs_in
from processes import Operator
from rig import RIG
from test_restore import PAGE, Fleet, items

pytestmark = pytest.mark.slow
ETCD = RIG / "bin" / f"etcd-{os.environ.get('ETCD_VERSION', '3.6.14')}"
REWOUND = ("--bump-revision", "1000000000", "--mark-compacted")


def command(tool):
    """The command of docs/restore.md that starts with this tool."""
    (line,) = [line for line in PAGE.read_text().splitlines() if line.startswith(f"    {tool} ")]
    return shlex.split(line)


def type_here(words, run, folder):
    """Runs a command with the rig's paths and port instead of kubeadm's."""
    files = {"ca.crt": "ca.crt", "server.crt": "etcd-client.crt", "server.key": "etcd-client.key"}
    here = [w.replace(":2379", f":{int((run / 'port').read_text()) + 1}") for w in words]
    here = [str(run / "pki" / files[w.rpartition("/")[2]]) if w.startswith("/etc/kubernetes/pki/etcd/") else w for w in here]
    here = [str(run / "etcd") if w == "/var/lib/etcd-restored" else w for w in here]
    out = subprocess.run([ETCD / here[0], *here[1:]], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert out.returncode == 0, (here, out.stderr)


def go_back(api, folder, restore):
    """Ends all processes of the control plane, restores etcd's folder and starts them at the same addresses."""
    run, port = api.run, (api.run / "port").read_text().strip()
    env = os.environ | {"NAME": run.name, "AUDIT": "0", "NODES": "3", "PORT_BASE": port, "KEEP": "1"}
    env.pop("APISERVER_ARGS", None)

    def rig(script):
        out = subprocess.run([ROOT / "tests/rig" / script], env=env, capture_output=True, text=True, timeout=240, check=False)
        assert out.returncode == 0, out.stderr

    rig("down.sh")
    (run / "port").write_text(port + "\n")  # no other control plane takes it meanwhile
    (run / "etcd").rename(run / "etcd-lost")
    type_here(restore, run, folder)
    rig("up.sh")
    api.link = None


def revision(api):
    return int(api.get("/api/v1/namespaces?limit=1")["metadata"]["resourceVersion"])


@contextlib.contextmanager
def away(processes, api):
    """Operator and control plane do not run meanwhile, and come back when the store has more revisions than they have seen: watches then go
    on from versions that are there."""
    for p in processes:
        p.send_signal(signal.SIGSTOP)
    try:
        seen = revision(api)
        yield
        path = "/api/v1/namespaces/default"
        for i in range(100000):
            if revision(api) > seen + 10:
                break
            for k in range(50):
                api.patch(path, {"metadata": {"annotations": {"counts": f"{i}.{k}"}}})
        assert revision(api) > seen
    finally:
        for p in processes:
            p.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def operators_in(space, folder):
    made = []

    def make(*flags, **options):
        made.append(Operator(folder, space.name, *flags, name=f"operator{len(made)}", **options))
        return made[-1]

    with ended(made):
        yield make
    codes = [op.stop() for op in made]
    assert all(code == 0 for code in codes), [(code, op.log()) for code, op in zip(codes, made)]


def go_on_with_work(fleet, name):
    fleet.person.type("job", "submit", "--name", name, "--cloud", "edge", "--image-uri", "rayproject/ray:2.52.0", "--", "true")
    eventually(lambda: fleet.space.find(fleet.space.path("rayjobs", name, V1)))


def pods_of(space, name):
    return {p["metadata"]["uid"] for p in space.pods(name)}


def stands_as_before(fleet):
    """An API server serves custom resources a moment after it is ready."""
    try:
        return fleet.stands_as_before()
    except Refused as e:
        assert e.status == 404, e
        return False


def created(space, name):
    """Whether the API server, which has just started, creates this cluster."""
    try:
        return space.apply(raycluster(name))
    except Refused as e:
        assert e.status in (404, 503), e
        return False


@pytest.mark.parametrize("flags,late", [(REWOUND, False), ((), True)], ids=["as-documented", "without-flags"])
def test_a_running_fleet_is_restored(board, tmp_path, flags, late):
    restore = command("etcdutl")
    assert tuple(restore[-3:]) == REWOUND
    with another_rig("snapshot", NODES="3", SCHEDULER="1") as api:
        admin = api.run / "admin.kubeconfig"
        printed = manifests("--crds-only", "--kinds=all", "--no-admission-policy")
        kubectl("apply", "--server-side", "-f", "-", stdin=printed, kubeconfig=admin)
        kubectl("wait", "--for=condition=Established", *(f"crd/{n}" for n in definitions()), "--timeout=120s", kubeconfig=admin)
        define(admin)
        with workspace(api, "team") as space, hubs_in(space, tmp_path) as hubs, operators_in(space, tmp_path) as operators:
            fleet = Fleet(space, hubs, operators, board, tmp_path)
            space.apply(raycluster("changed"))
            space.ready("changed", 2)
            before, submitted = pods_of(space, "c"), len(board.submissions)
            type_here(command("etcdctl"), api.run, tmp_path)
            # After the snapshot: create work and a cloud, which the restore removes, and delete a cluster, which the restore brings back.
            space.change("changed", {"workerGroupSpecs": raycluster("changed", workers=2)["spec"]["workerGroupSpecs"]})
            space.ready("changed", 3)
            go_on_with_work(fleet, "later")
            space.apply(raycluster("new"))
            space.ready("new", 2)
            space.delete("c")
            eventually(lambda: not space.pods("c"))
            fleet.person.type("cloud", "register", "--name", "late", "--provider", "generic", "--region", "hall-3")
            with away([fleet.operator.process, fleet.person.hub.process], api) if late else contextlib.nullcontext():
                go_back(api, tmp_path, restore[:-3] + list(flags))
                eventually(lambda: created(space, "meanwhile"))
            eventually(lambda: stands_as_before(fleet))
            space.ready("c", 2)
            space.ready("changed", 2)
            assert pods_of(space, "c") == before and not space.find(space.path("rayclusters", "new", V1))
            space.ready("meanwhile", 2)
            assert {w["metadata"]["name"] for w in items(space, "workloads", GROUP)} == {"over", "runs"}
            # Operator and control plane have noticed the restore: a change is carried out, and a name used after the snapshot is free.
            space.change("c", {"workerGroupSpecs": raycluster("c", workers=2)["spec"]["workerGroupSpecs"]})
            space.ready("c", 3)
            go_on_with_work(fleet, "later")
            eventually(lambda: fleet.workload("later").get("status", {}).get("state") == "STARTING")
            code, answer = fleet.person.hub.sync(fleet.prod_token, fleet.prod, wait=0)
            assert code == 200 and [w.get("state") for w in answer["workloads"]] == ["SUCCEEDED"], answer
            assert space.job("j")["status"]["jobDeploymentStatus"] == "Complete" and len(board.submissions) == submitted
            assert fleet.operator.process.poll() is None and fleet.person.hub.process.poll() is None
