import { Command, Option } from 'commander';
import type { Hardening, HardenTerms } from '../../../app/grading/task-hardening.ts';
import { InputError } from '../../../kernel/errors.ts';
import { escapeUnprintable } from '../../../kernel/text/printable.ts';
import { parseWholeNumber } from '../../flags/flag-values.ts';
import { formatHardening } from '../../lines/soundness-lines.ts';
import { EXIT_CODES } from '../../terminal/exit-code.ts';
import { runInterruptibly } from '../../terminal/interruption.ts';
import { announce, print, formatJson } from '../../terminal/output.ts';

export interface HardenRequest extends Omit<HardenTerms, 'onVerdict'> {
  readonly config?: string;
}

/** `muster task harden` gets this from the composition root. */
export type HardenTask = (request: HardenRequest, onVerdict: (what: string) => void, signal: AbortSignal) => Promise<Hardening>;

interface HardenFlags {
  readonly cheat?: string;
  readonly twin?: string;
  readonly name?: string;
  readonly times: number;
  readonly config?: string;
  readonly json?: true;
}

export function createTaskHardenCommand(harden: HardenTask): Command {
  return new Command('harden')
    .summary('make a submission a case of its task that stays')
    .description(
      'Copies a submission that passes for the wrong reason into the cheats/ of its task, or an honest one that should pass into twins/, and grades it. "muster task check" tries it from then on.',
    )
    .argument('<task>', 'directory of the task')
    .addOption(new Option('--cheat <directory>', 'what has to score 0; it looks like the workdir of the task, or has a solve.sh'))
    .addOption(new Option('--twin <directory>', 'what has to score 1').conflicts('cheat'))
    .option('--name <name>', 'of the case (default: the name of its directory)')
    .option('--times <count>', 'how often it is graded', parseWholeNumber, 3)
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .option('--json', 'print exactly one JSON document on stdout')
    .addHelpText('after', HELP)
    .action(async (task: string, { json, cheat, twin, ...flags }: HardenFlags) => {
      const given = cheat === undefined ? { submission: twin, role: 'twin' as const } : { submission: cheat, role: 'cheat' as const };
      const { submission, role } = given;
      if (submission === undefined)
        throw new InputError('flags.missing', 'there is neither --cheat nor --twin; expected the directory of a submission');
      process.exitCode = await hardenAndReport(harden, { ...flags, task, submission, role }, json === true);
    });
}

const HELP = `
The case stays even if it deceives the verifier: correct the verifier, then run "muster task check".

Exit codes:
  0    the cheat scores 0, or the twin 1
  1    a defect of Muster
  2    the cheat is let through, or the twin is not; or bad input: a task, submission or flag
  3    the infrastructure failed: the submission has no reward
  130  interrupted

Examples:
  muster task harden tasks/sort --cheat out/run-17 --name reads-the-stack
  muster task harden tasks/sort --twin out/run-18`;

function hardenAndReport(harden: HardenTask, request: HardenRequest, isJson: boolean): Promise<number> {
  return runInterruptibly('interrupted before the submission was graded', async (signal) => {
    const found = await harden(request, announce, signal);
    const text = isJson ? formatJson(found) : escapeUnprintable(`${formatHardening(found).join('\n')}\n`);
    await print(process.stdout, text);
    return getExitCode(found);
  });
}

function getExitCode({ trial: { finding } }: Hardening): number {
  switch (finding) {
    case 'as-expected':
      return EXIT_CODES.done;
    case 'wrong':
    case 'flaky':
      return EXIT_CODES.badInput;
    case 'unknown':
      return EXIT_CODES.infrastructure;
  }
}
