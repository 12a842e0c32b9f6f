/** How large a pool is. */
export interface PoolSize {
  /** Sandboxes that are kept even when no evaluation needs them. */
  readonly min: number;
  /** The largest number of sandboxes at a time, including those being created or destroyed. */
  readonly max: number;
  /** Idle sandboxes that are kept ready beyond those in use, as far as `max` allows. */
  readonly warm: number;
}

/** How large a pool is and how long things in it may take. The configuration's schema has the same names and checks the values. */
export interface PoolConfig extends PoolSize {
  /** The largest number of sandboxes between their creation and being ready. */
  readonly creationConcurrency: number;
  /** Creations a second on average; at most one second's worth, and no more than `creationConcurrency`, starts at once. */
  readonly creationsPerSecond: number;
  /** The time from the call that creates a sandbox until its occupant is ready. */
  readonly readySeconds: number;
  /** Rounds of creation that fail in a row before waiters are refused. Creations that are under way together are one round. */
  readonly maxCreationFailures: number;
  /** How long a sandbox that is not needed stays idle before it is destroyed. */
  readonly idleSeconds: number;
  /** How long a sandbox stays idle before it is paused, where the provider can do that. Sandboxes are never paused when this is left out. */
  readonly restSeconds?: number | undefined;
  /** How often an idle sandbox is pinged, and how long it has to answer. */
  readonly heartbeatSeconds: number;
  /** How long a lease lasts unless its holder renews it. */
  readonly leaseSeconds: number;
  /** Episodes after which a sandbox is replaced. */
  readonly episodesPerSandbox: number;
  /** Whether a sandbox serves one holder only, so that none in use will be given back for another. Not so when left out. */
  readonly oneHolder?: boolean | undefined;
}
