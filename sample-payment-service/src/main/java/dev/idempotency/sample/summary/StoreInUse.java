package dev.idempotency.sample.summary;

/**
 * Where the keys are kept, and whether they commit together with the charges of the
 * ledger.
 */
record StoreInUse(String name, boolean transactional) {

}
