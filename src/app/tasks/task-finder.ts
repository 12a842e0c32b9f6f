import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isTaskId } from '../../agents/tasks/task-ids.ts';
import type { Task } from '../../agents/tasks/task.ts';
import { InputError } from '../../kernel/errors.ts';
import { openTask, type OpenTask } from '../grading/task-grader.ts';
import { listTasks, type ListedTask } from './task-catalogue.ts';

/**
 * Finds a task in directories that are tasks or hold tasks. It is read again each time, so that an episode plays the present task. A directory with
 * the name of the task is tried first; others are read only if that is not it.
 *
 * @param name of the task: its id, or the name of its directory. @returns undefined when there is none. @throws InputError when it exists and cannot
 * be read as a task.
 */
export async function findTask(directories: readonly string[], name: string): Promise<OpenTask | undefined> {
  if (!isTaskId(name)) return undefined;
  const last = name.split('/').at(-1) ?? name;
  for (const directory of directories) {
    for (const place of [directory, join(directory, last)]) {
      if (basename(place) !== last || !(await isTask(place))) continue;
      const open = await openTask(place);
      if (open.task.id === name || last === name) return open;
    }
  }
  for (const directory of directories) {
    const found = (await listTasksIfAny(directory)).find(({ task }) => task?.id === name);
    if (found) return await openTask(found.directory);
  }
  return undefined;
}

/** Lists the tasks of all directories, without those that cannot be read. Of two with the same id the first counts, as in `findTask`. */
export async function listReadableTasks(directories: readonly string[]): Promise<readonly Task[]> {
  const found = new Map<string, Task>();
  for (const directory of directories)
    for (const { task } of await listTasksIfAny(directory)) if (task && !found.has(task.id)) found.set(task.id, task);
  return [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** A directory that is not there has no tasks: the server says so to its operator, who alone can correct that. */
async function listTasksIfAny(directory: string): Promise<readonly ListedTask[]> {
  return listTasks(directory).catch((error: unknown) => {
    if (error instanceof InputError && error.code === 'task.missing') return [];
    throw error;
  });
}

async function isTask(directory: string): Promise<boolean> {
  const found = await stat(join(directory, 'task.toml')).catch(() => undefined);
  return found?.isFile() === true;
}
