import type { CacheKeyParts } from '../../src/evaluation-store/cache-key.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { sleep, systemClock } from '../../src/kernel/clock.ts';
import type { SandboxUsage } from '../../src/kernel/sandbox-usage.ts';
import { parseEpisodeIndex } from '../../src/kernel/ids.ts';
import type { StoredEpisode } from '../../src/evaluation-store/episode-log.ts';
import type { RunLook } from '../../src/orchestrator/facts/progress.ts';
import { SandboxTimeline } from '../../src/orchestrator/facts/sandbox-timeline.ts';
import { createInlineLayer, defineSuite, parseSuite } from '../../src/orchestrator/suite/suite-definition.ts';
import type { PoolSize } from '../../src/pool/planning/pool-config.ts';
import type { PoolState } from '../../src/pool/members/pool-state.ts';
import type { Library } from '../../src/service/orders/library.ts';
import type { EvaluationOrder } from '../../src/service/orders/evaluation-order.ts';
import type { Answer, PlayCourse, Player } from '../../src/service/orders/player.ts';
import { buildQuestion } from '../../src/service/orders/question.ts';
import type { ManagedPools } from '../../src/service/upkeep/pool-service.ts';
import { evaluation as summaryDocument } from '../../test/faces/report/documents.ts';

/** Stand-ins for sandboxes and what plays in them; all else of the server is real. */

const SUITE = parseSuite(
  createInlineLayer({
    name: 'simulated',
    environment: 'gymnasium:CartPole-v1',
    reward: { bounds: [0, 500] },
    stop: { rule: 'certified', halfWidth: 1 },
    budget: { episodes: 1_000_000 },
  }),
);

export const simulatedLibrary: Library = {
  orderSuite: async () => ({ written: SUITE, digest: defineSuite(SUITE, undefined).digest, files: undefined }),
  orderCheckpoint: async (reference) => {
    const uri = 'uri' in reference ? reference.uri : reference.sha256;
    return { uri, digest: digestBytes(uri), kind: 'file', files: [], labels: {} };
  },
  assertPlayable: () => undefined,
};

const NO_LOOK: RunLook = { getReturns: () => undefined, readLanes: () => new SandboxTimeline(0).read(0) };

/** Of one evaluation. Two hundred of them have 10,000 a second. */
const EPISODES_A_SECOND = 50;
const REPORT_MILLISECONDS = 100;
const BATCH = 1000;

/** Stores so many episodes and ends; or reports episodes that it does not store until it is ended. */
export class SimulatedPlayer implements Player {
  readonly #stored: number;

  /** @param stored episodes; 0 to go on reporting. */
  constructor(stored: number) {
    this.#stored = stored;
  }

  async play(order: EvaluationOrder, course: PlayCourse): Promise<Answer> {
    const share = course.share('local');
    using _place = await share.take(course.signal);
    if (this.#stored > 0) await storeEpisodes(order, course, this.#stored);
    else await report(course);
    return summaryDocument({ episodes: this.#stored }, { partial: this.#stored === 0 });
  }

  replay(): Promise<never> {
    return Promise.reject(new Error('nothing is replayed here'));
  }

  buildQuestion(order: EvaluationOrder, principal: string): ReturnType<typeof buildQuestion> {
    return buildQuestion(order, { template: digestBytes('local'), version: '0.0.0', runs: 'data', principal });
  }

  repeatAnswer(): undefined {
    return undefined;
  }
}

async function storeEpisodes(order: EvaluationOrder, course: PlayCourse, episodes: number): Promise<void> {
  const parts: CacheKeyParts = {
    checkpoint: digestBytes('simulated'),
    suite: order.suiteDigest,
    template: digestBytes('local'),
    draw: 'proportional',
    runs: 'data',
  };
  const journal = course.openJournal(0, parts);
  for (let from = 0; from < episodes; from += BATCH)
    await journal.append(Array.from({ length: Math.min(BATCH, episodes - from) }, (_, at) => buildEpisode(from + at)));
}

function buildEpisode(index: number): StoredEpisode {
  const steps = 100 + ((index * 7919) % 400);
  return {
    index: parseEpisodeIndex(index),
    task: 0,
    outcome: { kind: 'completed', return: steps, length: steps, metrics: {} },
    seconds: 0.02,
  };
}

/** An interval that narrows as it would, episode by episode. */
async function report(course: PlayCourse): Promise<void> {
  const start = systemClock.now();
  while (!course.signal.aborted) {
    await sleep(systemClock, REPORT_MILLISECONDS, course.signal).catch(() => undefined);
    const seconds = (systemClock.now() - start) / 1000;
    const episodes = Math.ceil(seconds * EPISODES_A_SECOND) + 1;
    const halfWidth = 300 / Math.sqrt(episodes);
    const mean = 300 + 40 * Math.sin(seconds);
    course.onProgress(
      {
        kind: 'evaluation',
        episodes,
        mean,
        halfWidth,
        low: mean - halfWidth,
        high: mean + halfWidth,
        target: 1,
        outcomes: episodes,
        inFlight: 2,
        episodesPerSecond: EPISODES_A_SECOND,
        seconds,
        secondsLeft: 1000,
      },
      NO_LOOK,
    );
  }
}

/** One pool, of whose sandboxes some are always coming and going. */
export class SimulatedPools implements ManagedPools {
  readonly templates = ['local'];
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  getProvider(): string {
    return 'simulated';
  }

  getSize(): PoolSize {
    return { min: 0, max: this.#max, warm: 0 };
  }

  resize(): void {
    // Nothing is scaled here.
  }

  /** Never the same, so that open pages have something to draw. */
  readUsage(): Promise<ReadonlyMap<string, SandboxUsage>> {
    const cpuSeconds = systemClock.now() / 1000;
    const usage = { cpuSeconds, peakMemoryBytes: 50_000_000 };
    return Promise.resolve(new Map(Array.from({ length: this.#max }, (_, at) => [`sandbox-${at}`, usage])));
  }

  getState(): PoolState {
    const moving = Math.floor(systemClock.now() / 250) % 20;
    return {
      phase: 'open',
      sandboxes: { creating: moving, warming: 0, idle: 20 - moving, leased: this.#max - 20, destroying: 0 },
      waiting: moving,
      totals: { created: this.#max, destroyed: 0, failed: 0, died: 0, abandoned: 0, leases: this.#max, revoked: 0 },
      isolation: undefined,
      swept: 0,
      obstacles: [],
      lastErrors: { creation: undefined, destruction: undefined, sweep: undefined },
    };
  }
}
