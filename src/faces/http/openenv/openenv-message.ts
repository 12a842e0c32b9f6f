import { getMessage } from '../../../kernel/errors.ts';
import { MESSAGE_TYPES, messageSchema, type ErrorCode, type Message } from './openenv-frames.ts';

export type ReadMessage =
  { readonly kind: 'message'; readonly message: Message } | { readonly kind: 'misfit'; readonly code: ErrorCode; readonly detail: string };

export function readMessage(text: string): ReadMessage {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    return createMisfit('INVALID_JSON', `expected JSON: ${getMessage(error)}`);
  }
  const type = typeof given === 'object' && given !== null && 'type' in given ? given.type : undefined;
  if (typeof type === 'string' && !MESSAGE_TYPES.includes(type))
    return createMisfit('UNKNOWN_TYPE', `type: expected one of ${MESSAGE_TYPES.join(', ')}, got ${JSON.stringify(type.slice(0, 100))}`);
  const read = messageSchema.safeParse(given);
  if (read.success) return { kind: 'message', message: read.data };
  return createMisfit(
    'VALIDATION_ERROR',
    read.error.issues.map(({ path, message }) => `${path.join('.') || 'message'}: ${message}`).join('; '),
  );
}

function createMisfit(code: ErrorCode, detail: string): ReadMessage {
  return { kind: 'misfit', code, detail: detail.slice(0, 2000) };
}
