import type { z } from 'zod';
import { pathText } from '../../kernel/documents/path.ts';

/** Of a document that a program wrote: which fields are not what was expected. */
export function problemsInOneLine(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${pathText(path.map(asKey))}: ${message}`).join('; ');
}

function asKey(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}
