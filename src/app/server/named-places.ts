import { getReason } from '../../kernel/errno.ts';
import { readdir } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';

/**
 * Describes to people which configured directories and variables are missing. A server reads them when it needs them, so they may be added later: it
 * starts without them, and says so.
 */
export async function examineNamedPlaces(
  { arena, sources, models }: Pick<Config, 'arena' | 'sources' | 'models'>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  const directories = [
    ...arena.tasks.map((path, at) => ({
      path,
      setting: `arena.tasks[${at}]`,
      holds: 'a task or of tasks',
      loses: 'no task of it can be played',
    })),
    ...sources.roots.map((path, at) => ({
      path,
      setting: `sources.roots[${at}]`,
      holds: 'checkpoints',
      loses: 'no checkpoint of it can be named',
    })),
  ];
  const unread = await Promise.all(
    directories.map(async ({ path, setting, holds, loses }) => {
      try {
        await readdir(path);
        return [];
      } catch (error) {
        return [
          `${setting}: ${path} cannot be read: ${getReason(error, path)}; expected a directory of ${holds}; ${loses} until that is corrected`,
        ];
      }
    }),
  );
  const unset = Object.entries(models.endpoints).flatMap(([name, { keyVariable }]) => {
    if (keyVariable === undefined || (environment[keyVariable] ?? '') !== '') return [];
    const setting = `models.endpoints.${name}.keyVariable`;
    return [
      `${setting}: the environment variable ${keyVariable} is not set; set it to the key, and start the server again; agents on it fail until then`,
    ];
  });
  return [...unread.flat(), ...unset];
}
