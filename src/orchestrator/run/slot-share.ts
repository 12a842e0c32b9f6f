/** Says how many of a pool's sandboxes a study may hold while others want them, too. Without a share it takes what the pool gives. */
export interface SlotShare {
  /** Resolves when the study may hold one more sandbox. @throws the signal's reason when it is aborted first. */
  take(signal: AbortSignal): Promise<Slot>;
  /** Declares, until disposed, that the study only prepares: it gets slots that no active study could use. */
  standBack(): Disposable;
}

/** The right to hold one sandbox; it ends when it is disposed. */
export interface Slot extends Disposable {
  /** Aborted when another study should get the slot: the holder finishes its work under way and returns the slot. */
  readonly recalled: AbortSignal;
  /** Declares, until it is disposed, that its holder has no work at present: others may use the slot. */
  offerSlot(): Disposable;
}
