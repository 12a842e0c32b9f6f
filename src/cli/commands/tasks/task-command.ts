import { Command } from 'commander';
import { type CheckTasks, taskCheckCommand } from './task-check-command.ts';

/** What is done with tasks. */
export function taskCommand(check: CheckTasks): Command {
  return new Command('task').description('Checks tasks for agents.').addCommand(taskCheckCommand(check));
}
