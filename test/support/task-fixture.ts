import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { readTask } from '../../src/agents/tasks/read-task.ts';
import { isReadWhole, type TaskDirectory } from '../../src/agents/tasks/task-directory.ts';
import type { StagedVerifier, Task } from '../../src/agents/tasks/task.ts';

/** A task's directory that is in memory only, by path. */
export function taskDirectory(files: Readonly<Record<string, string>>, name = 'toy'): TaskDirectory {
  const entries = Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
  return {
    where: name,
    name,
    files: entries
      .map(({ path, bytes }) => ({ path, digest: digestBytes(bytes), bytes: bytes.length, isExecutable: path.endsWith('.sh') }))
      .sort((a, b) => (a.path < b.path ? -1 : 1)),
    contents: new Map(entries.filter(({ path }) => isReadWhole(path)).map(({ path, bytes }) => [path, bytes])),
  };
}

/** The files of a small task with cases; those of `changes` replace or add to them, and an undefined one is left out. */
export function caseTaskFiles(changes: Readonly<Record<string, string | undefined>> = {}): Record<string, string> {
  const files: Record<string, string | undefined> = {
    'task.toml': 'schema_version = "1.4"\n[task]\nname = "toys/double"\n',
    'instruction.md': '<!-- harbor-canary GUID 0 -->\nWrite double.py, which doubles the number on its input.\n',
    'muster.toml':
      '[execute]\nkind = "cases"\ncommand = ["python3", "-I", "double.py"]\nstored = "cases.jsonl"\n[compare]\nmode = "canonical"\nform = "tokens"\n',
    'tests/cases.jsonl': '{"stdin": "2", "expected": "4"}\n{"name": "zero", "stdin": "0", "expected": "0"}\n',
    'solution/double.py': 'print(2 * int(input()))\n',
    'cheats/constant/double.py': 'print(4)\n',
    ...changes,
  };
  return Object.fromEntries(Object.entries(files).flatMap(([path, text]) => (text === undefined ? [] : [[path, text]])));
}

export function caseTask(changes: Readonly<Record<string, string | undefined>> = {}): Task {
  return readTask(taskDirectory(caseTaskFiles(changes)));
}

/** The verifier of a task whose muster.toml is `text`. */
export function stagedVerifierOf(text: string): StagedVerifier {
  const { verifier } = caseTask({ 'muster.toml': text }).steps[0];
  if (verifier.kind === 'staged') return verifier;
  throw new Error('the task has no stages');
}
