import path from 'node:path';
import type { SuiteLike } from '../../src/faces/client/muster-client.ts';
import { REPOSITORY } from '../end-to-end/stage.ts';

export const EARLY = path.join(REPOSITORY, 'examples/game/checkpoints/early.safetensors');

/** The operator lets callers name what the attacks are made of, so that they get past the door. */
export const OPEN_DOOR = { inlineModules: ['timeit', 'gymnasium.envs'] };

export interface Environment {
  readonly entry: string;
  readonly kwargs: Record<string, string | number>;
}

/** What `timeit:timeit` runs while a suite is loaded. It makes a number and no environment, so that the suite is refused afterwards. */
export function running(statement: string): Environment {
  return { entry: 'timeit:timeit', kwargs: { stmt: statement, number: 1 } };
}

/** Each of them changes CartPole in the process that it is loaded in, and is refused. */
export const CHANGES: Readonly<Record<string, Environment>> = {
  'patches CartPole by an entry that runs text': running(
    'import gymnasium.envs.classic_control.cartpole as c; c.CartPoleEnv.step = lambda self, action: (self.reset()[0], 0.0, True, False, {})',
  ),
  'registers another CartPole, by data alone': {
    entry: 'gymnasium.envs.registration:register',
    kwargs: { id: 'CartPole-v1', entry_point: 'gymnasium.envs.classic_control.cartpole:CartPoleEnv', max_episode_steps: 7 },
  },
  'leaves a thread that patches CartPole later': running(
    'import threading, time, gymnasium.envs.classic_control.cartpole as c\n' +
      'def later():\n' +
      '  for _ in range(6000): c.CartPoleEnv.step = lambda self, action: (self.reset()[0], 0.0, True, False, {}); time.sleep(0.01)\n' +
      'threading.Thread(target=later, daemon=True).start()',
  ),
};

/** A suite as a caller sends it. */
export function sent(environment: Environment): Exclude<SuiteLike, string> {
  return { name: 'sent', environment, reward: { bounds: [0, 500] }, stop: { rule: 'fixed', episodes: 4 } };
}
