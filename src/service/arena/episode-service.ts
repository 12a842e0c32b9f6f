import { isAgentEpisodeId, type AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import type { TaskRecords } from '../../agents/arena/task-records.ts';
import { readSteps } from '../../agents/arena/shared-steps.ts';
import type { EpisodeFilter, StoredAgentEpisode, StoredStep } from '../../agents/arena/trajectories.ts';
import type { WorkspaceFile } from '../../agents/workspace/command.ts';
import type { Page, PageRequest } from '../../evaluation-store/paging.ts';
import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import type { Task } from '../../agents/tasks/task.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { Caller } from '../access/caller.ts';
import { Chore } from '../../kernel/chore.ts';
import { EpisodeStateError, createUnknownEpisodeError, createUnknownTaskError } from './episode-errors.ts';
import { BroughtFiles } from './brought-files.ts';
import { EpisodeCreation, type CreationParts, type ForkRequest } from './episode-creation.ts';
import { EpisodeHistory } from './episode-history.ts';
import { SubmissionMeasurements } from './submission-measurements.ts';
import { EpisodeUpkeep } from './episode-upkeep.ts';
import { EpisodeWatch } from './episode-watch.ts';
import type { PlayableTask } from './playable-task.ts';
import type { OpenEpisode, OpenEpisodeParts } from './open-episode.ts';
import { OpenEpisodes } from './open-episodes.ts';

export interface EpisodeServiceOptions extends Omit<OpenEpisodeParts, 'closing' | 'onChange' | 'brought' | 'measure'>, CreationParts {
  readonly taskRecords: TaskRecords;
  readonly log: Log;
  /** Returns how long episodes are kept after their end. */
  readonly retentionDays: () => number;
  /** Lists the readable tasks, by id. */
  readonly listTasks: () => Promise<readonly Task[]>;
}

export interface EpisodeRequest {
  readonly task: string;
  readonly agent: string;
  readonly seed: number;
}

export interface StartedEpisode {
  readonly episode: StoredAgentEpisode;
  readonly task: PlayableTask;
}

export type EpisodeReward = { readonly kind: 'closed'; readonly document: string } | { readonly kind: 'grading' };

/** Requests of callers. */
export type EpisodeCalls = Pick<
  EpisodeService,
  | 'findTask'
  | 'listTasks'
  | 'start'
  | 'fork'
  | 'step'
  | 'find'
  | 'list'
  | 'steps'
  | 'reward'
  | 'cancel'
  | 'follow'
  | 'listFiles'
  | 'readFileContent'
  | 'diff'
>;

const SWEEP_MS = 15_000;

/** Episodes of agents that are anywhere, for many callers. An episode is its principal's alone. */
export class EpisodeService {
  readonly #options: EpisodeServiceOptions;
  readonly #closing = new AbortController();
  readonly #creation: EpisodeCreation;
  readonly #open: OpenEpisodes;
  readonly #watch: EpisodeWatch;
  readonly #brought: BroughtFiles;
  readonly #history: EpisodeHistory;
  readonly #measurements: SubmissionMeasurements;
  readonly #sweep: Chore;

  constructor(options: EpisodeServiceOptions) {
    this.#options = options;
    const closing = this.#closing.signal;
    this.#creation = new EpisodeCreation(options);
    this.#brought = new BroughtFiles(options.getSandboxes);
    this.#history = new EpisodeHistory({ ...options, broughtFiles: (episode) => this.#readBroughtFiles(episode) });
    this.#measurements = new SubmissionMeasurements({ ...options, tasks: options.taskRecords, closing });
    this.#watch = new EpisodeWatch({ ...options, closing });
    this.#open = new OpenEpisodes({
      ...options,
      closing,
      brought: this.#brought,
      measure: (open, submission) => this.#measurements.measure(open, submission),
      onChange: (id) => this.#watch.notify(id),
    });
    const upkeep = new EpisodeUpkeep({ ...options, finish: (id) => this.#open.finish(id), endIdle: (id) => this.#open.endIdle(id) });
    this.#sweep = new Chore(options.clock, (signal) => upkeep.sweep(signal).then(() => SWEEP_MS));
  }

  /** Begins the upkeep of episodes: grades those that another process has left, and ends idle ones. */
  open(): void {
    this.#sweep.open();
  }

  /** Leaves every episode as it is stored, for the next Muster to go on with. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException('Muster is ending', 'AbortError'));
    await this.#sweep.close();
    await this.#open.close();
  }

  /** Returns the task that an episode would play now. @throws InputError `task.not-found`, `task.steps` */
  async findTask(name: string): Promise<PlayableTask> {
    const task = await this.#options.findTask(name);
    if (task === undefined)
      throw createUnknownTaskError(
        name,
        (await this.listTasks()).map(({ id }) => id),
      );
    const { id, steps } = task.task;
    if (steps.length === 1) return task;
    throw new InputError('task.steps', `task ${id} has ${steps.length} steps; expected one: tasks of several steps are not played`);
  }

  /** Lists the tasks that can be played. */
  async listTasks(): Promise<readonly Task[]> {
    return (await this.#options.listTasks()).filter(({ steps }) => steps.length === 1);
  }

  /** @throws InputError `task.not-found`, `task.steps`, `task.unsound`; QuotaError `quota.open-episodes`; InfrastructureError when no workspace can be made: then the episode is void. */
  async start({ task: name, agent, seed }: EpisodeRequest, { principal }: Caller): Promise<StartedEpisode> {
    await this.#creation.assertRoom(principal, 1);
    const task = await this.findTask(name);
    await this.#measurements.assertSound(task.task);
    await this.#measurements.define(task.task);
    const episode = await this.#creation.start(task.task, { agent, seed, principal });
    await this.#open.begin(episode, task);
    return { episode, task };
  }

  /**
   * Starts episodes that continue behind a step of another episode. Their workspaces are made with their first steps.
   *
   * @throws as `findForkOrigin` does; InputError `episode.not-found`; QuotaError `quota.open-episodes`.
   */
  async fork(id: string, request: ForkRequest, caller: Caller): Promise<readonly StoredAgentEpisode[]> {
    return await this.#creation.fork(await this.find(id, caller), request, caller.principal);
  }

  /** Lists the files in the workspace after a step; the last one when left out. @throws as EpisodeHistory does. */
  async listFiles(id: string, caller: Caller, at: number | undefined): ReturnType<EpisodeHistory['listFiles']> {
    return await this.#history.listFiles(await this.find(id, caller), at);
  }

  /** @param path absolute. */
  async readFileContent(id: string, caller: Caller, path: string, at: number | undefined): Promise<Buffer> {
    return await this.#history.content(await this.find(id, caller), path, at);
  }

  /** @param from step, 0 for the beginning. */
  async diff(id: string, caller: Caller, from: number | undefined, at: number | undefined): ReturnType<EpisodeHistory['diff']> {
    return await this.#history.diff(await this.find(id, caller), from, at);
  }

  /** @returns the text of the answer. @throws StepNumberError, EpisodeStateError */
  async step(id: string, caller: Caller, number: number | undefined, body: unknown): Promise<string> {
    const episode = this.#findPlayed(id, caller) ?? (await this.#openFor(id, caller));
    const { text, isOver } = await episode.step(number, digestBytes(formatCanonicalJson(body)), body);
    if (isOver) this.#open.finish(episode.id);
    return text;
  }

  /** @throws InputError `episode.not-found` when there is none, or it is another's and the caller no operator. */
  async find(id: string, { principal, role }: Caller): Promise<StoredAgentEpisode> {
    const episode = isAgentEpisodeId(id) ? await this.#options.trajectories.find(id) : undefined;
    if (episode === undefined || (episode.principal !== principal && role !== 'operator'))
      throw createUnknownEpisodeError(id.slice(0, 100));
    return episode;
  }

  /** Lists the caller's own episodes; for an operator, all. */
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
      if (!submits) throw new EpisodeStateError('episode.open', `episode ${id} still takes steps; it has a reward after the action submit`);
      await this.#open.open(episode.id).submit();
    }
    // This also grades an episode that another process has ended and may have left: the sweep runs only now and then.
    if (episode.closed === undefined) this.#open.finish(episode.id);
    const closed = (await this.#watch.waitUntilClosed(episode, milliseconds, gone))?.closed;
    return closed === undefined ? { kind: 'grading' } : { kind: 'closed', document: closed.document };
  }

  /** Gives the episode up: it is closed as void, unless it was closed before, or its task has given-up episodes graded. */
  async cancel(id: string, caller: Caller): Promise<StoredAgentEpisode> {
    const { id: known, closed } = await this.find(id, caller);
    if (closed !== undefined) return await this.find(id, caller);
    await this.#options.audit.record({ principal: caller.principal, action: 'episode.cancel', target: known, details: {} });
    return await this.#open.cancel(known);
  }

  /** Yields the steps after number `after` as they are stored, and the episode once it is closed. Ends with that, or with the signal. */
  follow(id: AgentEpisodeId, after: number, signal: AbortSignal): AsyncGenerator<StoredStep | StoredAgentEpisode> {
    return this.#watch.follow(id, after, signal);
  }

  async #readBroughtFiles({ task, taskDigest }: StoredAgentEpisode): Promise<readonly WorkspaceFile[] | undefined> {
    const found = await this.#options.findTask(task);
    return found?.task.digest === taskDigest ? await this.#brought.read(found, this.#closing.signal) : undefined;
  }

  /** Finds the episode that this process has, when the caller may play it: nothing has to be read to take a step of it. */
  #findPlayed(id: string, { principal, role }: Caller): OpenEpisode | undefined {
    const open = isAgentEpisodeId(id) ? this.#open.find(id) : undefined;
    return open?.known !== undefined && (open.known.principal === principal || role === 'operator') ? open : undefined;
  }

  async #openFor(id: string, caller: Caller): Promise<OpenEpisode> {
    const { id: known, closed } = await this.find(id, caller);
    return closed === undefined ? this.#open.open(known) : this.#open.create(known);
  }
}
