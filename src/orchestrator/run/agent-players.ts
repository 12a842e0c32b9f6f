import { raceWithAbort } from '../../kernel/abort.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { PoolState } from '../../pool/members/pool-state.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import type { Arm } from '../arm/arm.ts';
import { awaitWork } from './await-work.ts';
import type { Duty, Players, Replay, ReplayOrder } from './players.ts';

/** Plays the tasks of a suite as an agent, and has each submission graded. */
export interface AgentStage {
  /** Returns the state of the workspaces and the grading sandboxes. */
  state(): PoolState;
  /**
   * Plays one episode, from an untouched workspace to the verdict. `lost` when there is no verdict and the agent did not cause that.
   *
   * @param agent digest. @param isKept whether a transcript is stored. @throws InputError when the task, its verifier or the agent is
   * broken, naming it; the signal's reason.
   */
  play(agent: string, episode: PlannedEpisode, isKept: boolean, signal: AbortSignal): Promise<StagedEpisode>;
}

interface StagedEpisode {
  readonly outcome: Outcome;
  readonly log: string;
  /** The agent's calls with their answers, and the verdict, as JSON for people. */
  readonly transcript: object | undefined;
}

/** Agents, whose episodes each take a workspace and grading sandboxes: nothing is held between episodes. */
export class AgentPlayers implements Players {
  readonly #stage: AgentStage;
  readonly #clock: Clock;
  readonly deliveries = undefined;

  constructor(stage: AgentStage, clock: Clock) {
    this.#stage = stage;
    this.#clock = clock;
  }

  state(): PoolState {
    return this.#stage.state();
  }

  /** Does nothing: these players share nothing. */
  async waitUntilShared(): Promise<void> {}

  async work(duty: Duty): Promise<void> {
    const { arm, over, slot } = duty;
    const leave = slot ? AbortSignal.any([over, slot.recalled]) : over;
    await raceWithAbort(duty.begun, leave).catch(() => undefined);
    using _held = duty.hold();
    let outcomes = 0;
    while (!leave.aborted) {
      const episodes = this.#take(duty);
      if (episodes.length === 0) {
        if (arm.isOver || duty.isWantedElsewhere()) return;
        await awaitWork(duty, this.#clock, leave);
        continue;
      }
      for (const episode of episodes) {
        const played = await this.#play(arm, episode, over);
        await duty.turns?.next();
        await duty.record([played]);
        if (played.outcome.kind !== 'lost') outcomes += 1;
        // Counts like an unusable sandbox: repeated failures end the run.
        else if (outcomes === 0) throw new InfrastructureError('sandbox.lost', played.outcome.detail);
        else return;
      }
    }
  }

  async replay({ checkpoint, episode }: ReplayOrder, signal: AbortSignal): Promise<Replay> {
    const started = this.#clock.now();
    const { outcome, log } = await this.#stage.play(checkpoint.digest, episode, false, signal);
    if (outcome.kind === 'lost') throw new InfrastructureError('sandbox.lost', outcome.detail);
    const seconds = (this.#clock.now() - started) / 1000;
    return { outcome, seconds, log, recording: { rewards: [], pictures: [], remarks: [] } };
  }

  [Symbol.dispose](): void {}

  /** Takes one episode: the first that is due, or a straggler. */
  #take(duty: Duty): readonly PlannedEpisode[] {
    const now = this.#clock.now();
    const due = duty.arm.take(now, duty.countSandboxes(), { ranges: 0, episodes: 0 }, 1);
    return due.length > 0 ? due : duty.arm.takeStraggler(now);
  }

  async #play({ checkpoint: { digest }, isKept }: Arm, episode: PlannedEpisode, over: AbortSignal): Promise<PlayedEpisode> {
    const startedAt = this.#clock.now();
    const { outcome, log, transcript } = await this.#stage.play(digest, episode, isKept, over);
    const seconds = (this.#clock.now() - startedAt) / 1000;
    const observed = { ...(log === '' ? {} : { log }), ...(transcript && { transcript }) };
    return { index: episode.index, checkpoint: digest, outcome, seconds, killed: false, ...observed };
  }
}
