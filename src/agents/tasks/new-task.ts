import { toWrittenFile, type WrittenTask } from './written-task.ts';

const TASK_TOML = `schema_version = "1.4"
# What is taken out of the workspace; the submission looks like the workdir.
artifacts = ["double.py"]

[agent]
timeout_sec = 900.0

[verifier]
timeout_sec = 300.0

[environment]
network_mode = "no-network"
cpus = 1
memory_mb = 512
`;

const INSTRUCTION = `Write \`double.py\`: it reads a whole number from standard input and prints twice as much.
`;

const MUSTER_TOML = `[workspace]
root = "host"              # "image" or "dockerfile" where the task needs more than this machine has

[execute]
kind = "cases"
command = ["python3", "-I", "double.py"]
generator = { command = ["python3", "-I", "/tests/generate.py"], cases = 10 }
seconds = 5

[golden]
command = ["python3", "-I", "/tests/golden.py"]

[compare]
mode = "canonical"
form = "tokens"
`;

const GENERATOR = `"""Draws hidden cases: the same seed gives the same ones."""

import json
import os
import random

chance = random.Random(os.environ["MUSTER_SEED"])
for _ in range(int(os.environ["MUSTER_CASES"])):
    print(json.dumps({"stdin": f"{chance.randint(-10**9, 10**9)}\\n"}))
`;

const GOLDEN = `"""The trusted reference."""

print(2 * int(input()))
`;

const TEST_SH = `#!/bin/sh
# How Harbor judges this task. Muster judges it by the stages of muster.toml.
mkdir -p /logs/verifier
cd /app || exit 1
if [ "$(echo 21 | python3 double.py)" = 42 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
`;

/** Creates a small task that is sound, to be changed into another. @param name of its directory. */
export function createTaskFiles(name: string): WrittenTask {
  const files: readonly (readonly [string, string])[] = [
    ['task.toml', TASK_TOML],
    ['instruction.md', INSTRUCTION],
    ['muster.toml', MUSTER_TOML],
    ['environment/Dockerfile', 'FROM python:3.12-slim\nWORKDIR /app\n'],
    ['tests/generate.py', GENERATOR],
    ['tests/golden.py', GOLDEN],
    ['tests/test.sh', TEST_SH],
    ['solution/double.py', GOLDEN.replace('The trusted reference', "The task's own solution")],
    ['cheats/constant/double.py', '"""The answer of the one case that tests/test.sh has."""\n\nprint(42)\n'],
    ['twins/adds/double.py', '"""An honest solution in another way."""\n\nnumber = int(input())\nprint(number + number)\n'],
  ];
  return { name, files: files.map(([path, text]) => toWrittenFile(path, text)), notices: [] };
}
