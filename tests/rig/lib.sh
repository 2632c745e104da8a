# Shared settings of the rig scripts; sourced, not run.
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
