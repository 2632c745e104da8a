#!/usr/bin/env bash
# Builds what a real node needs beside the control plane: kubelet, kube-proxy (both beside the other Kubernetes binaries) and a CoreDNS
# with only the plugins that a cluster needs. Cached like build.sh.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/lib.sh"
OUT=$COREDNS_BIN/coredns
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-buildvcs=false GOWORK=off
COMPONENTS="kubelet kube-proxy" "$HERE/build.sh"
if [[ ! -x $OUT ]]; then
  src=$RIG_DIR/src/coredns-$COREDNS_VERSION
  mkdir -p "$src" "$(dirname "$OUT")"
  cat > "$src/main.go" <<'G'
package main

import (
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func main() {
	dnsserver.Directives = []string{"bind", "health", "ready", "errors", "log", "cache", "kubernetes"}
	coremain.Run()
}
G
  t0=$(date +%s)
  (cd "$src" && rm -f go.mod go.sum && go mod init rig 2>/dev/null &&
    go mod edit -require "github.com/coredns/coredns@v$COREDNS_VERSION" && go mod tidy 2>tidy.log &&
    flock "$RIG_LOCK" go build -mod=mod -p "$(nproc)" -trimpath -ldflags '-s -w' -o "$OUT" .) ||
    { tail -5 "$src/tidy.log" >&2; die "coredns build failed"; }
  say "coredns $COREDNS_VERSION: $(($(date +%s) - t0)) s, $(stat -c %s "$OUT") bytes"
fi
say "ready: $K8S_BIN/kube-proxy $OUT"
