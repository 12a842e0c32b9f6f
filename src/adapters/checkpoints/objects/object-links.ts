import { raceWithAbort } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { withTimeout } from '../../../kernel/deadline.ts';
import { InfrastructureError, getMessage } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import type { BucketObject } from '../../../policy-distribution/checkpoint.ts';
import { parseObjectLocation, type ObjectStore } from './object-store.ts';

export interface ObjectLinksOptions {
  readonly gcs: ObjectStore;
  readonly s3: ObjectStore;
  /** Names of hosts that sandboxes reach; names below them count, too. */
  readonly hosts: readonly string[];
  /** How long a link is valid. */
  readonly seconds: number;
  readonly clock: Clock;
  readonly log: Log;
}

interface Made {
  /** It is undefined when no link can be signed. */
  readonly url: Promise<string | undefined>;
  /** The time, as of the clock's `now`, until which the link is reused. */
  readonly until: number;
}

/** The most time for one signature: without a key of its own, Muster has the store's service sign. */
const SIGNING_MS = 10_000;
/** Links that are kept in memory: the most recently used ones. */
const MOST_KEPT = 10_000;

/** Signed links with which sandboxes read from a bucket what Muster has read from it. */
export class ObjectLinks {
  readonly #options: ObjectLinksOptions;
  readonly #made = new Map<string, Made>();

  constructor(options: ObjectLinksOptions) {
    this.#options = options;
  }

  /**
   * Returns undefined when the object came from no bucket, when sandboxes do not reach the bucket, or when no credentials can sign; the log says so.
   */
  async to(object: BucketObject | undefined, signal: AbortSignal): Promise<string | undefined> {
    const { hosts, clock, seconds } = this.#options;
    if (object === undefined || hosts.length === 0) return undefined;
    const key = `${object.revision} ${object.uri}`;
    const known = this.#made.get(key);
    if (known && known.until > clock.now()) return await raceWithAbort(known.url, signal);
    // A reused link has at least half of its time left.
    const made = { url: this.#make(object), until: clock.now() + (seconds * 1000) / 2 };
    this.#made.delete(key);
    this.#made.set(key, made);
    const [oldest] = this.#made.keys();
    if (this.#made.size > MOST_KEPT && oldest !== undefined) this.#made.delete(oldest);
    return await raceWithAbort(made.url, signal);
  }

  /** Never rejects. */
  async #make({ uri, revision }: BucketObject): Promise<string | undefined> {
    const { gcs, s3, clock, seconds, hosts, log } = this.#options;
    const store = uri.startsWith('gs:') ? gcs : s3;
    const createTimeoutError = (): Error =>
      new InfrastructureError('delivery.sign', `${store.name} did not sign a link within ${SIGNING_MS / 1000} s`);
    try {
      const url = await withTimeout(clock, SIGNING_MS, store.link(parseObjectLocation(uri), revision, seconds), createTimeoutError);
      if (isAt(hosts, url)) return url;
      log.debug({ object: uri, host: new URL(url).hostname }, 'sandboxes fetch it from Muster: its host is not in delivery.bucketHosts');
    } catch (error) {
      log.warn({ object: uri, error: getMessage(error) }, 'sandboxes fetch it from Muster: no link to it can be signed');
    }
    return undefined;
  }
}

function isAt(hosts: readonly string[], url: string): boolean {
  const { hostname } = new URL(url);
  return hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`));
}
