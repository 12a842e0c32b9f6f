import { InfrastructureError } from '../../kernel/errors.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import { addPinned, parsePinnedUri } from '../../policy-distribution/store/pinned-uri.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import type { OrderedContent } from '../../service/orders/evaluation-order.ts';
import type { Runtime } from '../runtime.ts';

/** The checkpoints and suites that orders name, as files on this machine. Part of the composition root. */
export class OrderedContents {
  readonly #runtime: Runtime;
  readonly #source: CheckpointSource;

  /** @param source of what callers may name by URI. */
  constructor(runtime: Runtime, source: CheckpointSource) {
    this.#runtime = runtime;
    this.#source = source;
  }

  openCheckpoint(content: OrderedContent, signal: AbortSignal): Promise<StoredCheckpoint> {
    const { uri, labels } = content;
    return this.#restore(content, () =>
      addPinned(this.#runtime.checkpoints, this.#source, parsePinnedUri(uri), this.#runtime.joinSignals(signal), labels),
    );
  }

  openSuiteFiles(content: OrderedContent, signal: AbortSignal): Promise<StoredCheckpoint> {
    return this.#restore(content, () => this.#runtime.addModules(content.uri, signal));
  }

  /** Another machine may have accepted the order: its content is read again from its source, and must be the same. */
  async #restore({ digest, kind, files, labels }: OrderedContent, read: () => Promise<StoredCheckpoint>): Promise<StoredCheckpoint> {
    try {
      return await this.#runtime.checkpoints.restore({ digest, kind, files, labels });
    } catch (error) {
      if (!(error instanceof InfrastructureError) || error.code !== 'store.content-missing') throw error;
      const again = await read().catch(() => undefined);
      if (again?.digest !== digest) throw error;
      return again;
    }
  }
}
