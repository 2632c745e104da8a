"""The sandbox of the operator: on without being asked for, in each of its threads, and said. That everything works under it, the other
files show."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from cluster import MOBULA, eventually
from hub import definitions, hubs  # noqa: F401 (fixtures)
from processes import kubeconfig, token

pytestmark = pytest.mark.skipif(Path(MOBULA).parent.name in ("test", "host"), reason="sanitizers make calls of their own: no sandbox")


def threads(pid):
    """What the kernel says of each thread: (Seccomp, NoNewPrivs). 2 is a filter."""
    found = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        found.add((lines["Seccomp"], lines["NoNewPrivs"]))
    return found


def test_it_is_on_for_all_threads(space, operators, tmp_path):
    config = kubeconfig(tmp_path / "named", space.name, f'token: "{token(space.name)}"')
    config.write_text(config.read_text().replace("127.0.0.1", "api.rig.invalid"))  # a name: the thread that asks DNS is there
    op = operators(config=config)
    op.says("the API server cannot be used", "step=dns")
    assert "sandbox=on" in op.says("msg=started")
    assert len(list(Path(f"/proc/{op.process.pid}/task").iterdir())) == 2
    assert threads(op.process.pid) == {("2", "1")}


def test_a_control_plane_has_it_too(hubs):  # noqa: F811
    hub = hubs()
    assert "sandbox=on" in hub.log()
    assert threads(hub.process.pid) == {("2", "1")}


def test_it_can_be_left_out(operators):
    op = operators("--sandbox=off").ready()
    assert "sandbox=off" in op.says("msg=started")
    assert threads(op.process.pid) == {("0", "0")}


def test_a_plugin_is_another_program(space, tmp_path):
    """Plugins run only at a terminal, and then without a sandbox; whoever wants one is told why not."""
    plugin = tmp_path / "plugin"
    plugin.write_text("#!/bin/sh\necho '" + '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'
                      + token(space.name) + "\"}}'\n")
    plugin.chmod(0o755)
    exec_user = f'exec: {{apiVersion: client.authentication.k8s.io/v1, command: "{plugin}", interactiveMode: Never}}'
    config = kubeconfig(tmp_path / "exec", space.name, exec_user)
    command = [MOBULA, "operator", "--kubeconfig", config, "--namespace", space.name, "--health-addr=", "--metrics-addr="]
    terminal, end = pty.openpty()
    log = tmp_path / "log"
    with log.open("wb") as out, subprocess.Popen(command, stdin=end, stdout=out, stderr=end) as process:
        try:
            eventually(lambda: "caches are complete" in log.read_text())
            assert threads(process.pid) == {("0", "0")}
        finally:
            process.terminate()
    assert "msg=started" in log.read_text() and "sandbox=off" in log.read_text()
    assert "no sandbox" in log.read_text() and "exec plugin" in log.read_text()
    told = subprocess.run([*command, "--sandbox=on"], stdin=end, stderr=end, stdout=subprocess.DEVNULL, timeout=60, check=False)
    assert told.returncode == 2 and b"--sandbox=on is not possible: the kubeconfig's exec plugin" in os.read(terminal, 65536)
    os.close(terminal)
    os.close(end)
