package dev.idempotency.redis;

/**
 * A script with its key and its arguments.
 *
 * @param script the script
 * @param key the one key
 * @param arguments the arguments
 */
record Invocation(Script script, byte[] key, byte[]... arguments) {

}
