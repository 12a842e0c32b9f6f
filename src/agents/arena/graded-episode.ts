import { stepAnswerSchema, type RewardAnswer } from './episode-answers.ts';
import type { EndCause, EpisodeOutcome } from './episode-state.ts';
import { shapeReward } from './reward.ts';
import type { Baseline } from './task-records.ts';
import { computeTimeShare, sumCpuSeconds } from './time-share.ts';
import type { ClosedEpisode, StoredAgentEpisode, StoredStep } from './trajectories.ts';
import { buildRewardComponents, countTests } from './verdict-components.ts';
import type { Verdict } from '../verification/verdict.ts';

type Ending = Omit<ClosedEpisode, 'at'>;

/** The measurements of a submission, besides its verdict. */
export interface Measured {
  /** It is undefined if time and steps do not count. */
  readonly baseline: Baseline | undefined;
  /** Null if it does not count, or could not be measured. */
  readonly style: number | null;
}

/**
 * Returns the result of an episode whose submission was graded. A verdict without a reward makes it void.
 */
export function endGraded(
  episode: StoredAgentEpisode,
  steps: readonly StoredStep[],
  verdict: Verdict,
  cause: EndCause,
  { baseline, style }: Measured,
): Ending & { readonly outcome: 'rewarded' | 'void' } {
  const observations = steps.flatMap(({ answer }) => {
    const read = stepAnswerSchema.safeParse(JSON.parse(answer));
    return read.success ? [read.data.observation.data] : [];
  });
  const own = { cpuSeconds: sumCpuSeconds(verdict), steps: steps.length };
  const time = baseline === undefined ? null : computeTimeShare(own, baseline);
  const components = buildRewardComponents(verdict, observations, { style, time });
  const { passed, total } = countTests(verdict);
  const reward = verdict.reward === null ? null : shapeReward(components, episode.terms);
  const outcome = reward === null ? 'void' : 'rewarded';
  const answer: RewardAnswer = {
    ...createFrame(episode, outcome, cause),
    reward,
    tests_passed: passed,
    total_tests: total,
    components: reward === null ? null : components,
    verifierDigest: verdict.verifierDigest,
    stages: verdict.stages.map(({ stage, outcome: result }) => ({ stage, outcome: result })),
    problem: verdict.problem?.detail ?? null,
  };
  return { outcome, reward: reward ?? undefined, document: JSON.stringify(answer) };
}

/** Returns the result of an episode that was not graded. */
export function endUngraded(episode: StoredAgentEpisode, outcome: 'failed' | 'void', cause: EndCause, problem: string): Ending {
  const reward = outcome === 'failed' ? 0 : null;
  const answer: RewardAnswer = {
    ...createFrame(episode, outcome, cause),
    reward,
    tests_passed: 0,
    total_tests: 0,
    components: null,
    verifierDigest: null,
    stages: [],
    problem,
  };
  return { outcome, reward: reward ?? undefined, document: JSON.stringify(answer) };
}

function createFrame(
  { id, terms, gradingSeed }: StoredAgentEpisode,
  outcome: EpisodeOutcome,
  endedBy: EndCause,
): Pick<RewardAnswer, 'episode' | 'outcome' | 'endedBy' | 'weights' | 'seed'> {
  return { episode: id, outcome, endedBy, weights: terms, seed: gradingSeed };
}
