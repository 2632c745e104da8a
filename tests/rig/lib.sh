# Shared settings and steps of the rig scripts, and of those that run something on a rig; sourced, not run.
# RIG_DIR holds everything the rig builds or writes (binaries, build caches, run state).
RIG_DIR=${RIG_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mobula-rig}
K8S_VERSION=${K8S_VERSION:-1.34.10}
ETCD_VERSION=${ETCD_VERSION:-3.6.14}
KWOK_VERSION=${KWOK_VERSION:-0.8.0}
KUBERAY_VERSION=${KUBERAY_VERSION:-1.7.0}
COREDNS_VERSION=${COREDNS_VERSION:-1.12.4}
RAY_VERSION=${RAY_VERSION:-2.60.0}
# One lock for CPU-heavy work, so that builds and timed runs on one machine do not overlap.
RIG_LOCK=${RIG_LOCK:-$RIG_DIR/.cpu.lock}

K8S_BIN=$RIG_DIR/bin/kubernetes-$K8S_VERSION
ETCD_BIN=$RIG_DIR/bin/etcd-$ETCD_VERSION
KWOK_BIN=$RIG_DIR/bin/kwok-$KWOK_VERSION
KUBERAY_BIN=$RIG_DIR/bin/kuberay-$KUBERAY_VERSION
COREDNS_BIN=$RIG_DIR/bin/coredns-$COREDNS_VERSION

die() { printf 'rig: %s\n' "$*" >&2; exit 1; }
say() { printf 'rig: %s\n' "$*" >&2; }
now_ms() { date +%s%3N; }
# rss_kb PID -> "VmRSS VmHWM" in kB
rss_kb() { awk '/^VmRSS:/{r=$2} /^VmHWM:/{h=$2} END{print r, h}' "/proc/$1/status"; }
# close_fds: closes what this (sub)shell inherited beyond stdin, stdout and stderr
close_fds() { local f; for f in "/proc/$BASHPID/fd/"*; do f=${f##*/}; ((f > 2)) && eval "exec $f>&-"; done; true; }

# ---- for scripts that run something on a control plane of their own, from the top of the repository ----

# need_go WHAT
need_go() {
  command -v go >/dev/null && return
  echo "$1: no Go toolchain in PATH. The control plane is built from Go modules: install Go 1.24 or later and start again." >&2
  exit 1
}
# logged NAME COMMAND...: what it prints goes to $RIG_DIR/NAME.log; when it fails, the last 50 lines are shown and the script ends.
logged() {
  local log=$RIG_DIR/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -n 50 "$log" >&2; exit 1; }
}
# build_rig NAME: what is not cached, into NAME-build.log
build_rig() {
  mkdir -p "$RIG_DIR"
  echo "  RIG     building what is not cached in $RIG_DIR (ten minutes the first time)"
  logged "$1-build" tests/rig/build.sh
}
# lock_rig: waits until no other run has the control plane $NAME, until this script ends
lock_rig() {
  exec 9>"$RIG_DIR/$NAME.lock"
  flock -n 9 || { echo "  RIG     waiting: another run uses $NAME"; flock 9; }
}
