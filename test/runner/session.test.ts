import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createInMemoryProvider } from '../support/in-memory-sandbox/in-memory-provider.ts';
import type { Program } from '../support/in-memory-sandbox/program.ts';
import { parseEpisodeIndex, parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';
import type { SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { PlannedEpisode } from '../../src/runner/playlist.ts';
import type { Collected } from '../../src/runner/played-episode.ts';
import { RunnerSession } from '../../src/runner/session.ts';
import { TEMPLATE } from '../support/evaluation-fixture.ts';
import { scriptedRunner, type ScriptedAnswer } from '../support/in-memory-runner.ts';
import { ManualClock } from '../support/manual-clock.ts';

const forever = new AbortController().signal;
const load = {
  policy: { path: '/muster/inbox/p', digest: 'sha256:1' },
  code: null,
  tasks: [],
  actions: 'deterministic',
  metrics: [],
} as const;
const limits = { episodeMilliseconds: 10_000, beginMilliseconds: 5000, exposure: { kind: 'data', principal: 'somebody' } } as const;

let clock: ManualClock;
let provider: SandboxProvider;
const programs: Record<string, Program> = {};

beforeEach(() => {
  clock = new ManualClock();
  provider = createInMemoryProvider({ owner: parseOwnerId('test'), clock, programs });
});

afterEach(async () => {
  await provider[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
});

async function open(program: Program): Promise<RunnerSession> {
  programs['runner'] = program;
  const sandbox = await provider.create({ id: parseSandboxId('s1'), template: TEMPLATE }, forever);
  return RunnerSession.open(sandbox, clock, forever);
}

async function loaded(program: Program): Promise<RunnerSession> {
  const session = await open(program);
  await session.load(load, limits, forever);
  return session;
}

function episodes(...indices: number[]): PlannedEpisode[] {
  return indices.map((index) => ({ index: parseEpisodeIndex(index), task: 0, environmentSeed: index, policySeed: index }));
}

/** Collects until `count` episodes are in or the session is closed. */
async function collect(session: RunnerSession, count: number): Promise<Collected> {
  const played: Collected['played'][number][] = [];
  for (;;) {
    const batch = await session.collect(forever);
    played.push(...batch.played);
    if (batch.closed || played.length >= count) return { ...batch, played };
  }
}

/** Plays episodes 0, 1, 2 of which the second is answered as given; the rest return their index. */
async function playWithSecond(answer: ScriptedAnswer): Promise<Collected> {
  const session = await loaded(scriptedRunner(({ index }) => (index === 1 ? answer : { return: index })));
  session.play(episodes(0, 1, 2));
  return collect(session, 3);
}

const never = new Promise<never>(() => undefined);

describe('a session', () => {
  it('plays ranges in order, one outcome an episode, and takes the next range before the first is done', async () => {
    const session = await loaded(scriptedRunner(({ index }) => ({ return: index, log: `said ${index}` })));
    session.play(episodes(4, 5));
    session.play(episodes(6));
    expect(session.outstandingRanges).toBe(2);
    expect(session.isReusable()).toBe(false);
    const { played } = await collect(session, 3);
    expect(played.map(({ index, outcome, log }) => [index, outcome, log])).toEqual(
      [4, 5, 6].map((index) => [index, { kind: 'completed', return: index, length: 1, metrics: {} }, `said ${index}`]),
    );
    expect(session.isReusable()).toBe(true);
  });

  it('passes on the failure of an episode and continues', async () => {
    const { played, closed } = await playWithSecond({ failed: 'policy-crash', detail: 'boom' });
    expect(played.map(({ outcome }) => outcome.kind)).toEqual(['completed', 'failed', 'completed']);
    expect(played[1]?.outcome).toEqual({ kind: 'failed', cause: 'policy-crash', detail: 'boom' });
    expect(closed).toBeUndefined();
  });

  it('keeps the metrics that were asked for and no others', async () => {
    const session = await open(scriptedRunner(() => ({ return: 0, metrics: { wanted: 1, unwanted: 2 } })));
    await session.load({ ...load, metrics: ['wanted', 'absent'] }, limits, forever);
    session.play(episodes(0));
    expect((await collect(session, 1)).played[0]?.outcome).toMatchObject({ metrics: { wanted: 1 } });
  });

  it('does not trust a runner’s time: an episode lasts no longer than its limit', async () => {
    const line = '{"type":"completed","range":2,"index":1,"return":0,"length":1,"seconds":1e9}\n{"type":"begin","range":2}\n';
    const { played } = await playWithSecond({ raw: line });
    expect(played[1]?.seconds).toBe(10);
  });

  it('reads a frame that drips in byte by byte', async () => {
    const frame = '{"type":"completed","range":2,"index":1,"return":5,"length":1,"seconds":0}\n';
    const session = await loaded(
      scriptedRunner(({ index, io }) => {
        if (index !== 1) return { return: 0 };
        for (const byte of frame) io.stdout.write(byte);
        return never;
      }),
    );
    session.play(episodes(0, 1));
    expect((await collect(session, 2)).played[1]?.outcome).toMatchObject({ return: 5 });
  });

  it('an infinite return is passed on for judging', async () => {
    const { played } = await playWithSecond({ raw: '{"type":"completed","range":2,"index":1,"return":1e999,"length":1,"seconds":0}\n' });
    expect(played[1]?.outcome).toMatchObject({ kind: 'completed', return: Number.POSITIVE_INFINITY });
  });

  it('is not reusable while an answer of the runner is outstanding, even if it is no longer awaited', async () => {
    const session = await open(async (io) => {
      io.stdout.write('{"type":"ready","protocol":1,"runner":"x"}\n');
      return never;
    });
    const impatient = new AbortController();
    const loading = session.load(load, limits, impatient.signal);
    impatient.abort(new Error('too slow'));
    await expect(loading).rejects.toThrow('too slow');
    expect(session.isReusable()).toBe(false);
  });

  it('refuses to send a suite that no runner needs to accept', async () => {
    const session = await open(scriptedRunner(() => ({ return: 0 })));
    const environment = { entry: 'm:f', kwargs: { text: 'x'.repeat(1024 * 1024) }, wrappers: [] };
    await expect(session.load({ ...load, tasks: [{ name: 'a', environment }] }, limits, forever)).rejects.toMatchObject({
      code: 'suite.too-large',
    });
  });

  it('answers a ping', async () => {
    const session = await open(scriptedRunner(() => ({ return: 0 })));
    await expect(session.ping(forever)).resolves.toBeUndefined();
  });

  it('does not attribute a frame that is also printed to the next episode', async () => {
    const session = await loaded(
      scriptedRunner(async ({ index, io }) => {
        if (index > 0) return { return: 0 };
        io.stderr.write('hello');
        return { return: 0, log: 'hello' };
      }),
    );
    session.play(episodes(0, 1));
    const { played } = await collect(session, 2);
    expect(played.map(({ log }) => log)).toEqual(['hello', undefined]);
  });

  it('keeps what reaches stderr with the episode during which it arrived', async () => {
    const session = await loaded(
      scriptedRunner(async ({ index, io }) => {
        io.stderr.write(`printed by ${index}`);
        await new Promise((resolve) => setImmediate(resolve));
        return { return: 0 };
      }),
    );
    session.play(episodes(7));
    const { played } = await collect(session, 1);
    expect(played[0]?.log).toBe('printed by 7');
  });
});

describe('a runner that cannot be used', () => {
  it('because it ends before it is ready is an infrastructure failure that repeats its last words', async () => {
    const dies: Program = async (io) => {
      io.stderr.write('no module named numpy');
      return 1;
    };
    await expect(open(dies)).rejects.toThrow(/ended with code 1; last words: no module named numpy/);
  });

  it.each([64, 69, 126, 127])('because it ends with %i, as it would each time, is the fault of the template', async (code) => {
    const dies: Program = async (io) => {
      io.stderr.write('no module named torch');
      return code;
    };
    const message = expect.stringMatching(
      new RegExp(`cannot start: .*ended with code ${code}; last words: no module named torch; correct the template`),
    );
    await expect(open(dies)).rejects.toMatchObject({ kind: 'input', code: 'runner.cannot-start', message });
  });

  it('because it speaks another protocol is refused', async () => {
    const speaks: Program = async (io) => {
      io.stdout.write('{"type":"ready","protocol":3,"runner":"x"}\n');
      return never;
    };
    await expect(open(speaks)).rejects.toThrow(/protocol 3, expected 1 or 2/);
  });

  it('because it refuses the policy is the fault of the input', async () => {
    const refuses: Program = async (io) => {
      io.stdout.write('{"type":"ready","protocol":1,"runner":"x"}\n');
      io.stdin.once('data', () => io.stdout.write('{"type":"refused","load":1,"part":"policy","message":"takes 6 numbers, not 4"}\n'));
      return never;
    };
    const session = await open(refuses);
    await expect(session.load(load, limits, forever)).rejects.toMatchObject({
      kind: 'input',
      message: expect.stringContaining('takes 6 numbers, not 4'),
    });
    // It owes nothing, and what it loaded before it refused may have left anything.
    expect(session.isReusable()).toBe(false);
  });
});

describe('a frame that breaks the protocol fails the episode that is due, and hands back the rest', () => {
  it.each([
    ['no JSON', 'garbage\n'],
    ['no known type', '{"type":"completd"}\n'],
    ['a return that is no number', '{"type":"completed","range":2,"index":1,"return":null,"length":1,"seconds":0}\n'],
    ['an episode that is not due', '{"type":"completed","range":2,"index":2,"return":0,"length":1,"seconds":0}\n'],
    ['an episode that was answered before', '{"type":"completed","range":2,"index":0,"return":0,"length":1,"seconds":0}\n'],
    ['an episode of another range', '{"type":"completed","range":9,"index":1,"return":0,"length":1,"seconds":0}\n'],
    ['an answer that was not asked for', '{"type":"pong","ping":99}\n'],
    ['a second ready', '{"type":"ready","protocol":1,"runner":"x"}\n'],
    ['a range that began before', '{"type":"begin","range":2}\n'],
    ['a range that began with another policy', '{"type":"begin","range":2,"digest":"sha256:another"}\n'],
    ['longer than allowed, without an end', 'x'.repeat(70_000)],
    ['longer than allowed', `${'x'.repeat(70_000)}\n`],
  ])('%s', async (_name, raw) => {
    const { played, closed } = await playWithSecond({ raw });
    expect(played.map(({ index, outcome }) => [index, outcome.kind === 'failed' ? outcome.cause : outcome.kind])).toEqual([
      [0, 'completed'],
      [1, 'protocol-violation'],
    ]);
    expect(closed?.unplayed.map(({ index }) => index)).toEqual([2]);
  });

  it('and fails no episode while none is due', async () => {
    const session = await open(async (io) => {
      io.stdout.write(
        '{"type":"ready","protocol":1,"runner":"x"}\n{"type":"completed","range":1,"index":0,"return":1,"length":1,"seconds":0}\n',
      );
      return never;
    });
    expect(await session.gone).toMatch(/was not due/);
    expect(await session.collect(forever)).toMatchObject({ played: [], closed: { unplayed: [] } });
  });
});

describe('a runner that ends during an episode', () => {
  it.each([
    ['by itself', 0, { kind: 'failed', cause: 'environment-crash' }, false],
    ['by a fault of its own', 139, { kind: 'failed', cause: 'environment-crash', detail: expect.stringContaining('SIGSEGV') }, false],
    ['because it was killed from outside', 137, { kind: 'lost' }, 'runner'],
  ])('%s', async (_name, exit, outcome, killed) => {
    const { played, closed } = await playWithSecond({ exit });
    expect(played[1]).toMatchObject({ index: 1, outcome, killed });
    expect(closed?.unplayed.map(({ index }) => index)).toEqual([2]);
  });

  it('loses no episode that was not begun', async () => {
    const session = await open(async (io) => {
      io.stdout.write('{"type":"ready","protocol":1,"runner":"x"}\n');
      await new Promise((resolve) => io.stdin.once('data', resolve));
      return 1;
    });
    session.play(episodes(0, 1));
    const { played, closed } = await collect(session, 1);
    expect(played).toEqual([]);
    expect(closed?.unplayed.map(({ index }) => index)).toEqual([0, 1]);
  });

  it('hands back work that is sent to it afterwards', async () => {
    const session = await open(scriptedRunner(() => ({ return: 0 })));
    session.close('done with it');
    session.play(episodes(3));
    expect((await session.collect(forever)).closed?.unplayed.map(({ index }) => index)).toEqual([3]);
  });
});

describe('the time limit of an episode', () => {
  it('fails only the episode that is due', async () => {
    const session = await loaded(scriptedRunner(({ index }) => (index === 1 ? never : { return: 0 })));
    session.play(episodes(0, 1, 2));
    const first = await session.collect(forever);
    await clock.advance(10_001);
    const second = await session.collect(forever);
    expect([...first.played, ...second.played].map(({ outcome }) => (outcome.kind === 'failed' ? outcome.cause : outcome.kind))).toEqual([
      'completed',
      'timeout',
    ]);
    expect(second.closed?.unplayed.map(({ index }) => index)).toEqual([2]);
  });

  it.each([
    [600, '; its sandbox had used 600 B of memory by then, and may use 1.0 KiB'],
    [100, ''],
    [undefined, ''],
  ])('is told with the memory that was used by then, where that is much: %s of 1024 bytes', async (peakMemoryBytes, told) => {
    programs['runner'] = scriptedRunner(() => never);
    const sandbox = await provider.create({ id: parseSandboxId('full'), template: TEMPLATE }, forever);
    const usage =
      peakMemoryBytes === undefined ? () => Promise.reject(new Error('no figures')) : () => Promise.resolve({ peakMemoryBytes });
    const session = await RunnerSession.open(Object.assign(sandbox, { capabilities: { usage } }), clock, forever, 1024);
    await session.load(load, limits, forever);
    session.play(episodes(0));
    await clock.advance(10_001);
    const { played } = await collect(session, 1);
    expect(played).toMatchObject([{ outcome: { kind: 'failed', cause: 'timeout', detail: `not finished within 10 s${told}` } }]);
  });

  for (const isReachable of [true, false]) {
    it(`is ${isReachable ? '' : 'not '}held against an episode whose sandbox ${isReachable ? 'answers' : 'is out of reach'}`, async () => {
      programs['runner'] = scriptedRunner(() => never);
      const sandbox = await provider.create({ id: parseSandboxId('far'), template: TEMPLATE }, forever);
      const session = await RunnerSession.open(
        Object.assign(sandbox, { capabilities: { isReachable: () => Promise.resolve(isReachable) } }),
        clock,
        forever,
      );
      await session.load(load, limits, forever);
      session.play(episodes(0, 1));
      await clock.advance(10_001);
      const { played, closed } = await collect(session, 1);
      expect(played).toMatchObject([{ index: 0, outcome: isReachable ? { kind: 'failed', cause: 'timeout' } : { kind: 'lost' } }]);
      expect(closed?.unplayed.map(({ index }) => index)).toEqual([1]);
    });
  }

  it('is not held against an episode when it was Muster that stood still', async () => {
    const unread = Promise.withResolvers<void>();
    const session = await loaded(
      scriptedRunner(async ({ index }) => {
        if (index === 1) await unread.promise;
        return { return: index };
      }),
    );
    session.play(episodes(0, 1));
    await session.collect(forever);
    clock.skip(30_000);
    // Timers run before pipes are read: the deadline has passed, the outcome is there but has not been seen.
    await clock.advance(0);
    unread.resolve();
    const { played, closed } = await collect(session, 1);
    expect(played.map(({ outcome }) => outcome.kind)).toEqual(['completed']);
    expect(closed).toBeUndefined();
  });

  it('starts with the episode: waiting behind others costs nothing', async () => {
    const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
    const session = await loaded(
      scriptedRunner(async ({ index }) => {
        await gates[index]?.promise;
        return { return: index };
      }),
    );
    session.play(episodes(0, 1, 2));
    for (const gate of gates) {
      await clock.advance(9000);
      gate.resolve();
      await clock.advance(0);
    }
    const { played, closed } = await collect(session, 3);
    expect(played.map(({ outcome }) => outcome.kind)).toEqual(['completed', 'completed', 'completed']);
    expect(closed).toBeUndefined();
  });

  it('does not blame an episode for a runner that never begins', async () => {
    const deaf: Program = async (io) => {
      io.stdout.write('{"type":"ready","protocol":1,"runner":"x"}\n');
      return never;
    };
    const session = await open(deaf);
    session.play(episodes(0));
    await clock.advance(60_001);
    expect(await session.collect(forever)).toMatchObject({ played: [], closed: { unplayed: [{ index: 0 }] } });
  });
});

describe('episodes that are played in blocks', () => {
  const batching = { form: 'lockstep', width: 2, episodes: 3, episodeSeconds: 10 } as const;

  /** Plays episodes 0 … count − 1 in blocks of three. */
  async function playing(program: Program, count: number): Promise<RunnerSession> {
    const session = await open(program);
    await session.load({ ...load, batching }, limits, forever);
    session.play(episodes(...Array.from({ length: count }, (_, index) => index)));
    return session;
  }

  const causes = ({ played }: Collected): (string | number)[][] =>
    played.map(({ index, outcome }) => [index, outcome.kind === 'failed' ? outcome.cause : outcome.kind]);

  it.each([
    ['ended', { exit: 1 }, 'environment-crash'],
    ['broke the protocol', { raw: 'garbage\n' }, 'protocol-violation'],
  ])('share what becomes of them when their runner %s, and the next block goes unplayed', async (_name, answer, cause) => {
    const session = await playing(
      scriptedRunner(({ index }) => (index === 4 ? answer : { return: index })),
      9,
    );
    const collected = await collect(session, 9);
    expect(causes(collected)).toEqual([...[0, 1, 2, 3].map((index) => [index, 'completed']), [4, cause], [5, cause]]);
    expect(collected.closed?.unplayed.map(({ index }) => index)).toEqual([6, 7, 8]);
  });

  it('are lost together when their runner is killed, which is reported once', async () => {
    const session = await playing(
      scriptedRunner(({ index }) => (index === 1 ? { exit: 137 } : { return: index })),
      6,
    );
    const collected = await collect(session, 6);
    expect(causes(collected)).toEqual([
      [0, 'completed'],
      [1, 'lost'],
    ]);
    expect(collected.closed?.unplayed.map(({ index }) => index)).toEqual([3, 4, 5]);
  });

  it('go back unplayed, also those of a begun block, when no program is to blame', async () => {
    const session = await playing(
      scriptedRunner(({ index }) => (index === 1 ? never : { return: index })),
      3,
    );
    const { played } = await session.collect(forever);
    session.close('not needed any more');
    expect(played).toHaveLength(1);
    expect((await session.collect(forever)).closed?.unplayed.map(({ index }) => index)).toEqual([1, 2]);
  });

  it('have the time of all of them together, block by block', async () => {
    const gates = new Map([1, 4].map((index) => [index, Promise.withResolvers<void>()]));
    const session = await playing(
      scriptedRunner(async ({ index }) => {
        await gates.get(index)?.promise;
        return index === 5 ? never : { return: index };
      }),
      6,
    );
    for (const gate of gates.values()) {
      await clock.advance(29_000);
      gate.resolve();
      await clock.advance(0);
    }
    expect((await collect(session, 5)).closed).toBeUndefined();
    await clock.advance(1001);
    expect(causes(await session.collect(forever))).toEqual([[5, 'timeout']]);
  });

  it('are not sent to a runner that would play them one by one', async () => {
    const session = await open(scriptedRunner(() => ({ return: 0 }), { protocol: 1 }));
    await expect(session.load({ ...load, batching }, limits, forever)).rejects.toMatchObject({
      kind: 'input',
      message: expect.stringMatching(/"scripted\/1" speaks protocol 1 .* expected protocol 2 for "play: lockstep"/),
    });
  });

  it('can come with the runner’s remarks on the policy', async () => {
    const session = await open(scriptedRunner(() => ({ return: 0 }), { warnings: ['rows are played one by one'] }));
    expect(await session.load({ ...load, batching }, limits, forever)).toEqual(['rows are played one by one']);
  });
});
