import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/pool/ports/sandbox.ts';
import { exchange, firstLine } from '../contract/sandbox-fixture.ts';
import { AttackFixture, limitsHere, Neighbour } from './attack-fixture.ts';

const MEBIBYTE = 2 ** 20;
const limits = await limitsHere();
const holdsMemory = limits.memory.scope === 'tree';
const holdsProcesses = limits.processes.scope === 'tree';

/** Needs, for every answer, what the attackers fill: a process, memory, a file, a descriptor, a pipe, a thread. */
const WORKER = `
import subprocess, threading
for line in sys.stdin:
    with open('/tmp/work', 'w') as file: file.write(line)
    thread = threading.Thread(target=bytearray, args=(2**20,)); thread.start(); thread.join()
    print(subprocess.run(['cat', '/tmp/work'], capture_output=True, text=True).stdout, end='', flush=True)
`;

describe('a program in a forked sandbox that takes all that there is of', () => {
  let fixture: AttackFixture;
  let neighbour: Neighbour;
  beforeAll(async () => {
    fixture = await AttackFixture.open();
    neighbour = new Neighbour(await fixture.attacker(WORKER));
  });
  afterEach(async () => {
    await neighbour.answers();
    // Others can still be made, too.
    await (await fixture.attacker('pass')).destroy();
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  /** Runs an attacker until it has taken what it can, and holds on to it while the neighbour works. */
  async function whileHolding(source: string): Promise<unknown> {
    const attacker: Sandbox = await fixture.attacker(`import json\n${source}\nprint(json.dumps(held), flush=True)\nsys.stdin.read()`);
    const held: unknown = JSON.parse(await firstLine(attacker));
    await neighbour.answers();
    await exchange(await fixture.create(['cat']), 'a new one works\n');
    await attacker.destroy();
    return held;
  }

  it.runIf(holdsProcesses)('process ids, by forking and by threads', async () => {
    const forked = await whileHolding(`
import signal
held = 0
try:
    while held < 1000:
        if os.fork() == 0: signal.pause()
        held += 1
except OSError:
    pass
`);
    expect(forked).toBe(31);
    const threads = await whileHolding(`
import threading
threading.stack_size(2**16)
held, stay = 0, threading.Event()
try:
    while held < 1000:
        threading.Thread(target=stay.wait, daemon=True).start()
        held += 1
except RuntimeError:
    pass
`);
    expect(threads).toBe(31);
  });

  it.runIf(holdsMemory).each([
    ['memory of its own', 'held = [bytearray(b"x") * 2**20 for _ in range(4096)]'],
    ['memory that lies in nameless files', 'for _ in range(4096): os.write(os.memfd_create("x"), bytes(2**20))'],
    [
      'memory that is shared by key',
      'for i in range(4096): libc.memset(ctypes.c_void_p(shmat(libc.shmget(0, 2**20, 0o1600), None, 0)), 1, 2**20)',
    ],
    [
      'memory, in many processes',
      'for _ in range(16):\n    if os.fork() == 0: held = bytearray(b"x") * 2**26; time.sleep(1000)\nos.wait(); os.kill(os.getpid(), 9)',
    ],
    [
      'memory of the kernel, by sockets that are not read',
      `
kept = []
while True:
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); kept.append(pair)
    pair[0].setblocking(False)
    try:
        while True: pair[0].send(bytes(60000))
    except BlockingIOError:
        pass
    if len(kept) > 1500:
        while os.fork() != 0: pass
        kept = []
`,
    ],
  ])('%s', async (_, source) => {
    const { exit } = await fixture.run(`shmat = libc.shmat; shmat.restype = ctypes.c_void_p\n${source}`);
    expect(exit).toEqual({ kind: 'out-of-memory' });
  });

  it('disk', async () => {
    const held = await whileHolding(`
held = 0
for directory in ('/tmp', '/dev/shm'):
    try:
        with open(directory + '/bomb', 'wb', buffering=0) as file:
            while held < 2**30: held += file.write(bytes(2**16))
    except OSError as error:
        assert error.errno == errno.ENOSPC
`);
    expect(held).toBeGreaterThan(8 * MEBIBYTE);
    expect(held).toBeLessThanOrEqual(16 * MEBIBYTE);
  });

  it('inodes: empty files, directories, links', async () => {
    const held = await whileHolding(`
held = 0
for directory in ('/tmp', '/dev/shm'):
    try:
        while held < 200000:
            name = f'{directory}/{held}'
            (lambda: open(name, 'x').close(), lambda: os.mkdir(name), lambda: os.symlink('x', name))[held % 3]()
            held += 1
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
`);
    expect(held).toBeGreaterThan(1000);
    // A KiB of the kernel's memory is reckoned for each.
    expect(held).toBeLessThanOrEqual((16 * MEBIBYTE) / 1024);
  });

  it('descriptors', async () => {
    const held = await whileHolding(`
held, kept = 3, []
try:
    while held < 100000:
        kept.append(os.open('/dev/null', os.O_RDONLY))
        held += 1
except OSError as error:
    assert error.errno == errno.EMFILE
os.close(kept.pop()); os.close(kept.pop())
`);
    expect(held).toBe(4096);
  });

  // The kernel counts those on their way for a user, and all sandboxes are one user's: neighbours cannot send any either while this lasts.
  it('descriptors on their way, by sending them without a receiver', async () => {
    const held = await whileHolding(`
held, kept = 0, []
try:
    while held < 100000:
        pair = socket.socketpair()
        kept.append(pair)
        for _ in range(16):
            socket.send_fds(pair[0], [b'x'], [0] * 250)
            held += 250
except OSError as error:
    assert error.errno in (errno.ETOOMANYREFS, errno.EMFILE), error
`);
    expect(held).toBeGreaterThan(1000);
  });

  it('room in pipes', async () => {
    const held = await whileHolding(`
import fcntl
F_SETPIPE_SZ = 1031
held, kept = 0, []
try:
    while held < 2**28:
        kept.append(os.pipe())
        try:
            fcntl.fcntl(kept[-1][1], F_SETPIPE_SZ, 2**20)
        except PermissionError:
            pass
        os.set_blocking(kept[-1][1], False)
        try:
            while True: held += os.write(kept[-1][1], bytes(4096))
        except BlockingIOError:
            pass
except OSError as error:
    assert error.errno in (errno.EMFILE, errno.ENFILE), error
for pipe in kept[:8]: os.close(pipe[0]); os.close(pipe[1])
`);
    expect(held).toBeGreaterThan(MEBIBYTE);
  });
});
