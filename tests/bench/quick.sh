#!/usr/bin/env bash
# The figures of this commit on a real control plane (tests/rig), beside the API server's own floor: a table, and raw JSON lines in
# build/bench/.
#   tests/bench/quick.sh [PHASE…]     phases: idle 30x5 fleet restart quiet one floor (default: all); NAME=bench names the control plane
#   FIGURES=hub tests/bench/quick.sh [OPERATORS [WORKLOADS]]      those of `mobula control-plane` instead: hub.py
#   FIGURES=item tests/bench/quick.sh [JOBS]                      from a job there to its head pod: item.py
#   FIGURES=services tests/bench/quick.sh [SERVICES]              those of VersionedServices: services.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/rig/lib.sh
need_go "make bench-${FIGURES:-quick}"
export NAME=${NAME:-bench} AUDIT=1 NODES=${NODES:-20} PYTHONDONTWRITEBYTECODE=1
mkdir -p build/bench
build_rig bench
lock_rig
tests/rig/down.sh 2>/dev/null
logged bench-up tests/rig/up.sh
trap 'tests/rig/down.sh' EXIT
(cd tests/rig/load && CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$RIG_DIR/bin/load" .)
python3 "tests/bench/${FIGURES:-quick}.py" "$@"
