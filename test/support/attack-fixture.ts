import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { exportSubmission } from '../../src/agents/grading/export-submission.ts';
import { layWorkdir } from '../../src/agents/grading/lay-workdir.ts';
import type { WorkspaceFile } from '../../src/agents/workspace/command.ts';
import type { OpenTask } from '../../src/app/grading/task-grader.ts';
import { findToolMount } from '../../src/app/grading/tool-mount.ts';
import type { Verdict } from '../../src/agents/verification/verdict.ts';
import type { Attack } from '../agents/attacks/catalogue/attack.ts';
import { SOLVED, taskOf } from '../agents/attacks/catalogue/kinds.ts';
import { type FileContents, type FilesByPath, GradingFixture, writeFiles } from './grading-fixture.ts';
import { shell, WorkspaceFixture } from './workspace-fixture.ts';
import { openCluster, openHere, type WorkspacePlace } from './workspace-places.ts';

/** Tests as they are often written: they import the candidate, and the status of their process is the verdict. */
const NAIVE_TESTS: FilesByPath = {
  'test.sh': '#!/bin/bash\ncd /app\nif python3 -m unittest discover -s /tests; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n',
  'test_sort.py': `import sys, unittest
sys.path.insert(0, "/app")
class Sorting(unittest.TestCase):
    def test_sorts(self):
        from sort import sort_numbers
        numbers = [3, 1, 2]
        expected = sorted(numbers)
        self.assertEqual(sort_numbers(numbers), expected)
`,
};
/** Judges in the agent's own sandbox, after the agent; of two rewards the first that Harbor looks for. */
const VERIFY =
  'mkdir -p /logs/verifier; cp -r /hidden/. /tests/; sleep .2; timeout 20 /tests/test.sh >/dev/null 2>&1; sleep .3; cat /logs/verifier/reward.json 2>/dev/null || cat /logs/verifier/reward.txt';
const ENVIRONMENT = 'environment/';
const WALLS = {
  forked: { provider: 'bubblewrap', start: 'forked', place: () => openHere({ start: 'forked' }) },
  plain: { provider: 'bubblewrap', start: 'plain', place: () => openHere({ start: 'plain' }) },
  gvisor: { provider: 'gvisor', start: 'plain', place: () => openHere({ provider: 'gvisor' }) },
  kubernetes: { provider: 'kubernetes', start: 'plain', place: openCluster },
} as const;
/** More than any honest run uses. */
const GENEROUS_SECONDS = 20;
/** Honest runs whose processor time is the bound of a calibrated attack. On a busy machine a run uses up to twice as much as on an idle one. */
const HONEST_RUNS = 4;
const soon = (): AbortSignal => AbortSignal.timeout(120_000);

/** Workspaces for attackers, naive verifiers, and ours. */
export class AttackFixture implements AsyncDisposable {
  readonly #workspaces: WorkspaceFixture;
  readonly #start: 'forked' | 'plain';
  readonly #grading: GradingFixture;
  readonly #place: WorkspacePlace;

  private constructor(workspaces: WorkspaceFixture, start: 'forked' | 'plain', grading: GradingFixture, place: WorkspacePlace) {
    this.#workspaces = workspaces;
    this.#start = start;
    this.#grading = grading;
    this.#place = place;
  }

  /** @param wall of all sandboxes: those that agents work in, naive verifiers among them, and those that grade. */
  static async open(wall: keyof typeof WALLS): Promise<AttackFixture> {
    const { provider, start, place } = WALLS[wall];
    const opened = await place();
    const grading = await GradingFixture.open({ MUSTER_TEMPLATES__LOCAL: JSON.stringify(opened.template) });
    return new AttackFixture(await WorkspaceFixture.open(provider), start, grading, opened);
  }

  /** Returns the attack with bounds of processor time that suit this machine, this wall and the present load. */
  async calibrated(attack: Attack): Promise<Attack> {
    if (!attack.isCalibrated) return attack;
    const { evidence } = await this.verdict(await this.task(withBound(attack, GENEROUS_SECONDS)), attack.twin);
    const used = evidence.flatMap((each) =>
      each.stage === 'execute' && each.kind === 'cases' ? each.cases.flatMap(({ runs }) => runs) : [],
    );
    const honest = Math.max(...used.map(({ cpuSeconds }) => cpuSeconds ?? Number.NaN));
    if (!(honest > 0)) throw new Error(`the honest twin was measured at ${honest} s of a processor`);
    return withBound(attack, HONEST_RUNS * honest);
  }

  /** The task that the attack is made against. */
  async task({ against = 'cases', task = {}, naive = {} }: Attack): Promise<OpenTask> {
    const tests = against === 'script' ? belowDirectory('tests/', { ...NAIVE_TESTS, ...naive }) : {};
    return await this.#grading.task({ ...(await taskOf(against)), ...tests, ...task });
  }

  /** What a verifier says that runs in the agent's own sandbox. */
  async naiveReward(attack: Attack): Promise<string> {
    const { against = 'cases', files, script = ':', naive = {}, task = {} } = attack;
    const found = Object.entries({ ...(await taskOf(against)), ...task }).filter(([name]) => name.startsWith(ENVIRONMENT));
    const workdir = Object.fromEntries(found.map(([name, content]) => [name.slice(ENVIRONMENT.length), content]));
    const places = { app: { ...workdir, ...files }, hidden: { ...NAIVE_TESTS, ...naive } };
    if (attack.isOnline) return await this.#onlineReward(places, script);
    const { sandbox, session } = await this.#workspaces.workspace({
      start: this.#start,
      writable: ['/app', '/tests', '/logs', '/hidden'],
      // Into a pod it is sent, file by file.
      mounts: against === 'derived' ? [await findToolMount('pytest')] : [],
    });
    await session.put([...filesAt('/app', places.app), ...filesAt('/hidden', places.hidden)], soon());
    await shell(session, 'mkdir -p .git/refs');
    const result = await shell(session, `${script}\n${VERIFY}`, { seconds: 90 });
    await sandbox.destroy();
    return lastLine(result.stdout.head.toString());
  }

  /** The same where the sandbox reaches the network, and an index there that has the solution. */
  async #onlineReward(places: Readonly<Record<'app' | 'hidden', FileContents>>, script: string): Promise<string> {
    await using index = await solutionIndex();
    const directory = await this.#grading.written({});
    for (const [name, files] of Object.entries(places)) await writeFiles(path.join(directory, name), atIndex(files, index.address));
    const binds = ['app', 'hidden', 'tests', 'logs'].flatMap((name) => ['--bind', path.join(directory, name), `/${name}`]);
    for (const name of ['tests', 'logs']) await mkdir(path.join(directory, name));
    const system = ['bin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]);
    const walls = ['--ro-bind', '/usr', '/usr', ...system, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', ...binds];
    const command = ['/bin/sh', '-c', `${script.replaceAll('{index}', index.address)}\n${VERIFY}`];
    const { stdout } = await promisify(execFile)('bwrap', [...walls, '--unshare-pid', '--die-with-parent', '--chdir', '/app', ...command]);
    return lastLine(stdout);
  }

  /** What we say: the artifacts are exported, and graded elsewhere. */
  async verdict(
    { task, content }: OpenTask,
    { files, script }: { readonly files: FilesByPath; readonly script?: string },
  ): Promise<Verdict> {
    // An index that this machine reaches and the sandbox must not.
    await using index = await solutionIndex();
    const { sandbox, session } = await this.#workspaces.workspace({ start: this.#start, writable: ['/app', '/tests', '/logs'] });
    await layWorkdir(session, { task, content }, { sandboxes: this.#grading.grader.getSandboxes({ task, content }) }, soon());
    await session.put(filesAt('/app', atIndex(files, index.address)), soon());
    if (script !== undefined) await shell(session, script.replaceAll('{index}', index.address));
    const [step] = task.steps;
    const submission = await exportSubmission(session, step.artifacts, soon());
    await sandbox.destroy();
    const { verdict } = await this.#grading.grader.grade({ task, content }, step, submission, {}, soon());
    expectUnasked(index);
    return verdict;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#grading[Symbol.asyncDispose]();
    await this.#place[Symbol.asyncDispose]();
    await this.#workspaces[Symbol.asyncDispose]();
  }
}

interface SolutionIndex extends AsyncDisposable {
  readonly address: string;
  readonly asked: () => number;
}

/** Serves the solution to all who reach this machine. */
async function solutionIndex(): Promise<SolutionIndex> {
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.end(SOLVED);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the index listens on no port');
  return {
    address: `http://127.0.0.1:${address.port}`,
    asked: () => asked,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

function expectUnasked({ asked }: SolutionIndex): void {
  if (asked() > 0) throw new Error(`the candidate reached the network ${asked()} times`);
}

function atIndex(files: FilesByPath, address: string): FilesByPath;
function atIndex(files: FileContents, address: string): FileContents;
function atIndex(files: FileContents, address: string): FileContents {
  const placed = ([name, content]: readonly [string, string | Uint8Array]): readonly [string, string | Uint8Array] => [
    name,
    typeof content === 'string' ? content.replaceAll('{index}', address) : content,
  ];
  return Object.fromEntries(Object.entries(files).map(placed));
}

function withBound({ files, naive = {}, task = {}, ...attack }: Attack, seconds: number): Attack {
  const bound = <Content extends string | Uint8Array>(given: Readonly<Record<string, Content>>): Record<string, Content | string> =>
    Object.fromEntries(
      Object.entries(given).map(([name, content]) => [
        name,
        typeof content === 'string'
          ? content.replaceAll('{bound}', seconds.toFixed(3)).replaceAll('{beyond}', (2 * seconds).toFixed(3))
          : content,
      ]),
    );
  return { ...attack, files: bound(files), naive: bound(naive), task: bound(task) };
}

function belowDirectory(directory: string, files: FilesByPath): FilesByPath {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${directory}${name}`, text]));
}

function filesAt(directory: string, files: FileContents): readonly WorkspaceFile[] {
  return Object.entries(files).map(([name, content]) => ({
    path: `${directory}/${name}`,
    content: Buffer.from(content),
    executable: typeof content === 'string' && content.startsWith('#!'),
  }));
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
