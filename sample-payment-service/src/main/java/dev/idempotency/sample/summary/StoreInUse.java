package dev.idempotency.sample.summary;

/**
 * The idempotency store.
 *
 * @param name the name of the store
 * @param transactional whether keys commit together with the charges of the ledger
 */
record StoreInUse(String name, boolean transactional) {

}
