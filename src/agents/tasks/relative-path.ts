import { z } from 'zod';

/** `.`, `..`, an empty part, or a byte that no tool copes with. */
const UNSAFE = /(^|\/)(\.{1,2})?(\/|$)|[\0\n\r\\]/;

export const RELATIVE_PATH_EXPECTED = 'expected a relative path of plain names joined by "/", without "." or ".." among them';

/** Whether the path stays within its base directory, whatever that contains, and is valid on every system. */
export function isPlainPath(path: string): boolean {
  return path.length <= 1024 && path !== '' && !UNSAFE.test(path);
}

export const relativePath = z.string().max(1024).refine(isPlainPath, RELATIVE_PATH_EXPECTED);
