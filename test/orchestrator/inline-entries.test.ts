import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/kernel/errors.ts';
import { assertInlineEntries } from '../../src/orchestrator/suite/inline-entries.ts';
import { createInlineLayer, parseSuite } from '../../src/orchestrator/suite/suite-definition.ts';

function problems(environment: unknown, modules: readonly string[] = []): readonly string[] {
  const tasks = [
    { name: 'plain', environment: 'gymnasium:CartPole-v1' },
    { name: 'odd', environment },
  ];
  const written = { name: 'sent', tasks, reward: { bounds: [0, 1] }, stop: { rule: 'fixed', episodes: 2 } };
  try {
    assertInlineEntries(parseSuite(createInlineLayer(written)), modules);
    return [];
  } catch (error) {
    if (error instanceof InputError && error.code === 'suite.entry') return error.message.split('\n');
    throw error;
  }
}

const CARTPOLE = 'gymnasium:CartPole-v1';

describe('a suite that is sent', () => {
  it.each([
    ['what is registered', CARTPOLE],
    ['what others have registered', 'gymnasium:ALE/Pong-v5'],
    ['arguments that name nothing', { entry: 'gymnasium:FrozenLake-v1', kwargs: { map_name: '8x8', desc: ['SF', 'FG'], note: 'a: b' } }],
    ['known wrappers', { entry: CARTPOLE, wrappers: [{ entry: 'gymnasium.wrappers:TimeLimit', kwargs: { max_episode_steps: 9 } }] }],
  ])('may have %s', (_what, environment) => {
    expect(problems(environment)).toEqual([]);
  });

  it.each([
    ['an environment', 'timeit:timeit', 'environment.entry', 'timeit'],
    ['a function of Gymnasium', 'gymnasium.envs.registration:register', 'environment.entry', 'gymnasium.envs'],
    ['a wrapper', { entry: CARTPOLE, wrappers: [{ entry: 'timeit:timeit' }] }, 'environment.wrappers[0].entry', 'timeit'],
    [
      'what a known wrapper’s name leads to',
      { entry: CARTPOLE, wrappers: [{ entry: 'gymnasium.wrappers:TimeLimit.step' }] },
      'environment.wrappers[0].entry',
      'gymnasium.wrappers',
    ],
    ['an argument', { entry: CARTPOLE, kwargs: { deep: [{ make: 'os:system' }] } }, 'environment.kwargs.deep[0].make', 'os'],
    [
      'an argument of a wrapper',
      { entry: CARTPOLE, wrappers: [{ entry: 'gymnasium.wrappers:TimeLimit', kwargs: { f: 'os:system' } }] },
      'environment.wrappers[0].kwargs.f',
      'os',
    ],
  ])('may name a function as %s only of modules that the operator lists', (_what, environment, field, module) => {
    const [line, remedy] = problems(environment);
    expect(line).toContain(`suite: tasks[1].${field}: expected`);
    expect(remedy).toContain('server.inlineModules');
    expect(problems(environment, ['elsewhere', module])).toEqual([]);
    expect(problems(environment, [`${module}x`])).toHaveLength(2);
  });

  it('lists a bounded number of problems, however many it has', () => {
    expect(problems({ entry: CARTPOLE, kwargs: { all: Array.from({ length: 10_000 }, () => 'os:system') } })).toHaveLength(51);
  });
});
