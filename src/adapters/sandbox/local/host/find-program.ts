import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { hasErrno } from '../../../../kernel/errno.ts';

/**
 * Finds the program's path, for a launcher that has another PATH than Muster.
 *
 * @param program looked up in PATH unless it is a path.
 */
export async function findProgram(program: string): Promise<string | undefined> {
  const places = program.includes('/') ? [path.resolve(program)] : searchPath().map((directory) => path.join(directory, program));
  for (const place of places) {
    try {
      await access(place, constants.X_OK);
      return place;
    } catch (error) {
      if (!hasErrno(error, 'ENOENT', 'EACCES', 'ENOTDIR')) throw error;
    }
  }
  return undefined;
}

const searchPath = (): readonly string[] => (process.env['PATH'] ?? '/usr/bin:/bin').split(':').filter((directory) => directory !== '');
