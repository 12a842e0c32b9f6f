import { z } from 'zod';
import type { EpisodeLine } from '../schemas/episode-schemas.ts';
import type { EvaluationItem, EvaluationResource } from '../schemas/evaluation-schemas.ts';

/** The version for readers who may not see an evaluation's text: all figures, and nothing that a program inside can have written. */

const WITHHELD = 'withheld: the principal who asked, operators, and those who may use all of its checkpoints can read it';

/** The fields of a summary with runners' text. All others are kept unchanged. */
const remarkedSchema = z.looseObject({
  warnings: z.array(z.string()),
  run: z.looseObject({
    remarks: z.array(z.string()).optional(),
    errors: z.array(z.looseObject({ detail: z.string() })).optional(),
  }),
});

export function withholdText<Item extends EvaluationItem | EvaluationResource>(item: Item): Item {
  const { failure } = item;
  const withheld = failure ? { failure: { ...failure, message: WITHHELD }, withheld: true } : {};
  return { ...item, ...('summary' in item ? withholdRemarks(item.summary) : {}), ...withheld };
}

function withholdRemarks(summary: unknown): { readonly summary?: unknown; readonly withheld?: true } {
  if (summary === null || summary === undefined) return {};
  const read = remarkedSchema.safeParse(summary).data;
  // A summary of another version of Muster: the fields with its text are unknown.
  if (!read) return { summary: null, withheld: true };
  const { remarks = [], errors = [], ...run } = read.run;
  if (remarks.length === 0 && errors.length === 0) return {};
  const warnings = read.warnings.filter((warning) => !remarks.includes(warning));
  const unspoken = errors.map((error) => ({ ...error, detail: '' }));
  return { summary: { ...read, warnings, run: { ...run, ...(errors.length === 0 ? {} : { errors: unspoken }) } }, withheld: true };
}

export function omitText({ log, ...line }: EpisodeLine): EpisodeLine {
  const { outcome } = line;
  const isPlain = log === undefined && (outcome.kind === 'completed' || outcome.detail === '');
  if (isPlain) return line;
  return { ...line, outcome: outcome.kind === 'completed' ? outcome : { ...outcome, detail: '' }, withheld: true };
}
