import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { TaskContent } from '../../agents/grading/grading-context.ts';
import type { Task } from '../../agents/tasks/task.ts';
import { InputError } from '../../kernel/errors.ts';

/** Bounds of what is kept of one task. */
const KEPT = { fileBytes: 64 * 1024, bytes: 256 * 1024 };

/** Reads the files of a task's directory, as long as they are those that the task was read with. Small ones are read once. */
export function readTaskContent(directory: string, { files }: Pick<Task, 'files'>): TaskContent {
  const digests = new Map<string, string>(files.map(({ path, digest }) => [path, digest]));
  const kept = new Map<string, Buffer>();
  let room = KEPT.bytes;
  return {
    async read(path) {
      const known = kept.get(path);
      if (known) return known;
      const expected = digests.get(path);
      if (expected === undefined) throw new RangeError(`${path} is no file of the task`);
      await using handle = await open(join(directory, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const content = await handle.readFile();
      if (`sha256:${createHash('sha256').update(content).digest('hex')}` !== expected)
        throw new InputError('task.changed', `${directory}/${path}: it has changed since the task was read; start again`);
      if (content.length <= Math.min(KEPT.fileBytes, room) && !kept.has(path)) {
        kept.set(path, content);
        room -= content.length;
      }
      return content;
    },
  };
}
