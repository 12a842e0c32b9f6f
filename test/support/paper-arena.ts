import type { RolloutCalls } from '../../src/service/rollouts/rollout-service.ts';
import type { EpisodeCalls } from '../../src/service/arena/episode-service.ts';

const refuse = async (): Promise<never> => {
  throw new Error('nothing is played here');
};

/** For tests that ask for no episode. */
export const PAPER_ARENA: EpisodeCalls = {
  findTask: refuse,
  listTasks: refuse,
  start: refuse,
  fork: refuse,
  listFiles: refuse,
  readFileContent: refuse,
  diff: refuse,
  step: refuse,
  find: refuse,
  list: refuse,
  steps: refuse,
  reward: refuse,
  cancel: refuse,
  follow: () => {
    throw new Error('nothing is played here');
  },
};

/** For tests that ask for no stream. */
export const PAPER_ROLLOUTS: RolloutCalls = {
  start: refuse,
  find: refuse,
  list: refuse,
  readBoard: refuse,
  watch: () => {
    throw new Error('nothing is played here');
  },
  cancel: refuse,
  groups: refuse,
  acknowledge: refuse,
  reportVersion: refuse,
  follow: () => {
    throw new Error('nothing is played here');
  },
};
