import type { Acceptance, EvaluationCatalogue, Idempotency } from '../evaluation-store/evaluation-catalogue.ts';
import { readEpisodesFrom, type EpisodeLog, type StoredEpisode } from '../evaluation-store/episode-log.ts';
import type { StoredEvent } from '../evaluation-store/event-log.ts';
import type { StoredEvaluation } from '../evaluation-store/evaluation-record.ts';
import { OwnershipLostError } from '../evaluation-store/ownership.ts';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import type { EvaluationId } from '../kernel/ids.ts';
import type { RunLook } from '../orchestrator/facts/progress.ts';
import type { ReplayDocument } from '../orchestrator/replay/replay-document.ts';
import type { CheckpointUse } from './checkpoints/checkpoint-use.ts';
import { createConclusion } from './orders/concluded.ts';
import { replayStored, type EpisodeAddress } from './playing/replay-stored.ts';
import { Scheduler, type SchedulerConfig, type SchedulerOptions } from './playing/scheduler.ts';
import { orderSchema } from './orders/evaluation-order.ts';
import { Following } from './playing/following.ts';
import { LiveFeed, type LiveChanges } from './watching/live-feed.ts';
import { KnownAnswers } from './acceptance/known-answers.ts';
import type { Library } from './orders/library.ts';
import { News } from './playing/news.ts';
import type { Chore } from '../kernel/chore.ts';
import { createRetention, type RetentionConfig } from './upkeep/retention.ts';
import type { QuotaGate } from './acceptance/quota-gate.ts';
import { acceptRepeated } from './acceptance/repetition.ts';
import { runSideBySide } from './acceptance/side-by-side.ts';
import { cancelStaleVersions } from './acceptance/stale-versions.ts';
import { listContentNamedByUri, createOrder, type Submission } from './acceptance/submission.ts';

export interface ServiceConfig extends SchedulerConfig, RetentionConfig {
  /** `cancel-waiting`: a newer version of a run cancels waiting evaluations of older ones. */
  readonly staleness: 'keep' | 'cancel-waiting';
  /** Without it, a request with a webhook is refused. */
  readonly deliversWebhooks: boolean;
}

export interface ServiceOptions extends Omit<SchedulerOptions, 'news' | 'config'> {
  readonly library: Library;
  readonly gate: QuotaGate;
  readonly use: Pick<CheckpointUse, 'bring'>;
  /** @throws InputError when none is sent there. */
  readonly assertWebhookUrl: (url: string) => void;
  readonly config: ServiceConfig;
  /** Returns a new id each time; later ones sort after earlier ones. */
  readonly newId: () => EvaluationId;
}

/**
 * `evaluate()` for many callers: an accepted evaluation is played, by this process or another one, even if this one ends.
 *
 * It is the only entrance: each request about evaluations is a method. Their implementation is in the files that it imports.
 */
export class EvaluationService {
  readonly #options: ServiceOptions;
  readonly #news = new News();
  readonly #scheduler: Scheduler;
  readonly #retention: Chore;
  readonly #answers: KnownAnswers;
  readonly #following: Following;
  readonly #live: LiveFeed;
  readonly #closing = new AbortController();
  #isDraining = false;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#scheduler = new Scheduler({ ...options, news: this.#news });
    this.#retention = createRetention(options);
    this.#answers = new KnownAnswers(options.store.answers);
    this.#live = new LiveFeed({ evaluations: options.store.evaluations, news: this.#news, clock: options.clock, log: options.log });
    this.#following = new Following(options, this.#news);
  }

  /** Evaluations that this process plays now. */
  get playing(): Scheduler['playing'] {
    return this.#scheduler.playing;
  }

  /** Returns how an evaluation is played by this process, or was until a while ago. */
  lookAt(id: EvaluationId): RunLook | undefined {
    return this.#scheduler.lookAt(id);
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Aborted when the service ends: waits for news then end, too. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Goes on with what was left, and begins with what waits. */
  open(): void {
    this.#scheduler.open();
    this.#retention.open();
  }

  /**
   * Durable once it resolves.
   *
   * @throws QuotaError when the principal has as much as it may; InputError when something of it is wrong; InfrastructureError `service.draining` when this process is about to end.
   */
  async submit(submission: Submission, principal: string, signal: AbortSignal, idempotency?: Idempotency): Promise<Acceptance> {
    const { library, newId, store, gate, use, turns } = this.#options;
    if (this.#isDraining)
      throw new InfrastructureError(
        'service.draining',
        'the server is shutting down and accepts no requests; try again, another server or the next start answers',
      );
    const earlier = idempotency && (await store.evaluations.findEarlier(principal, idempotency));
    if (earlier) return earlier;
    if (submission.webhook) this.#assertWebhook(submission.webhook.url);
    using room = new DisposableStack();
    const [, evaluation] = await runSideBySide(
      async () => room.use(await gate.admitSubmission(principal)),
      (either) => createOrder(submission, principal, newId(), library, either),
      signal,
    );
    await use.bring(principal, listContentNamedByUri(submission.question, evaluation.request));
    const repeated = await acceptRepeated({ ...this.#options, answers: this.#answers }, evaluation, idempotency);
    if (!repeated) await turns.next();
    const acceptance = repeated ?? (await store.evaluations.accept(evaluation, idempotency));
    if (acceptance.kind === 'accepted') {
      this.#news.announce(acceptance.evaluation.id, 'progress');
      if (this.#options.config.staleness === 'cancel-waiting')
        await cancelStaleVersions(acceptance.evaluation, store.evaluations, (stale) => this.cancel(stale), this.#options.log);
      this.#goOnWith(acceptance.evaluation);
    }
    return acceptance;
  }

  find(id: EvaluationId): Promise<StoredEvaluation | undefined> {
    return this.#options.store.evaluations.find(id);
  }

  list(...request: Parameters<EvaluationCatalogue['list']>): ReturnType<EvaluationCatalogue['list']> {
    return this.#options.store.evaluations.list(...request);
  }

  /** Cancels an evaluation. A waiting one is over at once; of a running one, the folded part is kept. Returns undefined when there is none. */
  async cancel(id: EvaluationId): Promise<StoredEvaluation | undefined> {
    const { store } = this.#options;
    const asked = await store.evaluations.requestCancel(id);
    this.#scheduler.cancel(id);
    if (asked?.state !== 'waiting') return asked;
    await this.#endWaiting(asked);
    return store.evaluations.find(id);
  }

  /** See `Following.follow`. */
  follow(id: EvaluationId, after: number, signal: AbortSignal): AsyncIterable<StoredEvent> {
    return this.#following.follow(id, after, AbortSignal.any([signal, this.#closing.signal]));
  }

  /** Changes of all evaluations, for pages that show many, some times a second. Ends when the signal is aborted or the service ends. */
  followAll(signal: AbortSignal): AsyncIterable<LiveChanges> {
    return this.#live.read(AbortSignal.any([signal, this.#closing.signal]));
  }

  /** Whether no event after this one is known. */
  async hasNoMore(id: EvaluationId, after: number): Promise<boolean> {
    return (await this.#options.store.events.readAfter(id, after, 1)).length === 0;
  }

  /** See `Following.waitUntilOver`. */
  waitUntilOver(
    id: EvaluationId,
    milliseconds: number,
    signal: AbortSignal,
    known?: StoredEvaluation,
  ): Promise<StoredEvaluation | undefined> {
    return this.#following.waitUntilOver(id, milliseconds, AbortSignal.any([signal, this.#closing.signal]), known);
  }

  /** Yields the episodes of one arm, in index order. */
  episodes(id: EvaluationId, arm: number, from: number): AsyncIterable<StoredEpisode> {
    return readEpisodesFrom(this.#options.store.episodes, id, arm, from);
  }

  /** Returns the episodes of one arm, in another order than by index. */
  rankEpisodes(...request: Parameters<EpisodeLog['rank']>): ReturnType<EpisodeLog['rank']> {
    return this.#options.store.episodes.rank(...request);
  }

  /** Reads what an agent did in one episode, as JSON text. @returns undefined when there is no transcript, as for policies. */
  readTranscript(...request: Parameters<EpisodeLog['readTranscript']>): ReturnType<EpisodeLog['readTranscript']> {
    return this.#options.store.episodes.readTranscript(...request);
  }

  /** Plays one of its episodes again, and records it. @throws as `replayStored` does. */
  replay(evaluation: StoredEvaluation, episode: EpisodeAddress, signal: AbortSignal): Promise<ReplayDocument> {
    return replayStored(evaluation, episode, this.#options, AbortSignal.any([signal, this.#closing.signal]));
  }

  /** Begins nothing more, and waits for what is played; what is not over in time is given back. */
  async drain(milliseconds: number): Promise<void> {
    this.#isDraining = true;
    await this.#scheduler.drain(milliseconds);
    this.#closing.abort(new DOMException('Muster is ending', 'AbortError'));
    await this.#retention.close();
  }

  #assertWebhook(url: string): void {
    const { config, assertWebhookUrl } = this.#options;
    if (!config.deliversWebhooks)
      throw new InputError(
        'webhook.disabled',
        'webhook: the server cannot sign webhooks, because server.webhookSecret is not set; set it, or follow the events',
      );
    assertWebhookUrl(url);
  }

  #goOnWith({ state }: StoredEvaluation): void {
    if (state === 'finished') this.#options.onConcluded?.(state);
    else this.#scheduler.look();
  }

  /** Does nothing when a process plays it by now: that process has been notified. */
  async #endWaiting({ id, request }: StoredEvaluation): Promise<void> {
    const { store, owner, config, onConcluded } = this.#options;
    const ownership = await store.ownerships.claim(id, owner, config.ownershipMilliseconds);
    if (!ownership) return;
    try {
      await store.course.conclude(ownership, createConclusion(id, orderSchema.safeParse(request).data, { state: 'cancelled' }));
      onConcluded?.('cancelled');
    } catch (error) {
      if (!(error instanceof OwnershipLostError)) throw error;
    }
    this.#news.announce(id, 'end');
  }
}
