import type { Tokens } from '../../evaluation-store/tokens.ts';
import type { UsageLedger } from '../../evaluation-store/usage-ledger.ts';
import type { Clock } from '../../kernel/clock.ts';
import { findStartOfDay, type Quota } from './quota.ts';

/** How much of one quota is used; `most` is undefined where there is no limit. */
export interface QuotaUse {
  readonly used: number;
  readonly most: number | undefined;
}

export interface PrincipalUse {
  readonly principal: string;
  readonly uses: Readonly<Record<keyof Quota, QuotaUse>>;
}

export interface QuotaUsesOptions {
  readonly usage: Pick<UsageLedger, 'countWaiting' | 'countEpisodesSince' | 'sumCheckpointBytes'>;
  readonly tokens: Pick<Tokens, 'list'>;
  readonly quotaOf: (principal: string) => Quota;
  /** Lists the principals with a quota of their own. */
  readonly named: () => readonly string[];
  /** Counts the episodes of a principal that are played at the moment, in this process. */
  readonly countPlayed: (principal: string) => number;
  /** Counts the agents' episodes of a principal that take steps. */
  readonly countOpen: (principal: string) => Promise<number>;
  readonly clock: Clock;
}

/** Latest tokens from which the names of principals are collected. */
const TOKENS = 200;

/** Lists the quotas of principals and their use: of the principals of the latest tokens, and those with a configured quota. */
export async function listQuotaUses(options: QuotaUsesOptions, caller: string): Promise<readonly PrincipalUse[]> {
  const { items } = await options.tokens.list({ limit: TOKENS, after: undefined });
  const names = new Set([caller, ...options.named().filter((name) => name !== 'default'), ...items.map(({ principal }) => principal)]);
  return await Promise.all([...names].sort().map((principal) => readUse(options, principal)));
}

async function readUse({ usage, quotaOf, countPlayed, countOpen, clock }: QuotaUsesOptions, principal: string): Promise<PrincipalUse> {
  const most = quotaOf(principal);
  const [waiting, today, bytes, open] = await Promise.all([
    usage.countWaiting(principal),
    usage.countEpisodesSince(principal, findStartOfDay(clock.date())),
    usage.sumCheckpointBytes(principal),
    countOpen(principal),
  ]);
  return {
    principal,
    uses: {
      concurrentEpisodes: { used: countPlayed(principal), most: most.concurrentEpisodes },
      waitingEvaluations: { used: waiting, most: most.waitingEvaluations },
      checkpointBytes: { used: bytes, most: most.checkpointBytes },
      episodesPerDay: { used: today, most: most.episodesPerDay },
      openEpisodes: { used: open, most: most.openEpisodes },
    },
  };
}
