import { Command } from 'commander';
import { type TaskCatalogue, taskCatalogueCommands } from './task-catalogue-commands.ts';
import { type CheckTasks, taskCheckCommand } from './task-check-command.ts';
import { type ImportTasks, taskImportCommand } from './task-import-command.ts';

/** What is done with tasks. */
export function taskCommand(check: CheckTasks, catalogue: TaskCatalogue, importTasks: ImportTasks): Command {
  const command = new Command('task').description('Makes, lists and checks tasks for agents.');
  for (const inner of [...taskCatalogueCommands(catalogue), taskCheckCommand(check), taskImportCommand(importTasks)])
    command.addCommand(inner);
  return command;
}
