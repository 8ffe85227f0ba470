package dev.idempotency.test;

import org.springframework.boot.test.autoconfigure.TestSliceTestContextBootstrapper;

/**
 * Adds the properties of {@link IdempotencyTest} to the environment.
 */
final class IdempotencyTestContextBootstrapper extends TestSliceTestContextBootstrapper<IdempotencyTest> {

}
