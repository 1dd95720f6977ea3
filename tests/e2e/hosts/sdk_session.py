"""One turn of an agent of the OpenAI Agents SDK, whose session is a SQLite file. usage: sdk_session.py DATABASE WORDS"""

import asyncio
import os
import subprocess
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)


@function_tool
def run(command: str) -> str:
    """Runs a command."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return f"{done.stdout}exit code {done.returncode}"


client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
agent = Agent(name="birds", model=OpenAIChatCompletionsModel(model="large", openai_client=client), tools=[run])
session = SQLiteSession("herons", sys.argv[1])
asyncio.run(Runner.run(agent, sys.argv[2], session=session))
