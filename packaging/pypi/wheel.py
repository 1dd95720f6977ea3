"""Packs a program into a wheel: `wheel.py PROGRAM VERSION README FOLDER`. Prints the wheel's path.

A wheel is a zip file with a list of digests; pip puts what is below `data/scripts` on the path. There is no Python in
this one, and so no interpreter that it depends on.
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import zipfile

program, version, readme, folder = (pathlib.Path(word) for word in sys.argv[1:])
# The C library is named by the tag: pip refuses the wheel where it is older.
platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
platform = platform.replace("linux_", "manylinux_2_34_") if platform.startswith("linux_") else platform
name = f"unforget-{version}"
info = f"{name}.dist-info"
metadata = f"""Metadata-Version: 2.4
Name: unforget
Version: {version}
Summary: A lossless context engine for LLM agents
License-Expression: MIT OR Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme.read_text(encoding="utf-8")}"""
tags = f"Wheel-Version: 1.0\nGenerator: unforget\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"
files = {
    f"{name}.data/scripts/{program.name}": program.read_bytes(),
    f"{info}/METADATA": metadata.encode(),
    f"{info}/WHEEL": tags.encode(),
}
record = ""
for path, content in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record += f"{path},sha256={digest},{len(content)}\n"
files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

wheel = folder / f"{name}-py3-none-{platform}.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
    for path, content in files.items():
        entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if "/scripts/" in path else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)
print(wheel)
