import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { compare, type CompareOptions, type ComparisonRequest, type ComparisonTermsInput } from '../../src/orchestrator/compare.ts';
import { comparisonSummarySchema, type ComparisonSummary } from '../../src/orchestrator/results/comparison-summary.ts';
import { readRecordedBaseline } from '../../src/orchestrator/results/recorded-baseline.ts';
import type { SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { EvaluationFixture, suiteWith, type FixtureOptions } from '../support/evaluation-fixture.ts';
import { MapJournal } from '../support/map-journal.ts';
import { scriptedRunner, type PlayEpisode, type ScriptedEpisode } from '../support/in-memory-runner.ts';
import { extent } from '../support/full-form.ts';

const [OLD, BETTER, WORSE, TWIN] = ['old', 'better', 'worse', 'twin'].map(paper);

function paper(name: string): StoredCheckpoint {
  return { digest: digestBytes(name), kind: 'file', files: [], labels: {} };
}

/** Solves a share of the episodes: which ones is the seeds' doing, so better policies solve those of worse ones and more. */
const SHARES: Readonly<Record<string, number>> = {
  [digestBytes('old')]: 0.5,
  [digestBytes('better')]: 0.7,
  [digestBytes('worse')]: 0.3,
  [digestBytes('twin')]: 0.5,
};

function solves({ checkpoint, environmentSeed }: ScriptedEpisode): number {
  return environmentSeed / 2 ** 32 < (SHARES[checkpoint] ?? 0) ? 1 : 0;
}

const play: PlayEpisode = (episode) => ({ return: solves(episode) });

interface Contest {
  readonly suite?: SuiteDefinition;
  readonly candidates?: readonly (StoredCheckpoint | undefined)[];
  /** In place of `candidates`. */
  readonly named?: ComparisonRequest['candidates'];
  readonly baseline?: ComparisonRequest['baseline'];
  readonly terms?: ComparisonTermsInput;
  readonly fixture?: Partial<FixtureOptions>;
  readonly options?: CompareOptions;
}

async function runComparison({
  suite = suiteWith(),
  candidates = [BETTER],
  named = candidates.map((checkpoint, i) => ({ checkpoint: checkpoint ?? paper('none'), uri: `candidate-${i}` })),
  baseline,
  terms = {},
  fixture = {},
  options = {},
}: Contest): Promise<ComparisonSummary> {
  await using setup = new EvaluationFixture({ program: scriptedRunner(play), clock: systemClock, ...fixture });
  const played = { kind: 'played', checkpoint: OLD ?? paper('old') } as const;
  const request = { suite, suiteFiles: undefined, baseline: baseline ?? played, baselineUri: 'baseline', candidates: named, terms };
  return await compare(setup.context, request, options);
}

describe('a comparison', () => {
  it('promotes a better candidate, and its summary is what the published schema says', async () => {
    const summary = await runComparison({});
    expect(comparisonSummarySchema.parse(summary)).toEqual(summary);
    expect(summary.verdict).toBe('promote');
    expect(summary.ended).toBe('verdicts');
    expect(summary.partial).toBe(false);
    const [candidate] = summary.official.candidates;
    expect(candidate).toMatchObject({ name: BETTER?.digest, verdict: 'promote' });
    expect(candidate?.difference).toBeGreaterThan(0.1);
    expect(summary.official.episodes).toBe(2 * summary.official.pairs);
  });

  it('continues from its journals after every end, to the result of an undisturbed one, and plays nothing twice', async () => {
    const contest = { candidates: [WORSE, TWIN, BETTER], terms: { budgetEpisodes: 1500 } };
    const undisturbed = await runComparison(contest);
    const journals = [0, 1, 2, 3].map(() => new MapJournal());
    const journal = (arm: number): MapJournal => journals[arm] ?? new MapJournal();
    const stored = (): number => journals.reduce((sum, { episodes }) => sum + episodes.size, 0);
    let last: ComparisonSummary | undefined;
    let ends = 0;
    while (last === undefined || last.ended === 'interrupted') {
      const stop = new AbortController();
      const before = stored();
      const until = before + 1 + 37 * ends;
      const interrupted: PlayEpisode = (episode) => {
        if (stored() >= until) stop.abort();
        return play(episode);
      };
      const fixture = { program: scriptedRunner(interrupted), sandboxes: 1 + (ends % 7) };
      last = await runComparison({ ...contest, fixture, options: { journal, signal: stop.signal } });
      expect(last.run.recalled).toBeLessThanOrEqual(before);
      ends += 1;
    }
    expect(ends).toBeGreaterThan(5);
    expect(JSON.stringify(last.official)).toBe(JSON.stringify(undisturbed.official));
  });

  it('drops a loser early and continues with the others', async () => {
    const summary = await runComparison({ candidates: [WORSE, TWIN], terms: { budgetEpisodes: 900 } });
    const [worse, twin] = summary.official.candidates;
    expect([worse?.verdict, twin?.verdict]).toEqual(['regress', 'inconclusive']);
    expect(worse?.pairs).toBeLessThan(twin?.pairs ?? 0);
    expect(summary.official.episodes).toBeLessThanOrEqual(900);
    expect(summary.ended).toBe('episodes');
    expect(summary.verdict).toBe('inconclusive');
  });

  it('finds a twin equivalent within a margin', async () => {
    expect((await runComparison({ candidates: [TWIN], terms: { margin: 0.1 } })).verdict).toBe('equivalent');
  });

  it('alternates arms on a single sandbox, without playing one far ahead of the other', async () => {
    const summary = await runComparison({ fixture: { sandboxes: 1 } });
    expect(summary.verdict).toBe('promote');
    expect(summary.run.surplus).toBeLessThan(200);
  });

  it('in blocks has the same verdicts and pairs as one by one, on one sandbox and on many', async () => {
    const terms = { budgetEpisodes: 1500 };
    const candidates = [BETTER, TWIN, WORSE];
    const { suite: _, ...expected } = (await runComparison({ candidates, terms })).official;
    for (const form of [
      { mode: 'lockstep', width: 4, block: 28 },
      { mode: 'vector', width: 64 },
    ]) {
      for (const sandboxes of [1, 16]) {
        const suite = suiteWith({ play: form });
        const { official, run } = await runComparison({ suite, candidates, terms, fixture: { sandboxes } });
        const { suite: __, ...figures } = official;
        expect(figures).toEqual(expected);
        expect(run.nonDeterministic).toEqual([]);
      }
    }
  });

  it('in blocks continues from its journals, also with a partly known block', async () => {
    const contest = { suite: suiteWith({ play: { mode: 'vector', width: 64 } }), terms: { budgetEpisodes: 1000 } };
    const journals = [new MapJournal(), new MapJournal()];
    const options = { journal: (arm: number) => journals[arm] ?? new MapJournal() };
    const undisturbed = await runComparison({ ...contest, options });
    for (const journal of journals) for (const index of journal.episodes.keys()) if (index % 37 === 5) journal.episodes.delete(index);
    const again = await runComparison({ ...contest, options, fixture: { sandboxes: 3 } });
    expect(JSON.stringify(again.official)).toBe(JSON.stringify(undisturbed.official));
    expect(again.run.recalled).toBeGreaterThan(100);
    expect(again.run.nonDeterministic).toEqual([]);
  });

  it('needs to know the range of the return', async () => {
    const suite = suiteWith({ reward: {}, failureScores: { timeout: 0, crash: 0 } });
    await expect(runComparison({ suite })).rejects.toThrow(/reward\.bounds/);
  });

  it('of a checkpoint with itself is refused by its given name', async () => {
    const named = { checkpoint: OLD ?? paper('old'), uri: 'sha256:0', name: 'copy.safetensors' };
    await expect(runComparison({ candidates: [OLD], named: [named] })).rejects.toThrow(
      /^copy\.safetensors and baseline are the same checkpoint/,
    );
    await expect(runComparison({ candidates: [OLD] })).rejects.toThrow(/candidate-0 and baseline are the same checkpoint/);
  });

  it('gives the same bytes on 1, 16 and 64 sandboxes, whatever the order and the losses', async () => {
    const candidates = [BETTER, TWIN, WORSE];
    const terms = { budgetEpisodes: 1500 };
    const expected = JSON.stringify((await runComparison({ candidates, terms, fixture: { sandboxes: 1 } })).official);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 16, 64),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 3, max: 60 }),
        fc.nat(),
        async (sandboxes, slowness, killEvery, salt) => {
          const killed = new Set<string>();
          const program = scriptedRunner(async (episode) => {
            const chance = Math.imul(episode.environmentSeed ^ salt, 0x9e3779b1) >>> 0;
            for (let turn = 0; turn < chance % slowness; turn += 1) await new Promise((resolve) => setImmediate(resolve));
            const key = `${episode.checkpoint} ${episode.index}`;
            if (chance % killEvery === 0 && !killed.has(key)) {
              killed.add(key);
              return { exit: 137 };
            }
            return play(episode);
          });
          const summary = await runComparison({ candidates, terms, fixture: { program, sandboxes } });
          expect(JSON.stringify(summary.official)).toBe(expected);
        },
      ),
      { numRuns: extent({ short: 5, full: 25 }), seed: 5 },
    );
  });
});

it('a suite with adaptive allocation is compared on tasks that are drawn by weight, so that indices stay pairs', async () => {
  const tasks = [1, 3].map((weight, task) => ({ name: `task-${task}`, weight, environment: 'm:f' }));
  const of = async (allocation: string): Promise<ComparisonSummary> =>
    await runComparison({ suite: suiteWith({ environment: undefined, tasks, allocation }), terms: { budgetEpisodes: 600 } });
  expect((await of('adaptive')).official).toEqual((await of('proportional')).official);
});

describe('a recorded baseline', () => {
  const suite = suiteWith({ stop: { rule: 'fixed', episodes: 400 } });

  async function record(changes: { readonly suiteDigest?: string; readonly shift?: number } = {}) {
    await using setup = new EvaluationFixture({ program: scriptedRunner(play), clock: systemClock });
    const lines: { line: number; value: unknown }[] = [];
    const episodes = { write: (record: object) => void lines.push({ line: lines.length + 1, value: JSON.parse(JSON.stringify(record)) }) };
    const summary = await setup.evaluate(suite, { episodes }, OLD);
    const official = { ...summary.official, suite: { ...summary.official.suite, digest: changes.suiteDigest ?? suite.digest } };
    async function* kept() {
      for (const { line, value } of lines) yield { line, value };
    }
    return { summaryFile: 'out/summary.json', summary: { ...summary, official }, episodesFile: 'out/episodes.ndjson', episodes: kept };
  }

  it('gives the verdict that playing it again would', async () => {
    const baseline = { kind: 'recorded', ...(await readRecordedBaseline(await record(), suite)) } as const;
    const recorded = await runComparison({ suite, baseline });
    const played = await runComparison({ suite });
    expect(recorded.baseline.recorded).toBe(true);
    // Of the recording the greater part is left over, but none of it was played for this.
    expect(recorded.run.surplus).toBe(recorded.run.outcomes - recorded.official.pairs);
    expect(recorded.official).toEqual(played.official);
  });

  it('that ends too early is reported', async () => {
    const baseline = { kind: 'recorded', ...(await readRecordedBaseline(await record(), suite)) } as const;
    const summary = await runComparison({ suite, baseline, candidates: [TWIN] });
    expect(summary.official).toMatchObject({ pairs: 400, endedBy: 'episodes' });
    expect(summary.official.warnings.join()).toMatch(/recorded baseline ended after 400/);
  });

  it('that drew its own tasks is refused, and one of an earlier version that drew them by weight is accepted', async () => {
    const { summary, ...files } = await record();
    const recordedWith = (allocation: string | undefined): ReturnType<typeof readRecordedBaseline> =>
      readRecordedBaseline({ ...files, summary: { ...summary, official: { ...summary.official, allocation } } }, suite);
    await expect(recordedWith('adaptive')).rejects.toThrow(
      /out\/summary\.json: official\.allocation: expected "proportional", got "adaptive": .*evaluate the baseline without "allocation: adaptive", or give its checkpoint/,
    );
    expect((await recordedWith(undefined)).outcomes).toHaveLength(400);
  });

  it('of another suite is refused with both digests', async () => {
    const other = digestBytes('another suite');
    const refusal = readRecordedBaseline(await record({ suiteDigest: other }), suite);
    await expect(refusal).rejects.toThrow(other);
    await expect(readRecordedBaseline(await record({ suiteDigest: other }), suite)).rejects.toThrow(suite.digest);
  });
});
