import { systemClock } from '../src/kernel/clock.ts';
import { GradingFixture } from '../test/support/grading-fixture.ts';
import { KilledSandboxes } from '../test/support/killed-sandboxes.ts';
import type { Benchmark, BenchmarkContext, Check } from './benchmark.ts';
import { showSpread } from './spread.ts';
import { AT_A_TIME, CASES, compareRates, graded, hasNumpy, JSON_TASK, NUMPY_TASK, type Rates, type TimedTask } from './verdict-rates.ts';

/** Of the grading sandboxes, the share that is killed: in a quick run so many that some are. */
const DISTURBED = { full: { verdicts: 10_000, seeds: 4, share: 0.01 }, quick: { verdicts: 6, seeds: 1, share: 0.15 } };
/** Sets how many verdicts are taken while sandboxes are killed. */
export const VERDICTS_VARIABLE = 'MUSTER_BENCH_VERDICTS';
/** Taken in one measurement: what an interrupted run loses at most. */
const PART = 250;
const UNDISTURBED = 'verdicts of undisturbed sandboxes';
const nameRates = ({ name }: TimedTask): string => `verdicts a second, ${name}`;

export const verdicts: Benchmark = {
  name: 'verdicts',
  summary: `verdicts of Python tasks with ${CASES} hidden cases, beside a bubblewrap and a container for each process; and the same bytes when sandboxes are killed`,
  measurements: (quick) => [...listTasks().map(nameRates), UNDISTURBED, ...listParts(chooseDisturbance(quick)).map(({ name }) => name)],
  async run({ quick, measured }: BenchmarkContext) {
    const counts = quick ? { rounds: 1, verdicts: 2, contained: 1 } : { rounds: 3, verdicts: 20, contained: 2 };
    const rows: { readonly task: TimedTask; readonly rates: Rates }[] = [];
    for (const task of listTasks()) rows.push({ task, rates: await measured(nameRates(task), () => compareRates(task, counts)) });
    const disturbance = chooseDisturbance(quick);
    const expected = await measured(UNDISTURBED, () => undisturbed(disturbance));
    const parts: Disturbed[] = [];
    for (const part of listParts(disturbance)) parts.push(await measured(part.name, () => disturbed(part, disturbance, expected)));
    const kills = parts.reduce(addDisturbed);
    return {
      tables: [
        {
          title: 'Verdicts a second, two at a time: median and range of alternating runs',
          columns: ['task', 'Muster', 'a bubblewrap for each process', 'ratio', 'docker run for each process', 'ratio'],
          rows: rows.map(({ task, rates }) => [task.name, ...listSpreads(rates).map((each) => (each ? showSpread(each, 2) : 'no daemon'))]),
        },
        {
          title: `Verdicts while ${100 * disturbance.share} % of the grading sandboxes are killed`,
          columns: ['verdicts', 'sandboxes', 'killed', 'without a reward', 'verdicts that differ'],
          rows: [[kills.verdicts, kills.opened, kills.killed, kills.spoilt, kills.differing]],
        },
      ],
      checks: [
        ...rows.flatMap(listChecks),
        { what: 'verdicts with killed sandboxes', target: '0 that differ', measured: `${kills.differing}`, met: kills.differing === 0 },
      ],
      notes: [
        "A verdict of Muster is the generator, the golden model on each case, and the candidate on each case, one of them twice: 22 runs. Each of the candidate's is a process of its own; the golden model, which can leave nothing behind, runs on all cases in one. The candidate's sandbox is made for the verdict, that of generator and golden model serves one verdict after the other. Beside it the same 22 runs are processes with nothing around them but a bubblewrap or a container for each: their inputs are drawn and their outputs compared as well, without a limit, a verdict's evidence or another user.",
        'Both tasks sort numbers. In one of them program, golden model and candidate import NumPy, in Muster and beside it alike. The target of 20 a second is for the task without; the target of 10 times is shown for both.',
      ],
    };
  },
};

const listTasks = (): readonly TimedTask[] => (hasNumpy() ? [JSON_TASK, NUMPY_TASK] : [JSON_TASK]);

function listSpreads({ muster, plain, ratio, contained, containedRatio }: Rates): readonly Rates['contained'][] {
  return [muster, plain, ratio, contained, containedRatio];
}

function listChecks({
  task,
  rates: { muster, ratio, containedRatio },
}: {
  readonly task: TimedTask;
  readonly rates: Rates;
}): readonly Check[] {
  const what = `a verdict of ten cases, ${task.name}`;
  const times = (target: string, spread: Rates['ratio']): Check => ({
    what,
    target: `≥ 10 × ${target}`,
    measured: showSpread(spread, 2),
    met: spread.median >= 10,
  });
  return [
    ...(task === JSON_TASK ? [{ what, target: '≥ 20 a second', measured: showSpread(muster, 2), met: muster.median >= 20 }] : []),
    times('a bubblewrap for each process', ratio),
    ...(containedRatio ? [times('docker run for each process', containedRatio)] : []),
  ];
}

function chooseDisturbance(quick: boolean): Disturbance {
  const asked = process.env[VERDICTS_VARIABLE];
  if (asked !== undefined) return { ...DISTURBED.full, verdicts: Number(asked) };
  return quick ? DISTURBED.quick : DISTURBED.full;
}

const SUBMISSIONS = [JSON_TASK.solution, 'def sort_numbers(numbers):\n    return numbers\n', 'import nothing\n'];

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
  const task = await fixture.task(JSON_TASK.files);
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
  const task = await fixture.task(JSON_TASK.files);
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
