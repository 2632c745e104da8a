"""`mobula check --idle` behind a NAT that forgets connections which are silent: it says so, and after how long."""

import json
import subprocess

from lab import TOOLS
from operators import MOBULA, Bench

FORGETS = 5  # seconds


def test_a_nat_that_forgets(tmp_path, servers, pki, stranger):
    bench = Bench(tmp_path / "idle", servers, pki, stranger, real=True)
    try:
        bench.lab.forget_idle(FORGETS)
        bench.lab.fault("ct state invalid drop")
        command = bench.lab.command(MOBULA, "check", "--kubeconfig", bench.kubeconfig("check.config", bench.model.token), "-n",
                                    bench.model.namespace, "--idle", "16s", "-o", "json")
        out = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=TOOLS)
        (row,) = [r for r in json.loads(out.stdout)["checks"] if r["check"] == "idle"]
        assert row["found"] == "connections are lost after 4 to 8 s of silence: without an error", row
        assert row["result"] == "fail" and "raise the idle timeout" in row["remedy"]
    finally:
        bench.close()
