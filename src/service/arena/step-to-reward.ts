import { rewardSchema, stepAnswerSchema, type RewardAnswer, type StepAnswer } from '../../agents/arena/episode-answers.ts';
import type { Caller } from '../access/caller.ts';
import { EpisodeStateError } from './episode-errors.ts';
import type { EpisodeCalls } from './episode-service.ts';

/** The result of a step, for callers that expect the reward with the last step. */
export interface StepToReward {
  /** The answer of the last step if the episode had ended before; undefined when it ended without a step. */
  readonly answer: StepAnswer | undefined;
  /** It is undefined while the episode takes steps. It is 'grading' when the verdict takes longer than the caller waits. */
  readonly reward: RewardAnswer | 'grading' | undefined;
}

export interface RewardWait {
  readonly milliseconds: number;
  /** Aborted when the caller has gone. */
  readonly gone: AbortSignal;
}

/** Takes the next step, and waits for the reward when it ends the episode or the episode has ended before. @throws InputError `episode.not-found` */
export async function stepToReward(
  arena: Pick<EpisodeCalls, 'step' | 'find' | 'steps' | 'reward'>,
  episode: string,
  caller: Caller,
  action: unknown,
  { milliseconds, gone }: RewardWait,
): Promise<StepToReward> {
  const answer = await takeNextStep(arena, episode, caller, action);
  if (answer?.done === false) return { answer, reward: undefined };
  const reward = await arena.reward(episode, caller, milliseconds, false, gone);
  return { answer, reward: reward.kind === 'grading' ? 'grading' : rewardSchema.parse(JSON.parse(reward.document)) };
}

async function takeNextStep(
  arena: Pick<EpisodeCalls, 'step' | 'find' | 'steps'>,
  episode: string,
  caller: Caller,
  action: unknown,
): Promise<StepAnswer | undefined> {
  try {
    return stepAnswerSchema.parse(JSON.parse(await arena.step(episode, caller, undefined, action)));
  } catch (error) {
    if (!(error instanceof EpisodeStateError && error.code === 'episode.over')) throw error;
    const { steps } = await arena.find(episode, caller);
    const [last] = steps === 0 ? [] : await arena.steps(episode, caller, steps - 1, 1);
    return last && stepAnswerSchema.parse(JSON.parse(last.answer));
  }
}
