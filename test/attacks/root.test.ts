import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OUTSIDE_UID } from '../../src/adapters/sandbox/bubblewrap/command/own-user.ts';
import { listProcesses } from '../support/process-table.ts';
import { firstLine, NEVER } from '../contract/sandbox-fixture.ts';
import { AttackFixture, ECHO, FORKED_MOUNTS, Neighbour, PYTHON, RUNNER, WAYS, ZYGOTE } from './attack-fixture.ts';

const isRoot = process.getuid?.() === 0;
/** What it takes to enter a namespace, in the user namespace that it belongs to. */
const CAP_SYS_CHROOT = 1 << 18;
const CAP_SYS_ADMIN = 1 << 21;

/** Becomes the user of one program, in its user namespace but not behind its other walls, and tries to look into it and into another. */
const INTRUDER = `
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
own, other = sys.argv[1:]
NEW_USER, PTRACE_SEIZE = 0x10000000, 0x4206
os.setgroups([])
assert libc.setns(os.open(f'/proc/{own}/ns/user', os.O_RDONLY), NEW_USER) == 0
os.setresgid(1000, 1000, 1000)
os.setresuid(1000, 1000, 1000)
assert libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()) == 0
def refused(act, path):
    try:
        act(path)
    except OSError as error:
        return errno.errorcode[error.errno]
def looked(pid):
    acts = ((os.readlink, 'root'), (os.readlink, 'fd/0'), (lambda path: open(path).read(), 'environ'))
    return [refused(act, f'/proc/{pid}/{name}') for act, name in acts]
traced = libc.ptrace(PTRACE_SEIZE, int(other), None, None)
print(json.dumps({'own': looked(own), 'other': looked(other), 'traced': 'done' if traced == 0 else errno.errorcode[ctypes.get_errno()]}))
`;

describe.runIf(isRoot).each(WAYS)('a program in a %s sandbox that root has made', (start) => {
  let fixture: AttackFixture;
  let neighbour: Neighbour;
  let directory: string;
  beforeAll(async () => {
    fixture = await AttackFixture.open({ start });
    neighbour = new Neighbour(await fixture.create(ECHO));
    // Only root can go there.
    directory = await mkdtemp(path.join(tmpdir(), 'muster-root-'));
  });
  afterEach(() => neighbour.answers());
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  it('belongs on the host to a user and a group that own nothing, with all that it starts', async () => {
    const marker = path.basename(directory);
    const sandbox = await fixture.create(['sh', '-c', '(echo ready; read -r line; echo); echo', marker]);
    await new Promise((resolve) => sandbox.stdout.once('data', resolve));
    const processes = listProcesses().filter(({ argv }) => argv[0] === 'sh' && argv.includes(marker));
    const identities = await Promise.all(
      processes.map(async ({ pid }) =>
        [...(await readFile(`/proc/${pid}/status`, 'utf8')).matchAll(/^(?:Uid|Gid|Groups):.*$/gm)].join('\n'),
      ),
    );
    await sandbox.destroy();
    const four = `\t${OUTSIDE_UID}`.repeat(4);
    expect(identities.map((identity) => identity.trim())).toEqual(Array<string>(2).fill(`Uid:${four}\nGid:${four}\nGroups:`));
    const known = (await Promise.all(['/etc/passwd', '/etc/group'].map((file) => readFile(file, 'utf8')))).join('');
    expect(known).not.toContain(`:${OUTSIDE_UID}:`);
  });

  it('has a user namespace of its own: its user reads and traces no program of another sandbox, not even one whose process id it knows', async () => {
    const marker = `${path.basename(directory)}-apart`;
    const command = ['sh', '-c', 'echo ready; read -r line', marker];
    const sandboxes = [await fixture.create(command), await fixture.create(command)];
    for (const sandbox of sandboxes) expect(await firstLine(sandbox)).toBe('ready\n');
    const processes = listProcesses().filter(({ argv }) => argv[0] === 'sh' && argv.includes(marker));
    const [own, other] = processes.map(({ pid }) => String(pid));
    const seen: unknown = JSON.parse(execFileSync(PYTHON, ['-I', '-c', INTRUDER, own ?? '', other ?? ''], { encoding: 'utf8' }));
    await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
    expect(processes).toHaveLength(2);
    expect(seen).toEqual({ own: [null, null, null], other: ['EACCES', 'EACCES', 'EACCES'], traced: 'EPERM' });
  });

  it('reads and writes nothing in /proc that is there for root alone', async () => {
    const seen = await fixture.report(`
import stat
def opened(path, flags):
    return refused(lambda: os.close(os.open(path, flags | os.O_NONBLOCK)))
places = [os.path.join(d, f) for top in ('/proc/sys', '/proc/irq', '/proc/fs', '/proc/driver') for d, _, files in os.walk(top) for f in files]
places += [f'/proc/{name}' for name in os.listdir('/proc')]
places = [place for place in places if stat.S_ISREG(os.lstat(place).st_mode)]
secret = [place for place in places if not os.stat(place).st_mode & 0o004]
addresses = [line.split()[0] for line in open('/proc/kallsyms')][:100] if os.path.exists('/proc/kallsyms') else []
print(json.dumps([len(secret) > 0, [place for place in secret if opened(place, os.O_RDONLY) is None],
    [place for place in places if opened(place, os.O_WRONLY) is None], sorted(set(addresses) - {'0' * 16})]))
`);
    expect(seen).toEqual([true, [], [], []]);
  });

  it('sees what lies where only root can go, but not what only root may read; what it is sent it can read, whatever its mode was', async () => {
    const [shown, sent] = [path.join(directory, `shown-${start}`), path.join(directory, `sent-${start}`)];
    await mkdir(shown);
    for (const [file, mode] of [
      [path.join(shown, 'open'), 0o644],
      [path.join(shown, 'secret'), 0o600],
      [sent, 0o600],
    ] as const) {
      await writeFile(file, path.basename(file));
      await chmod(file, mode);
    }
    const source = `
import json, os, sys
def read(path):
    try: return open(path).read()
    except OSError as error: return type(error).__name__
words = sys.stdin.read().split()
open('/tmp/own', 'w').write('kept'); open('/dev/shm/own', 'w').write('kept')
print(json.dumps([read(path) for path in ['/data/open', '/data/secret', *words, '/tmp/own', '/dev/shm/own', '/etc/passwd']]))
`;
    const mounts = [...FORKED_MOUNTS, { source: shown, target: '/data' }];
    const umask = process.umask(0o077);
    try {
      const sandbox = await fixture.create([PYTHON, '-I', '-c', source], { mounts });
      const file = await sandbox.upload('deep/down/file', { kind: 'file', hostPath: sent }, NEVER);
      const stream = await sandbox.upload('stream', { kind: 'stream', stream: Readable.from(['streamed']) }, NEVER);
      sandbox.stdin.end(`${file} ${stream}`);
      const answers: unknown = JSON.parse(await text(sandbox.stdout));
      await sandbox.destroy();
      const passwd = 'sandbox:x:1000:1000:sandbox:/tmp:/bin/sh\n';
      expect(answers).toEqual(['open', 'PermissionError', path.basename(sent), 'streamed', 'kept', 'kept', passwd]);
    } finally {
      process.umask(umask);
    }
  });
});

/** Tries, in the zygote, to get from there to the host's root and to sandboxes that are forked afterwards. */
const IMPORTED = `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def mounted(kind, place):
    return None if libc.mount(kind, place, kind, 0, None) == 0 else errno.errorcode[ctypes.get_errno()]
def refused(act, *arguments):
    try:
        act(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
status = {line.split(':')[0]: line.split(':', 1)[1].strip() for line in open('/proc/self/status')}
warden = os.getppid()
os.mkdir('/tmp/proc')
SEEN = {
    'user': [os.getresuid(), os.getresgid(), os.getgroups()],
    'privileges': [int(status['CapPrm'], 16), status['NoNewPrivs']],
    'root': [refused(act, 0) for act in (os.setuid, os.setgid)],
    'warden': [refused(os.readlink, f'/proc/{warden}/{name}') for name in ('root', 'ns/mnt', 'fd/0')] + [refused(os.kill, warden, 0)],
    'mounted': [mounted(b'tmpfs', b'/usr/share'), mounted(b'proc', b'/tmp/proc')],
    'settings': refused(os.open, '/tmp/proc/sys/kernel/core_pattern', os.O_WRONLY),
}
`;

describe.runIf(isRoot)('what a template imports, in the zygote of sandboxes that root has made', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'muster-imports-'));
    await cp(RUNNER, directory, { recursive: true });
    await chmod(directory, 0o755);
    await writeFile(path.join(directory, 'imported.py'), IMPORTED);
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('belongs to their user, cannot become root, reaches neither the warden nor the machine’s settings, and mounts nothing for a sandbox', async () => {
    await using fixture = await AttackFixture.open();
    const mounts = [...FORKED_MOUNTS.filter(({ source }) => source !== RUNNER), { source: directory, target: '/runner' }];
    const source = 'import imported, json, os; print(json.dumps([imported.SEEN, len(os.listdir("/usr/share")) > 0]))';
    const zygote = { ...ZYGOTE, imports: ['imported'] };
    const sandbox = await fixture.create([PYTHON, '-I', '-c', source], { mounts, zygote });
    sandbox.stdin.end();
    const said = await text(sandbox.stdout);
    await sandbox.destroy();
    const ids = [1000, 1000, 1000];
    expect(JSON.parse(said)).toEqual([
      {
        user: [ids, ids, []],
        privileges: [CAP_SYS_ADMIN | CAP_SYS_CHROOT, '1'],
        root: ['EPERM', 'EPERM'],
        warden: ['EACCES', 'EACCES', 'EACCES', 'EPERM'],
        mounted: [null, null],
        settings: 'EACCES',
      },
      true,
    ]);
  });
});
