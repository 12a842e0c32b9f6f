import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import type { Fetching, FetchWay, LinkedFile } from '../../kernel/fetching.ts';
import { silentLog, type Log } from '../../kernel/log.ts';
import { getDigestHex } from '../checkpoint.ts';
import type { StoredCheckpoint } from '../stored-checkpoint.ts';
import type { ContentOrigin } from './content-origin.ts';
import { listDeliveryWays, UPLOADED_BYTES, WAY_NAMES, type Delivery, type DeliveryWay, type WayName } from './delivery-ways.ts';

/** The parts of a sandbox that receive files; see `Sandbox`. */
export interface Inbox {
  upload(path: string, content: { readonly kind: 'file'; readonly hostPath: string }, signal: AbortSignal): Promise<string>;
  readonly capabilities?: { remove?(path: string): Promise<void>; readonly fetching?: Fetching | undefined };
}

export interface DistributorOptions {
  /** The template's setting. */
  readonly delivery?: Delivery;
  /** When it is undefined, sandboxes cannot fetch files. */
  readonly origin?: ContentOrigin | undefined;
  readonly log?: Log;
  /**
   * Whether not every sandbox may read the files. All sandboxes of a node can read its whole cache, so caches are then used only where the template
   * names them.
   */
  readonly isConfidential?: boolean;
}

type Delivered = WeakMap<Inbox, Map<string, string>>;

/** Delivers stored files to sandboxes, to each at most once. */
export class Distributor {
  readonly #options: DistributorOptions;
  readonly #delivered: Delivered;
  readonly #deliveries = new Map<WayName, number>();
  #hasWarned = false;

  constructor(options: DistributorOptions = {}, delivered: Delivered = new WeakMap()) {
    this.#options = options;
    this.#delivered = delivered;
  }

  /** Creates a distributor for one run, with its own counts. It does not deliver again what this one has delivered. */
  createForRun(options: DistributorOptions): Distributor {
    return new Distributor(options, this.#delivered);
  }

  /** Counts how often checkpoints and suites were delivered in each way. */
  get deliveries(): Readonly<Partial<Record<WayName, number>>> {
    return Object.fromEntries(this.#deliveries);
  }

  /** @returns the absolute path inside the sandbox: of the file or of the directory. @throws InfrastructureError when every way fails. */
  async deliver(stored: StoredCheckpoint, inbox: Inbox, signal: AbortSignal): Promise<string> {
    const before = this.#delivered.get(inbox) ?? new Map<string, string>();
    this.#delivered.set(inbox, before);
    const known = before.get(stored.digest);
    if (known !== undefined) return known;
    const { path, way } = await this.#bring(stored, inbox, signal);
    // A cache keeps a file only while it is asked for.
    if (way !== 'shared-cache') before.set(stored.digest, path);
    const name = WAY_NAMES[way];
    this.#deliveries.set(name, (this.#deliveries.get(name) ?? 0) + 1);
    return path;
  }

  /**
   * Removes a loaded file from the inbox, where the sandbox can do so: the store keeps every file that a sandbox has.
   *
   * @throws InfrastructureError when it cannot be removed.
   */
  async withdraw(stored: StoredCheckpoint, inbox: Inbox): Promise<void> {
    const { capabilities } = inbox;
    if (!capabilities?.remove || this.#delivered.get(inbox)?.delete(stored.digest) !== true) return;
    await capabilities.remove(getDigestHex(stored.digest));
  }

  async #bring(stored: StoredCheckpoint, inbox: Inbox, signal: AbortSignal): Promise<{ readonly path: string; readonly way: DeliveryWay }> {
    const { delivery = 'auto', origin, log = silentLog, isConfidential = false } = this.#options;
    const bytes = stored.files.reduce((sum, { size }) => sum + size, 0);
    const fetched = origin ? (inbox.capabilities?.fetching?.ways ?? []) : [];
    const offered = isConfidential ? fetched.filter((way) => way !== 'shared-cache') : fetched;
    if (delivery === 'auto' && bytes > UPLOADED_BYTES && inbox.capabilities?.fetching && offered.length === 0) this.#warn(stored, bytes);
    const ways = [...listDeliveryWays(delivery, bytes, offered)];
    for (let way = ways.shift(); ; way = ways.shift()) {
      if (way === undefined) throw new InfrastructureError('sandbox.delivery', `there is no way to bring ${stored.digest} into a sandbox`);
      try {
        return { way, path: await this.#deliverBy(way, stored, inbox, signal) };
      } catch (error) {
        const [next] = ways;
        if (signal.aborted || next === undefined || !isFetchFailure(error)) throw error;
        log.warn(
          { checkpoint: stored.digest, way: WAY_NAMES[way], next: WAY_NAMES[next], error: getMessage(error) },
          'a checkpoint is delivered in another way',
        );
      }
    }
  }

  /** Warns once a run. */
  #warn({ digest }: StoredCheckpoint, bytes: number): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const network = 'kubernetes.network: origin';
    const ways = this.#options.isConfidential === true ? network : `kubernetes.nodeCache or ${network}`;
    const remedy = `set delivery.url, and ${ways} (docs/delivery.md)`;
    const problem = 'a large checkpoint is sent to every sandbox by itself, through the API server unless pods dial back';
    this.#options.log?.warn({ checkpoint: digest, bytes }, `${problem}; ${remedy}`);
  }

  #deliverBy(way: DeliveryWay, stored: StoredCheckpoint, inbox: Inbox, signal: AbortSignal): Promise<string> {
    switch (way) {
      case 'upload':
        return upload(stored, inbox, signal);
      case 'pull':
      case 'shared-cache':
        return this.#fetch(way, stored, inbox, signal);
    }
  }

  async #fetch(way: FetchWay, stored: StoredCheckpoint, { capabilities }: Inbox, signal: AbortSignal): Promise<string> {
    const { origin } = this.#options;
    const fetching = capabilities?.fetching;
    if (!origin || !fetching)
      throw new InfrastructureError(FETCH, `${stored.digest} cannot be fetched (${WAY_NAMES[way]}): the sandbox has no program for it`);
    const files: LinkedFile[] = [];
    for (const { path, size, digest } of stored.files)
      files.push({ path, size, digest, ...(await origin.link({ path, size, digest }, stored.digest, signal)) });
    const directory = await fetching.fetch(way, { digest: stored.digest, files }, signal);
    return stored.kind === 'file' ? `${directory}/${stored.files[0]?.path ?? ''}` : directory;
  }
}

const FETCH = 'sandbox.fetch';

/** Whether another way may succeed. */
function isFetchFailure(error: unknown): boolean {
  return error instanceof InfrastructureError && error.code === FETCH;
}

async function upload(stored: StoredCheckpoint, inbox: Inbox, signal: AbortSignal): Promise<string> {
  const directory = getDigestHex(stored.digest);
  let root = '';
  for (const file of stored.files) {
    const path = await inbox.upload(`${directory}/${file.path}`, { kind: 'file', hostPath: file.hostPath }, signal);
    root = stored.kind === 'file' ? path : path.slice(0, -file.path.length - 1);
  }
  return root;
}
