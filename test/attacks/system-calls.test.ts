import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { REFUSED_SYSTEM_CALLS } from '../../src/adapters/sandbox/local/refused-system-calls.ts';
import { AttackScene, ECHO, Neighbour } from './attack-scene.ts';

const architecture = process.arch === 'arm64' ? 'arm64' : 'x64';
const here = REFUSED_SYSTEM_CALLS.flatMap((call) => {
  const number = call[architecture];
  return number === undefined ? [] : [{ ...call, number }];
});

describe('a program in a forked sandbox that asks the kernel for what it may not', () => {
  let scene: AttackScene;
  let neighbour: Neighbour;
  beforeAll(async () => {
    scene = await AttackScene.open();
    neighbour = new Neighbour(await scene.create(ECHO));
  });
  afterEach(() => neighbour.answers());
  afterAll(() => scene[Symbol.asyncDispose]());

  it('gets the answer of the table to every call in it, whatever the arguments are', async () => {
    const calls = here.map(({ number, whenArgumentHas = 0 }) => [number, whenArgumentHas]);
    // All bits of the condition, and each alone. The other arguments would be wrong for every call, if it were let through.
    const answers = await scene.report(`
def answers(number, bits):
    flags = [bits] + [1 << i for i in range(32) if bits >> i & 1]
    return sorted({str(call(number, flag, -1, -1, -1, -1, -1)) for flag in flags})
print(json.dumps([answers(*each) for each in ${JSON.stringify(calls)}]))
`);
    expect(answers).toEqual(here.map(({ answer }) => [answer]));
  });

  it('gets the same answers in every process and thread that it starts, and after it has become another program', async () => {
    const source = 'import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(272, 0x10000000), ctypes.get_errno())';
    const answers = await scene.report(`
import subprocess, threading
seen = []
def ask():
    seen.append(call(${unshareHere()}, 0x10000000))
ask()
thread = threading.Thread(target=ask); thread.start(); thread.join()
reading, writing = os.pipe()
if os.fork() == 0:
    ask()
    os.write(writing, str(seen[-1]).encode())
    os._exit(0)
seen.append(os.read(reading, 16).decode())
seen.append(subprocess.run([sys.executable, '-I', '-c', ${JSON.stringify(source.replace('272', String(unshareHere())))}], capture_output=True, text=True).stdout.strip())
print(json.dumps(seen))
`);
    expect(answers).toEqual(['EPERM', 'EPERM', 'EPERM', '-1 1']);
  });

  it('can start threads and processes, for which its C library falls back to the calls that are left', async () => {
    const seen = await scene.report(`
import multiprocessing, subprocess, threading
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
print(json.dumps([subprocess.run(['true']).returncode, os.system('exit 3') >> 8]))
`);
    expect(seen).toEqual([0, 3]);
  });

  it.runIf(process.arch === 'x64')('is not heard under the numbers of x32', async () => {
    const bit = 0x4000_0000;
    const numbers = [bit, bit + 1, bit + 512, ...here.map(({ number }) => bit + number)];
    const answers = await scene.report(`print(json.dumps(sorted({str(call(n, -1, -1, -1)) for n in ${JSON.stringify(numbers)}})))`);
    expect(answers).toEqual(['ENOSYS']);
  });

  it.runIf(process.arch === 'x64')('is ended when it calls as a 32-bit program does', async () => {
    // mov eax, 20 (getpid of the 32-bit table); int 0x80; ret
    const { exit } = await scene.run(`
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('b814000000cd80c3'))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
`);
    // SIGSYS
    expect(exit).toEqual({ kind: 'exited', code: 128 + 31 });
  });

  it('cannot take the filter or its limits off, nor get privileges', async () => {
    const seen = await scene.report(`
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
    // Users and groups but its own do not exist in its namespace.
    expect(seen).toEqual([['EINVAL', 'EINVAL', 'EPERM', -1, -1], ['kept', 'kept', 'kept'], '2', '1']);
  });
});

function unshareHere(): number {
  return here.find(({ name }) => name === 'unshare')?.number ?? -1;
}
