/** How many of a pool's sandboxes a study may hold at a time, when others want them too. Without one it takes what the pool gives. */
export interface SlotShare {
  /** Resolves when the study may hold one more sandbox. @throws the signal's reason when it is aborted first. */
  take(signal: AbortSignal): Promise<Slot>;
  /** Until disposed, declares that the study only prepares: it gets slots that no study under way could use. */
  standBack(): Disposable;
}

/** The right to hold one sandbox; it ends when it is disposed of. */
export interface Slot extends Disposable {
  /** Aborted when another study is due: the holder finishes what is under way, and returns the slot. */
  readonly recalled: AbortSignal;
  /** Says, until it is disposed of, that its holder has nothing to do there just now: others may use the slot. */
  offerSlot(): Disposable;
}
