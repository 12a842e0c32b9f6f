import { Command } from 'commander';
import type { Soundness } from '../../../agents/grading/soundness.ts';
import type { CheckedTask } from '../../../faces/report/grading/graded-submission.ts';
import { escapeUnprintable } from '../../../kernel/text/printable.ts';
import { type ReportFile, reportFile } from '../report-file.ts';
import { parseWholeNumber } from '../../flags/flag-values.ts';
import { formatSoundness } from '../../lines/soundness-lines.ts';
import { EXIT_CODES } from '../../terminal/exit-code.ts';
import { runInterruptibly } from '../../terminal/interruption.ts';
import { announce, print, formatJson } from '../../terminal/output.ts';

export interface CheckRequest {
  /** Directories. */
  readonly tasks: readonly string[];
  readonly times: number;
  readonly seed?: string;
  /** Whether the findings are stored in the configured store. */
  readonly keep?: true;
  readonly config?: string;
}

/** `muster task check` gets this from the composition root. It reports each task as soon as it is checked. */
export type CheckTasks = (
  request: CheckRequest,
  listeners: { readonly onVerdict: (what: string) => void; readonly onTask: (found: CheckedTask) => Promise<void> },
  signal: AbortSignal,
) => Promise<void>;

interface CheckFlags extends Omit<CheckRequest, 'tasks'> {
  readonly json?: true;
  readonly report?: string;
}

export function createTaskCheckCommand(check: CheckTasks): Command {
  return new Command('check')
    .summary('say whether tasks are sound')
    .description(
      'Grades the submissions that each task brings along: its solution and honest twins have to score 1, nothing done and every cheat 0, the same each time.',
    )
    .argument('<task...>', 'tasks, or directories of tasks')
    .option('--times <count>', 'how often each submission is graded', parseWholeNumber, 3)
    .option(
      '--seed <text>',
      'of every verdict, which then has to be the same each time, measured figures aside (default: a new one each time)',
    )
    .option('--keep', 'store what is found, so that the arena refuses to play a task that is not sound; stop a server with SQLite before')
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .option('--report <file>', 'write a page to look at (HTML, in one file)')
    .option('--json', 'print exactly one JSON document on stdout')
    .addHelpText('after', HELP)
    .action(async (tasks: readonly string[], { json, report, ...flags }: CheckFlags) => {
      const page = report === undefined ? undefined : await reportFile(report);
      process.exitCode = await checkAndReport(check, { ...flags, tasks }, json === true, page);
    });
}

const HELP = `
Exit codes:
  0    every task is sound
  1    a defect of Muster
  2    bad input: a task cannot be read, or is not sound
  3    the infrastructure failed: a submission has no reward
  130  interrupted

Example:
  muster task check tasks --times 10 --report tasks.html
  muster task check tasks --keep --config arena.yaml`;

async function checkAndReport(check: CheckTasks, request: CheckRequest, isJson: boolean, page: ReportFile | undefined): Promise<number> {
  const found: Soundness[] = [];
  const tasks: CheckedTask[] = [];
  const onTask = async (checkedTask: CheckedTask): Promise<void> => {
    const { soundness } = checkedTask;
    found.push(soundness);
    if (page) tasks.push(checkedTask);
    if (!isJson) await print(process.stdout, escapeUnprintable(`${formatSoundness(soundness).join('\n')}\n`));
  };
  return await runInterruptibly('interrupted before all tasks were checked', async (signal) => {
    const [ended] = await Promise.allSettled([check(request, { onVerdict: announce, onTask }, signal)]);
    signal.throwIfAborted();
    // Findings are printed even when some tasks could not be checked.
    await page?.write({ kind: 'check', tasks });
    if (isJson) await print(process.stdout, formatJson(found));
    if (ended.status === 'rejected') throw ended.reason;
    return getExitCode(found);
  });
}

function getExitCode(found: readonly Soundness[]): number {
  const findings = new Set(found.flatMap(({ trials }) => trials.map(({ finding }) => finding)));
  if (findings.has('wrong') || findings.has('flaky')) return EXIT_CODES.badInput;
  if (findings.has('unknown')) return EXIT_CODES.infrastructure;
  return found.every(({ isSound }) => isSound) ? EXIT_CODES.done : EXIT_CODES.badInput;
}
