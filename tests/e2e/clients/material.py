"""The material of a comparison of coding agents: logs, sources, questions, and the plan of the scripted model.

All of it follows from a seed: a case has the same bytes in every run, regardless of the way to the provider.
"""

import json
import random

# Size in bytes of one result of a tool.
SIZES = {"small": (4_000, 12_000), "large": (20_000, 60_000)}
MARKS = 20
RULES = [
    "Never touch the folder vendor; it is generated.",
    "Run `make check-kestrel` before you say that something is done.",
    "Write commit messages in the imperative mood.",
    "Always use tabs in Makefiles and spaces elsewhere.",
]
NOUNS = "lease window parser ledger cursor socket branch packet digest shard replica segment journal token quota".split()
VERBS = "renew flush merge resolve decode append verify rotate prune commit reserve encode replay settle bind".split()
LEVELS = ["INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN", "ERROR"]


def instructions():
    """A CLAUDE.md or AGENTS.md: marked lines, and rules."""
    marked = [f"- Mark kestrel-{number:02}: module {NOUNS[number % 15]}_{number} belongs to team {number % 5}." for number in range(MARKS)]
    return "\n".join(["# Project kestrel", "", *marked, "", "## Rules", "", *(f"- {rule}" for rule in RULES), ""])


def log_line(chance, at):
    noun, other, verb = chance.choice(NOUNS), chance.choice(NOUNS), chance.choice(VERBS)
    words = f"could not {verb} the {noun} of {other} {chance.randrange(1_000)} before the deadline, waiting for another {chance.choice(NOUNS)}"
    return f"{at // 60 % 24:02}:{at % 60:02} {chance.choice(LEVELS)} {noun}::{other} {words}"


def source_lines(chance, at):
    noun, other, verb = chance.choice(NOUNS), chance.choice(NOUNS), chance.choice(VERBS)
    limit = chance.randrange(4, 4096)
    return [
        f"/// Tries to {verb} the {noun} {chance.choice(['once', 'until it fits', 'without waiting'])}.",
        f"pub fn {verb}_{noun}_{at}({other}: &{other.title()}, limit: usize) -> Result<{noun.title()}, Error> {{",
        f"    let mut {noun} = {other}.{chance.choice(VERBS)}(limit.min({limit}))?;",
        f"    if {noun}.len() > {limit} {{",
        f"        return Err(Error::{verb.title()} {{ {other}: {other}.id(), limit: {limit} }});",
        "    }",
        f"    {noun}.{chance.choice(VERBS)}({chance.randrange(100)});",
        f"    Ok({noun})",
        "}",
        "",
    ]


def text(chance, size, name):
    """Log or source, cut at `size` bytes."""
    is_log, lines, length, at = chance.random() < 0.5, [f"# {name}"], 0, chance.randrange(80_000)
    while length < size:
        more = [log_line(chance, at)] if is_log else source_lines(chance, at % 1000)
        at += chance.randrange(1, 7)
        lines += more
        length += sum(len(line) + 1 for line in more)
    return "\n".join(lines)[:size]


def answer(chance, turn):
    noun, other, verb = chance.choice(NOUNS), chance.choice(NOUNS), chance.choice(VERBS)
    said = [
        f"The {noun} of step {turn} fails because {verb}_{noun} holds the {other} while the {chance.choice(NOUNS)} waits for it.",
        f"I decided to {verb} the {other} first: it costs {chance.randrange(2, 90)} ms instead of {chance.randrange(90, 900)}.",
        f"The limit in {noun}_{turn}.rs is {chance.randrange(4, 4096)}; the log shows {chance.randrange(2, 40)} warnings about it.",
        f"Left to do: a test that has two {other}s and one {noun}, and the word w{turn}x in its name.",
    ]
    return " ".join(said[: chance.randrange(2, 5)])


def question(turn):
    topics = ["why does this step wait so long", "what has changed here", "which limit is hit", "who holds the lock"]
    return f"Question {turn}: read what belongs to step {turn} and tell me {topics[turn % 4]}. Remember the word w{turn}x."


def rounds(chance):
    """Number of the model's tool calls in a turn: 1.75 on average."""
    return chance.choices([1, 2, 3], [45, 35, 20])[0]


def summary():
    """The model's answer to a client's request for a summary, as long as models write them."""
    chance = random.Random("summary")
    parts = ["## Goal", "Find out why the steps of project kestrel wait, one after the other.", "## State"]
    parts += [f"- Step {step}: {answer(chance, step).replace(chr(10), ' ')}" for step in range(18)]
    return "\n".join([*parts, "## Next", "Read the files of the next step and say which limit is hit."])


def prepare(work, case, agent):
    """Writes the files of all turns and the instructions. Returns the plan."""
    low, high = SIZES[case["results"]]
    chance = random.Random(f"{case['results']}-{case['seed']}")
    folder = work / "steps"
    folder.mkdir(parents=True)
    plan = {"turns": [], "tools": agent.tools, "compaction": agent.compaction, "summary": summary()}
    for turn in range(case["turns"]):
        files, says = [], []
        for number in range(rounds(chance)):
            path = folder / f"step-{turn:03}-{number}.{chance.choice(['log', 'rs', 'txt'])}"
            path.write_text(text(chance, chance.randrange(low, high), path.name))
            files.append([str(path)])
            says.append(f"I look at {path.name}, which {chance.choice(VERBS)}s the {chance.choice(NOUNS)}.")
        plan["turns"].append({"rounds": files, "says": says, "answer": answer(chance, turn)})
    (work / agent.instructions).write_text(instructions())
    return plan


def write_plan(path, plan):
    path.write_text(json.dumps(plan))
    return path
