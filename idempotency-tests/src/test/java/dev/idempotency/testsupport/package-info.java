/**
 * Real servers and small applications for the tests.
 */
@NullMarked
package dev.idempotency.testsupport;

import org.jspecify.annotations.NullMarked;
