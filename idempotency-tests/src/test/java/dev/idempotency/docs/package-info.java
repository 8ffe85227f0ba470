/**
 * The examples of the guide pages, as tests.
 */
package dev.idempotency.docs;
