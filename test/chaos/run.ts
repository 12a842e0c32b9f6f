import { parseArgs } from 'node:util';
import path from 'node:path';
import { systemClock } from '../../src/kernel/clock.ts';
import { getMessage } from '../../src/kernel/errors.ts';
import { tellStillRunning } from '../../scripts/still-running.ts';
import { endOnClosedOutput } from '../../src/cli/terminal/output.ts';
import { REPOSITORY } from '../end-to-end/stage.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { planChaos } from './chaos-plan.ts';
import { chaos, answerUndisturbed, type ChaosReport } from './chaos.ts';

const HELP = `Kills Muster and its sandboxes again and again, and holds every answer against those of an undisturbed run.

  npm run chaos -- [--seed N] [--evaluations N] [--kills N] [--sandboxes SHARE] [--postgres] [--musters N]

  --seed N           of what is asked for and of every moment (1); another one is another run
  --evaluations N    50 unless set
  --kills N          SIGKILLs of "muster serve" (20)
  --sandboxes SHARE  of the sandboxes that are killed from outside (0.3)
  --postgres         Musters share a PostgreSQL, which is started for it, and take over from one another
  --musters N        how many share it (3)

Exit code 1 when an answer differs or anything is left behind.
`;

interface Options {
  readonly seed: number;
  readonly evaluations: number;
  readonly kills: number;
  readonly sandboxes: number;
  readonly musters: number;
  readonly postgres: boolean;
}

/** @returns what to print when nothing is to be run. */
function readOptions(): Options | { readonly text: string; readonly exitCode: number } {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        seed: { type: 'string', default: '1' },
        evaluations: { type: 'string', default: '50' },
        kills: { type: 'string', default: '20' },
        sandboxes: { type: 'string', default: '0.3' },
        musters: { type: 'string', default: '3' },
        postgres: { type: 'boolean', default: false },
      },
    });
    if (values.help) return { text: HELP, exitCode: 0 };
    const { postgres } = values;
    const sandboxes = Number(values.sandboxes);
    if (!(sandboxes >= 0 && sandboxes <= 1)) throw new Error(`--sandboxes: expected a share from 0 to 1, got ${values.sandboxes}`);
    const whole = (name: 'seed' | 'evaluations' | 'kills' | 'musters'): number => {
      if (/^\d{1,6}$/.test(values[name])) return Number(values[name]);
      throw new Error(`--${name}: expected a whole number, got ${values[name]}`);
    };
    return {
      seed: whole('seed'),
      evaluations: whole('evaluations'),
      kills: whole('kills'),
      musters: whole('musters'),
      sandboxes,
      postgres,
    };
  } catch (error) {
    return { text: `${getMessage(error)}; see --help\n`, exitCode: 2 };
  }
}

function show({ evaluations, episodes, kills, sandboxes, resumed, takeovers, wrong }: ChaosReport): string {
  const slowest = Math.max(...takeovers.map(({ seconds }) => seconds));
  return [
    `${evaluations} evaluations, ${episodes} episodes; ${resumed} evaluations went on with what a killed Muster had stored`,
    `Muster killed ${kills.playing} times while it played, ${kills.accepting} while it accepted, ${kills.starting} while it started`,
    `${sandboxes.killed} of ${sandboxes.seen} sandboxes killed`,
    ...(takeovers.length === 0 ? [] : [`${takeovers.length} times another Muster took over, within ${slowest.toFixed(1)} s`]),
    wrong.length === 0 ? 'every official result is the same byte for byte, and nothing is left behind' : `WRONG:\n${wrong.join('\n')}`,
  ].join('\n');
}

async function main(): Promise<number> {
  const options = readOptions();
  if ('text' in options) {
    (options.exitCode === 0 ? process.stdout : process.stderr).write(options.text);
    return options.exitCode;
  }
  const { seed, evaluations, kills, sandboxes, musters } = options;
  const checkpoints = path.join(REPOSITORY, 'examples/game/checkpoints');
  const plan = planChaos(
    { seed, evaluations, kills, sandboxShare: sandboxes, episodes: [100, 600], halfWidths: [15, 20, 30] },
    checkpoints,
  );
  const start = systemClock.now();
  const say = (text: string): boolean =>
    process.stderr.write(`${((systemClock.now() - start) / 1000).toFixed(0).padStart(5)} s  ${text}\n`);
  await using postgres = options.postgres ? await PostgresServer.start() : undefined;
  say(`playing ${evaluations} evaluations undisturbed, then again under kills`);
  using _beats = tellStillRunning(() => say('still running'));
  const undisturbed = await answerUndisturbed(plan);
  say(`undisturbed: ${undisturbed.size} evaluations`);
  const report = await chaos({ plan, undisturbed, say, ...(postgres ? { shared: { postgres, musters } } : {}) });
  process.stdout.write(`${show(report)}\n`);
  return report.wrong.length === 0 ? 0 : 1;
}

endOnClosedOutput(process);
process.exitCode = await main();
