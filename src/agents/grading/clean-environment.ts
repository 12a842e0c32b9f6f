/** The environment of every command in a grading sandbox, below the variables of its image; nothing comes from Muster's own environment. */
export const BASE_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/tmp',
  TMPDIR: '/tmp',
  // LC_CTYPE replaces LANG: UTF-8 does not affect the other categories, and each start of bash would read a file for each of them.
  LC_CTYPE: 'C.UTF-8',
  // The workdir belongs to the first process of the sandbox, and git refuses a repository of another user.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};

const REFERENCE = /\$\{(?<name>[A-Za-z_]\w*)(:-(?<otherwise>[^}]*))?\}/g;

/**
 * Joins variables; a later layer overrides an earlier one. `${NAME:-default}` is a variable of the host in Harbor; a verdict must not depend on that,
 * so it is the default here, or empty.
 */
export function cleanEnvironment(...layers: readonly Readonly<Record<string, string>>[]): Readonly<Record<string, string>> {
  const written: Readonly<Record<string, string>> = Object.assign({}, ...layers);
  return Object.fromEntries(
    Object.entries(written).map(([name, value]) => [name, value.replaceAll(REFERENCE, (...match) => getDefault(match.at(-1)))]),
  );
}

function getDefault(groups: unknown): string {
  const otherwise: unknown = typeof groups === 'object' && groups !== null ? Reflect.get(groups, 'otherwise') : undefined;
  return typeof otherwise === 'string' ? otherwise : '';
}
