import { z } from 'zod';
import type { ProgramEnd } from '../exec/program-channel.ts';
import { tryParseJson } from '../../../../kernel/json-bounds.ts';

/** The messages between Muster and a dialler (docs/dial-back.md). Each message begins with its type; streams have Kubernetes' numbers. */
export const PROTOCOL = 'v1.dial-back.muster.dev';
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, credit: 4 } as const;

const CREDIT_BYTES = 6;
/** The largest number of bytes on their way in one direction. */
const CREDIT_MAX = 2 ** 24;

const statusSchema = z.union([z.strictObject({ exited: z.int().min(0).max(255) }), z.strictObject({ failed: z.string().max(10_000) })]);

/** Formats the first message to a dialler: what to run. @param next token of its next connection; null: there will be none. */
export function formatOrderMessage(command: readonly string[], next: string | undefined): string {
  return JSON.stringify({ command, next: next ?? null });
}

/** Grants this many more bytes of the stream. */
export function encodeCredit(stream: number, bytes: number): Buffer {
  const message = Buffer.alloc(CREDIT_BYTES);
  message.writeUInt8(CHANNEL.credit);
  message.writeUInt8(stream, 1);
  message.writeUInt32BE(bytes, 2);
  return message;
}

/** Reads the credit for the program's input, in bytes; undefined for a malformed message. */
export function parseInputCredit(message: Buffer): number | undefined {
  if (message.length !== CREDIT_BYTES || message.readUInt8(1) !== CHANNEL.stdin) return undefined;
  const bytes = message.readUInt32BE(2);
  return bytes <= CREDIT_MAX ? bytes : undefined;
}

/** Returns undefined for a malformed message. */
export function parseStatus(payload: Buffer): ProgramEnd | undefined {
  const parsed = statusSchema.safeParse(tryParseJson(payload.toString()));
  if (!parsed.success) return undefined;
  return 'exited' in parsed.data ? { kind: 'exited', code: parsed.data.exited } : { kind: 'failed', detail: parsed.data.failed };
}
