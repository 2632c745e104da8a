#!/usr/bin/env python3
"""Packs local files into an OCI image archive that `ctr images import` takes. No registry, no daemon, standard library only.

  oci.py --name localhost/pause:1 --out pause.tar [--entrypoint '["/pause"]'] [--env K=V]... [--workdir D] [--user U]
         --layer x.tar|DIR|SRC=DEST [--layer ...]

A layer is an uncompressed tar, a folder (its content becomes /), or one file SRC that becomes /DEST (mode 0755).
The same input gives the same bytes.
"""
import argparse
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile


def layer_file(spec, tmp, n):
    if spec.endswith(".tar"):
        return spec
    out = os.path.join(tmp, f"layer{n}.tar")
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as t:
        def norm(ti):
            ti.uid = ti.gid = 0
            ti.uname = ti.gname = ""
            ti.mtime = int(ti.mtime)
            return ti
        if "=" in spec:
            src, dest = spec.split("=", 1)
            ti = tarfile.TarInfo(dest.lstrip("/"))
            ti.mode, ti.size, ti.mtime = 0o755, os.path.getsize(src), 0
            with open(src, "rb") as f:
                t.addfile(ti, f)
        else:
            for name in sorted(os.listdir(spec)):
                t.add(os.path.join(spec, name), arcname=name, filter=norm)
    return out


def sha(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for b in iter(lambda: f.read(1 << 20), b""):
            h.update(b)
    return h.hexdigest()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--name", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--layer", action="append", required=True)
    p.add_argument("--entrypoint", default="null")
    p.add_argument("--cmd", default="null")
    p.add_argument("--env", action="append", default=[])
    p.add_argument("--workdir", default="/")
    p.add_argument("--user", default="")
    a = p.parse_args()
    tmp = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(a.out)))
    try:
        layers, diffs = [], []
        for n, spec in enumerate(a.layer):
            f = layer_file(spec, tmp, n)
            d = sha(f)
            diffs.append("sha256:" + d)
            layers.append((f, d, os.path.getsize(f)))
        cfg = {"architecture": "amd64", "os": "linux",
               "config": {k: v for k, v in {"Entrypoint": json.loads(a.entrypoint), "Cmd": json.loads(a.cmd), "Env": a.env,
                                            "WorkingDir": a.workdir, "User": a.user}.items() if v},
               "rootfs": {"type": "layers", "diff_ids": diffs}}
        blobs = []

        def blob(obj):
            b = json.dumps(obj, sort_keys=True).encode()
            d = hashlib.sha256(b).hexdigest()
            blobs.append((d, b))
            return {"digest": "sha256:" + d, "size": len(b)}

        c = blob(cfg) | {"mediaType": "application/vnd.oci.image.config.v1+json"}
        m = blob({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": c,
                  "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": "sha256:" + d, "size": s}
                             for _, d, s in layers]})
        m |= {"mediaType": "application/vnd.oci.image.manifest.v1+json", "platform": {"architecture": "amd64", "os": "linux"},
              "annotations": {"io.containerd.image.name": a.name, "org.opencontainers.image.ref.name": a.name.rsplit(":", 1)[-1]}}
        part = a.out + ".part"
        with tarfile.open(part, "w", format=tarfile.GNU_FORMAT) as t:
            def add(name, data):
                ti = tarfile.TarInfo(name)
                ti.size = len(data)
                ti.mode = 0o644
                t.addfile(ti, io.BytesIO(data))
            add("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
            add("index.json", json.dumps({"schemaVersion": 2, "manifests": [m]}).encode())
            for d, b in blobs:
                add("blobs/sha256/" + d, b)
            for f, d, s in layers:
                ti = tarfile.TarInfo("blobs/sha256/" + d)
                ti.size, ti.mode = s, 0o644
                with open(f, "rb") as fh:
                    t.addfile(ti, fh)
        os.replace(part, a.out)
    finally:
        shutil.rmtree(tmp)


main()
