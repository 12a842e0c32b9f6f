/** Environments and wrappers of which it is known that making and playing them runs nothing that a suite could choose. */

/**
 * The environments that Gymnasium registers itself, in the versions that the runner supports. They are listed because code can register more under
 * any name. Environments that JAX compiles are not included.
 */
const ENVIRONMENTS: ReadonlySet<string> = new Set([
  ...listVersions('Acrobot', 1),
  ...listVersions('Ant', 4, 5),
  ...listVersions('BipedalWalker', 3),
  ...listVersions('BipedalWalkerHardcore', 3),
  ...listVersions('Blackjack', 1),
  ...listVersions('CarRacing', 2, 3),
  ...listVersions('CartPole', 0, 1),
  ...listVersions('CliffWalking', 0, 1),
  ...listVersions('CliffWalkingSlippery', 1),
  ...listVersions('FrozenLake', 1),
  ...listVersions('FrozenLake8x8', 1),
  ...listVersions('HalfCheetah', 4, 5),
  ...listVersions('Hopper', 4, 5),
  ...listVersions('Humanoid', 4, 5),
  ...listVersions('HumanoidStandup', 4, 5),
  ...listVersions('InvertedDoublePendulum', 4, 5),
  ...listVersions('InvertedPendulum', 4, 5),
  ...listVersions('LunarLander', 2, 3),
  ...listVersions('LunarLanderContinuous', 2, 3),
  ...listVersions('MountainCar', 0),
  ...listVersions('MountainCarContinuous', 0),
  ...listVersions('Pendulum', 1),
  ...listVersions('Pusher', 4, 5),
  ...listVersions('Reacher', 4, 5),
  ...listVersions('Swimmer', 4, 5),
  ...listVersions('Taxi', 3, 4),
  ...listVersions('Walker2d', 4, 5),
]);

/** Wrappers of Gymnasium that call nothing that their arguments name. */
const WRAPPERS: ReadonlySet<string> = new Set([
  'AtariPreprocessing',
  'ClipAction',
  'ClipReward',
  'FlattenObservation',
  'FrameStackObservation',
  'GrayscaleObservation',
  'MaxAndSkipObservation',
  'NormalizeObservation',
  'NormalizeReward',
  'RescaleAction',
  'RescaleObservation',
  'ResizeObservation',
  'StickyAction',
  'TimeAwareObservation',
  'TimeLimit',
]);

/** Texts that select built-in parts of an environment. Any other text may be a path, or name something that is then called. */
const TEXTS: ReadonlySet<string> = new Set(['map_name 4x4', 'map_name 8x8', 'render_mode ansi', 'render_mode rgb_array']);

/** @param entry as a suite has it. */
export function isGymnasiumEnvironment(entry: string): boolean {
  const [module, name = ''] = entry.split(':');
  return module === 'gymnasium' && ENVIRONMENTS.has(name);
}

/** @param entry as a suite has it. */
export function isKnownWrapper(entry: string): boolean {
  const [module, name = ''] = entry.split(':');
  return module === 'gymnasium.wrappers' && WRAPPERS.has(name);
}

/** Whether a keyword argument cannot cause a call or a file access. */
export function isHarmlessArgument(name: string, value: unknown): boolean {
  switch (typeof value) {
    case 'number':
    case 'boolean':
      return true;
    case 'string':
      return TEXTS.has(`${name} ${value}`);
    default:
      return value === null || (Array.isArray(value) && value.every((item) => typeof item === 'number'));
  }
}

function listVersions(name: string, ...numbers: readonly number[]): readonly string[] {
  return numbers.map((version) => `${name}-v${version}`);
}
