/** Something that sandboxes need or profit from. */
export type Finding =
  | { readonly state: 'available'; readonly detail: string }
  | { readonly state: 'missing'; readonly detail: string; readonly remedy: string };
