import { FAILING_START } from '../../aggregation/folding/failing-start.ts';
import { parseEpisodeIndex, type Digest, type EpisodeIndex } from '../../kernel/ids.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import type { EpisodeRecord, EpisodeSink } from './episode-record.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';

/** The largest number of characters of logs and details that wait with their episodes for an earlier one; further ones are replaced by a note. */
const MAX_HELD_TEXT = 32 * 1024 * 1024;
const TEXT_DROPPED = '(dropped: too much text was waiting for an earlier episode)';

/** Records on their way to the sink, which gets them in index order: early ones wait here. */
export class HeldEpisodes {
  readonly #suite: SuiteDefinition;
  readonly #checkpoint: Digest;
  readonly #sink: EpisodeSink;
  /** Records of episodes that are not folded yet, or are surplus. */
  readonly #held = new Map<EpisodeIndex, EpisodeRecord>();
  #emitted = 0;
  /** Characters of logs and details in `#held`. */
  #text = 0;

  constructor(suite: SuiteDefinition, checkpoint: Digest, sink: EpisodeSink) {
    this.#suite = suite;
    this.#checkpoint = checkpoint;
    this.#sink = sink;
  }

  add(episode: PlayedEpisode, planned: PlannedEpisode, outcome: Outcome): void {
    const text = formatQuantity(outcome, episode.log);
    // The errors of the first episodes decide whether the evaluation continues, so a resumed evaluation has to find the same ones.
    const keepsText = episode.index < FAILING_START || this.#text + text <= MAX_HELD_TEXT;
    const log = keepsText ? episode.log : episode.log && TEXT_DROPPED;
    if (keepsText) this.#text += text;
    this.#held.set(episode.index, {
      index: episode.index,
      task: this.#suite.tasks[planned.task]?.name ?? '',
      environmentSeed: planned.environmentSeed,
      policySeed: planned.policySeed,
      checkpoint: this.#checkpoint,
      outcome: keepsText || outcome.kind === 'completed' ? outcome : { ...outcome, detail: '' },
      part: 'official',
      seconds: episode.seconds,
      ...(log === undefined ? {} : { log }),
      ...(episode.usage && { usage: episode.usage }),
    });
  }

  /** Writes the official records before index `folded`. @returns a promise when the sink asks to wait. */
  emit(folded: number): Promise<void> | undefined {
    let wait: Promise<void> | undefined;
    for (; this.#emitted < folded; this.#emitted += 1) {
      const index = parseEpisodeIndex(this.#emitted);
      const record = this.#held.get(index);
      this.#held.delete(index);
      if (record) this.#text -= formatQuantity(record.outcome, record.log === TEXT_DROPPED ? '' : record.log);
      if (record) wait = this.#sink.write(record) ?? wait;
    }
    return wait;
  }

  /** Writes the remaining records as surplus. */
  async finish(): Promise<void> {
    const surplus = [...this.#held.values()].sort((a, b) => a.index - b.index);
    this.#held.clear();
    for (const record of surplus) await this.#sink.write({ ...record, part: 'surplus' });
  }
}

function formatQuantity(outcome: Outcome, log: string | undefined): number {
  return (log?.length ?? 0) + (outcome.kind === 'completed' ? 0 : outcome.detail.length);
}
