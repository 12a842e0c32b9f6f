import { z } from 'zod';

/** What agent-sandbox's objects are called, and what of them its controllers look at. */

export const AGENT_SANDBOX_API = '/apis/extensions.agents.x-k8s.io/v1beta1';
export const CLAIMS = 'sandboxclaims';
export const WARM_POOLS = 'sandboxwarmpools';
export const TEMPLATES = 'sandboxtemplates';
export const SANDBOXES = 'sandboxes';
export const AGENT_SANDBOX_RESOURCES: ReadonlySet<string> = new Set([CLAIMS, WARM_POOLS, TEMPLATES, SANDBOXES]);

export const SYSTEM = 'agents.x-k8s.io/';
export const NAME_HASH = `${SYSTEM}sandbox-name-hash`;
export const TEMPLATE_HASH = `${SYSTEM}sandbox-template-ref-hash`;
/** Of pods that are in a pool still. */
export const WARM_POOL = `${SYSTEM}warm-pool-sandbox`;
export const CLAIM_UID = `${SYSTEM}claim-uid`;
export const POD_NAME = `${SYSTEM}pod-name`;
export const ASSIGNED = `${SYSTEM}sandbox-name`;

const podTemplateSchema = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()).default({}) }).prefault({}),
  spec: z.looseObject({}),
});
export const templateSchema = z.looseObject({
  spec: z.looseObject({
    podTemplate: podTemplateSchema,
    networkPolicyManagement: z.enum(['Managed', 'Unmanaged']).default('Managed'),
    networkPolicy: z.object({ ingress: z.array(z.unknown()).default([]), egress: z.array(z.unknown()).default([]) }).optional(),
  }),
});
export const poolSchema = z.looseObject({
  spec: z.looseObject({ replicas: z.int().min(0).default(1), sandboxTemplateRef: z.object({ name: z.string() }) }),
});
export const claimSchema = z.looseObject({
  spec: z.looseObject({
    warmPoolRef: z.object({ name: z.string() }),
    lifecycle: z
      .object({
        shutdownTime: z.iso.datetime().optional(),
        shutdownPolicy: z.enum(['Delete', 'DeleteForeground', 'Retain']).default('Retain'),
        ttlSecondsAfterFinished: z.int().min(0).optional(),
      })
      .optional(),
  }),
  status: z.looseObject({ sandbox: z.looseObject({ name: z.string().default('') }).prefault({}) }).prefault({}),
});
export const sandboxSchema = z.looseObject({ spec: z.looseObject({ podTemplate: podTemplateSchema }) });
export const addressesSchema = z.looseObject({ podIPs: z.array(z.object({ ip: z.string() })).default([]) });
export const addressedSchema = z.looseObject({ status: z.looseObject({ podIPs: z.array(z.string()).optional() }).prefault({}) });
export const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  [CLAIMS]: claimSchema,
  [WARM_POOLS]: poolSchema,
  [TEMPLATES]: templateSchema,
};
