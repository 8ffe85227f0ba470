/**
 * The application of the page {@code docs/testing.md}, and its tests.
 */
package dev.idempotency.test.ledger;
