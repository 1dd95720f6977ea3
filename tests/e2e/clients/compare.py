"""Coding agents over many turns, each alone with its own compaction and through Unforget: measures the provider's requests.

    tests/e2e/clients/run compare [--turns 44] [--clients codex,claude,opencode] [--window 64000,200000] [--results small,large] [--ways alone,through]
                [--out FILE] [--keep FOLDER] [--check standing,cache,budget]
"""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import subprocess
import sys
import time

import figures
import material
from coding import AGENTS, Place
from stage import Daemon, Failed, Provider, scratch

RATIOS = ("breaks", "breaks_share", "prefix_share", "uncached_bytes", "all_uncached_bytes", "mean_use", "largest_prompt")
COLUMNS = {
    "client": "client", "window": "window", "results": "results", "way": "way", "turns": "turns", "calls": "calls", "breaks": "breaks",
    "breaks_share": "share", "consecutive_breaks": "in a row", "prefix_share": "prefix", "uncached_bytes": "uncached B", "all_uncached_bytes": "all uncached B",
    "largest_prompt": "largest", "mean_use": "mean use", "peak_use": "peak", "refusals": "400s", "whole": "instr. whole", "seconds": "s",
}


def run(case, folder):
    """A case, from its first question to its figures."""
    agent, begun = AGENTS[case["client"]], time.time()
    work = folder / "work"
    (folder / "home").mkdir()
    plan = material.prepare(work, case, agent)
    agent.prepare(work, case["window"])
    failed, said = 0, ""
    with contextlib.ExitStack() as stack:
        options = ["--plan", material.write_plan(folder / "plan.json", plan)]
        # Requests of a client alone are not validated: only the window is enforced.
        options += ["--window-only"] if case["way"] == "alone" else []
        options += ["--bytes-per-token", str(case["bytes_per_token"])] if case["bytes_per_token"] else []
        provider = Provider(folder, case["window"], *options)
        stack.callback(provider.end)
        daemon = Daemon(folder, provider.url, case["window"]) if case["way"] == "through" else None
        if daemon:
            stack.callback(daemon.end)
        ask = stack.enter_context(agent.conversation(Place(folder, provider.url, case["window"], daemon)))
        for number in range(case["turns"]):
            is_well, words = ask(number, material.question(number))
            said = said if is_well else words
            failed = 0 if is_well else failed + 1
            case["failed_turns"] = case.get("failed_turns", 0) + (not is_well)
            if failed == 3:
                break
    found = figures.of_run(agent, case["window"], provider.log)
    there = found["standing"]
    whole = f"{there['all_once']}/{there['calls']}"
    return {**case, "turns": number + 1, **found, "whole": whole, "seconds": round(time.time() - begun, 1), "last_error": said}


def one(case, keep):
    name = "-".join(str(case[part]) for part in ("client", "window", "results", "way"))
    try:
        with scratch(name) as folder:
            found = run(case, folder)
            if keep:
                (folder / "provider.jsonl").rename(keep / f"{name}.jsonl")
    except (Failed, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        found = {**case, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps({key: value for key, value in found.items() if key != "last_error" or value}), flush=True)
    return found


def ratios(results):
    """The figures through Unforget divided by those of the client alone, for each pair of cases."""
    by_case = {tuple(one[part] for part in ("client", "window", "results", "way")): one for one in results if "error" not in one}
    for (client, window, size, way), through in by_case.items():
        alone = by_case.get((client, window, size, "alone"))
        # Sums of conversations of different lengths are not comparable.
        if way != "through" or alone is None or alone["turns"] != through["turns"]:
            continue
        both = {key: (through[key], alone[key]) for key in RATIOS}
        found = {key: round(of / to, 3) if of is not None and to else None for key, (of, to) in both.items()}
        yield {"client": client, "window": window, "results": size, "through / alone": found}


def table(results):
    rows = [list(COLUMNS.values())]
    rows += [["" if one.get(key) is None else str(one.get(key)) for key in COLUMNS] for one in results]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(COLUMNS), *lines[1:]])


# Targets for a run through Unforget at 64k: maximum share of breaks, minimum share of the common prefix.
ASKED = {"large": (0.12, 0.90), "small": (0.03, 0.96)}


def failures(results, checks):
    """Failures of any run, and missed targets with `--check`."""
    for one in results:
        name = " ".join(str(one[part]) for part in ("client", "window", "results", "way"))
        if "error" in one:
            yield f"{name}: {one['error']}"
        elif one["way"] == "through":
            if one["failed_turns"]:
                yield f"{name}: {one['failed_turns']} turns failed: {one['last_error']}"
            if one["refusals"]:
                yield f"{name}: {one['refusals']} requests were refused upstream, first: {one['first_refusal']}"
            for check in checks:
                yield from (f"{name}: {wrong}" for wrong in CHECKS[check](one))


def check_standing(one):
    there = one["standing"]
    if there["all_once"] < there["calls"]:
        yield f"standing context whole in {one['whole']} calls: missing {there['missing']}, twice {there['more_than_once']}"


def check_cache(one):
    most, least = ASKED[one["results"]]
    if (one["breaks_share"] or 0) > most:
        yield f"breaks in {one['breaks_share']} of calls, asked are {most}"
    if (one["prefix_share"] or 0) < least:
        yield f"prefix share {one['prefix_share']}, asked is {least}"


def check_budget(one):
    if one["mean_use"] is not None and (one["mean_use"] < 0.78 or one["peak_use"] < 0.92):
        yield f"mean use {one['mean_use']}, peak {one['peak_use']}, asked are 0.78 and 0.92"


CHECKS = {"standing": check_standing, "cache": check_cache, "budget": check_budget}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=44)
    parser.add_argument("--clients", default="codex,claude,opencode")
    parser.add_argument("--window", default="64000,200000")
    parser.add_argument("--results", default="small,large")
    parser.add_argument("--ways", default="alone,through")
    parser.add_argument("--seed", type=int, default=1, help="of files, questions and answers")
    parser.add_argument("--bytes-per-token", type=int, help="how the provider counts, in place of o200k_base")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--out", type=pathlib.Path, help="where the figures go as JSON")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the provider's logs")
    parser.add_argument("--check", default="", help="fail where runs through Unforget miss what is asked: standing,cache,budget")
    return parser.parse_args()


def main():
    asked = arguments()
    clients, windows = asked.clients.split(","), [int(window) for window in asked.window.split(",")]
    sizes, ways = asked.results.split(","), asked.ways.split(",")
    same = {"seed": asked.seed, "bytes_per_token": asked.bytes_per_token}
    cases = [
        {"client": client, "window": window, "results": size, "way": way, "turns": asked.turns, "failed_turns": 0, **same}
        for window in windows for client in clients for size in sizes for way in ways
    ]
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        results = list(pool.map(lambda case: one(case, asked.keep), cases))
    compared = list(ratios(results))
    print(table(results))
    for pair in compared:
        print(json.dumps(pair))
    if asked.out:
        asked.out.write_text(json.dumps({"runs": results, "ratios": compared}, indent=1))
    wrong = list(failures(results, [check for check in asked.check.split(",") if check]))
    for line in wrong:
        print(f"FAILED {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
