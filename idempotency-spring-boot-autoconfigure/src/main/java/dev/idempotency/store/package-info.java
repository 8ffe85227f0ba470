/**
 * The service provider interface of stores. A store depends on this package and the root
 * package only.
 */
@NullMarked
package dev.idempotency.store;

import org.jspecify.annotations.NullMarked;
