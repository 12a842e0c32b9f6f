import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { takeVerdict } from '../src/agents/grading/stages/take-verdict.ts';
import type { GradingSandboxes } from '../src/agents/grading/grading-sandboxes.ts';
import { omitMeasurements } from '../src/agents/verification/verdict.ts';
import type { OpenTask } from '../src/app/grading/task-grader.ts';
import { digestBytes } from '../src/kernel/canonical-json.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { daemonUnavailable, DockerDaemon, EMPTY_IMAGE } from '../test/support/docker/docker-daemon.ts';
import { GradingFixture, SORT_TASK } from '../test/support/grading-fixture.ts';
import { type Spread, spreadOf } from './spread.ts';

export const CASES = 10;
export const AT_A_TIME = 2;
/** Verdicts that Muster takes for each one with a bubblewrap for every process, so that neither is timed for more than twice as long as the other. */
const PER_PLAIN = 3;
const PYTHON = '/usr/bin/python3';

/** A task whose verdicts are timed. */
export interface TimedTask {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly solution: string;
}

const FILES = { ...SORT_TASK, 'muster.toml': (SORT_TASK['muster.toml'] ?? '').replace('cases = 4', `cases = ${CASES}`) };

/** Its programs import `json`, and little besides. */
export const JSON_TASK: TimedTask = { name: 'imports json', files: FILES, solution: SORT_TASK['solution/sort.py'] ?? '' };

/** The same with NumPy. */
export const NUMPY_TASK: TimedTask = {
  name: 'imports NumPy',
  files: {
    ...FILES,
    'tests/driver/main.py': `import json, sys
import numpy
numbers = numpy.array(json.load(sys.stdin))
sys.path.insert(0, "/app")
from sort import sort_numbers
print(json.dumps(sort_numbers(numbers).tolist()))
`,
    'tests/golden.py': `import json, sys
import numpy
print(json.dumps(numpy.sort(numpy.array(json.load(sys.stdin))).tolist()))
`,
  },
  solution: 'import numpy\n\n\ndef sort_numbers(numbers):\n    return numpy.sort(numbers)\n',
};

/** Whether this machine's Python has NumPy. */
export function hasNumpy(): boolean {
  return spawnSync(PYTHON, ['-I', '-c', 'import numpy']).status === 0;
}

/** Verdicts a second. */
export interface Rates {
  readonly muster: Spread;
  /** With a bubblewrap for each process, and how many times as many Muster takes. */
  readonly plain: Spread;
  readonly ratio: Spread;
  /** The same with `docker run`, where a daemon can be started. */
  readonly contained?: Spread;
  readonly containedRatio?: Spread;
}

interface Counts {
  readonly rounds: number;
  /** In each round. */
  readonly verdicts: number;
  /** Of containers, each of which takes long. */
  readonly contained: number;
}

/** The ways in turns. */
export async function compareRates({ files, solution }: TimedTask, { rounds, verdicts, contained }: Counts): Promise<Rates> {
  await using fixture = await GradingFixture.open();
  await using daemon = (await daemonUnavailable()) === undefined ? await DockerDaemon.start() : undefined;
  const task = await fixture.task(files);
  const own = Object.entries(files).filter(([name]) => !name.startsWith('environment/'));
  const directory = await fixture.written({ ...Object.fromEntries(own), 'app/sort.py': solution });
  let seeds = 0;
  const muster = async (): Promise<void> => {
    const { reward } = await graded(fixture.grader.getSandboxes(task), task, solution, `${(seeds += 1)}`);
    if (reward !== 1) throw new Error(`the solution got ${reward}, expected 1`);
  };
  // The first finds out what this machine can do.
  await muster();
  const rates = { muster: new Array<number>(), plain: new Array<number>(), contained: new Array<number>() };
  for (let round = 0; round < rounds; round += 1) {
    rates.plain.push(await rateOf(() => oneByOne((process) => inBubblewrap(directory, process)), verdicts));
    rates.muster.push(await rateOf(muster, verdicts * PER_PLAIN));
    if (daemon) rates.contained.push(await rateOf(() => oneByOne((process) => inContainer(daemon.socket, directory, process)), contained));
  }
  const timesAsMany = (others: readonly number[]): Spread =>
    spreadOf(others.map((other, round) => (rates.muster[round] ?? Number.NaN) / other));
  return {
    muster: spreadOf(rates.muster),
    plain: spreadOf(rates.plain),
    ratio: timesAsMany(rates.plain),
    ...(daemon ? { contained: spreadOf(rates.contained), containedRatio: timesAsMany(rates.contained) } : {}),
  };
}

async function rateOf(one: () => Promise<void>, count: number): Promise<number> {
  const start = performance.now();
  const queue = Array.from({ length: count }, (_, at) => at).values();
  const work = async (): Promise<void> => {
    for (const _ of queue) await one();
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return (1000 * count) / (performance.now() - start);
}

interface PlainProcess {
  readonly script: string;
  readonly input: string;
}

/** Runs the processes of one verdict: it draws inputs, and compares the candidate's output with the golden model's. One case runs twice. */
async function oneByOne(run: (process: PlainProcess) => Promise<string>): Promise<void> {
  const drawn = await run({ script: '/tests/draw.py', input: '' });
  const inputs = drawn.trim().split('\n').map(readInput);
  const expected: string[] = [];
  for (const input of inputs) expected.push(await run({ script: '/tests/golden.py', input }));
  for (const [at, input] of [...inputs.entries(), ...inputs.slice(0, 1).map((first) => [0, first] as const)]) {
    const printed = await run({ script: '/tests/driver/main.py', input });
    if (printed !== expected[at]) throw new Error(`the solution printed ${printed} for ${input}, expected ${expected[at]}`);
  }
}

const caseSchema = z.object({ stdin: z.string() });
const readInput = (line: string): string => caseSchema.parse(JSON.parse(line)).stdin;

const VARIABLES = { MUSTER_SEED: 'bench', MUSTER_CASES: `${CASES}` };
const OWN = ['tests', 'app'];

async function inBubblewrap(directory: string, process: PlainProcess): Promise<string> {
  const system = ['bin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]);
  // Where Debian says which BLAS NumPy has.
  const chosen = ['--ro-bind-try', '/etc/alternatives', '/etc/alternatives'];
  const tests = ['--ro-bind', join(directory, 'tests'), '/tests'];
  // Nothing of one run may be left for the next, as in Muster.
  const own = ['/dev/shm', '/logs', '/app'].flatMap((path) => ['--tmpfs', path]);
  const candidate = ['--ro-bind', join(directory, 'app/sort.py'), '/app/sort.py'];
  const walls = ['--unshare-all', '--ro-bind', '/usr', '/usr', ...chosen, ...system, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'];
  const variables = Object.entries(VARIABLES).flatMap(([name, value]) => ['--setenv', name, value]);
  return await plainProcess('bwrap', [...walls, ...tests, ...own, ...candidate, ...variables], process);
}

async function inContainer(socket: string, directory: string, process: PlainProcess): Promise<string> {
  const shown = ['/usr', '/etc/alternatives'].flatMap((path) => ['--volume', `${path}:${path}:ro`]);
  const own = OWN.flatMap((name) => ['--volume', `${join(directory, name)}:/${name}:ro`]);
  const variables = Object.entries(VARIABLES).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const options = ['--rm', '--interactive', '--network', 'none', ...shown, ...own, ...variables];
  return await plainProcess('docker', ['--host', `unix://${socket}`, 'run', ...options, EMPTY_IMAGE], process);
}

async function plainProcess(program: string, around: readonly string[], { script, input }: PlainProcess): Promise<string> {
  const child = spawn(program, [...around, PYTHON, '-I', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(input);
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`${script} in ${program} ended with status ${code}`);
  return printed;
}

interface Graded {
  readonly reward: number | null;
  /** Of the bytes of the verdict, without what was measured. */
  readonly digest: string;
  /** By the infrastructure, in every attempt. */
  readonly isSpoilt: boolean;
}

export async function graded(sandboxes: GradingSandboxes, { task, content }: OpenTask, source: string, seed: string): Promise<Graded> {
  const [step] = task.steps;
  const submission = { files: [{ path: '/app/sort.py', content: Buffer.from(source), executable: false }], problem: undefined };
  const context = { sandboxes, clock: systemClock };
  const verdict = await takeVerdict({ task, step, content, submission, seed }, context, AbortSignal.timeout(600_000));
  return {
    reward: verdict.reward,
    digest: digestBytes(Buffer.from(JSON.stringify(omitMeasurements(verdict)))),
    isSpoilt: verdict.problem?.kind === 'infrastructure',
  };
}
