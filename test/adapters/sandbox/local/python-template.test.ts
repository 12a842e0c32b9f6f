import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectPython } from '../../../../src/adapters/sandbox/local/template/python-environment.ts';
import { createPythonTemplate } from '../../../../src/adapters/sandbox/local/template/python-template.ts';
import type { TemplateSettings } from '../../../../src/pool/ports/template-settings.ts';
import type { SandboxTemplate } from '../../../../src/pool/ports/template.ts';

const signal = new AbortController().signal;
const limits = { memoryBytes: 1, processes: 1, cpus: 1, diskBytes: 1, lifetimeSeconds: 1 };
const settings: TemplateSettings = {
  python: 'auto',
  imports: ['gymnasium'],
  start: 'plain',
  environment: { SEED: '1' },
  mounts: [{ source: '/usr/lib', target: '/data' }],
  network: 'none',
  limits,
  demands: ['memory'],
};

let project: string;
beforeEach(() => {
  project = realpathSync(mkdtempSync(join(tmpdir(), 'muster-test-')));
  // A checkout has it.
  mkdirSync(join(project, 'scripts'));
  writeFileSync(join(project, 'scripts/setup.mjs'), '');
});
afterEach(() => {
  rmSync(project, { recursive: true, force: true });
});

const make = (changes: Partial<TemplateSettings> = {}): Promise<SandboxTemplate> =>
  createPythonTemplate('local', { ...settings, ...changes }, project, signal);

/** An interpreter that reports the given facts about itself. */
function interpreter(path: string, changes: Readonly<Record<string, unknown>> = {}): string {
  const executable = join(project, path);
  const prefix = dirname(dirname(executable));
  const numpy = { state: 'imported', file: join(prefix, 'lib/numpy.py'), version: '2' };
  const report = { executable, version: [3, 12, 1], prefix, basePrefix: prefix, modules: { gymnasium: numpy, numpy }, ...changes };
  return script(executable, `cat <<'END'\n${JSON.stringify(report)}\nEND`);
}

function link(path: string, target: string): string {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
  return path;
}

function script(path: string, body: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe("a Python template's mounts and command", () => {
  it("come from the project's own environment for auto", async () => {
    const python = interpreter('.venv/bin/python');
    const environment = join(project, '.venv');
    expect(await make()).toEqual({
      name: 'local',
      command: [python, '-I', '/muster/runner', '--import', 'gymnasium'],
      environment: { SEED: '1' },
      mounts: [
        { source: environment, target: environment },
        { source: join(project, 'runner'), target: '/muster/runner' },
        { source: '/usr/lib', target: '/data' },
      ],
      network: 'none',
      limits,
      demands: ['memory'],
    });
  });

  it('have existing sources, or the mount is named in an error', async () => {
    interpreter('.venv/bin/python');
    const mounts = [...settings.mounts, { source: join(project, 'nothing'), target: '/more' }];
    await expect(make({ mounts })).rejects.toMatchObject({
      kind: 'input',
      code: 'template.mounts',
      message: expect.stringContaining(`templates.local.mounts[1].source: ${project}/nothing does not exist; expected`),
    });
  });

  it('include the base installation of a virtual environment, and nothing of /usr twice', async () => {
    const base = join(project, 'python3.12');
    mkdirSync(base);
    interpreter('.venv/bin/python', { basePrefix: base });
    expect((await make()).mounts.map(({ target }) => target)).toEqual([join(project, '.venv'), base, '/muster/runner', '/data']);
    interpreter('.venv/bin/python', { basePrefix: '/usr' });
    expect((await make()).mounts.map(({ target }) => target)).toEqual([join(project, '.venv'), '/muster/runner', '/data']);
  });

  it('include an installation under every path that leads to it', async () => {
    const executable = join(project, 'env/bin/python');
    const real = interpreter('versions/3.12.1/bin/python', {
      executable,
      prefix: join(project, 'env'),
      basePrefix: join(project, 'versions/3.12'),
    });
    symlinkSync('3.12.1', join(project, 'versions/3.12'));
    link(executable, '../../versions/3.12/bin/python');
    const targets = (await make({ python: executable })).mounts.map(({ target }) => target);
    expect(targets).toEqual([join(project, 'env'), join(project, 'versions/3.12'), dirname(dirname(real)), '/muster/runner', '/data']);
  });

  it('include a link to the interpreter outside of its installation', async () => {
    const real = interpreter('versions/3.12.1/bin/python');
    const alternative = link(join(project, 'alternatives/python'), real);
    const executable = link(join(project, 'env/bin/python'), alternative);
    interpreter('versions/3.12.1/bin/python', { executable, prefix: join(project, 'env'), modules: {} });
    const { mounts } = await make({ python: executable });
    expect(mounts).toContainEqual({ source: alternative, target: alternative });
  });

  it('come from a configured runner in another language, without a search for Python', async () => {
    const template = await make({ command: ['/opt/runner'] });
    expect(template.command).toEqual(['/opt/runner']);
    expect(template.mounts.map(({ target }) => target)).toEqual(['/muster/runner', '/data']);
  });
});

describe('an unsuitable interpreter is refused before any sandbox is made', () => {
  const old = { version: [3, 9, 2], modules: {} };
  const failed = { state: 'failed', detail: "No module named 'gymnasium'" };

  it.each([
    ['missing, from the project', () => 'auto', 'infrastructure', 'python.missing', 'npm run setup'],
    ['missing, from the configuration', () => '/nowhere/python', 'input', 'python.missing', '/nowhere/python'],
    ['not executable', () => notExecutable(), 'input', 'python.missing', 'may not be run by this user'],
    [
      'not executable, from the project',
      () => (notExecutable('.venv/bin/python'), 'auto'),
      'infrastructure',
      'python.missing',
      'run PYTHON=/usr/bin/python3 npm run setup',
    ],
    [
      'too old, from the project',
      () => (interpreter('.venv/bin/python', old), 'auto'),
      'infrastructure',
      'python.too-old',
      '3.9.2, expected 3.11',
    ],
    ['too old, from the configuration', () => interpreter('old/bin/python', old), 'input', 'python.too-old', '3.9.2, expected 3.11'],
    [
      'without gymnasium',
      () => interpreter('x/bin/python', { modules: { gymnasium: failed } }),
      'input',
      'python.package-missing',
      "-m pip install 'gymnasium>=1.0'",
    ],
    [
      'without a package and modules in it',
      () => interpreter('x/bin/python', { modules: { gymnasium: failed, 'gymnasium.envs.classic_control': failed, 'torch.nn': failed } }),
      'input',
      'python.package-missing',
      "-m pip install 'gymnasium>=1.0' torch",
    ],
    [
      'without gymnasium though it was set up',
      () => (interpreter('.venv/bin/python', { modules: { gymnasium: failed } }), 'auto'),
      'infrastructure',
      'python.package-missing',
      'run npm run setup',
    ],
    [
      'with packages that are too old',
      () =>
        interpreter('x/bin/python', {
          modules: {
            gymnasium: { state: 'imported', file: null, version: '0.29.1' },
            numpy: { state: 'imported', file: null, version: '2.0.0rc1' },
          },
        }),
      'input',
      'python.package-too-old',
      'gymnasium 0.29.1, expected 1.0 or newer; install it: ',
    ],
    [
      'with a package that sandboxes would not see',
      () => interpreter('x/bin/python', { modules: { game: { state: 'imported', file: '/home/me/game/__init__.py', version: null } } }),
      'input',
      'python.out-of-sight',
      "add /home/me/game to the template's mounts",
    ],
    [
      'that crashes',
      () => script(join(project, 'broken'), 'echo "bad marshal data" >&2; exit 1'),
      'input',
      'python.unusable',
      'bad marshal data',
    ],
    ['that is something else', () => script(join(project, 'cat'), 'echo meow'), 'input', 'python.unusable', 'meow'],
    [
      'that says nothing',
      () => script(join(project, 'false'), 'exit 3'),
      'input',
      'python.unusable',
      'does not work: it ended with code 3',
    ],
  ])('%s', async (_, prepare, kind, code, text) => {
    await expect(make({ python: prepare() })).rejects.toMatchObject({ kind, code, message: expect.stringContaining(text) });
  });

  it('not awaited after its caller gives up', async () => {
    const stop = new AbortController();
    const reason = new Error('interrupted');
    const python = script(join(project, 'hangs'), 'exec sleep 1000');
    const inspecting = inspectPython(python, [], stop.signal);
    stop.abort(reason);
    await expect(inspecting).rejects.toBe(reason);
  });
});

describe('a real interpreter', () => {
  it('answers although what it imports prints, and says which imports fail', async () => {
    const environment = await inspectPython(
      join(import.meta.dirname, '../../../../.venv/bin/python'),
      ['this', 'not_there_at_all'],
      signal,
    );
    expect(environment.modules).toMatchObject({
      this: { state: 'imported' },
      not_there_at_all: { state: 'failed', detail: expect.stringContaining('No module named') },
    });
  });
});

function notExecutable(name = 'python'): string {
  const path = join(project, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  return path;
}
