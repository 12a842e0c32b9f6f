import type { SandboxInfo } from 'e2b';
import { type OwnerId, parseOwnerId, parseSandboxId, type SandboxId } from '../../../kernel/ids.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import { mayBeRunning, type OwnerProcess, processSchema, identifyThisProcess } from '../local/owner-record.ts';

/** Metadata of the sandboxes of any Muster, among all those of the account. */
export const MANAGED_METADATA = { muster: 'sandbox' };

const OWNER = 'muster-owner';
const SANDBOX = 'muster-sandbox';
const TEMPLATE = 'muster-template';
const PROCESS = 'muster-process';
const LIFETIME = 'muster-lifetime-seconds';

/** Creates the metadata of a sandbox, set when it is created and never changed. */
export async function createLabels(owner: OwnerId, id: SandboxId, { name, limits }: SandboxTemplate): Promise<Record<string, string>> {
  const whose = { ...selectLabels(owner, id), [TEMPLATE]: name, [PROCESS]: JSON.stringify(await identifyThisProcess()) };
  return { ...MANAGED_METADATA, ...whose, [LIFETIME]: String(limits.lifetimeSeconds) };
}

/** Returns the metadata of the owner's sandboxes; without an id, all of them. */
export function selectLabels(owner: OwnerId, id?: SandboxId): Record<string, string> {
  return { [OWNER]: owner, ...(id === undefined ? {} : { [SANDBOX]: id }) };
}

interface Label {
  readonly owner: OwnerId;
  readonly id: SandboxId;
  readonly process: OwnerProcess;
}

/** @returns undefined for labels that no Muster wrote. */
export function readLabel({ metadata }: Pick<SandboxInfo, 'metadata'>): Label | undefined {
  try {
    const process = processSchema.parse(JSON.parse(metadata[PROCESS] ?? ''));
    return { owner: parseOwnerId(metadata[OWNER] ?? ''), id: parseSandboxId(metadata[SANDBOX] ?? ''), process };
  } catch {
    // An unknown kind of owner: no sweep may remove it.
    return undefined;
  }
}

/**
 * Whether the owner is known to be gone. That can be known only of a process of this machine; sandboxes of another machine's owner end by
 * themselves when they are not extended, which needs no clocks that agree.
 */
export async function isGone(process: OwnerProcess): Promise<boolean> {
  const { bootId } = await identifyThisProcess();
  return process.bootId === bootId && !(await mayBeRunning(process));
}

/** The largest difference between the clocks of two machines, and the service's. */
const CLOCKS_MS = 3_600_000;

/**
 * Whether it was forgotten while it was paused, when E2B does not end it by itself: no Muster keeps a sandbox beyond its lifetime.
 *
 * @param now of this machine's calendar, milliseconds.
 */
export function isForgotten({ state, startedAt, metadata }: Pick<SandboxInfo, 'state' | 'startedAt' | 'metadata'>, now: number): boolean {
  const lifetimeMs = Number(metadata[LIFETIME]) * 1000;
  return state === 'paused' && startedAt.getTime() + lifetimeMs + CLOCKS_MS < now;
}
