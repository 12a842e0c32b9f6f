import { getPriority } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createPythonTemplate } from '../../src/adapters/sandbox/local/template/python-template.ts';
import type { Sandbox, SandboxExit } from '../../src/pool/ports/sandbox.ts';
import { firstLine, NEVER } from '../contract/sandbox-fixture.ts';
import { AttackFixture, PYTHON } from './attack-fixture.ts';
import { OwnModules } from './own-modules.ts';

const REPOSITORY = path.join(import.meta.dirname, '../..');

let fixture: AttackFixture;
let modules: OwnModules;
beforeEach(async () => {
  fixture = await AttackFixture.open();
  modules = await OwnModules.open();
});
afterEach(async () => {
  await fixture[Symbol.asyncDispose]();
  await modules[Symbol.asyncDispose]();
});

/** What the same program prints as JSON in several sandboxes that are forked after this source was imported. */
async function inEach(imported: string, program: string, count = 3): Promise<readonly unknown[]> {
  const changes = await modules.importing(imported);
  const sandboxes = await Promise.all(
    Array.from({ length: count }, () => fixture.create([PYTHON, '-I', '-c', `import json, own\n${program}`], changes)),
  );
  return Promise.all(sandboxes.map(printed));
}

async function printed(sandbox: Sandbox): Promise<unknown> {
  const line = await firstLine(sandbox);
  expect(await sandbox.exit).toEqual({ kind: 'exited', code: 0 });
  return JSON.parse(line);
}

async function readAll(sandbox: Sandbox): Promise<{ readonly stdout: string; readonly stderr: string; readonly exit: SandboxExit }> {
  const [stdout, stderr, exit] = await Promise.all([text(sandbox.stdout), text(sandbox.stderr), sandbox.exit]);
  return { stdout, stderr, exit };
}

function distinct(values: readonly unknown[]): number {
  return new Set(values.map((value) => JSON.stringify(value))).size;
}

const MODULES = 'multiprocessing, os, random, secrets, ssl, tempfile, uuid';
/** A source of chance, what is done with it before the fork, and what is drawn from it in each sandbox. */
const SOURCES = [
  ['Python’s generator', 'import random; random.seed(1); random.random()', 'random.random()'],
  ['the kernel', 'import os; os.urandom(8)', 'os.urandom(8).hex()'],
  ['UUIDs', 'import uuid; uuid.uuid1(); uuid.uuid4()', 'str(uuid.uuid4())'],
  ['UUIDs of the clock', '', 'str(uuid.uuid1())'],
  ['secrets', 'import secrets; secrets.token_hex()', 'secrets.token_hex()'],
  ['names of temporary files', 'import tempfile; tempfile._get_candidate_names()', 'next(tempfile._get_candidate_names())'],
  ['OpenSSL', 'import ssl; ssl.RAND_bytes(8)', 'ssl.RAND_bytes(8).hex()'],
  ['the key by which processes trust each other', 'import multiprocessing', 'bytes(multiprocessing.current_process().authkey).hex()'],
] as const;

describe('sandboxes that are forked from one zygote', () => {
  // One zygote for all: what takes the time is to start it.
  it('draw differently from every source of chance, also where it was drawn from before the fork', async () => {
    const imported = SOURCES.map(([, before]) => before).join('\n');
    const entries = SOURCES.map(([name, , value]) => `${JSON.stringify(name)}: ${value}`).join(', ');
    const seen = await inEach(imported, `import ${MODULES}\nprint(json.dumps({${entries}}))`);
    const drawn = z.array(z.record(z.string(), z.unknown())).parse(seen);
    expect(drawn.map((each) => Object.keys(each))).toEqual(drawn.map(() => SOURCES.map(([name]) => name)));
    expect(SOURCES.filter(([name]) => distinct(drawn.map((each) => each[name])) < drawn.length)).toEqual([]);
  });

  it('draw differently from Python’s generator where nothing has drawn from it', async () => {
    const drawn = await inEach('import random', 'import random; print(json.dumps(random.random()))');
    expect(distinct(drawn)).toBe(drawn.length);
  });

  it('hash alike, as every sandbox does: the order of a set is part of what an episode’s result depends on', async () => {
    const hashes = await inEach('', "import sys; print(json.dumps([hash('a'), hash('b'), sys.flags.hash_randomization]))");
    expect(distinct(hashes)).toBe(1);
  });

  it('begin in the same state, whatever another has done with its own', async () => {
    const changes = await modules.importing("import os\nknown = ['from the zygote']\nos.environ['OF_THE_ZYGOTE'] = 'yes'");
    const program = `
import json, os, signal, sys, threading, own
seen = {
    'memory': list(own.known), 'environment': sorted(set(os.environ) - {'LC_CTYPE'}), 'directory': os.getcwd(), 'mask': os.umask(0o777),
    'files': sorted(os.listdir('/tmp') + os.listdir('/dev/shm')), 'descriptors': [fd for fd in range(64) if os.path.exists(f'/proc/self/fd/{fd}')],
    'threads': threading.active_count(), 'signals': [signal.getsignal(n).__class__.__name__ for n in (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1)],
    'limits': __import__('resource').getrlimit(__import__('resource').RLIMIT_NOFILE), 'path': sys.argv, 'nice': os.nice(0),
}
print(json.dumps(seen), flush=True)
own.known.append('written after the fork'); os.environ['LEFT'] = 'behind'; os.chdir('/dev/shm')
signal.signal(signal.SIGUSR1, signal.SIG_IGN); os.nice(5)
for directory in ('/tmp', '/dev/shm'): open(directory + '/left', 'w').write('behind')
os.dup2(1, 40); os.set_inheritable(40, True)
sys.stdin.read()
`;
    const first = await fixture.create([PYTHON, '-I', '-c', program], changes);
    const before: unknown = JSON.parse(await firstLine(first));
    const second = await fixture.create([PYTHON, '-I', '-c', program], changes);
    expect(JSON.parse(await firstLine(second))).toEqual(before);
    expect(before).toEqual({
      memory: ['from the zygote'],
      environment: expect.not.arrayContaining(['LEFT']),
      directory: '/tmp',
      mask: expect.any(Number),
      files: [],
      descriptors: [0, 1, 2],
      threads: 1,
      signals: ['Handlers', 'Handlers', 'Handlers'],
      limits: [4096, 4096],
      path: ['-c'],
      nice: getPriority(),
    });
  });

  it('have nothing on their output of what was printed while the zygote imported', async () => {
    const changes = await modules.importing(`
import ctypes, sys
print('printed by a module')
sys.stdout.write('and not flushed')
ctypes.CDLL(None).printf(b'printed by a library in C')
print('said as an error', file=sys.stderr)
`);
    const source =
      'import ctypes, sys; print("mine"); sys.stdout.flush(); ctypes.CDLL(None).printf(b"of C\\n"); ctypes.CDLL(None).fflush(None)';
    const sandboxes = await Promise.all([1, 2].map(() => fixture.create([PYTHON, '-I', '-c', source], changes)));
    const outputs = await Promise.all(sandboxes.map(readAll));
    const mine = { stdout: 'mine\nof C\n', stderr: '', exit: { kind: 'exited', code: 0 } };
    expect(outputs).toEqual([mine, mine]);
  });

  it('draw differently from NumPy’s global generator, and from those that it makes', async () => {
    const settings = { imports: ['numpy'], environment: {}, mounts: [], network: 'none', demands: [], start: 'forked' } as const;
    const { zygote, mounts } = await createPythonTemplate(
      'numpy',
      { ...settings, python: 'auto', limits: fixture.template([]).limits },
      REPOSITORY,
      NEVER,
    );
    if (!zygote) throw new Error('the template is not forked');
    const program = 'import json, numpy; print(json.dumps([numpy.random.random(), numpy.random.default_rng().random()]))';
    const sandboxes = await Promise.all([1, 2, 3].map(() => fixture.create([zygote.python, '-I', '-c', program], { zygote, mounts })));
    const drawn = z.array(z.tuple([z.number(), z.number()])).parse(await Promise.all(sandboxes.map(printed)));
    expect(distinct(drawn.map(([first]) => first))).toBe(3);
    expect(distinct(drawn.map(([, second]) => second))).toBe(3);
  });
});
