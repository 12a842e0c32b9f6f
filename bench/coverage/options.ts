import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { getMessage } from '../../src/kernel/errors.ts';
import { titleOf } from './scenario.ts';
import { SCENARIOS, SHORT_FORM } from './scenarios.ts';
import type { Task } from './study.ts';

export const HELP = `Simulates evaluations whose true mean is known, and counts how often the interval holds it and what that takes.

  npm run coverage-study -- [--runs N] [--only TEXT]… [--threads N] [--short] [--json FILE]

  --runs N      evaluations for each row, 2000 otherwise; ten times as many where the number of episodes is fixed
                and where approximate covers least
  --only TEXT   only rows with this text in their name; may be given several times
  --threads N   as many as there are cores otherwise; the figures do not depend on it
  --short       the few rows and evaluations of the tests
  --json FILE   where to keep the figures as well

With fewer than 2000 evaluations a target allows for what chance does in 999 of 1000 studies. The exit code is 1 when a target is missed.
`;

const FULL_RUNS = 2000;

export interface Options {
  readonly help: boolean;
  readonly tasks: readonly Task[];
  readonly threads: number;
  readonly json: string | undefined;
}

/** @returns what is wrong with the command line when something is. */
export function readOptions(args: readonly string[]): Options | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        runs: { type: 'string' },
        only: { type: 'string', multiple: true, default: [''] },
        threads: { type: 'string', default: String(availableParallelism()) },
        short: { type: 'boolean', default: false },
        json: { type: 'string' },
      },
    });
    if (values.short && values.runs !== undefined) return '--short has its own numbers of evaluations: leave --runs out';
    const [runs, threads] = [Number(values.runs ?? FULL_RUNS), Number(values.threads)];
    if (!isCount(runs)) return `--runs ${values.runs}: expected a whole number from 1 on`;
    if (!isCount(threads)) return `--threads ${values.threads}: expected a whole number from 1 on`;
    const tasks = (values.short ? shortTasks() : allTasks(runs)).filter(({ scenario }) =>
      values.only.some((text) => titleOf(scenario).includes(text)),
    );
    if (tasks.length === 0) return `--only: no row has ${values.only.map((text) => `"${text}"`).join(' or ')} in its name`;
    return { help: values.help, tasks, threads, json: values.json };
  } catch (error) {
    return getMessage(error);
  }
}

function allTasks(runs: number): Task[] {
  return SCENARIOS.map((scenario) => ({ scenario, runs: runs * (scenario.effort ?? 1) }));
}

export function shortTasks(): Task[] {
  return SCENARIOS.flatMap((scenario) => {
    const runs = SHORT_FORM.get(titleOf(scenario));
    return runs === undefined ? [] : [{ scenario, runs }];
  });
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1;
}
