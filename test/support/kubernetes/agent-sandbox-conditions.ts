import { z } from 'zod';
import type { KubeObject } from './api-objects.ts';

const conditionSchema = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().default(''),
  message: z.string().default(''),
  lastTransitionTime: z.string().default(''),
});
export type Condition = z.infer<typeof conditionSchema>;

const conditionedSchema = z.looseObject({
  status: z.looseObject({ phase: z.string().default(''), conditions: z.array(conditionSchema).default([]) }).prefault({}),
});

export function conditionsOf(object: KubeObject): readonly Condition[] {
  return conditionedSchema.parse(object).status.conditions;
}

export function notReady(reason: string, message: string): Condition {
  return { type: 'Ready', status: 'False', reason, message, lastTransitionTime: '' };
}

/** The moment of its change is that of the last different status. */
export function claimCondition(before: KubeObject, condition: Condition, now: Date): Condition {
  const old = conditionsOf(before).find(({ type }) => type === condition.type);
  const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : now.toISOString().replace(/\.\d+Z$/, 'Z');
  return { ...condition, lastTransitionTime };
}

/** What a Sandbox says of its pod. */
export function sandboxConditions(sandbox: KubeObject, pod: KubeObject, now: Date): readonly Condition[] {
  const { phase } = conditionedSchema.parse(pod).status;
  const isOver = phase === 'Failed' || phase === 'Succeeded';
  const over = { type: 'Finished', status: 'True', reason: `Pod${phase}`, message: `Pod ${phase}`, lastTransitionTime: '' };
  const scheduled = conditionsOf(pod).filter(({ type }) => type === 'PodScheduled');
  const conditions = [
    ...(isOver ? [over] : []),
    ...scheduled,
    isOver ? { ...over, type: 'Ready', status: 'False' } : readiness(pod, phase),
  ];
  return conditions.map((condition) => claimCondition(sandbox, condition, now));
}

function readiness(pod: KubeObject, phase: string): Condition {
  if (phase !== 'Running') return notReady('DependenciesNotReady', `Pod exists with phase: ${phase}`);
  const isReady = conditionsOf(pod).some(({ type, status }) => type === 'Ready' && status === 'True');
  if (!isReady) return notReady('DependenciesNotReady', 'Pod is Running but not Ready');
  return { type: 'Ready', status: 'True', reason: 'DependenciesReady', message: 'Pod is Ready', lastTransitionTime: '' };
}
