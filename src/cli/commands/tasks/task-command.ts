import { Command } from 'commander';
import { type TaskCatalogue, taskCatalogueCommands } from './task-catalogue-commands.ts';
import { type CheckTasks, taskCheckCommand } from './task-check-command.ts';
import { type HardenTask, taskHardenCommand } from './task-harden-command.ts';
import { type ImportTasks, taskImportCommand } from './task-import-command.ts';

/** What is done with tasks. */
export function taskCommand(check: CheckTasks, harden: HardenTask, catalogue: TaskCatalogue, importTasks: ImportTasks): Command {
  const command = new Command('task').description('Makes, lists, checks and hardens tasks for agents.');
  const commands = [taskCheckCommand(check), taskHardenCommand(harden), taskImportCommand(importTasks)];
  for (const inner of [...taskCatalogueCommands(catalogue), ...commands]) command.addCommand(inner);
  return command;
}
