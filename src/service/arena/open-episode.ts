import { describeMisfit } from '../../agents/actions/action-executor.ts';
import { readAction } from '../../agents/actions/action.ts';
import { toObservation } from '../../agents/actions/observation-text.ts';
import type { StepAnswer } from '../../agents/arena/episode-answers.ts';
import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import type { EpisodeState } from '../../agents/arena/episode-state.ts';
import { endGraded, endUngraded } from '../../agents/arena/graded-episode.ts';
import type { LiveEpisodes } from '../../agents/arena/live-episodes.ts';
import { planEpisode } from '../../agents/arena/plan-episode.ts';
import { HoldLostError, type Hold, type StoredAgentEpisode, type StoredStep, type Trajectories } from '../../agents/arena/trajectories.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import type { Verdict } from '../../agents/verification/verdict.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { OwnerId } from '../../kernel/ids.ts';
import { toActed, listDeltas, stateOf, takesSteps, type Acted } from './episode-course.ts';
import { createEpisodeOverError, StepNumberError, createUnknownEpisodeError } from './episode-errors.ts';
import { EpisodeWorkspace, type PlayableTask, type WorkspaceParts } from './episode-workspace.ts';

export interface OpenEpisodeParts extends WorkspaceParts {
  readonly trajectories: Trajectories;
  readonly live: LiveEpisodes;
  readonly clock: Clock;
  readonly holder: OwnerId;
  /** @returns undefined when there is no such task any more. */
  readonly findTask: (name: string) => Promise<PlayableTask | undefined>;
  readonly grade: (open: PlayableTask, submission: Submission, seed: string, signal: AbortSignal) => Promise<Verdict>;
  /** Aborted when Muster ends: what is under way is left to the next one. */
  readonly closing: AbortSignal;
  /** Told of every stored change. */
  readonly onChange: (id: AgentEpisodeId) => void;
}

/** For which a holder that does nothing keeps an episode from others. */
const HOLD_MS = 60_000;
/** How often one step is carried out whose workspace is lost under it. */
const ATTEMPTS = 3;
const ALL_STEPS = 100_000;
const PROCESSES_GONE = 'The workspace was made again from the files of the last step: processes that ran in it are gone.';

/** An episode that this process has. What is asked of it is done one after the other. */
export class OpenEpisode {
  readonly #id: AgentEpisodeId;
  readonly #parts: OpenEpisodeParts;
  #turn: Promise<unknown> = Promise.resolve();
  #workspace: EpisodeWorkspace | undefined;
  /** Whether an agent has acted in a workspace that this one takes the place of. */
  #isReplaced = false;

  constructor(id: AgentEpisodeId, parts: OpenEpisodeParts) {
    this.#id = id;
    this.#parts = parts;
  }

  /** Makes the workspace, so that the first step need not wait. */
  async open(): Promise<void> {
    await this.#inTurn((held) => this.#ready(held));
  }

  /** @param number undefined for whichever is next. @returns the text of the answer. */
  step(number: number | undefined, digest: string, body: unknown): Promise<{ readonly text: string; readonly isOver: boolean }> {
    return this.#inTurn(async (held) => {
      const { action, state } = this.#plan(held, { kind: 'step', number, digest });
      switch (action.kind) {
        case 'repeat':
          return { text: await this.#storedAnswer(action.number), isOver: false };
        case 'refuse':
          if (action.reason === 'over') throw createEpisodeOverError(this.#id);
          throw new StepNumberError(action.reason, number ?? action.expected, action.expected);
        case 'open':
          await this.#ready(held);
          return await this.#perform(held, number, digest, body);
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
    await this.#inTurn(async (held) => {
      const { state, action } = this.#plan(held, { kind: 'submit' });
      if (action.kind !== 'grade') return;
      await this.#parts.trajectories.end(held.hold, 'submit');
      held.state = state;
      this.#parts.onChange(this.#id);
    });
  }

  /** Gives it up. */
  async cancel(): Promise<void> {
    await this.#inTurn((held) => this.#closeBy(held, 'cancel', 'it was given up'));
  }

  /** Gives it up when nothing was asked of it for too long. */
  async lookAtTime(): Promise<void> {
    await this.#inTurn((held) => this.#closeBy(held, 'time-passed', 'nothing was asked of it for too long'));
  }

  /** Takes the verdict of an episode that has ended, and closes it. What is asked of it meanwhile need not wait. */
  async finish(): Promise<void> {
    const ended = await this.#inTurn((held) => this.#exported(held));
    if (ended === undefined) return;
    const verdict = await this.#parts.grade(ended.task, ended.submission, ended.seed, this.#parts.closing);
    await this.#inTurn(async (held) => {
      if (held.state.phase.kind !== 'submitted') return;
      const { cause } = held.state.phase;
      const ending = endGraded(held.episode, await this.#steps(), verdict, cause);
      await this.#parts.trajectories.close(held.hold, cause, ending);
      held.state = planEpisode(
        this.#plan(held, { kind: 'grade' }).state,
        { kind: 'graded', outcome: ending.outcome },
        held.episode.limits,
        this.#parts.clock.date().getTime(),
      ).state;
      this.#parts.onChange(this.#id);
    });
  }

  async #exported(
    held: HeldEpisode,
  ): Promise<{ readonly task: PlayableTask; readonly submission: Submission; readonly seed: string } | undefined> {
    if (held.state.phase.kind !== 'submitted') return undefined;
    const task = await this.#task(held.episode);
    const submission = task && (await this.#submission(task));
    await this.#leave();
    if (task && submission) return { task, submission, seed: held.episode.gradingSeed };
    await this.#closeBy(held, 'unrestorable', 'its files were not kept, or its task has changed');
    return undefined;
  }

  /** Leaves the episode as it is stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    await this.#leave();
  }

  async #inTurn<Result>(work: (held: HeldEpisode) => Promise<Result>): Promise<Result> {
    const before = this.#turn;
    const mine = (async () => {
      await before;
      return await this.#held(work);
    })();
    this.#turn = mine.catch(() => undefined);
    return await mine;
  }

  async #held<Result>(work: (held: HeldEpisode) => Promise<Result>): Promise<Result> {
    const { trajectories, live, closing } = this.#parts;
    closing.throwIfAborted();
    const episode = await trajectories.find(this.#id);
    if (episode === undefined) throw createUnknownEpisodeError(this.#id);
    const hold = episode.closed === undefined ? await this.#renewed() : { episode: this.#id, fence: 0 };
    const held: HeldEpisode = { episode, hold, state: await this.#state(episode, hold) };
    try {
      const result = await work(held);
      if (held.state.phase.kind === 'closed') await live.remove(this.#id);
      else await live.put(this.#id, { state: held.state, fence: hold.fence });
      return result;
    } catch (error) {
      // What was begun is not what is stored any more.
      await live.remove(this.#id);
      if (error instanceof HoldLostError) await this.#leave();
      throw error;
    }
  }

  async #renewed(): Promise<Hold> {
    const hold = await this.#parts.trajectories.hold(this.#id, this.#parts.holder, HOLD_MS);
    if (hold) return hold;
    throw new HoldLostError(this.#id);
  }

  /** The live tier's, unless that knows less than is stored. */
  async #state(episode: StoredAgentEpisode, { fence }: Hold): Promise<EpisodeState> {
    const known = await this.#parts.live.get(this.#id);
    const isCurrent = known?.fence === fence && known.state.answered.length === episode.steps && episode.closed === undefined;
    if (isCurrent && takesSteps(known.state) === (episode.endedBy === undefined))
      return planEpisode(known.state, { kind: 'lost' }, episode.limits, episode.touchedAt.getTime()).state;
    return stateOf(episode, await this.#steps());
  }

  #plan(held: HeldEpisode, event: Parameters<typeof planEpisode>[1]): ReturnType<typeof planEpisode> {
    return planEpisode(held.state, event, held.episode.limits, this.#parts.clock.date().getTime());
  }

  async #ready(held: HeldEpisode): Promise<void> {
    if (held.state.phase.kind !== 'created') return;
    await this.#opened(held);
    held.state = this.#plan(held, { kind: 'opened' }).state;
  }

  async #perform(
    held: HeldEpisode,
    number: number | undefined,
    digest: string,
    body: unknown,
  ): Promise<{ readonly text: string; readonly isOver: boolean }> {
    const { action, state } = this.#plan(held, { kind: 'step', number, digest });
    if (action.kind !== 'perform') throw new RangeError(`the first step was planned as ${action.kind}`);
    held.state = state;
    return await this.#carryOut(held, action.seconds, digest, body);
  }

  async #carryOut(
    held: HeldEpisode,
    seconds: number,
    digest: string,
    body: unknown,
  ): Promise<{ readonly text: string; readonly isOver: boolean }> {
    const { trajectories } = this.#parts;
    const done = await this.#acted(held, seconds, body);
    const { state, action } = this.#plan(held, { kind: 'answered', spent: done.spent, isSubmission: done.isSubmission });
    if (action.kind !== 'answer') throw new RangeError(`an answer was planned as ${action.kind}`);
    const { number, remaining, cause } = action;
    const isTruncated = cause !== undefined && cause !== 'submit';
    const answer: StepAnswer = {
      step: number,
      observation: done.observation,
      done: cause !== undefined,
      truncated: isTruncated,
      remaining,
      notice: done.notice,
    };
    const text = JSON.stringify(answer);
    await trajectories.append(held.hold, {
      number,
      digest,
      action: body,
      answer: text,
      delta: done.delta,
      spent: state.spent,
      endedBy: cause,
    });
    held.state = state;
    this.#parts.onChange(this.#id);
    return { text, isOver: cause !== undefined };
  }

  /** Carries an action out; a workspace that is lost under it is made again. */
  async #acted(held: HeldEpisode, seconds: number, body: unknown): Promise<Acted> {
    const { clock, closing } = this.#parts;
    const read = readAction(body, held.episode.actions);
    if (read.kind === 'misfit') return toActed(describeMisfit(read.misfit), { changed: [], removed: [] }, null, 0, 0);
    if (read.action.action === 'submit')
      return toActed(toObservation({ kind: 'submitted' }), { changed: [], removed: [] }, null, 0, 0, true);
    for (let attempt = 1; ; attempt += 1) {
      const workspace = await this.#opened(held);
      const notice = this.#isReplaced ? PROCESSES_GONE : null;
      const began = clock.now();
      try {
        const { observation, bytesWritten } = await workspace.perform(read.action, seconds, closing);
        const elapsed = Math.ceil(clock.now() - began) / 1000;
        const delta = workspace.isLost ? { changed: [], removed: [] } : await workspace.delta(closing);
        this.#isReplaced = false;
        return toActed(observation, delta, notice, elapsed, bytesWritten);
      } catch (error) {
        await this.#leave();
        if (closing.aborted || attempt === ATTEMPTS || !(error instanceof InfrastructureError)) throw error;
      }
    }
  }

  /** The workspace that there is, or one as the steps have left it. @throws InfrastructureError `episode.unrestorable` */
  async #opened(held: HeldEpisode): Promise<EpisodeWorkspace> {
    if (this.#workspace && !this.#workspace.isLost) return this.#workspace;
    await this.#leave();
    const deltas = listDeltas(await this.#steps());
    const task = await this.#task(held.episode);
    if (deltas === undefined || task === undefined) {
      await this.#closeBy(held, 'unrestorable', 'its workspace is lost, and its files were not kept, or its task has changed');
      throw createEpisodeOverError(this.#id);
    }
    this.#workspace = await EpisodeWorkspace.open(task, deltas, this.#parts, this.#parts.closing);
    this.#isReplaced = deltas.length > 0;
    return this.#workspace;
  }

  async #submission(task: PlayableTask): Promise<Submission | undefined> {
    const { closing } = this.#parts;
    if (this.#workspace?.isLost !== false) {
      await this.#leave();
      const deltas = listDeltas(await this.#steps());
      if (deltas === undefined) return undefined;
      this.#workspace = await EpisodeWorkspace.open(task, deltas, this.#parts, closing);
    }
    return await this.#workspace.submission(closing);
  }

  async #task({ task, taskDigest }: StoredAgentEpisode): Promise<PlayableTask | undefined> {
    const found = await this.#parts.findTask(task);
    return found?.task.digest === taskDigest ? found : undefined;
  }

  async #closeBy(held: HeldEpisode, kind: 'cancel' | 'time-passed' | 'unrestorable', problem: string): Promise<void> {
    const { state, action } = this.#plan(held, { kind });
    if (action.kind !== 'close') return;
    const { outcome, cause } = action;
    await this.#parts.trajectories.close(
      held.hold,
      cause,
      endUngraded(held.episode, outcome === 'failed' ? 'failed' : 'void', cause, problem),
    );
    held.state = state;
    await this.#leave();
    this.#parts.onChange(this.#id);
  }

  async #storedAnswer(number: number): Promise<string> {
    const [step] = await this.#parts.trajectories.steps(this.#id, number - 1, 1);
    if (step?.number === number) return step.answer;
    throw new InfrastructureError('store.failed', `step ${number} of episode ${this.#id} is not stored`);
  }

  #steps(): Promise<readonly StoredStep[]> {
    return this.#parts.trajectories.steps(this.#id, 0, ALL_STEPS);
  }

  async #leave(): Promise<void> {
    const workspace = this.#workspace;
    this.#workspace = undefined;
    await workspace?.[Symbol.asyncDispose]();
  }
}

interface HeldEpisode {
  readonly episode: StoredAgentEpisode;
  readonly hold: Hold;
  state: EpisodeState;
}
