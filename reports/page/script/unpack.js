/* Blocks are gzip in base64: unpacked when they are opened, kept for as long as the page is. */
const unpacked = new Map();
const packed = (id) => {
  if (!unpacked.has(id)) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(id, new Response(stream).json());
  }
  return unpacked.get(id);
};
const conversation = (index) => packed(`context-${index}`);
