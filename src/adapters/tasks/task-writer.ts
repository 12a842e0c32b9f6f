import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isPlainPath } from '../../agents/tasks/relative-path.ts';
import type { WrittenTask } from '../../agents/tasks/written-task.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import { hasErrno, getReason } from '../../kernel/errno.ts';

const [PLAIN, EXECUTABLE] = [0o644, 0o755];

/**
 * Writes a task's directory whole or not at all: first under another name beside its place, then by a rename.
 *
 * @throws InputError `task.exists` when something is there already; InfrastructureError `task.unwritable`.
 */
export async function writeTask(directory: string, { files }: WrittenTask): Promise<void> {
  const target = resolve(directory);
  if (await holdsSomething(target)) throw new InputError('task.exists', `${directory}: it already exists; name a new directory`);
  const part = `${target}.part`;
  try {
    await mkdir(part, { recursive: true });
    for (const { path, text, isExecutable } of files) {
      if (!isPlainPath(path)) throw new InputError('task.unsafe', `${directory}: the file name ${JSON.stringify(path)} leaves the task`);
      await mkdir(dirname(join(part, path)), { recursive: true });
      await writeFile(join(part, path), text, { mode: isExecutable ? EXECUTABLE : PLAIN, flag: 'wx' });
    }
    await rename(part, target);
  } catch (error) {
    await rm(part, { recursive: true, force: true });
    if (error instanceof InputError) throw error;
    throw new InfrastructureError('task.unwritable', `${directory}: the task cannot be written: ${getReason(error, directory)}`, {
      cause: error,
    });
  }
}

async function holdsSomething(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length > 0;
  } catch (error) {
    return !hasErrno(error, 'ENOENT');
  }
}
