import type { StoredTurns } from '../../agents/acting/model/stored-turns.ts';
import type { ReportedVersion } from '../../agents/rollouts/streams/policy-versions.ts';
import type { Acknowledgement, StoredStream } from '../../agents/rollouts/streams/rollout-streams.ts';
import { isStreamId, parseGroupNumber, type StreamId } from '../../agents/rollouts/streams/stream-ids.ts';
import { completeTerms } from '../../agents/rollouts/streams/stream-order.ts';
import type { AuditTrail } from '../../evaluation-store/audit-trail.ts';
import { InputError, getMessage } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { Caller } from '../access/caller.ts';
import { QuotaError } from '../access/quota-error.ts';
import { runSideBySide } from '../acceptance/side-by-side.ts';
import type { Library } from '../orders/library.ts';
import { ChangeListeners } from '../playing/change-listeners.ts';
import { Chore } from '../../kernel/chore.ts';
import { leaseGroups, type GroupsRequest, type LeasedGroups } from './lease-groups.ts';
import { listNeeded, readRolloutOrder, type RolloutOrder, type RolloutRequest } from './rollout-order.ts';
import { readBoard, watchBoard, type StreamBoard } from './stream-board.ts';
import { StreamRun, type StreamRunParts } from './stream-run.ts';

export interface RolloutServiceOptions extends Omit<StreamRunParts, 'changes'> {
  readonly library: Library;
  readonly audit: AuditTrail;
  /** Returns the number of trajectories that a principal may have at a time, episodes included; undefined for any number. */
  readonly openEpisodes: (principal: string) => number | undefined;
  /** Counts the episodes that a principal has open beside its streams. */
  readonly countOpen: (principal: string) => Promise<number>;
  /** @throws InputError `agent.endpoint` when the configuration names none so. */
  readonly assertEndpoint: (name: string) => void;
  readonly newId: () => StreamId;
  /** The turns of members that are being played. */
  readonly turns: Pick<StoredTurns, 'forgetOld'>;
  /** Returns how long streams are kept after their end, and continue while no trainer requests groups. */
  readonly retentionDays: () => number;
}

export interface GivenAcknowledgement {
  readonly group: string;
  readonly lease: number;
}

/** Requests of callers. */
export type RolloutCalls = Pick<
  RolloutService,
  'start' | 'find' | 'list' | 'readBoard' | 'watch' | 'cancel' | 'groups' | 'follow' | 'acknowledge' | 'reportVersion'
>;

const SWEEP_MS = 5000;
const STREAMS = 1000;
const FORGOTTEN = 20;
const DAY_MS = 86_400_000;
/** Changes by other processes are not announced: a wait looks again by itself. */
const LOOK_AGAIN_MS = 1000;
/** Records that a trainer waits. */
const NOTE_AGAIN_MS = 60_000;

/** Streams of groups for trainings, for many callers. A stream is its principal's alone. */
export class RolloutService {
  readonly #options: RolloutServiceOptions;
  readonly #closing = new AbortController();
  readonly #runs = new Map<StreamId, StreamRun>();
  readonly #changes = new ChangeListeners<StreamId>();
  readonly #sweep: Chore;

  constructor(options: RolloutServiceOptions) {
    this.#options = options;
    this.#sweep = new Chore(options.clock, (closing) => this.#lookAfter(closing).then(() => SWEEP_MS));
  }

  /** Resumes the streams that no server plays. */
  open(): void {
    this.#sweep.open();
  }

  /** Leaves every stream as it is stored, for the next Muster to go on with. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException('Muster is ending', 'AbortError'));
    this.#changes.notifyAll();
    await this.#sweep.close();
    await Promise.allSettled([...this.#runs.values()].map((run) => run.close()));
  }

  /** Durable once it resolves. @throws InputError when something of it is wrong; QuotaError `quota.open-episodes`. */
  async start({ suite, agent, policy, terms: given }: RolloutRequest, { principal }: Caller, signal: AbortSignal): Promise<StoredStream> {
    const { streams, library, player, audit, newId } = this.#options;
    const terms = completeTerms(given);
    await this.#assertRoom(principal, terms.concurrency);
    const [{ written, digest, files }, brought] = await runSideBySide(
      () => library.orderSuite(suite, undefined, signal),
      (either) => library.orderCheckpoint(agent, principal, either),
      signal,
    );
    const order: RolloutOrder = {
      schema: 'muster.rollouts/1',
      suite: written,
      suiteDigest: digest,
      ...(files ? { suiteFiles: files } : {}),
      agent: brought,
    };
    await using rollout = await player.open(order, signal);
    const stream = await streams.create({ id: newId(), principal, policy: policy ?? rollout.model, terms, order });
    await audit.record({ principal, action: 'rollouts.start', target: stream.id, details: { suite: written.name, policy: stream.policy } });
    this.#play(stream);
    return stream;
  }

  /** @throws InputError `rollouts.not-found` when there is none, or it is another's and the caller no operator. */
  async find(id: string, { principal, role }: Caller): Promise<StoredStream> {
    const stream = isStreamId(id) ? await this.#options.streams.find(id) : undefined;
    if (stream === undefined || (stream.principal !== principal && role !== 'operator'))
      throw new InputError('rollouts.not-found', `there is no stream ${id.slice(0, 100)}`);
    return stream;
  }

  /** Lists the caller's own streams, latest first; for an operator, all. */
  list(limit: number, { principal, role }: Caller): Promise<readonly StoredStream[]> {
    return this.#options.streams.list(role === 'operator' ? undefined : principal, limit);
  }

  async readBoard(id: string, caller: Caller): Promise<StreamBoard> {
    return readBoard(this.#options.streams, await this.find(id, caller));
  }

  /** Yields the board, and again whenever it has changed, once a second at most. Ends with the stream, or with the signal. */
  watch(id: string, caller: Caller, gone: AbortSignal): AsyncGenerator<StreamBoard> {
    return watchBoard(() => this.readBoard(id, caller), this.#options.clock, AbortSignal.any([gone, this.#closing.signal]));
  }

  /** Cancels a stream; one that is over stays as it is. */
  async cancel(id: string, caller: Caller): Promise<StoredStream> {
    const { id: known, state } = await this.find(id, caller);
    if (state === 'running') {
      const { streams, audit } = this.#options;
      await audit.record({ principal: caller.principal, action: 'rollouts.cancel', target: known, details: {} });
      await streams.end(known, 'cancelled', undefined);
      this.#runs.get(known)?.look();
      this.#changes.notify(known);
    }
    return await this.find(id, caller);
  }

  /**
   * Waits until there is a group, the stream is over or `milliseconds` have passed.
   *
   * @returns what there is by then, leased for the caller alone.
   */
  async groups(id: string, caller: Caller, request: GroupsRequest, milliseconds: number, gone: AbortSignal): Promise<LeasedGroups> {
    const { clock } = this.#options;
    const { id: known } = await this.find(id, caller);
    const end = clock.now() + milliseconds;
    using listener = this.#changes.listen(known);
    let noted = -Infinity;
    for (;;) {
      if (clock.now() - noted >= NOTE_AGAIN_MS) {
        noted = clock.now();
        await this.#options.streams.noteAsked(known);
      }
      const stream = await this.find(id, caller);
      const groups = await leaseGroups(this.#options.streams, stream, request);
      const left = end - clock.now();
      if (groups.length > 0 || stream.state !== 'running' || left <= 0 || gone.aborted || this.#closing.signal.aborted)
        return { groups, stream };
      await listener.next(clock, Math.min(left, LOOK_AGAIN_MS), gone);
    }
  }

  /** Yields one group after the other, each leased when the previous one was consumed. Ends with the stream, or with the signal. */
  async *follow(id: string, caller: Caller, request: Omit<GroupsRequest, 'limit'>, gone: AbortSignal): AsyncGenerator<string> {
    const either = AbortSignal.any([gone, this.#closing.signal]);
    while (!either.aborted) {
      const { groups, stream } = await this.groups(id, caller, { ...request, limit: 1 }, Infinity, either);
      yield* groups;
      if (groups.length === 0 && stream.state !== 'running') return;
    }
  }

  /** Acknowledges groups in the order in which they were given. */
  async acknowledge(id: string, caller: Caller, given: readonly GivenAcknowledgement[]): Promise<readonly Acknowledgement[]> {
    const stream = await this.find(id, caller);
    const answers: Acknowledgement[] = [];
    for (const { group, lease } of given) {
      const number = parseGroupNumber(stream.id, group);
      answers.push(number === undefined ? 'unknown' : await this.#options.streams.acknowledge(stream.id, number, lease));
    }
    this.#runs.get(stream.id)?.look();
    return answers;
  }

  /** @throws InputError `policy.version` when a later one was reported before; `agent.endpoint`. */
  async reportVersion(policy: string, version: number, endpoint: string | undefined, { principal }: Caller): Promise<ReportedVersion> {
    const { streams, assertEndpoint } = this.#options;
    if (endpoint !== undefined) assertEndpoint(endpoint);
    const reported = await streams.reportVersion(principal, policy, version, endpoint);
    if (reported === undefined) {
      const last = await streams.findLastReported(principal, policy);
      throw new InputError(
        'policy.version',
        `version: expected one after ${last?.version}, the last one reported of ${policy}; got ${version}. A new training needs its own policy name`,
      );
    }
    for (const run of this.#runs.values()) run.look();
    return reported;
  }

  /** Lists the contents that streams need. */
  async listNeeded(): Promise<readonly Digest[]> {
    const streams = await this.#options.streams.listRunning(STREAMS);
    return streams.flatMap((stream) => listNeeded(readRolloutOrder(stream)));
  }

  async #assertRoom(principal: string, more: number): Promise<void> {
    const { openEpisodes, countOpen, streams } = this.#options;
    const most = openEpisodes(principal);
    if (most === undefined) return;
    const open = (await streams.countConcurrency(principal)) + (await countOpen(principal));
    if (open + more <= most) return;
    const reason = `episodes and streams of ${principal} take ${open} at a time, ${more} more were asked for, and quotas.openEpisodes is ${most}; lower the concurrency, or cancel some`;
    throw new QuotaError({ kind: 'refuse', code: 'quota.open-episodes', reason, retryAfterSeconds: 30 });
  }

  #play(stream: StoredStream): void {
    if (this.#closing.signal.aborted || this.#runs.has(stream.id)) return;
    const run = new StreamRun(stream, { ...this.#options, changes: this.#changes });
    this.#runs.set(stream.id, run);
    void run.done.then(() => this.#runs.delete(stream.id));
  }

  /** Never rejects. */
  async #lookAfter(closing: AbortSignal): Promise<void> {
    const { streams, turns, log, retentionDays } = this.#options;
    try {
      for (const stream of await streams.listRunning(STREAMS)) if (!closing.aborted) this.#play(stream);
      const days = retentionDays();
      await streams.endAbandoned(days * DAY_MS, `no trainer has asked for its groups for ${days} days (server.retentionDays)`);
      await streams.forgetOld(days * DAY_MS, FORGOTTEN);
      await turns.forgetOld(days * DAY_MS);
    } catch (error) {
      log.warn({ error: getMessage(error) }, 'streams of rollouts could not be looked after');
    }
  }
}
