import { z } from 'zod';
import { ROLES } from '../../../evaluation-store/tokens.ts';

const token = {
  id: z.string(),
  principal: z.string().describe('the principal that it speaks for'),
  role: z.enum(ROLES),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable().describe('null for one that does not expire'),
  revokedAt: z.iso.datetime().nullable().describe('since then it is refused'),
};

export const tokenSchema = z.strictObject(token).describe('a token, without what it is recognised by');
export const issuedTokenSchema = z
  .strictObject({ ...token, token: z.string().describe('what its holder sends; it is kept nowhere') })
  .describe('a token that was made now');
export const tokenPageSchema = z.strictObject({ items: z.array(tokenSchema).describe('latest first'), next: z.string().nullable() });

export type Token = z.infer<typeof tokenSchema>;

export const newTokenSchema = z
  .strictObject({
    principal: z.string().min(1).max(63).describe('the principal: evaluations, quotas and the audit go by this name'),
    role: z.enum(ROLES),
    lifetimeSeconds: z.int().min(1).max(3_155_760_000).exactOptional().describe('from now; it does not expire when left out'),
  })
  .describe('NewToken');

export const tokenParamsSchema = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/, 'expected the id of a token: 16 digits, as "muster token list" shows it'),
});

export const pageQuerySchema = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'expected a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(200))
    .default(50),
  after: z.string().min(1).max(200).exactOptional().describe('`next` of the page before'),
});

const auditEntrySchema = z.strictObject({
  id: z.int(),
  at: z.iso.datetime(),
  principal: z.string(),
  action: z.string(),
  target: z.string(),
  details: z.unknown(),
});

export const auditPageSchema = z.strictObject({ items: z.array(auditEntrySchema).describe('latest first'), next: z.string().nullable() });
