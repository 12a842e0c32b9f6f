import { directLooks, type DirectoryEntry, type FileLooks, type FileStats } from '../../policy-distribution/files/file-looks.ts';

/** One way of looking at paths. What was begun early is taken once: whoever looks again sees what is there by then. */
class Look<Found> {
  readonly #look: (path: string) => Promise<Found>;
  readonly #lookEarly: (path: string) => Promise<Found>;
  readonly #early = new Map<string, Promise<Found>>();
  readonly #paths = new Set<string>();

  constructor(look: (path: string) => Promise<Found>, lookEarly: (path: string) => Promise<Found>) {
    this.#look = look;
    this.#lookEarly = lookEarly;
  }

  /** What was looked at so far. */
  get paths(): readonly string[] {
    return [...this.#paths];
  }

  begin(paths: readonly string[]): void {
    for (const path of paths) {
      const found = this.#lookEarly(path);
      // Whoever takes it is told.
      found.catch(() => undefined);
      this.#early.set(path, found);
    }
  }

  at(path: string): Promise<Found> {
    this.#paths.add(path);
    const early = this.#early.get(path);
    this.#early.delete(path);
    return early ?? this.#look(path);
  }
}

/** How one listing looks at the disk. @throws the system errors. */
export class Looks {
  readonly real: Look<string>;
  readonly stats: Look<FileStats>;
  /** Of a link, its own. */
  readonly ownStats: Look<FileStats>;
  readonly entries: Look<readonly DirectoryEntry[]>;

  /** @param early what is begun early, which are few paths; all others are looked at directly, as far as they lead. */
  constructor(early: FileLooks) {
    const now = directLooks;
    this.real = new Look(
      (path) => now.real(path),
      (path) => early.real(path),
    );
    this.stats = new Look(
      (path) => now.stats(path),
      (path) => early.stats(path),
    );
    this.ownStats = new Look(
      (path) => now.ownStats(path),
      (path) => early.ownStats(path),
    );
    this.entries = new Look(
      (path) => now.entries(path),
      (path) => early.entries(path),
    );
  }
}

interface Remembered {
  readonly real: readonly string[];
  readonly stats: readonly string[];
  readonly ownStats: readonly string[];
  readonly entries: readonly string[];
}

/** Some hundred bytes for each path that is looked at. */
const MOST_LISTINGS = 200;
/** Larger listings take their time whatever is begun early. */
const MOST_PATHS = 100;

/**
 * What listings looked at the last time. The next one of the same address begins with all of it at once, in place of one after the other: it
 * decides by what it then finds, and what it does not come to look at counts for nothing.
 */
export class RememberedLooks {
  readonly #early: FileLooks;
  readonly #listings = new Map<string, Remembered>();

  constructor(early: FileLooks) {
    this.#early = early;
  }

  begin(address: string): Looks {
    const looks = new Looks(this.#early);
    const last = this.#listings.get(address);
    looks.real.begin(last?.real ?? []);
    looks.stats.begin(last?.stats ?? []);
    looks.entries.begin(last?.entries ?? []);
    looks.ownStats.begin(last?.ownStats ?? []);
    return looks;
  }

  remember(address: string, looks: Looks): void {
    const { real, stats, ownStats, entries } = looks;
    const listing = { real: real.paths, stats: stats.paths, ownStats: ownStats.paths, entries: entries.paths };
    // The one that was made longest ago goes.
    this.#listings.delete(address);
    if (Object.values(listing).flat().length > MOST_PATHS) return;
    this.#listings.set(address, listing);
    const [oldest] = this.#listings.keys();
    if (this.#listings.size > MOST_LISTINGS && oldest !== undefined) this.#listings.delete(oldest);
  }
}
