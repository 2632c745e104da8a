#!/usr/bin/env bash
# Runs the fault matrix against a real control plane on loopback, built from Go modules by tests/rig and cached. README.md beside this file
# says what a case is.
#   tests/fault/run.sh
#   BLOCK=A[,C] CASE=ID QUICK=1 WORKERS=N SEED=N LIST=1: see matrix.py
#   KEEP=1 leaves the control plane up, and takes the one that is up; NAME=fault is its name; MOBULA=build/test/mobula is the program with
#   sanitizers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/rig/lib.sh
need_go 'make fault'
tests/tools/setup e2e
python3 -B tests/fault/selftest.py 2>&1 | tail -n 3
export NAME=${NAME:-fault} NODES=${NODES:-3} PYTHONDONTWRITEBYTECODE=1
build_rig "$NAME"
lock_rig
# Nodes are kwok's, pods are kubelet.py's.
export STAGES=$RIG_DIR/fault-stages.yaml
awk 'BEGIN { RS = "---\n" } /kind: Node\n/ { print "---\n" $0 }' "$KWOK_BIN/stages.yaml" >"$STAGES"
if [[ -z ${KEEP:-} || ! -e $RIG_DIR/run/$NAME/pids ]]; then
    tests/rig/down.sh 2>/dev/null
    GOGC=300 logged "$NAME-up" tests/rig/up.sh
fi
[[ -n ${KEEP:-} ]] || trap 'tests/rig/down.sh' EXIT
echo "  RIG     $NAME is up"
python3 tests/fault/matrix.py
