import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import type { ReplayDocument } from '../../orchestrator/replay/replay-document.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import type { Preparation } from '../../agents/preparation/preparation-report.ts';
import type { CheckedTask, GradedSubmission } from './grading/graded-submission.ts';

/** The documents that a page can show. */
export type ReportDocument =
  | { readonly kind: 'evaluation'; readonly summary: Summary }
  /** Several checkpoints on one suite; shown in the order of their means. */
  | { readonly kind: 'evaluations'; readonly summaries: readonly Summary[] }
  | { readonly kind: 'comparison'; readonly comparison: ComparisonSummary }
  | { readonly kind: 'verdict'; readonly submission: GradedSubmission }
  /** Tasks that were checked with their own submissions. */
  | { readonly kind: 'check'; readonly tasks: readonly CheckedTask[] }
  | { readonly kind: 'replay'; readonly replay: ReplayDocument }
  /** The results of a repository's candidates. */
  | { readonly kind: 'preparation'; readonly preparation: Preparation };
