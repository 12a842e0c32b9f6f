/** Episodes in each of the store-writer's appends. */
export const WRITTEN_AT_ONCE = 250;
