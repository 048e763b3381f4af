"""Serves a folder of packages as the indexes of Python and npm and a release do, on loopback: python3 dist/served.py FOLDER

Prints its address. dist/try installs by the lines that a release shows, and those fetch from here.
"""

import hashlib
import json
import re
import sys
import tarfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])


def npm_package(name, address):
    """What the index of npm answers for a package, or None if the folder has no package of this name."""
    for path in FOLDER.glob("*.tgz"):
        with tarfile.open(path) as tarball:
            manifest = json.load(tarball.extractfile("package/package.json"))
        if manifest["name"] == name:
            version = manifest["version"]
            dist = {"tarball": f"{address}/files/{path.name}", "shasum": hashlib.sha1(path.read_bytes()).hexdigest()}
            return {"name": name, "dist-tags": {"latest": version}, "versions": {version: {**manifest, "dist": dist}}}
    return None


class Handler(BaseHTTPRequestHandler):
    """`/simple/NAME/` for pip, `/NAME` for npm, `/files/FILE`, and `/ACME/REPOSITORY/releases/…/FILE`."""

    def do_GET(self):
        address = f"http://{self.headers['Host']}"
        found = re.fullmatch(r"/simple/([\w-]+)/|/([\w-]+)|/(?:files|[\w-]+/[\w-]+/releases/(?:latest/download|download/[\w.]+))/([\w.-]+)", self.path)
        wheels, package, file = found.groups() if found else (None, None, None)
        body = None
        if wheels:
            names = [path.name for path in FOLDER.glob(f"{wheels.replace('-', '_')}-*.whl")]
            body = "".join(f'<a href="/files/{name}">{name}</a>\n' for name in names).encode()
        elif package:
            answer = npm_package(package, address)
            body = None if answer is None else json.dumps(answer).encode()
        elif file and (FOLDER / file).is_file():
            body = (FOLDER / file).read_bytes()
            if file == "install.sh":
                body = body.replace(b"@RELEASES@", f"{address}/acme/evalrs/releases/download/v0".encode())
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if wheels else "application/json" if package else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
