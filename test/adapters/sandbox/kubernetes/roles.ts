import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Rule } from '../../../support/kubernetes/access.ts';

const DEPLOY = path.join(import.meta.dirname, '../../../../deploy/kubernetes');
const roleSchema = z.object({
  kind: z.literal('Role'),
  rules: z.array(z.object({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) })),
});

export function rulesOf(documents: readonly unknown[]): readonly Rule[] {
  return documents.flatMap((document) => roleSchema.safeParse(document).data?.rules ?? []);
}

function manifests(file: string): readonly unknown[] {
  return parseAllDocuments(readFileSync(path.join(DEPLOY, file), 'utf8')).map((document): unknown => document.toJS());
}

/** The Roles of deploy/: where Muster makes pods, where it claims them, where nodes have caches, and what a pool of its own takes besides. */
export const RULES = rulesOf(manifests('rbac.yaml'));
export const CLAIM_RULES = rulesOf(manifests('claims-rbac.yaml'));
export const CACHE_RULES = rulesOf(manifests('node-cache/rbac.yaml'));
export const POOL_RULES = rulesOf(manifests('own-pool-rbac.yaml'));
