import { describe, expect, it } from 'vitest';
import {
  defineSuite,
  createEpisodePlanner,
  createInlineLayer,
  parseSuite,
  overrideSettings,
} from '../../src/orchestrator/suite/suite-definition.ts';

const minimal = {
  name: 'cartpole',
  environment: 'gymnasium:CartPole-v1',
  reward: { bounds: [0, 500] },
  stop: { rule: 'certified', halfWidth: 10 },
};

function problemOf(suite: object): string {
  try {
    parseSuite(createInlineLayer(suite));
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
  return 'accepted';
}

const define = (suite: object): ReturnType<typeof defineSuite> => defineSuite(parseSuite(createInlineLayer(suite)), undefined);

describe('a suite', () => {
  it('needs little: an environment, bounds and a stopping rule', () => {
    expect(define(minimal)).toMatchObject({
      tasks: [{ name: 'cartpole', weight: 1, environment: { entry: 'gymnasium:CartPole-v1', kwargs: {}, wrappers: [] } }],
      failureScores: { timeout: 0, crash: 0 },
      episodeSeconds: 60,
      actions: 'deterministic',
      stop: { rule: 'certified', halfWidth: 10, confidence: 0.95 },
    });
  });

  it('has a digest of what decides an episode, and of nothing else', () => {
    const { digest } = define(minimal);
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    const irrelevant = [
      { description: 'other' },
      { stop: { rule: 'fixed', episodes: 10 } },
      { budget: { episodes: 500 } },
      { success: { threshold: 475, k: [1, 5] } },
      { template: 'other' },
    ];
    for (const change of irrelevant) expect(define({ ...minimal, ...change }).digest).toBe(digest);
    const decisive = [
      { seed: 1 },
      { actions: 'stochastic' },
      { episode: { seconds: 5 } },
      { metrics: ['x'] },
      { reward: { bounds: [0, 501] } },
      { failureScores: { crash: 3 } },
    ];
    for (const change of decisive) expect(define({ ...minimal, ...change }).digest).not.toBe(digest);
  });

  it('that is played one episode after the other has the digest of a suite without a way of playing', () => {
    const digest = 'sha256:75e0e7628d582a2b6628136d95d72b6d2b09966bf76022ee24764b800b36bd66';
    for (const change of [{}, { play: 'single' }, { play: { mode: 'single' } }])
      expect(define({ ...minimal, ...change }).digest).toBe(digest);
  });

  it('that is played in blocks has another digest for every width and block', () => {
    const plays = [
      'single',
      { mode: 'lockstep', width: 8 },
      { mode: 'lockstep', width: 16 },
      { mode: 'lockstep', width: 8, block: 16 },
      { mode: 'vector', width: 8 },
      { mode: 'vector', width: 16 },
    ];
    expect(new Set(plays.map((play) => define({ ...minimal, play }).digest)).size).toBe(plays.length);
    const spelledOut = { mode: 'lockstep', width: 8, block: 32 };
    expect(define({ ...minimal, play: spelledOut }).digest).toBe(define({ ...minimal, play: { mode: 'lockstep', width: 8 } }).digest);
  });

  it('includes its definition of success, or that it has none', () => {
    expect(define(minimal).success).toBeUndefined();
    expect(define({ ...minimal, success: { threshold: 475, k: [5, 1] } }).success).toEqual({ threshold: 475, k: [1, 5] });
  });

  it('accepts a budget of exactly the least episodes of its stopping rule', () => {
    const least = { certified: 179, approximate: 100 };
    for (const [rule, episodes] of Object.entries(least))
      expect(define({ ...minimal, stop: { rule, halfWidth: 10 }, budget: { episodes } }).budget.episodes).toBe(episodes);
    expect(define({ ...minimal, stop: { rule: 'asymptotic', halfWidth: 10 }, budget: { episodes: 64 } }).budget.episodes).toBe(64);
  });

  it('may end a fixed number of episodes early', () => {
    expect(define({ ...minimal, stop: { rule: 'fixed', episodes: 100 }, budget: { episodes: 5 } }).budget.episodes).toBe(5);
  });

  it('draws tasks by weight by default, which changes neither its episodes nor its digest', () => {
    const tasks = ['a', 'b'].map((name) => ({ name, environment: 'm:f' }));
    const several = { ...minimal, environment: undefined, tasks };
    expect([define(minimal).allocation, define(several).allocation]).toEqual(['proportional', 'proportional']);
    const adaptive = define({ ...several, allocation: 'adaptive' });
    expect(adaptive.allocation).toBe('adaptive');
    expect(adaptive.digest).toBe(define(several).digest);
  });

  it('has the same digest however its keys are ordered', () => {
    const reordered = Object.fromEntries(Object.entries(minimal).toReversed());
    expect(define(reordered).digest).toBe(define(minimal).digest);
  });
});

describe('a suite is refused, with the path and what was expected, when', () => {
  it.each([
    ['a key stands too high up', { ...minimal, kwargs: {} }, /kwargs: unknown key; expected below another key: environment\.kwargs/],
    [
      'a key stands too high up in another spelling',
      { ...minimal, half_width: 3 },
      /half_width: unknown key; .*another key: stop\.halfWidth$/,
    ],
    ['nothing is in it', {}, /it is empty; expected a suite with name, environment, reward\.bounds and stop/],
    ['a number is none', { ...minimal, seed: Number.NaN }, /seed: expected a number, got NaN$/],
    [
      'a number is too large to be one',
      { ...minimal, reward: { bounds: [0, Infinity] } },
      /reward\.bounds\[1\]: expected a number, got Infinity$/,
    ],
    ['a list stands for a mapping', { ...minimal, reward: [0, 1] }, /reward: expected an object with bounds, got \[0,1\]/],
    ['a number stands for a list', { ...minimal, reward: { bounds: 500 } }, /reward\.bounds: expected a list, got 500/],
    [
      'a value has none of several forms',
      { ...minimal, environment: 5 },
      /environment: expected a text, or an object with entry, kwargs, wrappers, got 5$/,
    ],
    [
      'a rule is mistyped',
      { ...minimal, stop: { rule: 'certfied', halfWidth: 1 } },
      /stop\.rule: expected one of .*"certfied"; did you mean "certified"\?/,
    ],
    [
      'the key of the rule is mistyped',
      { ...minimal, stop: { rul: 'certified' } },
      /stop\.rule: is missing; is it what "rul" is meant to be\?/,
    ],
    [
      'a key goes with another rule',
      { ...minimal, stop: { rule: 'fixed', halfWidth: 1 } },
      /stop\.episodes: is missing; expected a number\n.*stop\.halfWidth: does not go with rule: "fixed"; leave one of them out$/,
    ],
    ['a choice is mistyped', { ...minimal, actions: 'stochastc' }, /actions: .*got "stochastc"; did you mean "stochastic"\?/],
    ['a key is unknown', { ...minimal, sede: 1 }, /sede: unknown key; did you mean "seed"\?/],
    ['it has neither environment nor tasks', { ...minimal, environment: undefined }, /expected either "environment" or "tasks"/],
    [
      'an environment is no entry',
      { ...minimal, environment: 'CartPole' },
      /environment: expected "gymnasium:ENVIRONMENT-ID" or "module:factory", got "CartPole"/,
    ],
    ['an environment has no "gymnasium:"', { ...minimal, environment: 'CartPole-v1' }, /"module:factory", such as "gymnasium:CartPole-v1"/],
    ['bounds are the wrong way round', { ...minimal, reward: { bounds: [1, 0] } }, /reward\.bounds: expected \[lowest, highest\]/],
    ['a certified stop has no bounds', { ...minimal, reward: {} }, /reward\.bounds: is missing; the stopping rule "certified" needs/],
    [
      'the half-width is as wide as the range',
      { ...minimal, stop: { rule: 'certified', halfWidth: 250 } },
      /stop\.halfWidth: expected less than 250: reward\.bounds alone, 500 apart.*got 250/,
    ],
    [
      'the half-width is a tiny part of the range',
      { ...minimal, stop: { rule: 'certified', halfWidth: 0.001 } },
      /stop\.halfWidth: 0\.001 is out of reach with reward\.bounds 500 apart; ask for 0\.05 or more, or declare tighter bounds/,
    ],
    [
      'an approximate stop has no bounds',
      { ...minimal, stop: { rule: 'approximate', halfWidth: 10 }, reward: {} },
      /reward\.bounds: is missing; the stopping rule "approximate" needs/,
    ],
    [
      'an approximate half-width is as wide as the range',
      { ...minimal, stop: { rule: 'approximate', halfWidth: 300 } },
      /stop\.halfWidth: expected less than 250: reward\.bounds alone, 500 apart.*got 300/,
    ],
    [
      'its budget is too small for a certified half-width',
      { ...minimal, budget: { episodes: 95 } },
      /budget\.episodes: expected at least 96: .*half-width of 10 .*got 95; allow more episodes, or ask for a wider half-width/,
    ],
    [
      'its budget ends before the first look that could do',
      { ...minimal, stop: { rule: 'approximate', halfWidth: 10 }, budget: { episodes: 99 } },
      /budget\.episodes: expected at least 100: .*got 99; allow more episodes, or ask for a wider half-width/,
    ],
    [
      'an asymptotic stop has no budget of episodes',
      { ...minimal, stop: { rule: 'asymptotic', halfWidth: 10 }, budget: { seconds: 60 } },
      /budget\.episodes: is missing; the stopping rule "asymptotic" may never be satisfied .*give the most episodes to play/,
    ],
    [
      'its budget ends before the first asymptotic interval',
      { ...minimal, stop: { rule: 'asymptotic', halfWidth: 10 }, budget: { episodes: 63 } },
      /budget\.episodes: expected at least 64: .*got 63; allow more episodes, or use another rule/,
    ],
    [
      'an episode succeeds at a return that none can have',
      { ...minimal, success: { threshold: 501 } },
      /success\.threshold: expected a number within reward\.bounds \[0, 500\], got 501/,
    ],
    ['the confidence is no probability', { ...minimal, stop: { rule: 'fixed', episodes: 5, confidence: 95 } }, /stop\.confidence/],
    [
      'a failure score is impossible',
      { ...minimal, failureScores: { timeout: -1 } },
      /failureScores\.timeout: expected a number within reward\.bounds \[0, 500\], got -1/,
    ],
    [
      'there are no bounds and no failure scores',
      { ...minimal, reward: {}, stop: { rule: 'fixed', episodes: 5 } },
      /failureScores\.crash: expected the return that a crash counts as/,
    ],
    [
      'adaptive allocation has a single environment to share episodes out to',
      { ...minimal, allocation: 'adaptive' },
      /allocation: expected "proportional", got "adaptive": .* one only; give "tasks" with several, or leave "allocation" out/,
    ],
    [
      'adaptive allocation has a single task to share episodes out to',
      { ...minimal, environment: undefined, tasks: [{ name: 'a', environment: 'm:f' }], allocation: 'adaptive' },
      /allocation: expected "proportional", got "adaptive"/,
    ],
    ['the allocation is unknown', { ...minimal, allocation: 'neyman' }, /allocation: .*"adaptive"/],
    ['blocks have no rows', { ...minimal, play: { mode: 'lockstep', width: 0 } }, /play\.width: expected a number of 1 or more, got 0/],
    [
      'blocks have too many rows',
      { ...minimal, play: { mode: 'vector', width: 4097 } },
      /play\.width: expected a number of 4096 at most, got 4097/,
    ],
    ['blocks have rows without a declared width', { ...minimal, play: { mode: 'vector' } }, /play\.width: is missing/],
    [
      'it names a way of playing alone',
      { ...minimal, play: 'lockstep' },
      /play: expected single, or a mode with its width such as \{ mode: lockstep, width: 32 \}, got "lockstep"/,
    ],
    [
      'a block has fewer episodes than rows',
      { ...minimal, play: { mode: 'lockstep', width: 8, block: 7 } },
      /play\.block: expected at least as many episodes as the width has rows, got 7/,
    ],
    [
      'a block of the vector form is to have more episodes than rows',
      { ...minimal, play: { mode: 'vector', width: 8, block: 16 } },
      /play\.block: expected nothing: with "vector" a block has one episode for each row, got 16/,
    ],
    [
      'two tasks share a name',
      {
        ...minimal,
        environment: undefined,
        tasks: [
          { name: 'a', environment: 'm:f' },
          { name: 'a', environment: 'm:f' },
        ],
      },
      /tasks\[1\]\.name: "a" is used twice/,
    ],
    ['a metric is named twice', { ...minimal, metrics: ['fuel', 'fuel'] }, /metrics: expected each metric once/],
  ])('%s', (_name, suite, expected) => {
    expect(problemOf(suite)).toMatch(expected);
    expect(problemOf(suite)).toMatch(/^suite: /);
  });
});

describe('the task of an episode', () => {
  it('is drawn in proportion to the weights, from the index alone', () => {
    const tasks = [
      { name: 'rare', weight: 1, environment: 'm:f' },
      { name: 'common', weight: 3, environment: 'm:f' },
    ];
    const planEpisode = createEpisodePlanner(define({ ...minimal, environment: undefined, tasks }));
    const n = 40_000;
    let rare = 0;
    for (let index = 0; index < n; index += 1) if (planEpisode(index).task === 0) rare += 1;
    // Five standard errors of a proportion of one quarter.
    expect(Math.abs(rare / n - 0.25)).toBeLessThan(5 * Math.sqrt((0.25 * 0.75) / n));
    expect(planEpisode(17)).toEqual(planEpisode(17));
  });

  it('can be drawn by other probabilities, from the same number and with the same seeds', () => {
    const tasks = ['a', 'b', 'c'].map((name) => ({ name, weight: 1, environment: 'm:f' }));
    const suite = define({ ...minimal, environment: undefined, tasks, seed: 3 });
    const [byWeight, asTold] = [
      createEpisodePlanner(suite),
      createEpisodePlanner(suite, (index, draw) => (index < 5 ? 2 : Math.floor(3 * draw))),
    ];
    for (let index = 0; index < 50; index += 1) {
      const task = index < 5 ? 2 : byWeight(index).task;
      expect(asTold(index)).toEqual({ ...byWeight(index), task });
    }
  });
});

describe('settings that replace a suite’s own', () => {
  const written = {
    value: { name: 's', environment: 'gymnasium:CartPole-v1', reward: { bounds: [0, 1] }, stop: { rule: 'fixed', episodes: 9 } },
    findOrigin: () => 'suite.yaml:1',
  };

  it('replace seed, actions and confidence, and leave everything else', () => {
    const changed = parseSuite(overrideSettings(written, { seed: 3, actions: 'stochastic', confidence: 0.99 }));
    expect(changed).toEqual({
      ...parseSuite(written),
      seed: 3,
      actions: 'stochastic',
      stop: { rule: 'fixed', episodes: 9, confidence: 0.99 },
    });
    expect(parseSuite(overrideSettings(written, {}))).toEqual(parseSuite(written));
  });

  it('are named for their own errors, and the file for the rest', () => {
    expect(() => parseSuite(overrideSettings(written, { seed: -1 }))).toThrow('setting asked for: seed: ');
    expect(() => parseSuite(overrideSettings({ ...written, value: { ...written.value, play: 1 } }, { seed: 1 }))).toThrow(
      'suite.yaml:1: play: ',
    );
  });
});
