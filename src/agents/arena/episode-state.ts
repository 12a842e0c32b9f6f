/**
 * The life of an episode of an agent, as a pure state machine:
 *
 *      created ─▶ ready ─▶ stepping ⇄ ready ─▶ submitted ─▶ grading ─▶ closed
 *
 * - *created*: accepted; its workspace does not exist yet. `opened` makes it ready.
 * - *ready*: it waits for the next step. Only here a step can begin, and only here can time end it.
 * - *stepping*: one action is carried out. `answered` comes once the step is stored; `lost` when the workspace, or the Muster that had it, was
 *    lost before that: then the same step has to be carried out again.
 * - *submitted*: it takes no more steps, because the agent has submitted, a limit is reached, or it was given up.
 * - *grading*: the verdict is taken, and taken again if the Muster that takes it is lost.
 * - *closed*: rewarded, failed or void, for good.
 *
 * A step has the next number. A repeated step gets the stored answer, as long as its body is the same.
 */
export interface EpisodeState {
  readonly phase: Phase;
  /** Digests of the bodies of all steps that are stored, in order. */
  readonly answered: readonly string[];
  readonly spent: Spent;
  /** Time of the last request, in milliseconds. */
  readonly touchedAt: number;
}

export type Phase =
  | { readonly kind: 'created' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'stepping'; readonly number: number; readonly digest: string }
  | { readonly kind: 'submitted'; readonly cause: EndCause }
  | { readonly kind: 'grading'; readonly cause: EndCause }
  | { readonly kind: 'closed'; readonly cause: EndCause; readonly outcome: EpisodeOutcome };

export const END_CAUSES = ['submit', 'steps', 'seconds', 'bytes', 'output', 'expired', 'abandoned', 'lost'] as const;
/**
 * Why an episode takes no more steps: submitted, a limit reached, no request for too long, given up, or its workspace cannot be made, or not again.
 */
export type EndCause = (typeof END_CAUSES)[number];

export const OUTCOMES = ['rewarded', 'failed', 'void'] as const;
/** failed: there was nothing to grade, which is the agent's doing. void: there is no reward, through no fault of the agent. */
export type EpisodeOutcome = (typeof OUTCOMES)[number];

/** How much of its limits an episode has used. */
export interface Spent {
  readonly seconds: number;
  readonly bytesWritten: number;
  /** Characters of observations. */
  readonly output: number;
}

export interface EpisodeLimits {
  readonly steps: number;
  /** While it is stepping. */
  readonly seconds: number;
  readonly bytesWritten: number;
  readonly output: number;
  /** Time without a request after which it is given up. */
  readonly idleSeconds: number;
}

/** The rest of the limits: 0 for a limit that is reached. */
export interface Remaining extends Spent {
  readonly steps: number;
}

export type EpisodeEvent =
  | { readonly kind: 'opened' }
  /** @param number that the caller believes to be next; undefined for whichever is. */
  | { readonly kind: 'step'; readonly number: number | undefined; readonly digest: string }
  | { readonly kind: 'answered'; readonly spent: Spent; readonly isSubmission: boolean }
  /** The loss of the workspace, or of the Muster that had it. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'submit' }
  /** The caller gives it up. @param isGraded whether it is graded with the files that it has then. */
  | { readonly kind: 'cancel'; readonly isGraded: boolean }
  /** Its workspace cannot be made, or not again. */
  | { readonly kind: 'unrestorable' }
  | { readonly kind: 'time-passed'; readonly isGraded: boolean }
  | { readonly kind: 'grade' }
  | { readonly kind: 'graded'; readonly outcome: 'rewarded' | 'void' };

/** Says what to do next. */
export type EpisodeAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'open' }
  | { readonly kind: 'perform'; readonly number: number; readonly seconds: number }
  /** The stored answer of a step. */
  | { readonly kind: 'repeat'; readonly number: number }
  /** Another request carries out the same step. This request gets its answer, too. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'refuse'; readonly reason: 'conflict' | 'gap' | 'over'; readonly expected: number }
  /** @param cause undefined while the episode goes on. */
  | { readonly kind: 'answer'; readonly number: number; readonly remaining: Remaining; readonly cause: EndCause | undefined }
  | { readonly kind: 'grade' }
  | { readonly kind: 'close'; readonly outcome: EpisodeOutcome; readonly cause: EndCause };

export interface Planned {
  readonly state: EpisodeState;
  readonly action: EpisodeAction;
}

export const NOTHING_SPENT: Spent = { seconds: 0, bytesWritten: 0, output: 0 };

export function computeRemaining(limits: EpisodeLimits, steps: number, spent: Spent): Remaining {
  return {
    steps: subtractUsed(limits.steps, steps),
    seconds: subtractUsed(limits.seconds, spent.seconds),
    bytesWritten: subtractUsed(limits.bytesWritten, spent.bytesWritten),
    output: subtractUsed(limits.output, spent.output),
  };
}

function subtractUsed(most: number, used: number): number {
  return Math.max(0, most - used);
}

/** Finds the limit that is reached, if any. */
export function findReachedLimit({ steps, seconds, bytesWritten, output }: Remaining): EndCause | undefined {
  if (steps === 0) return 'steps';
  if (seconds === 0) return 'seconds';
  if (bytesWritten === 0) return 'bytes';
  return output === 0 ? 'output' : undefined;
}
