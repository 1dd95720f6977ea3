// Opens an encrypted page with the passphrase of a person. Nothing leaves the browser.

const form = /** @type {HTMLFormElement} */ (document.querySelector("form"));
const said = /** @type {HTMLElement} */ (form.querySelector("[role=status]"));
const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("passphrase"));

/** The page behind a passphrase. @param {string} passphrase */
async function opened(passphrase) {
  const text = document.getElementById("sealed")?.textContent?.trim() ?? "";
  const sealed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const [salt, iv, page] = [sealed.slice(0, 16), sealed.slice(16, 28), sealed.slice(28)];
  const secret = new TextEncoder().encode(passphrase);
  const base = await crypto.subtle.importKey("raw", secret, "PBKDF2", false, ["deriveKey"]);
  const derivation = { name: "PBKDF2", hash: "SHA-256", salt, iterations: Number(form.dataset.iterations) };
  const key = await crypto.subtle.deriveKey(derivation, base, { name: "AES-GCM", length: 256 }, false, ["decrypt"]);
  return new TextDecoder().decode(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, page));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!globalThis.crypto?.subtle) {
    said.textContent = "This browser decrypts only what is opened from a file or over https.";
    return;
  }
  said.textContent = "Opening …";
  try {
    const page = await opened(field.value);
    document.open();
    document.write(page);
    document.close();
  } catch {
    said.textContent = "This passphrase does not open the page.";
  }
});

export {};
