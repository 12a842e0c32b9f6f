import { z } from 'zod';
import { type OwnerId, parseOwnerId, parseSandboxId, type SandboxId } from '../../../kernel/ids.ts';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import { type OwnerProcess, processSchema } from '../local/owner-record.ts';

const OWNER = 'dev.muster.owner';
const SANDBOX = 'dev.muster.sandbox';
const TEMPLATE = 'dev.muster.template';
const PROCESS = 'dev.muster.process';

/** Formats the label of containers: of all Musters, or of one owner. */
export function formatOwnerLabel(owner?: OwnerId): string {
  return owner === undefined ? OWNER : `${OWNER}=${owner}`;
}

/** Creates the labels of a container, set when it is created. */
export function createLabels(owner: OwnerId, id: SandboxId, { name }: SandboxTemplate, process: OwnerProcess): Record<string, string> {
  return { [OWNER]: owner, [SANDBOX]: id, [TEMPLATE]: name, [PROCESS]: JSON.stringify(process) };
}

export interface Label {
  readonly owner: OwnerId;
  readonly id: SandboxId;
  readonly process: OwnerProcess;
}

const labelsSchema = z.object({ [OWNER]: z.string(), [SANDBOX]: z.string(), [PROCESS]: z.string() });

/** @returns undefined for labels that no Muster wrote. */
export function readLabel(written: Readonly<Record<string, string>>): Label | undefined {
  try {
    const read = labelsSchema.parse(written);
    const process = processSchema.parse(JSON.parse(read[PROCESS]));
    return { owner: parseOwnerId(read[OWNER]), id: parseSandboxId(read[SANDBOX]), process };
  } catch {
    // The container does not belong to Muster, so the sweep ignores it.
    return undefined;
  }
}
