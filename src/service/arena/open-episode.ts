import type { StepAnswer } from '../../agents/arena/episode-answers.ts';
import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { endGraded, endUngraded, type Measured } from '../../agents/arena/graded-episode.ts';
import { planEpisode } from '../../agents/arena/plan-episode.ts';
import { readSteps } from '../../agents/arena/shared-steps.ts';
import type { StoredAgentEpisode } from '../../agents/arena/trajectories.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import type { Verdict } from '../../agents/verification/verdict.ts';
import { getMessage, InfrastructureError } from '../../kernel/errors.ts';
import { listDeltas } from './episode-course.ts';
import { createEpisodeOverError, StepNumberError } from './episode-errors.ts';
import { EpisodeHolding, type HeldEpisode, type HoldingParts } from './episode-holding.ts';
import { EpisodeStage, UnrestorableError, type Restorable, type StageParts } from './episode-stage.ts';
import { HeldTurns } from './held-turns.ts';
import type { PlayableTask } from './playable-task.ts';

export interface OpenEpisodeParts extends HoldingParts, StageParts {
  readonly grade: (open: PlayableTask, submission: Submission, seed: string, signal: AbortSignal) => Promise<Verdict>;
  readonly measure: (open: PlayableTask, submission: Submission) => Promise<Measured>;
  /** Called with every stored change. */
  readonly onChange: (id: AgentEpisodeId) => void;
}

export interface StepTaken {
  /** The answer, byte for byte. */
  readonly text: string;
  /** Whether the step has ended the episode. */
  readonly isOver: boolean;
}

const NOT_MEASURED: Measured = { baseline: undefined, style: null };

/**
 * An episode that this process holds: each request may move it to its next state. The states are in plan-episode.ts, the workspace is in
 * episode-stage.ts.
 */
export class OpenEpisode {
  readonly id: AgentEpisodeId;
  readonly #parts: OpenEpisodeParts;
  readonly #holding: EpisodeHolding;
  readonly #stage: EpisodeStage;
  readonly #turns: HeldTurns;

  constructor(id: AgentEpisodeId, parts: OpenEpisodeParts) {
    this.id = id;
    this.#parts = parts;
    this.#holding = new EpisodeHolding(id, parts);
    this.#stage = new EpisodeStage(parts);
    this.#turns = new HeldTurns(id, parts, this.#holding, () => this.#stage.leave());
  }

  /** The episode, as far as this process has read it. */
  get known(): StoredAgentEpisode | undefined {
    return this.#holding.known;
  }

  /** Whether nothing of it is in memory, and no request is under way. */
  get isUnused(): boolean {
    return this.known === undefined && this.#turns.areOver;
  }

  /**
   * Makes the workspace of an episode that was just made, so that the first step need not wait. Where none can be made the episode is void
   * at once: its caller, who gets the error in place of its id, cannot give it up.
   */
  async begin(episode: StoredAgentEpisode, task: PlayableTask): Promise<void> {
    await this.#holding.begin(episode);
    await this.#turns.run(true, async (held) => {
      try {
        await this.#makeReady(held, task);
      } catch (error) {
        if (!this.#parts.closing.aborted) await this.#closeBy(held, 'unrestorable', getMessage(error));
        throw error;
      }
    });
  }

  /** @param number undefined for whichever is next. */
  step(number: number | undefined, digest: string, body: unknown): Promise<StepTaken> {
    return this.#turns.run(true, async (held) => {
      const first = this.#plan(held, { kind: 'step', number, digest });
      if (first.action.kind === 'open') await this.#makeReady(held);
      const { action, state } = first.action.kind === 'open' ? this.#plan(held, { kind: 'step', number, digest }) : first;
      switch (action.kind) {
        case 'repeat':
          return { text: await this.#readStoredAnswer(held, action.number), isOver: false };
        case 'refuse':
          if (action.reason === 'over') throw createEpisodeOverError(this.id);
          throw new StepNumberError(action.reason, number ?? action.expected, action.expected);
        case 'perform':
          held.state = state;
          return await this.#carryOut(held, action.seconds, digest, body);
        default:
          throw new RangeError(`a step was planned as ${action.kind}`);
      }
    });
  }

  /** Ends the episode for grading; nothing happens when it has ended already. */
  async submit(): Promise<void> {
    await this.#turns.run(true, async (held) => {
      const { state, action } = this.#plan(held, { kind: 'submit' });
      if (action.kind !== 'grade') return;
      await this.#parts.trajectories.end(held.hold, 'submit');
      held.state = state;
      this.#parts.onChange(this.id);
    });
  }

  /** Gives it up; it is graded nevertheless where its task says so. */
  async cancel(): Promise<void> {
    await this.#turns.run(true, (held) => this.#closeBy(held, 'cancel', 'it was given up'));
  }

  /** Gives it up, as `cancel` does, when it has had no request for too long. */
  async lookAtTime(): Promise<void> {
    await this.#turns.run(false, (held) => this.#closeBy(held, 'time-passed', 'nothing was asked of it for too long'));
  }

  /** Takes the verdict of an episode that has ended, and closes it. Other requests need not wait meanwhile. */
  async finish(): Promise<void> {
    using _kept = this.#holding.keep();
    const ended = await this.#turns.run(false, (held) => this.#exportSubmission(held));
    if (ended === undefined) return;
    const verdict = await this.#parts.grade(ended.task, ended.submission, ended.seed, this.#parts.closing);
    const counts = verdict.reward !== null && verdict.gate === 1;
    const measured = counts ? await this.#parts.measure(ended.task, ended.submission) : NOT_MEASURED;
    await this.#turns.run(false, async (held) => {
      if (held.state.phase.kind !== 'submitted') return;
      const { cause } = held.state.phase;
      const ending = endGraded(held.episode, await this.#holding.readSteps(held.episode), verdict, cause, measured);
      await this.#parts.trajectories.close(held.hold, cause, ending);
      const { state } = this.#plan(held, { kind: 'grade' });
      held.state = this.#plan({ ...held, state }, { kind: 'graded', outcome: ending.outcome }).state;
      this.#parts.onChange(this.id);
    });
  }

  /** Leaves the episode as it is stored; others may have it at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turns.waitUntilOver();
    await this.#stage.leave();
    await this.#holding.release();
  }

  #plan({ state, episode }: HeldEpisode, event: Parameters<typeof planEpisode>[1]): ReturnType<typeof planEpisode> {
    return planEpisode(state, event, episode.limits, this.#parts.clock.date().getTime());
  }

  async #makeReady(held: HeldEpisode, task?: PlayableTask): Promise<void> {
    if (held.state.phase.kind !== 'created') return;
    await this.#runOrClose(held, () => this.#stage.open(this.#describeRestorable(held), task));
    held.state = this.#plan(held, { kind: 'opened' }).state;
  }

  async #carryOut(held: HeldEpisode, seconds: number, digest: string, body: unknown): Promise<StepTaken> {
    const done = await this.#runOrClose(held, () => this.#stage.act(this.#describeRestorable(held), seconds, body));
    const { state, action } = this.#plan(held, { kind: 'answered', spent: done.spent, isSubmission: done.isSubmission });
    if (action.kind !== 'answer') throw new RangeError(`an answer was planned as ${action.kind}`);
    const { number, remaining, cause } = action;
    const truncated = cause !== undefined && cause !== 'submit';
    const { observation, notice, delta } = done;
    const answer: StepAnswer = { step: number, observation, done: cause !== undefined, truncated, remaining, notice };
    const text = JSON.stringify(answer);
    const step = { number, digest, action: body, answer: text, delta, spent: state.spent, endedBy: cause };
    await this.#parts.trajectories.append(held.hold, step);
    held.state = state;
    this.#parts.onChange(this.id);
    return { text, isOver: cause !== undefined };
  }

  async #exportSubmission(
    held: HeldEpisode,
  ): Promise<{ readonly task: PlayableTask; readonly submission: Submission; readonly seed: string } | undefined> {
    if (held.state.phase.kind !== 'submitted') return undefined;
    try {
      return { ...(await this.#stage.exportSubmission(this.#describeRestorable(held))), seed: held.episode.gradingSeed };
    } catch (error) {
      if (!(error instanceof UnrestorableError)) throw error;
      await this.#closeBy(held, 'unrestorable', error.message);
      return undefined;
    }
  }

  /** @throws EpisodeStateError `episode.over` when its workspace cannot be made again: then it is void. */
  async #runOrClose<Result>(held: HeldEpisode, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnrestorableError)) throw error;
      held.state = this.#plan(held, { kind: 'lost' }).state;
      await this.#closeBy(held, 'unrestorable', error.message);
      throw createEpisodeOverError(this.id);
    }
  }

  #describeRestorable({ episode }: HeldEpisode): Restorable {
    return { episode, deltas: async () => listDeltas(await this.#holding.readSteps(episode)) };
  }

  async #closeBy(held: HeldEpisode, kind: 'cancel' | 'time-passed' | 'unrestorable', problem: string): Promise<void> {
    const isGraded = held.episode.gradesAbandoned;
    const { state, action } = this.#plan(held, kind === 'unrestorable' ? { kind } : { kind, isGraded });
    if (state.phase.kind === 'submitted' && held.state.phase.kind !== 'submitted') {
      await this.#parts.trajectories.end(held.hold, state.phase.cause);
      held.state = state;
      return this.#parts.onChange(this.id);
    }
    if (action.kind !== 'close') return;
    const { outcome, cause } = action;
    const ending = endUngraded(held.episode, outcome === 'failed' ? 'failed' : 'void', cause, problem);
    await this.#parts.trajectories.close(held.hold, cause, ending);
    held.state = state;
    await this.#stage.leave();
    this.#parts.onChange(this.id);
  }

  async #readStoredAnswer({ episode }: HeldEpisode, number: number): Promise<string> {
    const [step] = await readSteps(this.#parts.trajectories, episode, number - 1, 1);
    if (step?.number === number) return step.answer;
    throw new InfrastructureError('store.failed', `step ${number} of episode ${this.id} is not stored`);
  }
}
