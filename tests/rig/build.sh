#!/usr/bin/env bash
# Builds a Kubernetes control plane, etcd and kwok from Go modules into $RIG_DIR/bin/<name>-<version>/.
# Needs only a Go toolchain and its module proxy. A binary that is already there is not built again.
#
#   ./build.sh                        # the pinned versions in lib.sh
#   K8S_VERSION=1.36.6 ./build.sh     # another Kubernetes release beside it
#   COMPONENTS=kubelet ./build.sh     # what no test needs yet
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

COMPONENTS=${COMPONENTS:-kube-apiserver kube-controller-manager kube-scheduler kubectl}
JOBS=${JOBS:-$(nproc)}
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-buildvcs=false GOWORK=off
LOG=$RIG_DIR/build.log
mkdir -p "$RIG_DIR"/{bin,src}
command -v go >/dev/null || die "no Go toolchain in PATH"

# Path of the go.mod of module $1 at version $2.
gomod_of() { go mod download -json "$1@$2" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p'; }
dir_of() { go mod download -json "$1@$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# note NAME VERSION SECONDS FILE...: one line per binary in build.log
note() {
  local name=$1 version=$2 secs=$3; shift 3
  for f in "$@"; do
    printf '%s %s %s built_s=%s bytes=%s\n' "$(date -u +%FT%TZ)" "$name-$version" "$(basename "$f")" "$secs" "$(stat -c %s "$f")"
  done | tee -a "$LOG" >&2
}

# go_build DIR LDFLAGS OUT PACKAGE...: under the lock; SECS is the time it took (downloads and waiting not counted)
go_build() {
  local dir=$1 ld=$2 out=$3 t0; shift 3
  exec 8>"$RIG_LOCK"; flock 8
  t0=$(date +%s)
  (cd "$dir" && go build -mod=mod -p "$JOBS" -trimpath -ldflags "$ld" -o "$out" "$@") 8>&-
  SECS=$(($(date +%s) - t0))
  exec 8>&-
}

# The kubernetes module points at its staging modules by local path, and such replacements only count in a main module.
# So: a main module of our own, made from the release's go.mod, with each staging path replaced by the published module.
build_kubernetes() {
  local missing=() c
  for c in $COMPONENTS; do [[ -x $K8S_BIN/$c ]] || missing+=("$c"); done
  ((${#missing[@]})) || { say "kubernetes $K8S_VERSION: cached"; return; }
  local src=$RIG_DIR/src/kubernetes-$K8S_VERSION staging=v0.${K8S_VERSION#*.} minor up
  minor=${K8S_VERSION#*.}; minor=${minor%%.*}
  mkdir -p "$src" "$K8S_BIN"
  up=$(dir_of k8s.io/kubernetes "v$K8S_VERSION")
  sed -e 's|^module k8s.io/kubernetes$|module rig|' \
      -e "s|\(k8s.io/[a-z-]*\) v0\.0\.0\( \|$\)|\1 $staging\2|" \
      -e "s|=> ./staging/src/\(k8s.io/[a-z-]*\)|=> \1 $staging|" \
      "$up/go.mod" > "$src/go.mod"
  install -m 644 "$up/go.sum" "$src/go.sum"
  printf 'require k8s.io/kubernetes v%s\n' "$K8S_VERSION" >> "$src/go.mod"
  local v ld="-s -w"
  for v in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    ld+=" -X $v.gitVersion=v$K8S_VERSION -X $v.gitMajor=${K8S_VERSION%%.*} -X $v.gitMinor=$minor"
    ld+=" -X $v.gitTreeState=clean -X $v.gitCommit=rig -X $v.buildDate=1970-01-01T00:00:00Z"
  done
  (cd "$src" && go list -mod=mod -deps "${missing[@]/#/k8s.io/kubernetes/cmd/}" >/dev/null)
  go_build "$src" "$ld" "$K8S_BIN/" "${missing[@]/#/k8s.io/kubernetes/cmd/}"
  note kubernetes "$K8S_VERSION" "$SECS" "${missing[@]/#/$K8S_BIN/}"
}

# build_main NAME VERSION PACKAGE MODULE OUT: one main package of a published module, by way of a small main module,
# with the versions that the module itself selects.
build_main() {
  local name=$1 version=$2 pkg=$3 mod=$4 out=$5 ld=${6:-} src=$RIG_DIR/src/$1-$2
  [[ -x $out ]] && { say "$name $version: cached"; return; }
  mkdir -p "$src" "$(dirname "$out")"
  rm -f "$src/go.mod" "$src/go.sum"
  local go_version; go_version=$(sed -n 's/^go //p' "$(gomod_of "$mod" "v$version")")
  (cd "$src" && go mod init rig 2>/dev/null && go mod edit -require "$mod@v$version" -go "$go_version" &&
    go list -mod=mod -deps "$pkg" >/dev/null)
  go_build "$src" "-s -w $ld" "$out" "$pkg"
  note "$name" "$version" "$SECS" "$out"
}

# kwok does nothing without stages: its own fast set (node ready, node lease, pod ready at once, init containers included).
build_stages() {
  local dir f
  [[ -s $KWOK_BIN/stages.yaml ]] && return
  dir=$(dir_of sigs.k8s.io/kwok "v$KWOK_VERSION")/kustomize/stage
  for f in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-{ready,complete,delete}; do
    printf -- '---\n'; cat "$dir/$f.yaml"
  done > "$KWOK_BIN/stages.yaml"
}

build_main etcd "$ETCD_VERSION" go.etcd.io/etcd/server/v3 go.etcd.io/etcd/server/v3 "$ETCD_BIN/etcd"
for tool in etcdctl etcdutl; do
  build_main "$tool" "$ETCD_VERSION" "go.etcd.io/etcd/$tool/v3" "go.etcd.io/etcd/$tool/v3" "$ETCD_BIN/$tool"
done
build_main kwok "$KWOK_VERSION" sigs.k8s.io/kwok/cmd/kwok sigs.k8s.io/kwok "$KWOK_BIN/kwok" \
  "-X sigs.k8s.io/kwok/pkg/consts.Version=v$KWOK_VERSION"
build_stages
build_kubernetes
say "ready: $K8S_BIN $ETCD_BIN $KWOK_BIN"
