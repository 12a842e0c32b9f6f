import { join } from 'node:path';
import { Command } from 'commander';
import type { Task } from '../../../agents/tasks/task.ts';
import type { ListedTask } from '../../../app/tasks/task-catalogue.ts';
import { formatTask, formatTaskList } from '../../lines/task-lines.ts';
import { formatNotice } from '../../terminal/error-report.ts';
import { print, formatJson } from '../../terminal/output.ts';

/** What the commands on directories of tasks need from the composition root. */
export interface TaskCatalogue {
  readonly create: (directory: string) => Promise<Task>;
  readonly list: (directory: string) => Promise<readonly ListedTask[]>;
  readonly show: (directory: string) => Promise<Task>;
}

interface JsonFlag {
  readonly json?: true;
}

/** Creates `new`, `list` and `show`. None of them runs anything of a task. */
export function createTaskCatalogueCommands(tasks: TaskCatalogue): readonly Command[] {
  return [createNewCommand(tasks), createListCommand(tasks), createShowCommand(tasks)];
}

function createNewCommand({ create }: TaskCatalogue): Command {
  return new Command('new')
    .summary('write a small task to begin with')
    .description(
      'Writes a small task that is sound: instruction, stages, generator, golden model, solution, a cheat and an honest twin. Change it into yours.',
    )
    .argument('<directory>', 'a new directory; its name is the name of the task')
    .addHelpText('after', '\nExample:\n  muster task new tasks/parse-dates && muster task check tasks/parse-dates')
    .action(async (directory: string) => {
      const { files } = await create(directory);
      const paths = files.map(({ path }) => join(directory, path)).toSorted();
      await print(process.stdout, `${paths.join('\n')}\n`);
      await print(process.stderr, formatNotice(`change it into your task, then check it: muster task check ${directory}`));
    });
}

function createListCommand({ list }: TaskCatalogue): Command {
  return new Command('list')
    .summary('list the tasks in a directory')
    .description('Lists the tasks in a directory, with what judges them, and says why a directory cannot be read as one.')
    .argument('<directory>', 'a task, or a directory of tasks')
    .option('--json', 'print exactly one JSON document on stdout')
    .addHelpText('after', '\nExample:\n  muster task list examples/code')
    .action(async (directory: string, { json }: JsonFlag) => {
      const found = await list(directory);
      await print(process.stdout, json ? formatJson(found) : `${formatTaskList(found).join('\n')}\n`);
    });
}

function createShowCommand({ show }: TaskCatalogue): Command {
  return new Command('show')
    .summary('say what a task holds')
    .description('Prints what an agent is given, what it has to leave behind, how that is judged, and the digest that names all of it.')
    .argument('<task>', 'directory of the task')
    .option('--json', 'print exactly one JSON document on stdout')
    .addHelpText('after', '\nExample:\n  muster task show examples/code/fix-bug-in-sort-function')
    .action(async (directory: string, { json }: JsonFlag) => {
      const task = await show(directory);
      await print(process.stdout, json ? formatJson(task) : `${formatTask(task).join('\n')}\n`);
    });
}
