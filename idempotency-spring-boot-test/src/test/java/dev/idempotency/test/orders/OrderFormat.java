package dev.idempotency.test.orders;

import org.springframework.stereotype.Component;

/**
 * A component that is not a listener.
 */
@Component
class OrderFormat {

}
