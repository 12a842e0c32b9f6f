import type { TaskFile } from './task.ts';

/** A task's directory as an adapter has read it. */
export interface TaskDirectory {
  /** The name of the place in messages. */
  readonly where: string;
  /** Its own name, which is the task's where `task.toml` gives none. */
  readonly name: string;
  /** Files in the order of their paths. */
  readonly files: readonly TaskFile[];
  /** The bytes of files that `isReadWhole` selects. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
}

/** Bounds of a task's directory; an adapter refuses what is beyond. */
export const TASK_BOUNDS = {
  files: 100_000,
  bytes: 4 * 1024 ** 3,
  /** The largest size of a file that is read whole. */
  readBytes: 4 * 1024 * 1024,
  depth: 32,
} as const;

export const DOCKERFILE = 'environment/Dockerfile';
const DECLARATION = /^(steps\/[^/]+\/)?(task\.toml|muster\.toml|instruction\.md)$/;
const LIST = /(^|\/)tests\/.*\.jsonl?$/;

/** Whether reading a task takes the file's bytes, and not its digest alone. */
export function isReadWhole(path: string): boolean {
  return DECLARATION.test(path) || path === DOCKERFILE || LIST.test(path);
}
