import type { z } from 'zod';
import type { Submission, Terms } from '../../../service/acceptance/submission.ts';
import type { newComparisonSchema, newEvaluationSchema } from '../schemas/evaluation-schemas.ts';

type NewEvaluation = z.infer<typeof newEvaluationSchema>;
type NewComparison = z.infer<typeof newComparisonSchema>;

/** What the bodies of requests ask for. */
export function evaluationSubmission({ checkpoint, baseline, stop, ...asked }: NewEvaluation): Submission {
  const question: Submission['question'] =
    baseline === undefined ? { kind: 'evaluation', checkpoint } : { kind: 'comparison', baseline, candidates: [checkpoint], terms: {} };
  return { ...common(asked), question, stop };
}

export function comparisonSubmission({ baseline, candidates, confidence, margin, budgetEpisodes, ...asked }: NewComparison): Submission {
  const terms: Terms = {
    ...(confidence === undefined ? {} : { confidence }),
    ...(margin === undefined ? {} : { margin }),
    ...(budgetEpisodes === undefined ? {} : { budgetEpisodes }),
  };
  return { ...common(asked), question: { kind: 'comparison', baseline, candidates, terms } };
}

function common({
  suite,
  priority,
  deadline,
  webhook,
  labels,
  cache,
}: Omit<NewEvaluation, 'checkpoint' | 'baseline' | 'stop'>): Omit<Submission, 'question'> {
  return { suite, priority, labels, webhook, cache: cache === 'on', deadline };
}
