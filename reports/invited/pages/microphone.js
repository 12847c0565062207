/* Why there is no microphone, and what its owner can do about it: a browser tells only the program. `instead` says what else the page offers. */
const said = (...sentences) => sentences.filter(Boolean).join(" ");
/* `able`: whether this browser has what the page records with. */
export const noRecording = (able, instead = "") => (!window.isSecureContext ? said("This page came without encryption (its address begins with http), and browsers lend the microphone to encrypted pages alone.", instead, "To speak, ask whoever sent you the link for one that begins with https.")
  : !navigator.mediaDevices?.getUserMedia || !able ? said("This browser cannot record.", instead, "To speak, open the link in a current Firefox, Chrome or Safari.") : null);
/* `button`: the name of the one that asks for the microphone. */
export const noMicrophone = (error, button, instead = "") => said({
  NotAllowedError: `The browser was not allowed to use the microphone. Allow it, mostly at the left of the address, and press ${button} again.`,
  NotFoundError: `No microphone was found. Plug one in and press ${button} again.`,
  NotReadableError: `The microphone is there, but something else is using it. Close what that may be and press ${button} again.`,
}[error.name] ?? "The microphone could not be used.", instead);
