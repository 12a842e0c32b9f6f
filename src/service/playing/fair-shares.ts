/** An evaluation that wants sandboxes of one pool. */
export interface Competitor<Id> {
  readonly id: Id;
  readonly principal: string;
  /** Higher ones of the same principal come first. */
  readonly priority: number;
  /** Sandboxes that it could use now, those that it has included. */
  readonly wanted: number;
}

export interface SharesState<Id> {
  /** Sandboxes that there may be. */
  readonly slots: number;
  /** In the order they came. */
  readonly competitors: readonly Competitor<Id>[];
  /** What each principal has had of late, in any unit; 0 when left out. */
  readonly served: ReadonlyMap<string, number>;
  /** What each principal may have at most; any number when left out. */
  readonly most?: ReadonlyMap<string, number>;
}

/** One contender: how many it wants, and how much it had of late. */
interface Claimant {
  readonly wanted: number;
  readonly served: number;
}

/**
 * Who may have how many sandboxes. Pure.
 *
 * Principals come first: the pool is divided between them so that none gets more while another that wants some has less (max-min
 * fairness). So no number of evaluations and no priority of one principal takes from what is another's due. Within a principal's share a
 * higher priority gets all that it wants before a lower one gets anything, and equals share alike. What cannot be divided goes to the
 * principals that were served least, and within one principal to the first that came.
 */
export function plan<Id>({ slots, competitors, served, most }: SharesState<Id>): ReadonlyMap<Id, number> {
  const byPrincipal = Map.groupBy(competitors, ({ principal }) => principal);
  const principals = [...byPrincipal.values()];
  const shares = shareOut(
    slots,
    [...byPrincipal].map(([principal, own]) => ({
      wanted: Math.min(sumWanted(own), most?.get(principal) ?? Infinity),
      served: served.get(principal) ?? 0,
    })),
  );
  const limits = new Map<Id, number>();
  for (const [position, own] of principals.entries()) {
    for (const [id, limit] of divideAmongOwn(shares[position] ?? 0, own)) limits.set(id, limit);
  }
  return limits;
}

function sumWanted(own: readonly { readonly wanted: number }[]): number {
  return own.reduce((sum, { wanted }) => sum + wanted, 0);
}

function* divideAmongOwn<Id>(share: number, own: readonly Competitor<Id>[]): Generator<[Id, number]> {
  let left = share;
  const byPriority = Map.groupBy(own, ({ priority }) => priority);
  for (const priority of [...byPriority.keys()].sort((a, b) => b - a)) {
    const equals = byPriority.get(priority) ?? [];
    const shares = shareOut(
      left,
      equals.map(({ wanted }) => ({ wanted, served: 0 })),
    );
    for (const [position, { id }] of equals.entries()) {
      const limit = shares[position] ?? 0;
      left -= limit;
      yield [id, limit];
    }
  }
}

/** Max-min fair: those who want least get it, the others share alike in what is left, and what cannot be divided goes by need of service. */
function shareOut(slots: number, claimants: readonly Claimant[]): readonly number[] {
  const byWant = claimants.map(({ wanted }) => wanted).sort((a, b) => a - b);
  let left = slots;
  let level = 0;
  for (const [at, wanted] of byWant.entries()) {
    const fair = Math.floor(left / (byWant.length - at));
    level = Math.min(wanted, fair);
    if (wanted > fair) break;
    left -= wanted;
  }
  const shares = claimants.map(({ wanted }) => Math.min(wanted, level));
  const over = slots - shares.reduce((sum, share) => sum + share, 0);
  const short = claimants
    .map(({ wanted, served }, position) => ({ wanted, served, position }))
    .filter(({ wanted }) => wanted > level)
    .sort((a, b) => a.served - b.served);
  for (const { position } of short.slice(0, Math.max(0, over))) shares[position] = level + 1;
  return shares;
}
