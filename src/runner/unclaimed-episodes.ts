import { createAbortError } from '../kernel/abort.ts';
import type { PlayedEpisode } from './played-episode.ts';

/** Episodes that have been played and not been collected yet, and the wait for them. */
export class UnclaimedEpisodes {
  #played: PlayedEpisode[] = [];
  #hasEnded = false;
  #news = Promise.withResolvers<void>();
  #heeded: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#news.resolve();

  get count(): number {
    return this.#played.length;
  }

  add(episode: PlayedEpisode): void {
    this.#played.push(episode);
    this.#news.resolve();
  }

  /** Ends every wait: no more episodes will come. */
  end(): void {
    this.#hasEnded = true;
    this.#heeded?.removeEventListener('abort', this.#onAbort);
    this.#news.resolve();
  }

  /** Resolves once there are some or none will come. @throws the signal's reason when it is aborted before. */
  async awaitArrival(signal: AbortSignal): Promise<void> {
    while (this.#played.length === 0 && !this.#hasEnded) {
      if (signal.aborted) throw createAbortError(signal);
      this.#heed(signal);
      await this.#news.promise;
      this.#news = Promise.withResolvers();
    }
  }

  takeAll(): readonly PlayedEpisode[] {
    const played = this.#played;
    this.#played = [];
    return played;
  }

  /**
   * Makes the signal end a wait. The listener stays until another signal is used, or the end: hundreds of sessions share one signal, and
   * adding or removing a listener takes time in proportion to its listeners.
   */
  #heed(signal: AbortSignal): void {
    if (signal === this.#heeded) return;
    this.#heeded?.removeEventListener('abort', this.#onAbort);
    signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#heeded = signal;
  }
}
