import { fork } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/kernel/errors.ts';
import { PROJECT_DIRECTORY } from '../src/providers.ts';
import { BENCHMARKS } from './all-benchmarks.ts';
import type { Report } from './benchmark.ts';
import { describeMachine, showMachine, type Machine } from './machine.ts';
import { showReport } from './table-text.ts';

const HELP = `Measures how fast Muster is, side by side with the same work done without it.

  npm run bench -- [--only NAME]… [--quick] [--json FILE]

  --only NAME   one of the benchmarks below; may be given several times
  --quick       small sizes, few repetitions: shows that everything works, not how fast it is
  --json FILE   where the figures go; bench/results/DATE.json otherwise

${BENCHMARKS.map(({ name, summary }) => `  ${name.padEnd(16)} ${summary}`).join('\n')}

All of it takes about half an hour. Other work on the machine spoils the figures.
`;

interface Results {
  readonly machine: Machine;
  readonly quick: boolean;
  readonly reports: Record<string, Report>;
}

async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const results: Results = { machine: describeMachine(), quick: options.quick, reports: {} };
  process.stdout.write(`${showMachine(results.machine)}\n`);
  for (const name of options.names) {
    const report = await reportOf(name, options.quick);
    results.reports[name] = report;
    process.stdout.write(`\n${showReport(name, report)}\n`);
  }
  await mkdir(dirname(options.json), { recursive: true });
  await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
  process.stdout.write(`\nkept in ${options.json}\n`);
  return 0;
}

interface Options {
  readonly help: boolean;
  readonly quick: boolean;
  readonly names: readonly string[];
  readonly json: string;
}

/** @returns what is wrong with the command line when something is. */
function readOptions(): Options | string {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true },
        quick: { type: 'boolean', default: false },
        json: { type: 'string' },
      },
    });
    const known = BENCHMARKS.map(({ name }) => name);
    const unknown = values.only?.find((name) => !known.includes(name));
    if (unknown !== undefined) return `--only ${unknown}: expected one of ${known.join(', ')}`;
    const json =
      values.json ?? join(PROJECT_DIRECTORY, 'bench/results', `${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.json`);
    return { help: values.help, quick: values.quick, names: values.only ?? known, json };
  } catch (error) {
    return `${messageOf(error)}; see --help`;
  }
}

function isReport(message: unknown): message is Report {
  return typeof message === 'object' && message !== null && 'tables' in message && 'checks' in message && 'notes' in message;
}

/** @throws Error when the benchmark's process ends without a report. */
async function reportOf(name: string, quick: boolean): Promise<Report> {
  const { promise, resolve, reject } = Promise.withResolvers<Report>();
  const child = fork(join(PROJECT_DIRECTORY, 'bench/one-benchmark.ts'), [name, ...(quick ? ['--quick'] : [])]);
  let report: Report | undefined;
  child.on('message', (message) => {
    if (isReport(message)) report = message;
  });
  child.once('error', reject);
  child.once('exit', (code, signal) => {
    if (report && code === 0) resolve(report);
    else reject(new Error(`benchmark ${name} ended with ${signal ?? `code ${code}`}`));
  });
  return promise;
}

process.exitCode = await main();
