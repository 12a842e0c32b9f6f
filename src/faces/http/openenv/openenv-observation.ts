import type { StepAnswer } from '../../../agents/arena/episode-answers.ts';
import { InputError } from '../../../kernel/errors.ts';
import type { StepToReward } from '../../../service/arena/step-to-reward.ts';
import type { ActionResult, OpenEnvObservation } from './openenv-frames.ts';

/** @returns undefined while the episode is graded. @throws InputError `episode.empty` */
export function toActionResult(episode: string, { answer, reward }: StepToReward): ActionResult | undefined {
  if (answer === undefined) throw new InputError('episode.empty', `episode ${episode} has ended before its first step; send a reset`);
  if (reward === 'grading') return undefined;
  const observation = toOpenEnvObservation(episode, answer);
  if (reward === undefined) return { observation, reward: null, done: false };
  const { outcome, tests_passed, total_tests, problem } = reward;
  return { observation: { ...observation, outcome, tests_passed, total_tests, problem }, reward: reward.reward, done: true };
}

function toOpenEnvObservation(episode: string, { observation, step, truncated, remaining, notice }: StepAnswer): OpenEnvObservation {
  return { ...observation, episode, step, truncated, remaining, notice };
}
