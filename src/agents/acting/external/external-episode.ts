import type { Clock } from '../../../kernel/clock.ts';
import { digestBytes, formatCanonicalJson } from '../../../kernel/canonical-json.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Observation } from '../../actions/observation.ts';
import type { StepAnswer } from '../../arena/episode-answers.ts';
import type { EndCause, EpisodeEvent, EpisodeState, Planned } from '../../arena/episode-state.ts';
import { createEpisodeState, planEpisode } from '../../arena/plan-episode.ts';
import type { EpisodeOpening, OfferedEpisode, StepReply } from './episode-offers.ts';

/** The result of an action. */
export interface Performed {
  readonly observation: Observation;
  readonly bytesWritten: number;
}

export interface ExternalEpisodeParts {
  readonly opening: EpisodeOpening;
  readonly patienceSeconds: number;
  /** It is shown to people. */
  readonly address: string;
  readonly clock: Clock;
  /** @param seconds that it may take at most. @throws InfrastructureError when the workspace is lost. */
  readonly perform: (body: unknown, seconds: number) => Promise<Performed>;
}

/**
 * An episode that is offered to agents, by the arena's rules: steps have numbers, a repeated step has the same answer, and limits end it. It has one
 * time limit to be taken, and then another for each step.
 */
export class ExternalEpisode implements OfferedEpisode, Disposable {
  readonly #parts: ExternalEpisodeParts;
  readonly #ended = Promise.withResolvers<EndCause>();
  readonly #answers: string[] = [];
  #state: EpisodeState;
  #timer: Disposable;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: ExternalEpisodeParts) {
    this.#parts = parts;
    this.#state = createEpisodeState(parts.clock.now());
    this.#ended.promise.catch(() => undefined);
    const { address, patienceSeconds } = parts;
    const reason = `no agent has taken an episode at ${address} within ${patienceSeconds} s; start the agent, or raise patienceSeconds`;
    this.#timer = parts.clock.after(patienceSeconds * 1000, () => this.#ended.reject(new InfrastructureError('agent.absent', reason)));
  }

  /** Resolves when it takes no step any more. @throws InfrastructureError `agent.absent`, or as `perform` does. */
  get ended(): Promise<EndCause> {
    return this.#ended.promise;
  }

  get opening(): EpisodeOpening {
    return this.#parts.opening;
  }

  get steps(): number {
    return this.#answers.length;
  }

  take(): void {
    this.#plan({ kind: 'opened' });
    this.#wait();
  }

  /** Carries out the steps one after the other. */
  step(number: number | undefined, body: unknown): Promise<StepReply> {
    const mine = this.#turn.then(() => this.#step(number, body));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  giveUp(): void {
    if (this.#plan({ kind: 'cancel', isGraded: true }).kind === 'grade') this.#end();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  async #step(number: number | undefined, body: unknown): Promise<StepReply> {
    const digest = digestBytes(formatCanonicalJson(body));
    const action = this.#plan({ kind: 'step', number, digest });
    switch (action.kind) {
      case 'repeat':
        return { kind: 'answered', text: this.#answers[action.number - 1] ?? '' };
      case 'refuse':
        return { kind: 'refused', reason: action.reason, expected: action.expected };
      case 'perform':
        return { kind: 'answered', text: await this.#carryOut(body, action.seconds) };
      default:
        throw new RangeError(`a step was planned as ${action.kind}`);
    }
  }

  async #carryOut(body: unknown, seconds: number): Promise<string> {
    const { clock, perform } = this.#parts;
    const began = clock.now();
    this.#timer[Symbol.dispose]();
    const { observation, bytesWritten } = await perform(body, seconds).catch((error: unknown) => {
      this.#ended.reject(error);
      throw error;
    });
    const spent = { seconds: Math.ceil(clock.now() - began) / 1000, bytesWritten, output: observation.text.length };
    const isOver = observation.data.kind === 'submitted' || isOutOfMemory(observation);
    const action = this.#plan({ kind: 'answered', spent, isSubmission: isOver });
    if (action.kind !== 'answer') throw new RangeError(`an answer was planned as ${action.kind}`);
    const { number, remaining, cause } = action;
    const truncated = cause !== undefined && cause !== 'submit';
    const answer: StepAnswer = { step: number, observation, done: cause !== undefined, truncated, remaining, notice: null };
    const text = JSON.stringify(answer);
    this.#answers.push(text);
    if (cause === undefined) this.#wait();
    else this.#end();
    return text;
  }

  /** Waits for the next step. */
  #wait(): void {
    const { clock, opening } = this.#parts;
    this.#timer[Symbol.dispose]();
    this.#timer = clock.after(opening.limits.idleSeconds * 1000, () => {
      if (this.#plan({ kind: 'time-passed', isGraded: true }).kind === 'grade') this.#end();
    });
  }

  #end(): void {
    this.#timer[Symbol.dispose]();
    const { phase } = this.#state;
    if (phase.kind === 'submitted') this.#ended.resolve(phase.cause);
  }

  #plan(event: EpisodeEvent): Planned['action'] {
    const { clock, opening } = this.#parts;
    const { state, action } = planEpisode(this.#state, event, opening.limits, clock.now());
    this.#state = state;
    return action;
  }
}

/** Tells whether the workspace is gone: there is nothing to go on with, and nothing to grade. */
export function isOutOfMemory({ data }: Observation): boolean {
  return data.kind === 'ran' && data.end.kind === 'out-of-memory';
}
