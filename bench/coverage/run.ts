import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { endOnClosedOutput } from '../../src/cli/terminal/output.ts';
import type { Check } from '../benchmark.ts';
import { showReport } from '../table-text.ts';
import { HELP, readOptions } from './options.ts';
import type { Options } from './options.ts';
import { reportOf } from './report.ts';
import { titleOf } from './scenario.ts';
import { study } from './study.ts';
import type { Row } from './study.ts';

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (typeof options === 'string') {
    process.stderr.write(`${options}; see --help\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  return await simulate(options);
}

async function simulate({ tasks, threads, json }: Options): Promise<number> {
  let done = 0;
  const onRow = ({ scenario }: Row): void => {
    done += 1;
    process.stderr.write(`${done}/${tasks.length}  ${titleOf(scenario)}\n`);
  };
  const rows = await study({ tasks, threads, onRow });
  const { user, system } = process.cpuUsage();
  const cpuSeconds = Math.round((user + system) / 1e6);
  process.stderr.write(`${cpuSeconds} s of processor time\n`);
  const report = reportOf(rows);
  process.stdout.write(`${showReport('What was simulated', report)}\n`);
  if (json !== undefined) await keep(json, rows, report.checks, cpuSeconds);
  return report.checks.every(({ met }) => met) ? 0 : 1;
}

async function keep(file: string, rows: readonly Row[], checks: readonly Check[], cpuSeconds: number): Promise<void> {
  const figures = rows.map(({ scenario, measurement }) => ({
    group: scenario.group,
    name: scenario.name,
    knownVarianceEpisodes: scenario.knownVarianceEpisodes ?? null,
    ...measurement,
  }));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify({ cpuSeconds, rows: figures, checks }, null, 2)}\n`);
}

endOnClosedOutput(process);
process.exitCode = await main();
