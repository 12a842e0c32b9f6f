import { Command } from 'commander';
import { type TaskCatalogue, createTaskCatalogueCommands } from './task-catalogue-commands.ts';
import { type CheckTasks, createTaskCheckCommand } from './task-check-command.ts';
import { type HardenTask, createTaskHardenCommand } from './task-harden-command.ts';
import { type ImportTasks, createTaskImportCommand } from './task-import-command.ts';

/** The subcommands of `muster task`. */
export function createTaskCommand(check: CheckTasks, harden: HardenTask, catalogue: TaskCatalogue, importTasks: ImportTasks): Command {
  const command = new Command('task')
    .summary('make, list, check and harden tasks for agents')
    .description('Makes, lists, checks and hardens tasks for agents.');
  const commands = [createTaskCheckCommand(check), createTaskHardenCommand(harden), createTaskImportCommand(importTasks)];
  for (const inner of [...createTaskCatalogueCommands(catalogue), ...commands]) command.addCommand(inner);
  return command;
}
