import { z } from 'zod';

const conditionSchema = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().default(''),
  message: z.string().default(''),
});

/** The parts of a SandboxClaim that Muster reads. */
const claimSchema = z.object({
  metadata: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
    resourceVersion: z.string().default(''),
  }),
  status: z
    .object({
      conditions: z.array(conditionSchema).default([]),
      sandbox: z.object({ name: z.string().default('') }).prefault({}),
    })
    .prefault({}),
});

export type ClaimView = z.infer<typeof claimSchema>;

/** @throws ZodError for what is no claim. */
export function parseClaim(claim: unknown): ClaimView {
  return claimSchema.parse(claim);
}

/** The state of a claim until its pod exists. */
export type ClaimState =
  | { readonly kind: 'waiting'; readonly wait: ClaimWait }
  /** A sandbox is its own. The sandbox's pod has the sandbox's name. */
  | { readonly kind: 'bound'; readonly pod: string; readonly trouble: ClaimWait | undefined }
  | { readonly kind: 'over'; readonly end: 'expired' | 'finished' | 'deleted'; readonly detail: string };

/** What a claim waits for, in its controller's words. */
export interface ClaimWait {
  readonly kind: 'no-warm-pool' | 'no-template' | 'refused' | 'unbound';
  readonly detail: string;
}

/** The controller's reasons for lasting failures. */
const WAITS: Readonly<Record<string, ClaimWait['kind']>> = {
  WarmPoolNotFound: 'no-warm-pool',
  TemplateNotFound: 'no-template',
  InvalidMetadata: 'refused',
  EnvVarsInjectionRejected: 'refused',
  VolumeClaimTemplatesError: 'refused',
};
/** The pod of its sandbox is refused, for example by a quota. It is retried. */
const REFUSED_POD = 'ReconcilerError';
const EXPIRED: ReadonlySet<string> = new Set(['ClaimExpired', 'SandboxExpired']);

export function readClaimState({ metadata, status }: ClaimView): ClaimState {
  const ready = status.conditions.find(({ type }) => type === 'Ready');
  const finished = status.conditions.find(({ type, status: is }) => type === 'Finished' && is === 'True');
  if (ready && EXPIRED.has(ready.reason)) return { kind: 'over', end: 'expired', detail: joinReason(ready.reason, ready.message) };
  if (metadata.deletionTimestamp !== undefined) return { kind: 'over', end: 'deleted', detail: 'it was deleted' };
  if (finished) return { kind: 'over', end: 'finished', detail: joinReason(finished.reason, finished.message) };
  if (status.sandbox.name !== '') return { kind: 'bound', pod: status.sandbox.name, trouble: describeTrouble(ready) };
  if (ready === undefined) return { kind: 'waiting', wait: { kind: 'unbound', detail: 'its controller has not spoken yet' } };
  return { kind: 'waiting', wait: { kind: WAITS[ready.reason] ?? 'unbound', detail: joinReason(ready.reason, ready.message) } };
}

function describeTrouble(ready: z.infer<typeof conditionSchema> | undefined): ClaimWait | undefined {
  return ready?.reason === REFUSED_POD ? { kind: 'unbound', detail: joinReason(ready.reason, ready.message) } : undefined;
}

function joinReason(reason: string, message: string): string {
  return message === '' ? reason : `${reason}: ${message}`;
}
