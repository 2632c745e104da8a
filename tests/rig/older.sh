#!/usr/bin/env bash
# Builds the program of an older commit into $RIG_DIR/bin/mobula-COMMIT and prints its path. What is built is not built again.
#   tests/rig/older.sh COMMIT
# The program is compiled file by file and without warnings, which takes less time and changes nothing that it does.
# A build may take OLDER_SECONDS; waiting for that of another process does not count. No part of it outlives this script.
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
  # timeout leads a process group of its own, and ends all of it
  timeout -k 10 "${OLDER_SECONDS:-900}" env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -j2 -C "$tree" mobula WHOLE= WARNINGS=-w >&2 8>&- &
  trap 'kill $!; wait $! || true; exit 1' HUP INT TERM
  status=0
  wait $! || status=$?
  ((status != 124)) || die "commit $commit was not built within ${OLDER_SECONDS:-900} s"
  ((status == 0)) || die "commit $commit was not built: make ended with $status"
  mv "$tree/build/mobula" "$program"
fi
echo "$program"
