import { InputError } from '../../kernel/errors.ts';

/** Uploads appear here inside a sandbox. */
export const INBOX = '/muster/inbox';

/** Longest path of an upload, in bytes, and longest part of one: what common file systems take. */
const PATH_MAX_BYTES = 1024;
const PART_MAX_BYTES = 255;

/** @throws InputError when a file of this path would not stay in the inbox. */
export function checkUploadPath(path: string): void {
  const problem = getProblem(path);
  if (!problem) return;
  throw new InputError(
    'sandbox.path',
    `upload path ${JSON.stringify(path.slice(0, 200))} ${problem}; give a relative path such as "policy/weights.safetensors"`,
  );
}

function getProblem(path: string): string | undefined {
  const parts = path.split('/');
  if (path.includes('\0')) return 'has a NUL character';
  if (path.startsWith('/')) return 'is absolute';
  if (Buffer.byteLength(path) > PATH_MAX_BYTES) return `is longer than ${PATH_MAX_BYTES} bytes`;
  if (parts.includes('')) return 'has an empty part';
  if (parts.includes('..') || parts.includes('.')) return 'has a part "." or ".."';
  if (parts.some((part) => Buffer.byteLength(part) > PART_MAX_BYTES)) return `has a part of more than ${PART_MAX_BYTES} bytes`;
  return undefined;
}
