import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EpisodeEvent, EpisodeLimits, EpisodeState } from '../../../src/agents/arena/episode-state.ts';
import { createEpisodeState, planEpisode } from '../../../src/agents/arena/plan-episode.ts';

const LIMITS: EpisodeLimits = { steps: 5, seconds: 100, bytesWritten: 1000, output: 1000, idleSeconds: 60 };

/** What clients and machines do, in any order: steps with right, repeated and wrong numbers, bodies a and b, losses, ends. */
type Happening =
  | { readonly kind: 'request'; readonly offset: number | undefined; readonly body: 'a' | 'b' }
  | { readonly kind: 'answer'; readonly seconds: number }
  | { readonly kind: 'loss' | 'submit' | 'cancel' | 'verdict' | 'idle' };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      offset: fc.option(fc.integer({ min: -4, max: 2 }), { nil: undefined }),
      body: fc.constantFrom('a' as const, 'b' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('answer' as const), seconds: fc.integer({ min: 0, max: 60 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('loss' as const, 'submit' as const, 'cancel' as const, 'verdict' as const, 'idle' as const),
    }),
  },
);

/** The same episode as a list of bodies: what a correct arena stores. */
class Model {
  readonly stored: string[] = [];
  carriedOut: string | undefined;
  seconds = 0;
  isOver = false;
  isClosed = false;
}

describe('the state of an episode', () => {
  it('stores each step once and in order, whatever is sent again, left out, sent twice at once or lost', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60 }), (happenings) => {
        const model = new Model();
        let state: EpisodeState = planEpisode(createEpisodeState(0), { kind: 'opened' }, LIMITS, 0).state;
        const plan = (event: EpisodeEvent, now = 1): ReturnType<typeof planEpisode> => {
          const planned = planEpisode(state, event, LIMITS, now);
          state = planned.state;
          return planned;
        };
        for (const each of happenings) {
          const { actual, expected } = happen(each, model, plan);
          expect(actual).toEqual(expected);
          expect(state.answered).toEqual(model.stored);
          expect(state.spent.seconds).toBe(model.seconds);
          expect(state.phase.kind === 'closed').toBe(model.isClosed);
        }
      }),
    );
  });

  it('refuses events that cannot happen in its state', () => {
    const ready = planEpisode(createEpisodeState(0), { kind: 'opened' }, LIMITS, 0).state;
    const spent = { seconds: 1, bytesWritten: 0, output: 0 };
    expect(() => planEpisode(ready, { kind: 'answered', spent, isSubmission: false }, LIMITS, 0)).toThrow('answered cannot happen');
    expect(() => planEpisode(ready, { kind: 'opened' }, LIMITS, 0)).toThrow('opened cannot happen');
    expect(() => planEpisode(ready, { kind: 'graded', outcome: 'void' }, LIMITS, 0)).toThrow('graded cannot happen');
  });

  it('is graded when it is given up or abandoned, if its task says so', () => {
    const ready = planEpisode(createEpisodeState(0), { kind: 'opened' }, LIMITS, 0).state;
    for (const [event, cause] of [
      [{ kind: 'cancel', isGraded: true }, 'abandoned'],
      [{ kind: 'time-passed', isGraded: true }, 'expired'],
    ] as const)
      expect(planEpisode(ready, event, LIMITS, 61_000)).toMatchObject({
        state: { phase: { kind: 'submitted', cause } },
        action: { kind: 'grade' },
      });
    expect(planEpisode(ready, { kind: 'time-passed', isGraded: true }, LIMITS, 59_000).action).toEqual({ kind: 'none' });
  });
});

interface Compared {
  readonly actual: unknown;
  readonly expected: unknown;
}

const NOTHING: Compared = { actual: undefined, expected: undefined };

function happen(each: Happening, model: Model, plan: (event: EpisodeEvent, now?: number) => ReturnType<typeof planEpisode>): Compared {
  const next = model.stored.length + 1;
  switch (each.kind) {
    case 'request': {
      const number = each.offset === undefined ? undefined : Math.max(1, next + each.offset);
      const expected = expectedAnswer(model, number ?? next, each, number === undefined);
      const { action } = plan({ kind: 'step', number, digest: each.body });
      if (action.kind === 'perform') model.carriedOut = each.body;
      return { actual: action.kind === 'refuse' ? action.reason : action.kind, expected };
    }
    case 'answer': {
      if (model.carriedOut === undefined) return NOTHING;
      const { action } = plan({ kind: 'answered', spent: { seconds: each.seconds, bytesWritten: 0, output: 0 }, isSubmission: false });
      model.stored.push(model.carriedOut);
      model.carriedOut = undefined;
      model.seconds += each.seconds;
      model.isOver = model.stored.length === LIMITS.steps || model.seconds >= LIMITS.seconds;
      const steps = LIMITS.steps - model.stored.length;
      const remaining = { steps, seconds: Math.max(0, LIMITS.seconds - model.seconds), bytesWritten: 1000, output: 1000 };
      const cause = steps === 0 ? 'steps' : model.isOver ? 'seconds' : undefined;
      return { actual: action, expected: { kind: 'answer', number: model.stored.length, remaining, cause } };
    }
    case 'loss':
      plan({ kind: 'lost' });
      model.carriedOut = undefined;
      return NOTHING;
    case 'submit':
      if (model.carriedOut !== undefined) return NOTHING;
      plan({ kind: 'submit' });
      model.isOver = true;
      return NOTHING;
    case 'cancel':
      plan({ kind: 'cancel', isGraded: false });
      model.carriedOut = undefined;
      model.isOver = true;
      model.isClosed = true;
      return NOTHING;
    case 'verdict': {
      if (!model.isOver || model.isClosed) return NOTHING;
      plan({ kind: 'grade' });
      const { action } = plan({ kind: 'graded', outcome: 'rewarded' });
      model.isClosed = true;
      return { actual: action.kind, expected: 'close' };
    }
    case 'idle': {
      const isIdle = !model.isOver && model.carriedOut === undefined;
      const { action } = plan({ kind: 'time-passed', isGraded: false }, 1_000_000);
      model.isOver ||= isIdle;
      model.isClosed ||= isIdle;
      return { actual: action.kind, expected: isIdle ? 'close' : 'none' };
    }
  }
}

function expectedAnswer(model: Model, number: number, { body }: { readonly body: string }, isAny: boolean): string {
  const next = model.stored.length + 1;
  if (number < next && model.stored[number - 1] === body) return 'repeat';
  if (model.isOver) return 'over';
  if (number !== next) return number < next ? 'conflict' : 'gap';
  if (model.carriedOut === undefined) return 'perform';
  return isAny || model.carriedOut === body ? 'wait' : 'conflict';
}
