import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ConversationDigest } from '../../../src/agents/acting/model/conversation-digest.ts';
import type { Completion, CompletionRequest, ModelEndpoint } from '../../../src/agents/acting/model/model-endpoint.ts';
import { ResumedEndpoint } from '../../../src/agents/acting/model/resumed-endpoint.ts';
import type { EpisodeTurns, StoredTurn } from '../../../src/agents/acting/model/stored-turns.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';

const { signal } = new AbortController();
const request = (seed: number): CompletionRequest => ({ messages: [], tools: [], seed });

class CountingModel implements ModelEndpoint {
  readonly seeds: number[] = [];

  complete({ seed }: CompletionRequest): Promise<Completion> {
    this.seeds.push(seed);
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    const said = { content: `answer ${seed}`, reasoning: null, toolCalls: [], finishReason: 'stop', usage, model: 'm', tokens: undefined };
    return Promise.resolve({ kind: 'message', ...said });
  }
}

/** A store whose disk is waited for until the test lets it go on. */
class SlowTurns implements EpisodeTurns {
  readonly kept: StoredTurn[] = [];
  readonly disk = Promise.withResolvers<void>();

  read(): Promise<readonly StoredTurn[]> {
    return Promise.resolve(this.kept);
  }

  async add(_episode: string, turn: StoredTurn): Promise<void> {
    await this.disk.promise;
    this.kept.push(turn);
  }

  forget(): Promise<void> {
    this.kept.length = 0;
    return Promise.resolve();
  }
}

it('an agent asks for the next answer while one is stored, and for only one', async () => {
  const [model, turns] = [new CountingModel(), new SlowTurns()];
  await using endpoint = new ResumedEndpoint(model, turns, 'one');
  for (const seed of [1, 2]) expect(await endpoint.complete(request(seed), signal)).toMatchObject({ content: `answer ${seed}` });
  expect(turns.kept).toEqual([]);
  const next = endpoint.complete(request(3), signal);
  const settled = endpoint.settle();
  await new Promise((resolve) => setImmediate(resolve));
  expect(model.seeds).toEqual([1, 2]);
  turns.disk.resolve();
  await Promise.all([next, settled]);
  await endpoint.settle();
  expect([model.seeds, turns.kept.length]).toEqual([[1, 2, 3], 3]);

  await using resumed = new ResumedEndpoint(model, turns, 'one');
  expect(await resumed.complete(request(2), signal)).toMatchObject({ content: 'answer 2' });
  expect(model.seeds).toEqual([1, 2, 3]);
  await resumed.forget();
  expect(turns.kept).toEqual([]);
});

it('an answer that cannot be stored ends the episode at the request after the next one, and at its end', async () => {
  const turns = new SlowTurns();
  await using endpoint = new ResumedEndpoint(new CountingModel(), turns, 'one');
  for (const seed of [1, 2]) await endpoint.complete(request(seed), signal);
  turns.disk.promise.catch(() => undefined);
  turns.disk.reject(new InfrastructureError('store.full', 'the disk is full'));
  await expect(endpoint.complete(request(3), signal)).rejects.toThrow('the disk is full');
  await expect(endpoint.settle()).rejects.toThrow('the disk is full');
  await expect(endpoint.forget()).rejects.toThrow('the disk is full');
});

it('a request has the digest of its JSON, whether it continues the request before it or not', () => {
  const message = fc.record({ role: fc.constant('user' as const), content: fc.string() });
  const tools = [{ name: 'bash', description: 'runs "a"', parameters: { type: 'object' } }];
  const kept = fc.record({ keeps: fc.nat(6), adds: fc.array(message, { maxLength: 3 }), seed: fc.nat() });
  fc.assert(
    fc.property(fc.array(kept, { minLength: 1, maxLength: 8 }), (requests) => {
      const digest = new ConversationDigest();
      const messages: CompletionRequest['messages'][number][] = [];
      for (const { keeps, adds, seed } of requests) {
        messages.length = Math.min(messages.length, keeps * 2);
        messages.push(...adds);
        const asked: CompletionRequest = { messages, tools, seed };
        expect(digest.compute(asked)).toBe(createHash('sha256').update(JSON.stringify(asked)).digest('hex'));
      }
      const relayed = { body: { messages }, seed: 1 };
      expect(digest.compute(relayed)).toBe(createHash('sha256').update(JSON.stringify(relayed)).digest('hex'));
    }),
    { numRuns: 30 },
  );
});
