import { existsSync } from 'node:fs';
import { access, mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isFullForm } from '../support/full-form.ts';
import { EmptyPlace, REPOSITORY, type CommandResult } from './empty-place.ts';
import { lockedProject } from './locked-project.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const EVALUATION = ['eval', 'cartpole.yaml', '-c', 'late.safetensors', '--episodes', '8', '-n', '2', '--json'];
const PROGRAM = `
import { evaluate, InputError, Muster, readConfiguration, type Summary } from 'muster-eval';
import { connect } from 'muster-eval/client';

const request = { suite: 'cartpole.yaml', checkpoint: 'late.safetensors', stop: { rule: 'fixed', episodes: 8 } as const };
const { official }: Summary = await evaluate(request, { sandboxes: 2 });
const mean: number | null = official.mean;
await using muster = await Muster.open(readConfiguration(undefined, 1));
const refused = await muster.evaluate({ ...request, checkpoint: 'absent.safetensors' }).catch((error: unknown) => error);
const code = refused instanceof InputError ? refused.code : undefined;
console.log(JSON.stringify({ mean, code, client: typeof connect }));
`;
const ENTRIES: Readonly<Record<string, string>> = {
  'muster-eval': 'main.js',
  'muster-eval/client': 'server-client.js',
  'muster-eval/client/errors': 'client-errors.js',
};
const STRICT = {
  target: 'esnext',
  lib: ['esnext'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
};

describe('the npm package, installed where nothing of the repository is', () => {
  let place: EmptyPlace;
  let archive: string;
  /** In the short form the tests' own; the full form has the command make one. */
  const python: Readonly<Record<string, string>> = isFullForm
    ? {}
    : { MUSTER_TEMPLATES__LOCAL__PYTHON: path.join(REPOSITORY, '.venv/bin/python') };

  beforeAll(async () => {
    place = await EmptyPlace.open(path.dirname(process.execPath));
    const unchecked = isFullForm ? [] : ['--unchecked'];
    const built = await place.succeed(process.execPath, [path.join(REPOSITORY, 'scripts/packages/npm-package.ts'), ...unchecked]);
    archive = path.join(REPOSITORY, built.trim());
    const { project, lock, names } = await lockedProject(archive);
    await place.write('package.json', JSON.stringify(project));
    if (isFullForm) {
      await place.write('package-lock.json', JSON.stringify(lock));
      await place.succeed('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']);
    } else await bringInstalled(names);
    await place.bring('examples/game/cartpole.yaml', 'cartpole.yaml');
    await place.bring('examples/game/checkpoints/late.safetensors', 'late.safetensors');
  });
  afterAll(async () => await place[Symbol.asyncDispose]());

  /** The packages that it stands on are those of the repository, as links where both places are on one disk: to install them is for the full form. */
  async function bringInstalled(names: readonly string[]): Promise<void> {
    const own = place.path('node_modules/muster-eval');
    for (const directory of [own, place.path('node_modules/.bin')]) await mkdir(directory, { recursive: true });
    const outermost = names.filter((name) => name.lastIndexOf('node_modules/') === 0 && existsSync(path.join(REPOSITORY, name)));
    const copy = ['-c', 'cd "$0" && cp --archive --parents "$@"', REPOSITORY, ...outermost, place.directory];
    const linked = await place.run('sh', copy.toSpliced(3, 0, '--link'));
    if (linked.status !== 0) await place.succeed('sh', copy.toSpliced(3, 0, '--force'));
    await place.succeed('tar', ['-xzf', archive, '--strip-components=1', '-C', own]);
    for (const name of ['muster', 'muster-eval']) await symlink('../muster-eval/bin/muster.js', place.path('node_modules/.bin', name));
  }

  const runMuster = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<CommandResult> =>
    place.run(place.path('node_modules/.bin/muster-eval'), args, more);

  it('has a command that names a missing Python and its remedy, also in doctor', async () => {
    const { status, stderr } = await runMuster(EVALUATION);
    expect(stderr).toContain(`no Python at ${place.path('data/muster/python/bin/python')}; run muster setup`);
    expect(status).toBe(3);
    const doctor = await runMuster(['doctor', '--json']);
    const found = expect.objectContaining({ name: 'Python', status: 'problem', found: expect.stringContaining('run muster setup') });
    expect(JSON.parse(doctor.stdout).checks).toContainEqual(found);
    expect((await place.succeed('npx', ['muster-eval', '--version'])).trim()).toBe('0.1.0');
  });

  it.runIf(isFullForm)('makes a Python environment once, in the user’s data directory', async () => {
    const first = await runMuster(['setup']);
    expect(first).toMatchObject({ status: 0, stderr: expect.stringContaining('ready: ') });
    const second = await place.run('npx', ['muster', 'setup']);
    expect(second).toMatchObject({ status: 0, stderr: expect.stringContaining('nothing to do, it is there') });
  });

  it('has the same official result as the checkout, and logs it', async () => {
    const packaged = await runMuster([...EVALUATION, '--log', 'csv:logs'], {
      ...python,
      MUSTER_LOG_PYTHON: path.join(REPOSITORY, '.venv/bin/python'),
    });
    const here = await place.succeed(path.join(REPOSITORY, 'muster'), EVALUATION);
    expect(packaged).toMatchObject({ status: 0 });
    expect(JSON.stringify(JSON.parse(packaged.stdout).official)).toBe(JSON.stringify(JSON.parse(here).official));
    expect(await readFile(place.path('logs/muster.csv'), 'utf8')).toMatch(/^step,.*\r?\n1,,500/);
  });

  it('is a library that evaluates, with types for strict programs', async () => {
    await place.write('program.ts', PROGRAM);
    await place.write('tsconfig.json', JSON.stringify({ compilerOptions: STRICT, include: ['program.ts'] }));
    for (const types of ['node_modules/@types/node', 'node_modules/undici-types'])
      if (!existsSync(place.path(types))) await place.bring(types, types);
    const compiler = path.join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    expect(await place.run(process.execPath, [compiler, '-p', '.'])).toEqual({ status: 0, stdout: '', stderr: '' });
    const printed = JSON.parse(await place.succeed('node', ['program.ts'], python));
    expect(printed).toEqual({ mean: expect.any(Number), code: 'checkpoint.missing', client: 'function' });
  });

  it.each(['muster-eval', 'muster-eval/client', 'muster-eval/client/errors'])(
    '%s tells an old Node which one is needed',
    async (module) => {
      const older = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})`;
      await place.write('old.mjs', `await import('${module}');`);
      const { status, stderr } = await place.run(process.execPath, ['--import', older, place.path('old.mjs')]);
      expect(stderr).toContain(
        'Error: muster-eval: this is Node 20.20.2, and 24.12 or newer is needed; install it, or put it beside Muster',
      );
      expect(status).toBe(1);
      // What an old Node would read before that has no syntax that it does not know.
      const entry = await readFile(place.path('node_modules/muster-eval/entries', ENTRIES[module] ?? ''), 'utf8');
      expect(entry.match(/^import .*$/gm)).toEqual([`import { describeOldNode } from '../bin/required-node.js';`]);
    },
  );

  it('holds compiled files alone, and none of the tests', async () => {
    const packed = await place.succeed('tar', ['-tzf', archive]);
    const files = packed.split('\n').map((file) => file.replace(/^package\//, ''));
    expect(files.filter((file) => /(?<!\.d)\.ts$|^test\/|\.test\.|(^|\/)tests?\/|__pycache__|\.pyc$/.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['bin/muster.js', 'config/default.yaml', 'runner/__main__.py', 'src/app/main.d.ts']));
    await expect(access(place.path('node_modules/.bin/muster'))).resolves.toBeUndefined();
  });
});
