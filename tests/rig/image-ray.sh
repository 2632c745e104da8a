#!/usr/bin/env bash
# Builds the OCI image archives that node-up.sh imports, without a registry: $RIG_DIR/image/{pause,ray-<version>}.tar.
# pause is a static program; ray is a small Debian root (mmdebstrap) with Ray from the Python package index.
# Cached: a file that is there is not built again.
#
#   ./image-ray.sh                    # both
#   RAY_VERSION=2.60.0 ./image-ray.sh
#   RAY_IMAGE=0 ./image-ray.sh        # pause alone
#   RAY_VENV=/path/of/a/venv ./image-ray.sh     # take Ray from this environment (Python 3.11, as in the image) instead of pip
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/lib.sh"
IMG=$RIG_DIR/image
mkdir -p "$IMG/src"

if [[ ! -f $IMG/pause.tar ]]; then
  cat > "$IMG/src/pause.c" <<'C'
#include <signal.h>
#include <unistd.h>
#include <stdlib.h>
#include <sys/wait.h>
static void down(int s) { (void)s; _exit(0); }
static void reap(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0); }
int main(void) { signal(SIGTERM, down); signal(SIGINT, down); signal(SIGCHLD, reap); for (;;) pause(); }
C
  gcc -static -Os -s -o "$IMG/src/pause" "$IMG/src/pause.c"
  python3 "$HERE/oci.py" --name localhost/pause:1 --out "$IMG/pause.tar" --entrypoint '["/pause"]' --layer "$IMG/src/pause=/pause"
fi

[[ ${RAY_IMAGE:-1} != 0 ]] || exit 0

base=$IMG/base.tar
if [[ ! -f $base ]]; then
  t0=$(now_ms)
  # The host's own package sources, whatever they are.
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list > "$IMG/sources" 2>/dev/null || true
  root=$IMG/src/base-root; rm -rf "$root"
  mmdebstrap --variant=minbase --format=directory --include=python3,bash,procps,wget,ca-certificates \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Check-Date "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    bookworm "$root" - < "$IMG/sources" 2>"$IMG/mmdebstrap.log" || { tail -5 "$IMG/mmdebstrap.log" >&2; die "mmdebstrap failed"; }
  (cd "$root" && rm -rf etc/apt/sources.list* var/lib/apt/lists var/cache/apt etc/resolv.conf etc/hostname dev && mkdir dev)
  rm "$IMG/sources"
  tar --sort=name --numeric-owner -C "$root" -cf "$base.part.tar" .
  rm -rf "$root"
  mv "$base.part.tar" "$base"
  say "base root: $(stat -c %s "$base") bytes, $(($(now_ms) - t0)) ms"
fi

out=$IMG/ray-$RAY_VERSION.tar
if [[ ! -f $out ]]; then
  t0=$(now_ms)
  venv=${RAY_VENV:-$IMG/venv-$RAY_VERSION}
  if [[ ! -x $venv/bin/ray ]]; then
    "${RAY_PYTHON:-python3}" -m venv "$venv"
    flock "$RIG_LOCK" "$venv/bin/pip" install -q "ray[default,serve]==$RAY_VERSION"
  fi
  site=$(echo "$venv"/lib/python3.*/site-packages)
  pyv=$(basename "$(dirname "$site")")
  [[ $pyv == python3.11 ]] || die "the image's Python is 3.11, the environment has $pyv: RAY_PYTHON names another python3"
  root=$IMG/src/ray-root; rm -rf "$root"; mkdir -p "$root/opt/ray/bin" "$root/opt/ray/lib/$pyv" "$root/home/ray"
  cp -a "$site" "$root/opt/ray/lib/$pyv/"
  # Parts that no head, worker, job or Serve application of the tests needs.
  (cd "$root/opt/ray/lib/$pyv/site-packages" && rm -rf pip pip-* setuptools setuptools-* pkg_resources ray/jars ray/rllib ray/llm)
  ln -s "/usr/bin/$pyv" "$root/opt/ray/bin/python"; ln -s python "$root/opt/ray/bin/python3"
  printf 'home = /usr/bin\ninclude-system-site-packages = false\n' > "$root/opt/ray/pyvenv.cfg"
  for f in ray serve; do
    sed '1s|.*|#!/opt/ray/bin/python|' "$venv/bin/$f" > "$root/opt/ray/bin/$f"; chmod 755 "$root/opt/ray/bin/$f"
  done
  # Debian's /etc/profile forgets the image's PATH, and the legacy start commands run in a login shell.
  mkdir -p "$root/etc/profile.d"
  echo 'export PATH=/opt/ray/bin:$PATH' > "$root/etc/profile.d/ray.sh"
  python3 "$HERE/oci.py" --name "localhost/ray:$RAY_VERSION" --out "$out" --env PATH=/opt/ray/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --env HOME=/home/ray --env PYTHONDONTWRITEBYTECODE=1 --workdir /home/ray --cmd '["/bin/bash"]' \
    --layer "$base" --layer "$root"
  rm -rf "$root"
  say "ray image: $(stat -c %s "$out") bytes, $(($(now_ms) - t0)) ms"
fi
say "images: $IMG/pause.tar $out"
