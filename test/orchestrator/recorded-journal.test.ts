import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDigest } from '../../src/kernel/ids.ts';
import { openRecordedJournal } from '../../src/orchestrator/results/recorded-journal.ts';
import { defineSuite, createEpisodePlanner, createInlineLayer, parseSuite } from '../../src/orchestrator/suite/suite-definition.ts';

const suite = defineSuite(
  parseSuite(
    createInlineLayer({
      name: 'two',
      tasks: ['a', 'b'].map((name) => ({ name, environment: 'x:y' })),
      reward: { bounds: [0, 100] },
      stop: { rule: 'fixed', episodes: 9 },
    }),
  ),
  undefined,
);
const plan = createEpisodePlanner(suite);
const PLAYED = parseDigest(`sha256:${'1'.repeat(64)}`);

function lineOf(index: number, outcome: object = { kind: 'completed', return: index, length: 1, metrics: {} }): object {
  const { task, environmentSeed, policySeed } = plan(index);
  return { index, task: suite.tasks[task]?.name, environmentSeed, policySeed, checkpoint: PLAYED, outcome, seconds: 1 };
}

async function journalOf(values: readonly object[]): ReturnType<typeof openRecordedJournal> {
  const episodes = async function* (): AsyncIterable<{ line: number; value: unknown }> {
    yield* values.map((value, position) => ({ line: position + 1, value }));
  };
  return openRecordedJournal({ episodesFile: 'episodes.ndjson', episodes }, suite, PLAYED, 'proportional');
}

describe('the journal of recorded episodes', () => {
  it('knows each index once, whatever the order and repetition of lines, and says where to look next', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(60)), fc.nat(70), fc.nat(70), async (indices, one, other) => {
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        const journal = await journalOf(indices.map((index) => lineOf(index)));
        const { episodes, next } = await journal.readKnown(from, to);
        const sorted = [...new Set(indices)].sort((a, b) => a - b);
        expect(episodes.map(({ index }) => index)).toEqual(sorted.filter((index) => index >= from && index < to));
        expect(next).toBe(sorted.find((index) => index >= to));
      }),
    );
  });

  it('leaves out lost episodes, so that they are played again', async () => {
    const journal = await journalOf([lineOf(0), lineOf(1, { kind: 'lost', detail: 'the node went away' })]);
    expect((await journal.readKnown(0, 10)).episodes.map(({ index }) => index)).toEqual([0]);
  });

  it('leaves out the episodes of other checkpoints of a comparison', async () => {
    const journal = await journalOf([{ ...lineOf(0), checkpoint: `sha256:${'2'.repeat(64)}` }, lineOf(1)]);
    expect((await journal.readKnown(0, 10)).episodes.map(({ index }) => index)).toEqual([1]);
  });

  it('refuses an episode with other seeds than the suite plays at that index, and names the line', async () => {
    const journal = journalOf([lineOf(0), { ...lineOf(1), environmentSeed: 12345 }]);
    await expect(journal).rejects.toThrow('episodes.ndjson:2: episode 1 has another task or other seeds than this suite plays');
  });
});
