import type { V1PodSpec } from '@kubernetes/client-node';
import { z } from 'zod';
import type { PodTemplate } from '../settings/pod-template.ts';
import { isMapping } from '../../../../kernel/documents/path.ts';

const templateSchema = z.object({
  spec: z.object({
    podTemplate: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()).default({}) }).prefault({}),
      spec: z.record(z.string(), z.unknown()),
    }),
  }),
});

/** Fields that an operator may choose: where pods run, how they are scheduled, their user, and how their containers wait. */
const FREE: ReadonlySet<string> = new Set([
  'nodeSelector',
  'tolerations',
  'imagePullSecrets',
  'imagePullPolicy',
  'priorityClassName',
  'hostname',
  'terminationGracePeriodSeconds',
  'enableServiceLinks',
  'requests',
  'command',
  'runAsUser',
  'runAsGroup',
  'fsGroup',
]);
/** Settings that open a pod's walls, or end a waiting pod. */
const NEVER = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'activeDeadlineSeconds'] as const;
/** The key by which members of a list are told apart. */
const KEYS = ['mountPath', 'name'] as const;

export function readPodLabels(template: unknown): Readonly<Record<string, string>> {
  return templateSchema.parse(template).spec.podTemplate.metadata.labels;
}

/**
 * Lists in what a SandboxTemplate falls short of the pods that Muster would make itself: containers, inbox, walls and limits. Its operator decides on
 * everything else in it. Pure.
 *
 * @param template as it is in the API.
 */
export function findShortcomings(template: unknown, expected: V1PodSpec, { runtimeClassName }: PodTemplate): readonly string[] {
  const { spec } = templateSchema.parse(template).spec.podTemplate;
  // The controller disables the token where nothing is said about it.
  const actual = { automountServiceAccountToken: false, ...spec };
  const open = NEVER.filter((field) => spec[field] !== undefined && spec[field] !== false).map(
    (field) => `${field} is set, expected not to be`,
  );
  const hasOther = runtimeClassName === undefined && spec['runtimeClassName'] !== undefined;
  const runtime = hasOther
    ? [`runtimeClassName is ${formatValue(spec['runtimeClassName'])}, expected what kubernetes.runtimeClassName says`]
    : [];
  return [...open, ...runtime, ...findDifferences(expected, actual, '')];
}

function findDifferences(expected: unknown, actual: unknown, path: string): readonly string[] {
  if (Array.isArray(expected)) return listDifferences(expected, actual, path);
  if (!isMapping(expected)) return isSame(expected, actual) ? [] : [`${path} is ${formatValue(actual)}, expected ${formatValue(expected)}`];
  const found = isMapping(actual) ? actual : {};
  return Object.entries(expected)
    .filter(([key, value]) => value !== undefined && !FREE.has(key))
    .flatMap(([key, value]) => findDifferences(value, found[key], path === '' ? key : `${path}.${key}`));
}

function listDifferences(expected: readonly unknown[], actual: unknown, path: string): readonly string[] {
  const found: readonly unknown[] = Array.isArray(actual) ? actual : [];
  return expected.flatMap((member) => {
    const [key, name] = getKey(member);
    if (key === undefined) return found.includes(member) ? [] : [`${path} lacks ${formatValue(member)}`];
    const same = found.find((other) => isMapping(other) && other[key] === name);
    const place = `${path}[${String(name)}]`;
    return same === undefined ? [`${place} is missing`] : findDifferences(member, same, place);
  });
}

function getKey(member: unknown): readonly [(typeof KEYS)[number] | undefined, unknown] {
  const key = isMapping(member) ? KEYS.find((candidate) => candidate in member) : undefined;
  return [key, key !== undefined && isMapping(member) ? member[key] : undefined];
}

function isSame(expected: unknown, actual: unknown): boolean {
  if (expected === actual) return true;
  const [wanted, had] = [parseQuantity(expected), parseQuantity(actual)];
  return wanted !== undefined && wanted === had;
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** Reads a quantity as Kubernetes writes them, "500m" or "1Gi"; undefined for anything else. */
function parseQuantity(value: unknown): number | undefined {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(String(value)) ?? [];
  const factor = UNITS[unit];
  return number === '' || factor === undefined ? undefined : Number(number) * factor;
}

function formatValue(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}
