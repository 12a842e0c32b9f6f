import { Command, Option } from 'commander';
import { type TaskCatalogue, createTaskCatalogueCommands } from './task-catalogue-commands.ts';
import { type CheckTasks, createTaskCheckCommand } from './task-check-command.ts';
import { type HardenTask, createTaskHardenCommand } from './task-harden-command.ts';
import type { ImportedTask, ImportTerms } from '../../../app/tasks/task-import.ts';
import { escapeUnprintableLine } from '../../../kernel/text/printable.ts';
import { parseWholeNumber } from '../../flags/flag-values.ts';
import { addNeededOption } from '../../flags/needed-option.ts';
import { formatNotice } from '../../terminal/error-report.ts';
import { EXIT_CODES } from '../../terminal/exit-code.ts';
import { print } from '../../terminal/output.ts';

/** Creates the subcommands of `muster task`. */
export function createTaskCommand(check: CheckTasks, harden: HardenTask, catalogue: TaskCatalogue, importTasks: ImportTasks): Command {
  const command = new Command('task')
    .summary('make, list, check and harden tasks for agents')
    .description('Makes, lists, checks and hardens tasks for agents.');
  const commands = [createTaskCheckCommand(check), createTaskHardenCommand(harden), createTaskImportCommand(importTasks)];
  for (const inner of [...createTaskCatalogueCommands(catalogue), ...commands]) command.addCommand(inner);
  return command;
}

/** `muster task import` gets this from the composition root. */
type ImportTasks = (terms: ImportTerms) => AsyncIterable<ImportedTask>;

interface ImportFlags {
  readonly out: string;
  readonly only?: readonly string[];
  readonly limit?: number;
}

function createTaskImportCommand(importTasks: ImportTasks): Command {
  const command = new Command('import')
    .summary('make tasks of the rows of a dataset')
    .description(
      'Makes a task of each row of SWE-bench, SWE-smith or R2E-Gym: image, issue, pinned tests, and the gold patch as the oracle. A dataset of Harbor needs no import.',
    )
    .argument('<rows>', 'the dataset: a JSON list, or JSON Lines')
    .option('--only <ids...>', 'rows with these instance ids, or of R2E-Gym these commits, only')
    .option('--limit <count>', 'so many rows at most', parseWholeNumber)
    .addHelpText('after', HELP)
    .action(async (rows: string, flags: ImportFlags) => {
      process.exitCode = await importAndReport(importTasks({ rows, ...flags }));
    });
  return addNeededOption(command, new Option('-o, --out <directory>', 'where the directories of the tasks are made'));
}

const HELP = `
A row is left out, with the reason, when its tests are not pytest's or it has no issue.

Exit codes:
  0    at least one task was made
  2    bad input: a file, a row or a flag; or no row gave a task

Example:
  muster task import swe-bench-verified.jsonl --out tasks/swe --only astropy__astropy-12907`;

async function importAndReport(tasks: AsyncIterable<ImportedTask>): Promise<number> {
  let made = 0;
  for await (const { name, directory, refusal } of tasks) {
    if (directory === null)
      await print(process.stderr, formatNotice(`${escapeUnprintableLine(name)} is left out: ${escapeUnprintableLine(refusal)}`));
    else {
      made += 1;
      await print(process.stdout, `${directory}\n`);
    }
  }
  return made > 0 ? EXIT_CODES.done : EXIT_CODES.badInput;
}
