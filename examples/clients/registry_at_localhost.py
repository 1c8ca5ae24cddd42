"""Serve a schema registry at http://localhost:8081, where tutorials expect it, until stopped.

    registry_at_localhost.py DIRECTORY

It sends each request on to the registry, below the path of its interface for Confluent's clients,
and logs in where that is needed. DIRECTORY is what `clients.yml` has written. Everybody on this
machine may use it as that user.
"""

import base64
import ssl
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

lines = Path(sys.argv[1], "schema-registry.conf").read_text().splitlines()
registry = dict(line.split("=", 1) for line in lines if line and line[0] != "#")
urls = registry["url"].split(",")
authority = registry.get("ssl.ca.location")
context = ssl.create_default_context(cafile=authority) if authority else None
login = base64.b64encode(registry.get("basic.auth.user.info", "").encode()).decode()


class Relay(BaseHTTPRequestHandler):
    """Answers with what the first instance says that answers at all."""

    def relay(self):
        """Send one request on."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        headers = {"Authorization": f"Basic {login}"} if login else {}
        for name in ("Accept", "Content-Type"):
            if name in self.headers:
                headers[name] = self.headers[name]
        status, kind, data = 502, "text/plain", b"no instance answers\n"
        for url in urls:
            request = urllib.request.Request(url + self.path, body, headers, method=self.command)  # noqa: S310 - of clients.yml
            try:
                with urllib.request.urlopen(request, context=context, timeout=30) as response:  # noqa: S310 - as above
                    status, kind, data = (
                        response.status,
                        response.headers["Content-Type"],
                        response.read(),
                    )
            except urllib.error.HTTPError as error:
                status, kind, data = error.code, error.headers["Content-Type"], error.read()
            except OSError:
                continue
            break
        self.send_response(status)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = relay


with ThreadingHTTPServer(("127.0.0.1", 8081), Relay) as server:
    print("http://localhost:8081 is", registry["url"], flush=True)
    server.serve_forever()
