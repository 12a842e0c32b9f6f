import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { digestBytes } from '../src/kernel/canonical-json.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { takeVerdict } from '../src/agents/grading/stages/take-verdict.ts';
import { omitMeasurements } from '../src/agents/verification/verdict.ts';
import type { GradingSandboxes } from '../src/agents/grading/grading-sandboxes.ts';
import type { OpenTask } from '../src/app/grading/task-grader.ts';
import { GradingFixture, SORT_TASK } from '../test/support/grading-fixture.ts';
import { KilledSandboxes } from '../test/support/killed-sandboxes.ts';
import type { Benchmark, BenchmarkContext } from './benchmark.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';

const CASES = 10;
const TASK = { ...SORT_TASK, 'muster.toml': (SORT_TASK['muster.toml'] ?? '').replace('cases = 4', `cases = ${CASES}`) };
const SOLUTION = SORT_TASK['solution/sort.py'] ?? '';
const AT_A_TIME = 2;
/** Of the grading sandboxes, the share that is killed: in a quick run so many that some are. */
const DISTURBED = { full: { verdicts: 10_000, seeds: 4, share: 0.01 }, quick: { verdicts: 6, seeds: 1, share: 0.15 } };
/** Sets how many verdicts are taken while sandboxes are killed. */
export const VERDICTS_VARIABLE = 'MUSTER_BENCH_VERDICTS';
/** Taken in one measurement: what an interrupted run loses at most. */
const PART = 250;
const [RATES, UNDISTURBED] = ['verdicts a second', 'verdicts of undisturbed sandboxes'];

export const verdicts: Benchmark = {
  name: 'verdicts',
  summary: `verdicts of a Python task with ${CASES} hidden cases, beside a plain bubblewrap for each process; and the same bytes when sandboxes are killed`,
  measurements: (quick) => [RATES, UNDISTURBED, ...listParts(chooseDisturbance(quick)).map(({ name }) => name)],
  async run({ quick, measured }: BenchmarkContext) {
    const rates = await measured(RATES, () => sideBySide(quick ? 2 : 20, quick ? 1 : 3));
    const disturbance = chooseDisturbance(quick);
    const expected = await measured(UNDISTURBED, () => undisturbed(disturbance));
    const parts: Disturbed[] = [];
    for (const part of listParts(disturbance)) parts.push(await measured(part.name, () => disturbed(part, disturbance, expected)));
    const kills = parts.reduce(addDisturbed);
    return {
      tables: [
        {
          title: 'Verdicts a second, two at a time: median and range of alternating runs',
          columns: ['Muster', 'a bubblewrap for each process', 'ratio'],
          rows: [[rates.muster, rates.plain, rates.ratio].map((spread) => showSpread(spread, 2))],
        },
        {
          title: `Verdicts while ${100 * disturbance.share} % of the grading sandboxes are killed`,
          columns: ['verdicts', 'sandboxes', 'killed', 'without a reward', 'verdicts that differ'],
          rows: [[kills.verdicts, kills.opened, kills.killed, kills.spoilt, kills.differing]],
        },
      ],
      checks: [
        { what: 'a verdict of ten cases', target: '≥ 20 a second', measured: showSpread(rates.muster, 2), met: rates.muster.median >= 20 },
        {
          what: 'a verdict of ten cases',
          target: '≥ 10 × the plain way',
          measured: showSpread(rates.ratio, 2),
          met: rates.ratio.median >= 10,
        },
        { what: 'verdicts with killed sandboxes', target: '0 that differ', measured: `${kills.differing}`, met: kills.differing === 0 },
      ],
      notes: [
        "A verdict of Muster is the generator, the golden model on each case, and the candidate on each case, one of them twice, each a process of its own: 22. The candidate's sandbox is made for the verdict, that of generator and golden model serves one verdict after the other. Beside it the same 22 processes run with nothing around them but a bubblewrap for each, and nothing is kept of what they print.",
      ],
    };
  },
};

function chooseDisturbance(quick: boolean): Disturbance {
  const asked = process.env[VERDICTS_VARIABLE];
  if (asked !== undefined) return { ...DISTURBED.full, verdicts: Number(asked) };
  return quick ? DISTURBED.quick : DISTURBED.full;
}

interface Rates {
  readonly muster: Spread;
  readonly plain: Spread;
  readonly ratio: Spread;
}

async function sideBySide(count: number, rounds: number): Promise<Rates> {
  await using fixture = await GradingFixture.open();
  const task = await fixture.task(TASK);
  const directory = await fixture.written({ ...without('environment/', TASK), 'app/sort.py': SOLUTION });
  let seeds = 0;
  const muster = (): Promise<void> => graded(fixture.grader.getSandboxes(task), task, SOLUTION, `${(seeds += 1)}`).then(() => undefined);
  const plain = (): Promise<void> => plainly(directory);
  // The first finds out what this machine can do.
  await muster();
  const rates = { muster: new Array<number>(), plain: new Array<number>() };
  for (let round = 0; round < rounds; round += 1) {
    rates.plain.push(await rateOf(plain, count));
    rates.muster.push(await rateOf(muster, count));
  }
  const ratios = rates.muster.map((rate, round) => rate / (rates.plain[round] ?? Number.NaN));
  return { muster: spreadOf(rates.muster), plain: spreadOf(rates.plain), ratio: spreadOf(ratios) };
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

/** The processes of one verdict, each in a bubblewrap of its own. */
async function plainly(directory: string): Promise<void> {
  await plainProcess(directory, '/tests/draw.py', '');
  for (let each = 0; each < CASES; each += 1) await plainProcess(directory, '/tests/golden.py', '[3, 1, 2]');
  for (let each = 0; each <= CASES; each += 1) await plainProcess(directory, '/tests/driver/main.py', '[3, 1, 2]');
}

async function plainProcess(directory: string, script: string, input: string): Promise<void> {
  const system = ['bin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]);
  const own = ['tests', 'app'].flatMap((name) => ['--ro-bind', join(directory, name), `/${name}`]);
  const walls = ['--unshare-all', '--ro-bind', '/usr', '/usr', ...system, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', ...own];
  const variables = ['--setenv', 'MUSTER_SEED', 'bench', '--setenv', 'MUSTER_CASES', `${CASES}`];
  const child = spawn('bwrap', [...walls, ...variables, '/usr/bin/python3', '-I', script], { stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin.end(input);
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${script} ended with status ${code}`);
}

function without(prefix: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).filter(([name]) => !name.startsWith(prefix)));
}

const SUBMISSIONS = [SOLUTION, 'def sort_numbers(numbers):\n    return numbers\n', 'import nothing\n'];

type Disturbance = typeof DISTURBED.full;

/** Some of the verdicts, with the numbers that they have among all. */
interface Part {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

function listParts({ verdicts: count }: Disturbance): readonly Part[] {
  return Array.from({ length: Math.ceil(count / PART) }, (_, at) => {
    const [from, to] = [at * PART, Math.min(count, (at + 1) * PART)];
    return { name: `verdicts ${from + 1} to ${to} of ${count} with killed sandboxes`, from, to };
  });
}

interface Disturbed {
  readonly verdicts: number;
  readonly opened: number;
  readonly killed: number;
  /** Without a reward: each of their attempts met a sandbox that was killed. */
  readonly spoilt: number;
  readonly differing: number;
}

function addDisturbed(one: Disturbed, other: Disturbed): Disturbed {
  return {
    verdicts: one.verdicts + other.verdicts,
    opened: one.opened + other.opened,
    killed: one.killed + other.killed,
    spoilt: one.spoilt + other.spoilt,
    differing: one.differing + other.differing,
  };
}

const listKinds = ({ seeds }: Disturbance): readonly { readonly source: string; readonly seed: string }[] =>
  SUBMISSIONS.flatMap((source) => Array.from({ length: seeds }, (_, seed) => ({ source, seed: `${seed}` })));

/** The digest of a verdict of each kind. */
async function undisturbed(disturbance: Disturbance): Promise<readonly string[]> {
  await using fixture = await GradingFixture.open();
  const task = await fixture.task(TASK);
  const expected: string[] = [];
  for (const { source, seed } of listKinds(disturbance))
    expected.push((await graded(fixture.grader.getSandboxes(task), task, source, seed)).digest);
  return expected;
}

/**
 * Takes verdicts of a few submissions again and again while sandboxes are killed, and holds each that has a reward against an undisturbed one.
 */
async function disturbed({ from, to }: Part, disturbance: Disturbance, expected: readonly string[]): Promise<Disturbed> {
  await using fixture = await GradingFixture.open();
  const task = await fixture.task(TASK);
  const kinds = listKinds(disturbance);
  const killing = new KilledSandboxes(fixture.grader.getSandboxes(task), systemClock, disturbance.share, 1 + from);
  const queue = Array.from({ length: to - from }, (_, at) => from + at).values();
  let differing = 0;
  let spoilt = 0;
  const work = async (): Promise<void> => {
    for (const at of queue) {
      const kind = kinds[at % kinds.length];
      if (!kind) continue;
      const { digest, isSpoilt } = await graded(killing, task, kind.source, kind.seed);
      if (isSpoilt) spoilt += 1;
      else if (digest !== expected[at % kinds.length]) differing += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return { verdicts: to - from, opened: killing.opened, killed: killing.killed, spoilt, differing };
}

interface Graded {
  /** Of the bytes of the verdict, without what was measured. */
  readonly digest: string;
  /** By the infrastructure, in every attempt. */
  readonly isSpoilt: boolean;
}

async function graded(sandboxes: GradingSandboxes, { task, content }: OpenTask, source: string, seed: string): Promise<Graded> {
  const [step] = task.steps;
  const submission = { files: [{ path: '/app/sort.py', content: Buffer.from(source), executable: false }], problem: undefined };
  const context = { sandboxes, clock: systemClock };
  const verdict = await takeVerdict({ task, step, content, submission, seed }, context, AbortSignal.timeout(600_000));
  return {
    digest: digestBytes(Buffer.from(JSON.stringify(omitMeasurements(verdict)))),
    isSpoilt: verdict.problem?.kind === 'infrastructure',
  };
}
