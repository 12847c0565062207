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
/* The same for reading it once: it is let go of, unless it is open. */
const conversationOnce = async (index) => {
  const known = unpacked.has(`context-${index}`);
  const data = await conversation(index);
  if (!known) unpacked.delete(`context-${index}`);
  return data;
};
