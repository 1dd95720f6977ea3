"""Common parts of the tests: the scripted provider, the daemon before it, and the logs of both."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

BIN = pathlib.Path(os.environ["UNFORGET_BIN"])
# A build of another version is measured with this version's provider.
PROVIDER = pathlib.Path(os.environ.get("UNFORGET_PROVIDER", BIN / "scripted-provider"))
CLIENTS = pathlib.Path(os.environ["UNFORGET_CLIENTS"])


class Failed(Exception):
    """An expectation failed."""


def want(is_so, what):
    if not is_so:
        raise Failed(what)


@contextlib.contextmanager
def scratch(name):
    """A folder for a test, kept if the test fails."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"unforget-{name}-"))
    try:
        yield folder
    except BaseException:
        print(f"kept: {folder}", flush=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


class Provider:
    """A provider with a window, in its own process."""

    def __init__(self, folder, window, *options):
        self.log = folder / "provider.jsonl"
        command = [PROVIDER, "--window", str(window), "--log", self.log, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def came(self):
        with self.log.open() as lines:
            return [json.loads(line) for line in lines]

    def end(self):
        self.process.kill()
        self.process.wait()


class Daemon:
    """`unforget serve` on a database. It can be stopped and restarted at the same address."""

    def __init__(self, folder, upstream, window):
        self.folder, self.upstream, self.window = folder, upstream, window
        self.db = folder / "history.sqlite"
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self):
        command = [BIN / "unforget", "--json", "--db", self.db, "serve", "--listen", self.listen]
        command += ["--upstream", self.upstream, "--window", f"*={self.window}"]
        errors = (self.folder / "daemon.log").open("a")
        env = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
        said = json.loads(self.process.stdout.readline())
        self.listen, self.url = said["listen"], said["url"]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        want(self.process.wait(timeout=60) == 0, "the daemon ended with an error")

    def restart(self):
        self.end()
        self.start()

    def ask(self, *arguments):
        """Runs the command line on the same database after the daemon has ended."""
        command = [BIN / "unforget", "--db", self.db, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        want(done.returncode == 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def lanes(self):
        """Keys of the lanes with messages, the largest lane first."""
        listed = json.loads(self.ask("--json", "list"))
        lanes = [one for one in listed if not one["conversation"].startswith("journal:register/")]
        return sorted(lanes, key=lambda one: -one["entries"])

    def exported(self, key):
        """The lines of a lane from `unforget export`."""
        return [json.loads(line) for line in self.ask("export", key).splitlines()]

    def said(self, key):
        """The messages of a lane, in order of arrival."""
        return [line["message"] for line in self.exported(key) if line["is"] == "message"]


def check_upstream(came, window):
    """Checks that all requests at the provider were valid and under the window."""
    wrong = [(one["number"], one["violations"], one["tokens"]) for one in came if one["status"] != 200]
    want(not wrong, f"{len(wrong)} requests were refused upstream, first: {wrong[:2]}")
    largest = max(one["tokens"] for one in came)
    want(largest <= window, f"{largest} tokens were sent")
    return largest


def report(name, begun, **figures):
    line = {"test": name, "seconds": round(time.time() - begun, 1), **figures}
    print(json.dumps(line), flush=True)


def wait_for(url):
    """Waits until the address answers."""
    for _ in range(200):
        try:
            return urllib.request.urlopen(url, timeout=5).status
        except OSError:
            time.sleep(0.05)
    raise Failed(f"{url} does not answer")
