import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { EpisodeIndex } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import type { Distributor } from '../../policy-distribution/delivery/distributor.ts';
import type { PoolState } from '../../pool/members/pool-state.ts';
import type { Pool } from '../../pool/pool.ts';
import { type Lease, LeaseLostError } from '../../pool/ports/lease.ts';
import type { Sharing } from '../../pool/ports/shared-content.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { RunnerSession } from '../../runner/session.ts';
import type { RunFacts } from '../facts/run-facts.ts';
import { describeExposure } from '../suite/what-runs.ts';
import { loadSandbox } from './load-sandbox.ts';
import type { Duty, Players, Replay, ReplayOrder } from './players.ts';
import { Shift } from './shift.ts';

export interface RunnerPlayersOptions {
  /** The principal. Its data never meets another's code, nor its code another's data. */
  readonly principal: string;
  readonly pool: Pool<RunnerSession>;
  readonly distributor: Distributor;
  /** What new sandboxes have in memory from their start, if anything. Disposed with the players. */
  readonly sharing?: Sharing | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: { readonly loadMilliseconds: number; readonly beginMilliseconds: number; readonly renewMilliseconds: number };
}

/** Policies, each played by the runner of a leased sandbox. */
export class RunnerPlayers implements Players {
  readonly #options: RunnerPlayersOptions;

  constructor(options: RunnerPlayersOptions) {
    this.#options = options;
  }

  state(): PoolState {
    return this.#options.pool.state();
  }

  get deliveries(): RunFacts['deliveries'] {
    return this.#options.distributor.deliveries;
  }

  async waitUntilShared(signal: AbortSignal): Promise<void> {
    await this.#options.sharing?.waitUntilIncluded(signal).catch(() => undefined);
  }

  /** Works with one lease. */
  async work(duty: Duty): Promise<void> {
    const { principal, pool, clock, config } = this.#options;
    const { arm, over } = duty;
    const exposure = describeExposure(principal, arm.suite, arm.checkpoint);
    await using lease = await pool.acquire(exposure, over);
    if (arm.isOver) return;
    using _renewal = keepRenewed(lease, clock, config.renewMilliseconds);
    using _held = duty.hold(lease.sandbox.id);
    await new Shift(lease, { ...this.#options, duty, exposure }).work();
  }

  async replay(order: ReplayOrder, signal: AbortSignal): Promise<Replay> {
    const { principal, pool, clock, config } = this.#options;
    const exposure = describeExposure(principal, order.suite, order.checkpoint);
    await using lease = await pool.acquire(exposure, signal);
    using _renewal = keepRenewed(lease, clock, config.renewMilliseconds);
    const { environmentSeed, index } = order.episode;
    const until = AbortSignal.any([signal, lease.signal]);
    await loadSandbox(lease, order, { ...this.#options, exposure }, until, { recordedSeed: environmentSeed });
    lease.occupant.play(order.block);
    const played = await collectEpisode(lease.occupant, index, order.block.length, signal);
    if (!lease.signal.aborted) lease.countEpisodes(order.block.length);
    if (played.outcome.kind === 'lost') throw new InfrastructureError('sandbox.lost', played.outcome.detail);
    return { outcome: played.outcome, seconds: played.seconds, log: played.log, recording: lease.occupant.takeRecording() };
  }

  [Symbol.dispose](): void {
    this.#options.sharing?.[Symbol.dispose]();
  }
}

/** Waits for all episodes of a block, and returns the outcome of one. */
async function collectEpisode(session: RunnerSession, index: EpisodeIndex, episodes: number, signal: AbortSignal): Promise<PlayedEpisode> {
  let found: PlayedEpisode | undefined;
  for (let left = episodes; left > 0;) {
    const { played, closed } = await session.collect(signal);
    left -= played.length;
    found ??= played.find((each) => each.index === index);
    if (closed && !found) throw new InfrastructureError('sandbox.lost', closed.reason);
    if (closed) break;
  }
  if (!found) throw new Error(`the outcome of episode ${index} is missing among those of its block`);
  return found;
}

/** Renews a lease until its holder releases it. A lost lease is not renewed: its holder notices the loss. */
function keepRenewed(lease: Lease<unknown>, clock: Clock, everyMilliseconds: number): Disposable {
  let timer = clock.after(everyMilliseconds, renew);
  function renew(): void {
    try {
      lease.renew();
      timer = clock.after(everyMilliseconds, renew);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
    }
  }
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
