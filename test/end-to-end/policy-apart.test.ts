import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../support/full-form.ts';
import { EPISODES, Fixture, type Played } from './apart-fixture.ts';
import { FORGERY, mazeSuite } from './maze.ts';
import { REPOSITORY } from './stage.ts';

const returns = ({ outcomes }: Played): readonly unknown[] => outcomes.map((outcome) => outcome.return ?? outcome.cause);
const all = (value: unknown): readonly unknown[] => Array.from({ length: EPISODES }, () => value);

/** Ways of writing one's own score, all of which succeed where the policy is in the environment's process. */
const FORGERIES: Readonly<Record<string, string>> = {
  'finds the environment by the garbage collector': FORGERY,
  'finds the environment by the frames above its own': `
def act(self, observation):
    frame = sys._getframe()
    while frame:
        for found in list(frame.f_locals.values()):
            inner = getattr(found, 'unwrapped', None)
            if type(inner).__name__ == 'Maze':
                inner.step = lambda action: (np.zeros(2, np.float32), 1.0, True, False, {})
        frame = frame.f_back
    return 0
Policy.act = act
`,
  'patches NumPy, which the environment computes its reward with': `
class Generous(np.float32):
    def __mul__(self, other):
        return 1.0
np.float32 = Generous
`,
  'writes an outcome of its own to every descriptor': `
import json
def act(self, observation):
    for index in range(${EPISODES}):
        frame = {'type': 'completed', 'range': 2, 'index': index, 'return': 1.0, 'length': 1, 'metrics': {}, 'seconds': 0.001}
        for descriptor in range(3, 1024):
            try:
                if os.get_inheritable(descriptor) or descriptor >= 500:
                    os.write(descriptor, json.dumps(frame).encode() + b'\\n')
            except OSError:
                pass
    return 0
Policy.act = act
`,
};

const SHORT_FORGERIES = new Set(['finds the environment by the garbage collector', 'writes an outcome of its own to every descriptor']);

/** An episode is short only where its time is to run out: on a busy machine any other could take as long. */
const secondsFor = (expected: unknown): number => (expected === 'timeout' ? 1 : 60);

/** What code at the policy's end of the line can get hold of: the line itself, and which answer is waited for. */
const AT_THE_LINE = `
import struct
ANSWER = struct.Struct('<BxxxI8s')

def asked():
    frame = sys._getframe()
    while 'nonce' not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals['self']._line, frame.f_locals['nonce']

def answer(length=8, kind=0):
    line, nonce = asked()
    return line, ANSWER.pack(kind, length, nonce)
`;

/** Draws its actions, from a generator that each episode seeds anew, and from what it has seen. */
const DRAWS = `
def make(*, action_space, **_):
    return Draws(action_space)

class Draws:
    def __init__(self, space):
        self.space = space

    def reset(self, seed):
        self.space.seed(seed)
        self.seen = 0.0

    def act(self, observation):
        assert observation.dtype == np.float32 and observation.flags.writeable
        self.seen += float(observation.sum())
        if self.seen > 1: self.space.sample()
        return self.space.sample()
`;
const EARLY = path.join(REPOSITORY, 'examples/game/checkpoints/early.safetensors');

interface Misbehaviour {
  readonly source: string;
  /** What all of its episodes come to: a return or a cause. */
  readonly apart: number | string;
  readonly environment?: string;
}

const act = (...lines: readonly string[]): string =>
  ['def act(self, observation):', ...lines.map((line) => `    ${line}`), 'Policy.act = act'].join('\n');
/** With the line at hand. */
const atTheLine = (...lines: readonly string[]): string => `${AT_THE_LINE}\n${act(...lines)}`;
const NAN = act('return np.full(2, np.nan, np.float32)');
const CRASHES = { apart: 'policy-crash' };
const NUMBER = '(0).to_bytes(8, "little")';

const MISBEHAVIOURS: Readonly<Record<string, Misbehaviour>> = {
  'answers twice': { ...CRASHES, source: atTheLine('line, head = answer()', `line.sendall(head + ${NUMBER})`, 'return 0') },
  'answers what was not asked yet': {
    ...CRASHES,
    source: atTheLine('line, _ = asked()', `line.sendall(ANSWER.pack(0, 8, bytes(8)) + ${NUMBER})`, 'return 0'),
  },
  'speaks before it is asked for anything': {
    ...CRASHES,
    source: `${AT_THE_LINE}\ndef reset(self, seed):\n    asked()[0].sendall(b'early')\nPolicy.reset = reset`,
  },
  'answers with too little': {
    ...CRASHES,
    source: atTheLine('line, head = answer(4)', 'line.sendall(head + bytes(4))', 'time.sleep(1e6)'),
  },
  'begins an answer, and ends': { ...CRASHES, source: atTheLine('line, head = answer()', 'line.sendall(head[:9])', 'os._exit(0)') },
  'begins an answer, and never ends it': {
    apart: 'timeout',
    source: atTheLine('line, head = answer()', 'line.sendall(head + bytes(3))', 'time.sleep(1e6)'),
  },
  'answers with as much as there is': {
    ...CRASHES,
    source: atTheLine('line, head = answer(2**32 - 1)', 'line.sendall(head)', 'while True: line.sendall(bytes(1 << 20))'),
  },
  'answers with an answer of a kind that there is not': {
    ...CRASHES,
    source: atTheLine('line, head = answer(kind=77)', `line.sendall(head + ${NUMBER})`, 'time.sleep(1e6)'),
  },
  'answers for rows that there are not': {
    ...CRASHES,
    source: atTheLine('line, head = answer(12, 4)', 'line.sendall(head + b"\\xff" * 12)', 'os._exit(0)'),
  },
  'lets a fork of it answer, too': {
    ...CRASHES,
    source: atTheLine(
      'line, head = answer()',
      'if os.fork() == 0:',
      `    line.sendall(head + ${NUMBER})`,
      '    os._exit(0)',
      'os.wait()',
      'return 0',
    ),
  },
  'closes the line': { ...CRASHES, source: atTheLine('asked()[0].close()', 'return 0') },
  'shuts the line, and stays': { ...CRASHES, source: atTheLine('asked()[0].shutdown(socket.SHUT_RDWR)', 'time.sleep(1e6)') },
  'writes on every descriptor': {
    ...CRASHES,
    source: act('for descriptor in range(1, 1024):', '    try: os.write(descriptor, b"0" * 100)', '    except OSError: pass', 'return 0'),
  },
  'passes descriptors along with an answer': {
    apart: 0,
    source: atTheLine('line, _ = asked()', 'socket.send_fds(line, [b""], [0, 1, 2])', 'return 0'),
  },
  'raises a text without end': { ...CRASHES, source: act('raise ValueError("x" * 10**7)') },
  ends: { ...CRASHES, source: act('os._exit(0)') },
  'kills itself': { ...CRASHES, source: act('os.kill(os.getpid(), signal.SIGKILL)') },
  'is late': { apart: 'timeout', source: act('time.sleep(1e6)') },
  'sends signals to every process that it can name': {
    apart: 0,
    source: act(
      'for number in (signal.SIGSTOP, signal.SIGALRM, signal.SIGTERM, signal.SIGKILL):',
      '    for pid in [-1, *range(1, 5000)]:',
      '        try: pid == os.getpid() or os.kill(pid, number)',
      '        except OSError: pass',
      'return 0',
    ),
  },
  'leaves a thread that asks for nothing and a child that waits': {
    apart: 0,
    source: act('threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()', 'os.fork() == 0 and time.sleep(1e6)', 'return 0'),
  },
  'acts with a number that lies about its bytes': {
    apart: 0,
    source: `class Liar(int):\n    def to_bytes(self, *_, **__): return b"\\x01" * 800\n${act('return Liar(0)')}`,
  },
  'acts with NaN': { ...CRASHES, environment: 'maze:Slope', source: NAN },
  'acts with an array that lies about its shape and type': {
    ...CRASHES,
    environment: 'maze:Slope',
    source: `
class Liar(np.ndarray):
    shape = property(lambda self: (2,))
    dtype = property(lambda self: np.dtype(np.float32))
    def astype(self, *_, **__): return self
    def tobytes(self, *_, **__): return b'\\x00' * 4000
${act('return np.zeros(9, np.int64).view(Liar)')}`,
  },
};

/** Each of them differs from all others in what the runner has to tell apart; test/runner/python tries the messages of the line one by one. */
const SHORT_MISBEHAVIOURS = new Set([
  'begins an answer, and never ends it',
  'lets a fork of it answer, too',
  'passes descriptors along with an answer',
  'raises a text without end',
  'sends signals to every process that it can name',
  'acts with an array that lies about its shape and type',
]);

/** In the short form, the contract of providers starts plain pairs. */
describe.each(sampled(['forked', 'plain'] as const, (start) => start === 'forked'))('a policy that is played apart, %s', (start) => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open(start);
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  it.each(sampled(Object.entries(FORGERIES), ([name]) => SHORT_FORGERIES.has(name)))(
    '%s: it changes its score when it is played together, and not apart',
    async (_name, source) => {
      expect(returns(await fixture.play('together', source))).toContain(1);
      expect(returns(await fixture.play('apart', source))).toEqual(all(0));
    },
  );

  it('has the same result as when it is played together, to the byte, in every way of playing', async () => {
    const single = { play: 'single' };
    const lockstep = { play: { mode: 'lockstep', width: 8, block: 16 } };
    const vector = { play: { mode: 'vector', width: 8 } };
    const pole = { environment: 'gymnasium:CartPole-v1', files: undefined, reward: { bounds: [0, 500] }, actions: 'stochastic' };
    const slope = { environment: { entry: 'maze:Slope', kwargs: {} } };
    const coded = await fixture.policy(DRAWS);
    const plays: { readonly checkpoint: string }[] = [];
    for (const play of [single, lockstep]) plays.push({ ...slope, ...play, checkpoint: coded });
    for (const checkpoint of [EARLY, coded]) for (const play of [single, lockstep, vector]) plays.push({ ...pole, ...play, checkpoint });
    // Code in lockstep, data one by one, and code in batches.
    const short = new Set([plays[1], plays[2], plays.at(-1)]);
    for (const { checkpoint, ...changes } of sampled(plays, (each) => short.has(each))) {
      const suite = await mazeSuite(fixture.stage, 32, changes);
      const [together, apart] = [await fixture.evaluate('together', suite, checkpoint), await fixture.evaluate('apart', suite, checkpoint)];
      expect(apart.summary.run.pool.mechanism).toMatch(/, policy apart$/);
      expect(JSON.stringify(apart.outcomes)).toBe(JSON.stringify(together.outcomes));
      expect(JSON.stringify(apart.summary.official)).toBe(JSON.stringify(together.summary.official));
      expect(new Set(Object.values(together.summary.official.failures))).toEqual(new Set([0]));
    }
  });
});

/** The line is the same however the two programs are started, so one way is enough. */
describe('a policy at its end of the line', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open('forked');
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  it.each(sampled(Object.entries(MISBEHAVIOURS), ([name]) => SHORT_MISBEHAVIOURS.has(name)))(
    'that %s gives its own actions, or fails its own episodes',
    async (_name, { source, apart, environment = 'maze:Maze' }) => {
      const environmentOf = { environment: { entry: environment, kwargs: {} } };
      const changes = { ...environmentOf, stop: { rule: 'fixed', episodes: 2 }, episode: { seconds: secondsFor(apart) } };
      const played = await fixture.play('apart', source, changes);
      expect(returns(played)).toEqual([apart, apart]);
      for (const { detail = '' } of played.outcomes) expect(detail.length).toBeLessThan(10_000);
    },
  );

  it('gets the environment’s reward for NaN when it is played together, where only the environment checks actions', async () => {
    const changes = { environment: { entry: 'maze:Slope', kwargs: {} } };
    expect(returns(await fixture.play('together', NAN, changes))).toEqual(all(1));
  });

  it.each([
    ['a step of it is late', 'timeout', act('time.sleep(1e6)')],
    ['it answers twice', 'policy-crash', atTheLine('line, head = answer(16)', 'line.sendall(head + bytes(16))', 'return 0')],
    ['it ends', 'policy-crash', act('os._exit(0)')],
  ])('in lockstep, when %s, the episodes of its block fail', async (_name, cause, source) => {
    const play = { mode: 'lockstep', width: 2, block: 2 };
    const played = await fixture.play('apart', source, {
      play,
      stop: { rule: 'fixed', episodes: 4 },
      episode: { seconds: secondsFor(cause) },
    });
    expect(returns(played)).toEqual([cause, cause, cause, cause]);
  });
});
