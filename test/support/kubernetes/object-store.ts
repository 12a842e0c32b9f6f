import { randomUUID } from 'node:crypto';
import { expired, matchesLabels, notFound, objectSchema, qualified, Refusal, type KubeObject } from './api-objects.ts';

export interface StoreEvent {
  readonly version: number;
  readonly resource: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

export interface Listing {
  readonly items: readonly KubeObject[];
  readonly version: number;
  readonly next: string | undefined;
  /** How many come after these. */
  readonly remaining: number;
}

/** What can still be watched from; etcd compacts every five minutes. */
const HISTORY = 20_000;

/** Objects with the versions and the history of an API server: every change gets the next number, and watchers receive them in that order. */
export class ObjectStore {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #watchers = new Set<(event: StoreEvent) => void>();
  readonly #now: () => Date;
  #events: StoreEvent[] = [];
  #version = 1000;
  #oldest = 1000;

  constructor(now: () => Date) {
    this.#now = now;
  }

  get version(): number {
    return this.#version;
  }

  all(resource: string): readonly KubeObject[] {
    return [...(this.#objects.get(resource)?.values() ?? [])];
  }

  find(resource: string, name: string): KubeObject | undefined {
    return this.#objects.get(resource)?.get(name);
  }

  get(resource: string, name: string): KubeObject {
    const found = this.find(resource, name);
    if (!found) throw notFound(resource, name);
    return found;
  }

  list(resource: string, selector: string, limit: number, next: string | undefined): Listing {
    const [version, after] = next === undefined ? [this.#version, ''] : tokenOf(next);
    if (version < this.#oldest) throw new Refusal(410, 'Expired', 'The provided continue parameter is too old');
    const matching = this.all(resource)
      .filter(({ metadata }) => matchesLabels(selector, metadata.labels ?? {}) && metadata.name > after)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const items = limit > 0 ? matching.slice(0, limit) : matching;
    const last = items.at(-1)?.metadata.name ?? '';
    const remaining = matching.length - items.length;
    return { items, version, next: remaining > 0 ? `${version}/${last}` : undefined, remaining };
  }

  create(resource: string, written: KubeObject): KubeObject {
    const { name } = written.metadata;
    if (this.find(resource, name)) throw new Refusal(409, 'AlreadyExists', `${qualified(resource)} "${name}" already exists`);
    const stamp = this.#now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    const metadata = { ...written.metadata, uid: randomUUID(), creationTimestamp: stamp };
    return this.#put(resource, 'ADDED', { ...written, metadata });
  }

  /** @throws Refusal (409) when the writer had seen an older version. */
  update(resource: string, written: KubeObject): KubeObject {
    const before = this.get(resource, written.metadata.name);
    const seen = written.metadata.resourceVersion;
    if (seen !== undefined && seen !== before.metadata.resourceVersion) {
      throw new Refusal(
        409,
        'Conflict',
        `Operation cannot be fulfilled on ${qualified(resource)} "${written.metadata.name}": the object has been modified; please apply your changes to the latest version and try again`,
      );
    }
    return this.#put(resource, 'MODIFIED', written);
  }

  /** Nothing happens when it is gone. */
  change(resource: string, name: string, edit: (object: KubeObject) => object): void {
    const before = this.find(resource, name);
    if (before) this.#put(resource, 'MODIFIED', objectSchema.parse(edit(before)));
  }

  remove(resource: string, name: string): void {
    const before = this.find(resource, name);
    if (!before) return;
    this.#objects.get(resource)?.delete(name);
    this.#tell(resource, 'DELETED', before);
  }

  /** What has happened since a version, and from now on. @throws Refusal (410) when that is forgotten. */
  watch(resource: string, since: number, listener: (event: StoreEvent) => void): () => void {
    if (since < this.#oldest) throw expired();
    for (const event of this.#events) if (event.version > since && event.resource === resource) listener(event);
    const watcher = (event: StoreEvent): void => {
      if (event.resource === resource) listener(event);
    };
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Forgets all history: a watch from an older version gets the error that it is gone. */
  compact(): void {
    this.#events = [];
    this.#version += 1;
    this.#oldest = this.#version;
  }

  #put(resource: string, type: StoreEvent['type'], object: KubeObject): KubeObject {
    const stamp = this.#now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    const managedFields = [{ manager: 'simulator', operation: 'Update', time: stamp }];
    return this.#tell(resource, type, { ...object, metadata: { ...object.metadata, managedFields } });
  }

  #tell(resource: string, type: StoreEvent['type'], object: KubeObject): KubeObject {
    this.#version += 1;
    const stamped = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    const kept = this.#objects.get(resource) ?? new Map<string, KubeObject>();
    this.#objects.set(resource, kept);
    if (type !== 'DELETED') kept.set(object.metadata.name, stamped);
    const event = { version: this.#version, resource, type, object: stamped };
    this.#events.push(event);
    if (this.#events.length > HISTORY) this.#oldest = this.#events.shift()?.version ?? this.#oldest;
    for (const watcher of this.#watchers) watcher(event);
    return stamped;
  }
}

function tokenOf(next: string): readonly [number, string] {
  const [version = '', ...rest] = next.split('/');
  if (!/^\d+$/.test(version)) throw new Refusal(400, 'BadRequest', 'invalid continue token: continue key is not valid');
  return [Number(version), rest.join('/')];
}
