#!/usr/bin/env bash
# Runs the fault matrix against a real control plane on loopback, built from Go modules by tests/rig and cached. README.md beside this file
# says what a case is.
#   tests/fault/run.sh
#   BLOCK=A[,C] CASE=ID QUICK=1 WORKERS=N SEED=N LIST=1: see matrix.py
#   KEEP=1 leaves the control plane up, and takes the one that is up; NAME=fault is its name; MOBULA=build/test/mobula is the program with
#   sanitizers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v go >/dev/null || {
    echo 'make fault: no Go toolchain in PATH. The control plane is built from Go modules: install Go 1.24 or later and start again.' >&2
    exit 1
}
tests/tools/setup e2e
python3 -B tests/fault/selftest.py 2>&1 | tail -n 3
. tests/rig/lib.sh
export NAME=${NAME:-fault} NODES=${NODES:-3} PYTHONDONTWRITEBYTECODE=1
echo "  RIG     building what is not cached in $RIG_DIR (ten minutes the first time)"
mkdir -p "$RIG_DIR/run"
tests/rig/build.sh >"$RIG_DIR/$NAME-build.log" 2>&1 || { tail -n 20 "$RIG_DIR/$NAME-build.log" >&2; exit 1; }
exec 9>"$RIG_DIR/$NAME.lock"
flock -n 9 || { echo "  RIG     waiting: another run uses $NAME"; flock 9; }
# Nodes are kwok's, pods are kubelet.py's.
export STAGES=$RIG_DIR/fault-stages.yaml
awk 'BEGIN { RS = "---\n" } /kind: Node\n/ { print "---\n" $0 }' "$KWOK_BIN/stages.yaml" >"$STAGES"
if [[ -z ${KEEP:-} || ! -e $RIG_DIR/run/$NAME/pids ]]; then
    tests/rig/down.sh 2>/dev/null
    tests/rig/up.sh 2>"$RIG_DIR/$NAME-up.log" >/dev/null || { cat "$RIG_DIR/$NAME-up.log" >&2; exit 1; }
fi
[[ -n ${KEEP:-} ]] || trap 'tests/rig/down.sh' EXIT
echo "  RIG     $NAME is up"
python3 tests/fault/matrix.py
