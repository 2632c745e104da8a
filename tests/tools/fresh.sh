#!/usr/bin/env bash
# A fresh Debian machine, as near as a chroot comes: the minimal system with make, git and ca-certificates, nothing else. Clones HEAD into
# it and runs each command there as the only thing typed, one after the other.
#   tests/tools/fresh.sh REPOSITORY COMMAND…      for example: tests/tools/fresh.sh . 'make run ONCE=1' 'make test'
#   SUITE=bookworm|trixie   which Debian          KEEP=1   keeps the root folder for a look
#   SAME=build/mobula       a second build: the one made there must have the same bytes, where the tools have the same versions. Where they
#                           have others, make reproducible compares two builds of this machine
# Needs root. The minimal system is made once per suite and kept in the user's cache; output goes to build/fresh-SUITE-N.log.
set -euo pipefail
SUITE=${SUITE:-bookworm}
repository=$(git -C "$1" rev-parse --show-toplevel)
shift
base=${XDG_CACHE_HOME:-$HOME/.cache}/mobula/fresh-$SUITE.tar

if [[ $(id -u) != 0 ]]; then
    echo "tests/tools/fresh.sh: making a root folder needs root: sudo make fresh SUITE=$SUITE" >&2
    exit 1
fi

mirror() {
    # shellcheck disable=SC2016 # apt fills in what looks like a command
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

make_base() {
    local new=${base%.tar}.new.tar
    if ! command -v mmdebstrap >/dev/null; then
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null
    fi
    mkdir -p "$(dirname "$base")"
    echo "  DEBIAN  $SUITE"
    mmdebstrap --quiet --variant=minbase --include=ca-certificates,make,git "$SUITE" "$new" \
        "deb ${DEBIAN_MIRROR:-$(mirror)} $SUITE main" >/dev/null
    mv "$new" "$base"
}

# The way to the network is this machine's: names, proxies, certificates.
lend_network() {
    local f
    for f in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do cp "$f" "$root$f"; done
    cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
    rm -f "$root"/etc/apt/apt.conf.d/{20packagekit,50appstream}
    [[ ! -d /usr/local/share/ca-certificates ]] || cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
}

clean_up() {
    umount -l "$root/proc" "$root/sys" "$root/dev" 2>/dev/null || true
    if [[ -n ${KEEP:-} ]]; then echo "kept: $root"; else rm -rf --one-file-system "$root"; fi
}

# The packages of which the bytes of the product depend.
tools() {
    # shellcheck disable=SC2016 # dpkg-query fills in what looks like variables
    "$@" dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' 'gcc-1*' binutils 'lld*' zopfli 2>/dev/null | grep '^ii' | sort
}

compare_builds() {
    local log=build/fresh-$SUITE-same.log
    if [[ -n $(comm -13 <(tools) <(tools chroot "$root")) ]]; then
        echo "          the tools of fresh $SUITE have other versions: make reproducible"
        make reproducible >"$log" 2>&1
    else
        cmp "$1" "$root/home/mobula/build/mobula" >"$log" 2>&1
    fi && passed=$((passed + 1)) && echo "  ok      $SUITE: a second build of $1 has the same bytes" && return
    failed=$((failed + 1))
    echo "  FAILED  $SUITE: a second build of $1 has other bytes: $(tail -n 1 "$log")"
}

[[ -s $base ]] || make_base
root=$(mktemp -d /var/tmp/fresh.XXXXXX)
trap clean_up EXIT
tar -xf "$base" -C "$root"
lend_network
mount -t proc proc "$root/proc"
for f in sys dev; do mount --rbind /$f "$root/$f" && mount --make-rslave "$root/$f"; done
git clone -q --no-hardlinks "$repository" "$root/home/mobula"
mkdir -p build

passed=0 failed=0
for command in "$@"; do
    log=build/fresh-$SUITE-$((passed + failed + 1)).log start=$SECONDS
    if chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
        http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}" \
        bash -c "cd /home/mobula && $command" >"$log" 2>&1 </dev/null; then
        passed=$((passed + 1)) word=ok
    else
        failed=$((failed + 1)) word=FAILED
        tail -n 60 "$log" | sed 's/^/    /'
    fi
    printf '  %-7s %s: %s, %d s; last line: %s\n' $word "$SUITE" "$command" $((SECONDS - start)) "$(tail -n 1 "$log" | cut -c 1-100)"
done
[[ -z ${SAME:-} ]] || compare_builds "$SAME"
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
