import {
  NOTHING_SPENT,
  findReachedLimit,
  computeRemaining,
  type EndCause,
  type EpisodeAction,
  type EpisodeEvent,
  type EpisodeLimits,
  type EpisodeState,
  type Phase,
  type Planned,
} from './episode-state.ts';

export function createEpisodeState(now: number): EpisodeState {
  return { phase: { kind: 'created' }, answered: [], spent: NOTHING_SPENT, touchedAt: now };
}

/**
 * Computes the next state after an event. An event that cannot happen in a state is a defect of the caller.
 *
 * @param now milliseconds. @throws RangeError for such an event.
 */
export function planEpisode(state: EpisodeState, event: EpisodeEvent, limits: EpisodeLimits, now: number): Planned {
  switch (event.kind) {
    case 'opened':
      return assertPhase(state, 'created', event) && createPlan({ ...state, phase: { kind: 'ready' } });
    case 'step':
      return planStep({ ...state, touchedAt: now }, event, limits);
    case 'answered':
      return planAnswer({ ...state, touchedAt: now }, event, limits);
    case 'lost':
      return planLoss(state);
    case 'submit':
      return isOpen(state) ? planSubmitted(state, 'submit') : createPlan(state);
    case 'cancel':
      if (event.isGraded && isOpen(state)) return planSubmitted(state, 'abandoned');
      return state.phase.kind === 'closed' ? createPlan(state) : planClosed(state, 'void', 'abandoned');
    case 'unrestorable':
      return state.phase.kind === 'closed' ? createPlan(state) : planClosed(state, 'void', 'lost');
    case 'time-passed':
      return planTime(state, event.isGraded, limits, now);
    case 'grade':
      return planGrading(state, event);
    case 'graded':
      return planEnd(state, event);
  }
}

function planStep(state: EpisodeState, { number, digest }: Extract<EpisodeEvent, { kind: 'step' }>, limits: EpisodeLimits): Planned {
  const { phase, answered } = state;
  const expected = answered.length + 1;
  const asked = number ?? expected;
  if (asked < expected && answered[asked - 1] === digest) return createPlan(state, { kind: 'repeat', number: asked });
  const takesSteps = phase.kind === 'created' || phase.kind === 'ready' || phase.kind === 'stepping';
  if (takesSteps && asked !== expected)
    return createPlan(state, { kind: 'refuse', reason: asked < expected ? 'conflict' : 'gap', expected });
  switch (phase.kind) {
    case 'created':
      return createPlan(state, { kind: 'open' });
    case 'ready': {
      const seconds = computeRemaining(limits, answered.length, state.spent).seconds;
      return createPlan({ ...state, phase: { kind: 'stepping', number: asked, digest } }, { kind: 'perform', number: asked, seconds });
    }
    case 'stepping':
      if (number === undefined || phase.digest === digest) return createPlan(state, { kind: 'wait' });
      return createPlan(state, { kind: 'refuse', reason: 'conflict', expected });
    case 'submitted':
    case 'grading':
    case 'closed':
      return createPlan(state, { kind: 'refuse', reason: 'over', expected });
  }
}

function planAnswer(state: EpisodeState, event: Extract<EpisodeEvent, { kind: 'answered' }>, limits: EpisodeLimits): Planned {
  const { phase } = state;
  if (phase.kind !== 'stepping') throw createImpossibleError(state, event);
  const { seconds, bytesWritten, output } = state.spent;
  const spent = {
    seconds: seconds + event.spent.seconds,
    bytesWritten: bytesWritten + event.spent.bytesWritten,
    output: output + event.spent.output,
  };
  const after: EpisodeState = { ...state, answered: [...state.answered, phase.digest], spent, phase: { kind: 'ready' } };
  const remaining = computeRemaining(limits, after.answered.length, spent);
  const cause: EndCause | undefined = event.isSubmission ? 'submit' : findReachedLimit(remaining);
  const next: Phase = cause === undefined ? { kind: 'ready' } : { kind: 'submitted', cause };
  return createPlan({ ...after, phase: next }, { kind: 'answer', number: phase.number, remaining, cause });
}

/** Work that was under way has to be repeated. */
function planLoss(state: EpisodeState): Planned {
  const { phase } = state;
  switch (phase.kind) {
    case 'stepping':
      return createPlan({ ...state, phase: { kind: 'ready' } });
    case 'grading':
      return createPlan({ ...state, phase: { kind: 'submitted', cause: phase.cause } }, { kind: 'grade' });
    case 'submitted':
      return createPlan(state, { kind: 'grade' });
    case 'created':
    case 'ready':
    case 'closed':
      return createPlan(state);
  }
}

function planTime(state: EpisodeState, isGraded: boolean, limits: EpisodeLimits, now: number): Planned {
  if (!isOpen(state) || now - state.touchedAt < limits.idleSeconds * 1000) return createPlan(state);
  return isGraded ? planSubmitted(state, 'expired') : planClosed(state, 'failed', 'expired');
}

function planGrading(state: EpisodeState, event: EpisodeEvent): Planned {
  if (state.phase.kind !== 'submitted') throw createImpossibleError(state, event);
  return createPlan({ ...state, phase: { kind: 'grading', cause: state.phase.cause } }, { kind: 'grade' });
}

function planEnd(state: EpisodeState, event: Extract<EpisodeEvent, { kind: 'graded' }>): Planned {
  if (state.phase.kind === 'closed') return createPlan(state);
  if (state.phase.kind !== 'grading') throw createImpossibleError(state, event);
  return planClosed(state, event.outcome, state.phase.cause);
}

function planSubmitted(state: EpisodeState, cause: EndCause): Planned {
  return createPlan({ ...state, phase: { kind: 'submitted', cause } }, { kind: 'grade' });
}

function planClosed(state: EpisodeState, outcome: 'rewarded' | 'failed' | 'void', cause: EndCause): Planned {
  return createPlan({ ...state, phase: { kind: 'closed', cause, outcome } }, { kind: 'close', outcome, cause });
}

function isOpen({ phase }: EpisodeState): boolean {
  return phase.kind === 'created' || phase.kind === 'ready';
}

function createPlan(state: EpisodeState, action: EpisodeAction = { kind: 'none' }): Planned {
  return { state, action };
}

function assertPhase(state: EpisodeState, kind: Phase['kind'], event: EpisodeEvent): true {
  if (state.phase.kind === kind) return true;
  throw createImpossibleError(state, event);
}

function createImpossibleError({ phase }: EpisodeState, { kind }: EpisodeEvent): RangeError {
  return new RangeError(`${kind} cannot happen to an episode that is ${phase.kind}`);
}
