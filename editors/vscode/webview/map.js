// @ts-check
// The page around the memory map: gets its data by messages, and keeps what is looked at. Bundled behind the map's scripts.

/** @typedef {{getState(): {uri?: string, map?: MapState} | undefined, setState(state: object): void, postMessage(message: object): void}} Code */
(() => {
  const code = /** @type {{acquireVsCodeApi: () => Code}} */ (/** @type {unknown} */ (globalThis)).acquireVsCodeApi();
  const root = /** @type {HTMLElement} */ (document.getElementById('map'));
  /** @type {ReturnType<typeof buflensMap> | undefined} */
  let map;
  /** The values that the extension knows to be left out. @type {number[]} */
  let known = [];

  addEventListener('message', ({ data: message }) => {
    if (message.type === 'leftOut') {
      known = message.without;
      map?.setWithout(known);
      return;
    }
    const { uri } = message;
    code.setState({ ...code.getState(), uri });
    // What was drawn stays until there is something to draw.
    if (message.type === 'note' && map === undefined) root.replaceChildren(buflensMapElement('p', 'map-nothing', message.text));
    if (message.type !== 'data') return;
    const isFirst = map === undefined;
    known = message.without;
    // It saves what is looked at, for the one that follows.
    map?.destroy();
    const before = code.getState();
    // When the editor has been started again only the page knows what was left out.
    const without = isFirst && message.without.length === 0 ? before?.map?.without : message.without;
    map = buflensMap(root, message.data, {
      open: (place) => {
        code.postMessage({ type: 'open', ...place });
      },
      save: (state) => {
        code.setState({ uri, map: state });
      },
      leftOut: (without) => {
        const ids = without.flatMap(([, ids]) => ids);
        // What has been heard is not said again: the extension may know of more by now.
        if (ids.length === known.length && ids.every((id) => known.includes(id))) return;
        known = ids;
        code.postMessage({ type: 'leftOut', without });
      },
      restore: () => before?.map && { ...before.map, without },
    });
    if (before?.map === undefined) map.setWithout(message.without);
    const { drawn, merged, total } = root.dataset;
    code.postMessage({ type: 'drawn', drawn: Number(drawn), merged: Number(merged), total: Number(total) });
  });
  // Who comes here by the keyboard has the map's keys.
  addEventListener('focus', () => {
    if (document.activeElement === document.body) root.querySelector('canvas')?.focus({ preventScroll: true });
  });
  code.postMessage({ type: 'ready' });
})();
