import type { RunningFigures } from '../../src/service/orders/running-figures.ts';
import { inMemoryEvaluationStore } from './in-memory-store/in-memory-evaluation-store.ts';
import { Memory } from './in-memory-store/memory.ts';
import type { Question } from '../../src/evaluation-store/answer-cache.ts';
import type { EvaluationStore } from '../../src/evaluation-store/evaluation-store.ts';
import type { StoredEvaluation } from '../../src/evaluation-store/evaluation-record.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { InfrastructureError, InputError } from '../../src/kernel/errors.ts';
import { parseEvaluationId, parseOwnerId, type EvaluationId } from '../../src/kernel/ids.ts';
import type { Log } from '../../src/kernel/log.ts';
import { EvaluationFailedError } from '../../src/orchestrator/evaluate.ts';
import type { ReplayDocument } from '../../src/orchestrator/replay/replay-document.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { EvaluationService, type ServiceConfig, type ServiceOptions } from '../../src/service/evaluation-service.ts';
import type { Slot } from '../../src/orchestrator/run/slot-share.ts';
import type { Library } from '../../src/service/orders/library.ts';
import { Egress } from '../../src/service/access/egress.ts';
import type { Quota } from '../../src/service/access/quota.ts';
import { EpisodeBounds } from '../../src/service/playing/episode-bounds.ts';
import { CheckpointUse } from '../../src/service/checkpoints/checkpoint-use.ts';
import { buildQuestion } from '../../src/service/orders/question.ts';
import { QuotaGate } from '../../src/service/acceptance/quota-gate.ts';
import { Slots } from '../../src/service/playing/slots.ts';
import type { Answer, PlayCourse, Player, RecordedEpisode } from '../../src/service/orders/player.ts';
import type { EvaluationOrder } from '../../src/service/orders/evaluation-order.ts';
import type { Submission } from '../../src/service/acceptance/submission.ts';
import type { RunLook } from '../../src/orchestrator/facts/progress.ts';
import { SandboxTimeline } from '../../src/orchestrator/facts/sandbox-timeline.ts';
import { evaluation as summaryDocument } from '../faces/report/documents.ts';
import { ManualClock } from './manual-clock.ts';
import { completed } from './store-fixture.ts';

/** Of the scripted player, which has no sandboxes. */
export const NO_LOOK: RunLook = { getReturns: () => undefined, readLanes: () => new SandboxTimeline(0).read(0) };

/** An episode of the scripted player takes so long. */
export const EPISODE_MS = 100;
export const OWNERSHIP_MS = 30_000;

const WEBHOOKS = new Egress({ hosts: ['*'], networks: [], plainHttp: false }, 'webhooks');

/** Names stand for contents: nothing is read. */
export const PAPER_LIBRARY: Library = {
  orderSuite: async (reference) => {
    const name = typeof reference === 'string' ? reference : String(reference['name']);
    if (name === 'unknown') throw new InputError('suite.unknown', 'suite: expected one of fixture, got "unknown"');
    return { written: { name, template: 'local' }, digest: digestBytes(name), files: undefined };
  },
  orderCheckpoint: async (reference) => {
    const uri = 'uri' in reference ? reference.uri : reference.sha256;
    return { uri, digest: digestBytes(uri), kind: 'file', files: [], labels: {} };
  },
  assertPlayable: () => undefined,
};

function runningFigures(episodes: number): RunningFigures {
  return {
    kind: 'evaluation',
    episodes,
    mean: 0.5,
    halfWidth: 0.1,
    target: null,
    outcomes: episodes,
    inFlight: 1,
    episodesPerSecond: 10,
    seconds: (episodes - 1) / 10,
    secondsLeft: null,
  };
}

/** Plays episodes one after the other, as many as the suite's name says (`20 episodes`), and stores each before it counts it. */
export class ScriptedPlayer implements Player {
  readonly played: { readonly evaluation: string; readonly index: number }[] = [];
  /** Thrown at the episode with this index. */
  failAt: { readonly index: number; readonly error: Error } | undefined;
  /** Whether it takes over answers that were given before. */
  repeats = false;
  /** What it says that runs in its sandboxes. */
  runs: 'data' | 'code' = 'data';
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  /** As it was, with a reward of 1 for each step. */
  async replay(order: EvaluationOrder, { recorded }: RecordedEpisode): Promise<ReplayDocument> {
    const { index, outcome } = recorded;
    const steps = outcome.kind === 'completed' ? outcome.length : 0;
    const again = outcome.kind === 'completed' ? { ...outcome, metrics: {} } : { ...outcome };
    return {
      schema: 'muster.replay/1',
      suite: { name: order.suite.name, digest: order.suiteDigest },
      checkpoint: { digest: digestBytes('played') },
      index,
      task: 'main',
      environmentSeed: 1,
      policySeed: 2,
      recorded: again,
      replayed: again,
      isSame: true,
      seconds: 0.1,
      rewards: Array.from({ length: steps }, () => 1),
      pictures: [],
      remarks: [],
    };
  }

  async play(order: EvaluationOrder, course: PlayCourse): Promise<Answer> {
    const episodes = Number.parseInt(order.suite.name, 10);
    const checkpoint = order.kind === 'evaluation' ? order.checkpoint.uri : order.candidates[0]?.uri;
    const parts = {
      checkpoint: digestBytes(checkpoint ?? ''),
      suite: order.suiteDigest,
      template: digestBytes('local'),
      draw: 'proportional',
      runs: this.runs,
    };
    const journal = course.openJournal(0, parts);
    const share = course.share('local');
    let place: Slot | undefined;
    const known = new Set((await journal.readKnown(0, episodes)).episodes.map(({ index }) => Number(index)));
    let folded = 0;
    const answer = (partial: boolean): Answer => playedSummary(folded, partial);
    try {
      for (; folded < episodes; folded += 1) {
        if (known.has(folded)) {
          course.onProgress(runningFigures(folded + 1), NO_LOOK);
          continue;
        }
        if (course.signal.aborted || course.recallOnly) return answer(true);
        place ??= await share.take(course.signal);
        if (!(await this.#episode(course.signal))) return answer(true);
        if (this.failAt?.index === folded) throw this.failAt.error;
        this.played.push({ evaluation: checkpoint ?? '', index: folded });
        await journal.append([completed(folded)]);
        course.onProgress(runningFigures(folded + 1), NO_LOOK);
        if (place.recalled.aborted) {
          place[Symbol.dispose]();
          place = undefined;
        }
      }
    } catch (error) {
      if (course.signal.aborted) return answer(true);
      if (!(error instanceof InfrastructureError)) throw error;
      throw new EvaluationFailedError(playedSummary(folded, true), error);
    } finally {
      place?.[Symbol.dispose]();
    }
    return answer(false);
  }

  buildQuestion(order: EvaluationOrder, principal: string): Question {
    return buildQuestion(order, { template: digestBytes('local'), version: '0.0.0', runs: this.runs, principal });
  }

  repeatAnswer(_: EvaluationOrder, given: unknown): object | undefined {
    return this.repeats && typeof given === 'object' && given !== null ? { ...given, warnings: ['repeated'] } : undefined;
  }

  /** @returns whether it was played to its end. */
  #episode(signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = this.#clock.after(EPISODE_MS, () => resolve(true));
    signal.addEventListener(
      'abort',
      () => {
        timer[Symbol.dispose]();
        resolve(false);
      },
      { once: true },
    );
    return promise;
  }
}

function playedSummary(episodes: number, partial: boolean): Summary {
  return summaryDocument({ episodes }, { partial, run: { ...summaryDocument().run, outcomes: episodes } });
}

/** Of one Muster, in place of the fixture's own. */
export interface ServiceParts {
  readonly store?: EvaluationStore;
  readonly places?: number;
  readonly gate?: QuotaGate;
  readonly library?: Library;
  readonly onConcluded?: ServiceOptions['onConcluded'];
}

/** Musters that share one store in memory, on one clock. */
export class ServiceFixture {
  readonly clock = new ManualClock();
  readonly memory = new Memory(this.clock);
  readonly store: EvaluationStore = inMemoryEvaluationStore(this.memory);
  /** Pairs of a principal and a digest, as a configuration would grant them. */
  readonly granted = new Set<string>();
  readonly use = new CheckpointUse({
    rights: this.store.rights,
    isGranted: (principal, digest) => this.granted.has(`${principal} ${digest}`),
    isEveryones: false,
  });
  readonly player = new ScriptedPlayer(this.clock);
  readonly warnings: { readonly message: string; readonly fields: object }[] = [];
  readonly errors: string[] = [];
  readonly log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (fields, message) => void this.warnings.push({ message, fields }),
    error: (_fields, message) => void this.errors.push(message),
  };
  readonly #services: EvaluationService[] = [];
  #made = 0;

  readonly quotas = new Map<string, Partial<Quota>>();

  readonly quotaOf = (principal: string): Quota => ({
    concurrentEpisodes: undefined,
    waitingEvaluations: undefined,
    checkpointBytes: undefined,
    episodesPerDay: undefined,
    openEpisodes: undefined,
    ...this.quotas.get(principal),
  });

  /** A gate of one Muster. */
  gate(): QuotaGate {
    return new QuotaGate({ usage: this.store.usage, quotaOf: this.quotaOf, clock: this.clock });
  }

  /** One more Muster. @param store another one than the fixture's own, to fail. */
  service(
    config: Partial<ServiceConfig> = {},
    { store = this.store, places = 4, gate = this.gate(), library = PAPER_LIBRARY, onConcluded }: ServiceParts = {},
  ): EvaluationService {
    const shared = new Slots(places, this.clock, new EpisodeBounds(this.quotaOf));
    const service = new EvaluationService({
      store,
      player: this.player,
      library,
      gate,
      use: this.use,
      assertWebhookUrl: (url) => void WEBHOOKS.assertUrl(url),
      owner: parseOwnerId(`muster-${(this.#made += 1)}`),
      clock: this.clock,
      turns: { next: () => Promise.resolve() },
      log: this.log,
      newId: () => this.newId(),
      slotsOf: () => shared,
      onConcluded,
      config: {
        slots: 4,
        ownershipMilliseconds: OWNERSHIP_MS,
        reportMilliseconds: 1000,
        pollMilliseconds: 1000,
        retentionMilliseconds: 86_400_000,
        staleness: 'keep',
        deliversWebhooks: true,
        ...config,
      },
    });
    this.#services.push(service);
    return service;
  }

  /** One more Muster, which plays what it is given. */
  opened(config: Partial<ServiceConfig> = {}, parts: ServiceParts = {}): EvaluationService {
    const service = this.service(config, parts);
    service.open();
    return service;
  }

  /** Ends a Muster that gives back at once what it plays. */
  async drained(service: EvaluationService): Promise<void> {
    const draining = service.drain(0);
    await this.clock.advance(0);
    await draining;
  }

  /** Ends all of them. @throws when one of them leaves a timer behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#services.map((service) => this.drained(service)));
    if (this.clock.pending > 0) throw new Error(`${this.clock.pending} timers are left`);
  }

  newId(): EvaluationId {
    return parseEvaluationId(`ev-${String((this.#made += 1)).padStart(6, '0')}`);
  }

  async find(id: EvaluationId): Promise<StoredEvaluation> {
    const evaluation = await this.store.evaluations.find(id);
    if (!evaluation) throw new Error(`there is no ${id}`);
    return evaluation;
  }

  /** Indices that were stored, of the first arm. */
  async stored(id: EvaluationId): Promise<readonly number[]> {
    return (await this.store.episodes.page(id, 0, 0, 10_000)).map(({ index }) => index);
  }
}

/** @param checkpoint names it, and what the scripted player says that it played. */
export function submission(episodes: number, changes: Partial<Submission> = {}, checkpoint = 'late'): Submission {
  return {
    suite: `${episodes} episodes`,
    question: { kind: 'evaluation', checkpoint: { uri: checkpoint } },
    priority: 0,
    labels: {},
    cache: true,
    ...changes,
  };
}

/** Submits it for a principal. */
export async function submitted(service: EvaluationService, asked: Submission, principal = 'pipeline'): Promise<EvaluationId> {
  const acceptance = await service.submit(asked, principal, new AbortController().signal);
  if (acceptance.kind !== 'accepted') throw new Error(`it was ${acceptance.kind}`);
  return acceptance.evaluation.id;
}
