import { stat } from 'node:fs/promises';
import { InputError } from '../../../../kernel/errors.ts';
import { hasErrno } from '../../../../kernel/errno.ts';
import type { Mount } from '../../../../pool/ports/template.ts';

/**
 * Without this check, sandboxes would fail one after the other, as if retrying could help.
 *
 * @param mounts as configured. @throws InputError `template.mounts` for one whose source is missing, or not readable for this user.
 */
export async function assertSourcesExist(template: string, mounts: readonly Mount[]): Promise<void> {
  for (const [i, { source }] of mounts.entries()) {
    try {
      await stat(source);
    } catch (error) {
      if (!hasErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) throw error;
      const problem = hasErrno(error, 'EACCES') ? 'is in a directory that is closed to this user' : 'does not exist';
      const remedy = 'expected the path of a file or directory of this machine; correct the path, or remove the mount';
      throw new InputError('template.mounts', `templates.${template}.mounts[${i}].source: ${source} ${problem}; ${remedy}`);
    }
  }
}
