import { readdir, readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { firstLine } from '../contract/sandbox-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { AttackFixture, ECHO, Neighbour } from './attack-fixture.ts';

const MARKER = `daemon-${process.pid}`;
/** Out of the session, the group and the parent’s sight; deaf to every signal that a process can be deaf to. */
const DAEMONS = `
import signal
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
def leave(generations):
    for _ in range(generations):
        if os.fork() != 0: os._exit(0)
        os.setsid()
ready, tell = os.pipe()
for generations in (1, 2, 5):
    if os.fork() == 0:
        leave(generations)
        libc.prctl(PR_SET_PDEATHSIG, 0); libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, signal.SIG_IGN)
        os.write(tell, b'x')
        if generations == 5: os.kill(os.getpid(), signal.SIGSTOP)
        os.execvp('sh', ['sh', '-c', 'while :; do sleep 1000; done', '${MARKER}'])
for _ in range(3): os.read(ready, 1)
print('left', flush=True)
`;

async function daemons(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (argv.includes(MARKER)) found.push(pid);
  }
  return found;
}

describe('daemons that a program in a forked sandbox leaves behind a double fork', () => {
  let fixture: AttackFixture;
  let neighbour: Neighbour;
  beforeAll(async () => {
    fixture = await AttackFixture.open();
    neighbour = new Neighbour(await fixture.create(ECHO));
  });
  afterEach(async () => {
    await eventually('no daemon is left', async () => (await daemons()).length === 0);
    await neighbour.answers();
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  it('are gone when the program has ended', async () => {
    const attacker = await fixture.attacker(`${DAEMONS}\nsys.stdin.readline()\nos._exit(5)`);
    expect(await firstLine(attacker)).toBe('left\n');
    await eventually('the daemons run, all but the one that has stopped itself', async () => (await daemons()).length === 2);
    attacker.stdin.end('go\n');
    expect(await attacker.exit).toEqual({ kind: 'exited', code: 5 });
  });

  it('are gone when the sandbox is destroyed', async () => {
    const attacker = await fixture.attacker(`${DAEMONS}\nsys.stdin.read()`);
    expect(await firstLine(attacker)).toBe('left\n');
    await attacker.destroy();
    expect(await attacker.exit).toEqual({ kind: 'destroyed' });
  });

  it('are gone when the program has killed itself, and all that it may', async () => {
    const attacker = await fixture.attacker(`${DAEMONS}\nos.kill(os.getpid(), signal.SIGKILL)`);
    expect(await firstLine(attacker)).toBe('left\n');
    expect(await attacker.exit).toEqual({ kind: 'exited', code: 128 + 9 });
  });

  it('do not keep the streams of the program open', async () => {
    const { exit, stdout } = await fixture.run(`${DAEMONS}\nos._exit(0)`);
    expect({ exit, stdout }).toEqual({ exit: { kind: 'exited', code: 0 }, stdout: 'left' });
  });
});
