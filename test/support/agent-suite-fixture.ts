import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { listChildren, listProcesses, listWorkspaces } from './process-table.ts';
import { loadConfig } from '../../src/app/configuration.ts';
import { Muster } from '../../src/app/main.ts';
import type { Config } from '../../src/config/config.ts';
import { sleep, systemClock } from '../../src/kernel/clock.ts';
import { type FilesByPath, TASK, writeFiles } from './grading-fixture.ts';

/** Of four hidden numbers, the share whose absolute value is printed. What is there at first prints them as they are, which is right for some. */
export const SHARE_TASK: FilesByPath = {
  ...TASK,
  'task.toml': TASK['task.toml']?.replace('test/task', 'test/share') ?? '',
  'environment/abs.py': 'print(int(input()))\n',
  'muster.toml': `
[execute]
kind = "cases"
command = ["/usr/bin/python3", "-I", "abs.py"]
generator = { command = ["/usr/bin/python3", "-I", "/tests/draw.py"], cases = 4 }
repeated = 0
seconds = 20
[golden]
command = ["/usr/bin/python3", "-I", "/tests/golden.py"]
[score]
correctness = "share"
`,
  'tests/draw.py': `import json, os, random
draw = random.Random(os.environ["MUSTER_SEED"])
for _ in range(int(os.environ["MUSTER_CASES"])):
    number = draw.randrange(1, 99) * draw.choice([1, -1])
    print(json.dumps({"stdin": str(number)}))
`,
  'tests/golden.py': 'print(abs(int(input())))\n',
  'solution/abs.py': 'print(abs(int(input())))\n',
};

/** All or nothing, by a script. */
export const ANSWER_TASK: FilesByPath = {
  ...TASK,
  'task.toml': TASK['task.toml']?.replace('test/task', 'test/answer') ?? '',
  'tests/test.sh': '#!/bin/bash\n[ "$(cat answer.txt)" = 42 ]; echo $((1 - $?)) >/logs/verifier/reward.txt\n',
  'solution/answer.txt': '42\n',
};

/** Half of the reward for nothing, by a script. */
export const HALF_TASK: FilesByPath = {
  ...ANSWER_TASK,
  'task.toml': TASK['task.toml']?.replace('test/task', 'test/half') ?? '',
  'tests/test.sh':
    '#!/bin/bash\n[ "$(cat answer.txt)" = 42 ] && echo 1 >/logs/verifier/reward.txt || echo 0.5 >/logs/verifier/reward.txt\n',
};

/** In the commands of the agent that is scripted here: of a shell that outlives its sleep, so that its arguments are there to be found. */
const AT_WORK = 'agent-at-work';

/** Writes what is right for numbers below 0 and for some others, and takes a moment for it. */
export const SCRIPTED_AGENT = {
  agent: 'scripted',
  actions: [
    { action: 'run', command: `sleep 0.5; true # ${AT_WORK}` },
    { action: 'submit' },
    { action: 'write_file', file: 'answer.txt', content: '42' },
  ],
  tasks: {
    'test/share': [
      { action: 'edit_file', file: 'abs.py', old: 'int(input())', new: 'n if (n := abs(int(input()))) < 50 else 0' },
      { action: 'run', command: `sleep 0.5; true # ${AT_WORK}` },
      { action: 'read_file', file: '/etc/shadow' },
    ],
  },
};

/** Suites of tasks in a directory of their own, played in real sandboxes of this machine. */
export class AgentSuiteFixture implements AsyncDisposable {
  readonly directory: string;
  readonly stateDir: string;

  private constructor(directory: string) {
    this.directory = directory;
    this.stateDir = path.join(directory, 'state');
  }

  static async open(
    tasks: Readonly<Record<string, FilesByPath>> = { share: SHARE_TASK, answer: ANSWER_TASK, half: HALF_TASK },
  ): Promise<AgentSuiteFixture> {
    const fixture = new AgentSuiteFixture(await mkdtemp(path.join(tmpdir(), 'muster-agents-')));
    await mkdir(path.join(fixture.directory, 'tasks'));
    for (const [name, files] of Object.entries(tasks)) await writeFiles(path.join(fixture.directory, 'tasks', name), files);
    return fixture;
  }

  /** A suite of all tasks. @returns its path. */
  async suite(changes: object = {}): Promise<string> {
    const file = path.join(this.directory, 'suite.yaml');
    await writeFile(file, stringify({ name: 'agents', tasks: { from: 'tasks' }, stop: { rule: 'fixed', episodes: 12 }, ...changes }));
    return file;
  }

  /** @returns the path of a file that says what an agent does. */
  async agent(agent: object): Promise<string> {
    const file = path.join(this.directory, 'agent.yaml');
    await writeFile(file, stringify(agent));
    return file;
  }

  muster(sandboxes: number): Promise<Muster> {
    return Muster.open(this.configuration(sandboxes));
  }

  /** Without the variables of the tests, such as MUSTER_TEST_ALL. */
  configuration(sandboxes: number): Config {
    const flags = [{ name: '--sandboxes', path: ['pool', 'max'], value: sandboxes }];
    return loadConfig({ environment: { MUSTER_STATE_DIR: this.stateDir }, flags });
  }

  /** Kills workspaces and grading sandboxes from outside until so many of each are dead, or the signal is aborted. @returns how many of each it killed. */
  async strike(
    kinds: Readonly<Record<'workspace' | 'grading', number>>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<'workspace' | 'grading', number>>> {
    const left = { ...kinds };
    const struck = new Set<number>();
    while (!signal.aborted && (left.workspace > 0 || left.grading > 0)) {
      for (const { pid, kind } of await this.#programs()) {
        if (left[kind] === 0 || struck.has(pid) || !killAtWork(pid)) continue;
        struck.add(pid);
        left[kind] -= 1;
      }
      await sleep(systemClock, 1);
    }
    return { workspace: kinds.workspace - left.workspace, grading: kinds.grading - left.grading };
  }

  /** The programs that run commands in sandboxes of this fixture. In an agent's, a command is at work. */
  async #programs(): Promise<readonly { readonly pid: number; readonly kind: 'workspace' | 'grading' }[]> {
    const processes = listProcesses();
    const own = await Promise.all(
      listWorkspaces(this.directory).map(async ({ pid }) => {
        const below = descendantsOf(pid);
        const isActedIn = processes.some((each) => below.includes(each.pid) && each.argv.some((word) => word.includes(AT_WORK)));
        // One without files has no holder yet.
        const tests = await readdir(`/proc/${pid}/root/tests`).catch(() => []);
        return isActedIn ? [{ pid, kind: 'workspace' as const }] : tests.length > 0 ? [{ pid, kind: 'grading' as const }] : [];
      }),
    );
    return own.flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true });
  }
}

/**
 * Kills a program while a command runs below it, so that Muster waits for an answer that never comes. One without a command may be at its end already.
 *
 * @returns whether it was killed.
 */
function killAtWork(pid: number): boolean {
  // Stopped, it can neither answer nor end before it is killed.
  if (!signalled(pid, 'SIGSTOP')) return false;
  const isAtWork = descendantsOf(pid).length > 0;
  return signalled(pid, isAtWork ? 'SIGKILL' : 'SIGCONT') && isAtWork;
}

function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    // It is gone.
    return false;
  }
}

function descendantsOf(pid: number): readonly number[] {
  const children = listChildren(pid);
  return [...children, ...children.flatMap(descendantsOf)];
}
