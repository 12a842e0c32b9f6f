import { randomBytes } from 'node:crypto';
import { ACTION_NAMES } from '../../agents/actions/action.ts';
import type { Measured } from '../../agents/arena/graded-episode.ts';
import { isAgentEpisodeId, type AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import type { EpisodeLimits } from '../../agents/arena/episode-state.ts';
import type { TaskRecords } from '../../agents/arena/task-records.ts';
import { readSteps } from '../../agents/arena/shared-steps.ts';
import type { EpisodeFilter, StoredAgentEpisode, StoredStep } from '../../agents/arena/trajectories.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import type { WorkspaceFile } from '../../agents/workspace/command.ts';
import type { AuditTrail } from '../../evaluation-store/audit-trail.ts';
import type { Page, PageRequest } from '../../evaluation-store/paging.ts';
import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import type { Task } from '../../agents/tasks/task.ts';
import { InputError, getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { Caller } from '../access/caller.ts';
import { QuotaError } from '../access/quota-error.ts';
import { Chore } from '../upkeep/chore.ts';
import { EpisodeStateError, createUnknownEpisodeError } from './episode-errors.ts';
import { BroughtFiles } from './brought-files.ts';
import { EpisodeHistory } from './episode-history.ts';
import { SubmissionMeasurements } from './submission-measurements.ts';
import { EpisodeUpkeep } from './episode-upkeep.ts';
import { ChangeListeners } from '../playing/change-listeners.ts';
import type { PlayableTask } from './playable-task.ts';
import { findForkOrigin } from './fork-origin.ts';
import { OpenEpisode, type OpenEpisodeParts } from './open-episode.ts';

export interface EpisodeServiceOptions extends Omit<OpenEpisodeParts, 'closing' | 'onChange' | 'brought' | 'measure'> {
  readonly audit: AuditTrail;
  readonly taskRecords: TaskRecords;
  readonly log: Log;
  /** Where a task does not say. */
  readonly limits: () => EpisodeLimits;
  /** Episodes that a principal may have open at a time; undefined for any number. */
  readonly openEpisodes: (principal: string) => number | undefined;
  readonly newId: () => AgentEpisodeId;
  /** For which episodes are kept after their end. */
  readonly retentionDays: () => number;
  /** Those that can be read, by id. */
  readonly listTasks: () => Promise<readonly Task[]>;
}

export interface EpisodeRequest {
  readonly task: string;
  readonly agent: string;
  readonly seed: number;
}

export interface ForkRequest {
  /** Behind which step; undefined for the last one. */
  readonly at: number | undefined;
  readonly n: number;
  /** Undefined for that of the episode. */
  readonly agent: string | undefined;
}

export interface StartedEpisode {
  readonly episode: StoredAgentEpisode;
  readonly task: PlayableTask;
}

export type EpisodeReward = { readonly kind: 'closed'; readonly document: string } | { readonly kind: 'grading' };

/** What callers ask for. */
export type EpisodeCalls = Pick<
  EpisodeService,
  | 'task'
  | 'tasks'
  | 'start'
  | 'fork'
  | 'step'
  | 'find'
  | 'list'
  | 'steps'
  | 'reward'
  | 'cancel'
  | 'follow'
  | 'files'
  | 'fileContent'
  | 'diff'
>;

const SWEEP_MS = 15_000;
const STEPS_AT_A_TIME = 100;
/** Changes by other processes are not announced: a wait looks again by itself. */
const LOOK_AGAIN_MS = 2000;

/** Episodes of agents that are anywhere, for many callers. An episode is its principal's alone. */
export class EpisodeService {
  readonly #options: EpisodeServiceOptions;
  readonly #closing = new AbortController();
  readonly #open = new Map<AgentEpisodeId, OpenEpisode>();
  readonly #finishing = new Map<AgentEpisodeId, Promise<void>>();
  readonly #listeners = new ChangeListeners<AgentEpisodeId>();
  readonly #brought: BroughtFiles;
  readonly #history: EpisodeHistory;
  readonly #measurements: SubmissionMeasurements;
  readonly #sweep: Chore;

  constructor(options: EpisodeServiceOptions) {
    this.#options = options;
    this.#brought = new BroughtFiles(options.sandboxesOf);
    const broughtFiles = (episode: StoredAgentEpisode): Promise<readonly WorkspaceFile[] | undefined> => this.#broughtFiles(episode);
    this.#history = new EpisodeHistory({ ...options, broughtFiles });
    this.#measurements = new SubmissionMeasurements({ ...options, tasks: options.taskRecords, closing: this.#closing.signal });
    const upkeep = new EpisodeUpkeep({ ...options, finish: (id) => this.#finish(id), endIdle: (id) => this.#endIdle(id) });
    this.#sweep = new Chore(options.clock, SWEEP_MS, (closing) => upkeep.sweep(closing));
  }

  /** Begins to look after episodes: those that another process has left are graded, those that are idle end. */
  open(): void {
    this.#sweep.open();
  }

  /** Leaves every episode as it is stored, for the next Muster to go on with. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException('Muster is ending', 'AbortError'));
    this.#listeners.tellAll();
    await this.#sweep.close();
    await Promise.allSettled(this.#finishing.values());
    await Promise.allSettled([...this.#open.values()].map((each) => each[Symbol.asyncDispose]()));
    this.#open.clear();
  }

  /** What an episode would play now. @throws InputError `task.not-found`, `task.steps` */
  async task(name: string): Promise<PlayableTask> {
    const task = await this.#options.findTask(name);
    if (task === undefined) throw new InputError('task.not-found', `task: there is no task ${name} in the directories of arena.tasks`);
    const { id, steps } = task.task;
    if (steps.length === 1) return task;
    throw new InputError('task.steps', `task ${id} has ${steps.length} steps; expected one: tasks of several steps are not played`);
  }

  /** Tasks that can be played. */
  async tasks(): Promise<readonly Task[]> {
    return (await this.#options.listTasks()).filter(({ steps }) => steps.length === 1);
  }

  /** @throws InputError `task.not-found`, `task.steps`; QuotaError `quota.open-episodes`; InfrastructureError when no workspace can be made. */
  async start({ task: name, agent, seed }: EpisodeRequest, { principal }: Caller): Promise<StartedEpisode> {
    const { trajectories, audit } = this.#options;
    await this.#assertRoom(principal, 1);
    const task = await this.task(name);
    const { id: taskId, digest, steps, arena } = task.task;
    const defaults = this.#options.limits();
    const limits = { ...defaults, seconds: steps[0].agent.timeoutSeconds ?? defaults.seconds };
    const id = this.#options.newId();
    await this.#measurements.define(task.task);
    const episode = await trajectories.create({
      id,
      principal,
      task: taskId,
      taskDigest: digest,
      agent,
      seed,
      gradingSeed: createGradingSeed(),
      limits,
      actions: ACTION_NAMES.filter((each) => each === 'submit' || (arena.actions?.includes(each) ?? true)),
      terms: arena.reward,
      gradesAbandoned: arena.abandoned === 'graded',
      origin: undefined,
    });
    await audit.record({ principal, action: 'episode.start', target: id, details: { task: taskId, agent } });
    await this.#episode(id).begin(episode);
    return { episode, task };
  }

  /**
   * Episodes that go on behind a step of another. Their workspaces are made with their first steps.
   *
   * @throws as `findForkOrigin` does; InputError `episode.not-found`; QuotaError `quota.open-episodes`.
   */
  async fork(id: string, { at, n, agent }: ForkRequest, caller: Caller): Promise<readonly StoredAgentEpisode[]> {
    const { trajectories, audit, newId } = this.#options;
    const { principal } = caller;
    const parent = await this.find(id, caller);
    await this.#assertRoom(principal, n);
    const origin = await findForkOrigin(trajectories, parent, at);
    const { task, taskDigest, seed, limits, actions, terms, gradesAbandoned } = parent;
    const rest = { principal, task, taskDigest, agent: agent ?? parent.agent, seed, limits, actions, terms, gradesAbandoned, origin };
    const forks = Array.from({ length: n }, () => ({ ...rest, id: newId(), gradingSeed: createGradingSeed() }));
    const made = await Promise.all(forks.map((each) => trajectories.create(each)));
    const details = { step: origin.lineage.at(-1)?.through ?? 0, episodes: made.map((each) => each.id) };
    await audit.record({ principal, action: 'episode.fork', target: parent.id, details });
    return made;
  }

  /** What is in the workspace after a step; the last one when it is left out. @throws as EpisodeHistory does. */
  async files(id: string, caller: Caller, at: number | undefined): ReturnType<EpisodeHistory['files']> {
    return await this.#history.files(await this.find(id, caller), at);
  }

  /** @param path absolute. */
  async fileContent(id: string, caller: Caller, path: string, at: number | undefined): Promise<Buffer> {
    return await this.#history.content(await this.find(id, caller), path, at);
  }

  /** @param from step, 0 for the beginning. */
  async diff(id: string, caller: Caller, from: number | undefined, at: number | undefined): ReturnType<EpisodeHistory['diff']> {
    return await this.#history.diff(await this.find(id, caller), from, at);
  }

  /** @returns the text of the answer. @throws StepNumberError, EpisodeStateError */
  async step(id: string, caller: Caller, number: number | undefined, body: unknown): Promise<string> {
    const episode = this.#playedBy(id, caller) ?? (await this.#openedFor(id, caller));
    const { text, isOver } = await episode.step(number, digestBytes(formatCanonicalJson(body)), body);
    if (isOver) this.#finish(episode.id);
    return text;
  }

  /** @throws InputError `episode.not-found` when there is none, or it is another's and the caller no operator. */
  async find(id: string, { principal, role }: Caller): Promise<StoredAgentEpisode> {
    const episode = isAgentEpisodeId(id) ? await this.#options.trajectories.find(id) : undefined;
    if (episode === undefined || (episode.principal !== principal && role !== 'operator'))
      throw createUnknownEpisodeError(id.slice(0, 100));
    return episode;
  }

  /** The caller's own; for an operator, all. */
  list(filter: Omit<EpisodeFilter, 'principal'>, page: PageRequest, { principal, role }: Caller): Promise<Page<StoredAgentEpisode>> {
    return this.#options.trajectories.list({ ...filter, principal: role === 'operator' ? undefined : principal }, page);
  }

  async steps(id: string, caller: Caller, after: number, limit: number): Promise<readonly StoredStep[]> {
    return await readSteps(this.#options.trajectories, await this.find(id, caller), after, limit);
  }

  /**
   * @param milliseconds to wait for its end. @param submits whether an episode that takes steps is submitted by asking.
   * @throws EpisodeStateError `episode.open`
   */
  async reward(id: string, caller: Caller, milliseconds: number, submits: boolean, gone: AbortSignal): Promise<EpisodeReward> {
    const episode = await this.find(id, caller);
    if (episode.closed === undefined && episode.endedBy === undefined) {
      if (!submits)
        throw new EpisodeStateError('episode.open', `episode ${id} takes steps; its reward is there once the action submit is sent`);
      await this.#episode(episode.id).submit();
      this.#finish(episode.id);
    }
    const { clock, trajectories } = this.#options;
    const deadline = clock.now() + milliseconds;
    using listener = this.#listeners.listen(episode.id);
    for (;;) {
      const { closed } = (await trajectories.find(episode.id)) ?? episode;
      if (closed !== undefined) return { kind: 'closed', document: closed.document };
      const left = deadline - clock.now();
      if (left <= 0 || gone.aborted || this.#closing.signal.aborted) return { kind: 'grading' };
      await listener.next(clock, Math.min(left, LOOK_AGAIN_MS), gone);
    }
  }

  /** Gives it up: it is closed as void, unless it was closed before, or its task has it graded as it lies. */
  async cancel(id: string, caller: Caller): Promise<StoredAgentEpisode> {
    const { id: known, closed } = await this.find(id, caller);
    if (closed !== undefined) return await this.find(id, caller);
    await this.#options.audit.record({ principal: caller.principal, action: 'episode.cancel', target: known, details: {} });
    await this.#episode(known).cancel();
    return await this.#afterEnd(known);
  }

  /** Steps behind `after` as they are stored, and the episode once it is closed. Ends with that, or with the signal. */
  async *follow(id: AgentEpisodeId, after: number, signal: AbortSignal): AsyncGenerator<StoredStep | StoredAgentEpisode> {
    const { trajectories, clock } = this.#options;
    const either = AbortSignal.any([signal, this.#closing.signal]);
    using listener = this.#listeners.listen(id);
    let seen = after;
    while (!either.aborted) {
      const episode = await trajectories.find(id);
      for (;;) {
        const steps = episode === undefined ? [] : await readSteps(trajectories, episode, seen, STEPS_AT_A_TIME);
        yield* steps;
        seen = steps.at(-1)?.number ?? seen;
        if (steps.length < STEPS_AT_A_TIME) break;
      }
      if (episode === undefined) return;
      if (episode.closed !== undefined) return yield episode;
      await listener.next(clock, LOOK_AGAIN_MS, either);
    }
  }

  async #assertRoom(principal: string, more: number): Promise<void> {
    const most = this.#options.openEpisodes(principal);
    if (most === undefined) return;
    const open = await this.#options.trajectories.countOpen(principal);
    if (open + more <= most) return;
    const reason = `${open} episodes are open, ${more} more were asked for, and quotas.openEpisodes is ${most}; submit or cancel some`;
    throw new QuotaError({ kind: 'refuse', code: 'quota.open-episodes', reason, retryAfterSeconds: 30 });
  }

  async #broughtFiles({ task, taskDigest }: StoredAgentEpisode): Promise<readonly WorkspaceFile[] | undefined> {
    const found = await this.#options.findTask(task);
    return found?.task.digest === taskDigest ? await this.#brought.of(found, this.#closing.signal) : undefined;
  }

  /** The episode that this process has, when the caller may play it: nothing has to be read to take a step of it. */
  #playedBy(id: string, { principal, role }: Caller): OpenEpisode | undefined {
    const open = isAgentEpisodeId(id) ? this.#open.get(id) : undefined;
    return open?.known !== undefined && (open.known.principal === principal || role === 'operator') ? open : undefined;
  }

  async #openedFor(id: string, caller: Caller): Promise<OpenEpisode> {
    const { id: known, closed } = await this.find(id, caller);
    return closed === undefined ? this.#episode(known) : this.#made(known);
  }

  #episode(id: AgentEpisodeId): OpenEpisode {
    const known = this.#open.get(id) ?? this.#made(id);
    this.#open.set(id, known);
    return known;
  }

  #made(id: AgentEpisodeId): OpenEpisode {
    const onChange = (each: AgentEpisodeId): void => this.#listeners.tell(each);
    const measure = (open: PlayableTask, submission: Submission): Promise<Measured> => this.#measurements.measure(open, submission);
    return new OpenEpisode(id, { ...this.#options, brought: this.#brought, measure, closing: this.#closing.signal, onChange });
  }

  /** Takes the verdict in the background; what keeps it from being taken now is tried again by the sweep. */
  #finish(id: AgentEpisodeId): void {
    if (this.#finishing.has(id)) return;
    const finishing = this.#episode(id)
      .finish()
      .then(
        () => void this.#open.delete(id),
        (error: unknown) => {
          if (!this.#closing.signal.aborted)
            this.#options.log.warn({ episode: id, error: getMessage(error) }, 'an episode could not be graded');
        },
      )
      .finally(() => {
        this.#finishing.delete(id);
        this.#listeners.tell(id);
      });
    this.#finishing.set(id, finishing);
  }

  async #endIdle(id: AgentEpisodeId): Promise<void> {
    await this.#episode(id).lookAtTime();
    await this.#afterEnd(id);
  }

  /** Grades an episode that has ended without a reward so far, and lets go of one that is closed. */
  async #afterEnd(id: AgentEpisodeId): Promise<StoredAgentEpisode> {
    const episode = await this.#options.trajectories.find(id);
    if (episode === undefined) throw createUnknownEpisodeError(id);
    if (episode.closed !== undefined) this.#open.delete(id);
    else if (episode.endedBy !== undefined) this.#finish(id);
    return episode;
  }
}

/** For each episode its own, forks included: it decides the hidden cases, and is published when the episode is closed. */
function createGradingSeed(): string {
  return randomBytes(16).toString('hex');
}
