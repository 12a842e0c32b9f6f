import { planStream, type RunningGroup, type SettledGroup, type StreamAction } from '../../agents/rollouts/streams/plan-stream.ts';
import type { ReportedVersion } from '../../agents/rollouts/streams/policy-versions.ts';
import { type RolloutStreams, type StoredStream, type StreamHold, StreamLostError } from '../../agents/rollouts/streams/rollout-streams.ts';
import type { StreamId } from '../../agents/rollouts/streams/stream-ids.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InputError, getMessage } from '../../kernel/errors.ts';
import type { OwnerId } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import type { ChangeListeners } from '../playing/change-listeners.ts';
import { Listener } from '../playing/news.ts';
import { MemberPlays } from './member-plays.ts';
import { readRolloutOrder } from './rollout-order.ts';
import type { OpenRollout, RolloutPlayer } from './rollout-player.ts';

export interface StreamRunParts {
  readonly streams: RolloutStreams;
  readonly player: RolloutPlayer;
  readonly clock: Clock;
  readonly log: Log;
  readonly holder: OwnerId;
  readonly holdMilliseconds: number;
  /** Wakes trainers that wait: a group is ready, or the stream is over. */
  readonly changes: ChangeListeners<StreamId>;
}

/** Actions of other processes are not announced, so the run reads the store at this interval. */
const LOOK_AGAIN_MS = 1000;

/**
 * Plays one stream in this process: it reads the store, plans, and carries the plan out, in a loop. Its only state besides the store is which members
 * it plays itself, so another process can continue at any time.
 */
export class StreamRun {
  readonly #stream: StoredStream;
  readonly #parts: StreamRunParts;
  readonly #closing = new AbortController();
  #groups: readonly Omit<RunningGroup, 'ended'>[] = [];
  /** The version when the stream began, and the one before that. */
  #reported: readonly ReportedVersion[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;
  /** What was read of the store last. Members that act or end change nothing of it, so it is not read again for them. */
  #looked: { readonly stream: StoredStream | undefined; readonly until: number } | undefined;
  /** The store has changed since, or may have. */
  #isOutdated = true;
  #held: { readonly hold: StreamHold; readonly renewAt: number } | undefined;
  /** Resolves when this process has stopped playing it. Never rejects. */
  readonly done: Promise<void>;

  constructor(stream: StoredStream, parts: StreamRunParts) {
    this.#stream = stream;
    this.#parts = parts;
    this.done = this.#run();
  }

  /** Stops, so that the next Muster continues from the store. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException('Muster is ending', 'AbortError'));
    await this.done;
  }

  /** Called when something has changed in the store: groups were acknowledged, a version reported, or the stream ended. */
  look(): void {
    this.#isOutdated = true;
    this.#wake();
  }

  async #run(): Promise<void> {
    const { streams, player, log, changes } = this.#parts;
    const { id } = this.#stream;
    try {
      await using rollout = await player.open(readRolloutOrder(this.#stream), this.#closing.signal);
      await this.#play(rollout);
    } catch (error) {
      if (this.#closing.signal.aborted || error instanceof StreamLostError) return;
      log.warn({ stream: id, error: getMessage(error) }, 'a stream of rollouts cannot continue');
      // An error that only its caller can correct ends the stream; after any other error it is tried again.
      if (error instanceof InputError) await streams.end(id, 'failed', error.message).catch(() => undefined);
    } finally {
      changes.notify(id);
    }
  }

  async #play(rollout: OpenRollout): Promise<void> {
    const { streams, clock, changes } = this.#parts;
    const { id } = this.#stream;
    using changed = new Listener((wake) => {
      this.#wake = wake;
      return () => undefined;
    });
    const first = await this.#hold();
    if (first === undefined) return;
    await using plays = this.#openPlays(rollout, first);
    await this.#resume(plays);
    for (;;) {
      const hold = await this.#hold();
      if (hold === undefined || this.#closing.signal.aborted) break;
      if (this.#failure) throw this.#failure.error;
      const stream = await this.#look(hold);
      if (stream === undefined) break;
      await this.#noteProblem(hold, stream, rollout);
      const actions = planStream(this.#buildView(stream, plays), stream.terms);
      for (const action of actions) await this.#apply(action, hold, rollout, plays);
      if (actions.some(({ kind }) => kind === 'accept' || kind === 'complete')) changes.notify(id);
      if (actions.length > 0) this.#isOutdated = true;
      else await changed.next(clock, LOOK_AGAIN_MS, this.#closing.signal);
    }
    if (this.#closing.signal.aborted) await streams.release(first);
  }

  /** Turns may wait for the model's server for a long time: the stream and the log say why nothing goes on. */
  async #noteProblem(hold: StreamHold, stream: StoredStream, { problem }: OpenRollout): Promise<void> {
    if (problem === stream.problem) return;
    if (problem !== undefined) this.#parts.log.error({ stream: stream.id, error: problem }, 'a stream of rollouts waits');
    await this.#parts.streams.note(hold, problem);
    this.#isOutdated = true;
  }

  /**
   * Returns undefined when the stream has ended or another Muster plays it. The hold is renewed after a third of its time: each renewal waits for a
   * write to the disk.
   */
  async #hold(): Promise<StreamHold | undefined> {
    const { streams, holder, holdMilliseconds, clock } = this.#parts;
    const now = clock.now();
    if (this.#held && now < this.#held.renewAt) return this.#held.hold;
    const hold = await streams.hold(this.#stream.id, holder, holdMilliseconds);
    this.#held = hold && { hold, renewAt: now + holdMilliseconds / 3 };
    return hold;
  }

  #openPlays(rollout: OpenRollout, hold: StreamHold): MemberPlays {
    const { streams, clock, log } = this.#parts;
    const { id, terms } = this.#stream;
    return new MemberPlays({
      stream: id,
      terms,
      rollout,
      clock,
      version: () => this.#reported.at(-1),
      keep: (number, rep, result, document) => streams.keepMember(hold, number, rep, result, document),
      onLost: (detail) => {
        log.warn({ stream: id, error: detail }, 'a trajectory was lost');
        streams.note(hold, detail).catch(() => undefined);
      },
      onChange: () => this.#wake(),
      onFailure: (error) => {
        this.#failure ??= { error };
        this.#wake();
      },
    });
  }

  /** Continues groups of an earlier process: plays their unfinished members again. */
  async #resume(plays: MemberPlays): Promise<void> {
    const unsettled = await this.#parts.streams.listUnsettled(this.#stream.id);
    this.#groups = unsettled;
    await this.#readReported();
    for (const { number, wanted, ended } of unsettled) {
      plays.add(number, ended);
      plays.begin(number, 0, wanted);
    }
  }

  async #readReported(): Promise<void> {
    const { principal, policy, reportedBefore } = this.#stream;
    const last = this.#reported.at(-1)?.ordinal ?? Math.max(0, reportedBefore - 1);
    this.#reported = [...this.#reported, ...(await this.#parts.streams.listReported(principal, policy, last))];
  }

  /** Returns undefined when it is over. */
  async #look(hold: StreamHold): Promise<StoredStream | undefined> {
    const { streams, clock } = this.#parts;
    const { id, terms } = this.#stream;
    if (!this.#isOutdated && this.#looked && clock.now() < this.#looked.until) return this.#looked.stream;
    // The flag is cleared before reading: what changes meanwhile is read again.
    this.#isOutdated = false;
    await this.#readReported();
    const oldest = this.#listSinceBegin().length - terms.maxStaleness;
    if (oldest > 0) await streams.discardOld(hold, oldest);
    const found = await streams.find(id);
    const stream = found?.state === 'running' ? found : undefined;
    this.#looked = { stream, until: clock.now() + LOOK_AGAIN_MS };
    return stream;
  }

  #listSinceBegin(): readonly ReportedVersion[] {
    return this.#reported.filter(({ ordinal }) => ordinal > this.#stream.reportedBefore);
  }

  #buildView({ counts: { begun, ready, acknowledged } }: StoredStream, plays: MemberPlays): Parameters<typeof planStream>[0] {
    const running = this.#groups.map((group) => ({
      ...group,
      ended: plays.listEnded(group.number),
      grading: plays.countGrading(group.number),
    }));
    return { running, next: begun, ready, acknowledged, reported: this.#listSinceBegin() };
  }

  async #apply(action: StreamAction, hold: StreamHold, rollout: OpenRollout, plays: MemberPlays): Promise<void> {
    const { streams } = this.#parts;
    switch (action.kind) {
      case 'begin': {
        const group = { number: action.number, begun: this.#listSinceBegin().length, wanted: this.#stream.terms.groupSize };
        await streams.begin(hold, group);
        this.#groups = [...this.#groups, group];
        plays.add(group.number);
        return plays.begin(group.number, 0, group.wanted);
      }
      case 'grow': {
        const wanted = (this.#groups.find(({ number }) => number === action.number)?.wanted ?? 0) + action.by;
        await streams.grow(hold, action.number, wanted);
        this.#groups = this.#groups.map((each) => (each.number === action.number ? { ...each, wanted } : each));
        return plays.begin(action.number, wanted - action.by, wanted);
      }
      case 'accept':
        await this.#accept(action.group, hold, rollout, plays);
        return this.#forget(action.group.number, plays);
      case 'filter':
      case 'cancel':
        this.#forget(action.number, plays);
        return await streams.discard(hold, action.number, action.kind === 'filter' ? 'filtered' : 'stale');
      case 'complete':
        return await streams.end(hold.stream, 'completed', undefined);
    }
  }

  async #accept(group: SettledGroup, hold: StreamHold, rollout: OpenRollout, plays: MemberPlays): Promise<void> {
    const results = [...plays.listEnded(group.number).values()];
    const oldest = results.flatMap((each) => (each.oldest === null ? [] : [each.oldest]));
    const newest = results.flatMap((each) => (each.newest === null ? [] : [each.newest]));
    const versions = {
      oldest: oldest.length === 0 ? null : Math.min(...oldest),
      newest: newest.length === 0 ? null : Math.max(...newest),
    };
    await this.#parts.streams.accept(hold, { ...group, ...(await rollout.group(group.number)), versions });
  }

  #forget(number: number, plays: MemberPlays): void {
    plays.drop(number);
    this.#groups = this.#groups.filter((each) => each.number !== number);
  }
}
