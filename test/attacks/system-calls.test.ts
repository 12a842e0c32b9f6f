import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ArgumentCondition, REFUSED_SYSTEM_CALLS } from '../../src/adapters/sandbox/local/program/refused-system-calls.ts';
import { AttackFixture, ECHO, Neighbour, WAYS } from './attack-fixture.ts';

const architecture = process.arch === 'arm64' ? 'arm64' : 'x64';
const here = REFUSED_SYSTEM_CALLS.flatMap((call) => {
  const number = call[architecture];
  return number === undefined ? [] : [{ ...call, number }];
});

/** The lowest numbers that this machine's socket(2) knows as families, and more. */
const FAMILIES = Array.from({ length: 64 }, (_, family) => family);

describe.each(WAYS)('a program in a %s sandbox that asks the kernel for what it may not', (start) => {
  let fixture: AttackFixture;
  let neighbour: Neighbour;
  beforeAll(async () => {
    fixture = await AttackFixture.open({ start });
    neighbour = new Neighbour(await fixture.create(ECHO));
  });
  afterEach(() => neighbour.answers());
  afterAll(() => fixture[Symbol.asyncDispose]());

  it('gets the answer of the table to every call in it, whatever the arguments are', async () => {
    // The other arguments would be wrong for every call, if it were let through.
    const answers = await fixture.report(`
print(json.dumps([sorted({str(call(number, *arguments)) for arguments in vectors}) for number, vectors in ${JSON.stringify(here.map((each) => [each.number, refusedArguments(each)]))}]))
`);
    expect(answers).toEqual(here.map(({ answer }) => [answer]));
  });

  it('gets the same answers in every process and thread that it starts, and after it has become another program', async () => {
    const source = 'import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(272, 0x10000000), ctypes.get_errno())';
    const answers = await fixture.report(`
import subprocess, threading
seen = []
def ask():
    seen.append(call(${numberOf('unshare')}, 0x10000000))
ask()
thread = threading.Thread(target=ask); thread.start(); thread.join()
reading, writing = os.pipe()
if os.fork() == 0:
    ask()
    os.write(writing, str(seen[-1]).encode())
    os._exit(0)
seen.append(os.read(reading, 16).decode())
seen.append(subprocess.run([sys.executable, '-I', '-c', ${JSON.stringify(source.replace('272', String(numberOf('unshare'))))}], capture_output=True, text=True).stdout.strip())
print(json.dumps(seen))
`);
    expect(answers).toEqual(['EPERM', 'EPERM', 'EPERM', '-1 1']);
  });

  it('can start threads and processes, for which its C library falls back to the calls that are left', async () => {
    const seen = await fixture.report(`
import multiprocessing, subprocess, threading
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
print(json.dumps([subprocess.run(['true']).returncode, os.system('exit 3') >> 8]))
`);
    expect(seen).toEqual([0, 3]);
  });

  it('has sockets of the families that are listed and of no other: it neither talks to the hypervisor nor listens for it', async () => {
    const seen = await fixture.report(`
AF_VSOCK, VMADDR_CID_ANY, AF_ALG, AF_PACKET, AF_NETLINK = 40, 0xffffffff, 38, 17, 16
def family(number):
    try:
        with socket.socket(number, socket.SOCK_RAW if number == AF_NETLINK else socket.SOCK_DGRAM): return None
    except OSError as error: return errno.errorcode[error.errno]
listening = refused(lambda: socket.socket(AF_VSOCK, socket.SOCK_STREAM).bind((VMADDR_CID_ANY, 4242)))
answers = [family(number) for number in ${JSON.stringify(FAMILIES)}]
a, b = socket.socketpair(); a.send(b'through'); served = socket.create_server(('127.0.0.1', 0))
with socket.create_connection(served.getsockname()): pass
protocols = [refused(socket.socket, socket.AF_INET, socket.SOCK_STREAM, protocol) for protocol in (0, 6, 132, 256, 262)]
print(json.dumps([listening, protocols, answers, b.recv(16).decode(), [name for _, name in socket.if_nameindex()]]))
`);
    const answers = FAMILIES.map((family) => ([1, 2, 10, 16].includes(family) ? null : 'EAFNOSUPPORT'));
    const protocols = [null, null, ...Array<string>(3).fill('EPROTONOSUPPORT')];
    expect(seen).toEqual(['EAFNOSUPPORT', protocols, answers, 'through', expect.arrayContaining(['lo'])]);
  });

  it('watches no files or directories of the host, and takes nothing of what there is so many of for a user: watchers, room in queues', async () => {
    const seen = await fixture.report(`
import fcntl
watchers = [asked('inotify_init1', 0), asked('inotify_init'), asked('fanotify_init', 0, 0)]
watchers.append(refused(fcntl.fcntl, os.open('/usr/bin', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT))
own = os.open('/tmp/own', os.O_RDONLY | os.O_CREAT)
watchers.append(refused(fcntl.fcntl, own, fcntl.F_SETLEASE, fcntl.F_RDLCK))
fcntl.fcntl(own, fcntl.F_SETFD, fcntl.FD_CLOEXEC); fcntl.flock(own, fcntl.LOCK_EX)
print(json.dumps([watchers, call(${numberOf('mq_open')}, b'/queue', os.O_CREAT | os.O_RDWR, 0o600, None)]))
`);
    expect(seen).toEqual([Array<string>(5).fill('EPERM'), 'EPERM']);
  });

  it('neither sees nor sets the limits of another process, and does both for itself', async () => {
    const seen = await fixture.report(`
import resource
child = os.fork()
if child == 0:
    time.sleep(600)
others = [refused(resource.prlimit, pid, resource.RLIMIT_NOFILE, *new) for pid in (1, child, os.getppid() or 1) for new in ((), ((8, 8),))]
os.kill(child, 9); os.waitpid(child, 0)
before = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] - 1, before[1] - 1))
print(json.dumps([sorted(set(others)), before[0] - resource.getrlimit(resource.RLIMIT_NOFILE)[0]]))
`);
    expect(seen).toEqual([['EPERM'], 1]);
  });

  it.runIf(process.arch === 'x64')('is not heard under the numbers of x32', async () => {
    const bit = 0x4000_0000;
    const numbers = [bit, bit + 1, bit + 512, ...here.map(({ number }) => bit + number)];
    const answers = await fixture.report(`print(json.dumps(sorted({str(call(n, -1, -1, -1)) for n in ${JSON.stringify(numbers)}})))`);
    expect(answers).toEqual(['ENOSYS']);
  });

  it.runIf(process.arch === 'x64')('is ended when it calls as a 32-bit program does', async () => {
    // mov eax, 20 (getpid of the 32-bit table); int 0x80; ret
    const { exit } = await fixture.run(`
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('b814000000cd80c3'))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
`);
    // SIGSYS
    expect(exit).toEqual({ kind: 'exited', code: 128 + 31 });
  });

  it('cannot take the filter or its limits off, nor get privileges', async () => {
    const seen = await fixture.report(`
import resource
PR_SET_SECCOMP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 22, 47, 2
refusals = [
    refused(os.setuid, 0), refused(os.setgid, 0), refused(os.setgroups, [0]),
    libc.prctl(PR_SET_SECCOMP, 0, 0, 0, 0), libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0),
]
limits = []
for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
    soft, hard = resource.getrlimit(kind)
    try:
        resource.setrlimit(kind, (hard + 1, hard + 1))
        limits.append('raised')
    except ValueError:
        limits.append('kept')
status = {name: value.strip() for name, _, value in (line.partition(':') for line in open('/proc/self/status'))}
print(json.dumps([refusals, limits, status['Seccomp'], status['NoNewPrivs']]))
`);
    // Users and groups but its own do not exist in its namespace, except root, from which a sandbox of root became what it is.
    const other = expect.stringMatching(/^E(INVAL|PERM)$/);
    expect(seen).toEqual([[other, other, 'EPERM', -1, -1], ['kept', 'kept', 'kept'], '2', '1']);
  });
});

/** Of the argument that decides, all bits and each alone, or a number beside each that is let through; others are let through, or wrong. */
function refusedArguments({ number, when }: (typeof here)[number]): readonly (readonly number[])[] {
  const others = here.flatMap((call) => (call.number === number && call.when && 'isNoneOf' in call.when ? [call.when] : []));
  const base = [-1, -1, -1, -1, -1, -1].map((wrong, i) => others.find(({ argument }) => argument === i)?.isNoneOf[0] ?? wrong);
  return when === undefined ? [base] : refusedValues(when).map((value) => base.with(when.argument, value));
}

function refusedValues(when: ArgumentCondition): readonly number[] {
  if ('isOneOf' in when) return when.isOneOf;
  if ('isNoneOf' in when) return [-1, ...when.isNoneOf.map((value) => value + 1).filter((value) => !when.isNoneOf.includes(value))];
  return [when.hasAny, ...Array.from({ length: 32 }, (_, bit) => 2 ** bit).filter((flag) => (when.hasAny & flag) !== 0)];
}

function numberOf(call: string): number {
  return here.find(({ name }) => name === call)?.number ?? -1;
}
