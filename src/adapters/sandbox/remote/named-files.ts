import { readFile } from 'node:fs/promises';
import { getReason } from '../../../kernel/errno.ts';
import { InputError } from '../../../kernel/errors.ts';

/**
 * Checks files of this machine that a template's settings name, when the template is made rather than when the first sandbox needs them.
 *
 * @throws InputError `template.file` for the first one that cannot be read.
 */
export async function assertReadable(template: string, files: Readonly<Record<string, string | undefined>>): Promise<void> {
  for (const [setting, path] of Object.entries(files)) {
    if (path === undefined) continue;
    try {
      await readFile(path);
    } catch (error) {
      const problem = `template "${template}": ${setting} is ${path}, which cannot be read: ${getReason(error, path)}`;
      throw new InputError('template.file', `${problem}; set it to a file that Muster may read`, { cause: error });
    }
  }
}

/** Lists the files of `dialBack`. @param provider whose settings they are. */
export function listDialBackFiles(
  provider: string,
  {
    certificate,
    key,
    authority,
  }: { readonly certificate?: string | undefined; readonly key?: string | undefined; readonly authority?: string | undefined },
): Readonly<Record<string, string | undefined>> {
  const at = `${provider}.dialBack`;
  return { [`${at}.certificate`]: certificate, [`${at}.key`]: key, [`${at}.authority`]: authority };
}
