import { describe, expect } from 'vitest';
import type { EvaluationStore } from '../../src/evaluation-store/evaluation-store.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { contractCase, type ExpectedFailures } from './expected-failure.ts';
import { cachedResults } from './stored/cached-results.ts';
import { catalogue } from './stored/catalogue.ts';
import { checkpointRights } from './stored/checkpoint-rights.ts';
import { course } from './stored/course.ts';
import { durability } from './stored/durability.ts';
import { episodes } from './stored/episodes.ts';
import { ownership } from './stored/ownership.ts';
import { repeatedAnswers } from './stored/repeated-answers.ts';
import { tokensAndUsage } from './stored/tokens-and-usage.ts';
import { webhooksAndAudit } from './stored/webhooks-and-audit.ts';

/** What a store's adapter brings to be judged: an empty place of its own. */
export interface EvaluationStoreSubject extends AsyncDisposable {
  readonly clock: ManualClock;
  /** Opens what is stored in the place. Closed with the subject, unless before. */
  readonly open: () => Promise<EvaluationStore>;
  /** For another process that opens it, by `openStore`; undefined when none can. */
  readonly place: string | undefined;
}

export type Case = (subject: EvaluationStoreSubject) => Promise<void>;

const groups: Readonly<Record<string, Readonly<Record<string, Case>>>> = {
  'what was asked for': catalogue,
  ownership,
  'the course of an evaluation': course,
  episodes,
  'results that others have': cachedResults,
  'answers that others have': repeatedAnswers,
  'webhooks and audit': webhooksAndAudit,
  'tokens and usage': tokensAndUsage,
  'who may use which checkpoint': checkpointRights,
  durability,
};

/**
 * Runs every case on a fresh subject.
 *
 * @param unfit cases that the store cannot meet.
 */
export function evaluationStoreContract(
  name: string,
  makeSubject: () => Promise<EvaluationStoreSubject>,
  unfit: ExpectedFailures = {},
): void {
  describe(`${name} keeps the contract of an evaluation store`, () => {
    for (const [group, cases] of Object.entries(groups)) {
      describe(`of ${group}`, () => {
        for (const [title, run] of Object.entries(cases)) {
          const test = async (): Promise<void> => {
            await using subject = await makeSubject();
            await run(subject);
            expect(subject.clock.pending, 'timers that were left').toBe(0);
          };
          contractCase(title, test, unfit[title]);
        }
      });
    }
  });
}
