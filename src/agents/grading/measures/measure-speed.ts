import type { CasesStage, ScoreTerms } from '../../tasks/muster-schema.ts';
import type { SpeedEvidence } from '../../verification/evidence.ts';
import { isMeasured, measureRatio, type Turn } from '../../verification/measured-speed.ts';
import type { CandidateTerms } from '../candidate-terms.ts';
import { seedRandom, shuffle } from '../order-of-runs.ts';
import type { ExpectedCase } from '../expected-cases.ts';
import { MeasuringSandbox } from './measuring-sandbox.ts';

/**
 * Measures golden model and candidate in turns, on one case after the other, until the score is as certain as the task requires. The seed decides
 * which of the two comes first in a turn, and the order of cases. A wrong output ends it.
 */
export async function measureSpeed(
  terms: CandidateTerms,
  execute: CasesStage,
  speed: NonNullable<ScoreTerms['speed']>,
  cases: readonly ExpectedCase[],
  signal: AbortSignal,
): Promise<SpeedEvidence> {
  const random = seedRandom('turns of measuring', terms.grading.seed);
  const turns: Turn[] = [];
  await using sandbox = await MeasuringSandbox.open(terms, execute, signal);
  let round: readonly ExpectedCase[] = [];
  while (!isMeasured(turns, speed)) {
    if (round.length === 0) round = shuffle(cases, random);
    const [one, ...others] = round;
    if (one === undefined) throw new RangeError('speed was to be measured without a case');
    round = others;
    const isGoldenFirst = random() < 0.5;
    const before = isGoldenFirst ? await sandbox.runGolden(one) : undefined;
    const { result, wrong } = await sandbox.runCandidate(one);
    if (wrong !== undefined) return { stage: 'score', kind: 'speed', ratio: 0, low: 0, high: 0, pairs: turns.length, turns, wrong };
    const golden = before ?? (await sandbox.runGolden(one));
    turns.push({ name: one.test.name, golden: golden.seconds, candidate: result.seconds });
  }
  return { stage: 'score', kind: 'speed', ...measureRatio(turns), pairs: turns.length, turns, wrong: null };
}
