"""Three machines, a real sshd each, random meetings and kills: see `run`."""

import getpass
import hashlib
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ["UNFORGET_BIN"]
SESSIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
MEETINGS = 24
KILLED_SHARE = 0.4


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Machine:
    """A database, a home, and an sshd."""

    def __init__(self, work: pathlib.Path, name: str) -> None:
        self.name = name
        self.home = work / name
        self.home.mkdir()
        self.db = self.home / "store.sqlite"
        self.port = free_port()
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.home / "host"], check=True)
        config = [
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.home}/host", "UsePAM no", "StrictModes no",
            f"AuthorizedKeysFile {work}/key.pub", f"PidFile {self.home}/sshd.pid", "PermitRootLogin yes", "PrintMotd yes",
        ]
        (self.home / "sshd_config").write_text("\n".join(config) + "\n")
        self.sshd = subprocess.Popen(
            ["/usr/sbin/sshd", "-D", "-e", "-f", self.home / "sshd_config"], stderr=(self.home / "sshd.log").open("w")
        )
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.sshd.poll() is not None:
                raise SystemExit(f"sshd ended: {(self.home / 'sshd.log').read_text()}")

    def command(self, *words: str) -> list[str]:
        return [PROGRAM, "--db", str(self.db), *words]

    def run(self, *words: str) -> str:
        done = subprocess.run(self.command(*words), capture_output=True, text=True, env=self.environment())
        if done.returncode != 0:
            raise SystemExit(f"{self.name}: {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def sessions(self) -> dict[str, str]:
        """The digest of every session's transcript."""
        keys = [one["conversation"] for one in json.loads(self.run("list", "--json"))]
        exports = {}
        for key in keys:
            export = subprocess.run(self.command("export", key), capture_output=True, check=True, env=self.environment())
            exports[key] = hashlib.sha256(export.stdout).hexdigest()
        return exports


def transcript(name: str, words: list[str]) -> str:
    lines = [json.dumps({"type": "session", "version": 3, "id": name, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/home/ann/tide"})]
    parent = None
    for number, text in enumerate(words):
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        stamp = f"2026-03-01T1{number // 3600}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        lines.append(json.dumps({"type": "message", "id": f"{number + 1:08x}", "parentId": parent, "timestamp": stamp, "message": message}))
        parent = f"{number + 1:08x}"
    return "\n".join(lines) + "\n"


def write_sessions(machines: list[Machine], draw: random.Random) -> None:
    """Most sessions begin on one machine; some go on differently on two."""
    for number in range(SESSIONS):
        name = f"session-{number:04}"
        said = [f"{name} says {count} {draw.random()} " + "tide " * draw.randrange(400) for count in range(draw.randrange(2, 12))]
        first, second = draw.sample(machines, 2)
        places = [(first, said)]
        if draw.random() < 0.2:
            places.append((second, [*said[: len(said) // 2], f"another end, on {second.name}"]))
        for machine, words in places:
            folder = machine.home / "sessions"
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.jsonl").write_text(transcript(name, words))
    for machine in machines:
        machine.run("-q", "import", str(machine.home / "sessions"))


def meet(work: pathlib.Path, draw: random.Random, machines: list[Machine], killed_share: float) -> bool:
    """One machine synchronises with another one or with the folder. Returns whether it was killed."""
    here, there = draw.sample(machines, 2)
    if draw.random() < 0.5:
        words = ["sync", str(work / "share"), "--encrypt", str(work / "passphrase")]
    else:
        ssh = f"ssh -T -p {there.port} -i {work}/key -o StrictHostKeyChecking=no -o UserKnownHostsFile={work}/known"
        program = f"env HOME={there.home} {PROGRAM} --db {there.db}"
        words = ["sync", f"{getpass.getuser()}@127.0.0.1", "--ssh", ssh, "--program", program]
    child = subprocess.Popen(here.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=here.environment())
    if draw.random() < killed_share:
        until = time.monotonic() + draw.random() * 1.5
        while time.monotonic() < until and child.poll() is None:
            pass
        if child.poll() is None:
            child.kill()
            child.wait()
            return True
    said, _ = child.communicate()
    # The daemon-less other end may still hold its database after a kill on this side.
    if child.returncode != 0 and "another process" not in said and "in use" not in said:
        raise SystemExit(f"{here.name}: {words}: exit code {child.returncode}\n{said}")
    return False


def main() -> None:
    draw = random.Random(SEED)
    work = pathlib.Path(tempfile.mkdtemp(prefix="unforget-sync-"))
    begun = time.monotonic()
    machines: list[Machine] = []
    try:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", work / "key"], check=True)
        (work / "passphrase").write_text("nine blue herons at noon\n")
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        for name in ("ann", "bea", "cleo"):
            machines.append(Machine(work, name))
        write_sessions(machines, draw)
        kills = sum(meet(work, draw, machines, KILLED_SHARE) for _ in range(MEETINGS))
        for here in [*machines, *machines]:
            here.run("sync", str(work / "share"), "--encrypt", str(work / "passphrase"))
        held = [machine.sessions() for machine in machines]
        for machine in machines:
            machine.run("verify")
        if not held[0] == held[1] == held[2]:
            raise SystemExit("the machines have other sessions")
        if len(held[0]) != SESSIONS:
            raise SystemExit(f"{len(held[0])} sessions instead of {SESSIONS}")
        entries = {json.loads(machine.run("stats", "--json"))["entries"] for machine in machines}
        if len(entries) != 1:
            raise SystemExit(f"the machines have {entries} entries")
        print(json.dumps({"sessions": SESSIONS, "entries": entries.pop(), "meetings": MEETINGS, "kills": kills, "seed": SEED, "seconds": round(time.monotonic() - begun, 1)}))
    finally:
        for machine in machines:
            machine.sshd.terminate()
            machine.sshd.wait()
        shutil.rmtree(work, ignore_errors=True)


main()
