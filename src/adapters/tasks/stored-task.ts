import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { LRUCache } from 'lru-cache';
import type { TaskContent } from '../../agents/grading/grading-context.ts';
import { readTask } from '../../agents/tasks/read-task.ts';
import { isReadWhole, type TaskDirectory } from '../../agents/tasks/task-directory.ts';
import type { Task } from '../../agents/tasks/task.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { StoredFile } from '../../policy-distribution/stored-checkpoint.ts';

/** The place of a task among stored files. */
export interface StoredTaskLocation {
  /** Path of the task's directory; empty when all files belong to the task. */
  readonly directory: string;
  /** Original name of its directory. */
  readonly called: string;
  /** Paths in the task; the store keeps no modes. */
  readonly executable: readonly string[];
}

/**
 * Opens a task from the store, whose files all stay as they were stored. Later changes of its directory have no effect.
 *
 * @param kept contents by their digests: each episode on a task reads the same files.
 */
export async function openStoredTask(
  stored: readonly StoredFile[],
  { directory, called, executable }: StoredTaskLocation,
  kept: LRUCache<string, Buffer>,
): Promise<{ readonly task: Task; readonly content: TaskContent }> {
  const prefix = directory === '' ? '' : `${directory}/`;
  const own = new Map(stored.filter(({ path }) => path.startsWith(prefix)).map((file) => [file.path.slice(prefix.length), file]));
  const content: TaskContent = {
    async read(path) {
      const file = own.get(path);
      if (file === undefined) throw new RangeError(`${path} is no file of the task`);
      const known = kept.get(file.digest) ?? (await readStored(file));
      kept.set(file.digest, known);
      return known;
    },
  };
  const modes = new Set(executable);
  const read: TaskDirectory = {
    where: called,
    name: called,
    files: [...own]
      .map(([path, { digest, size }]) => ({ path, digest, bytes: size, isExecutable: modes.has(path) }))
      .sort((a, b) => (a.path < b.path ? -1 : 1)),
    contents: new Map(
      await Promise.all([...own.keys()].filter(isReadWhole).map(async (path) => [path, await content.read(path)] as const)),
    ),
  };
  return { task: readTask(read), content };
}

/** @throws InfrastructureError `store.damaged` */
async function readStored({ hostPath, digest }: StoredFile): Promise<Buffer> {
  const content = await readFile(hostPath);
  if (`sha256:${createHash('sha256').update(content).digest('hex')}` === digest) return content;
  throw new InfrastructureError('store.damaged', `${hostPath} does not have the content of its name; remove it, and start again`);
}
