import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasErrno } from '../kernel/errno.ts';
import { isCheckout, PYTHON_VARIABLE, findSetupDirectory } from '../adapters/sandbox/local/template/own-python.ts';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import { PACKAGE_ROOT } from '../kernel/package-root.ts';

export interface SetupRequest {
  /** Path or name of the Python for the environment; the newest one found when left out. */
  readonly python?: string;
}

/** The result of `muster setup`. */
export interface PythonSetup {
  /** The interpreter that `python: auto` selects from now on. */
  readonly python: string;
  readonly state: 'made' | 'up to date' | 'not needed';
}

const CANDIDATES = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];
const IS_RECENT = 'import sys; sys.exit(sys.version_info < (3, 11))';
/** Some 150 MB of packages on a slow connection. */
const STEP_MILLISECONDS = 30 * 60_000;
const OUTPUT_BYTES = 16 * 2 ** 20;

/**
 * Makes the Python environment of an npm installation, with what the runner needs, in the user's data directory. An interrupted one is made again.
 *
 * @param say receives a line before each long step. @throws InputError `setup.checkout`, `setup.python`; InfrastructureError `setup.failed` with the
 * end of the step's output.
 */
export async function setUpPython(request: SetupRequest, say: (line: string) => Promise<void>, signal: AbortSignal): Promise<PythonSetup> {
  const starter = process.env[PYTHON_VARIABLE];
  if (starter !== undefined && starter !== '') {
    if (request.python !== undefined) throw createFixedError(request.python, starter);
    return { python: starter, state: 'not needed' };
  }
  if (isCheckout(PACKAGE_ROOT)) {
    throw new InputError('setup.checkout', `${PACKAGE_ROOT} is a checkout, which has its own environment; run npm run setup in it`);
  }
  const directory = findSetupDirectory();
  const python = join(directory, 'bin', 'python');
  const requirements = join(PACKAGE_ROOT, 'runner', 'requirements.txt');
  const stamp = createHash('sha256')
    .update(await readFile(requirements))
    .update(request.python ?? '')
    .digest('hex');
  const stampFile = join(directory, 'muster-setup');
  if ((await getText(stampFile)) === stamp) return { python, state: 'up to date' };
  const base = await findBasePython(request.python, signal);
  await mkdir(dirname(directory), { recursive: true });
  await say(`making a Python environment in ${directory}`);
  await runStep(base, ['-m', 'venv', '--clear', directory], signal);
  await say('installing Python packages: NumPy, Gymnasium and what reads checkpoints');
  await runStep(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements], signal);
  // Compiled here because the runner's files cannot be written inside a sandbox, so that every sandbox would compile them.
  await canAnswer(python, ['-m', 'compileall', '-q', dirname(requirements)], signal);
  await writeFile(stampFile, stamp);
  return { python, state: 'made' };
}

function createFixedError(named: string, starter: string): InputError {
  const remedy = `leave it out, or set MUSTER_TEMPLATES__LOCAL__PYTHON=${named}`;
  return new InputError('setup.python', `--python ${named}: Muster uses the Python that started it, ${starter}; ${remedy}`);
}

async function getText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

async function findBasePython(named: string | undefined, signal: AbortSignal): Promise<string> {
  for (const python of named === undefined ? CANDIDATES : [named]) {
    if (await canAnswer(python, ['-c', IS_RECENT], signal)) return python;
  }
  const install = 'install one (Debian, Ubuntu: apt install python3 python3-venv), or name another by --python';
  const found = named === undefined ? 'no Python of 3.11 or newer was found' : `--python: ${named} is no Python of 3.11 or newer`;
  throw new InputError('setup.python', `${found}; ${install}`);
}

/** Whether the command succeeds. */
async function canAnswer(command: string, args: readonly string[], signal: AbortSignal): Promise<boolean> {
  return (await runAndExplain(command, args, signal)) === undefined;
}

async function runStep(command: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const failure = await runAndExplain(command, args, signal);
  if (failure === undefined) return;
  throw new InfrastructureError('setup.failed', `${command} ${args.join(' ')} failed: ${failure}`);
}

/** Returns undefined when it succeeded, otherwise the end of its output. */
function runAndExplain(command: string, args: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const limits = { signal, timeout: STEP_MILLISECONDS, maxBuffer: OUTPUT_BYTES, killSignal: 'SIGKILL' } as const;
  execFile(command, [...args], limits, (error, stdout, stderr) => {
    if (error === null) resolve(undefined);
    else if (signal.aborted) reject(signal.reason);
    else resolve(`${stdout}${stderr}`.trim().slice(-2000) || error.message);
  });
  return promise;
}
