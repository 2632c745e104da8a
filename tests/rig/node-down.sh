#!/usr/bin/env bash
# Stops the node of the rig NAME: its pods, kubelet, kube-proxy, CoreDNS, containerd and the shims that containerd started.
# Imported images stay in $RIG_DIR/containerd. Run it through netns.sh, before down.sh.
#   PURGE=1   also forget the imported images
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
NAME=${NAME:-default} PURGE=${PURGE:-0}
RUN=$RIG_DIR/run/$NAME N=$RUN/node SOCK=$RIG_DIR/run/$NAME/node/containerd.sock
[[ -d $N ]] || { say "no node in $NAME"; exit 0; }
# The process of pid file $1, if it is still what was started.
pid_of() { local p; p=$(cat "$N/pids/$1" 2>/dev/null) && [[ $(readlink "/proc/$p/exe" 2>/dev/null) == */"$1" ]] && echo "$p"; }
stop() {
  local p; p=$(pid_of "$1") || return 0
  kill "$p" 2>/dev/null || return 0
  for ((i = 0; i < 100; i++)); do [[ -d /proc/$p ]] && [[ $(pid_of "$1") == "$p" ]] || return 0; sleep 0.1; done
  kill -9 "$p" 2>/dev/null || true
}
stop kubelet; stop kube-proxy; stop coredns
if pid_of containerd >/dev/null; then
  CTR=(timeout 20 ctr --address "$SOCK" -n k8s.io)
  for c in $("${CTR[@]}" tasks list -q 2>/dev/null); do "${CTR[@]}" tasks kill -s SIGKILL -a "$c" 2>/dev/null || true; done
  for ((i = 0; i < 50; i++)); do [[ -z $("${CTR[@]}" tasks list 2>/dev/null | awk 'NR>1 && $3=="RUNNING"') ]] && break; sleep 0.1; done
  for c in $("${CTR[@]}" tasks list -q 2>/dev/null); do "${CTR[@]}" tasks delete -f "$c" >/dev/null 2>&1 || true; done
  for c in $("${CTR[@]}" containers list -q 2>/dev/null); do "${CTR[@]}" containers delete "$c" >/dev/null 2>&1 || true; done
fi
stop containerd
# Mounts of the pods (service account volumes, emptyDirs in memory) and of their root file systems.
awk -v d="$N/" 'index($2, d) == 1 {print $2}' /proc/mounts | sort -r | while read -r m; do
  umount "$m" 2>/dev/null || umount -l "$m" || true
done
for ns in /run/netns/cni-*; do
  [[ -e $ns ]] || continue
  # Only namespaces that no process uses any more.
  [[ -n $(ip netns pids "$(basename "$ns")" 2>/dev/null) ]] || ip netns del "$(basename "$ns")" 2>/dev/null || true
done
# The kubelet's empty cgroups; rmdir fails, and is meant to, where another kubelet has pods.
for d in /sys/fs/cgroup/*/kubepods; do [[ ! -d $d ]] || find "$d" -depth -type d -exec rmdir {} + 2>/dev/null || true; done
rm -rf "$N"
((!PURGE)) || rm -rf "$RIG_DIR/containerd"
say "node of $NAME is down"
