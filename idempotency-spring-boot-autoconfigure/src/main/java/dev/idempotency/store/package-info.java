/**
 * The service provider interface of stores: what a store imports besides the root
 * package.
 */
@NullMarked
package dev.idempotency.store;

import org.jspecify.annotations.NullMarked;
