import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The interpreter of `python: auto`. */
export interface OwnPython {
  readonly path: string;
  /** The step that makes or repairs it: `run npm run setup`. */
  readonly remedy: string;
  /** The step that makes it of another Python. */
  readonly remake: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Set by the Python package `muster-eval` to the interpreter that it is installed in. */
export const PYTHON_VARIABLE = 'MUSTER_PYTHON';
export const SETUP_COMMAND = 'muster setup';

/**
 * Finds the interpreter of `python: auto`: where the Python package started Muster, the one that it is installed in; in a checkout, the one that `npm
 * run setup` installs; otherwise, as installed by npm, the one that `muster setup` installs in the user's data directory.
 *
 * @param projectDirectory contains `runner/`.
 */
export function findOwnPython(projectDirectory: string, environment: Environment = process.env): OwnPython {
  const starter = environment[PYTHON_VARIABLE];
  if (starter !== undefined && starter !== '') {
    const remedy = existsSync(starter)
      ? `run ${starter} -m pip install --force-reinstall muster-eval`
      : `the variable ${PYTHON_VARIABLE} names it: unset that, or name a Python that is there`;
    return { path: starter, remedy, remake: 'install muster-eval with /usr/bin/python3' };
  }
  if (isCheckout(projectDirectory)) {
    const path = join(projectDirectory, '.venv', 'bin', 'python');
    return { path, remedy: 'run npm run setup', remake: 'run PYTHON=/usr/bin/python3 npm run setup' };
  }
  const path = join(findSetupDirectory(environment), 'bin', 'python');
  return { path, remedy: `run ${SETUP_COMMAND} (npx muster-eval setup)`, remake: `run ${SETUP_COMMAND} --python /usr/bin/python3` };
}

/** A package does not hold what sets a checkout up. */
export function isCheckout(projectDirectory: string): boolean {
  return existsSync(join(projectDirectory, 'scripts', 'setup.mjs'));
}

/** `muster setup` makes the environment here: $XDG_DATA_HOME/muster/python, or ~/.local/share/muster/python. */
export function findSetupDirectory(environment: Environment = process.env): string {
  const home = environment['XDG_DATA_HOME'];
  // The XDG specification has relative paths ignored.
  const data = home !== undefined && isAbsolute(home) ? home : join(homedir(), '.local', 'share');
  return join(data, 'muster', 'python');
}
