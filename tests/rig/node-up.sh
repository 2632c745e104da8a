#!/usr/bin/env bash
# Starts a real node for a rig that runs in the rig's network namespace: containerd, kubelet, kube-proxy, CoreDNS. Idempotent:
# what runs already is left alone. Stop it with node-down.sh. Needs root and the Debian packages containerd, runc, iptables, conntrack and
# containernetworking-plugins. Images come from archives ($RIG_DIR/image/*.tar, see image-ray.sh), never from a registry.
#
#   NAME=real KUBELET_NODE=n1 APISERVER_ARGS='--kubelet-preferred-address-types=InternalIP --bind-address=0.0.0.0' ./netns.sh ./up.sh
#     (the flags: logs and exec; pods that talk to the API server)
#   NAME=real ./netns.sh ./node-up.sh
#
#   NAME=default      the rig        NODE=         node name; unset: the one that up.sh got as KUBELET_NODE
#   NODE_IP= POD_CIDR= DNS_IP=   addresses inside the namespace (NODE_IP as in netns.sh)
#   IMAGES=           archives to import; unset: all of $RIG_DIR/image/*.tar except base.tar
#   PROXY=1 DNS=1     kube-proxy and CoreDNS (build-node.sh); 0 to do without
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/lib.sh"
NAME=${NAME:-default} NODE_IP=${NODE_IP:-10.77.0.1} POD_CIDR=${POD_CIDR:-10.77.128.0/17} DNS_IP=${DNS_IP:-10.96.0.10}
PROXY=${PROXY:-1} DNS=${DNS:-1} COREDNS=$COREDNS_BIN/coredns
RUN=$RIG_DIR/run/$NAME N=$RUN/node PKI=$RUN/pki
[[ -s $RUN/kubelet.kubeconfig ]] || die "$NAME has no kubelet.kubeconfig: start up.sh with KUBELET_NODE=<name>"
NODE=${NODE:-$(openssl x509 -in "$PKI/kubelet.crt" -noout -subject -nameopt multiline | sed -n 's/.*commonName *= system:node://p')}
[[ -x $K8S_BIN/kubelet ]] || die "$K8S_BIN/kubelet is missing: run build.sh"
[[ -n $(ip -o addr show to "$NODE_IP") ]] || die "$NODE_IP is not an address here: run this through netns.sh"
URL=$(sed -n 's/.*server: "\([^"]*\)".*/\1/p' "$RUN/admin.kubeconfig")
missing=()
command -v containerd >/dev/null || missing+=(containerd)
command -v runc >/dev/null || missing+=(runc)
[[ -x /usr/lib/cni/ptp ]] || missing+=(containernetworking-plugins)
command -v iptables >/dev/null || missing+=(iptables)
command -v conntrack >/dev/null || missing+=(conntrack)
((${#missing[@]} == 0)) || die "missing (apt-get install, outside the namespace): ${missing[*]}"
mkdir -p "$N"/{logs,pids,cni,state} "$RIG_DIR/containerd"
kubectl() { "$K8S_BIN/kubectl" --kubeconfig "$RUN/admin.kubeconfig" "$@"; }
T0=$(now_ms)
# put FILE: standard input into FILE, untouched when it is the same (kube-proxy ends when its file is written)
put() { local t; t=$(cat); [[ -e $1 && $(<"$1") == "$t" ]] || printf '%s\n' "$t" > "$1"; }
ready() { say "$1 after $(($(now_ms) - T0)) ms"; }
running() { [[ -s $N/pids/$1 && -e /proc/$(cat "$N/pids/$1")/exe ]] && [[ $(readlink "/proc/$(cat "$N/pids/$1")/exe") == */"$1" ]]; }
launch() {
  local n=$1; shift
  running "$n" && return
  # No inherited descriptor: a daemon would keep a lock of the caller (flock without -o) for as long as it lives.
  (close_fds; exec setsid nohup "$@") >"$N/logs/$n.log" 2>&1 </dev/null &
  echo $! > "$N/pids/$n"
}
wait_for() {
  local n=$1 end=$(($(now_ms) + $2 * 1000)); shift 2
  until "$@" >/dev/null 2>&1; do
    running "$n" || { tail -n 20 "$N/logs/$n.log" >&2; die "$n ended: $N/logs/$n.log"; }
    (($(now_ms) < end)) || { tail -n 20 "$N/logs/$n.log" >&2; die "$n is not ready in time"; }
    sleep 0.1
  done
}

# --- containerd
SOCK=$N/containerd.sock
put "$N/containerd.toml" <<X
version = 2
root = "$RIG_DIR/containerd"
state = "$N/state"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "$SOCK"
[ttrpc]
  address = "$N/containerd.ttrpc.sock"
[debug]
  level = "warn"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  max_concurrent_downloads = 1
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$N/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
X
# ptp, not bridge: every packet is routed through the node, so address translation works without br_netfilter.
put "$N/cni/10-rig.conflist" <<X
{"cniVersion": "0.4.0", "name": "rig-$NAME", "plugins": [
  {"type": "ptp", "ipMasq": false, "mtu": 1500, "dns": {},
   "ipam": {"type": "host-local", "dataDir": "$N/ipam", "ranges": [[{"subnet": "$POD_CIDR"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
X
launch containerd containerd --config "$N/containerd.toml"
CTR=(ctr --address "$SOCK" -n k8s.io)
wait_for containerd 30 "${CTR[@]}" version
ready "containerd"
# shellcheck disable=SC2086 # IMAGES is a list
for f in ${IMAGES:-"$RIG_DIR"/image/*.tar}; do
  [[ $f != */base.tar ]] || continue
  stamp=$RIG_DIR/containerd/.imported-$(basename "$f")
  [[ -e $stamp && ! $f -nt $stamp ]] && continue
  t=$(now_ms)
  "${CTR[@]}" images import "$f" >/dev/null
  touch "$stamp"
  say "imported $(basename "$f") in $(($(now_ms) - t)) ms"
done

# --- kubelet
printf 'nameserver %s\n' 127.0.0.1 > "$N/resolv.conf"
put "$N/kubelet.yaml" <<X
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
port: 10250
healthzBindAddress: 127.0.0.1
healthzPort: 10248
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://$SOCK
cgroupDriver: cgroupfs
cgroupRoot: /
failSwapOn: false
failCgroupV1: false
localStorageCapacityIsolation: true
makeIPTablesUtilChains: false
registerNode: true
rotateCertificates: false
serializeImagePulls: false
maxOpenFiles: 20000
clusterDNS: ["$DNS_IP"]
clusterDomain: cluster.local
resolvConf: $N/resolv.conf
podLogsDir: $N/pod-logs
evictionHard: {nodefs.available: 500Mi, imagefs.available: 500Mi}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
nodeStatusUpdateFrequency: 10s
syncFrequency: 10s
featureGates: {KubeletInUserNamespace: true}
X
# shellcheck disable=SC2086
launch kubelet "$K8S_BIN/kubelet" --config="$N/kubelet.yaml" --kubeconfig="$RUN/kubelet.kubeconfig" --hostname-override="$NODE" \
  --node-ip="$NODE_IP" --root-dir="$N/kubelet" --cert-dir="$N/kubelet-pki" --v=2 ${KUBELET_ARGS:-}
wait_for kubelet 60 kubectl get node "$NODE"
ready "kubelet registered"

# --- Service names and addresses
if ((PROXY)); then
  [[ -x $K8S_BIN/kube-proxy ]] || die "$K8S_BIN/kube-proxy is missing: run build-node.sh (or PROXY=0)"
  put "$N/proxy.yaml" <<X
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: $POD_CIDR
clientConnection: {kubeconfig: $RUN/admin.kubeconfig}
hostnameOverride: $NODE
bindAddress: $NODE_IP
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0}
iptables: {minSyncPeriod: 0s, syncPeriod: 30s}
X
  launch kube-proxy "$K8S_BIN/kube-proxy" --config="$N/proxy.yaml" --v=1
fi
if ((DNS)); then
  [[ -x $COREDNS ]] || die "$COREDNS is missing: run build-node.sh (or DNS=0)"
  put "$N/Corefile" <<X
cluster.local:53 in-addr.arpa:53 {
    bind $NODE_IP
    errors
    health 127.0.0.1:18080
    ready 127.0.0.1:18181
    kubernetes cluster.local in-addr.arpa {
        kubeconfig $RUN/admin.kubeconfig rig
        pods insecure
        ttl 5
    }
    cache 5 {
        disable success cluster.local
        disable denial cluster.local
    }
}
X
  launch coredns "$COREDNS" -conf "$N/Corefile"
  # The usual kube-dns Service, with the node's address as its only endpoint (CoreDNS runs as a process, not as a pod).
  kubectl apply --server-side -f - >/dev/null <<X
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec: {clusterIP: $DNS_IP, ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kube-dns-rig, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
addressType: IPv4
ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
endpoints: [{addresses: ["$NODE_IP"], conditions: {ready: true}}]
X
fi
# Service "kubernetes" (10.96.0.1), for pods that talk to the API server. It must listen on the node's address too:
# APISERVER_ARGS=--bind-address=0.0.0.0 for up.sh (harmless: the namespace has no way out).
if (exec 3<>"/dev/tcp/$NODE_IP/${URL##*:}") 2>/dev/null; then
  kubectl apply --server-side -f - >/dev/null <<X
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv4
ports: [{name: https, port: ${URL##*:}, protocol: TCP}]
endpoints: [{addresses: ["$NODE_IP"], conditions: {ready: true}}]
X
fi
wait_for kubelet 120 kubectl wait --for=condition=Ready "node/$NODE" --timeout=2s
ready "node $NODE Ready"
((!DNS)) || wait_for coredns 60 bash -c 'exec 3<>/dev/tcp/127.0.0.1/18181; printf "GET /ready HTTP/1.0\r\n\r\n" >&3; grep -q "200 OK" <&3'
for p in "$N"/pids/*; do
  running "$(basename "$p")" || { tail -n 20 "$N/logs/$(basename "$p").log" >&2; die "$(basename "$p") ended"; }
  read -r rss hwm < <(rss_kb "$(cat "$p")")
  say "$(basename "$p") pid $(cat "$p") rss ${rss} kB peak ${hwm} kB"
done
ready "all up"
