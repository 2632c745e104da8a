#!/usr/bin/env bash
# Builds the program of an older commit into $RIG_DIR/bin/mobula-COMMIT and prints its path. What is built is not built again.
#   tests/rig/older.sh COMMIT
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=$(git -C "$ROOT" rev-parse --verify --quiet "$1^{commit}") || die "a clone with history is needed, for commit $1"
program=$RIG_DIR/bin/mobula-$commit
mkdir -p "$RIG_DIR/bin"
exec 8>"$RIG_DIR/older.lock"
flock 8
if [[ ! -x $program ]]; then
  tree=$(mktemp -d "$RIG_DIR/older.XXXXXX")
  trap 'rm -rf "$tree"' EXIT
  git -C "$ROOT" archive "$commit" | tar -x -C "$tree"
  env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -j2 -C "$tree" mobula >&2 8>&-
  mv "$tree/build/mobula" "$program"
fi
echo "$program"
