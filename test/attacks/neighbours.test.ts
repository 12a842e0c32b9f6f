import { readdir } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/pool/ports/sandbox.ts';
import { firstLine } from '../contract/sandbox-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { AttackFixture, Neighbour } from './attack-fixture.ts';

/** Listens to every process that can reach it, prints what it receives, and answers on its input afterwards. */
const VICTIM = `
os.umask(0)
for directory in ('/tmp', '/dev/shm'):
    with open(directory + '/secret', 'w') as file: file.write('neighbour')
kept = open('/tmp/secret')
path = socket.socket(socket.AF_UNIX); path.bind('/tmp/socket'); path.listen()
abstract = socket.socket(socket.AF_UNIX); abstract.bind('\\0secret'); abstract.listen()
tcp = socket.socket(); tcp.bind(('127.0.0.1', 4711)); tcp.listen()
shared = libc.shmget(4711, 4096, 0o1666)
queue = libc.msgget(4711, 0o1666)
_, terminal = os.openpty()
print(min(shared, queue) >= 0, os.ttyname(terminal), flush=True)
for line in sys.stdin: print(line, end='', flush=True)
`;

describe('a program in a forked sandbox that looks for its neighbours', () => {
  let fixture: AttackFixture;
  let victim: Sandbox;
  let neighbour: Neighbour;
  beforeAll(async () => {
    fixture = await AttackFixture.open();
    victim = await fixture.attacker(VICTIM);
    expect(await firstLine(victim)).toBe('True /dev/pts/0\n');
    neighbour = new Neighbour(victim);
  });
  afterEach(() => neighbour.answers());
  afterAll(() => fixture[Symbol.asyncDispose]());

  it('finds none of their files in /tmp and /dev/shm, under no name that a process has for them', async () => {
    const seen = await fixture.report(`
places = ['', '/proc/self/root', '/proc/1/root', '/proc/self/cwd/..', '/proc/1/cwd', '/proc/thread-self/root']
found = [p + d for p in places for d in ('/tmp', '/dev/shm') if refused(os.listdir, p + d) is None and os.listdir(p + d)]
print(json.dumps([found, os.path.exists('/tmp/muster-sites')]))
`);
    expect(seen).toEqual([[], false]);
  });

  it('finds none of their processes, and none of the host’s', async () => {
    const seen = await fixture.report(`
processes = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
others = [pid for pid in range(1, 5000) if pid not in (1, os.getpid()) and os.path.exists(f'/proc/{pid}')]
print(json.dumps([set(processes) <= {1, os.getpid()}, others]))
`);
    expect(seen).toEqual([true, []]);
  });

  it('has no descriptor but its three streams, neither of a neighbour nor of the zygote', async () => {
    const seen = await fixture.report(`
def is_open(fd):
    return refused(os.fstat, fd) is None
streams = [os.readlink(f'/proc/self/fd/{fd}').split(':')[0] for fd in range(3)]
print(json.dumps([[fd for fd in range(5000) if is_open(fd)], streams]))
`);
    expect(seen).toEqual([
      [0, 1, 2],
      ['socket', 'socket', 'socket'],
    ]);
  });

  it('reaches none of their sockets: paths, abstract names, ports', async () => {
    const seen = await fixture.report(`
def connect(family, address):
    return refused(socket.socket(family).connect, address)
print(json.dumps([connect(socket.AF_UNIX, '/tmp/socket'), connect(socket.AF_UNIX, '\\0secret'), connect(socket.AF_INET, ('127.0.0.1', 4711)),
                  [line.split()[-1] for line in open('/proc/net/unix').readlines()[1:] if len(line.split()) > 7]]))
`);
    expect(seen).toEqual(['ENOENT', 'ECONNREFUSED', 'ECONNREFUSED', []]);
  });

  it('shares no System V or POSIX memory, queue or semaphore with them, and no terminal', async () => {
    const seen = await fixture.report(`
IPC_PRIVATE_TO_THEM = [libc.shmget(4711, 4096, 0), libc.msgget(4711, 0), libc.semget(4711, 1, 0)]
shown = [open(f'/proc/sysvipc/{kind}').read().count('\\n') - 1 for kind in ('shm', 'msg', 'sem')]
print(json.dumps([IPC_PRIVATE_TO_THEM, shown, sorted(os.listdir('/dev/pts'))]))
`);
    expect(seen).toEqual([[-1, -1, -1], [0, 0, 0], ['ptmx']]);
  });

  it('signals no process outside, however it names them, and not the process that holds its walls', async () => {
    const seen = await fixture.report(`
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
walls = [refused(os.kill, 1, number) for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT)]
walls.append(refused(signal.pidfd_send_signal, os.pidfd_open(1), signal.SIGKILL))
# Every id that a process of the host could have; its own group and process are left out.
others = {refused(os.kill, pid, signal.SIGKILL) for pid in range(3, 70000) if pid != os.getpid()}
groups = {refused(os.kill, -group, signal.SIGKILL) for group in range(3, 20000) if group != os.getpid()}
everybody = refused(os.kill, -1, signal.SIGTERM)
print(json.dumps([walls, sorted(map(str, others)), sorted(map(str, groups)), everybody, os.path.exists('/proc/self')]))
`);
    // Signals to the walls are accepted and thrown away: the kernel lets none from inside reach the first process of a pid namespace.
    expect(seen).toEqual([[null, null, null, null, null, null], ['ESRCH'], ['ESRCH'], 'ESRCH', true]);
  });

  it('neither traces nor reads nor writes the memory of the process that holds its walls', async () => {
    const seen = await fixture.report(`
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
traced = [call(101 if os.uname().machine == 'x86_64' else 117, request, 1, 0, 0) for request in (PTRACE_ATTACH, PTRACE_SEIZE)]
files = [refused(open, '/proc/1/' + name, mode) for name, mode in (('mem', 'rb'), ('mem', 'r+b'), ('environ', 'rb'), ('maps', 'rb'), ('auxv', 'rb'))]
print(json.dumps([traced, files, refused(os.listdir, '/proc/1/fd')]))
`);
    expect(seen).toEqual([['EPERM', 'EPERM'], Array(5).fill('EPERM'), 'EPERM']);
  });

  it('neither traces nor reads a process of its own through the calls that are refused, which leaves it what a parent is for', async () => {
    const seen = await fixture.report(`
import signal
child = os.fork()
if child == 0:
    signal.pause()
PTRACE_ATTACH = 16
traced = call(101 if os.uname().machine == 'x86_64' else 117, PTRACE_ATTACH, child, 0, 0)
os.kill(child, signal.SIGTERM)
print(json.dumps([traced, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]))
`);
    expect(seen).toEqual(['EPERM', -15]);
  });

  it('cannot write the files of its zygote, nor those that all sandboxes have in common', async () => {
    const seen = await fixture.report(`
import muster_zygote.program
files = [muster_zygote.program.__file__, '/runner/zygote.py', sys.executable, os.__file__, '/etc/passwd', '/muster/inbox']
def written(path):
    return [refused(open, path, 'r+b'), refused(os.chmod, path, 0o777), refused(os.utime, path), refused(os.rename, path, path + '.away'),
            refused(os.symlink, path, path + '.link')]
print(json.dumps(sorted({str(answer) for path in files for answer in written(path)})))
`);
    const answers = new Set(Array.isArray(seen) ? seen : [seen]);
    expect(answers.has('None')).toBe(false);
    expect(
      [...answers].filter((answer) => !['EROFS', 'EISDIR', 'EBUSY', 'EXDEV', 'EPERM', 'EACCES', 'ETXTBSY'].includes(String(answer))),
    ).toEqual([]);
  });

  it('writes to the zygote’s memory without effect, because it is a copy', async () => {
    const poison = `
import muster_zygote.program, muster_zygote.image, random, json
muster_zygote.program.run = muster_zygote.image.run = None
json.dumps = None
os.environ['POISON'] = 'yes'
sys.modules['os'].POISON = True
text = 'interned-by-everybody'
ctypes.memset(id(sys.intern(text)) + 48, ord('x'), len(text))
os.chdir('/'); os.umask(0o777)
`;
    expect((await fixture.run(poison)).exit).toEqual({ kind: 'exited', code: 0 });
    const seen = await fixture.report(
      `print(json.dumps([hasattr(os, 'POISON'), 'POISON' in os.environ, sys.intern('interned-by-everybody'), os.getcwd()]))`,
    );
    expect(seen).toEqual([false, false, 'interned-by-everybody', '/tmp']);
  });

  it('has found, all in all, no more descriptors in Muster than two streams a neighbour', async () => {
    const before = (await readdir('/proc/self/fd')).length;
    for (let i = 0; i < 20; i += 1) await fixture.report('print(json.dumps(os.getpid()))');
    const open = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
    await eventually('what was closed is gone', async () => (await open()) <= before);
    expect(await open()).toBeLessThanOrEqual(before);
  });
});
