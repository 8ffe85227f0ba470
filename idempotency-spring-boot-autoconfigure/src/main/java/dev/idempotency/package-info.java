/**
 * What an application names: the annotation, the key, the execution and the exceptions.
 */
@NullMarked
package dev.idempotency;

import org.jspecify.annotations.NullMarked;
