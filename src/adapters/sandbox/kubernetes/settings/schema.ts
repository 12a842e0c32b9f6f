import { z } from 'zod';

const name = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'expected a name as Kubernetes has them: lower-case letters, digits, "-" and "."');
const namespace = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'expected the name of a namespace: lower-case letters, digits and "-"');

const KUBECONFIG_EXPECTED = 'expected "auto" or the absolute path of a kubeconfig';
const absolutePath = z.string().regex(/^\/[^\0]*$/, 'expected an absolute path');

const tolerationSchema = z.strictObject({
  key: z.string().max(316).optional().describe('key of the taint; every key when left out'),
  operator: z.enum(['Exists', 'Equal']).optional().describe('Exists: any value; Equal: the value below; Equal when left out'),
  value: z.string().max(63).optional().describe('value of the taint, with Equal'),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional().describe('effect of the taint; every effect when left out'),
  tolerationSeconds: z.int().min(0).optional().describe('with NoExecute, seconds until a pod is evicted; never when left out'),
});

/** Describes how programs on other machines connect to Muster. */
export const dialBackSchema = z
  .strictObject({
    host: z.string().min(1).max(253).describe('address of this machine to listen on'),
    port: z.int().min(0).max(65_535).describe('0: any that is free'),
    advertise: z
      .string()
      .regex(/^wss?:\/\/\S{1,1000}$/, 'expected ws:// or wss://, a host and a port')
      .optional()
      .describe('how sandboxes reach Muster; a port of 0 stands for the one that Muster listens on'),
    certificate: absolutePath.optional().describe('file of PEM, for Muster to serve TLS; goes with key'),
    key: absolutePath.optional().describe('file of PEM with the private key of the certificate'),
    authority: absolutePath.optional().describe('file of PEM: whose certificates sandboxes trust, if not just the one above'),
    plaintext: z.enum(['refused', 'allowed']).describe('ws:// to other machines'),
    dialler: z.string().min(1).max(1000).describe('the program in the image that dials, run by its python'),
  })
  .refine(({ certificate, key }) => (certificate === undefined) === (key === undefined), 'expected certificate and key, or neither');

const CLAIMS_EXPECTED = 'expected { warmPool: the name of a SandboxWarmPool } or { replicas: how many pods to keep ready }, and not both';
const claimsSchema = z.union(
  [
    z.strictObject({ warmPool: name.describe('name of a SandboxWarmPool in the namespace') }),
    z.strictObject({ replicas: z.int().min(0).max(10_000).describe('pods that Muster’s own SandboxWarmPool keeps ready') }),
  ],
  {
    error: CLAIMS_EXPECTED,
  },
);

/** A template's further settings when its provider is `kubernetes`. */
export const kubernetesSchema = z
  .strictObject({
    kubeconfig: z
      .union([z.literal('auto'), z.string().regex(/^\/[^\0]*$/, KUBECONFIG_EXPECTED)], { error: KUBECONFIG_EXPECTED })
      .describe('"auto": $KUBECONFIG, ~/.kube/config, or the service account of the pod that Muster runs in'),
    context: z.string().min(1).optional().describe('of the kubeconfig; its current one where this is left out'),
    namespace: namespace.describe('where the pods are made'),
    image: z.string().min(1).max(1000).optional().describe('has the runner and what it imports; to be given with provider: kubernetes'),
    python: z.string().min(1).max(1000).describe('the interpreter in the image: a path, or a name that is looked up in PATH'),
    network: z
      .enum(['none', 'origin', 'cluster'])
      .describe(
        'none: a NetworkPolicy denies all connections; origin: one allows those to where checkpoints are fetched from; cluster: all that pods reach',
      ),
    transport: z
      .enum(['exec', 'dial-back'])
      .describe('exec: through the API server; dial-back: containers connect to Muster, and the API server carries nothing of it'),
    dialBack: dialBackSchema.describe('used with transport: dial-back'),
    imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).describe('when a node pulls the image'),
    imagePullSecrets: z.array(name).max(16).describe('names of Secrets with credentials of the image’s registry'),
    nodeSelector: z.record(z.string(), z.string()).describe('labels that a node must have to run a pod'),
    tolerations: z.array(tolerationSchema).max(64).describe('taints of nodes on which pods may run nevertheless'),
    runtimeClassName: name.optional().describe('gVisor, Kata: as the cluster calls it'),
    priorityClassName: name.optional().describe('PriorityClass of the pods'),
    requestedShare: z.number().positive().max(1).describe('what is set aside for a pod, as a part of its limits'),
    unschedulableSeconds: z.number().positive().max(86_400).describe('how long a pod may wait for room on a node'),
    nodeCache: z
      .strictObject({
        namespace: namespace.describe('where the pods are that keep the caches'),
        claim: name.describe('claim, in the namespace of the sandboxes, of the volume that is each node’s cache'),
      })
      .optional()
      .describe('where every node has a cache of checkpoints: deploy/kubernetes/node-cache'),
    requestsPerSecond: z.number().positive().max(10_000).describe('to the API server, at most'),
    claims: claimsSchema
      .optional()
      .describe(
        'pods are claimed from SIG agent-sandbox: from a SandboxWarmPool of the namespace, or from one of Muster’s own with so many replicas',
      ),
  })
  .describe('pods as sandboxes; used with provider: kubernetes');

export type KubernetesConfig = z.infer<typeof kubernetesSchema>;
