"""A folder with every kind of entry that an archive of a working directory may hold. Standard library only: `digest` also runs on Ray."""

import os

NAMES = {"empty.txt": b"", "main.py": b"import module\n", "with blank.txt": b"blank", "ünï-ço∂é/日本.txt": "Zürich\n".encode(),
         "deep/a/b/c/d/e/file.bin": bytes(range(256)) * 64, "noise.bin": os.urandom(70_000), "lines.txt": b"the same line\n" * 5000,
         ".hidden": b"dot", "module/__init__.py": b"x = 1\n"}
EMPTY = ("nothing", "deep/also nothing")


def fill(folder):
    for name, text in NAMES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    for name in EMPTY:
        (folder / name).mkdir(parents=True)
    return folder


# Source text: prints one line for each entry below the current folder, with the size and the checksum of a file.
DIGEST = r'''
import os, zlib
for root, folders, files in sorted(os.walk(".")):
    for name in sorted(files):
        data = open(os.path.join(root, name), "rb").read()
        print("entry", ascii(os.path.join(root, name)[2:]), len(data), zlib.crc32(data))
    for name in sorted(folders):
        print("folder", ascii(os.path.join(root, name)[2:]))
'''
