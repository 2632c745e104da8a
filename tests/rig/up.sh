#!/usr/bin/env bash
# Starts a control plane on loopback: etcd, kube-apiserver, and by choice kube-controller-manager, kube-scheduler and kwok
# with fake nodes. State lies in $RIG_DIR/run/$NAME; several NAMEs run side by side. Stop it with down.sh.
#
#   NAME=default     name of this rig
#   PORT_BASE=       first of six ports in a row; unset: the first free block from 16440 on
#   KCM=1 SCHEDULER=1
#   NODES=0          fake nodes (kwok); GPU_NODES of them more, each with nvidia.com/gpu: 8
#   GPU_NODES=0
#   AUDIT=0          1: audit log (Metadata level, one JSON line a request) in audit.log
#   FSYNC=0          0: etcd runs with --unsafe-no-fsync; 1: as in production
#   FIRST=           manifests to apply before the controller manager starts (its garbage collector knows their kinds at once)
#   ETCD_DATA=       etcd's data directory (a tmpfs, for instance); unset: in the run directory
#   KUBELET_NODE=    also write kubelet.kubeconfig for a real kubelet of that node name
#   APISERVER_ARGS= KCM_ARGS= SCHEDULER_ARGS= KWOK_ARGS= ETCD_ARGS=   further flags, split at blanks
#   STAGES=          kwok stage file instead of the built-in fast one
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NAME=${NAME:-default} KCM=${KCM:-1} SCHEDULER=${SCHEDULER:-1} NODES=${NODES:-0} GPU_NODES=${GPU_NODES:-0}
AUDIT=${AUDIT:-0} FSYNC=${FSYNC:-0} KUBELET_NODE=${KUBELET_NODE:-}
RUN=$RIG_DIR/run/$NAME PKI=$RIG_DIR/run/$NAME/pki
STAGES=${STAGES:-$KWOK_BIN/stages.yaml}
ETCD_DATA=${ETCD_DATA:-$RUN/etcd}
for b in "$K8S_BIN/kube-apiserver" "$K8S_BIN/kubectl" "$ETCD_BIN/etcd"; do [[ -x $b ]] || die "$b is missing: run build.sh"; done
[[ ! -e $RUN/pids ]] || die "$NAME is already up (or was not taken down): NAME=$NAME ./down.sh"
mkdir -p "$RUN"/{logs,pids} "$PKI" "$ETCD_DATA"
chmod 700 "$RUN"

port_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
block_free() { local i; for i in 0 1 2 3 4 5; do port_free $(($1 + i)) || return 1; done; ! grep -qsx "$1" "$RIG_DIR"/run/*/port; }
exec 9>"$RIG_DIR/run/.ports"
flock 9
if [[ -z ${PORT_BASE:-} ]]; then
  PORT_BASE=16440
  until block_free "$PORT_BASE"; do PORT_BASE=$((PORT_BASE + 10)); done
fi
echo "$PORT_BASE" > "$RUN/port"
flock -u 9
API=$PORT_BASE ETCD=$((PORT_BASE + 1)) PEER=$((PORT_BASE + 2))
KCM_PORT=$((PORT_BASE + 3)) SCHED_PORT=$((PORT_BASE + 4)) KWOK_PORT=$((PORT_BASE + 5))
URL=https://127.0.0.1:$API

# --- certificates
new_key() { openssl ecparam -genkey -name prime256v1 -noout -out "$1" 2>/dev/null; chmod 600 "$1"; }
if [[ ! -s $PKI/ca.crt ]]; then
  new_key "$PKI/ca.key"
  openssl req -x509 -new -key "$PKI/ca.key" -subj /CN=rig-ca -days 3650 -out "$PKI/ca.crt" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature 2>/dev/null
fi
# cert FILE SUBJECT EKU [SAN]
cert() {
  local f=$PKI/$1
  [[ -s $f.crt ]] && return
  new_key "$f.key"
  openssl req -new -key "$f.key" -subj "$2" -out "$f.csr" 2>/dev/null
  openssl x509 -req -in "$f.csr" -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key" -CAcreateserial -days 3650 -out "$f.crt" 2>/dev/null \
    -extfile <(printf '%s\n' basicConstraints=critical,CA:FALSE keyUsage=critical,digitalSignature "extendedKeyUsage=$3" \
      "${4:+subjectAltName=$4}")
  rm -f "$f.csr"
}
K=kubernetes
cert apiserver "/CN=kube-apiserver" serverAuth \
  "DNS:localhost,DNS:$K,DNS:$K.default,DNS:$K.default.svc,DNS:$K.default.svc.cluster.local,IP:127.0.0.1,IP:10.96.0.1"
cert etcd "/CN=etcd" serverAuth,clientAuth "DNS:localhost,IP:127.0.0.1"
cert etcd-client "/CN=apiserver-etcd-client" clientAuth
cert kubelet-client "/O=system:masters/CN=kube-apiserver-kubelet-client" clientAuth
cert admin "/O=system:masters/CN=admin" clientAuth
cert kcm "/CN=system:kube-controller-manager" clientAuth
cert scheduler "/CN=system:kube-scheduler" clientAuth
cert kwok "/O=system:masters/CN=kwok" clientAuth
[[ -z $KUBELET_NODE ]] || cert kubelet "/O=system:nodes/CN=system:node:$KUBELET_NODE" clientAuth
if [[ ! -s $PKI/sa.pub ]]; then
  new_key "$PKI/sa.key"
  openssl ec -in "$PKI/sa.key" -pubout -out "$PKI/sa.pub" 2>/dev/null
fi
# kubeconfig FILE CERT
kubeconfig() {
  cat > "$RUN/$1" <<X
apiVersion: v1
kind: Config
clusters: [{name: rig, cluster: {server: "$URL", certificate-authority: "$PKI/ca.crt"}}]
users: [{name: $2, user: {client-certificate: "$PKI/$2.crt", client-key: "$PKI/$2.key"}}]
contexts: [{name: rig, context: {cluster: rig, user: $2}}]
current-context: rig
X
  chmod 600 "$RUN/$1"
}
for c in admin kcm scheduler kwok ${KUBELET_NODE:+kubelet}; do kubeconfig "$c.kubeconfig" "$c"; done

# --- processes
# launch NAME COMMAND...: in the background, in a session of its own, with a log and a pid file. No descriptor of ours goes along:
# a lock that the caller holds would live as long as the process.
launch() {
  local n=$1; shift
  (close_fds; exec setsid nohup "$@") >"$RUN/logs/$n.log" 2>&1 </dev/null &
  echo $! > "$RUN/pids/$n"
}
alive() { kill -0 "$(cat "$RUN/pids/$1")" 2>/dev/null || { tail -n 20 "$RUN/logs/$1.log" >&2; die "$1 ended: $RUN/logs/$1.log"; }; }
kubectl() { "$K8S_BIN/kubectl" --kubeconfig "$RUN/admin.kubeconfig" "$@"; }
# wait_for COMPONENT SECONDS COMMAND...
wait_for() {
  local n=$1 end=$(($(now_ms) + $2 * 1000)); shift 2
  until "$@" >/dev/null 2>&1; do
    alive "$n"
    (($(now_ms) < end)) || { tail -n 20 "$RUN/logs/$n.log" >&2; die "$n is not ready in time"; }
    sleep 0.1
  done
}
T0=$(now_ms)
ready() { say "$1 ready after $(($(now_ms) - T0)) ms"; }

nofsync=; ((FSYNC)) || nofsync=--unsafe-no-fsync
# shellcheck disable=SC2086
launch etcd "$ETCD_BIN/etcd" --name rig --data-dir "$ETCD_DATA" $nofsync --quota-backend-bytes=8589934592 --log-level=warn \
  --client-cert-auth --trusted-ca-file="$PKI/ca.crt" --cert-file="$PKI/etcd.crt" --key-file="$PKI/etcd.key" \
  --listen-client-urls="https://127.0.0.1:$ETCD" --advertise-client-urls="https://127.0.0.1:$ETCD" \
  --listen-peer-urls="http://127.0.0.1:$PEER" --initial-advertise-peer-urls="http://127.0.0.1:$PEER" \
  --initial-cluster="rig=http://127.0.0.1:$PEER" ${ETCD_ARGS:-}

audit=()
if ((AUDIT)); then
  # Bodies of deletes are kept (preconditions are in them), of everything else only who did what to which object.
  printf '%s\n' 'apiVersion: audit.k8s.io/v1' 'kind: Policy' 'omitStages: [RequestReceived]' 'rules:' \
    '- {level: Request, verbs: [delete]}' '- {level: Metadata}' > "$RUN/audit-policy.yaml"
  audit=(--audit-policy-file="$RUN/audit-policy.yaml" --audit-log-path="$RUN/audit.log" --audit-log-maxsize=100000)
fi
# shellcheck disable=SC2086
launch kube-apiserver "$K8S_BIN/kube-apiserver" --etcd-servers="https://127.0.0.1:$ETCD" --etcd-cafile="$PKI/ca.crt" \
  --etcd-certfile="$PKI/etcd-client.crt" --etcd-keyfile="$PKI/etcd-client.key" \
  --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$API" --endpoint-reconciler-type=none \
  --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" --client-ca-file="$PKI/ca.crt" \
  --kubelet-client-certificate="$PKI/kubelet-client.crt" --kubelet-client-key="$PKI/kubelet-client.key" \
  --authorization-mode=Node,RBAC --anonymous-auth=false --service-cluster-ip-range=10.96.0.0/12 \
  --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$PKI/sa.pub" \
  --service-account-signing-key-file="$PKI/sa.key" --enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement \
  --allow-privileged=true --profiling=false "${audit[@]}" ${APISERVER_ARGS:-}
wait_for kube-apiserver 120 kubectl get --raw=/readyz
alive etcd
ready kube-apiserver
[[ -z ${FIRST:-} ]] || kubectl apply --server-side -f "$FIRST" >/dev/null

# The long grace period keeps fake nodes Ready when the machine is so busy that kwok renews a lease late. (Without
# --node-lease-duration-seconds kwok renews none, and every fake node turns NotReady when the grace period is over.)
if ((KCM)); then
  # shellcheck disable=SC2086
  launch kube-controller-manager "$K8S_BIN/kube-controller-manager" --kubeconfig="$RUN/kcm.kubeconfig" --bind-address=127.0.0.1 \
    --secure-port="$KCM_PORT" --leader-elect=false --use-service-account-credentials --service-account-private-key-file="$PKI/sa.key" \
    --root-ca-file="$PKI/ca.crt" --cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" \
    --kube-api-qps=5000 --kube-api-burst=10000 --profiling=false --node-monitor-grace-period=10m ${KCM_ARGS:-}
fi
if ((SCHEDULER)); then
  # shellcheck disable=SC2086
  launch kube-scheduler "$K8S_BIN/kube-scheduler" --kubeconfig="$RUN/scheduler.kubeconfig" --bind-address=127.0.0.1 \
    --secure-port="$SCHED_PORT" --leader-elect=false --kube-api-qps=5000 --kube-api-burst=10000 --profiling=false ${SCHEDULER_ARGS:-}
fi
if ((NODES + GPU_NODES)); then
  [[ -x $KWOK_BIN/kwok ]] || die "$KWOK_BIN/kwok is missing: run build.sh"
  # node NAME GPUS
  node() {
    local gpu=; (($2)) && gpu=", nvidia.com/gpu: '$2'"
    cat <<X
---
apiVersion: v1
kind: Node
metadata:
  name: $1
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/hostname: $1, kubernetes.io/os: linux, kubernetes.io/arch: amd64, type: kwok}
status: {allocatable: {cpu: 100k, memory: 100Ti, pods: 100k$gpu}, capacity: {cpu: 100k, memory: 100Ti, pods: 100k$gpu}}
X
  }
  {
    for ((i = 0; i < NODES; i++)); do node "fake-$i" 0; done
    for ((i = 0; i < GPU_NODES; i++)); do node "fake-gpu-$i" 8; done
  } > "$RUN/nodes.yaml"
  kubectl apply --server-side -f "$RUN/nodes.yaml" >/dev/null
  # shellcheck disable=SC2086
  launch kwok "$KWOK_BIN/kwok" --kubeconfig="$RUN/kwok.kubeconfig" --config="$STAGES" --manage-all-nodes=false \
    --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake --node-lease-duration-seconds=40 \
    --server-address="127.0.0.1:$KWOK_PORT" ${KWOK_ARGS:-}
  nodes_ready() {
    local ready
    ready=$(kubectl get nodes -l type=kwok -o jsonpath='{.items[*].status.conditions[?(@.type=="Ready")].status}')
    [[ $(tr ' ' '\n' <<<"$ready" | grep -cx True) == $((NODES + GPU_NODES)) ]]
  }
  wait_for kwok 60 nodes_ready
  ready "$((NODES + GPU_NODES)) nodes"
fi
if ((KCM)); then
  wait_for kube-controller-manager 60 kubectl get serviceaccount default -n default
  ready "default service account"
fi
for p in "$RUN"/pids/*; do
  alive "$(basename "$p")"
  read -r rss hwm < <(rss_kb "$(cat "$p")")
  say "$(basename "$p") pid $(cat "$p") rss ${rss} kB peak ${hwm} kB"
done
say "server $URL"
echo "$RUN/admin.kubeconfig"
