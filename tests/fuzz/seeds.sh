#!/usr/bin/env bash
# Records what a real kube-apiserver (tests/rig) says to the operator and to requests that fail, and makes fuzz seeds of it: in each of
# tests/fuzz/corpus/TARGET the files real-* are made anew. Needs Go and clang; takes a few minutes. NAME=seeds is the control plane's name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/rig/lib.sh
export NAME=${NAME:-seeds} PYTHONDONTWRITEBYTECODE=1
read -ra targets < <(python3 tests/fuzz/seeds.py --targets)
make -s mobula "${targets[@]/#/build/fuzz/}"
logged seeds-build tests/rig/build.sh
build/mobula install --print --crds-only --kinds=all --no-admission-policy >build/seeds-crds.yaml
tests/rig/down.sh 2>/dev/null
trap 'tests/rig/down.sh 2>/dev/null' EXIT
export FIRST=$PWD/build/seeds-crds.yaml NODES=1
logged seeds-up tests/rig/up.sh
python3 tests/fuzz/seeds.py
