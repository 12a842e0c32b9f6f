import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { probeGvisor } from '../../src/adapters/sandbox/gvisor/capabilities.ts';
import { checkSocketPath } from '../../src/adapters/sandbox/gvisor/command-line.ts';
import { createGvisorProvider } from '../../src/adapters/sandbox/gvisor/gvisor-provider.ts';
import { listProcesses } from '../support/process-table.ts';
import { parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../src/pool/ports/template.ts';
import { eventually } from '../support/eventually.ts';
import { GvisorContext, gvisorHere } from '../support/gvisor-context.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { SkippableClock } from '../support/skippable-clock.ts';

const NEVER = new AbortController().signal;
const IDLE = ['sh', '-c', 'echo ready; while :; do sleep 1000; done'];
const LIMITS = { memoryBytes: 128 * 2 ** 20, processes: 16, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 };

function template(command: readonly string[], changes: Partial<SandboxTemplate> = {}): SandboxTemplate {
  return { name: 'test', command, environment: {}, mounts: [], network: 'none', limits: LIMITS, demands: [], ...changes };
}

async function open(cgroups: 'detect' | 'none' = 'detect'): Promise<{ context: GvisorContext; provider: SandboxProvider }> {
  const context = await GvisorContext.open([], cgroups);
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
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-runsc-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

async function fakeRunsc(script: string): Promise<string> {
  const file = path.join(await temporaryDirectory(), 'runsc');
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

/** What a version that is new enough says of its options. */
const OPTIONS = ['rootless', 'ignore-cgroups', 'oci-seccomp', 'overlay2 value', 'platform string'];
const FLAGS = `case $1 in flags) printf '  -%s\\n' '${OPTIONS.join("' '")}'; echo 'which platform to use: systrap (default), ptrace, kvm.';;`;

describe('a machine that cannot make sandboxes under gVisor', () => {
  it('without runsc is reported with the remedy', async () => {
    const provider = createGvisorProvider({
      stateDir: await temporaryDirectory(),
      owner: parseOwnerId('o'),
      clock: new SkippableClock(),
      runscPath: '/no/such/runsc',
    });
    const described = provider.describe(template(IDLE));
    await expect(described).rejects.toThrow(/"test" wants gVisor.*\/no\/such\/runsc is not installed; install gVisor.*set the provider/);
    await expect(create(provider, template(IDLE))).rejects.toHaveProperty('code', 'sandbox.unavailable');
    await provider[Symbol.asyncDispose]();
  });

  it('whose runsc is too old is reported with what it lacks', async () => {
    const { gvisor } = await probeGvisor({ runscPath: await fakeRunsc("echo '  -rootless'"), cgroups: 'none' });
    expect(gvisor).toMatchObject({ state: 'missing', detail: expect.stringContaining('too old: it has no option --ignore-cgroups') });
  });

  it('whose runsc starts nothing is reported with the command and its output', async () => {
    const runscPath = await fakeRunsc(`${FLAGS} *) echo "no permission for $2" >&2; exit 128;; esac`);
    const { gvisor, runsc } = await probeGvisor({ runscPath, cgroups: 'none' });
    expect(runsc).toBeUndefined();
    expect(gvisor).toMatchObject({
      state: 'missing',
      detail: expect.stringMatching(/systrap: exit code 128: no permission for --platform=systrap; ptrace: exit code 128: no perm/),
      remedy: expect.stringContaining('bubblewrap'),
    });
  });

  it('with one platform uses that one', async () => {
    const runscPath = await fakeRunsc(`${FLAGS} *) case $2 in *ptrace) printf +;; *) exit 1;; esac;; esac`);
    const { runsc } = await probeGvisor({ runscPath, cgroups: 'none' });
    expect(runsc).toEqual({ path: runscPath, platform: 'ptrace', hasGoferNetwork: false });
  });

  it('whose runsc fails after the first sandbox is reported with its output, and leaves nothing', async () => {
    const stateDir = await temporaryDirectory();
    const script = `${FLAGS} *) case "$*" in *${stateDir}*) echo "out of luck" >&2; exit 128;; *) printf +;; esac;; esac`;
    const runscPath = await fakeRunsc(script);
    const provider = createGvisorProvider({ stateDir, owner: parseOwnerId('o'), clock: new SkippableClock(), runscPath, cgroups: 'none' });
    onTestFinished(() => provider[Symbol.asyncDispose]());
    await expect(create(provider, template(IDLE))).rejects.toMatchObject({
      code: 'sandbox.start',
      message: 'runsc did not start the program (exit code 128): out of luck',
    });
    expect((await readdir(path.join(stateDir, 'sandboxes', 'o'))).toSorted()).toEqual(['_etc', 'owner.json']);
  });

  it('whose state directory has too long a path is reported', () => {
    checkSocketPath(`/state/sandboxes/owner/${'x'.repeat(40)}`);
    expect(() => checkSocketPath(`/state/sandboxes/owner/${'x'.repeat(80)}`)).toThrow(/22 bytes too long; set stateDir/);
  });
});

describe('a sweep', () => {
  failOnLeftoverProcesses();

  it('kills processes of runsc that outlived their owner, and no program that names another sandbox’s state', async () => {
    const context = await GvisorContext.open([]);
    const provider = context.provider();
    onTestFinished(async () => {
      await provider[Symbol.asyncDispose]();
      await context[Symbol.asyncDispose]();
    });
    const owners = path.join(context.local.stateDir, 'sandboxes');
    await mkdir(path.join(owners, 'gone', 'one', 'r'), { recursive: true });
    const record = { process: { pid: 1, startTime: '0', bootId: 'another boot', pidNamespace: 'pid:[1]' }, cgroups: [] };
    await writeFile(path.join(owners, 'gone', 'owner.json'), JSON.stringify(record));
    const wait = ['-c', 'echo ready; read -r line', 'runsc-sandbox'];
    const survivor = spawn('sh', [...wait, `--root=${owners}/gone/one/r`, 'boot']);
    const bystander = spawn('sh', [...wait, `--root=${owners}/gone-not/one/r`, 'boot']);
    await Promise.all([once(survivor.stdout, 'data'), once(bystander.stdout, 'data')]);
    const [ended, swept] = await Promise.all([once(survivor, 'exit'), provider.sweep(NEVER)]);
    expect(swept).toEqual(['one']);
    expect(ended[1]).toBe('SIGKILL');
    expect(bystander.exitCode).toBeNull();
    bystander.stdin.end('go\n');
    await once(bystander, 'exit');
  });
});

const isHere = gvisorHere.gvisor.state === 'available';
const where = isHere ? '' : ` (not here: ${gvisorHere.gvisor.detail})`;

describe.runIf(isHere)(`gVisor without control groups${where}`, () => {
  failOnLeftoverProcesses();

  it('says what is enforced for each process only, or not at all, and refuses demands for more', async () => {
    const { provider } = await open('none');
    const { mechanism, limits } = await provider.describe(template(IDLE));
    expect(mechanism).toBe('gvisor');
    expect(limits.memory).toEqual({ scope: 'process', by: 'rlimit' });
    expect(limits.processes).toEqual({ scope: 'tree', by: 'rlimit' });
    expect(limits.cpu).toEqual({ scope: 'none', by: 'none' });
    await expect(provider.describe(template(IDLE, { demands: ['memory'] }))).rejects.toThrow(/demands the limit "memory".*drop the demand/);
    await expect(create(provider, template(IDLE, { demands: ['cpu'] }))).rejects.toHaveProperty('code', 'template.limit-unavailable');
  });

  it('holds each process to the memory limit, and leaves nothing', async () => {
    const { context, provider } = await open('none');
    const sandbox = await create(provider, template(['sh', '-c', 'ulimit -v']));
    expect(await text(sandbox.stdout)).toBe(`${LIMITS.memoryBytes / 1024}\n`);
    await sandbox.exit;
    expect(await context.traces()).toEqual([]);
    const destroyed = await create(provider, template(IDLE));
    await destroyed.destroy();
    expect(await context.traces()).toEqual([]);
  });

  it('leaves nothing of a creation that is aborted at any moment', async () => {
    const { context, provider } = await open('none');
    await (await create(provider, template(IDLE))).destroy();
    for (const processes of [0, 1, 2, 3]) {
      const abort = new AbortController();
      const creation = create(provider, template(IDLE), abort.signal);
      // One that is made before the first look stays until then.
      const settled = Promise.allSettled([creation]);
      await eventually(`${processes} processes`, async () => (await context.traces()).length >= processes);
      abort.abort();
      const [end] = await settled;
      const failure: unknown = end.status === 'fulfilled' ? await end.value.destroy() : end.reason;
      expect([undefined, 'AbortError']).toContain(failure instanceof Error ? failure.name : failure);
      expect(await context.traces()).toEqual([]);
    }
  });
});

describe.runIf(isHere)(`a template under gVisor${where}`, () => {
  failOnLeftoverProcesses();

  it('runs on a kernel that is not the host’s', async () => {
    const { provider } = await open();
    const sandbox = await create(provider, template(['sh', '-c', 'uname -r; ls -A /sys']));
    const host = (await readFile('/proc/sys/kernel/osrelease', 'utf8')).trim();
    const [kernel, ...system] = (await text(sandbox.stdout)).trim().split('\n');
    expect(kernel).toMatch(/^\d+\.\d+/);
    expect(kernel).not.toBe(host);
    expect(system).toEqual([]);
  });

  it('has no capability and no way to gain one, whatever /proc shows in this version', async () => {
    const { executable, mounts } = pythonInterpreter();
    const { provider } = await open();
    const source = `
import ctypes, os, platform, subprocess, threading
capabilities = {line.split()[1] for line in open('/proc/self/status') if line.startswith('Cap')}
NO_NEW_PRIVILEGES, NEW_USER = 39, 0x10000000
libc = ctypes.CDLL(None, use_errno=True)
CLONE = {'x86_64': 56, 'aarch64': 220}[platform.machine()]
fork_with = lambda flags: libc.syscall(CLONE, flags | 17, 0, 0, 0, 0)
print(capabilities, libc.prctl(NO_NEW_PRIVILEGES, 0, 0, 0, 0), os.getuid(), set(os.getgroups()) <= {1000})
print(libc.unshare(NEW_USER), fork_with(NEW_USER), ctypes.get_errno())
print(subprocess.run(['unshare', '--user', 'true'], stderr=subprocess.DEVNULL).returncode != 0, libc.ptrace(0, 0, 0, 0))
threading.Thread(target=print, args=('a thread',)).start()
`;
    const sandbox = await create(provider, template([executable, '-c', source], { mounts }));
    expect(await text(sandbox.stdout)).toBe(`{'0000000000000000'} 1 1000 True\n-1 -1 1\nTrue -1\na thread\n`);
  });

  it('has its environment and its mounts inside, and nothing of the mounts can be changed', async () => {
    const { provider } = await open();
    const source = await temporaryDirectory();
    await writeFile(path.join(source, 'data'), 'content');
    const script = 'cat /opt/data/data; echo "-$NAME"; echo x > /opt/data/new';
    const mounts = [
      { source, target: '/opt/data' },
      { source: path.join(source, 'data'), target: '/opt/one' },
    ];
    const sandbox = await create(
      provider,
      template(['sh', '-c', `${script}; cat /opt/one`], { environment: { NAME: 'a "b" $c' }, mounts }),
    );
    // The directory's mode is for its owner alone, who is another user inside.
    const stdout = await text(sandbox.stdout);
    expect(stdout).toContain('-a "b" $c\n');
    expect(stdout).toMatch(/content$/);
    expect(await text(sandbox.stderr)).toMatch(/Read-only file system|Permission denied/);
    expect(await readdir(source)).toEqual(['data']);
  });

  it('has an environment that the process table does not show', async () => {
    const { context, provider } = await open();
    const secret = `hush-${'x'.repeat(100_000)}`;
    const script = 'echo "${#SECRET}"; while :; do sleep 1000; done';
    const sandbox = await create(provider, template(['sh', '-c', script], { environment: { SECRET: secret } }));
    expect(String(await once(sandbox.stdout, 'data'))).toBe(`${secret.length}\n`);
    expect(await context.traces()).not.toEqual([]);
    for (const { argv } of listProcesses()) expect(argv.join(' ')).not.toContain('hush-');
    await sandbox.destroy();
  });

  it('has no open descriptor inside but its input and output', async () => {
    const { provider } = await open();
    const script = 'for d in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$d ] && echo $d; done';
    const sandbox = await create(provider, template(['sh', '-c', script]));
    expect(await text(sandbox.stdout)).toBe('0\n1\n2\n');
  });

  it('with the host’s network reaches the host', async () => {
    const { provider } = await open();
    const sandbox = await create(provider, template(['cat', '/proc/net/dev'], { network: 'host' }));
    const host = await readFile('/proc/net/dev', 'utf8');
    expect((await text(sandbox.stdout)).trim().split('\n')).toHaveLength(host.trim().split('\n').length);
  });

  it('whose mount does not exist fails with its name, and leaves nothing', async () => {
    const { context, provider } = await open();
    const creation = create(provider, template(IDLE, { mounts: [{ source: '/no/such/place', target: '/data' }] }));
    await expect(creation).rejects.toThrow('/no/such/place does not exist');
    expect(await context.traces()).toEqual([]);
  });

  it('that requires forking is refused', async () => {
    const { provider } = await open();
    const zygote = { python: '/usr/bin/python3', program: '/runner/zygote.py', imports: [], isRequired: true };
    await expect(provider.describe(template(IDLE, { zygote }))).rejects.toThrow(/"test" requires forking.*set its start to auto or plain/);
    await provider.describe(template(IDLE, { zygote: { ...zygote, isRequired: false } }));
  });

  it('whose memory is less than gVisor needs is refused', async () => {
    const { provider } = await open();
    const refused = provider.describe(template(IDLE, { limits: { ...LIMITS, memoryBytes: 8 * 2 ** 20 } }));
    await expect(refused).rejects.toThrow(/limits.memoryBytes is 8388608; expected at least 33554432/);
  });
});

// The user "nobody" must be able to read the repository; where it cannot, or this user is not root, the tests cannot take that user.
const isRoot = process.getuid?.() === 0;
const readable = isRoot && (await isReadableByOthers(import.meta.dirname)) && (await isReadableByOthers(process.execPath));

describe.runIf(isHere && readable)(`gVisor for a user without privileges${where}`, () => {
  failOnLeftoverProcesses();

  it('makes its sandboxes, bounds their processes, and leaves nothing', async () => {
    const { context, provider } = await open('none');
    await chmod(context.local.stateDir, 0o777);
    const bomb = 'i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done; echo over';
    const script = `(${bomb}) 2>/dev/null; for p in /proc/[0-9]*; do echo $p; done; id -u; echo end`;
    const { child, lines, created } = await context.local.startOwner([['sh', '-c', script]], {
      provider: 'gvisor',
      uid: 65_534,
      gid: 65_534,
    });
    expect(created[0]?.isolation.limits['processes']).toEqual({ scope: 'tree', by: 'rlimit' });
    const printed: string[] = [];
    for (let line = await lines.next(); !line.done && line.value !== 'end'; line = await lines.next()) printed.push(line.value);
    expect(printed.at(-1)).toBe('1000');
    // 16, as the order says, without the shell that failed to fork once more.
    expect(printed.filter((line) => line.startsWith('/proc/')).length).toBeGreaterThan(8);
    expect(printed.filter((line) => line.startsWith('/proc/')).length).toBeLessThanOrEqual(16);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await eventually('every process has gone', async () => !(await context.traces()).some((trace) => trace.startsWith('process')));
    expect(await provider.sweep(NEVER)).toHaveLength(1);
  });
});

describe.runIf(isHere)(`a Muster that is killed${where}`, () => {
  failOnLeftoverProcesses();

  it('takes its sandboxes under gVisor with it, before any sweep', async () => {
    const { context, provider } = await open();
    const { child } = await context.local.startOwner([IDLE, IDLE], { provider: 'gvisor' });
    const running = async (): Promise<number> => (await context.traces()).filter((trace) => trace.startsWith('process')).length;
    // runsc, sentry and gofer of each.
    expect(await running()).toBeGreaterThanOrEqual(6);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await eventually('every process has gone', async () => (await running()) === 0);
    expect(await provider.sweep(NEVER)).toHaveLength(2);
    expect(await context.traces()).toEqual([]);
  });
});

async function isReadableByOthers(place: string): Promise<boolean> {
  for (let at = place; at !== '/'; at = path.dirname(at)) if (((await stat(at)).mode & 0o005) !== 0o005) return false;
  return true;
}
