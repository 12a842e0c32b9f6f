/** The limits of a stream of groups. */
export interface StreamTerms {
  /** Trajectories of a group. */
  readonly groupSize: number;
  /** Trajectories whose agents act at a time. Those that are graded do not count. */
  readonly concurrency: number;
  /** Groups that the trainer uses for one step, which makes the next version. */
  readonly batch: number;
  /** How many versions the policy may be ahead of the oldest one in a group when the trainer gets the group. */
  readonly maxStaleness: number;
  /** Groups that may wait for a trainer that does not fetch: beyond them none is begun. Those that run are not stopped. */
  readonly mostWaiting: number;
  /** Groups to deliver in all; undefined for no end. */
  readonly total: number | undefined;
}

export interface StreamCounts {
  /** Groups that run. */
  readonly running: number;
  /** Trajectories of these whose agents have not ended. Some of them may wait until they may begin. */
  readonly trajectories: number;
  /** Groups that were finished and kept, delivered or not; without filtered and cancelled ones. */
  readonly accepted: number;
  /** Accepted groups that no trainer has acknowledged. */
  readonly waiting: number;
  /** How often a new version was reported since the stream began. */
  readonly version: number;
}

/**
 * Computes how many groups to begin now. The bound on staleness is that of AReaL (Fu et al. 2025): a group that begins at version v is one of the
 * first (maxStaleness + v + 1) · batch, so the trainer gets it at version v + maxStaleness at the latest, when groups end in the order in which they
 * begin. Filtered groups do not count; otherwise the stream would run dry.
 */
export function planStarts({ running, trajectories, accepted, waiting, version }: StreamCounts, terms: StreamTerms): number {
  const { groupSize, concurrency, batch, maxStaleness, mostWaiting, total } = terms;
  const begun = accepted + running;
  // The last group may have more members than may act now: each begins as soon as another agent ends, so that none waits for a whole group.
  const free = Math.ceil((concurrency - trajectories) / groupSize);
  const fresh = (maxStaleness + version + 1) * batch - begun;
  const room = mostWaiting - (waiting + running);
  const wanted = total === undefined ? Number.POSITIVE_INFINITY : total - begun;
  return Math.max(0, Math.min(free, fresh, room, wanted));
}

/** Whether a group is too old for the trainer. @param oldest version that took part, and `version` now, both counted from the stream's beginning. */
export function isTooStale(oldest: number, version: number, { maxStaleness }: Pick<StreamTerms, 'maxStaleness'>): boolean {
  return version - oldest > maxStaleness;
}
