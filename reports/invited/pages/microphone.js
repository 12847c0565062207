/* Why there is no microphone, and what its owner can do about it: a browser tells only the program. `instead` says what else the page offers. */
import { t } from "/asset/asking.js";
const said = (...sentences) => sentences.filter(Boolean).join(" ");
/* `able`: whether this browser has what the page records with. */
export const noRecording = (able, instead = "") => (!window.isSecureContext ? said(t("microphone.no_encryption"), instead, t("microphone.ask_for_https"))
  : !navigator.mediaDevices?.getUserMedia || !able ? said(t("microphone.cannot_record"), instead, t("microphone.another_browser")) : null);
/* `button`: the name of the one that asks for the microphone. */
export const noMicrophone = (error, button, instead = "") => said({
  NotAllowedError: t("microphone.not_allowed", { button }),
  NotFoundError: t("microphone.not_found", { button }),
  NotReadableError: t("microphone.in_use", { button }),
}[error.name] ?? t("microphone.unusable"), instead);
