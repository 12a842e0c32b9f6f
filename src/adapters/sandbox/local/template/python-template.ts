import { access, constants, readlink, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { InfrastructureError, InputError, MusterError } from '../../../../kernel/errors.ts';
import type { Mount, SandboxTemplate, Zygote } from '../../../../pool/ports/template.ts';
import { hasErrno } from '../../../../kernel/errno.ts';
import { createCannotPlayApartError } from '../../../../pool/ports/policy-apart.ts';
import type { TemplateSettings } from '../../../../pool/ports/template-settings.ts';
import { assertSourcesExist } from './mount-sources.ts';
import { findOwnPython, type OwnPython } from './own-python.ts';
import { inspectPython, type PythonEnvironment } from './python-environment.ts';

/** Path of the runner's program inside. */
export const RUNNER_INSIDE = '/muster/runner';
/** The runner's own files, besides what a template imports. */
const RUNNER_IMPORTS = ['muster_runner.session', 'muster_runner.start'];
/** Descriptor of the connection between the two programs of a sandbox whose policy is apart. */
const LINE = '3';
/** Needed by Muster's own runner, whatever the template imports. */
export const RUNNER_MODULES = ['gymnasium', 'numpy'] as const;
/** The oldest that the runner is tried with. */
const OLDEST_PACKAGES: Readonly<Record<(typeof RUNNER_MODULES)[number], readonly [number, number]>> = {
  gymnasium: [1, 0],
  numpy: [1, 24],
};
const OLDEST = [3, 11] as const;

/**
 * Asks the interpreter for its directories and makes only those visible, at the same paths; what is under /usr is there anyway.
 *
 * @param projectDirectory holds `runner/` and, for `auto` in a checkout, `.venv/`.
 * @throws InputError `template.mounts`; InputError (a configured interpreter or import) or InfrastructureError (`auto`): `python.missing`, `python.too-old`,
 * `python.package-missing`, `python.package-too-old`, `python.out-of-sight`, `python.unusable`; each with the remedy. InfrastructureError
 * `python.no-answer`.
 */
export async function createPythonTemplate(
  name: string,
  settings: TemplateSettings,
  projectDirectory: string,
  signal: AbortSignal,
): Promise<SandboxTemplate> {
  const { python, imports, command, environment: variables, network, limits, demands, start } = settings;
  const rest = { name, environment: variables, network, limits, demands };
  const runner: Mount = { source: join(projectDirectory, 'runner'), target: RUNNER_INSIDE };
  if (command !== undefined) {
    if (start === 'forked') throw createUnforkableError(name);
    if (settings.policy === 'apart') throw createCannotPlayApartError(name, 'it has a runner of its own (command)');
    await assertSourcesExist(name, settings.mounts);
    return { ...rest, command, mounts: [runner, ...settings.mounts] };
  }
  const environment = await findUsablePython(python, imports, projectDirectory, signal);
  await assertSourcesExist(name, settings.mounts);
  const installation = await listInstallationMounts(environment);
  assertVisible(environment, [...installation, ...settings.mounts]);
  const runnerCommand = [environment.executable, '-I', RUNNER_INSIDE, ...imports.flatMap((module) => ['--import', module])];
  return {
    ...rest,
    ...listPrograms(runnerCommand, settings.policy),
    mounts: [...installation, runner, ...settings.mounts],
    ...(start === 'plain' ? {} : { zygote: describeZygote(environment.executable, imports, start === 'forked') }),
  };
}

function listPrograms(runner: readonly string[], policy: TemplateSettings['policy']): Pick<SandboxTemplate, 'command' | 'policy'> {
  if (policy !== 'apart') return { command: runner };
  return { command: [...runner, '--policy-line', LINE], policy: { command: [...runner, '--serve-policy', LINE] } };
}

/** Describes the zygote from which every sandbox of the template is forked, by the paths inside. */
function describeZygote(python: string, imports: readonly string[], isRequired: boolean): Zygote {
  return { python, program: `${RUNNER_INSIDE}/zygote.py`, imports: [...imports, ...RUNNER_IMPORTS], isRequired };
}

function createUnforkableError(name: string): InputError {
  const remedy = 'leave start at auto, or leave command out';
  return new InputError(
    'template.unforkable',
    `template "${name}": start is "forked", but only Muster's Python runner can be forked; ${remedy}`,
  );
}

/** Finds the interpreter, after it has shown that it is new enough and has what the runner and `imports` need. */
export async function findUsablePython(
  python: string,
  imports: readonly string[],
  projectDirectory: string,
  signal: AbortSignal,
): Promise<PythonEnvironment> {
  const own = python === 'auto' ? findOwnPython(projectDirectory) : undefined;
  const path = own?.path ?? python;
  const refused = (code: string, message: string): MusterError =>
    own === undefined ? new InputError(code, message) : new InfrastructureError(code, message);
  const hindrance = await findHindrance(path, own);
  if (hindrance !== undefined) throw refused('python.missing', hindrance);
  const environment = await inspectPython(path, [...new Set([...RUNNER_MODULES, ...imports])], signal).catch((error: unknown) => {
    throw error instanceof MusterError && error.code === 'python.unusable' ? refused(error.code, error.message) : error;
  });
  const [major, minor] = environment.version;
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    const found = `Python at ${path} is ${environment.version.join('.')}, expected ${OLDEST.join('.')} or newer`;
    throw refused('python.too-old', `${found}; ${describeRemedy(own)}`);
  }
  const failed = Object.entries(environment.modules).flatMap(([module, result]) =>
    result.state === 'failed' ? [{ module, ...result }] : [],
  );
  const [first] = failed;
  if (first === undefined) return withRecentPackages(environment, path, refused);
  const ours: readonly string[] = RUNNER_MODULES;
  const remedyOfOwn = failed.every(({ module }) => ours.includes(module)) ? own?.remedy : undefined;
  const remedy = remedyOfOwn ?? `install it: ${path} -m pip install ${getPackages(failed).join(' ')}`;
  // A module in a missing package adds no information.
  const outermost = failed.filter(({ module }) => !failed.some((other) => module.startsWith(`${other.module}.`)));
  const message = outermost.map(({ module, detail }) => `Python at ${path} cannot import ${module} (${detail})`).join('; ');
  throw refused('python.package-missing', `${message}; ${remedy}`);
}

/** Returns the packages to install for missing modules, as pip names them. */
function getPackages(failed: readonly { readonly module: string }[]): readonly string[] {
  const names = new Set(failed.map(({ module }) => module.split('.')[0] ?? module));
  const ours = new Map<string, readonly number[]>(Object.entries(OLDEST_PACKAGES));
  return Array.from(names, (name) => {
    const oldest = ours.get(name);
    return oldest === undefined ? name : `'${name}>=${oldest.join('.')}'`;
  });
}

function withRecentPackages(environment: PythonEnvironment, path: string, refused: (code: string, message: string) => MusterError) {
  const old = RUNNER_MODULES.flatMap((name) => {
    const module = environment.modules[name];
    const version = module?.state === 'imported' ? (module.version ?? undefined) : undefined;
    const [major, minor] = OLDEST_PACKAGES[name];
    const [ownMajor = 0, ownMinor = 0] = version?.split('.').map((part) => Number.parseInt(part, 10)) ?? [Infinity];
    const isRecent = ownMajor > major || (ownMajor === major && ownMinor >= minor);
    return isRecent ? [] : [{ name, version, oldest: `${major}.${minor}` }];
  });
  if (old.length === 0) return environment;
  const found = old.map(({ name, version, oldest }) => `${name} ${version}, expected ${oldest} or newer`).join('; ');
  const packages = old.map(({ name, oldest }) => `'${name}>=${oldest}'`).join(' ');
  throw refused('python.package-too-old', `Python at ${path} has ${found}; install it: ${path} -m pip install ${packages}`);
}

function describeRemedy(own: OwnPython | undefined): string {
  return own?.remedy ?? 'set python in the template to the path of Python 3.11 or newer, or to auto';
}

/** Returns why the interpreter cannot be run; undefined when it can. */
async function findHindrance(path: string, own: OwnPython | undefined): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return undefined;
  } catch (error) {
    if (hasErrno(error, 'EACCES'))
      return `Python at ${path} may not be run by this user: it, a directory above or what it links to is closed; ${describePythonAccessRemedy(own)}`;
    if (hasErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return `no Python at ${path}; ${describeRemedy(own)}`;
    throw error;
  }
}

function describePythonAccessRemedy(own: OwnPython | undefined): string {
  if (own === undefined) return describeRemedy(own);
  return `remove ${dirname(dirname(own.path))}, and ${own.remake}, or the same with another Python that every user may run`;
}

/** Lists the directories of the interpreter and its packages, and the links by which it is reached from outside of them. */
async function listInstallationMounts({ executable, prefix, basePrefix }: PythonEnvironment): Promise<readonly Mount[]> {
  const directories = [prefix, basePrefix, await realpath(prefix), await realpath(basePrefix)];
  const mounts: Mount[] = [];
  for (const path of [...directories, ...(await listLinks(executable))]) {
    if (!isVisible(path, mounts)) mounts.push({ source: path, target: path });
  }
  return mounts;
}

/** Lists the path itself, what it links to, what that links to, and so on. */
async function listLinks(path: string): Promise<readonly string[]> {
  try {
    return [path, ...(await listLinks(resolve(dirname(path), await readlink(path))))];
  } catch (error) {
    if (hasErrno(error, 'EINVAL')) return [path];
    throw error;
  }
}

function isVisible(path: string, mounts: readonly Mount[]): boolean {
  return ['/usr', ...mounts.map(({ target }) => target)].some((directory) => path === directory || path.startsWith(`${directory}/`));
}

/** A package that was installed by reference (`pip install -e`) is elsewhere: it would only be missing inside. */
function assertVisible({ modules }: PythonEnvironment, mounts: readonly Mount[]): void {
  for (const [name, module] of Object.entries(modules)) {
    if (module.state !== 'imported' || module.file === null || isVisible(module.file, mounts)) continue;
    const remedy = `install it into the environment itself, or add ${dirname(module.file)} to the template's mounts`;
    throw new InputError('python.out-of-sight', `the Python package ${name} is at ${module.file}, which sandboxes do not see; ${remedy}`);
  }
}
