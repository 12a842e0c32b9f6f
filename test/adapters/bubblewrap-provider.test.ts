import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { access, chmod, mkdir, mkdtemp, open as openFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BubblewrapRuntime } from '../../src/adapters/sandbox/bubblewrap/bubblewrap-runtime.ts';
import { createBubblewrapProvider } from '../../src/adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { probeCapabilities } from '../../src/adapters/sandbox/bubblewrap/capabilities.ts';
import { runTrial } from '../../src/adapters/sandbox/local/trial.ts';
import { readStartTime } from '../../src/adapters/sandbox/local/host/process-table.ts';
import { listProcesses } from '../support/process-table.ts';
import { parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../src/pool/ports/template.ts';
import { BubblewrapContext, UNMARKED_DESCRIPTOR } from '../support/bubblewrap-context.ts';
import { eventually } from '../support/eventually.ts';
import { extent } from '../support/full-form.ts';
import { descendants, failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { SkippableClock } from '../support/skippable-clock.ts';

const NEVER = new AbortController().signal;
const IDLE = ['sh', '-c', 'echo ready; while :; do sleep 1000; done'];
const LIMITS = { memoryBytes: 64 * 2 ** 20, processes: 16, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 };

function template(command: readonly string[], changes: Partial<SandboxTemplate> = {}): SandboxTemplate {
  return { name: 'test', command, environment: {}, mounts: [], network: 'none', limits: LIMITS, demands: [], ...changes };
}

async function open(cgroups: 'detect' | 'none' = 'detect'): Promise<{ context: BubblewrapContext; provider: SandboxProvider }> {
  const context = await BubblewrapContext.open([], { cgroups });
  const provider = context.provider();
  onTestFinished(async () => {
    await provider[Symbol.asyncDispose]();
    await context[Symbol.asyncDispose]();
  });
  return { context, provider };
}

const create = (provider: SandboxProvider, of: SandboxTemplate, signal = NEVER): Promise<Sandbox> =>
  provider.create({ id: parseSandboxId('s'), template: of }, signal);

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-bwrap-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

describe('bubblewrap without control groups', () => {
  failOnLeftoverProcesses();

  it('says what is enforced for each process only, or not at all, and refuses demands for more', async () => {
    const { provider } = await open('none');
    const { limits } = await provider.describe(template(IDLE));
    expect(limits.memory).toEqual({ scope: 'process', by: 'rlimit' });
    expect(limits.cpu).toEqual({ scope: 'none', by: 'none' });
    expect(limits.disk).toEqual({ scope: 'tree', by: 'tmpfs' });
    await expect(provider.describe(template(IDLE, { demands: ['memory'] }))).rejects.toThrow(/demands the limit "memory".*Delegate=yes/);
    await expect(create(provider, template(IDLE, { demands: ['cpu'] }))).rejects.toHaveProperty('code', 'template.limit-unavailable');
  });

  it('holds each process to the memory limit', async () => {
    const { provider } = await open('none');
    const sandbox = await create(provider, template(['sh', '-c', 'ulimit -v']));
    expect(await text(sandbox.stdout)).toBe(`${LIMITS.memoryBytes / 1024}\n`);
  });
});

// The user "nobody" must be able to read the repository; where it cannot, or this user is not root, the tests cannot take that user.
const isRoot = process.getuid?.() === 0;
const readable = isRoot && (await isReadableByOthers(import.meta.dirname)) && (await isReadableByOthers(process.execPath));

describe('bubblewrap for a user without privileges', () => {
  failOnLeftoverProcesses();

  it.runIf(readable)('a fork bomb is bounded by the user namespace’s own count', async () => {
    const context = await BubblewrapContext.open([], { cgroups: 'none' });
    onTestFinished(() => context[Symbol.asyncDispose]());
    await chmod(context.stateDir, 0o777);
    const bomb = 'i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done; echo over';
    const { child, lines, created } = await context.startOwner(
      [['sh', '-c', `(${bomb}) 2>/dev/null; for p in /proc/[0-9]*; do echo $p; done; echo end`]],
      {
        uid: 65_534,
        gid: 65_534,
      },
    );
    expect(created[0]?.isolation.limits['processes']).toEqual({ scope: 'tree', by: 'rlimit' });
    let processes = 0;
    for (let line = await lines.next(); !line.done && line.value !== 'end'; line = await lines.next()) {
      if (line.value.startsWith('/proc/')) processes += 1;
    }
    expect(processes).toBeGreaterThan(8);
    // 16 for the program, as the order says, and the first process; without the shell that failed to fork once more.
    expect(processes).toBeLessThanOrEqual(17);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const sweeper = context.provider();
    expect(await sweeper.sweep(NEVER)).toHaveLength(1);
  });
});

describe.each(['detect', 'none'] as const)('a creation that is aborted (control groups: %s)', (cgroups) => {
  failOnLeftoverProcesses();

  // The launcher, bubblewrap's child and the program appear one after the other.
  it.each([0, 1, 2, 3])('leaves nothing when a fork bomb has %i processes', async (processes) => {
    const { context, provider } = await open(cgroups);
    const before = descendants().length;
    await (await create(provider, template(IDLE))).destroy();
    for (let round = 0; round < extent({ short: 2, full: 5 }); round += 1) {
      const abort = new AbortController();
      const creation = create(provider, template(IDLE), abort.signal);
      const settled = creation.then((sandbox) => sandbox.destroy()).catch((error: unknown) => error);
      await reached(creation, () => descendants().length >= before + processes);
      abort.abort();
      expect([undefined, 'AbortError']).toContain(nameOf(await settled));
      await eventually('nothing is left', async () => descendants().length === before && (await context.traces()).length === 0);
    }
  });
});

describe('a template', () => {
  failOnLeftoverProcesses();

  it('has its environment and its mounts inside, and nothing of the mounts can be changed', async () => {
    const { provider } = await open();
    const source = await temporaryDirectory();
    await writeFile(path.join(source, 'data'), 'content');
    // Sandboxes of root are not root.
    await chmod(source, 0o755);
    const script = 'cat /opt/data/data; echo "-$NAME"; echo x > /opt/data/new';
    const sandbox = await create(
      provider,
      template(['sh', '-c', script], { environment: { NAME: 'a "b" $c' }, mounts: [{ source, target: '/opt/data' }] }),
    );
    expect(await text(sandbox.stdout)).toBe('content-a "b" $c\n');
    expect(await text(sandbox.stderr)).toContain('Read-only file system');
  });

  it('has an environment that the process table does not show', async () => {
    const { context, provider } = await open();
    const secret = `hush-${'x'.repeat(100_000)}`;
    const script = 'echo "${#SECRET}"; while :; do sleep 1000; done';
    const sandbox = await create(provider, template(['sh', '-c', script], { environment: { SECRET: secret } }));
    expect(String(await once(sandbox.stdout, 'data'))).toBe(`${secret.length}\n`);
    const processes = listProcesses();
    expect(processes.filter(({ argv }) => argv.some((word) => word.startsWith(context.stateDir)))).not.toEqual([]);
    expect(processes.filter(({ argv }) => argv.some((word) => word.includes('hush-')))).toEqual([]);
    await sandbox.destroy();
  });

  it('has no open descriptor inside but its input and output', async () => {
    const { provider } = await open();
    const script = 'for d in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$d ] && echo $d; done';
    const sandbox = await create(provider, template(['sh', '-c', script]));
    expect(await text(sandbox.stdout)).toBe('0\n1\n2\n');
  });

  it('ends as its program does, prints nothing of its own, and reaps its orphans', async () => {
    const { provider } = await open();
    // The orphan is there when its parent ends. The shell looks without a process of its own, until only the first process and the program are left.
    const orphans = '(sh -c "echo orphan &"); until set -- /proc/[0-9]*; [ $# = 2 ]; do :; done; echo $#';
    const ends = { [orphans]: 0, 'exit 7': 7, 'kill -KILL $$': 137, 'kill -TERM $$': 143 };
    const seen: unknown[] = [];
    for (const [script, code] of Object.entries(ends)) {
      const sandbox = await create(provider, template(['sh', '-c', script]));
      const [said, stderr, exit] = await Promise.all([text(sandbox.stdout), text(sandbox.stderr), sandbox.exit]);
      seen.push(said.trim());
      expect([script, exit, stderr]).toEqual([script, { kind: 'exited', code }, '']);
      await sandbox.destroy();
    }
    expect(seen).toEqual(['orphan\n2', '', '', '']);
  });

  it('with the host’s network reaches the host', async () => {
    const { provider } = await open();
    const sandbox = await create(provider, template(['cat', '/proc/net/dev'], { network: 'host' }));
    const inside = await text(sandbox.stdout);
    expect(inside.split('\n').length).toBeGreaterThan(3);
  });

  it('whose mount does not exist fails with what bubblewrap says, and leaves nothing', async () => {
    const { context, provider } = await open();
    const creation = create(provider, template(IDLE, { mounts: [{ source: '/no/such/place', target: '/data' }] }));
    await expect(creation).rejects.toThrow(/did not start the program.*\/no\/such\/place/);
    expect(await context.traces()).toEqual([]);
  });

  it('whose mount would cover what isolates the sandbox is refused', async () => {
    const { provider } = await open();
    for (const target of ['/', '/proc', '/proc/sys', '/dev/shm', '/muster/inbox', 'relative', '/a/../proc']) {
      const refused = provider.describe(template(IDLE, { mounts: [{ source: '/usr', target }] }));
      await expect(refused).rejects.toHaveProperty('code', 'template.invalid');
    }
  });

  it('is used under one sandbox id at a time', async () => {
    const { provider } = await open();
    const first = await create(provider, template(['cat']));
    await expect(create(provider, template(['cat']))).rejects.toHaveProperty('code', 'sandbox.create');
    first.stdin.end('still here');
    expect(await text(first.stdout)).toBe('still here');
  });
});

describe('a machine that cannot make sandboxes', () => {
  it('without bubblewrap says how to install it', async () => {
    const provider = createBubblewrapProvider({
      stateDir: await temporaryDirectory(),
      owner: parseOwnerId('o'),
      clock: new SkippableClock(),
      bwrapPath: '/no/such/bwrap',
    });
    await expect(provider.describe(template(IDLE))).rejects.toThrow(/is not installed; install bubblewrap 0.8 or newer/);
    await expect(create(provider, template(IDLE))).rejects.toHaveProperty('code', 'sandbox.unavailable');
    await provider[Symbol.asyncDispose]();
  });

  it.each([
    ['too old', 'echo bubblewrap 0.6.1', 'bubblewrap', /too old/],
    [
      'forbidden to make namespaces',
      'case $1 in --version) echo bubblewrap 0.9.0;; *) echo "bwrap: No permissions to create new namespace" >&2; exit 1;; esac',
      'namespaces',
      /No permissions/,
    ],
  ] as const)('a bubblewrap that is %s is reported with a remedy', async (_, script, finding, detail) => {
    const bwrapPath = path.join(await temporaryDirectory(), 'bwrap');
    await writeFile(bwrapPath, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const capabilities = await probeCapabilities({ bwrapPath, cgroups: 'none' });
    expect(capabilities[finding]).toMatchObject({
      state: 'missing',
      detail: expect.stringMatching(detail),
      remedy: expect.stringMatching(/./),
    });
  });

  it('that a busy machine keeps from trying is tried again for the next sandbox', async () => {
    const bwrapPath = path.join(await temporaryDirectory(), 'bwrap');
    const script = '[ "$1" = --version ] || [ ! -e "$0.slow" ] || exec sleep 1000; exec bwrap "$@"';
    await writeFile(bwrapPath, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await writeFile(`${bwrapPath}.slow`, '');
    let trialMs: number | undefined = 10;
    const clock = new SkippableClock();
    const runtime = new BubblewrapRuntime({
      bwrapPath,
      clock,
      cgroups: 'none',
      get trialMs() {
        return trialMs;
      },
    });
    const late = { code: 'sandbox.unavailable', message: expect.stringContaining('too busy to try a sandbox') };
    await expect(runtime.describe(template(IDLE))).rejects.toMatchObject(late);
    await rm(`${bwrapPath}.slow`);
    trialMs = undefined;
    expect(await runtime.describe(template(IDLE))).toMatchObject({ mechanism: 'bubblewrap' });
  });

  it('whose trial does not end in time is distinguished from one that failed', async () => {
    expect(await runTrial('/bin/sh', ['-c', 'echo begun; exec sleep 1000'], 10)).toEqual({
      code: -1,
      output: '/bin/sh had not ended after 0.01 s: it hangs, or the machine is busy with other work',
      isLate: true,
    });
    expect(await runTrial('/bin/sh', ['-c', 'echo no; exit 3'])).toEqual({ code: 3, output: 'no\n', isLate: false });
  });
});

describe('a Muster that was started with an open file', () => {
  failOnLeftoverProcesses();

  it('does not pass the file to its sandboxes', async () => {
    const context = await BubblewrapContext.open([]);
    onTestFinished(() => context[Symbol.asyncDispose]());
    const secret = await openFile(path.join(context.stateDir, 'secret'), 'w');
    const { child, lines } = await context.startOwner([['sh', '-c', 'ls -l /proc/self/fd; echo end']], { inherited: secret.fd });
    const seen: string[] = [];
    for (let line = await lines.next(); !line.done && line.value !== 'end'; line = await lines.next()) seen.push(line.value);
    expect(seen.filter((line) => line.includes(` ${UNMARKED_DESCRIPTOR} -> /dev/null`))).toHaveLength(1);
    expect(seen.filter((line) => line.includes('secret'))).toEqual([]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await secret.close();
    await context.provider().sweep(NEVER);
  });
});

describe('a sweep', () => {
  failOnLeftoverProcesses();

  it('kills sandboxes that outlived their owner, and no program that merely names their directory', async () => {
    const { context, provider } = await open();
    const orphan = path.join(context.stateDir, 'sandboxes', 'gone', 'one');
    await mkdir(path.join(orphan, 'inbox'), { recursive: true });
    const record = {
      process: { pid: 1, startTime: '0', bootId: 'another boot', pidNamespace: 'pid:[1]' },
      cgroups: ['/etc', '/tmp/muster/other'],
    };
    await writeFile(path.join(context.stateDir, 'sandboxes', 'gone', 'owner.json'), JSON.stringify(record));
    const wait = ['-c', 'echo ready; while :; do sleep 1000; done'];
    // Both in sessions of their own; the first has bubblewrap's telltale argument.
    const survivor = spawn('sh', [...wait, 'bwrap', '--die-with-parent', path.join(orphan, 'inbox')], { detached: true });
    const bystander = spawn('sh', [...wait, 'editor', path.join(orphan, 'inbox')], { detached: true });
    await Promise.all([once(survivor.stdout, 'data'), once(bystander.stdout, 'data')]);
    const [ended, swept] = await Promise.all([once(survivor, 'exit'), provider.sweep(NEVER)]);
    expect(swept).toEqual(['one']);
    expect(ended[1]).toBe('SIGKILL');
    expect(bystander.exitCode).toBeNull();
    for (const { pid } of [survivor, bystander]) if (pid !== undefined) killGroup(pid);
    await once(bystander, 'exit');
    expect((await stat('/etc')).isDirectory()).toBe(true);
  });

  it('leaves a running owner alone, and removes it once it was killed', async () => {
    const { context, provider } = await open();
    const { child, created } = await context.startOwner([IDLE]);
    expect(created).toHaveLength(1);
    expect(await provider.sweep(NEVER)).toEqual([]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await provider.sweep(NEVER)).toHaveLength(1);
  });

  it('ends the programs of a killed owner, also without control groups and when a program continues without input', async () => {
    const { context, provider } = await open('none');
    const marker = `outlives-${randomUUID()}`;
    const running = async (): Promise<number> => listProcesses().filter(({ argv }) => argv.includes(marker)).length;
    const { child, created } = await context.startOwner([[...IDLE, marker]]);
    expect(created).toHaveLength(1);
    expect(await running()).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await provider.sweep(NEVER)).toHaveLength(1);
    expect(await running()).toBe(0);
  });

  it('leaves an owner of another pid namespace alone, because it cannot be judged from here', async () => {
    const { context, provider } = await open();
    const elsewhere = path.join(context.stateDir, 'sandboxes', 'elsewhere');
    await mkdir(path.join(elsewhere, 'one'), { recursive: true });
    const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const record = { process: { pid: 1, startTime: '0', bootId, pidNamespace: 'pid:[1]' }, cgroups: [] };
    await writeFile(path.join(elsewhere, 'owner.json'), JSON.stringify(record));
    expect(await provider.sweep(NEVER)).toEqual([]);
    await access(path.join(elsewhere, 'one'));
    await rm(elsewhere, { recursive: true });
  });

  it('removes the half-made directory of an owner that died', async () => {
    const { context, provider } = await open();
    const self = await readStartTime(process.pid);
    const half = (pid: number): string => path.join(context.stateDir, 'sandboxes', `.starting-${pid}-${self}-owner`);
    // Process 1 began at another time; the other directory is this process's own.
    for (const pid of [1, process.pid]) await mkdir(half(pid), { recursive: true });
    await provider.sweep(NEVER);
    await expect(access(half(1))).rejects.toThrow('ENOENT');
    await access(half(process.pid));
    await rm(half(process.pid), { recursive: true });
  });

  it('names a damaged record, and touches nothing', async () => {
    const { context, provider } = await open();
    const gone = path.join(context.stateDir, 'sandboxes', 'gone');
    await mkdir(gone, { recursive: true });
    await writeFile(path.join(gone, 'owner.json'), '{"process":');
    await expect(provider.sweep(NEVER)).rejects.toThrow(/gone: the owner's record is damaged/);
    await rm(gone, { recursive: true });
  });
});

/** Resolves when the condition holds, or the creation is over. */
async function reached(creation: Promise<Sandbox>, condition: () => boolean): Promise<void> {
  const creating = { isOver: false };
  const end = (): boolean => (creating.isOver = true);
  creation.then(end, end);
  while (!creating.isOver && !condition()) await turn();
}

function nameOf(error: unknown): string | undefined {
  return error instanceof Error ? error.name : undefined;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has gone.
  }
}

async function isReadableByOthers(place: string): Promise<boolean> {
  for (let at = place; at !== '/'; at = path.dirname(at)) if (((await stat(at)).mode & 0o005) !== 0o005) return false;
  return true;
}
