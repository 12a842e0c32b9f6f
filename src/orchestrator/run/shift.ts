import { raceWithAbort } from '../../kernel/abort.ts';
import { Deadline, waitForAbort } from '../../kernel/deadline.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { LeaseLostError, type Lease } from '../../pool/ports/lease.ts';
import type { Pool } from '../../pool/pool.ts';
import type { Sharing } from '../../pool/ports/shared-content.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { RunnerSession } from '../../runner/session.ts';
import { awaitWork } from './await-work.ts';
import { createLoadTimeout, loadSandbox, getPolicyInbox, type LoadContext } from './load-sandbox.ts';
import type { Duty } from './players.ts';
import { UsageMeter } from './usage-meter.ts';
import { RefusedCheckpointError } from './refused-checkpoint-error.ts';

/** What a shift needs from its run. */
export interface ShiftContext extends LoadContext {
  readonly duty: Duty;
  readonly sharing?: Sharing | undefined;
  readonly log: Log;
  readonly pool: Pick<Pool<RunnerSession>, 'leased'>;
}

/** Ranges that a runner is sent before it has finished the first, so that it never waits for a round trip. */
const RANGES_AHEAD = 2;

/** An arm's time with one leased sandbox: loads the policy, then, once the run has begun, plays ranges until there are no more. */
export class Shift {
  readonly #lease: Lease<RunnerSession>;
  readonly #session: RunnerSession;
  readonly #context: ShiftContext;
  readonly #duty: Duty;
  readonly #meter: UsageMeter;
  /** The run is over, or the lease is lost. */
  readonly #stop: AbortSignal;
  /** The shift is stopped, or should end once its work under way has been played. */
  readonly #leave: AbortSignal;

  constructor(lease: Lease<RunnerSession>, context: ShiftContext) {
    this.#lease = lease;
    this.#session = lease.occupant;
    this.#context = context;
    this.#duty = context.duty;
    this.#meter = UsageMeter.get(lease.sandbox);
    this.#stop = AbortSignal.any([this.#duty.over, lease.signal]);
    this.#leave = this.#duty.slot ? AbortSignal.any([this.#stop, this.#duty.slot.recalled]) : this.#stop;
  }

  /**
   * Resolves when the run or the arm is over, the sandbox is needed elsewhere or recalled, has played its share, or has ended during its
   * work.
   *
   * @throws InputError when the runner refuses the policy; InfrastructureError when the shift gave no result that an episode can be held
   * responsible for.
   */
  async work(): Promise<void> {
    await this.#duty.turns?.next();
    try {
      if (await this.#isToMakeRoom()) return this.#lease.discard('a sandbox that shares the next content takes its place');
      await this.#load();
    } catch (error) {
      throw await this.#onFailedLoad(error);
    }
    this.#duty.arm.wasLoaded = true;
    await raceWithAbort(this.#duty.begun, this.#leave).catch(() => undefined);
    await this.#play();
  }

  /**
   * Whether to replace a sandbox that was made before its content was shared. A new one takes some milliseconds; loading the content here
   * may take seconds, and memory.
   */
  async #isToMakeRoom(): Promise<boolean> {
    const { sharing, clock, config } = this.#context;
    const { arm } = this.#duty;
    if (!sharing?.isOn) return false;
    using deadline = new Deadline(clock, config.loadMilliseconds, () => createLoadTimeout(config.loadMilliseconds), this.#stop);
    for (const digest of sharing.digests.filter((each) => this.#isMissing(each))) {
      const isLight = arm.checkpoint.kind === 'file' && (await sharing.isLight(digest, deadline.signal));
      // Content that cannot be shared is loaded here all the same.
      if (!isLight) return sharing.isOn;
    }
    return false;
  }

  #isMissing(digest: string): boolean {
    return this.#lease.sandbox.shares?.has(digest) !== true;
  }

  /** Whether this very file was loaded and verified elsewhere on the machine, and is small enough to be loaded here, too. */
  get #isVerified(): boolean {
    const { sharing } = this.#context;
    const { digest } = this.#duty.arm.checkpoint;
    return sharing?.isOn === true && sharing.digests.includes(digest) && this.#isMissing(digest);
  }

  /**
   * When the runner refuses the checkpoint, every other runner will, unless one has accepted it already. Any other failure is a problem of
   * this sandbox. In both cases the sandbox is not used again: partly loaded content may have run, with unknown effects.
   */
  async #onFailedLoad(error: unknown): Promise<unknown> {
    if (this.#duty.over.aborted) return error;
    if (this.#session.isClosed || error instanceof LeaseLostError) return this.#explainLoss();
    this.#lease.discard(getMessage(error));
    const { wasLoaded, checkpoint } = this.#duty.arm;
    if (!(error instanceof InputError)) return error;
    if (!wasLoaded) return error.code === 'checkpoint.refused' ? new RefusedCheckpointError(checkpoint.digest, error) : error;
    return new InfrastructureError('runner.refused', `${error.message} (others have taken it)`, { cause: error });
  }

  /** The pool may learn of a runner's end before or after its last output has been read. This waits for both. */
  async #explainLoss(): Promise<InfrastructureError> {
    const reason = await raceWithAbort(this.#session.gone, this.#duty.over);
    await waitForAbort(this.#stop);
    return new InfrastructureError('sandbox.lost', reason);
  }

  async #load(): Promise<void> {
    const { distributor } = this.#context;
    const isVerified = this.#isVerified;
    this.#duty.arm.addRemarks(await loadSandbox(this.#lease, this.#duty.arm, this.#context, this.#stop, { isVerified }));
    // The runner has mapped the file. Otherwise the store would keep every checkpoint that a long-lived sandbox has played.
    if (isVerified) await distributor.withdraw(this.#duty.arm.checkpoint, getPolicyInbox(this.#lease));
  }

  /** Reads the session to its end, even when the lease is lost: only then is it known what was not played. */
  async #play(): Promise<void> {
    let outcomes = 0;
    while (!this.#duty.over.aborted) {
      if (!this.#leave.aborted) this.#sendWork();
      if (!this.#session.isBusy && !this.#lease.signal.aborted) {
        if (this.#leave.aborted || this.#lease.episodesLeft === 0 || this.#duty.arm.isOver || this.#duty.isWantedElsewhere()) return;
        await awaitWork(this.#duty, this.#context.clock, this.#leave);
        continue;
      }
      const { played, closed } = await this.#session.collect(this.#duty.over);
      await this.#duty.turns?.next();
      outcomes += played.filter(isAttributable).length;
      if (closed) {
        this.#duty.arm.giveBack(closed.unplayed);
        this.#context.log.debug(
          { sandbox: this.#lease.sandbox.id, reason: closed.reason, unplayed: closed.unplayed.length },
          'a runner ended',
        );
      }
      await this.#duty.record(await this.#addUsage(played, closed !== undefined));
      // The pool notices and counts the runner's end before the lease is released.
      if (closed) await waitForAbort(this.#stop);
      if (closed && outcomes === 0) throw new InfrastructureError('sandbox.lost', closed.reason);
      if (closed) return;
      this.#count(played.length);
    }
  }

  /** Measures usage only where it is stored. */
  async #addUsage(played: readonly PlayedEpisode[], isOver: boolean): Promise<readonly PlayedEpisode[]> {
    if (played.length === 0 || !this.#duty.arm.isKept) return played;
    const usage = await this.#meter.read(this.#context.pool.leased, isOver, this.#context);
    return usage ? played.map((episode) => ({ ...episode, usage })) : played;
  }

  /** A lost lease has nothing to count. The session's end, which follows, gives the reason. */
  #count(episodes: number): void {
    try {
      this.#lease.countEpisodes(episodes);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
    }
  }

  #sendWork(): void {
    while (this.#session.outstandingRanges < RANGES_AHEAD) {
      const outstanding = { ranges: this.#session.outstandingRanges, episodes: this.#session.outstandingEpisodes };
      const capacity = this.#lease.episodesLeft - outstanding.episodes;
      const range = this.#duty.arm.take(this.#context.clock.now(), this.#duty.countSandboxes(), outstanding, capacity);
      if (range.length === 0) break;
      this.#session.play(range);
    }
    if (this.#session.isBusy || this.#lease.episodesLeft === 0) return;
    const straggler = this.#duty.arm.takeStraggler(this.#context.clock.now());
    if (straggler.length > 0) this.#session.play(straggler);
  }
}

/** A kill may be the episode's own doing, and is bounded by its attempts; other losses count against the infrastructure. */
function isAttributable({ outcome, killed }: PlayedEpisode): boolean {
  return outcome.kind !== 'lost' || killed !== false;
}
