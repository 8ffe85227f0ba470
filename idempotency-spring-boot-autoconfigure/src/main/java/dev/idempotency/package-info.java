/**
 * The types that an application uses: the annotation, the key, the execution and the
 * exceptions.
 */
@NullMarked
package dev.idempotency;

import org.jspecify.annotations.NullMarked;
