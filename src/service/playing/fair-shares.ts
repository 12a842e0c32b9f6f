/** An evaluation that needs sandboxes of one pool. */
export interface Competitor<Id> {
  readonly id: Id;
  readonly principal: string;
  /** Higher ones of the same principal come first. */
  readonly priority: number;
  /** Sandboxes that it could use now, including those that it has. */
  readonly wanted: number;
}

export interface SharesState<Id> {
  /** Sandboxes that there may be. */
  readonly slots: number;
  /** Competitors in the order of their arrival. */
  readonly competitors: readonly Competitor<Id>[];
  /** What each principal has had recently, in any unit; 0 when left out. */
  readonly served: ReadonlyMap<string, number>;
  /** Each principal's limit; unlimited when left out. */
  readonly most?: ReadonlyMap<string, number>;
}

/** One claim: how many sandboxes it wants, and how much it had recently. */
interface Claimant {
  readonly wanted: number;
  readonly served: number;
}

/**
 * Divides the sandboxes. Pure.
 *
 * The pool is first divided between principals so that none gets more while another that wants some has less (max-min fairness). So a principal's
 * share does not depend on how many evaluations or which priorities others have. Within a principal's share a higher priority gets all that it wants
 * before a lower one gets anything, and equal priorities share equally. A remainder goes to the principals that were served least, and within one
 * principal to the earliest evaluation.
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

/**
 * Divides max-min fair: those who want least get all of it, the others share the rest equally, and a remainder goes to those that were served least.
 */
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
