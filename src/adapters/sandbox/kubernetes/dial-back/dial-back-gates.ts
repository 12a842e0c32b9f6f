import type { DialBackSettings } from '../settings/pod-template.ts';
import { DialBackGate, type GateParts } from './dial-back-gate.ts';

/** The gates of one provider: one for each address that its templates name. */
export class DialBackGates implements AsyncDisposable {
  readonly #parts: GateParts;
  readonly #gates = new Map<string, Promise<DialBackGate>>();

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /** Opens the gate at its first use; tries again at the next use when that failed. */
  open(settings: DialBackSettings): Promise<DialBackGate> {
    const { host, port, certificate, key } = settings;
    const place = JSON.stringify([host, port, certificate, key]);
    const known = this.#gates.get(place);
    if (known) return known;
    const gate = DialBackGate.open(settings, this.#parts).catch((error: unknown) => {
      this.#gates.delete(place);
      throw error;
    });
    this.#gates.set(place, gate);
    return gate;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await Promise.allSettled(this.#gates.values());
    await Promise.all(opened.flatMap((gate) => (gate.status === 'fulfilled' ? [gate.value[Symbol.asyncDispose]()] : [])));
  }
}
