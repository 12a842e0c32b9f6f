import { formatExactBytes } from '../../kernel/text/figures.ts';
/** A principal's quota; undefined where there is no limit. */
export interface Quota {
  /** Episodes that are played at the same time. */
  readonly concurrentEpisodes: number | undefined;
  /** Evaluations that are accepted and have not begun. */
  readonly waitingEvaluations: number | undefined;
  /** Bytes of uploaded checkpoints that are stored. */
  readonly checkpointBytes: number | undefined;
  /** Episodes that are played from midnight to midnight UTC. */
  readonly episodesPerDay: number | undefined;
  /** Open episodes of agents. */
  readonly openEpisodes: number | undefined;
}

/** What a principal uses, as far as the request depends on it. */
export type QuotaRequest =
  | {
      readonly kind: 'submit';
      readonly evaluations: number;
      /** Evaluations of the principal that wait already. */
      readonly waiting: number;
      /** Episodes that were played for the principal since midnight UTC. */
      readonly episodesToday: number;
    }
  | {
      readonly kind: 'upload';
      /** Bytes of the checkpoint. */
      readonly bytes: number;
      /** Charged to the principal already, or in unfinished uploads. */
      readonly kept: number;
    };

export type Decision =
  | { readonly kind: 'allow' }
  | {
      readonly kind: 'refuse';
      readonly code: 'quota.waiting-evaluations' | 'quota.episodes-per-day' | 'quota.checkpoint-bytes' | 'quota.open-episodes';
      /** What was wrong, what is allowed, and what to do. */
      readonly reason: string;
      /** Seconds after which the request may succeed; undefined where waiting does not help. */
      readonly retryAfterSeconds: number | undefined;
    };

const ALLOW: Decision = { kind: 'allow' };
const DAY_MS = 86_400_000;

/** The time at which the next evaluation begins cannot be known. */
const WAITING_RETRY_SECONDS = 30;

/** Whether the quota allows a request. Requesting nothing is always allowed. @param now decides when the day ends. */
export function decide(quota: Quota, request: QuotaRequest, now: Date): Decision {
  switch (request.kind) {
    case 'submit':
      return decideSubmission(quota, request, now);
    case 'upload':
      return decideUpload(quota, request);
  }
}

function decideSubmission(quota: Quota, request: Extract<QuotaRequest, { kind: 'submit' }>, now: Date): Decision {
  const { evaluations, waiting, episodesToday } = request;
  const { waitingEvaluations: most = Infinity, episodesPerDay = Infinity } = quota;
  if (evaluations === 0) return ALLOW;
  if (episodesToday >= episodesPerDay) {
    return {
      kind: 'refuse',
      code: 'quota.episodes-per-day',
      reason: `${episodesToday} episodes were played today, and quotas.episodesPerDay is ${episodesPerDay}; it is reset at midnight UTC`,
      retryAfterSeconds: countSecondsLeftInDay(now),
    };
  }
  if (waiting + evaluations <= most) return ALLOW;
  const reason = `${waiting} evaluations wait, ${evaluations} more are asked for, and quotas.waitingEvaluations is ${most}`;
  return evaluations > most
    ? { kind: 'refuse', code: 'quota.waiting-evaluations', reason: `${reason}; ask for fewer at a time`, retryAfterSeconds: undefined }
    : {
        kind: 'refuse',
        code: 'quota.waiting-evaluations',
        reason: `${reason}; wait for some to begin, or cancel them`,
        retryAfterSeconds: WAITING_RETRY_SECONDS,
      };
}

function decideUpload({ checkpointBytes: most = Infinity }: Quota, { bytes, kept }: Extract<QuotaRequest, { kind: 'upload' }>): Decision {
  if (bytes === 0 || kept + bytes <= most) return ALLOW;
  return {
    kind: 'refuse',
    code: 'quota.checkpoint-bytes',
    reason: `${formatExactBytes(kept)} are kept, ${formatExactBytes(bytes)} more would come, and quotas.checkpointBytes is ${formatExactBytes(most)}; an operator can raise the quota, or set checkpoints.keptBytes, beyond which the server removes checkpoints that are not used`,
    retryAfterSeconds: undefined,
  };
}

/** Counts how many of `wanted` more episodes a principal may play at the same time, with `playing` under way. */
export function countAllowedEpisodes(
  { concurrentEpisodes = Infinity }: Pick<Quota, 'concurrentEpisodes'>,
  playing: number,
  wanted: number,
): number {
  return Math.max(0, Math.min(wanted, concurrentEpisodes - playing));
}

/** Finds midnight UTC before a time: episodes of the day are counted from it. */
export function findStartOfDay(now: Date): Date {
  const day = structuredClone(now);
  day.setUTCHours(0, 0, 0, 0);
  return day;
}

function countSecondsLeftInDay(now: Date): number {
  return Math.ceil((findStartOfDay(now).getTime() + DAY_MS - now.getTime()) / 1000);
}

/** A quota in the configuration's form. */
export type WrittenQuota = { readonly [Setting in keyof Quota]: number | 'unlimited' };

/** Finds the quota of a principal: its own, or the default. */
export function findQuota(quotas: Readonly<Record<string, WrittenQuota>>, principal: string): Quota {
  const written = Object.hasOwn(quotas, principal) ? quotas[principal] : quotas['default'];
  return {
    concurrentEpisodes: toBound(written?.concurrentEpisodes),
    waitingEvaluations: toBound(written?.waitingEvaluations),
    checkpointBytes: toBound(written?.checkpointBytes),
    episodesPerDay: toBound(written?.episodesPerDay),
    openEpisodes: toBound(written?.openEpisodes),
  };
}

/** Returns undefined for no limit. */
export function toBound(written: number | 'unlimited' | undefined): number | undefined {
  return written === 'unlimited' ? undefined : written;
}
