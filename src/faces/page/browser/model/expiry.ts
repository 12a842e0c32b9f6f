/** Formats the expiry in the words of `muster token list`. */
export function formatExpiry(expiresAt: string | null, isPast: boolean): string {
  if (expiresAt === null) return 'does not expire';
  return `${isPast ? 'expired' : 'until'} ${expiresAt.slice(0, 16).replace('T', ' ')} UTC`;
}
