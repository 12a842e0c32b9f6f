import { mkdir } from 'node:fs/promises';
import type { Stage } from './stage.ts';

/** The right action is never shown: who always takes action 0 gets nothing. The reward passes through NumPy. */
const MAZE = `
import gymnasium
import numpy as np


class Maze(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        self.left = 4
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.full(2, self.left / 4, np.float32), 0.25 * float(np.float32(1) * (action == 1)), self.left == 0, False, {}


class Slope(Maze):
    """Pays for what no honest number is: not the same as itself."""

    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def step(self, action):
        self.left -= 1
        return np.zeros(2, np.float32), 0.25 * bool(action[0] != action[0]), self.left == 0, False, {}
`;

/** Always action 0, but for what a test adds. */
const policyWith = (source: string): string => `
import ctypes, gc, os, signal, socket, sys, threading, time
import numpy as np

class Policy:
    def act(self, observation):
        return 0

def make(**_):
    return Policy()
${source}`;

/** Finds the environment in its own process, and has every episode end with the best return at once. */
export const FORGERY = `
def act(self, observation):
    gc.unfreeze()
    for found in gc.get_objects():
        if type(found).__name__ == 'Maze':
            found.step = lambda action: (np.zeros(2, np.float32), 1.0, True, False, {})
    return 0
Policy.act = act
`;

/** A suite of the maze, with its modules on the stage. */
export async function mazeSuite(stage: Stage, episodes: number, changes: object = {}): Promise<object> {
  await mkdir(stage.path('maze'), { recursive: true });
  await stage.write('maze/maze.py', MAZE);
  return {
    name: 'maze',
    files: stage.path('maze'),
    environment: { entry: 'maze:Maze', kwargs: {} },
    reward: { bounds: [0, 1] },
    failures: 'scored',
    failureScores: { timeout: 0, crash: 0 },
    stop: { rule: 'fixed', episodes },
    ...changes,
  };
}

/** A directory with a policy in Python. @returns its path. */
export async function mazePolicy(stage: Stage, name: string, source: string): Promise<string> {
  await mkdir(stage.path(name));
  await stage.write(`${name}/muster.json`, { policy: { entry: 'policy:make' } });
  await stage.write(`${name}/policy.py`, policyWith(source));
  return stage.path(name);
}
