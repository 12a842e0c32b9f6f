import { describe, expect, it } from 'vitest';
import { comparisonSummarySchema } from '../../src/orchestrator/results/comparison-summary.ts';
import { repeatSummary } from '../../src/orchestrator/results/repeated-summary.ts';
import { summarySchema } from '../../src/orchestrator/results/summary.ts';
import { comparison, evaluation } from '../faces/report/documents.ts';

const RUN = { startedAt: '2031-02-03T04:05:06.000Z', seconds: 0.002 };
const CHECKPOINT = { uri: 'https://example.org/late.safetensors', files: 1, bytes: 19_272 };

function stored(summary: object): Record<string, unknown> {
  const written: Record<string, unknown> = JSON.parse(JSON.stringify(summary));
  return written;
}

describe('an answer that is given again', () => {
  it('has the official part to the byte', () => {
    // An older Muster may have written the same members in another order.
    const given = stored(evaluation());
    const { mean, ...official } = stored(evaluation().official);
    const again = repeatSummary({ ...given, official: { ...official, mean } }, { checkpoint: CHECKPOINT }, RUN) ?? {};
    expect(JSON.stringify(Reflect.get(again, 'official'))).toBe(JSON.stringify({ ...official, mean }));
    expect(Object.keys(again)).toEqual(Object.keys(given));
  });

  it('is a summary like any other, of a run that played nothing', () => {
    const given = evaluation({}, { run: { ...evaluation().run, outcomes: 1000, recalled: 101, surplus: 53, remarks: ['slow'] } });
    const again = summarySchema.parse(repeatSummary(stored(given), { checkpoint: CHECKPOINT }, RUN));
    expect(again.checkpoint).toEqual(CHECKPOINT);
    expect(again.run).toEqual({
      ...RUN,
      episodesPerSecond: 0,
      episodeSeconds: null,
      remarks: ['slow'],
      sandboxSeconds: 0,
      cost: 0,
      outcomes: 0,
      recalled: 1101,
      surplus: 53,
      retried: 0,
      duplicated: 0,
      nonDeterministic: [],
      pool: { ...given.run.pool, created: 0, destroyed: 0, died: 0, failed: 0 },
    });
  });

  it('keeps the facts of the episodes', () => {
    const run = { ...evaluation().run, sharedFailures: 3, nonDeterministic: [7], cost: null };
    const given = evaluation({}, { run, warnings: ['3 episodes failed together'] });
    const again = summarySchema.parse(repeatSummary(stored(given), { checkpoint: CHECKPOINT }, RUN));
    expect(again.warnings).toEqual(['3 episodes failed together']);
    expect(again.run).toMatchObject({ sharedFailures: 3, nonDeterministic: [7], cost: null });
  });

  it('of a comparison says where its checkpoints come from this time', () => {
    const candidates = [CHECKPOINT, { ...CHECKPOINT, run: 'r7', version: 3 }];
    const asked = { baseline: { ...CHECKPOINT, recorded: false }, candidates } as const;
    const again = comparisonSummarySchema.parse(repeatSummary(stored(comparison()), asked, RUN));
    expect(again).toMatchObject({ ...asked, official: comparison().official, verdict: comparison().verdict });
  });

  it.each([
    ['nothing', undefined],
    ['a partial one', evaluation({}, { partial: true, ended: 'interrupted' })],
    ['one of another kind', { ...evaluation(), schema: 'muster.summary/2' }],
    ['one that says something else', { ...evaluation(), official: { ...evaluation().official, skew: 0.1 } }],
    ['one that lacks a figure', { ...evaluation(), official: { ...evaluation().official, iqm: undefined } }],
    ['one without its run', { ...evaluation(), run: undefined }],
  ])('is not made of %s', (_, given) => {
    expect(repeatSummary(given && stored(given), { checkpoint: CHECKPOINT }, RUN)).toBeUndefined();
  });
});
