import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { killProcess } from '../../../src/adapters/sandbox/local/host/process-table.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import { explainMissingSteps } from '../../support/cloud-build/step-container.ts';
import { daemonUnavailable } from '../../support/docker/docker-daemon.ts';
import { eventually } from '../../support/eventually.ts';
import { sampled } from '../../support/full-form.ts';
import { gvisorHere } from '../../support/gvisor-context.ts';
import { listProcesses } from '../../support/process-table.ts';
import { commandOf, shell, WorkspaceFixture } from '../../support/workspace-fixture.ts';

const soon = (): AbortSignal => AbortSignal.timeout(60_000);
const BOUNDS = { files: 100, bytes: 2 ** 20 };
/** Of a process that no other of its user may look into. */
const HIDDEN =
  "python3 -c \"import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); open('/app/hidden', 'w').close(); time.sleep(30)\"";

/** A root file system with one program in it, which is linked with nothing. */
async function staticRoot(): Promise<AsyncDisposable & { readonly directory: string }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-root-'));
  await mkdir(path.join(directory, 'bin'));
  const source = path.join(import.meta.dirname, 'static-program.c');
  await promisify(execFile)('gcc', ['-static', '-o', path.join(directory, 'bin/hello'), source]);
  await symlink('bin', path.join(directory, 'sbin'));
  await chmod(directory, 0o755);
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
}

// Builds and the daemon are reached over real connections, and take longer to start than processes of this machine.
nock.restore();
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let fixture: WorkspaceFixture;

interface Variant {
  readonly provider: 'bubblewrap' | 'gvisor' | 'docker' | 'kubernetes' | 'cloud-build' | 'e2b';
  readonly start: 'forked' | 'plain';
  /** Why this machine has none. */
  readonly missing: string | undefined;
}
const FORKED: Variant = { provider: 'bubblewrap', start: 'forked', missing: undefined };
const PLAIN: Variant = { provider: 'bubblewrap', start: 'plain', missing: undefined };
/** Of processes. Not by ls, which fails on older versions of gVisor. */
const COUNT = 'set -- /proc/[0-9]*; echo $#';
/** Three processes on one processor: two of them wait at any time. Each uses 0.2 s. */
const CROWDED = `import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
children = [child for child in (os.fork(), os.fork()) if child]
start = time.process_time()
while time.process_time() < start + 0.2: pass
for child in children: os.waitpid(child, 0)
`;
const DOCKER: Variant = { provider: 'docker', start: 'plain', missing: await daemonUnavailable() };
const BUILD: Variant = { provider: 'cloud-build', start: 'plain', missing: explainMissingSteps() };
const E2B: Variant = { provider: 'e2b', start: 'plain', missing: explainMissingSteps() };
const PODS: Variant = { provider: 'kubernetes', start: 'plain', missing: undefined };
const GVISOR: Variant = {
  provider: 'gvisor',
  start: 'plain',
  missing: gvisorHere.gvisor.state === 'missing' ? gvisorHere.gvisor.detail : undefined,
};
const VARIANTS: readonly Variant[] = [FORKED, PLAIN, GVISOR, DOCKER, PODS, BUILD, E2B];

/** The root file system is the image's there. */
function isElsewhere(provider: Variant['provider']): boolean {
  return provider === 'kubernetes' || isWalledIn(provider);
}

/** By root of a machine of its own, who gives it a user that no image has. */
function isWalledIn(provider: Variant['provider']): boolean {
  return provider === 'cloud-build' || provider === 'e2b';
}

/** The same of each variant, with a fixture of its own. */
function describeEach(variants: readonly Variant[], cases: (variant: Variant) => void): void {
  describe.each(variants)('a workspace of $provider that is $start', (variant) => {
    const { missing } = variant;
    const where = missing === undefined ? 'here' : `not here: ${missing}`;
    describe.skipIf(missing !== undefined)(`it is ${where}`, () => {
      beforeAll(async () => {
        fixture = await WorkspaceFixture.open(variant.provider);
      });
      afterAll(() => fixture[Symbol.asyncDispose]());
      cases(variant);
    });
  });
}

describeEach(
  sampled(VARIANTS, (variant) => variant === FORKED),
  ({ provider, start }) => {
    it('runs commands with their input, and says how each ended and what it used', async () => {
      const { session } = await fixture.workspace({ start });
      const echoed = await shell(session, 'cat; echo problem >&2; exit 3', {
        input: Buffer.alloc(3_000_000, 'x'),
        output: { head: 10, tail: 5, most: 2 ** 24 },
      });
      expect(echoed.end).toEqual({ kind: 'exited', code: 3 });
      expect(echoed.stdout).toEqual({ head: Buffer.from('xxxxxxxxxx'), tail: Buffer.from('xxxxx'), total: 3_000_000 });
      expect(echoed.stderr.head.toString()).toBe('problem\n');
      expect((await shell(session, 'kill -9 $$')).end).toEqual({ kind: 'signalled', signal: 9 });
      expect((await shell(session, 'sleep 60', { seconds: 0.3 })).end).toEqual({ kind: 'timeout' });
      expect((await shell(session, 'yes', { output: { head: 1, tail: 1, most: 1_000_000 } })).end).toEqual({ kind: 'output-limit' });
      const missing = await shell(session, '', { argv: ['/nothing/here'] });
      expect(missing.end).toEqual({ kind: 'unstartable', detail: '/nothing/here in /app: No such file or directory' });
      const busy = await session.run(commandOf(['python3', '-c', CROWDED]), soon());
      expect(busy.cpuSeconds).toBeGreaterThan(0.3);
      // gVisor does not say how long a thread has waited for a processor.
      expect(session.waitedSeconds).toBeGreaterThan(provider === 'gvisor' ? -1 : 0.1);
      const both =
        'import os, sys, time\nb = bytearray(40_000_000)\nopen(sys.argv[1], "w").close()\nwhile not os.path.exists(sys.argv[2]): time.sleep(.01)\ntime.sleep(.2)';
      const large = await shell(session, `python3 -c '${both}' /tmp/a /tmp/b & python3 -c '${both}' /tmp/b /tmp/a; wait`);
      expect(large.end).toEqual({ kind: 'exited', code: 0 });
      expect(large.peakBytes).toBeGreaterThan(80_000_000);
    });

    it('receives and returns files, whatever is in their place', async () => {
      const { session } = await fixture.workspace({ start, writable: ['/app', '/tests'] });
      const large = Buffer.alloc(1_500_000, 'muster');
      await session.put(
        [
          { path: '/app/a b/ü.txt', content: large, executable: false },
          { path: '/app/run', content: Buffer.from('#!/bin/sh\necho ran'), executable: true },
          { path: '/app/empty', content: Buffer.alloc(0), executable: false },
        ],
        soon(),
      );
      expect((await shell(session, './run')).stdout.head.toString()).toBe('ran\n');
      const given = await session.collect(['/app'], { files: 10, bytes: 2 ** 21 }, soon());
      expect(given).toEqual({
        kind: 'collected',
        directories: ['/app', '/app/a b'],
        files: [
          { path: '/app/a b/ü.txt', content: large, executable: false },
          { path: '/app/empty', content: Buffer.alloc(0), executable: false },
          { path: '/app/run', content: Buffer.from('#!/bin/sh\necho ran'), executable: true },
        ],
      });
      await shell(
        session,
        'mkdir -p /tests/a/b; cd /tests/a; i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i+1)); done; echo x >f; chmod 0 /tests/a/b; ln -s /app /tests/link',
      );
      await session.put([{ path: '/tests/link', content: Buffer.from('mine'), executable: false }], soon());
      await expect(session.put([{ path: '/tests/../x', content: large, executable: false }], soon())).rejects.toThrow(
        'is not a normalised absolute path',
      );
      await expect(session.put([{ path: '/usr/x', content: large, executable: false }], soon())).rejects.toThrow('is in none of');
      await session.wipe('/tests', soon());
      expect((await shell(session, 'find /tests -mindepth 1; cat run')).stdout.head.toString()).toBe('#!/bin/sh\necho ran');
    });

    it.runIf(isElsewhere(provider))('is refused a root file system of this machine', async () => {
      await expect(fixture.workspace({ start, root: '/' })).rejects.toThrow('the task has an image of its own');
    });

    it.runIf(isElsewhere(provider))('sees what is mounted, and cannot change it', async () => {
      await using root = await staticRoot();
      const { session } = await fixture.workspace({ start, mounts: [{ source: root.directory, target: '/data/in' }] });
      const seen = await shell(session, '/data/in/sbin/hello there; touch /data/in/new || echo no');
      expect(seen.stdout.head.toString()).toMatch(/^hello there[^]*\nno\n$/);
    });

    it.runIf(provider === 'kubernetes')('is refused a mount that is a file', async () => {
      const mounts = [{ source: import.meta.filename, target: '/opt/data' }];
      await expect(fixture.workspace({ start, mounts })).rejects.toThrow('a file; expected directories');
    });

    it.skipIf(isElsewhere(provider))('needs nothing of its root file system: neither Python, nor a C library, nor a shell', async () => {
      await using root = await staticRoot();
      const { session } = await fixture.workspace({ start, root: root.directory, writable: ['/app'] });
      const said = await session.run(commandOf(['/bin/hello', 'world']), soon());
      expect({ end: said.end, said: said.stdout.head.toString() }).toEqual({
        end: { kind: 'exited', code: 0 },
        said: 'hello world: no /usr/bin/python3, no /bin/sh\n',
      });
      const kept = await session.collect(['/app/out'], BOUNDS, soon());
      expect(kept).toMatchObject({ kind: 'collected', files: [{ content: Buffer.from('hello world\n') }] });
      expect((await session.run(commandOf(['/bin/sh', '-c', ':']), soon())).end.kind).toBe('unstartable');
    });

    it.each([
      ['a link', 'ln -s /etc/passwd /app/out', 'link'],
      ['a link on the way', 'mkdir /app/d; echo 1 >/app/d/out; rm -rf /app/d; ln -s /etc /app/d', 'link'],
      ['a pipe', 'mkfifo /app/out', 'special'],
      ['a socket', 'python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'/app/out\')"', 'special'],
      ['a huge file', 'truncate -s 2T /app/out 2>/dev/null || truncate -s 60M /app/out', 'too-large'],
      ['many files', 'mkdir /app/out; cd /app/out; seq 1 2000 | xargs touch', 'too-many'],
      ['nothing', ':', 'missing'],
      ['a name that is no text', 'mkdir /app/out; touch "/app/out/$(printf \'\\377\')"', 'name'],
    ])('refuses %s where a file is to be', async (_, script, kind) => {
      const { sandbox, session } = await fixture.workspace({ start });
      await shell(session, script);
      const paths = kind === 'link' && script.includes('/app/d') ? ['/app/d/passwd'] : ['/app/out'];
      expect(await session.collect(paths, BOUNDS, soon())).toMatchObject({ kind: 'refused', refusal: { kind } });
      await session.ping(soon());
      await sandbox.destroy();
    });
  },
);

describeEach(
  // In the short form a build stands for what is not on this machine. gVisor takes a hundred times as long.
  sampled(VARIANTS, (variant) => variant === FORKED || variant === BUILD),
  ({ provider, start }) => {
    it('leaves nothing of a command running, and protects Muster’s program from its commands', async () => {
      const { session } = await fixture.workspace({ start });
      const daemon = '(setsid sh -c "trap : TERM HUP; while :; do sleep .01; echo late >>/app/late; done" </dev/null >/dev/null 2>&1 &)';
      expect((await shell(session, `${daemon}; until [ -s /app/late ]; do sleep .01; done; echo done`)).stdout.head.toString()).toBe(
        'done\n',
      );
      const after = await shell(session, `wc -c </app/late; sleep .2; wc -c </app/late; ${COUNT}`);
      const [before, later, processes] = after.stdout.head.toString().trim().split(/\s+/);
      expect(before).toBe(later);
      // The first process, and the shell.
      expect(Number(processes)).toBeLessThanOrEqual(2);
      // A process that no other may look into is found all the same.
      const hidden = `(setsid ${HIDDEN} </dev/null >/dev/null 2>&1 &); until [ -e /app/hidden ]; do sleep .01; done`;
      expect((await shell(session, hidden)).end).toEqual({ kind: 'exited', code: 0 });
      expect(Number((await shell(session, COUNT)).stdout.head.toString())).toBeLessThanOrEqual(2);
      // From within, the first process gets no signal that it has no handler for.
      await shell(session, 'kill -9 1; kill -TERM 1; kill -INT 1; kill -STOP 1');
      const reaches = [
        // Older versions of gVisor show it; nothing is in it that commands are not given.
        ...(provider === 'gvisor' ? [] : ['cat /proc/1/environ']),
        'ls /proc/1/fd',
        'head -c 1 /proc/1/mem',
        'echo x >/proc/1/fd/1',
        'echo x >/usr/bin/env',
        'touch /x',
      ];
      const reached: string[] = [];
      for (const each of reaches) if ((await shell(session, `(${each}) >/dev/null && echo REACHED`)).stdout.total > 0) reached.push(each);
      expect(reached).toEqual([]);
      // Older versions of gVisor do not tell of NoNewPrivs; the provider's own tests ask in another way.
      const lines = provider === 'gvisor' ? 'CapEff|CapBnd' : 'CapEff|CapBnd|NoNewPrivs';
      const who = await shell(
        session,
        `id -u${isWalledIn(provider) ? ' | grep -v "^[0-9]\\{1,9\\}$" >/dev/null || echo low' : ''}; cat /proc/self/status | grep -E "${lines}"`,
      );
      expect(who.stdout.head.toString().replaceAll(/\s+/g, ' ')).toBe(
        `${isWalledIn(provider) ? '' : '1000 '}CapEff: 0000000000000000 CapBnd: 0000000000000000 ${provider === 'gvisor' ? '' : 'NoNewPrivs: 1 '}`,
      );
      await session.ping(soon());
    });
  },
);

describeEach(
  sampled(VARIANTS, (variant) => variant === FORKED || variant === GVISOR || variant === PODS),
  ({ start }) => {
    it('ends with its memory limit, and names no directory of the host', async () => {
      const { session, sandbox } = await fixture.workspace({ start, limits: { memoryBytes: 64 * 2 ** 20 } });
      const seen = await shell(
        session,
        'tr "\\0" " " </proc/1/cmdline; echo; find /tmp /muster/inbox /home -mindepth 1; hostname | sed "s/^[0-9a-f]\\{12\\}$/sandbox/"',
      );
      for (const place of fixture.hiddenPaths) expect(seen.stdout.head.toString()).not.toContain(place);
      expect(seen.stdout.head.toString()).toMatch(/ \/muster\/runner\/\w+\.py .*\nsandbox\n$/);
      const large = await session.run(commandOf(['python3', '-c', 'b = bytearray(10 ** 9)']), soon());
      // Ended by the limit of the tree, or refused the memory where each process has a limit.
      expect([{ kind: 'out-of-memory' }, { kind: 'signalled', signal: 9 }, { kind: 'exited', code: 1 }]).toContainEqual(large.end);
      await sandbox.destroy();
    });
  },
);

describe('workspaces that are forked', () => {
  beforeAll(async () => {
    fixture = await WorkspaceFixture.open();
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  it('are lost with the process that they were forked from, and the next workspace has a new one', async () => {
    const places = { writable: ['/only-here'], start: 'forked' } as const;
    const { sandbox, session } = await fixture.workspace(places);
    const other = await fixture.workspace({ start: 'forked' });
    for (const { pid, argv } of listProcesses()) if (argv.includes('/only-here')) killProcess(pid);
    expect(await sandbox.exit).toMatchObject({ kind: 'lost' });
    await expect(shell(session, ':')).rejects.toThrow('a workspace cannot be used any more');
    await other.session.ping(soon());
    await eventually('workspaces are forked from another process', async () => {
      const next = await fixture.workspace(places).catch((error: unknown) => {
        // It may have ended just now.
        if (!(error instanceof InfrastructureError) || !error.message.endsWith('the zygote ended (SIGKILL)')) throw error;
      });
      await next?.session.ping(soon());
      return next !== undefined;
    });
  });
});
