import type { SandboxId } from '../../kernel/ids.ts';
import type { PastExposure } from '../ports/exposure.ts';
import type { PoolAction } from './plan-terms.ts';
import type { IdleState } from './sandbox-state.ts';

/** The sandboxes by state, as they will be after the actions planned so far. */
export interface Census {
  coming: ComingSandbox[];
  leased: number;
  idle: IdleSandbox[];
  /** Sandboxes that are being destroyed. They still count towards the maximum. */
  ending: number;
}

export interface ComingSandbox {
  readonly id: SandboxId;
  readonly past: PastExposure;
}

export interface IdleSandbox extends ComingSandbox {
  readonly state: IdleState;
}

/** Collects the actions, and the time of the next plan. */
export class Agenda {
  readonly #actions: PoolAction[] = [];
  #wakeAt = Infinity;

  add(action: PoolAction): void {
    this.#actions.push(action);
  }

  remember(at: number): void {
    this.#wakeAt = Math.min(this.#wakeAt, at);
  }

  finish(): PoolAction[] {
    if (this.#wakeAt < Infinity) this.add({ kind: 'wake', at: this.#wakeAt });
    return this.#actions;
  }
}
