// @ts-check
// The memory map of a report takes the place of its picture.
{
  const [root, data] = ['memory-map', 'map-data'].map((id) => document.getElementById(id));
  if (root && data) {
    buflensMap(root, JSON.parse(data.textContent ?? ''));
    document.documentElement.classList.add('scripted');
  }
}
