import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseEpisodeIndex } from '../../src/kernel/ids.ts';
import type { Collected } from '../../src/runner/played-episode.ts';
import type { PlannedEpisode } from '../../src/runner/playlist.ts';
import { RunnerSession } from '../../src/runner/session.ts';
import { firstLine, NEVER } from '../contract/sandbox-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { heldMemory } from '../support/held-memory.ts';
import { AttackFixture, ECHO, Neighbour } from './attack-fixture.ts';

const MEBIBYTE = 2 ** 20;

/** A runner in a few lines. `honest` plays as it is asked to, and returns the episode's index as a fraction of a hundred. */
const RUNNER = `
import json
def send(frame): print(json.dumps(frame), flush=True)
def asked(kind):
    frame = json.loads(sys.stdin.readline())
    assert frame['type'] == kind, frame
    return frame
def outcome(frame, index, value): return {'type': 'completed', 'range': frame['range'], 'index': index, 'return': value, 'length': 1, 'metrics': {}, 'seconds': 0.001}
def honest(frame):
    send({'type': 'begin', 'range': frame['range']})
    for index, *_ in frame['episodes']: send(outcome(frame, index, index / 100))
send({'type': 'ready', 'protocol': 1, 'runner': 'attacker/1'})
load = asked('load')
send({'type': 'loaded', 'load': load['load'], 'digest': load['policy']['digest']})
play = asked('play')
`;
const LOAD = { policy: { path: '/p', digest: 'sha256:1' }, code: null, tasks: [], actions: 'deterministic', metrics: [] } as const;
const TERMS = { episodeMilliseconds: 60_000, beginMilliseconds: 60_000, exposure: { kind: 'data', principal: 'somebody' } } as const;

function episodes(...indices: readonly number[]): readonly PlannedEpisode[] {
  return indices.map((index) => ({ index: parseEpisodeIndex(index), task: 0, environmentSeed: index, policySeed: index }));
}

describe('a program in a forked sandbox that misuses its line to Muster', () => {
  let fixture: AttackFixture;
  let neighbour: Neighbour;
  beforeAll(async () => {
    fixture = await AttackFixture.open();
    neighbour = new Neighbour(await fixture.create(ECHO));
  });
  afterEach(() => neighbour.answers());
  afterAll(() => fixture[Symbol.asyncDispose]());

  async function sessionOf(source: string): Promise<{ readonly session: RunnerSession; readonly end: () => Promise<void> }> {
    const sandbox = await fixture.attacker(RUNNER + source);
    const session = await RunnerSession.open(sandbox, fixture.context.clock, NEVER);
    await session.load(LOAD, TERMS, NEVER);
    return {
      session,
      end: async () => {
        session.close('the test is over');
        await sandbox.destroy();
      },
    };
  }

  async function collect(session: RunnerSession, count: number): Promise<Collected> {
    const played: Collected['played'][number][] = [];
    for (;;) {
      const batch = await session.collect(NEVER);
      played.push(...batch.played);
      if (batch.closed || played.length >= count) return { ...batch, played };
    }
  }

  /** The attacker was sent episodes 10 and 11; a neighbour plays 20 and 21 at the same time. @returns what became of both. */
  async function playBesideHonest(source: string): Promise<{ readonly attacker: Collected; readonly honest: Collected }> {
    const honest = await sessionOf('honest(play)\nsys.stdin.read()');
    const attacker = await sessionOf(source);
    attacker.session.play(episodes(10, 11));
    const ofAttacker = await collect(attacker.session, 2);
    honest.session.play(episodes(20, 21));
    const ofHonest = await collect(honest.session, 2);
    await attacker.end();
    await honest.end();
    return { attacker: ofAttacker, honest: ofHonest };
  }

  it.each([
    ['of another sandbox', 'send(outcome(play, 20, 1.0))'],
    ['of its own that is not due yet', 'send(outcome(play, 11, 1.0))'],
    ['that there is none of', 'send(outcome(play, 2**40, 1.0))'],
    ['of a range that it was not sent', "send({**outcome(play, 10, 1.0), 'range': play['range'] + 1})"],
    ['twice', 'send(outcome(play, 10, 0.1)); send(outcome(play, 10, 1.0))'],
  ])('answers for an episode %s: no one’s result changes but that of the episode that was due', async (_, forgery) => {
    const { attacker, honest } = await playBesideHonest(`send({'type': 'begin', 'range': play['range']})\n${forgery}\nsys.stdin.read()`);
    expect(attacker.closed?.reason).toMatch(/^protocol violation/);
    const kinds = attacker.played.map(({ index, outcome }) => [index, outcome.kind]);
    expect(kinds.at(-1)).toEqual([kinds.length === 1 ? 10 : 11, 'failed']);
    expect(attacker.played.at(-1)?.outcome).toMatchObject({ cause: 'protocol-violation' });
    expect(honest.closed).toBeUndefined();
    expect(honest.played.map(({ index, outcome }) => [index, outcome])).toEqual(
      [20, 21].map((index) => [index, expect.objectContaining({ kind: 'completed', return: index / 100 })]),
    );
  });

  it('floods it with half a frame that never ends: it is cut off, and no more than a frame is kept', async () => {
    const { session, end } = await sessionOf(`
send({'type': 'begin', 'range': play['range']})
os.write(1, b'{"type": "completed", "detail": "')
try:
    while True: os.write(1, b'x' * 65536)
except OSError:
    pass
`);
    const before = heldMemory();
    session.play(episodes(10, 11));
    const { played, closed } = await collect(session, 2);
    expect(closed?.reason).toMatch(/^protocol violation: a malformed frame \(more than 65536 bytes\)/);
    expect(played.map(({ index, outcome }) => [index, outcome.kind])).toEqual([[10, 'failed']]);
    expect(closed?.unplayed.map(({ index }) => index)).toEqual([11]);
    await neighbour.answers();
    expect(heldMemory() - before).toBeLessThan(8 * MEBIBYTE);
    await end();
  });

  it('sends its frames in halves, bytes at a time: they are put together without blocking others', async () => {
    const { session, end } = await sessionOf(`
begin = json.dumps({'type': 'begin', 'range': play['range']}) + '\\n'
for frame in [begin] + [json.dumps(outcome(play, index, 0.5)) + '\\n' for index, *_ in play['episodes']]:
    for byte in frame.encode(): os.write(1, bytes([byte]))
sys.stdin.read()
`);
    session.play(episodes(10, 11));
    const { played } = await collect(session, 2);
    expect(played.map(({ index, outcome }) => [index, outcome])).toEqual(
      [10, 11].map((index) => [index, expect.objectContaining({ kind: 'completed', return: 0.5 })]),
    );
    await end();
  });

  it('sends descriptors along: Muster takes none', async () => {
    const before = (await readdir('/proc/self/fd')).length;
    // The kernel counts those on their way for a user, whose other sandboxes may have all that there may be at this moment.
    const { exit, stdout } = await fixture.run(`
ours, null = socket.socket(fileno=os.dup(1)), os.open('/dev/null', os.O_RDONLY)
for i in range(100):
    while refused(socket.send_fds, ours, [b'%d\\n' % i], [0, 1, 2, null]) == 'ETOOMANYREFS': time.sleep(0.01)
`);
    expect({ exit, stdout }).toEqual({ exit: { kind: 'exited', code: 0 }, stdout: Array.from({ length: 100 }, (_, i) => i).join('\n') });
    await eventually('none is left', async () => (await readdir('/proc/self/fd')).length <= before);
  });

  it('sends urgent bytes: what is before and after them arrives, and so does the end', async () => {
    const { exit, stdout } = await fixture.run(`
ours = socket.socket(fileno=os.dup(1))
for i in range(10):
    ours.send(b'before\\n')
    refused(ours.send, b'!', socket.MSG_OOB)
    ours.send(b'after\\n')
`);
    expect(exit).toEqual({ kind: 'exited', code: 0 });
    expect(stdout.replaceAll('!', '')).toBe(Array(10).fill('before\nafter').join('\n'));
  });

  it('hangs up on all its streams and lives on: it is there to be destroyed', async () => {
    const attacker = await fixture.attacker(`
print('hanging up', flush=True)
for stream in range(3):
    socket.socket(fileno=os.dup(stream)).shutdown(socket.SHUT_RDWR)
    os.close(stream)
time.sleep(1000)
`);
    expect(await text(attacker.stdout)).toBe('hanging up\n');
    attacker.stdin.write('is anybody there?\n');
    await attacker.destroy();
    expect(await attacker.exit).toEqual({ kind: 'destroyed' });
  });

  it('looks for the socket through which its streams came, by its own name for it and by every other', async () => {
    const sites = path.join(fixture.context.stateDir, 'sandboxes', fixture.provider.owner, '_warden.sock');
    const seen = await fixture.report(`
peers = [socket.socket(fileno=os.dup(stream)).getpeername() for stream in range(3)]
names = [p for p in {*map(str, peers), '/tmp/muster-sites/_warden.sock', ${JSON.stringify(sites)}, '\\0_warden.sock', '_warden.sock'} if p]
names += [root + '/tmp/muster-sites/_warden.sock' for root in ('/proc/self/root', '/proc/1/root', '/proc/1/cwd')]
answers = {name: refused(socket.socket(socket.AF_UNIX).connect, name) for name in names}
print(json.dumps([name for name, answer in answers.items() if answer is None]))
`);
    expect(seen).toEqual([]);
  });

  it('finds no token in its memory, neither its own nor another’s', async () => {
    const others = await Promise.all([1, 2, 3].map(() => fixture.attacker('print("ready", flush=True)\nsys.stdin.read()')));
    for (const other of others) expect(await firstLine(other)).toBe('ready\n');
    const found = await fixture.report(`
import re
found, decoy = set(), (os.urandom(32).hex() + ' stdin').encode()
with open('/proc/self/mem', 'rb', 0) as memory:
    for line in open('/proc/self/maps').readlines():
        span, access, *_ = line.split()
        if access[0] != 'r' or 'vvar' in line or 'vsyscall' in line: continue
        begin, end = (int(edge, 16) for edge in span.split('-'))
        memory.seek(begin)
        content = memory.read(end - begin)
        found |= set(re.findall(rb'(?<![0-9a-f])[0-9a-f]{64}(?= std|["\\x00])', content))
print(json.dumps([decoy[:64] in found, len(found)]))
`);
    expect(found).toEqual([true, 1]);
    for (const other of others) await other.destroy();
  });
});
