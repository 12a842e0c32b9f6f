import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isFullForm } from '../support/full-form.ts';
import { EmptyPlace, REPOSITORY } from './empty-place.ts';
import { lockedProject } from './locked-project.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const EVALUATION = ['muster-eval', 'eval', 'cartpole.yaml', '-c', 'late.safetensors', '--episodes', '8', '-n', '2', '--json'];
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
  /** In the short form the tests' own; the full form has the command make one. */
  const python: Readonly<Record<string, string>> = isFullForm
    ? {}
    : { MUSTER_TEMPLATES__LOCAL__PYTHON: path.join(REPOSITORY, '.venv/bin/python') };

  beforeAll(async () => {
    place = await EmptyPlace.open(path.dirname(process.execPath));
    const built = await place.succeed(process.execPath, [path.join(REPOSITORY, 'scripts/packages/npm-package.ts')]);
    const { project, lock } = await lockedProject(path.join(REPOSITORY, built.trim()));
    await place.write('package.json', JSON.stringify(project));
    await place.write('package-lock.json', JSON.stringify(lock));
    await place.succeed('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']);
    await place.bring('examples/game/cartpole.yaml', 'cartpole.yaml');
    await place.bring('examples/game/checkpoints/late.safetensors', 'late.safetensors');
  });
  afterAll(async () => await place[Symbol.asyncDispose]());

  it('has its command say which Python is missing and how to come by it, also in doctor', async () => {
    const { status, stderr } = await place.run('npx', EVALUATION);
    expect(stderr).toContain(`no Python at ${place.path('data/muster/python/bin/python')}; run muster setup`);
    expect(status).toBe(3);
    const doctor = await place.run('npx', ['muster-eval', 'doctor', '--json']);
    const found = expect.objectContaining({ name: 'Python', status: 'problem', found: expect.stringContaining('run muster setup') });
    expect(JSON.parse(doctor.stdout).checks).toContainEqual(found);
    expect((await place.succeed('npx', ['muster-eval', '--version'])).trim()).toBe('0.1.0');
  });

  it.runIf(isFullForm)('makes a Python environment once, in the directory for data of the user', async () => {
    const first = await place.run('npx', ['muster-eval', 'setup']);
    expect(first).toMatchObject({ status: 0, stderr: expect.stringContaining('ready: ') });
    const second = await place.run('npx', ['muster', 'setup']);
    expect(second).toMatchObject({ status: 0, stderr: expect.stringContaining('nothing to do, it is there') });
  });

  it('has the same official result as the checkout', async () => {
    const packaged = JSON.parse(await place.succeed('npx', EVALUATION, python));
    const [, ...args] = EVALUATION;
    const here = JSON.parse(await place.succeed(path.join(REPOSITORY, 'muster'), args));
    expect(JSON.stringify(packaged.official)).toBe(JSON.stringify(here.official));
  });

  it('is a library whose declarations a strict program is checked against, and which evaluates', async () => {
    await place.write('program.ts', PROGRAM);
    await place.write('tsconfig.json', JSON.stringify({ compilerOptions: STRICT, include: ['program.ts'] }));
    await place.bring('node_modules/@types/node', 'node_modules/@types/node');
    await place.bring('node_modules/undici-types', 'node_modules/undici-types');
    const compiler = path.join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    expect(await place.run(process.execPath, [compiler, '-p', '.'])).toEqual({ status: 0, stdout: '', stderr: '' });
    const printed = JSON.parse(await place.succeed('node', ['program.ts'], python));
    expect(printed).toEqual({ mean: expect.any(Number), code: 'checkpoint.missing', client: 'function' });
  });

  it('logs what it evaluates', async () => {
    await place.succeed('npx', [...EVALUATION, '--log', 'csv:logs'], {
      ...python,
      MUSTER_LOG_PYTHON: path.join(REPOSITORY, '.venv/bin/python'),
    });
    expect(await readFile(place.path('logs/muster.csv'), 'utf8')).toMatch(/^step,.*\r?\n1,,500/);
  });

  it('holds compiled files alone, and none of the tests', async () => {
    const packed = JSON.parse(await place.succeed('npm', ['pack', '--dry-run', '--json', path.join(REPOSITORY, 'dist/package')]));
    const files: readonly string[] = packed[0].files.map((file: { path: string }) => file.path);
    expect(files.filter((file) => /(?<!\.d)\.ts$|^test\/|\.test\.|(^|\/)tests?\/|__pycache__|\.pyc$/.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['bin/muster.js', 'config/default.yaml', 'runner/__main__.py', 'src/app/main.d.ts']));
    await expect(access(place.path('node_modules/.bin/muster'))).resolves.toBeUndefined();
  });
});
