import { z } from 'zod';

/** The largest number of entries of one listing, and lines of one search. */
export const MOST_ENTRIES = 1000;
export const MOST_MATCHES = 200;
/** The most characters of a file's text that are shown; the middle of a longer text is left out. */
export const SHOWN_CHARACTERS = 128 * 1024;

const count = z.int().min(0);
const file = z.string();

const excerptSchema = z
  .strictObject({
    text: z.string().describe('control characters and bytes that are no UTF-8 are escaped; a line says what is left out in the middle'),
    bytes: count.describe('all that was printed'),
    omitted: count.describe('bytes in the middle that are left out'),
  })
  .describe('what a command has printed');

const endSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('exited'), code: z.int() }),
    z.strictObject({ kind: z.literal('signalled'), signal: z.int() }),
    z.strictObject({ kind: z.literal('timeout') }),
    z.strictObject({ kind: z.literal('output-limit') }),
    z.strictObject({ kind: z.literal('unstartable'), detail: z.string() }),
    z.strictObject({ kind: z.literal('out-of-memory') }),
  ])
  .describe('how a command ended');

/** Why an action was not done, so that the agent can correct it. */
export const REFUSAL_REASONS = [
  'malformed',
  'unknown-action',
  'not-allowed',
  'outside',
  'missing',
  'running',
  'directory',
  'special-file',
  'link',
  'name',
  'unreadable',
  'too-large',
  'too-many',
  'no-text',
  'full',
  'no-match',
  'several-matches',
  'patch',
] as const;

export const dataSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('task'), instruction: z.string(), workdir: file }),
  z.strictObject({
    kind: z.literal('file'),
    file,
    content: z.string().describe('of the lines that are shown'),
    from: count.describe('first line that is shown'),
    lines: count.describe('of the whole file'),
    bytes: count.describe('of the whole file'),
    omitted: count.describe('characters in the middle that are left out'),
  }),
  z.strictObject({ kind: z.literal('written'), file, bytes: count }),
  z.strictObject({ kind: z.literal('edited'), file, line: count.describe('where the text was'), bytes: count }),
  z.strictObject({
    kind: z.literal('patched'),
    files: z.array(z.strictObject({ file, change: z.enum(['added', 'changed', 'removed']) })),
  }),
  z.strictObject({
    kind: z.literal('listed'),
    path: file,
    entries: z
      .array(z.strictObject({ path: file, kind: z.enum(['file', 'directory', 'link', 'special']), bytes: count }))
      .max(MOST_ENTRIES),
    total: count,
    isComplete: z.boolean(),
  }),
  z.strictObject({
    kind: z.literal('found'),
    matches: z.array(z.strictObject({ file, line: count, text: z.string() })).max(MOST_MATCHES),
    total: count,
    isComplete: z.boolean().describe('false where some lines are not shown, or not every file was searched'),
  }),
  z.strictObject({ kind: z.literal('ran'), end: endSchema, stdout: excerptSchema, stderr: excerptSchema }),
  z.strictObject({ kind: z.literal('started'), name: z.string() }),
  z.strictObject({
    kind: z.literal('polled'),
    name: z.string(),
    end: endSchema.nullable().describe('null while it runs'),
    stdout: excerptSchema,
    stderr: excerptSchema,
  }),
  z.strictObject({ kind: z.literal('submitted') }),
  z.strictObject({ kind: z.literal('refused'), reason: z.enum(REFUSAL_REASONS), detail: z.string() }),
]);

/**
 * What an agent sees of an action. It contains no time and no random name: equal actions have equal observations, as far as programs are
 * deterministic.
 */
export const observationSchema = z.strictObject({
  text: z.string().describe('for a model: all of `data` in words'),
  data: dataSchema,
});

export type Observation = z.infer<typeof observationSchema>;
export type ObservationData = z.infer<typeof dataSchema>;
export type Excerpt = z.infer<typeof excerptSchema>;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];
