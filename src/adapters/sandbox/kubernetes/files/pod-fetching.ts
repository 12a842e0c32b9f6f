import type { Fetching, FetchOrder, FetchWay } from '../../../../kernel/fetching.ts';
import type { PodFetching as PodFetchingSettings } from '../settings/pod-template.ts';
import { HeldFiles } from '../../remote/held-files.ts';
import { fetchError, pullOrder } from '../../remote/pull-order.ts';
import { INBOX } from '../../upload-path.ts';
import type { FollowedPod } from '../pods/pod-kind.ts';
import type { InboxExec } from './inbox-upload.ts';
import type { NodeCaches } from './node-caches.ts';
import { runPuller } from './puller.ts';

export interface PodFetchingParts {
  readonly settings: PodFetchingSettings;
  readonly pod: FollowedPod;
  readonly inbox: InboxExec;
  readonly caches: NodeCaches;
  /** Aborted when the sandbox is gone. */
  readonly over: AbortSignal;
}

/** Has files fetched for a pod: in the container that may write its inbox, or to its node. */
export class PodFetching implements Fetching {
  readonly #parts: PodFetchingParts;
  readonly #held = new HeldFiles();

  constructor(parts: PodFetchingParts) {
    this.#parts = parts;
    parts.over.addEventListener('abort', () => this.#leave(), { once: true });
  }

  get ways(): readonly FetchWay[] {
    return this.#parts.settings.ways;
  }

  async fetch(way: FetchWay, order: FetchOrder, signal: AbortSignal): Promise<string> {
    const { settings, over } = this.#parts;
    if (!settings.ways.includes(way)) throw fetchError(`its template does not have the way "${way}"`);
    const either = AbortSignal.any([signal, over]);
    switch (way) {
      case 'pull':
        return await this.#held.fetchOnce(order, () => this.#pull(order, either));
      case 'shared-cache':
        return await this.#fetchFromNode(order, either);
    }
  }

  async #pull({ digest, files }: FetchOrder, signal: AbortSignal): Promise<string> {
    const { settings, inbox } = this.#parts;
    const into = `${INBOX}/${digest.slice('sha256:'.length)}`;
    await runPuller(inbox, settings.command, pullOrder(into, files, this.#held.bases), signal);
    return into;
  }

  async #fetchFromNode(order: FetchOrder, signal: AbortSignal): Promise<string> {
    const { pod, caches, settings } = this.#parts;
    const node = getNode(pod);
    if (node === undefined) throw fetchError(`the node of the pod ${pod.name} is unknown`);
    return await caches.use(node, pod.name, order, settings, signal);
  }

  #leave(): void {
    const { pod, caches } = this.#parts;
    const node = getNode(pod);
    if (node !== undefined) caches.leave(node, pod.name);
  }
}

/** Returns undefined as long as it is on none. */
function getNode({ seen }: FollowedPod): string | undefined {
  return seen?.spec.nodeName;
}
