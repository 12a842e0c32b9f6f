import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getCompletion, getPrompt, TokenRecord } from '../../../src/agents/rollouts/record/sampled-tokens.ts';

const ids = (most: number): fc.Arbitrary<number[]> => fc.array(fc.nat(5), { maxLength: most });

describe('the tokens of a trajectory', () => {
  it('are one segment while each prompt extends the exact tokens before, and begin another as soon as a token differs', () => {
    const record = new TokenRecord();
    expect(record.add({ promptIds: [1, 2], completionIds: [3, 4], logprobs: [-0.1, -0.2], version: 7 })).toEqual({
      segment: 0,
      prompt: 2,
      completion: 2,
    });
    record.add({ promptIds: [1, 2, 3, 4, 9], completionIds: [5], logprobs: [-0.3], version: 8 });
    // The template has dropped token 3, the reasoning of the first turn.
    record.add({ promptIds: [1, 2, 4, 9, 5, 9], completionIds: [6], logprobs: [-0.4], version: undefined });
    expect(record.listSegments()).toEqual([
      {
        ids: [1, 2, 3, 4, 9, 5],
        lossMask: [0, 0, 1, 1, 0, 1],
        logprobs: [0, 0, -0.1, -0.2, 0, -0.3],
        versions: [-1, -1, 7, 7, -1, 8],
      },
      { ids: [1, 2, 4, 9, 5, 9, 6], lossMask: [0, 0, 0, 0, 0, 0, 1], logprobs: [0, 0, 0, 0, 0, 0, -0.4], versions: Array(7).fill(-1) },
    ]);
  });

  it('a prompt that ends before the completion of the turn before begins another segment', () => {
    const record = new TokenRecord();
    record.add({ promptIds: [1], completionIds: [2, 3], logprobs: [0, 0], version: 0 });
    record.add({ promptIds: [1, 2], completionIds: [4], logprobs: [0], version: 0 });
    expect(record.listSegments().map(({ ids }) => ids)).toEqual([
      [1, 2, 3],
      [1, 2, 4],
    ]);
  });

  it('contain each prompt and completion exactly, and each sampled token once in the loss', () => {
    const turn = fc.record({ isGlued: fc.boolean(), given: ids(6), sampled: ids(4) });
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 12 }), (turns) => {
        const record = new TokenRecord();
        let before: number[] = [];
        const added = turns.map(({ isGlued, given, sampled }) => {
          const promptIds = isGlued ? [...before, ...given] : given;
          before = [...promptIds, ...sampled];
          const logprobs = sampled.map((id) => -id);
          return { promptIds, sampled, tokens: record.add({ promptIds, completionIds: sampled, logprobs, version: 1 }) };
        });
        const segments = record.listSegments();
        for (const { promptIds, sampled, tokens } of added) {
          expect(getPrompt(segments, tokens)).toEqual(promptIds);
          expect(getCompletion(segments, tokens)).toEqual({ ids: sampled, logprobs: sampled.map((id) => -id) });
        }
        const masked = segments.flatMap(({ lossMask }) => lossMask).reduce<number>((sum, each) => sum + each, 0);
        expect(masked).toBe(turns.reduce((sum, { sampled }) => sum + sampled.length, 0));
      }),
    );
  });

  it('a segment has no log-probabilities when the server gave none for one of its turns', () => {
    const record = new TokenRecord();
    record.add({ promptIds: [1], completionIds: [2], logprobs: [-1], version: 0 });
    record.add({ promptIds: [1, 2], completionIds: [3], logprobs: undefined, version: 0 });
    expect(record.listSegments()[0]?.logprobs).toBeNull();
  });
});
