import fc from 'fast-check';
import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { stepAnswerSchema } from '../../../src/agents/arena/episode-answers.ts';
import { extent } from '../../support/full-form.ts';
import { explainMissingRedis, RedisServer } from '../../support/redis-server.ts';
import { killWorkspaces } from '../../support/process-table.ts';
import { MusterServer } from '../muster-server.ts';
import { Stage } from '../stage.ts';
import { Agent, TASKS, type Answered } from './http-agent.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const RUNS = extent({ short: 1, full: 20 });
const MOST_MS = extent({ short: 180_000, full: 2 * 3_600_000 });

/** What clients do, and what strikes the service. Numbers choose among the steps that there are. */
type Move =
  | { readonly kind: 'next'; readonly word: string; readonly isNumbered: boolean }
  | { readonly kind: 'repeat' | 'other-body'; readonly which: number }
  | { readonly kind: 'gap'; readonly beyond: number }
  | { readonly kind: 'both-same' | 'both-different'; readonly word: string }
  | { readonly kind: 'kill-under-step'; readonly word: string }
  | { readonly kind: (typeof FAULTS)[number] };

const FAULTS = ['kill', 'wipe', 'lose-workspace'] as const;

const word = fc.stringMatching(/^[a-z]{1,8}$/);
const ordinary: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ kind: fc.constant('next' as const), word, isNumbered: fc.boolean() }),
  fc.record({ kind: fc.constantFrom('repeat' as const, 'other-body' as const), which: fc.nat(1000) }),
  fc.record({ kind: fc.constant('gap' as const), beyond: fc.integer({ min: 1, max: 1000 }) }),
  fc.record({ kind: fc.constantFrom('both-same' as const, 'both-different' as const), word }),
);
/** Each fault strikes once at least. */
const moves = fc
  .tuple(fc.array(ordinary, { minLength: extent({ short: 8, full: 20 }), maxLength: extent({ short: 8, full: 40 }) }), word)
  .chain(([some, under]) => {
    const all: readonly Move[] = [...some, { kind: 'kill-under-step', word: under }, ...FAULTS.map((kind) => ({ kind }))];
    return fc.shuffledSubarray([...all], { minLength: all.length });
  });

interface Taken {
  readonly body: object;
  readonly text: string;
}

/** Every step appends a line, and says how many there are: one that is carried out twice would be seen in all that follow. */
const append = (line: string): object => ({ action: 'run', command: `echo ${line} >>log; wc -l <log` });

/** A running service, and what an episode on it has to have come to. */
class Model {
  readonly #stage: Stage;
  readonly #config: string;
  readonly #wipe: () => Promise<void>;
  readonly #steps: Taken[] = [];
  readonly struck = new Map<Move['kind'], number>();
  #server: MusterServer;
  #episode = '';

  constructor(stage: Stage, config: string, server: MusterServer, wipe: () => Promise<void>) {
    this.#stage = stage;
    this.#config = config;
    this.#server = server;
    this.#wipe = wipe;
  }

  get #agent(): Agent {
    return new Agent(this.#server.url);
  }

  async begin(): Promise<void> {
    this.#steps.length = 0;
    this.#episode = await this.#agent.start();
  }

  async make(move: Move): Promise<void> {
    this.struck.set(move.kind, (this.struck.get(move.kind) ?? 0) + 1);
    const next = this.#steps.length + 1;
    switch (move.kind) {
      case 'next':
        return this.#take(append(move.word), await this.#send(move.isNumbered ? next : undefined, append(move.word)));
      case 'repeat':
        return await this.#repeat(move.which);
      case 'other-body':
        if (next === 1) return;
        return this.#refused(await this.#send(1 + (move.which % (next - 1)), { action: 'submit' }), 'step.conflict');
      case 'gap':
        return this.#refused(await this.#send(next + move.beyond, append('never')), 'step.gap');
      case 'both-same':
        return await this.#bothSame(next, append(move.word));
      case 'both-different':
        return await this.#bothDifferent(next, append(move.word), append(`${move.word}-other`));
      case 'kill-under-step':
        return await this.#killUnder(next, append(move.word));
      case 'kill':
        return await this.#kill();
      case 'wipe':
        return await this.#wipe();
      case 'lose-workspace':
        killWorkspaces(this.#stage.path(''));
    }
  }

  /** What is stored is what was answered. */
  async end(): Promise<void> {
    const { json } = await this.#agent.send('GET', `/v1/episodes/${this.#episode}/steps?limit=100`);
    const { items } = z.object({ items: z.array(z.object({ answer: z.unknown() })) }).parse(json);
    expect(items.map(({ answer }) => answer)).toEqual(this.#steps.map(({ text }): unknown => JSON.parse(text)));
    await this.#agent.send('DELETE', `/v1/episodes/${this.#episode}`);
  }

  #send(step: number | undefined, body: object): Promise<Answered> {
    return this.#agent.send('POST', `/v1/episodes/${this.#episode}/steps`, { step, ...body });
  }

  #take(body: object, { status, text }: Answered): void {
    expect([status, text]).toEqual([200, expect.any(String)]);
    const number = this.#steps.length + 1;
    expect(stepAnswerSchema.parse(JSON.parse(text))).toMatchObject({
      step: number,
      observation: { data: { stdout: { text: `${number}\n` } } },
    });
    this.#steps.push({ body, text });
  }

  #refused({ status, json }: Answered, code: string): void {
    const expected = `${this.#steps.length + 1}`;
    expect([status, json]).toEqual([409, expect.objectContaining({ code, errors: [expect.objectContaining({ expected })] })]);
  }

  async #repeat(which: number): Promise<void> {
    const taken = this.#steps[which % Math.max(1, this.#steps.length)];
    if (taken === undefined) return;
    const again = await this.#send(1 + (which % this.#steps.length), taken.body);
    expect(again).toMatchObject({ status: 200, text: taken.text });
  }

  async #bothSame(number: number, body: object): Promise<void> {
    const [one, other] = await Promise.all([this.#send(number, body), this.#send(number, body)]);
    expect(other.text).toBe(one.text);
    this.#take(body, one);
  }

  async #bothDifferent(number: number, first: object, second: object): Promise<void> {
    const both = await Promise.all([first, second].map(async (body) => ({ body, answer: await this.#send(number, body) })));
    const [taken, refused] = both.toSorted((a, b) => a.answer.status - b.answer.status);
    if (taken === undefined || refused === undefined) throw new RangeError('two requests have two answers');
    this.#take(taken.body, taken.answer);
    this.#refused(refused.answer, 'step.conflict');
  }

  async #killUnder(number: number, body: object): Promise<void> {
    const lost = this.#send(number, body).catch(() => undefined);
    await this.#kill();
    const answered = await lost;
    const again = await this.#send(number, body);
    if (answered !== undefined) expect(again.text).toBe(answered.text);
    this.#take(body, again);
  }

  async #kill(): Promise<void> {
    this.#server.command.signalGroup('SIGKILL');
    await this.#server.command.ended;
    this.#server = await MusterServer.start(this.#stage, this.#config, { deadlineMs: MOST_MS });
  }
}

describe('the steps of an episode on a running service', () => {
  it('are stored once and in order, whatever clients send and whatever is killed or wiped', { timeout: MOST_MS }, async () => {
    const hasRedis = explainMissingRedis('redis') === undefined;
    await using redis = hasRedis ? await RedisServer.start('redis', 'hush') : undefined;
    await using stage = await Stage.open();
    const arena = { tasks: [TASKS], live: redis?.url ?? 'memory' };
    const config = await stage.write('arena.json', { server: { port: 0, access: 'off' }, log: { level: 'warn' }, arena });
    const model = new Model(
      stage,
      config,
      await MusterServer.start(stage, config, { deadlineMs: MOST_MS }),
      async () => void (await redis?.wipe()),
    );
    await fc.assert(
      fc.asyncProperty(moves, async (chosen) => {
        await model.begin();
        for (const move of chosen) await model.make(move);
        await model.end();
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    for (const kind of [...FAULTS, 'kill-under-step'] as const) expect([kind, model.struck.get(kind)]).toEqual([kind, RUNS]);
  });
});
