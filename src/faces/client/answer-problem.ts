import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { InfrastructureError, type MusterError } from '../../kernel/errors.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';
import { problemSchema } from '../http/problems/problem.ts';
import { RefusedError, UnavailableError } from './client-errors.ts';

/** What passes by itself. */
const PASSING = new Set([502, 503, 504]);
const MOST_SHOWN_CHARACTERS = 500;

/** The error that an answer is, which is no success. A proxy may have given it, or it may be that of HEAD, which has no body. */
export function readProblem(status: number, headers: IncomingHttpHeaders, text: string): MusterError {
  const { code, detail, errors } = parseDocument(text) ?? describeMissingProblem(status, headers, text);
  const retryAfterSeconds = parseSeconds(headers['retry-after']);
  if (PASSING.has(status)) return new UnavailableError(code, detail, { retryAfterSeconds });
  if (status >= 400 && status < 500) return new RefusedError({ status, code, detail, errors, retryAfterSeconds });
  return new InfrastructureError(code, detail);
}

/** A later version of the server may say more. */
const answerDocumentSchema = z.object(problemSchema.pick({ code: true, detail: true, errors: true }).shape);
type AnswerDocument = z.infer<typeof answerDocumentSchema>;

function parseDocument(text: string): AnswerDocument | undefined {
  return answerDocumentSchema.safeParse(tryParseJson(text)).data;
}

/** What the server said in a header, where it said nothing else. */
const DESCRIBED = /\berror_description="([^"]*)"/;

function describeMissingProblem(status: number, headers: IncomingHttpHeaders, text: string): AnswerDocument {
  const described = DESCRIBED.exec(headers['www-authenticate'] ?? '')?.[1];
  if (text === '' && described !== undefined) return { code: 'server.answer', detail: described, errors: [] };
  const said = text.slice(0, MOST_SHOWN_CHARACTERS);
  return { code: 'server.answer', detail: `the server answered with ${status}${said === '' ? '' : `: ${said}`}`, errors: [] };
}

/** The other form that HTTP allows, a date, is not used by Muster, and is as good as none. */
function parseSeconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}
