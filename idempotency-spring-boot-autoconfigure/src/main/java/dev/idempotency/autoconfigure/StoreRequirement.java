package dev.idempotency.autoconfigure;

/**
 * Explains what a type of store requires, for an application that selects it without
 * meeting the requirements.
 *
 * @param type the value of {@code idempotency.store.type}
 * @param missing the missing libraries or connections, as the end of a sentence
 * @param action what to do, without a period at the end
 */
record StoreRequirement(String type, String missing, String action) {

}
