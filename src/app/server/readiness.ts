import { findLackOfSpace } from '../../adapters/files/state-directory.ts';
import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import type { Reason } from '../../faces/http/routes/operation-routes.ts';
import { getMessage } from '../../kernel/errors.ts';

interface Parts {
  readonly service: { readonly isDraining: boolean };
  readonly store: Pick<EvaluationStore, 'webhooks'>;
  readonly templates: { findHindrances(): Promise<readonly string[]> };
  readonly stateDir: string;
  /** @returns why nothing new should be kept in the state directory. */
  readonly lack?: (stateDir: string) => Promise<string | undefined>;
}

/** Why a server should be sent no work; none when all is well. */
export async function checkReadiness({ service, store, templates, stateDir, lack = findLackOfSpace }: Parts): Promise<readonly Reason[]> {
  const reasons: Reason[] = [];
  if (service.isDraining) reasons.push({ code: 'service.draining', detail: 'it is about to end' });
  try {
    await store.webhooks.nextDue();
  } catch (error) {
    reasons.push({ code: 'store.unavailable', detail: getMessage(error) });
  }
  for (const detail of await templates.findHindrances()) reasons.push({ code: 'template.unusable', detail });
  const lacking = await lack(stateDir).catch(getMessage);
  if (lacking !== undefined) reasons.push({ code: 'disk.full', detail: lacking });
  return reasons;
}
