export const awaited: string = await Promise.resolve('awaited');
