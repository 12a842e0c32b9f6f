import { z } from 'zod';

const metadataSchema = z.looseObject({
  name: z.string().min(1),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  deletionGracePeriodSeconds: z.number().optional(),
  managedFields: z.array(z.unknown()).optional(),
});

/** An object as an API server keeps it: what it looks at is named, all else is kept as it came. */
export const objectSchema = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: metadataSchema });
export type KubeObject = z.infer<typeof objectSchema>;

/** A refusal, as API servers word it. */
export class Refusal extends Error {
  readonly code: number;
  readonly reason: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: number, reason: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  status(): object {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      code: this.code,
    };
  }
}

/** As messages name resources: with their group, where they have one. */
export function qualified(resource: string): string {
  const group = GROUPS.get(resource);
  return group === undefined ? resource : `${resource}.${group}`;
}

const GROUPS: ReadonlyMap<string, string> = new Map([
  ['leases', 'coordination.k8s.io'],
  ['networkpolicies', 'networking.k8s.io'],
  ['runtimeclasses', 'node.k8s.io'],
  ['priorityclasses', 'scheduling.k8s.io'],
]);

export const notFound = (resource: string, name: string): Refusal =>
  new Refusal(404, 'NotFound', `${qualified(resource)} "${name}" not found`);
export const expired = (): Refusal => new Refusal(410, 'Expired', 'too old resource version');

/** @throws Refusal (400) for what is no selector. */
export function matchesLabels(selector: string, labels: Readonly<Record<string, string>>): boolean {
  // A comma within the brackets of a set does not end the term.
  return (selector.match(/[^,(]+(\([^)]*\))?/g) ?? []).every((term) => {
    const [, member = '', set] = /^(\S+) in \((.*)\)$/.exec(term) ?? [];
    if (set !== undefined) return set.split(',').includes(labels[member] ?? '');
    const [name = '', value] = term.split('=');
    if (!/^[\w./-]+$/.test(name)) throw new Refusal(400, 'BadRequest', `unable to parse requirement: ${JSON.stringify(term)}`);
    return value === undefined ? name in labels : labels[name] === value;
  });
}
