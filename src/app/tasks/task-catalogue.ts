import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { suggestNearest } from '../../adapters/files/nearest-path.ts';
import { readTaskDirectory } from '../../adapters/tasks/task-files.ts';
import { writeTask } from '../../adapters/tasks/task-writer.ts';
import { createTaskFiles } from '../../agents/tasks/new-task.ts';
import { readTask } from '../../agents/tasks/read-task.ts';
import { isTaskId, TASK_ID_EXPECTED } from '../../agents/tasks/task-ids.ts';
import type { Task } from '../../agents/tasks/task.ts';
import { getReason } from '../../kernel/errno.ts';
import { InputError } from '../../kernel/errors.ts';

/** A directory that holds a task, or the reason why it cannot be read as one. */
export type ListedTask =
  | { readonly directory: string; readonly task: Task; readonly problem: null }
  | { readonly directory: string; readonly task: null; readonly problem: string };

/** Works on a task's directory that a person has typed, as `suggestNearest` does. */
export function withNearestTask<Value>(directory: string, work: () => Promise<Value>): Promise<Value> {
  return suggestNearest(directory, work);
}

/** @throws InputError when the directory holds no task. */
export async function showTask(directory: string): Promise<Task> {
  return readTask(await readTaskDirectory(directory));
}

/**
 * Lists the directory itself if it is a task, otherwise each directory in it. @throws InputError `task.missing` when it cannot be read, or has none.
 */
export async function listTasks(directory: string): Promise<readonly ListedTask[]> {
  const entries = await listEntries(directory);
  if (entries.some(({ name }) => name === 'task.toml')) return [await listTask(directory)];
  const inside = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
  const tasks: ListedTask[] = [];
  for (const path of inside.sort())
    if ((await listEntries(path)).some(({ name }) => name === 'task.toml')) tasks.push(await listTask(path));
  if (tasks.length > 0) return tasks;
  throw new InputError(
    'task.missing',
    `${directory}: there is no task.toml in it, nor in any directory in it; expected a task, or a directory of tasks`,
  );
}

/**
 * Lists the directories of tasks at the given paths: tasks themselves, or directories of tasks. Files are ignored, since shell patterns such as
 * tasks/* match them.
 *
 * @throws InputError `task.missing` for a directory that is no task and holds none, or when nothing is left.
 */
export async function listTaskDirectories(paths: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of paths) {
    if (paths.length > 1 && (await lstat(path).catch(() => undefined))?.isFile()) continue;
    found.push(...(await withNearestTask(path, () => listTasks(path))).map(({ directory }) => directory));
  }
  if (found.length > 0) return found;
  throw new InputError('task.missing', `${paths.join(', ')}: are files; expected directories of tasks`);
}

async function listEntries(directory: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    throw new InputError(
      'task.missing',
      `${directory}: it cannot be read: ${getReason(error, directory)}; expected a task, or a directory of tasks`,
      { cause: error },
    );
  }
}

async function listTask(directory: string): Promise<ListedTask> {
  try {
    return { directory, task: await showTask(directory), problem: null };
  } catch (error) {
    if (error instanceof InputError) return { directory, task: null, problem: error.message };
    throw error;
  }
}

/** Writes a small sound task. @throws InputError when the path exists already, or the name is no valid name of a task. */
export async function createTask(directory: string): Promise<Task> {
  const name = basename(resolve(directory));
  if (!isTaskId(name)) throw new InputError('task.name', `${directory}: the directory's name is the task's: ${TASK_ID_EXPECTED}`);
  await writeTask(directory, createTaskFiles(name));
  return await showTask(directory);
}
