import { InputError } from '../../kernel/errors.ts';
import { comparisonSummarySchema, type ComparisonSummary } from './comparison-summary.ts';
import { parseRecord, type Refusal } from './recorded-summary.ts';
import { summariesSchema } from './summaries.ts';
import { summarySchema, type Summary } from './summary.ts';

/** The document that several stored summaries make together. */
export type ResultDocument =
  | { readonly kind: 'evaluation'; readonly summary: Summary }
  | { readonly kind: 'evaluations'; readonly summaries: readonly Summary[] }
  | { readonly kind: 'comparison'; readonly comparison: ComparisonSummary };

const OTHER: Refusal = { code: 'results.invalid', remedy: 'expected a summary of this version of Muster; evaluate again' };

/**
 * @param kept at least one summary, unvalidated, with its file. @throws InputError when one is not a summary of this version, or a comparison is one
 * of several.
 */
export function toResultDocument(kept: readonly { readonly file: string; readonly summary: unknown }[]): ResultDocument {
  const [first] = kept;
  if (first && kept.length === 1 && getSchema(first.summary) === 'muster.comparison/1')
    return { kind: 'comparison', comparison: parseRecord(comparisonSummarySchema, first.summary, first.file, OTHER) };
  const summaries = kept.flatMap(({ file, summary }) => listEvaluations(file, summary));
  const [only] = summaries;
  return only && summaries.length === 1 ? { kind: 'evaluation', summary: only } : { kind: 'evaluations', summaries };
}

function listEvaluations(file: string, summary: unknown): readonly Summary[] {
  switch (getSchema(summary)) {
    case 'muster.summaries/1':
      return parseRecord(summariesSchema, summary, file, OTHER).summaries;
    case 'muster.comparison/1':
      throw new InputError('results.mixed', `${file} is a comparison, and cannot be reported together with other results; give it alone`);
    default:
      return [parseRecord(summarySchema, summary, file, OTHER)];
  }
}

function getSchema(summary: unknown): unknown {
  return typeof summary === 'object' && summary !== null && 'schema' in summary ? summary.schema : undefined;
}
