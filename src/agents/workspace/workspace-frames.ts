import { z } from 'zod';
import { tryParseJson } from '../../kernel/json-bounds.ts';

/** The largest line in either direction, without its line feed. */
export const MAX_FRAME_BYTES = 1 << 20;
/** Data of one frame, before it is encoded. */
export const DATA_BYTES = 384 * 1024;
export const WORKSPACE_PROTOCOL = 1;

const request = z.int().min(0);
const data = z.base64().transform((text) => Buffer.from(text, 'base64'));
const measure = z.number().min(0);

const endSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('exited'), code: z.int() }),
  z.object({ kind: z.literal('signalled'), signal: z.int() }),
  z.object({ kind: z.literal('timeout') }),
  z.object({ kind: z.literal('output-limit') }),
  z.object({ kind: z.literal('unstartable'), detail: z.string().max(8192) }),
]);

const frameSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), protocol: z.int() }),
  z.object({ type: z.literal('done'), request }),
  z.object({ type: z.literal('refused'), request, kind: z.string(), path: z.string(), detail: z.string() }),
  z.object({ type: z.literal('output'), request, stream: z.enum(['stdout', 'stderr', 'report']), part: z.enum(['head', 'tail']), data }),
  z.object({
    type: z.literal('ended'),
    request,
    end: endSchema,
    bytes: z.object({ stdout: z.int().min(0), stderr: z.int().min(0), report: z.int().min(0) }),
    seconds: measure,
    waitedSeconds: measure,
    cpuSeconds: measure,
    peakBytes: measure,
    called: z.array(z.int().min(0)).max(1024),
  }),
  z.object({
    type: z.literal('polled'),
    request,
    end: endSchema.nullable(),
    bytes: z.object({ stdout: z.int().min(0), stderr: z.int().min(0) }),
  }),
  z.discriminatedUnion('kind', [
    z.object({ type: z.literal('entry'), request, kind: z.literal('directory'), path: z.string() }),
    z.object({ type: z.literal('entry'), request, kind: z.literal('file'), path: z.string(), executable: z.boolean() }),
    z.object({ type: z.literal('entry'), request, kind: z.literal('link'), path: z.string(), target: z.string() }),
  ]),
  z.object({ type: z.literal('removed'), request, path: z.string() }),
  z.object({ type: z.literal('data'), request, data }),
  /** A file that a run of a series should leave; a file that every run should find. */
  z.object({ type: z.enum(['untaken', 'unlaid']), request, kind: z.string(), path: z.string(), detail: z.string() }),
  z.object({ type: z.literal('line'), request, data }),
  z.object({ type: z.literal('file'), request, bytes: z.int().min(0), executable: z.boolean() }),
  z.object({
    type: z.literal('listed'),
    request,
    path: z.string(),
    kind: z.enum(['file', 'directory', 'link', 'special']),
    bytes: z.int().min(0),
  }),
  z.object({ type: z.literal('match'), request, path: z.string(), line: z.int().min(1), text: z.string() }),
  z.object({ type: z.literal('counted'), request, total: z.int().min(0), complete: z.boolean() }),
]);

export type WorkspaceFrame = z.infer<typeof frameSchema>;
/** Answers a request, alone or as the part of an answer. */
export type AnswerFrame = Exclude<WorkspaceFrame, { readonly type: 'ready' }>;

/** @returns a text on what is wrong with the line, if it is no frame. */
export function parseWorkspaceFrame(line: string): WorkspaceFrame | string {
  const value = tryParseJson(line);
  if (value === undefined) return 'no JSON';
  const frame = frameSchema.safeParse(value);
  return frame.success ? frame.data : z.prettifyError(frame.error).slice(0, 500);
}
