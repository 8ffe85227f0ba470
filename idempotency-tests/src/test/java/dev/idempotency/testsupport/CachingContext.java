package dev.idempotency.testsupport;

import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/**
 * A context that keeps what Spring has found out about classes: each start and each end
 * of a context would forget it for all contexts of the JVM.
 */
final class CachingContext extends AnnotationConfigApplicationContext {

	@Override
	protected void resetCommonCaches() {
	}

}
