/* A conversation's block is gzip in base64: unpacked when it is opened, kept for as long as the page is. */
const unpacked = new Map();
const conversation = (index) => {
  if (!unpacked.has(index)) {
    const bytes = Uint8Array.from(atob(document.getElementById(`context-${index}`).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(index, new Response(stream).json());
  }
  return unpacked.get(index);
};
