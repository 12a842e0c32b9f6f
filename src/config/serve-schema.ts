import { z } from 'zod';
import { byteSizeSchema } from './byte-size.ts';

/** The configuration of `muster serve`. */

const seconds = z.number().positive().max(31_536_000);
const absolutePath = z.string().regex(/^\/[^\0]*$/, 'expected an absolute path');

const suiteName = z.string().regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" or "-"');

const numberOrUnlimited = z.union([z.literal('unlimited'), z.int().min(1).max(1_000_000_000)], {
  error: 'expected "unlimited" or a whole number from 1 on',
});

export const serverSchema = z
  .strictObject({
    host: z.string().min(1).max(255).describe('address that `muster serve` listens on'),
    access: z
      .enum(['tokens', 'off'])
      .describe('tokens: every caller needs one; off: every caller on this machine is the operator; allowed with a loopback host alone'),
    requestsPerMinute: numberOrUnlimited.describe('of one principal, or of one address that has not said who it is'),
    failedTokensPerMinute: numberOrUnlimited.describe(
      'tokens that are not good, of one address: beyond it only those are looked up that were good before',
    ),
    streamsPerPrincipal: numberOrUnlimited.describe('streams of events and episodes that one principal may have open at a time'),
    streams: numberOrUnlimited.describe('the same of all principals together'),
    port: z.int().min(0).max(65_535).describe('0: any that is free'),
    suites: z.record(suiteName, absolutePath).describe('suite files that callers may name, by the name they use'),
    inlineModules: z
      .array(z.string().regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/, 'expected the name of a module, such as minigrid.envs'))
      .max(1000)
      .describe('modules, with all below them, that suites which callers send may name as module:name; to name one is to run its code'),
    grants: z
      .array(
        z.strictObject({
          principal: z
            .string()
            .regex(/^[a-z0-9][a-z0-9._@-]{0,62}$/, 'expected the name of a principal, as tokens have it')
            .describe('who may use the checkpoint'),
          sha256: z
            .string()
            .regex(/^(\*|[0-9a-f]{64})$/, 'expected 64 lower-case hexadecimal digits, or "*" for every checkpoint')
            .describe('of the checkpoint; "*": every one'),
        }),
      )
      .max(10_000)
      .describe('checkpoints that principals may use besides those that they sent'),
    concurrentEvaluations: z
      .union([z.literal('auto'), z.int().min(1).max(10_000)], { error: 'expected "auto" or a whole number from 1 to 10000' })
      .describe('evaluations that are played at a time; "auto": two for each sandbox, at least 8'),
    ownershipSeconds: seconds.describe('an evaluation whose Muster does not renew its ownership for this long is taken over by another'),
    pollSeconds: seconds.describe('how often to look for evaluations that another Muster has left'),
    reportSeconds: seconds.describe('how often running figures are stored, at most'),
    drainSeconds: z
      .number()
      .min(0)
      .max(86_400)
      .describe('after SIGTERM: how long evaluations may take to finish before they are given back'),
    retentionDays: z.number().positive().max(36_500).describe('evaluations are kept for this long after their end'),
    staleness: z
      .enum(['keep', 'cancel-waiting'])
      .describe('what becomes of waiting evaluations when a newer version of their run is submitted'),
    maxWaitSeconds: z.number().min(0).max(3600).describe('longest ?wait that a caller may ask for'),
    webhookSecret: z
      .string()
      .max(1024)
      .refine((secret) => secret === '' || secret.length >= 24, 'expected nothing, or 24 characters at least')
      .describe('that webhooks are signed with; without one none are accepted'),
    maxBodyBytes: byteSizeSchema.describe('of a request, checkpoints excepted'),
  })
  .describe('`muster serve`');
