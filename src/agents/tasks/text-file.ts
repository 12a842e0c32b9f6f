import { InputError } from '../../kernel/errors.ts';
import { INVALID } from './declaration.ts';
import type { TaskDirectory } from './task-directory.ts';

/** @returns undefined where the file is not there. @throws InputError `task.invalid` for what is no UTF-8. */
export function decodeText({ where, contents }: Pick<TaskDirectory, 'where' | 'contents'>, path: string): string | undefined {
  const bytes = contents.get(path);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new InputError(INVALID, `${where}/${path}: it is not UTF-8 text; expected UTF-8`, { cause: error });
  }
}
