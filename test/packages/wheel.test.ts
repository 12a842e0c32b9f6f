import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { dependent } from '../../scripts/dependent-process.ts';
import { isFullForm } from '../support/full-form.ts';
import { EmptyPlace, REPOSITORY } from './empty-place.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const EVALUATION = ['eval', 'cartpole.yaml', '-c', 'late.safetensors', '--episodes', '8', '-n', '2', '--json'];
const OWN_PYTHON = path.join(REPOSITORY, '.venv/bin/python');
const PROGRAM = `
import json

import muster
from muster import Summary


def mean_of(checkpoint: str) -> float | None:
    summary: Summary = muster.evaluate(checkpoint, "cartpole.yaml", stop={"rule": "fixed", "episodes": 8}, progress="off")
    return summary.mean


try:
    mean_of("absent.safetensors")
    refused = ""
except muster.MusterError as error:
    refused = str(error)
print(json.dumps({"mean": mean_of("late.safetensors"), "refused": refused}))
`;
const PAGE = `
import re
from urllib.request import urlopen

import muster

with muster.serve() as server:
    page = urlopen(server.url).read().decode()
    files = [urlopen(server.url + path).read().decode() for path in re.findall(r'"(/page/[^"]+)"', page)]
    print([len(files), ".u-legend" in files[0], "/v1/live" in files[1]])
`;
const LONG = `
import muster

with muster.serve() as server, server.client() as client:
    stop = {"rule": "fixed", "episodes": 20000}
    client.evaluate("late.safetensors", "cartpole.yaml", stop=stop, progress=lambda _: print("playing", flush=True))
`;

describe('the wheel, installed where nothing of the repository is', () => {
  let place: EmptyPlace;
  let python: string;

  beforeAll(async () => {
    place = await EmptyPlace.open();
    const built = await place.succeed(process.execPath, [path.join(REPOSITORY, 'scripts/packages/wheel.ts')]);
    await place.succeed(OWN_PYTHON, ['-m', 'venv', '--without-pip', 'venv']);
    python = place.path('venv/bin/python');
    if (!isFullForm) await bringInstalled();
    const wheel = path.join(REPOSITORY, built.trim());
    const quiet = ['--quiet', '--disable-pip-version-check', ...(isFullForm ? [] : ['--no-index'])];
    await place.succeed(OWN_PYTHON, ['-m', 'pip', '--python', python, 'install', ...quiet, wheel]);
    await place.bring('examples/game/cartpole.yaml', 'cartpole.yaml');
    await place.bring('examples/game/checkpoints/late.safetensors', 'late.safetensors');
  });
  afterAll(async () => await place[Symbol.asyncDispose]());

  /** The packages that the wheel stands on are those of the tests, as links where both places are on one disk: to download them is for the full form. */
  async function bringInstalled(): Promise<void> {
    const sites = await Promise.all(
      [OWN_PYTHON, python].map((of) => place.succeed(of, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'])),
    );
    const [installed = '', own = ''] = sites.map((site) => site.trim());
    const linked = await place.run('cp', ['--archive', '--link', `${installed}/.`, own]);
    if (linked.status !== 0) await place.succeed('cp', ['--archive', '--force', `${installed}/.`, own]);
  }

  it('serves the live page with all that it is made of', async () => {
    await place.write('page.py', PAGE);
    expect(await place.succeed(python, ['page.py'])).toBe('[2, True, True]\n');
  });

  it('has a command, also as a module, with the same official result as the checkout, and logs it', async () => {
    const printed = await place.succeed(place.path('venv/bin/muster'), [...EVALUATION, '--log', 'csv:logs']);
    const here = await place.succeed(path.join(REPOSITORY, 'muster'), EVALUATION);
    expect(JSON.stringify(JSON.parse(printed).official)).toBe(JSON.stringify(JSON.parse(here).official));
    expect(await readFile(place.path('logs/muster.csv'), 'utf8')).toMatch(/^step,.*\r?\n1,,500/);
    const versions = [
      await place.succeed(python, ['-m', 'muster', '--version']),
      await place.succeed(place.path('venv/bin/muster-eval'), ['--version']),
    ];
    expect(versions.map((version) => version.trim())).toEqual(['0.1.0', '0.1.0']);
  });

  it('grades a task by a test suite, with the pytest that it brings', async () => {
    await place.bring('examples/code/roman-numerals', 'roman-numerals');
    const args = ['verify', 'roman-numerals', '--submission', 'roman-numerals/solution', '--json'];
    const verified = await place.run(place.path('venv/bin/muster'), args);
    expect(JSON.parse(verified.stdout)).toMatchObject({ verdict: { reward: 1 } });
  });

  it('breaks the code of a repository, with the grammars that it brings', async () => {
    await place.write('calculator/calculator.js', 'export const add = (a, b) => a + b;\n');
    await place.write('calculator/package.json', '{ "type": "module", "scripts": { "test": "node --test" } }');
    await place.write('calculator/calculator.test.js', "import { test } from 'node:test';\n");
    const prepared = await place.run(place.path('venv/bin/muster'), ['prepare', 'calculator', '--out', 'tasks', '--mutations', '1']);
    expect(prepared.stderr).toContain('operator in calculator.js:1 add: refused by filter: its licence is not known');
  });

  it.runIf(isFullForm)('has types that strict mypy checks a program against', async () => {
    const program = await place.write('program.py', PROGRAM);
    const checked = await place.run(OWN_PYTHON, ['-m', 'mypy', '--strict', '--python-executable', python, program]);
    expect(checked).toMatchObject({ status: 0, stdout: expect.stringContaining('no issues found') });
  });

  it('evaluates in a program, with a server that leaves nothing', async () => {
    const program = await place.write('program.py', PROGRAM);
    const printed = JSON.parse(await place.succeed(python, [program]));
    expect(printed).toEqual({ mean: expect.any(Number), refused: expect.stringContaining('absent.safetensors') });
    expect(await processesOf(place.directory)).toEqual([]);
  });

  it('leaves nothing behind of a program that is killed while it evaluates', async () => {
    const program = await place.write('long.py', LONG);
    const killed = spawn(...dependent(python, [program]), {
      cwd: place.directory,
      env: { ...place.environment() },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(killed, 'exit');
    for await (const line of createInterface(killed.stdout)) if (line === 'playing') killed.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    await expect.poll(() => processesOf(place.directory), { timeout: 60_000 }).toEqual([]);
  });
});

/** Whose arguments or variables name a directory. */
async function processesOf(directory: string): Promise<readonly string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const processes = await Promise.all(
    ids.map(async (id) => ({ id, text: `${await textOf(id, 'cmdline')}${await textOf(id, 'environ')}` })),
  );
  return processes.filter(({ text }) => text.includes(directory)).map(({ id }) => id);
}

/** Empty for one that has ended in the meantime. */
async function textOf(id: string, file: string): Promise<string> {
  return await readFile(`/proc/${id}/${file}`, 'utf8').catch(() => '');
}
