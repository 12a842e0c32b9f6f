/** How many of a pool's sandboxes a study may hold at a time, when others want them too. Without one it takes what the pool gives. */
export interface SlotShare {
  /** Resolves when the study may hold one more sandbox. @throws the signal's reason when it is aborted first. */
  take(signal: AbortSignal): Promise<Place>;
  /** Says, until it is disposed of, that the study only makes itself ready: it is to have what nobody else who has begun could use. */
  standBack(): Disposable;
}

/** The right to hold one sandbox; it ends when it is disposed of. */
export interface Place extends Disposable {
  /** Aborted when somebody else is to have it: its holder finishes what is under way, and gives it back. */
  readonly recalled: AbortSignal;
  /** Says, until it is disposed of, that its holder has nothing to do there just now: others who could use the place may have it. */
  spare(): Disposable;
}
