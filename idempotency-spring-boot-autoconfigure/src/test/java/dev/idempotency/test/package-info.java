/**
 * Real servers and small applications for the tests.
 */
@NullMarked
package dev.idempotency.test;

import org.jspecify.annotations.NullMarked;
