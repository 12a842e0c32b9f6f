import type { AnswerCache } from './answer-cache.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { CheckpointRights } from './checkpoint-rights.ts';
import type { EpisodeLog } from './episode-log.ts';
import type { EvaluationCatalogue } from './evaluation-catalogue.ts';
import type { EvaluationCourse } from './evaluation-course.ts';
import type { EventLog } from './event-log.ts';
import type { Ownerships } from './ownership.ts';
import type { ResultCache } from './result-cache.ts';
import type { Tokens } from './tokens.ts';
import type { UsageLedger } from './usage-ledger.ts';
import type { WebhookOutbox } from './webhook-outbox.ts';

/**
 * All state that survives the end of the process. What a method has resolved is durable. Each method throws InfrastructureError when the
 * store fails or is too slow; whether the change was made is then unknown.
 */
export interface EvaluationStore extends AsyncDisposable {
  readonly evaluations: EvaluationCatalogue;
  readonly ownerships: Ownerships;
  readonly course: EvaluationCourse;
  readonly episodes: EpisodeLog;
  readonly cache: ResultCache;
  readonly answers: AnswerCache;
  readonly events: EventLog;
  readonly webhooks: WebhookOutbox;
  readonly audit: AuditTrail;
  readonly tokens: Tokens;
  readonly usage: UsageLedger;
  readonly rights: CheckpointRights;
}
