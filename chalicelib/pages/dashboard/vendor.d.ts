// The types of vendor.js, as far as the dashboard uses it.

export function h(type: any, props?: any, ...children: any[]): any;
export function render(node: any, parent: Element): void;
export const Fragment: any;
export const html: (strings: TemplateStringsArray, ...values: any[]) => any;
export function useEffect(effect: () => void | (() => void), deps?: unknown[]): void;
export function useRef<T>(initial: T): { current: T };
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export interface Signal<T> { value: T }
export function signal<T>(initial: T): Signal<T>;
export function computed<T>(compute: () => T): { readonly value: T };
export function effect(run: () => void | (() => void)): () => void;
