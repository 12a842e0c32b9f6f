import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { getMessage } from '../src/kernel/errors.ts';
import { Ending, watchForEnding } from '../scripts/ending.ts';
import { endOnClosedOutput } from '../src/cli/terminal/output.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { BENCHMARKS } from './all-benchmarks.ts';
import type { Benchmark } from './benchmark.ts';
import { settingsDigest } from './code-digest.ts';
import { describeMachine, showMachine } from './machine.ts';
import { MeasuringRun, type Results } from './measuring-run.ts';
import { VERDICTS_VARIABLE } from './verdicts.ts';

/** One a line, with its summary. */
async function describeBenchmarks(indent: string): Promise<string> {
  const benchmarks = await loadBenchmarks(Object.keys(BENCHMARKS));
  return benchmarks.map(({ name, summary }) => `${indent}${name.padEnd(16)} ${summary}`).join('\n');
}

async function loadBenchmarks(names: readonly string[]): Promise<readonly Benchmark[]> {
  const chosen = Object.entries(BENCHMARKS).filter(([name]) => names.includes(name));
  return Promise.all(chosen.map(async ([, load]) => load()));
}

const describeUsage = (benchmarks: string): string => `Measures how fast Muster is, side by side with the same work done without it.

  npm run bench -- [--only NAME]… [--quick] [--verdicts COUNT] [--json FILE] [--keep DIR] [--afresh]
  npm run bench -- --list

  --only NAME   one of the benchmarks below; may be given several times
  --list        prints the benchmarks below, and measures nothing
  --quick       small sizes, few repetitions: shows that everything works, not how fast it is
  --verdicts COUNT  how many verdicts the benchmark "verdicts" takes while sandboxes are killed, 1 % of them
  --json FILE   where the figures go; bench/results/DATE.json otherwise
  --keep DIR    where unfinished runs keep what they have measured; bench/results/unfinished otherwise
  --afresh      forget what an unfinished run has measured

${benchmarks}

Each figure is shown, and kept, as soon as it is measured, with the time that is left. Ctrl-C ends a run cleanly; the same command goes on
from what it has measured, as long as code, machine and MUSTER_ variables are the same.
All of it takes an hour or more; each with --quick within a minute on a quiet machine. Other work on the machine spoils the figures.
`;

interface Options {
  readonly help: boolean;
  readonly list: boolean;
  readonly quick: boolean;
  readonly afresh: boolean;
  /** Their names. */
  readonly benchmarks: readonly string[];
  readonly json: string;
  readonly keep: string;
}

async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n`);
    return 2;
  }
  if (options.help || options.list) {
    process.stdout.write(options.help ? describeUsage(await describeBenchmarks('  ')) : `${await describeBenchmarks('')}\n`);
    return 0;
  }
  using watch = watchForEnding();
  return await measureAll(options, watch.signal);
}

async function measureAll({ benchmarks: names, quick, afresh, json, keep }: Options, signal: AbortSignal): Promise<number> {
  const benchmarks = await loadBenchmarks(names);
  const machine = describeMachine();
  const results: Results = { machine, quick, reports: {}, measurements: {} };
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  say(showMachine(machine));
  if (quick) say('--quick: shows that everything works, not how fast it is');
  const settings = settingsDigest({ machine, quick });
  const run = await MeasuringRun.open({ benchmarks, quick, afresh, settings, keep, results, say, signal });
  try {
    for (const benchmark of benchmarks) await run.measure(benchmark);
  } catch (error) {
    say(`\n${error instanceof Ending ? 'interrupted' : getMessage(error)}; ${run.whatIsKept()}`);
    return error instanceof Ending ? error.exitCode : 1;
  }
  await mkdir(dirname(json), { recursive: true });
  await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
  await run.discard();
  say(`\nkept in ${json}`);
  return 0;
}

/** @returns what is wrong with the command line when something is. */
function readOptions(): Options | string {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true },
        quick: { type: 'boolean', default: false },
        afresh: { type: 'boolean', default: false },
        verdicts: { type: 'string' },
        json: { type: 'string' },
        keep: { type: 'string', default: join(PACKAGE_ROOT, 'bench/results/unfinished') },
      },
    });
    const known = Object.keys(BENCHMARKS);
    const unknown = values.only?.find((name) => !known.includes(name));
    if (unknown !== undefined) return `--only ${unknown}: expected one of ${known.join(', ')}`;
    if (values.verdicts !== undefined) {
      if (!/^[1-9]\d{0,6}$/.test(values.verdicts)) return `--verdicts ${values.verdicts}: expected a whole number from 1 to 9999999`;
      // Each benchmark runs in a process of its own, which has these variables.
      process.env[VERDICTS_VARIABLE] = values.verdicts;
    }
    const json = values.json ?? join(PACKAGE_ROOT, 'bench/results', `${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.json`);
    const { help, list, quick, afresh, keep, only = known } = values;
    return { help, list, quick, afresh, benchmarks: only, json, keep };
  } catch (error) {
    return `${getMessage(error)}; see --help`;
  }
}

endOnClosedOutput(process);
process.exitCode = await main();
