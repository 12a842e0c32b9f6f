import { isDigest, type Digest } from '../../kernel/ids.ts';

declare const brand: unique symbol;

/** The name of a task: `org/name`, or the name of its directory where its author gives none. */
export type TaskId = string & { readonly [brand]: 'TaskId' };
/** Digest of a task's canonical form, files included: it tells apart two tasks with one id. */
export type TaskDigest = Digest & { readonly [brand]: 'TaskDigest' };

const TASK_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}(\/[A-Za-z0-9][A-Za-z0-9._-]{0,127})?$/;
export const TASK_ID_EXPECTED =
  'expected "name" or "org/name", each 1 to 128 letters, digits, ".", "_" or "-", beginning with a letter or digit and without ".."';

export function isTaskId(text: string): text is TaskId {
  return TASK_ID.test(text) && !text.includes('..');
}

/** @throws RangeError when `text` is no task id. */
export function parseTaskId(text: string): TaskId {
  if (isTaskId(text)) return text;
  throw new RangeError(`a task id: ${TASK_ID_EXPECTED}, got "${text.slice(0, 200)}"`);
}

function isTaskDigest(digest: string): digest is TaskDigest {
  return isDigest(digest);
}

/** @throws RangeError when `text` is no digest. */
export function parseTaskDigest(text: string): TaskDigest {
  if (isTaskDigest(text)) return text;
  throw new RangeError(`a task digest is "sha256:" and 64 hexadecimal digits, got "${text.slice(0, 200)}"`);
}
