#!/usr/bin/env bash
# The figures of this commit on a real control plane (tests/rig), beside the API server's own floor: a table, and raw JSON lines in
# build/bench/.
#   tests/bench/quick.sh [PHASE…]     phases: idle 30x5 fleet restart quiet one floor (default: all); NAME=bench names the control plane
#   FIGURES=hub tests/bench/quick.sh [OPERATORS [WORKLOADS]]      those of `mobula control-plane` instead: hub.py
#   FIGURES=item tests/bench/quick.sh [JOBS]                      from a job there to its head pod: item.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v go >/dev/null || {
    echo 'make bench-quick: no Go toolchain in PATH. The control plane is built from Go modules: install Go 1.24 or later.' >&2
    exit 1
}
. tests/rig/lib.sh
export NAME=${NAME:-bench} AUDIT=1 NODES=${NODES:-20} PYTHONDONTWRITEBYTECODE=1
mkdir -p "$RIG_DIR" build/bench
echo "  RIG     building what is not cached in $RIG_DIR (ten minutes the first time)"
tests/rig/build.sh >"$RIG_DIR/bench-build.log" 2>&1 || { tail -n 20 "$RIG_DIR/bench-build.log" >&2; exit 1; }
exec 9>"$RIG_DIR/$NAME.lock"
flock -n 9 || { echo "  RIG     waiting: another run uses $NAME"; flock 9; }
tests/rig/down.sh 2>/dev/null
tests/rig/up.sh >/dev/null 2>"$RIG_DIR/bench-up.log" || { cat "$RIG_DIR/bench-up.log" >&2; exit 1; }
trap 'tests/rig/down.sh' EXIT
(cd tests/rig/load && CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$RIG_DIR/bin/load" .)
python3 "tests/bench/${FIGURES:-quick}.py" "$@"
